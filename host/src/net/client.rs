//! A small blocking client, for scripts and tools.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::buffer::Buffer;
pub use super::framing::Framing;
use super::framing::{Check, check};
use super::{json, msgpack};

/// The longest reply that is read: the state of a very large world.
const MAX_REPLY: usize = 1 << 30;

/// Why there is no reply.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The text is no address.
    #[error("{address:?} is not an address to use ({source}): write HOST:PORT, as in 127.0.0.1:42069")]
    Address {
        /// The text.
        address: String,
        /// What the system says.
        source: io::Error,
    },
    /// The host cannot be reached.
    #[error("cannot connect to {address}: {source}; is a host running there?")]
    Connect {
        /// Where it was looked for.
        address: String,
        /// What the system says.
        source: io::Error,
    },
    /// Nothing came in time. Should the reply come later, it is thrown away.
    #[error("no reply came within {} s", .0.as_secs_f64())]
    Timeout(Duration),
    /// The host has closed the connection.
    #[error("the host has closed the connection")]
    Closed,
    /// The connection has failed.
    #[error("the connection has failed: {0}")]
    Io(#[from] io::Error),
    /// What came is not what the protocol says.
    #[error("the reply cannot be read: {0}")]
    Reply(String),
    /// The request is not a JSON object.
    #[error("the request cannot be sent: {0}")]
    Request(String),
    /// The host did not accept the token.
    #[error("{0}")]
    Auth(String),
}

/// One connection.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    framing: Framing,
    timeout: Duration,
    input: Buffer,
    scanned: usize,
    pushes: VecDeque<Value>,
    /// Replies that are still to come, also those that nobody waits for any more.
    owed: usize,
}

impl Client {
    /// Connects to the first address that answers. `timeout` is for that, and for each request after it.
    ///
    /// # Errors
    /// [`ClientError::Address`], [`ClientError::Connect`].
    pub fn connect(
        address: impl ToSocketAddrs + std::fmt::Debug,
        framing: Framing,
        timeout: Duration,
    ) -> Result<Self, ClientError> {
        let text = format!("{address:?}").replace('"', "");
        let mut error = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        let candidates = address.to_socket_addrs();
        for candidate in candidates.map_err(|source| ClientError::Address { address: text.clone(), source })? {
            match TcpStream::connect_timeout(&candidate, timeout) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    let pushes = VecDeque::new();
                    return Ok(Self {
                        stream,
                        framing,
                        timeout,
                        input: Buffer::default(),
                        scanned: 0,
                        pushes,
                        owed: 0,
                    });
                }
                Err(new) => error = new,
            }
        }
        Err(ClientError::Connect { address: text, source: error })
    }

    /// Changes how long a request may take.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// Shows the host's token. Must come first where the host asks for one.
    ///
    /// # Errors
    /// [`ClientError::Auth`] with the host's words when it refuses, and those of [`request`](Self::request).
    pub fn auth(&mut self, token: &str) -> Result<(), ClientError> {
        let reply = self.request(&serde_json::json!({"cmd": "auth", "token": token}))?;
        match reply.get("error") {
            None => Ok(()),
            Some(error) => Err(ClientError::Auth(error.as_str().unwrap_or("the host refuses the token").to_owned())),
        }
    }

    /// Sends a request and waits for its reply. An error reply is a reply like others. Binary values are base64 text.
    /// Pushes that come before it are kept for [`next_push`](Self::next_push).
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn request(&mut self, request: &Value) -> Result<Value, ClientError> {
        let deadline = Instant::now() + self.timeout;
        let mut bytes = Vec::new();
        if !request.is_object() {
            return Err(ClientError::Request(format!("it must be an object, and is {request}")));
        }
        match self.framing {
            Framing::JsonLines => {
                json::write_json(&mut bytes, request);
                bytes.push(b'\n');
            }
            Framing::MessagePack => msgpack::write_request(&mut bytes, request).map_err(ClientError::Request)?,
        }
        self.stream.set_write_timeout(Some(self.timeout))?;
        if let Err(error) = self.stream.write_all(&bytes) {
            // A part of the request may be on its way, and nothing makes sense after it.
            let _ = self.stream.shutdown(Shutdown::Both);
            return Err(self.failed(error));
        }
        self.owed += 1;
        loop {
            let message = self.receive(deadline)?;
            if message.get("topic").is_some() {
                self.pushes.push_back(message);
                continue;
            }
            self.owed -= 1;
            if self.owed == 0 {
                return Ok(message);
            }
        }
    }

    /// The next push, waiting for it; `None` when none comes in time. What the host says without being asked, such as why it
    /// closes the connection, comes here as well.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn next_push(&mut self, timeout: Duration) -> Result<Option<Value>, ClientError> {
        if let Some(push) = self.pushes.pop_front() {
            return Ok(Some(push));
        }
        let deadline = Instant::now() + timeout;
        loop {
            match self.receive(deadline) {
                Ok(message) if message.get("topic").is_none() && self.owed > 0 => self.owed -= 1,
                Ok(push) => return Ok(Some(push)),
                Err(ClientError::Timeout(_)) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    fn failed(&self, error: io::Error) -> ClientError {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ClientError::Timeout(self.timeout),
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => ClientError::Closed,
            _ => ClientError::Io(error),
        }
    }

    fn receive(&mut self, deadline: Instant) -> Result<Value, ClientError> {
        let mut chunk = [0; 16 << 10];
        loop {
            match check(self.framing, self.input.data(), self.scanned, MAX_REPLY) {
                Check::Frame { content, length } => {
                    let message = self.decode(&self.input.data()[content]);
                    self.input.consume(length);
                    self.scanned = 0;
                    return message;
                }
                Check::Incomplete { scanned } => self.scanned = scanned,
                Check::Lost(why) => return Err(ClientError::Reply(why)),
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // What was asked for is asked for no more: without this the host would go on for one that may still listen.
                let _ = socket2::SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
                return Err(ClientError::Timeout(self.timeout));
            }
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(ClientError::Closed),
                Ok(count) => self.input.end().extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
    }

    fn decode(&self, content: &[u8]) -> Result<Value, ClientError> {
        match self.framing {
            Framing::JsonLines => {
                serde_json::from_slice(content).map_err(|error| ClientError::Reply(error.to_string()))
            }
            Framing::MessagePack => {
                let value =
                    rmpv::decode::read_value(&mut &*content).map_err(|error| ClientError::Reply(error.to_string()))?;
                let mut text = Vec::new();
                json::write_value(&mut text, &value).map_err(ClientError::Reply)?;
                serde_json::from_slice(&text).map_err(|error| ClientError::Reply(error.to_string()))
            }
        }
    }
}
