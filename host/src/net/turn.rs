//! One connection's turn: read a piece, take the frames out of it, write what there is to write.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::connection::{Connection, Gate};
use super::fault::RawId;
use super::framing::{Check, Framing, Parsed, check};
use super::listener;
use super::message::{Body, ToSim};
use super::server::Server;
use super::stop::STOPPING;

/// Bytes that are made ready for a socket at a time. What is beyond stays in the outbox, where a newer value can still
/// replace an older one.
const HIGH_WATER: usize = 64 << 10;

/// The longest request of a client that has not shown its token.
const FIRST_FRAME: usize = 4 << 10;

/// How long a closed connection may take to notice it.
const LINGER: Duration = Duration::from_secs(2);

/// Bytes that are still read from a connection when the host stops.
const LAST_BYTES: usize = 1 << 20;

/// Whether a connection goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Lives,
    Ends,
}

impl Server {
    /// Lets a connection do what it can do without waiting.
    pub fn turn(&mut self, key: usize) {
        let Some(mut connection) = self.connections.get_mut(key).and_then(Option::take) else { return };
        connection.queued = false;
        if let Some(why) = connection.expired(&self.options, self.now) {
            if connection.linger_until.is_none() {
                tracing::warn!("session {}: dropped, because {why}", connection.session);
            }
            self.remove(key, &mut connection);
            return;
        }
        let fate = self.exchange(key, &mut connection);
        self.held.recount(&mut connection);
        if fate == Fate::Ends {
            self.remove(key, &mut connection);
            return;
        }
        let deadline = connection.deadline(&self.options);
        self.arm(key, &mut connection, deadline);
        let more = (connection.readable || connection.unparsed) && self.may_take(&connection)
            || connection.readable && connection.linger_until.is_some();
        self.connections[key] = Some(connection);
        if more {
            self.enqueue(key);
        }
    }

    fn exchange(&mut self, key: usize, connection: &mut Connection) -> Fate {
        if connection.linger_until.is_some() {
            return self.discard(connection);
        }
        if self.stop_at.is_some() {
            self.take_last(connection);
        } else if self.receive(connection) == Fate::Ends {
            return Fate::Ends;
        }
        if connection.closing || (connection.ended && !connection.unparsed && connection.slots.is_empty()) {
            self.unsubscribe_all(key, connection);
        }
        let wrote = match self.transmit(connection) {
            Ok(wrote) => wrote,
            Err(error) => {
                tracing::debug!("session {}: {error}", connection.session);
                return Fate::Ends;
            }
        };
        connection.drain.note(connection.must_read(&self.options), wrote, self.now);
        if connection.is_finished() { self.finish(connection) } else { Fate::Lives }
    }

    /// Whether a request may be taken from the connection and passed on.
    fn may_take(&self, connection: &Connection) -> bool {
        connection.has_room(&self.options) && self.sim_has_room()
    }

    /// Takes what was left in an earlier turn, and then one piece from the socket.
    fn receive(&mut self, connection: &mut Connection) -> Fate {
        if connection.unparsed {
            self.take_frames(connection, 0);
        }
        if connection.ended && connection.reset {
            // Everything is read, and nobody is there for the replies.
            return Fate::Ends;
        }
        if !connection.readable || connection.ended {
            return Fate::Lives;
        }
        if !self.may_take(connection) {
            // Nobody is there to read the replies that would make room.
            return if connection.reset { Fate::Ends } else { Fate::Lives };
        }
        match connection.stream.read(&mut self.scratch) {
            Ok(0) => {
                connection.ended = true;
                connection.readable = false;
                super::listener::watch_closely(&connection.stream);
                self.take_frames(connection, 0);
            }
            Ok(count) => self.take_frames(connection, count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => connection.readable = false,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                tracing::debug!("session {}: {error}", connection.session);
                return Fate::Ends;
            }
        }
        Fate::Lives
    }

    /// Takes whole frames out of the connection's input and the first `count` bytes of the scratch buffer, and keeps
    /// the rest as its input.
    fn take_frames(&mut self, connection: &mut Connection, count: usize) {
        let shared = Arc::clone(&self.shared);
        let _taking = shared.taking.lock().unwrap_or_else(PoisonError::into_inner);
        let scratch = std::mem::take(&mut self.scratch);
        let mut fits = true;
        if connection.input.is_empty() {
            // The common case: no copy of what is used up at once.
            let used = self.frames(connection, &scratch[..count]);
            fits = connection.input.append(&scratch[used..count]);
        } else if connection.input.append(&scratch[..count]) {
            let mut input = std::mem::take(&mut connection.input);
            // Its requests take the place of their bytes.
            self.held.recount(connection);
            let used = self.frames(connection, input.data());
            input.consume(used);
            connection.input = input;
        } else {
            fits = false;
        }
        self.scratch = scratch;
        self.held.recount(connection);
        // What waits for room among the connection's own requests does not grow.
        let grows = !connection.input.is_empty() && !connection.unparsed;
        if !fits || grows && self.held.is_too_much(connection, 0) {
            connection.input.consume(connection.input.len());
            connection.unparsed = false;
            self.lose(connection, self.held.refusal());
        }
    }

    /// Takes whole frames from the start of `data`, while there is room for them. Gives how many bytes they were.
    fn frames(&mut self, connection: &mut Connection, data: &[u8]) -> usize {
        let mut used = 0;
        connection.unparsed = false;
        while let Some(&first) = data.get(used) {
            if connection.closing {
                return data.len();
            }
            if !self.may_take(connection) {
                connection.unparsed = true;
                break;
            }
            let framing = *connection.framing.get_or_insert_with(|| Framing::of_first_byte(first));
            let limit = match connection.gate {
                Gate::Open => self.options.max_frame,
                Gate::NeedsToken | Gate::TurnedAway => self.options.max_frame.min(FIRST_FRAME),
            };
            match check(framing, &data[used..], connection.scanned, limit) {
                Check::Frame { content, length } => {
                    let content = &data[used..][content];
                    used += length;
                    connection.scanned = 0;
                    self.take_frame(connection, framing, content);
                }
                Check::Incomplete { .. } if connection.ended => {
                    self.take_unfinished(connection, framing, &data[used..]);
                    return data.len();
                }
                Check::Incomplete { scanned } => {
                    connection.scanned = scanned;
                    break;
                }
                Check::Lost(why) => {
                    self.lose(connection, why);
                    return data.len();
                }
            }
        }
        used
    }

    /// Takes what a client left behind when it ended its side in the middle of a frame.
    fn take_unfinished(&mut self, connection: &mut Connection, framing: Framing, rest: &[u8]) {
        match framing {
            // The last line may lack its end: an object that is cut off is no valid JSON, so it cannot be taken for whole.
            Framing::JsonLines => self.take_frame(connection, framing, rest),
            Framing::MessagePack => self.lose(
                connection,
                format!(
                    "the connection ended inside a frame, of which {} bytes had arrived: send whole frames",
                    rest.len()
                ),
            ),
        }
    }

    /// Answers with the reason why no further frame can be found, and closes.
    fn lose(&mut self, connection: &mut Connection, why: String) {
        tracing::debug!("session {}: {why}", connection.session);
        connection.slots.answered(None, Body::error(why));
        connection.release_replies();
        connection.closing = true;
    }

    fn take_frame(&mut self, connection: &mut Connection, framing: Framing, content: &[u8]) {
        if framing == Framing::JsonLines && content.trim_ascii().is_empty() {
            return;
        }
        match framing.parse(content) {
            Ok(parsed) => self.take_request(connection, parsed),
            Err(fault) => {
                connection.slots.answered(fault.id, Body::error(fault.text));
                // A stranger's garbage is not worth staying for.
                connection.closing |= connection.gate != Gate::Open;
            }
        }
        connection.release_replies();
    }

    fn take_request(&mut self, connection: &mut Connection, parsed: Parsed) {
        let Parsed { request, id } = parsed;
        if self.deaf {
            connection.slots.answered(id, Body::error(STOPPING));
        } else if connection.gate == Gate::TurnedAway {
            let text = listener::too_many_connections(self.options.max_connections);
            connection.slots.answered(id, Body::error(text));
            connection.closing = true;
        } else if request.cmd == "auth" {
            self.authenticate(connection, &request.json, id);
        } else if connection.gate == Gate::NeedsToken {
            let text =
                "the first request must be {\"cmd\": \"auth\", \"token\": …}, because this host asks for a token";
            connection.slots.answered(id, Body::error(text));
            connection.closing = true;
        } else if self.held.is_too_much(connection, request.json.len()) {
            connection.slots.answered(id, Body::error(self.held.refusal()));
            connection.closing = true;
        } else {
            self.held.add(connection, request.json.len());
            let slot = connection.slots.open(id, request.json.len());
            self.tell_sim(ToSim::Request { session: connection.session, slot, request });
        }
    }

    fn authenticate(&mut self, connection: &mut Connection, request: &[u8], id: Option<RawId>) {
        #[derive(serde::Deserialize)]
        struct Auth {
            token: String,
        }
        let given = serde_json::from_slice::<Auth>(request);
        let problem = match (&self.options.token, given) {
            // Nothing is asked for, so a client that shows something may come in as well.
            (None, _) => None,
            (Some(token), Ok(given)) if token.is(&given.token) => None,
            (Some(_), Ok(_)) => Some("the token is wrong, and the connection is closed"),
            (Some(_), Err(_)) => Some("auth has no \"token\" that is text, and the connection is closed"),
        };
        if let Some(problem) = problem {
            tracing::warn!("session {}: {} did not authenticate", connection.session, connection.peer);
            connection.slots.answered(id, Body::error(problem));
            connection.closing = true;
            return;
        }
        connection.slots.answered(id, Body::status("authenticated"));
        if connection.gate == Gate::NeedsToken {
            connection.gate = Gate::Open;
            connection.gate_deadline = None;
            self.tell_sim(ToSim::Opened { session: connection.session, peer: connection.peer });
        }
    }

    /// Writes until nothing is left or the socket takes no more. Says whether it took anything.
    fn transmit(&mut self, connection: &mut Connection) -> io::Result<bool> {
        let framing = connection.framing.unwrap_or(Framing::JsonLines);
        let mut wrote = false;
        loop {
            while connection.output.len() < HIGH_WATER && !connection.outbox.is_empty() {
                connection.outbox.write_next(framing, connection.output.end(), &mut self.stamp);
            }
            if connection.output.is_empty() || !connection.writable {
                return Ok(wrote);
            }
            match connection.stream.write(connection.output.data()) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    connection.output.consume(count);
                    wrote = true;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => connection.writable = false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Ends a connection on which everything is said. If the client may still be sending, it is given time to notice.
    fn finish(&mut self, connection: &mut Connection) -> Fate {
        if connection.ended || connection.reset || self.stop_at.is_some() {
            return Fate::Ends;
        }
        if connection.stream.shutdown(Shutdown::Write).is_err() {
            return Fate::Ends;
        }
        self.end_session(connection);
        connection.input.consume(connection.input.len());
        connection.gate_deadline = None;
        connection.drain.note(false, false, self.now);
        connection.linger_until = Some(self.now + LINGER);
        Fate::Lives
    }

    /// Throws away what a client sends after its connection is closed.
    fn discard(&mut self, connection: &mut Connection) -> Fate {
        if !connection.readable {
            return Fate::Lives;
        }
        match connection.stream.read(&mut self.scratch) {
            Ok(0) => return Fate::Ends,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => connection.readable = false,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Fate::Ends,
        }
        Fate::Lives
    }

    /// When the host stops: answers what has arrived by now, and takes nothing more.
    fn take_last(&mut self, connection: &mut Connection) {
        if connection.closing {
            return;
        }
        let mut bytes = 0;
        self.take_frames(connection, 0);
        while connection.readable && !connection.ended && !connection.closing && bytes < LAST_BYTES {
            match connection.stream.read(&mut self.scratch) {
                Ok(0) => connection.ended = true,
                Ok(count) => {
                    bytes += count;
                    self.take_frames(connection, count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => connection.readable = false,
            }
        }
        connection.closing = true;
    }

    /// Tells the simulation that a session has ended, once.
    fn end_session(&mut self, connection: &Connection) {
        if self.sessions.remove(&connection.session).is_some() && connection.gate == Gate::Open {
            self.tell_sim(ToSim::Closed { session: connection.session });
        }
    }

    /// Drops a connection. It is out of its place already.
    fn remove(&mut self, key: usize, connection: &mut Connection) {
        self.unsubscribe_all(key, connection);
        self.arm(key, connection, None);
        self.end_session(connection);
        self.held.release(connection);
        self.free.push(key);
        tracing::debug!("session {}: disconnected", connection.session);
    }
}
