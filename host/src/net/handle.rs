//! The simulation's end of the queues.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError};

use super::message::{Body, FromSim, PushKind, SessionId, To, ToSim, Unread};

/// What both threads touch beside the queues.
#[derive(Debug)]
pub(super) struct Shared {
    waker: mio::Waker,
    /// A wake is under way and the network thread has not yet looked; another one would be a wasted system call.
    waking: AtomicBool,
    /// The network thread found the queue to the simulation full, stopped reading, and wants to be woken when there is room.
    pub stalled: AtomicBool,
    /// Held while the network thread takes what one read has brought.
    pub taking: Mutex<()>,
    topics: RwLock<HashMap<Arc<str>, Topic>>,
    /// How often the loop went round, which shows whether it sleeps.
    rounds: AtomicU64,
}

impl Shared {
    pub fn new(waker: mio::Waker) -> Self {
        Self {
            waker,
            waking: AtomicBool::new(false),
            stalled: AtomicBool::new(false),
            taking: Mutex::new(()),
            topics: RwLock::new(HashMap::new()),
            rounds: AtomicU64::new(0),
        }
    }

    fn wake(&self) {
        if !self.waking.swap(true, Ordering::SeqCst)
            && let Err(error) = self.waker.wake()
        {
            tracing::error!("cannot wake the network thread: {error}");
        }
    }

    pub fn count_round(&self) {
        self.rounds.fetch_add(1, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }

    /// Whether there was a wake since the last call. The network thread asks before it looks at the queue, so that what
    /// is sent after that look wakes it again.
    pub fn woken(&self) -> bool {
        self.waking.swap(false, Ordering::SeqCst)
    }
}

/// A subject that sessions subscribe to. Cheap to clone; keep one rather than looking it up by name each time.
#[derive(Clone, Debug)]
pub struct Topic(Arc<TopicState>);

#[derive(Debug)]
struct TopicState {
    name: Arc<str>,
    /// Subscriptions, and calls of `subscribe` that the network thread has not yet seen: never fewer than there are.
    subscribers: AtomicUsize,
}

impl Topic {
    /// The name on the wire.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Whether anybody would get a push: one atomic load. True from the moment that `subscribe` returns.
    #[must_use]
    pub fn has_subscribers(&self) -> bool {
        self.0.subscribers.load(Ordering::Relaxed) > 0
    }

    pub(super) fn add_subscriber(&self) {
        self.0.subscribers.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn drop_subscriber(&self) {
        self.0.subscribers.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Sends replies and pushes. Clone it freely.
///
/// Calls are handed over at once but take effect on the sockets after [`flush`](Self::flush), so that a whole tick
/// costs one wake-up. They keep their order. None of them blocks for long: the queue is bounded, but the network
/// thread never waits for anything but it.
#[derive(Clone, Debug)]
pub struct NetHandle {
    pub(super) queue: Sender<FromSim>,
    pub(super) shared: Arc<Shared>,
}

impl NetHandle {
    /// Answers a request. Replies may be given in any order, and leave in the order of the requests.
    ///
    /// The reply goes out with `timestamp`, and with the request's `id` if it had one; either replaces a field of that
    /// name in the body. A session or slot that is not waiting is ignored, because the client may have gone.
    pub fn reply(&self, session: SessionId, slot: u64, body: Body) {
        self.send(FromSim::Reply { session, slot, body });
    }

    /// Sends to each subscriber of the topic.
    pub fn push(&self, topic: &Topic, body: Body, kind: PushKind) {
        if topic.has_subscribers() {
            self.send(FromSim::Push { topic: topic.clone(), to: To::All, body, kind });
        }
    }

    /// Sends to one session, if it subscribes to the topic.
    pub fn push_to(&self, session: SessionId, topic: &Topic, body: Body, kind: PushKind) {
        if topic.has_subscribers() {
            self.send(FromSim::Push { topic: topic.clone(), to: To::One(session), body, kind });
        }
    }

    /// Sends a latest value to those of these sessions that subscribe to the topic. It is turned into bytes once for all
    /// of them; each one's [`Unread`] tells when it has gone out there.
    pub fn show(&self, to: Vec<(SessionId, Unread)>, topic: &Topic, body: Body) {
        if topic.has_subscribers() {
            self.send(FromSim::Push {
                topic: topic.clone(),
                to: To::These(to),
                body,
                kind: PushKind::Latest { key: 0 },
            });
        }
    }

    /// Counts events that never came so far as missed, which each subscriber is told with the topic's next event.
    pub fn missed(&self, topic: &Topic, count: u64) {
        if topic.has_subscribers() {
            self.send(FromSim::Missed { topic: topic.clone(), count });
        }
    }

    /// Begins to push a topic to a session.
    pub fn subscribe(&self, session: SessionId, topic: &Topic) {
        topic.add_subscriber();
        if !self.send(FromSim::Subscribe { session, topic: topic.clone() }) {
            topic.drop_subscriber();
        }
    }

    /// Ends it.
    pub fn unsubscribe(&self, session: SessionId, topic: &Topic) {
        self.send(FromSim::Unsubscribe { session, topic: topic.clone() });
    }

    /// Drops each [`PushKind::Latest`] that has not gone out yet. For when they have become false: after a reset no
    /// client is told the state before it.
    pub fn forget_latest(&self) {
        self.send(FromSim::ForgetLatest);
    }

    /// Ends a session: what is outstanding is answered with `reason` as an error, everything is flushed, and the
    /// connection is closed.
    pub fn close(&self, session: SessionId, reason: impl Into<String>) {
        self.send(FromSim::Close { session, reason: reason.into() });
    }

    /// Lets the network thread act on all calls up to here.
    pub fn flush(&self) {
        self.shared.wake();
    }

    /// The topic of this name. Topics are kept for ever: look up only names that are known to be topics.
    #[must_use]
    pub fn topic(&self, name: &str) -> Topic {
        if let Some(topic) = self.shared.topics.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return topic.clone();
        }
        let mut topics = self.shared.topics.write().unwrap_or_else(PoisonError::into_inner);
        let name: Arc<str> = Arc::from(name);
        let new = || Topic(Arc::new(TopicState { name: Arc::clone(&name), subscribers: AtomicUsize::new(0) }));
        topics.entry(Arc::clone(&name)).or_insert_with(new).clone()
    }

    /// Whether anybody subscribes to the topic of this name. [`Topic::has_subscribers`] is quicker.
    #[must_use]
    pub fn has_subscribers(&self, name: &str) -> bool {
        let topics = self.shared.topics.read().unwrap_or_else(PoisonError::into_inner);
        topics.get(name).is_some_and(Topic::has_subscribers)
    }

    /// `false`: the network thread is gone, there is nobody to tell, and the message is dropped.
    pub(super) fn send(&self, message: FromSim) -> bool {
        match self.queue.try_send(message) {
            Ok(()) => true,
            Err(TrySendError::Disconnected(_)) => false,
            Err(TrySendError::Full(message)) => {
                // It must be woken first, or both would wait: it makes room as soon as it runs.
                self.shared.wake();
                self.queue.send(message).is_ok()
            }
        }
    }
}

/// Receives what clients send.
#[derive(Debug)]
pub struct Inbox {
    pub(super) queue: Receiver<ToSim>,
    pub(super) shared: Arc<Shared>,
}

/// Why there is no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecvError {
    /// None came in time.
    #[error("no message arrived in time")]
    Timeout,
    /// The network thread has ended, and all that it had sent was received.
    #[error("the network thread has ended")]
    Disconnected,
}

impl Inbox {
    /// The next message, if one is there.
    #[must_use]
    pub fn try_recv(&self) -> Option<ToSim> {
        let message = self.queue.try_recv().ok();
        self.taken();
        message
    }

    /// The next message, waiting for it as long as it takes.
    ///
    /// # Errors
    /// [`RecvError::Disconnected`].
    pub fn recv(&self) -> Result<ToSim, RecvError> {
        let message = self.queue.recv().map_err(|_| RecvError::Disconnected);
        self.taken();
        message
    }

    /// The next message, waiting for it until `deadline`.
    ///
    /// # Errors
    /// [`RecvError`].
    pub fn recv_deadline(&self, deadline: Instant) -> Result<ToSim, RecvError> {
        let message = self.queue.recv_deadline(deadline).map_err(|error| match error {
            RecvTimeoutError::Timeout => RecvError::Timeout,
            RecvTimeoutError::Disconnected => RecvError::Disconnected,
        });
        self.taken();
        message
    }

    /// Waits until the requests that arrived in one piece with one that has been received are in the queue as well.
    pub fn settle(&self) {
        drop(self.shared.taking.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// How many messages wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The queue itself, to wait for it together with others. Whoever takes a message from it directly must call
    /// [`taken`](Self::taken) afterwards.
    #[must_use]
    pub fn receiver(&self) -> &Receiver<ToSim> {
        &self.queue
    }

    /// Wakes the network thread if it stopped reading because the queue was full, and half of it is free again.
    pub fn taken(&self) {
        // The network thread sets the flag and then finds the queue full; whatever is received after that sees the
        // flag. Half a queue, so that it does not run for each single message.
        if self.shared.stalled.load(Ordering::SeqCst)
            && self.queue.len() <= self.queue.capacity().unwrap_or(0) / 2
            && self.shared.stalled.swap(false, Ordering::SeqCst)
        {
            self.shared.wake();
        }
    }
}
