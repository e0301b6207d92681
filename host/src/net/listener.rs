//! Binding the port and accepting connections.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use mio::{Interest, Token};
use socket2::{SockRef, TcpKeepalive};

use super::connection::{Connection, Gate};
use super::framing::Framing;
use super::message::{Body, SessionId, ToSim};
use super::server::Server;

/// Connections beyond the limit that are kept until their first request, to be told in reply to it that they are too
/// many. Further ones are told at once, and closed.
const TURNED_AWAY: usize = 16;

/// Reads of what such a client has sent already; one that sends without end is not waited for.
const MOST_READS: usize = 8;

/// How long to wait before accepting again, when there was no file descriptor left for it.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// After so much silence the other machine is asked whether it is there. A client that crashed says so itself; this is
/// for machines and networks that went away, whose sessions would keep their robots for ever.
const KEEPALIVE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// Binds a listening socket.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address).map_err(|error| {
        let advice = match error.kind() {
            io::ErrorKind::AddrInUse => {
                "another program, perhaps another host, uses this port: stop it, or listen on another one"
            }
            io::ErrorKind::PermissionDenied => "this port needs privileges: listen on one above 1023",
            io::ErrorKind::AddrNotAvailable => "this machine has no such address: listen on one of its own",
            _ => return io::Error::new(error.kind(), format!("cannot listen on {address}: {error}")),
        };
        io::Error::new(error.kind(), format!("cannot listen on {address}: {error}; {advice}"))
    })
}

/// What a client is told that is one too many.
pub fn too_many_connections(limit: usize) -> String {
    format!("the host has {limit} connections, which is its limit: close one, or raise the limit (--max-connections)")
}

impl Server {
    /// Accepts all connections that wait.
    pub fn accept(&mut self) {
        if self.accept_again.is_some_and(|time| time <= self.now) {
            self.accept_again = None;
            self.acceptable = true;
        }
        // While the simulation takes nothing, clients that come and go would pile up as news for it.
        while self.acceptable && self.sim_has_room() {
            let Some(listener) = &self.listener else { return };
            match listener.accept() {
                Ok((stream, peer)) => {
                    if let Err(error) = self.admit(stream, peer) {
                        tracing::warn!("the connection from {peer} is dropped: {error}");
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.acceptable = false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The client gave up before it was accepted; the next one may be there.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                // No descriptors or no memory: the client stays in the queue, and there will be no further report.
                Err(error) => {
                    tracing::warn!("cannot accept a connection: {error}; trying again");
                    self.acceptable = false;
                    self.accept_again = Some(self.now + ACCEPT_PAUSE);
                }
            }
        }
    }

    /// Says why a connection is closed, as well as that can be done without waiting: a client that has sent nothing yet
    /// is taken for one that speaks JSON.
    fn turn_away(&mut self, mut stream: TcpStream) {
        let first = match stream.read(&mut self.scratch) {
            Ok(count) if count > 0 => self.scratch[0],
            _ => b'{',
        };
        // Closing a socket with unread bytes would take the reply back.
        let mut more = 0..MOST_READS;
        while more.next().is_some() && stream.read(&mut self.scratch).is_ok_and(|count| count > 0) {}
        let mut reply = Vec::new();
        let why = Body::error(too_many_connections(self.options.max_connections));
        Framing::of_first_byte(first).write_reply(&mut reply, &why, None, self.stamp.now());
        // An empty socket takes so little whole; if not, there is nobody left to tell.
        let _ = stream.write(&reply).and_then(|_| stream.shutdown(Shutdown::Write));
    }

    fn admit(&mut self, mut stream: TcpStream, peer: SocketAddr) -> io::Result<()> {
        let connected = self.connections.len() - self.free.len();
        let limit = self.options.max_connections;
        if connected >= limit + TURNED_AWAY {
            tracing::warn!("the connection from {peer} is closed: {limit} are open, which is the limit");
            self.turn_away(stream);
            return Ok(());
        }
        let gate = match &self.options.token {
            _ if connected >= limit => Gate::TurnedAway,
            Some(_) => Gate::NeedsToken,
            None => Gate::Open,
        };

        // A reply is sent whole; waiting for more of it only delays it.
        stream.set_nodelay(true)?;
        let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE_INTERVAL);
        SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
        let key = self.free.last().copied().unwrap_or(self.connections.len());
        self.poll.registry().register(&mut stream, Token(key), Interest::READABLE | Interest::WRITABLE)?;

        self.last_session += 1;
        let session = SessionId(self.last_session);
        let mut connection = Box::new(Connection::new(session, peer, stream, gate));
        if gate == Gate::Open {
            self.tell_sim(ToSim::Opened { session, peer });
        } else {
            let deadline = self.now + self.options.first_request_timeout;
            connection.gate_deadline = Some(deadline);
            self.arm(key, &mut connection, Some(deadline));
        }
        self.sessions.insert(session, key);
        if self.free.pop().is_some() {
            self.connections[key] = Some(connection);
        } else {
            self.connections.push(Some(connection));
        }
        tracing::debug!("session {session}: connected from {peer}");
        self.enqueue(key);
        Ok(())
    }
}

/// The client has ended its side, and either waits for replies or is gone: nothing that it sent tells. Its system does, when
/// it is asked: Linux answers for a closed socket for a minute, and then says that there is none. So a robot or a long
/// `sim_step` is held by nobody for about a minute at most.
pub(super) fn watch_closely(stream: &TcpStream) {
    let probe =
        TcpKeepalive::new().with_time(Duration::from_secs(5)).with_interval(Duration::from_secs(5)).with_retries(3);
    // Where it cannot be set, the slower one of each connection stands.
    let _ = SockRef::from(stream).set_tcp_keepalive(&probe);
}
