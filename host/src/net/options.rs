//! What a host lets its clients do, in numbers.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

use super::auth::Token;

/// The port that clients try when they are told nothing.
pub const DEFAULT_PORT: u16 = 42069;

/// The longest frame that any setting allows: a MessagePack connection is recognised by a length below this one.
pub const LARGEST_FRAME: usize = (64 << 20) - 1;

/// Where to listen, and the limits of what clients may ask for.
#[derive(Clone, Debug)]
pub struct NetOptions {
    /// The address to listen on. Port 0 takes any free port.
    pub listen: SocketAddr,
    /// When set, the first request of each connection must be `auth` with this token.
    pub token: Option<Token>,
    /// Longest request, in bytes: one MessagePack frame without its length, or one line without its line break.
    /// At most 64 MiB less one byte. Default 16 MiB: restoring the state of a large world is one request.
    pub max_frame: usize,
    /// Requests of one connection that may wait for their replies at the same time; further ones stay in the socket.
    /// As a tick answers everything that it took, this is also how many messages of one connection a tick takes.
    /// Default 1024.
    pub max_outstanding_requests: usize,
    /// Bytes of unanswered requests and of unread replies of one connection, beyond which nothing more is read from it.
    /// Default 32 MiB: two of the longest frames.
    pub max_outstanding_bytes: usize,
    /// How long a connection beyond `max_outstanding_bytes`, or one that is being closed, may take without reading a
    /// single byte. Then it is closed. Default 30 s.
    pub drain_timeout: Duration,
    /// Connections at the same time. One more is told so, and closed. Default 1024.
    pub max_connections: usize,
    /// Bytes of unfinished and unanswered requests, unread replies and unread pushes, over all connections. The
    /// connection that asks for more gets an error reply and is closed; pushes beyond it are counted as missed. Default
    /// 1 GiB.
    pub max_buffered_bytes: usize,
    /// Pushed events that wait for one connection to read; further ones are counted as missed. Default 4096.
    pub max_queued_events: usize,
    /// Bytes of the same. Default 8 MiB.
    pub max_queued_event_bytes: usize,
    /// How long a connection that has to authenticate may take to do so. Default 10 s.
    pub first_request_timeout: Duration,
    /// Messages that may wait for the simulation, over all connections; when it is full, no connection is read.
    /// Default 8192.
    pub queue: usize,
    /// Sessions are numbered from the one after this: those up to it have been another run's. Default 0.
    pub sessions_after: u64,
}

impl NetOptions {
    /// The defaults, on this address.
    #[must_use]
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            token: None,
            max_frame: 16 << 20,
            max_outstanding_requests: 1024,
            max_outstanding_bytes: 32 << 20,
            drain_timeout: Duration::from_secs(30),
            max_connections: 1024,
            max_buffered_bytes: 1 << 30,
            max_queued_events: 4096,
            max_queued_event_bytes: 8 << 20,
            first_request_timeout: Duration::from_secs(10),
            queue: 8192,
            sessions_after: 0,
        }
    }

    /// Refuses limits under which nothing would work.
    pub(super) fn check(&self) -> io::Result<()> {
        let at_least_one = [
            ("max_frame", self.max_frame),
            ("max_outstanding_requests", self.max_outstanding_requests),
            ("max_outstanding_bytes", self.max_outstanding_bytes),
            ("max_connections", self.max_connections),
            ("max_buffered_bytes", self.max_buffered_bytes),
            ("queue", self.queue),
        ];
        if let Some((name, _)) = at_least_one.iter().find(|(_, value)| *value == 0) {
            return Err(invalid(format!("the network limit {name} is 0, but must be at least 1")));
        }
        if self.max_frame > LARGEST_FRAME {
            return Err(invalid(format!(
                "the network limit max_frame is {}, but must be at most {LARGEST_FRAME}",
                self.max_frame
            )));
        }
        Ok(())
    }
}

impl Default for NetOptions {
    /// The defaults, on the loopback address and [`DEFAULT_PORT`].
    fn default() -> Self {
        Self::new(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), DEFAULT_PORT))
    }
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

/// The first address that `HOST:PORT` stands for, such as `127.0.0.1:42069`, `[::1]:0` or `localhost:42069`.
///
/// # Errors
/// A text that is not of this form, or a name that is not known, as a sentence that repeats it.
pub fn resolve(text: &str) -> io::Result<SocketAddr> {
    let explain = |kind, why: &dyn std::fmt::Display| {
        io::Error::new(
            kind,
            format!("{text:?} is not an address to use ({why}): write HOST:PORT, as in 127.0.0.1:42069"),
        )
    };
    let mut addresses = text.to_socket_addrs().map_err(|error| explain(error.kind(), &error))?;
    addresses.next().ok_or_else(|| explain(io::ErrorKind::NotFound, &"the name has no address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_resolved_or_explained() {
        assert_eq!(resolve("127.0.0.1:5").unwrap().to_string(), "127.0.0.1:5");
        assert_eq!(resolve("[::1]:0").unwrap().to_string(), "[::1]:0");
        for bad in ["", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000", ":::"] {
            let error = resolve(bad).unwrap_err().to_string();
            assert!(error.contains(&format!("{bad:?}")) && error.contains("HOST:PORT"), "{error}");
        }
    }

    #[test]
    fn limits_of_zero_are_refused_by_name() {
        let options = NetOptions { queue: 0, ..NetOptions::default() };
        assert!(options.check().unwrap_err().to_string().contains("queue"));
        let options = NetOptions { max_frame: 64 << 20, ..NetOptions::default() };
        assert!(options.check().unwrap_err().to_string().contains("max_frame is 67108864"));
        assert!(NetOptions::default().check().is_ok());
    }
}
