//! The end of the network side.

use std::time::Duration;

use super::message::Body;
use super::server::Server;

/// What requests are answered with that come too late.
pub const STOPPING: &str = "the host is shutting down";

/// How long clients may take to read their last replies.
const STOP_TIME: Duration = Duration::from_millis(200);

impl Server {
    /// Frees the port, answers what is outstanding, and lets each connection flush.
    pub fn begin_stop(&mut self) {
        if let Some(mut listener) = self.listener.take() {
            // It is closed right after, which takes it out of the poll in any case.
            let _ = self.poll.registry().deregister(&mut listener);
        }
        self.accept_again = None;
        self.backlog.clear();
        self.deaf = true;
        self.stop_at = Some(self.now + STOP_TIME);
        for key in 0..self.connections.len() {
            if let Some(connection) = &mut self.connections[key] {
                connection.slots.fill_all(&Body::error(STOPPING));
                connection.release_replies();
                connection.readable = true;
                self.enqueue(key);
            }
        }
    }

    /// Whether the thread may end.
    pub fn is_over(&self) -> bool {
        self.stop_at.is_some_and(|time| time <= self.now || self.connections.len() == self.free.len())
    }
}
