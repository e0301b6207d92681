//! What the host logs, as pushes: a layer of `tracing` puts it into queues, and the sim thread takes it out.
//!
//! A queue is bounded and is filled only while somebody subscribes. The layer never waits: what finds no room is counted.
//! Nothing that is logged while a log is being queued or pushed is queued itself, or it would never end.

use crossbeam_channel::{Receiver, Sender, bounded};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

use super::commands::body;
use super::simulation::Simulation;
use crate::net::{PushKind, SessionId, Topic};
use crate::text::one_line;

/// Logs that wait for the sim thread: more than any tick brings, unless something logs in a loop.
const ROOM: usize = 1024;

/// A longer message is cut, bytes.
const LONGEST: usize = 16 << 10;

/// The queues of all simulations of this process.
static QUEUES: RwLock<Vec<Weak<Queue>>> = RwLock::new(Vec::new());

thread_local! {
    /// This thread queues or pushes a log.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Something worth knowing.
    Info,
    /// Something that may be wrong.
    Warn,
    /// Something that is wrong.
    Error,
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Log {
    level: LogLevel,
    /// The part of the host, or "plugin".
    target: &'static str,
    /// The plugin that it is of or about.
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin: Option<String>,
    message: String,
}

/// Between all threads and one sim thread.
#[derive(Debug)]
struct Queue {
    topic: Topic,
    logs: Sender<Log>,
    /// How many found no room.
    missed: AtomicU64,
    /// Wakes the sim thread.
    wake: Sender<()>,
}

impl Queue {
    fn put(&self, log: Log) {
        if self.logs.try_send(log).is_err() {
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
        // A full channel already holds the wake-up.
        let _ = self.wake.try_send(());
    }
}

/// The sim thread's end of a queue, with who reads what.
#[derive(Debug)]
pub(super) struct Logs {
    queue: Arc<Queue>,
    logs: Receiver<Log>,
    /// From which level on, by session.
    readers: Vec<(SessionId, LogLevel)>,
}

impl Logs {
    /// Follows the log for the subscribers of a topic.
    pub fn new(topic: Topic, wake: Sender<()>) -> Self {
        let (sender, logs) = bounded(ROOM);
        let queue = Arc::new(Queue { topic, logs: sender, missed: AtomicU64::new(0), wake });
        let mut queues = QUEUES.write().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|queue| queue.strong_count() > 0);
        queues.push(Arc::downgrade(&queue));
        Self { queue, logs, readers: Vec::new() }
    }

    /// Lets a session read what is at least this bad.
    pub fn add(&mut self, session: SessionId, level: LogLevel) {
        self.remove(session);
        if self.readers.is_empty() {
            // What is left over is of before its time.
            self.logs.try_iter().for_each(drop);
            self.queue.missed.store(0, Ordering::Relaxed);
        }
        self.readers.push((session, level));
    }

    /// Ends that.
    pub fn remove(&mut self, session: SessionId) {
        self.readers.retain(|(reader, _)| *reader != session);
    }
}

/// A push of `logs`.
#[derive(Serialize)]
struct LogPush<'a> {
    #[serde(flatten)]
    log: &'a Log,
    /// Ticks done when it was pushed.
    tick: u64,
}

impl Simulation {
    /// Pushes what has been logged since the last time.
    pub(super) fn push_logs(&self) {
        let count = self.logs.logs.len();
        if count == 0 && self.logs.queue.missed.load(Ordering::Relaxed) == 0 {
            return;
        }
        let _busy = Busy::enter();
        // A bound, so that something that logs without a pause cannot hold the tick back.
        for log in self.logs.logs.try_iter().take(count) {
            for &(session, _) in self.logs.readers.iter().filter(|(_, level)| log.level >= *level) {
                let push = body(&LogPush { log: &log, tick: self.tick });
                self.net.push_to(session, &self.topics.logs, push, PushKind::Event);
            }
        }
        // They were logged behind those that found room.
        match self.logs.queue.missed.swap(0, Ordering::Relaxed) {
            0 => {}
            missed => self.net.missed(&self.topics.logs, missed),
        }
    }
}

/// While it is there, what this thread logs is not queued.
struct Busy;

impl Busy {
    /// `None` where that is so already.
    fn enter() -> Option<Self> {
        // A thread that is ending has no such flag any more, and queues nothing.
        let was = BUSY.try_with(|busy| busy.replace(true)).unwrap_or(true);
        (!was).then_some(Self)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = BUSY.try_with(|busy| busy.set(false));
    }
}

/// A layer of `tracing` that gives what is logged, from info on, to those who subscribe to the topic `logs`. Without it, as
/// in a program that uses the library and sets up no log, that topic is silent.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogLayer;

impl<S: Subscriber> Layer<S> for LogLayer {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let level = match *event.metadata().level() {
            Level::ERROR => LogLevel::Error,
            Level::WARN => LogLevel::Warn,
            Level::INFO => LogLevel::Info,
            _ => return,
        };
        let Some(_busy) = Busy::enter() else { return };
        // It is written for an instant only, when a simulation begins: a log of that instant is let go of.
        let Ok(queues) = QUEUES.try_read() else { return };
        let mut listening =
            queues.iter().filter_map(Weak::upgrade).filter(|queue| queue.topic.has_subscribers()).peekable();
        if listening.peek().is_none() {
            return;
        }
        let mut text = Text::default();
        event.record(&mut text);
        let log = Log { level, target: event.metadata().target(), plugin: text.plugin.take(), message: text.message() };
        listening.for_each(|queue| queue.put(log.clone()));
    }
}

/// The fields of an event, as text.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
    plugin: Option<String>,
}

impl Text {
    /// On one line, and not too long.
    fn message(self) -> String {
        let mut whole = self.message + &self.fields;
        let cut = whole.floor_char_boundary(LONGEST);
        if cut < whole.len() {
            whole.truncate(cut);
            whole.push('…');
        }
        one_line(&whole).into_owned()
    }
}

impl Visit for Text {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "plugin" => self.plugin = Some(one_line(value).into_owned()),
            "message" => self.message.push_str(value),
            _ => self.record_debug(field, &value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to memory fails only where the value's own text does; what there is of it stays.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            "plugin" => write!(self.plugin.get_or_insert_default(), "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{Net, NetOptions};
    use tracing_subscriber::layer::SubscriberExt;

    /// Something that logs when it is logged.
    struct Echo;

    impl fmt::Debug for Echo {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            tracing::warn!("again");
            f.write_str("Echo")
        }
    }

    #[test]
    fn logs_are_queued_for_subscribers_and_counted_beyond_the_room() {
        let (net, _inbox) = Net::start(NetOptions::new("127.0.0.1:0".parse().unwrap())).unwrap();
        let topic = net.handle().topic("logs");
        let (wake, woken) = bounded(1);
        let mut logs = Logs::new(topic.clone(), wake);
        let subscriber = tracing_subscriber::registry().with(LogLayer);
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!("nobody hears");
            assert!(logs.logs.is_empty() && woken.is_empty());
        });
        logs.queue.put(Log { level: LogLevel::Info, target: "t", plugin: None, message: "old".into() });
        logs.add(SessionId(1), LogLevel::Info);
        assert!(logs.logs.is_empty(), "what was left over is gone");
        for n in 0..ROOM + 7 {
            logs.queue.put(Log { level: LogLevel::Warn, target: "t", plugin: None, message: n.to_string() });
        }
        assert_eq!((logs.logs.len(), logs.queue.missed.load(Ordering::Relaxed)), (ROOM, 7));
        assert_eq!(woken.len(), 1);
    }

    #[test]
    fn an_event_becomes_one_line_and_none_follows_from_it() {
        type Line = (Option<String>, String);
        #[derive(Clone, Default)]
        struct Seen(Arc<std::sync::Mutex<Vec<Line>>>);
        impl<S: Subscriber> Layer<S> for Seen {
            fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
                let Some(_busy) = Busy::enter() else { return };
                let mut text = Text::default();
                event.record(&mut text);
                self.0.lock().unwrap().push((text.plugin.take(), text.message()));
            }
        }
        let seen = Seen::default();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(seen.clone()), || {
            tracing::error!(plugin = "race", tick = 3, name = "a b", "two\nlines {}", "\u{1b}[31m");
            let plugin = String::from("p");
            tracing::error!(%plugin, "shown");
            tracing::warn!("{:?}", Echo);
            tracing::info!("{}", "é".repeat(LONGEST));
        });
        let seen = seen.0.lock().unwrap();
        let expected = "two\\nlines \\u{1b}[31m tick=3 name=\"a b\"";
        assert_eq!(seen[0], (Some("race".to_owned()), expected.to_owned()));
        assert_eq!(seen[1], (Some("p".to_owned()), "shown".to_owned()));
        assert_eq!(seen[2], (None, "Echo".to_owned()));
        assert!(seen[3].1.ends_with("é…") && seen[3].1.len() <= LONGEST + "…".len());
        assert_eq!(seen.len(), 4, "what is logged meanwhile is not queued");
    }
}
