//! A client that owes nothing to the host's own code.

use std::collections::VecDeque;
use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use rmpv::Value as Packed;
use serde_json::{Number, Value};

/// How long anything may take. Long enough for a slow machine: a test that waits so long has failed.
pub const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    JsonLines,
    MessagePack,
}

/// One connection, in either framing. Requests and replies are JSON values in both; where the difference matters there
/// are [`send_packed`](Self::send_packed) and [`packed_reply`](Self::packed_reply), and below them bytes.
pub struct Client {
    framing: Framing,
    stream: BufReader<TcpStream>,
    pushes: VecDeque<Value>,
}

impl Client {
    /// Connects, to speak JSON lines.
    pub fn json(addr: SocketAddr) -> Self {
        Self::connect(addr, Framing::JsonLines)
    }

    /// Connects, to speak MessagePack.
    pub fn msgpack(addr: SocketAddr) -> Self {
        Self::connect(addr, Framing::MessagePack)
    }

    fn connect(addr: SocketAddr, framing: Framing) -> Self {
        let stream = TcpStream::connect(addr).unwrap_or_else(|error| panic!("cannot connect to {addr}: {error}"));
        stream.set_nodelay(true).unwrap();
        let mut client = Self { framing, stream: BufReader::new(stream), pushes: VecDeque::new() };
        client.set_timeout(PATIENCE);
        client
    }

    /// How long sending and receiving may take from here on.
    pub fn set_timeout(&mut self, time: Duration) {
        self.stream.get_ref().set_read_timeout(Some(time)).unwrap();
        self.stream.get_ref().set_write_timeout(Some(time)).unwrap();
    }

    /// This end's address.
    pub fn local_addr(&self) -> SocketAddr {
        self.stream.get_ref().local_addr().unwrap()
    }

    /// Sends a request and gives its reply. Pushes before it are kept for [`push`](Self::push).
    pub fn request(&mut self, request: Value) -> Value {
        self.send(&request);
        self.reply()
    }

    /// Likewise for a request that must succeed.
    pub fn ok(&mut self, request: Value) -> Value {
        let reply = self.request(request.clone());
        assert!(reply.get("error").is_none(), "{request} was answered with {reply}");
        reply
    }

    /// Likewise for a request that must be refused. Gives the error's text.
    pub fn error(&mut self, request: Value) -> String {
        let reply = self.request(request.clone());
        let error = reply.get("error").unwrap_or_else(|| panic!("{request} was answered with {reply}"));
        error.as_str().unwrap_or_else(|| panic!("{error} should be text")).to_owned()
    }

    /// Sends all requests before it reads the first reply.
    pub fn pipeline(&mut self, requests: &[Value]) -> Vec<Value> {
        let bytes: Vec<u8> = requests.iter().flat_map(|request| self.encode(request)).collect();
        let writer = self.stream.get_ref().try_clone().unwrap();
        std::thread::scope(|scope| {
            // Beside the reading, because more than the sockets hold would have to wait for it.
            scope.spawn(move || (&writer).write_all(&bytes).unwrap());
            requests.iter().map(|_| self.reply()).collect()
        })
    }

    /// Sends a request and does not wait.
    pub fn send(&mut self, request: &Value) {
        let bytes = self.encode(request);
        self.send_bytes(bytes);
    }

    /// Sends a MessagePack value with its length before it.
    pub fn send_packed(&mut self, request: &Packed) {
        assert_eq!(self.framing, Framing::MessagePack);
        self.send_bytes(frame(request));
    }

    /// Sends bytes as they are.
    pub fn send_bytes(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.get_mut().write_all(bytes.as_ref()).unwrap_or_else(|error| panic!("cannot send: {error}"));
    }

    /// The bytes of a request in this client's framing.
    pub fn encode(&self, request: &Value) -> Vec<u8> {
        match self.framing {
            Framing::JsonLines => format!("{request}\n").into_bytes(),
            Framing::MessagePack => frame(&pack(request)),
        }
    }

    /// The next reply.
    pub fn reply(&mut self) -> Value {
        loop {
            let message = self.message();
            if message.get("topic").is_none() {
                return message;
            }
            self.pushes.push_back(message);
        }
    }

    /// The next push. Replies must have been read before.
    pub fn push(&mut self) -> Value {
        let push = self.pushes.pop_front().unwrap_or_else(|| self.message());
        assert!(push.get("topic").is_some(), "{push} is no push");
        push
    }

    /// The pushes that came before replies and have not been asked for.
    pub fn kept_pushes(&mut self) -> Vec<Value> {
        self.pushes.drain(..).collect()
    }

    /// The next push of a topic, without those of others.
    pub fn push_of(&mut self, topic: &str) -> Value {
        loop {
            let push = self.push();
            if push["topic"] == topic {
                return push;
            }
        }
    }

    /// The next message, whatever it is.
    pub fn message(&mut self) -> Value {
        match self.framing {
            Framing::JsonLines => {
                let line = self.line();
                serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?} is no JSON: {error}"))
            }
            Framing::MessagePack => unpack(&self.packed_reply()),
        }
    }

    /// The next line, without its end.
    pub fn line(&mut self) -> String {
        let mut line = Vec::new();
        loop {
            let mut byte = [0];
            self.read(&mut byte);
            if byte[0] == b'\n' {
                return String::from_utf8(line).expect("a line should be UTF-8");
            }
            line.push(byte[0]);
        }
    }

    /// The next MessagePack message as it came.
    pub fn packed_reply(&mut self) -> Packed {
        let mut length = [0; 4];
        self.read(&mut length);
        let mut content = vec![0; u32::from_be_bytes(length) as usize];
        self.read(&mut content);
        let mut rest = &content[..];
        let value = rmpv::decode::read_value(&mut rest).unwrap_or_else(|error| panic!("no MessagePack: {error}"));
        assert!(rest.is_empty(), "{} bytes after a message", rest.len());
        value
    }

    fn read(&mut self, bytes: &mut [u8]) {
        self.stream.read_exact(bytes).unwrap_or_else(|error| panic!("no reply: {error}"));
    }

    /// Ends this side; replies can still be read.
    pub fn end(&mut self) {
        self.stream.get_ref().shutdown(Shutdown::Write).unwrap();
    }

    /// Ends the connection and waits until the host has, too: from then on its robot is free.
    pub fn leave(mut self) {
        self.end();
        assert!(self.rest().is_empty(), "something came that was not read");
    }

    /// Reads to the end of the connection, which must come. Gives what was left.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest).unwrap_or_else(|error| panic!("the connection should end: {error}"));
        rest
    }
}

/// A MessagePack value with its length before it.
fn frame(value: &Packed) -> Vec<u8> {
    let mut frame = vec![0; 4];
    rmpv::encode::write_value(&mut frame, value).expect("memory takes everything");
    let length = u32::try_from(frame.len() - 4).expect("a request is not that long");
    frame[..4].copy_from_slice(&length.to_be_bytes());
    frame
}

fn pack(value: &Value) -> Packed {
    match value {
        Value::Null => Packed::Nil,
        Value::Bool(value) => Packed::from(*value),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(value), _) => Packed::from(value),
            (None, Some(value)) => Packed::from(value),
            (None, None) => Packed::from(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Packed::from(text.as_str()),
        Value::Array(items) => Packed::Array(items.iter().map(pack).collect()),
        Value::Object(entries) => {
            Packed::Map(entries.iter().map(|(key, value)| (Packed::from(key.as_str()), pack(value))).collect())
        }
    }
}

/// The same value in JSON. Binary becomes a list of bytes, so that it cannot be taken for text.
fn unpack(value: &Packed) -> Value {
    match value {
        Packed::Nil => Value::Null,
        Packed::Boolean(value) => Value::from(*value),
        Packed::Integer(value) => value.as_u64().map_or_else(|| Value::from(value.as_i64()), Value::from),
        Packed::F32(value) => number(f64::from(*value)),
        Packed::F64(value) => number(*value),
        Packed::String(text) => Value::from(text.as_str().expect("text should be UTF-8")),
        Packed::Binary(bytes) => Value::from(bytes.as_slice()),
        Packed::Array(items) => items.iter().map(unpack).collect(),
        Packed::Map(entries) => {
            let key = |key: &Packed| key.as_str().unwrap_or_else(|| panic!("the key {key} should be text")).to_owned();
            let object: serde_json::Map<_, _> =
                entries.iter().map(|(name, value)| (key(name), unpack(value))).collect();
            assert_eq!(object.len(), entries.len(), "a key is there twice in {value}");
            Value::Object(object)
        }
        Packed::Ext(..) => panic!("{value} is no value of the protocol"),
    }
}

fn number(value: f64) -> Value {
    Number::from_f64(value).map(Value::Number).unwrap_or_else(|| panic!("{value} should be finite"))
}
