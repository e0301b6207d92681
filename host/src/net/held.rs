//! What all connections together hold in memory.
//!
//! Each connection has limits of its own, and a thousand of them at their limits are more than any machine has. So what
//! they hold is summed up: input that is not a whole request, requests without a reply, replies and pushes that have
//! not been read. The connection that asks for more than the sum allows is told so and closed. One that holds little is
//! left alone: it is not the one that fills the memory.

use std::cell::Cell;
use std::rc::Rc;

use super::connection::Connection;

/// What a connection may hold in any case.
const SMALL: usize = 16 << 10;

/// The sum, and its limit.
#[derive(Debug)]
pub struct Held {
    limit: usize,
    by_connections: usize,
    pub pushes: PushBytes,
}

/// Bytes of the pushes that some connection has not been given yet. A push is there once for all its connections.
#[derive(Clone, Debug, Default)]
pub struct PushBytes(Rc<Cell<usize>>);

impl PushBytes {
    pub fn add(&self, bytes: usize) {
        self.0.set(self.0.get() + bytes);
    }

    pub fn remove(&self, bytes: usize) {
        self.0.set(self.0.get().saturating_sub(bytes));
    }
}

impl Held {
    pub fn new(limit: usize) -> Self {
        Self { limit, by_connections: 0, pushes: PushBytes::default() }
    }

    /// Adds to what a connection holds, until it is counted anew.
    pub fn add(&mut self, connection: &mut Connection, bytes: usize) {
        connection.counted += bytes;
        self.by_connections += bytes;
    }

    /// Counts anew what a connection holds.
    pub fn recount(&mut self, connection: &mut Connection) {
        self.release(connection);
        self.add(connection, connection.held_bytes());
    }

    /// Forgets a connection, which is going.
    pub fn release(&mut self, connection: &mut Connection) {
        self.by_connections -= std::mem::take(&mut connection.counted);
    }

    /// Whether so many more bytes are too many for this connection to ask for.
    pub fn is_too_much(&self, connection: &Connection, bytes: usize) -> bool {
        self.has_no_room_for(bytes) && connection.counted + bytes > SMALL
    }

    /// Whether so many more bytes are beyond the limit.
    pub fn has_no_room_for(&self, bytes: usize) -> bool {
        self.by_connections + self.pushes.0.get() + bytes > self.limit
    }

    /// What the connection is told that asked for too much.
    pub fn refusal(&self) -> String {
        format!(
            "the host holds too much for its connections, over {} bytes of unfinished requests and unread replies of all \
             together, and this connection is closed: read replies sooner, or send again later",
            self.limit
        )
    }
}
