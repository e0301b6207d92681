//! The poll loop.
//!
//! # The contract with the poll
//! - Sockets are registered once, for reading and writing, and report *edges*: after a report, the socket must be used
//!   until it says `WouldBlock`, or there is no further report. Each connection remembers in `readable` and `writable`
//!   that it has not said so yet; a connection that may not be read for now keeps its mark, and needs no report later.
//! - Reports may be spurious. So a report only sets marks; the socket itself tells the truth. All reports of a round are
//!   noted before anything is done about the first one, so that none meets a connection that took a closed one's place.
//! - `Interrupted` means to try again, also for the poll itself. A write may take a part of the bytes.
//! - A report of an error or of a reset does not end a connection at once: bytes that came before it are still there to
//!   be read, and reading finds out about the error.
//! - Connections take turns. A turn reads one piece of bounded size, so that none is starved by another one that sends
//!   as fast as it is read.
//! - The poll sleeps until something happens or the earliest deadline is due. With no deadline it sleeps for ever.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use jiff::tz::TimeZone;
use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token};

use super::connection::Connection;
use super::handle::{Inbox, NetHandle, Shared, Topic};
use super::held::Held;
use super::listener;
use super::message::{Body, FromSim, PushKind, SessionId, To, ToSim, Unread};
use super::options::NetOptions;
use super::outbox::Push;
use super::slots::Filled;
use super::stamp::Stamp;
use super::stop::STOPPING;

const LISTENER: Token = Token(usize::MAX);
const WAKER: Token = Token(usize::MAX - 1);

/// How much one turn reads. Large enough that a client which pipelines costs few system calls.
const READ_SIZE: usize = 64 << 10;

/// Messages from the simulation that are taken in one round, before sockets get their turn.
const ROUND: usize = 4096;

/// A running network side.
#[derive(Debug)]
pub struct Net {
    local_addr: SocketAddr,
    handle: NetHandle,
    thread: Option<JoinHandle<()>>,
}

impl Net {
    /// Binds the address and starts the thread.
    ///
    /// # Errors
    /// Limits that cannot work, and an address that cannot be bound, which the error names.
    pub fn start(options: NetOptions) -> io::Result<(Self, Inbox)> {
        options.check()?;
        let mut listener = listener::bind(options.listen)?;
        let local_addr = listener.local_addr()?;
        if options.token.is_none() && !local_addr.ip().is_loopback() {
            tracing::warn!(
                "{local_addr} can be reached from other machines, and no token is asked for: anybody may connect"
            );
        }
        let poll = Poll::new()?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let shared = Arc::new(Shared::new(mio::Waker::new(poll.registry(), WAKER)?));
        let (to_sim, inbox) = bounded(options.queue);
        let (queue, from_sim) = bounded(options.queue);
        let handle = NetHandle { queue, shared: Arc::clone(&shared) };
        let inbox = Inbox { queue: inbox, shared: Arc::clone(&shared) };
        let thread = std::thread::Builder::new()
            .name("net".to_owned())
            .spawn(move || Server::new(options, poll, listener, shared, to_sim, from_sim).run())?;
        Ok((Self { local_addr, handle, thread: Some(thread) }, inbox))
    }

    /// Without port and thread: nothing arrives, and what is sent goes nowhere.
    ///
    /// # Errors
    /// A system that has no file descriptor left for it.
    pub fn nowhere() -> io::Result<(Self, Inbox)> {
        let shared = Arc::new(Shared::new(mio::Waker::new(Poll::new()?.registry(), WAKER)?));
        let handle = NetHandle { queue: bounded(1).0, shared: Arc::clone(&shared) };
        let local_addr = SocketAddr::from(([0; 4], 0));
        Ok((Self { local_addr, handle, thread: None }, Inbox { queue: bounded(1).1, shared }))
    }

    /// The address that is listened on, with the port that was found for port 0.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// The way back to the clients.
    #[must_use]
    pub fn handle(&self) -> NetHandle {
        self.handle.clone()
    }

    /// Ends it: what is outstanding is answered with an error, everything is flushed as far as the clients read it within
    /// 200 ms, and the port is free when this returns. Dropping it does the same.
    pub fn stop(mut self) {
        self.join();
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.handle.send(FromSim::Stop);
            self.handle.flush();
            if thread.join().is_err() {
                tracing::error!("the network thread has panicked");
            }
        }
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        self.join();
    }
}

/// What the thread owns.
pub struct Server {
    pub options: NetOptions,
    pub poll: Poll,
    pub listener: Option<TcpListener>,
    /// The listener has reported, and has not said `WouldBlock` since.
    pub acceptable: bool,
    /// The last attempt to accept failed for want of something that may be there later.
    pub accept_again: Option<Instant>,
    pub shared: Arc<Shared>,
    to_sim: Sender<ToSim>,
    /// What did not fit into `to_sim`: at most one request, besides the openings and closings of sessions. While there is
    /// something in it, no connection is read.
    pub backlog: VecDeque<ToSim>,
    /// Requests that found no receiver.
    undelivered: Vec<ToSim>,
    from_sim: Receiver<FromSim>,
    /// More was in `from_sim` than one round takes.
    more_from_sim: bool,
    /// A connection's place is its token.
    pub connections: Vec<Option<Box<Connection>>>,
    pub free: Vec<usize>,
    pub sessions: HashMap<SessionId, usize>,
    pub last_session: u64,
    /// Who gets which topic.
    audience: Vec<(Topic, Vec<usize>)>,
    /// Connections that have something to do.
    queue: VecDeque<usize>,
    deadlines: BTreeSet<(Instant, usize)>,
    /// What all connections hold together.
    pub held: Held,
    pub scratch: Vec<u8>,
    pub stamp: Stamp,
    /// The time of this round.
    pub now: Instant,
    /// The simulation has gone, or the host is stopping: nothing is passed on any more.
    pub deaf: bool,
    /// When to be gone.
    pub stop_at: Option<Instant>,
}

impl Server {
    fn new(
        options: NetOptions,
        poll: Poll,
        listener: TcpListener,
        shared: Arc<Shared>,
        to_sim: Sender<ToSim>,
        from_sim: Receiver<FromSim>,
    ) -> Self {
        let held = Held::new(options.max_buffered_bytes);
        Self {
            last_session: options.sessions_after,
            options,
            poll,
            listener: Some(listener),
            acceptable: false,
            accept_again: None,
            shared,
            to_sim,
            backlog: VecDeque::new(),
            undelivered: Vec::new(),
            from_sim,
            more_from_sim: false,
            connections: Vec::new(),
            free: Vec::new(),
            sessions: HashMap::new(),
            audience: Vec::new(),
            queue: VecDeque::new(),
            deadlines: BTreeSet::new(),
            held,
            scratch: vec![0; READ_SIZE],
            stamp: Stamp::new(TimeZone::system()),
            now: Instant::now(),
            deaf: false,
            stop_at: None,
        }
    }

    fn run(mut self) {
        let mut events = Events::with_capacity(1024);
        while !self.is_over() {
            if let Err(error) = self.poll.poll(&mut events, self.sleep())
                && error.kind() != io::ErrorKind::Interrupted
            {
                tracing::error!("the network thread ends, because it cannot wait for its sockets: {error}");
                return;
            }
            self.shared.count_round();
            self.now = Instant::now();
            for event in &events {
                match event.token() {
                    LISTENER => self.acceptable = true,
                    WAKER => {}
                    Token(key) => self.mark(key, event),
                }
            }
            self.receive_from_sim();
            self.empty_backlog();
            self.fire_deadlines();
            self.accept();
            for _ in 0..self.queue.len() {
                if let Some(key) = self.queue.pop_front() {
                    self.turn(key);
                }
            }
            self.answer_undelivered();
        }
    }

    /// How long there is nothing to do, unless something happens.
    fn sleep(&self) -> Option<Duration> {
        if !self.queue.is_empty() || self.more_from_sim {
            return Some(Duration::ZERO);
        }
        let deadline = self.deadlines.first().map(|(deadline, _)| *deadline);
        let next = [deadline, self.accept_again, self.stop_at].into_iter().flatten().min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    fn mark(&mut self, key: usize, event: &mio::event::Event) {
        if let Some(Some(connection)) = self.connections.get_mut(key) {
            let broken = event.is_error() || event.is_write_closed();
            connection.reset |= broken;
            connection.readable |= event.is_readable() || event.is_read_closed() || broken;
            connection.writable |= event.is_writable() || broken;
            self.enqueue(key);
        }
    }

    /// Gives a connection a turn in this round.
    pub fn enqueue(&mut self, key: usize) {
        if let Some(Some(connection)) = self.connections.get_mut(key)
            && !std::mem::replace(&mut connection.queued, true)
        {
            self.queue.push_back(key);
        }
    }

    fn fire_deadlines(&mut self) {
        while let Some(&(deadline, key)) = self.deadlines.first()
            && deadline <= self.now
        {
            self.deadlines.pop_first();
            if let Some(Some(connection)) = self.connections.get_mut(key) {
                connection.armed = None;
            }
            self.enqueue(key);
        }
    }

    /// Makes sure that the loop wakes up at the connection's deadline.
    pub fn arm(&mut self, key: usize, connection: &mut Connection, deadline: Option<Instant>) {
        if connection.armed != deadline {
            if let Some(old) = connection.armed {
                self.deadlines.remove(&(old, key));
            }
            if let Some(new) = deadline {
                self.deadlines.insert((new, key));
            }
            connection.armed = deadline;
        }
    }

    /// Whether the simulation takes messages.
    pub fn sim_has_room(&self) -> bool {
        self.backlog.is_empty()
    }

    /// Passes a message on, now or as soon as there is room.
    pub fn tell_sim(&mut self, message: ToSim) {
        if self.deaf {
            return;
        }
        if !self.backlog.is_empty() {
            self.backlog.push_back(message);
            return;
        }
        match self.to_sim.try_send(message) {
            Ok(()) => {}
            Err(TrySendError::Full(message)) => {
                self.backlog.push_back(message);
                self.empty_backlog();
            }
            Err(TrySendError::Disconnected(message)) => self.sim_is_gone(message),
        }
    }

    /// Passes on what waits, as far as there is room, and asks to be woken if some is left.
    fn empty_backlog(&mut self) {
        if self.backlog.is_empty() {
            return;
        }
        // First the flag, then the look: whoever makes room after this look sees the flag.
        self.shared.stalled.store(true, Ordering::SeqCst);
        while let Some(message) = self.backlog.pop_front() {
            match self.to_sim.try_send(message) {
                Ok(()) => {}
                Err(TrySendError::Full(message)) => {
                    self.backlog.push_front(message);
                    return;
                }
                Err(TrySendError::Disconnected(message)) => self.sim_is_gone(message),
            }
        }
        self.shared.stalled.store(false, Ordering::SeqCst);
        for key in 0..self.connections.len() {
            if self.connections[key].as_ref().is_some_and(|connection| connection.unparsed || connection.readable) {
                self.enqueue(key);
            }
        }
    }

    /// Nobody receives any more: what cannot be delivered is answered here. What had been delivered may still be
    /// answered by whoever took it, and is answered when the host stops at the latest.
    fn sim_is_gone(&mut self, undelivered: ToSim) {
        self.deaf = true;
        self.undelivered.push(undelivered);
        self.undelivered.extend(self.backlog.drain(..));
    }

    /// Apart from [`sim_is_gone`](Self::sim_is_gone), which may be called while the connection is out of its place.
    fn answer_undelivered(&mut self) {
        for message in std::mem::take(&mut self.undelivered) {
            if let ToSim::Request { session, slot, .. } = message {
                self.reply(session, slot, Body::error(STOPPING));
            }
        }
    }

    fn receive_from_sim(&mut self) {
        if !self.shared.woken() && !self.more_from_sim {
            return;
        }
        for _ in 0..ROUND {
            let Ok(message) = self.from_sim.try_recv() else {
                self.more_from_sim = false;
                return;
            };
            match message {
                FromSim::Reply { session, slot, body } => self.reply(session, slot, body),
                FromSim::Push { topic, to, body, kind } => self.push(topic, to, body, kind),
                FromSim::Missed { topic, count } => {
                    for connection in self.connections.iter_mut().flatten() {
                        connection.subscriptions.miss(&topic, count);
                    }
                }
                FromSim::Subscribe { session, topic } => self.subscribe(session, &topic),
                FromSim::Unsubscribe { session, topic } => self.unsubscribe(session, &topic),
                FromSim::ForgetLatest => {
                    for connection in self.connections.iter_mut().flatten() {
                        connection.outbox.forget_latest(None);
                    }
                }
                FromSim::Close { session, reason } => self.close(session, &reason),
                FromSim::Stop => self.begin_stop(),
            }
        }
        self.more_from_sim = true;
    }

    /// The connection of a session that has not ended, and its place.
    fn session(&mut self, session: SessionId) -> Option<(usize, &mut Connection)> {
        let key = *self.sessions.get(&session)?;
        Some((key, self.connections.get_mut(key)?.as_mut()?))
    }

    fn reply(&mut self, session: SessionId, slot: u64, body: Body) {
        let Some(&key) = self.sessions.get(&session) else { return };
        let Some(Some(connection)) = self.connections.get_mut(key) else { return };
        // The reply takes the place of its request.
        let bytes = body.size().saturating_sub(connection.slots.bytes_of(slot));
        if self.held.is_too_much(connection, bytes) {
            let refusal = self.held.refusal();
            return self.close(session, &refusal);
        }
        match connection.slots.fill(slot, body) {
            Filled::Yes => {
                self.held.add(connection, bytes);
                connection.release_replies();
                self.enqueue(key);
            }
            // When the session was closed by us, its requests were answered by us as well.
            Filled::Twice if connection.closing => {}
            problem => tracing::error!("session {session}: a reply to request {slot} has no place ({problem:?})"),
        }
    }

    fn push(&mut self, topic: Topic, to: To, body: Body, kind: PushKind) {
        let Some((_, listeners)) = self.audience.iter().find(|(known, _)| known.is(&topic)) else { return };
        let key_of = |session: &SessionId| self.sessions.get(session).copied();
        let receivers: Vec<(usize, Option<Unread>)> = match to {
            To::All => listeners.iter().map(|&key| (key, None)).collect(),
            To::One(session) => key_of(&session).map(|key| (key, None)).into_iter().collect(),
            To::These(sessions) => {
                let found =
                    sessions.into_iter().filter_map(|(session, unread)| Some((key_of(&session)?, Some(unread))));
                found.collect()
            }
        };
        let no_room = kind == PushKind::Event && self.held.has_no_room_for(body.size());
        let push = Rc::new(Push::new(topic, body, self.held.pushes.clone()));
        for (key, unread) in receivers {
            // Those that do not subscribe to the topic do not take it.
            if let Some(Some(connection)) = self.connections.get_mut(key) {
                if no_room {
                    connection.subscriptions.miss(&push.topic, 1);
                } else {
                    connection.subscriptions.push(&push, kind, unread, &mut connection.outbox, &self.options);
                }
                self.enqueue(key);
            }
        }
    }

    fn subscribe(&mut self, session: SessionId, topic: &Topic) {
        let added = match self.session(session) {
            Some((key, connection)) if !connection.closing => connection.subscriptions.add(topic).then_some(key),
            _ => None,
        };
        let Some(key) = added else {
            // It was counted when the simulation asked for it.
            topic.drop_subscriber();
            return;
        };
        match self.audience.iter_mut().find(|(known, _)| known.is(topic)) {
            Some((_, listeners)) => listeners.push(key),
            None => self.audience.push((topic.clone(), vec![key])),
        }
    }

    fn unsubscribe(&mut self, session: SessionId, topic: &Topic) {
        if let Some((key, connection)) = self.session(session)
            && connection.subscriptions.remove(topic)
        {
            connection.outbox.forget_latest(Some(topic));
            self.leave(key, topic);
        }
    }

    fn leave(&mut self, key: usize, topic: &Topic) {
        topic.drop_subscriber();
        if let Some((_, listeners)) = self.audience.iter_mut().find(|(known, _)| known.is(topic)) {
            listeners.retain(|listener| *listener != key);
        }
    }

    /// Ends all subscriptions of a connection.
    pub fn unsubscribe_all(&mut self, key: usize, connection: &mut Connection) {
        for topic in connection.subscriptions.take() {
            self.leave(key, &topic);
        }
    }

    fn close(&mut self, session: SessionId, reason: &str) {
        if let Some((key, connection)) = self.session(session) {
            connection.slots.fill_all(&Body::error(reason));
            connection.release_replies();
            connection.closing = true;
            self.enqueue(key);
        }
    }
}
