//! The state of one connection.

use std::net::SocketAddr;
use std::time::Instant;

use mio::net::TcpStream;

use super::buffer::Buffer;
use super::drain::Drain;
use super::framing::Framing;
use super::message::SessionId;
use super::options::NetOptions;
use super::outbox::Outbox;
use super::slots::Slots;
use super::subscriptions::Subscriptions;

/// What stands between a connection and the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Nothing: the simulation knows the session.
    Open,
    /// The token has to be shown.
    NeedsToken,
    /// It is one too many. Its first request is answered with that, so that the client learns it.
    TurnedAway,
}

/// A socket, and all that is under way on it.
#[derive(Debug)]
pub struct Connection {
    pub session: SessionId,
    pub peer: SocketAddr,
    pub stream: TcpStream,
    /// Known from the first byte on.
    pub framing: Option<Framing>,
    pub gate: Gate,
    /// By when a connection must have got through its gate.
    pub gate_deadline: Option<Instant>,

    /// Bytes that were read and do not make up a frame yet, or have to wait for room.
    pub input: Buffer,
    /// How many of them are known not to hold the end of a frame.
    pub scanned: usize,
    /// `input` may hold whole frames that wait for room.
    pub unparsed: bool,
    /// The socket may have bytes: it has not said otherwise since it last said that it has.
    pub readable: bool,
    /// The socket may take bytes.
    pub writable: bool,
    /// The client has sent its last byte. It may still read.
    pub ended: bool,
    /// The connection was reset: nothing that is written arrives.
    pub reset: bool,
    /// Nothing more is taken from the client; when all is flushed, the connection is closed.
    pub closing: bool,
    /// All is flushed and our side is shut; what the client still sends is thrown away until then, because closing a
    /// socket with unread bytes would destroy the last reply on its way.
    pub linger_until: Option<Instant>,

    pub slots: Slots,
    pub outbox: Outbox,
    pub output: Buffer,
    pub subscriptions: Subscriptions,
    pub drain: Drain,
    /// What it holds, as far as that has been added to the sum of all: see `held`.
    pub counted: usize,

    /// It is in the loop's queue.
    pub queued: bool,
    /// The deadline that the loop knows of.
    pub armed: Option<Instant>,
}

impl Connection {
    pub fn new(session: SessionId, peer: SocketAddr, stream: TcpStream, gate: Gate) -> Self {
        Self {
            session,
            peer,
            stream,
            framing: None,
            gate,
            gate_deadline: None,
            input: Buffer::default(),
            scanned: 0,
            unparsed: false,
            // Bytes may have come with the connection.
            readable: true,
            writable: true,
            ended: false,
            reset: false,
            closing: false,
            linger_until: None,
            slots: Slots::default(),
            outbox: Outbox::default(),
            output: Buffer::default(),
            subscriptions: Subscriptions::default(),
            drain: Drain::default(),
            counted: 0,
            queued: false,
            armed: None,
        }
    }

    /// Bytes of requests without a reply, and of replies that have not been read.
    fn outstanding_bytes(&self) -> usize {
        self.slots.bytes() + self.outbox.reply_bytes() + self.output.len()
    }

    /// Bytes of memory that are there for this connection alone.
    pub fn held_bytes(&self) -> usize {
        self.input.held_bytes() + self.slots.bytes() + self.outbox.reply_bytes() + self.output.held_bytes()
    }

    /// Whether one more request may be taken from the client.
    pub fn has_room(&self, options: &NetOptions) -> bool {
        !self.closing
            && self.slots.len() < options.max_outstanding_requests
            && self.outstanding_bytes() < options.max_outstanding_bytes
    }

    /// Moves the replies whose turn it is to the outbox.
    pub fn release_replies(&mut self) {
        while let Some((id, body)) = self.slots.next() {
            self.outbox.reply(id, body);
        }
    }

    /// Whether the client will get no more replies, and has been given all bytes.
    pub fn is_finished(&self) -> bool {
        (self.closing || (self.ended && !self.unparsed))
            && self.slots.is_empty()
            && self.outbox.is_empty()
            && self.output.is_empty()
    }

    /// Whether the client has to read now, or is dropped after a time.
    pub fn must_read(&self, options: &NetOptions) -> bool {
        !self.output.is_empty()
            && (self.closing || self.ended || self.outstanding_bytes() >= options.max_outstanding_bytes)
    }

    /// Why the connection is to be dropped by now, if it is.
    pub fn expired(&self, options: &NetOptions, now: Instant) -> Option<&'static str> {
        let over = |deadline: Option<Instant>| deadline.is_some_and(|deadline| deadline <= now);
        if over(self.linger_until) {
            Some("it was closed")
        } else if over(self.gate_deadline) {
            Some("it sent no request in time that would have let it in")
        } else if over(self.drain.deadline(options.drain_timeout)) {
            Some("it did not read its replies in time")
        } else {
            None
        }
    }

    /// When the connection has to be looked at next, even if nothing happens on it.
    pub fn deadline(&self, options: &NetOptions) -> Option<Instant> {
        let drain = self.drain.deadline(options.drain_timeout);
        [self.linger_until, self.gate_deadline, drain].into_iter().flatten().min()
    }
}
