//! What the host offers to an instance: the table's host functions, and where their requests wait for the sim thread.

use super::reply::check_object;
use crate::quiet::Quiet;
use crate::text::{cut, one_line};
use std::collections::VecDeque;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tickworks_plugin_api::Topic;
use tickworks_plugin_api::abi::{self, Bytes, level, rc};

/// Called from any thread when the sim thread has something to do, to get it out of its sleep. It must not wait for the
/// sim thread, which may itself wait for the plugin that calls.
pub type Waker = Arc<dyn Fn() + Send + Sync>;

/// A push of a plugin to the subscribers of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// The instance that it comes from.
    pub instance: String,
    /// The topic.
    pub topic: String,
    /// A JSON object.
    pub json: Vec<u8>,
}

/// More bytes of pushes than this do not wait: a plugin that pushes faster than ticks pass is told so.
const MOST_WAITING: usize = 64 << 20;
/// A longer line of a plugin is cut.
const LONGEST_LINE: usize = 16 << 10;

/// Where the requests of all instances wait for the sim thread.
#[derive(Default)]
pub(super) struct Outbox {
    waiting: Mutex<Waiting>,
    /// Some instance asked for `on_wake`.
    pub wanted: AtomicBool,
    waker: Option<Waker>,
}

#[derive(Default)]
struct Waiting {
    published: VecDeque<Published>,
    size: usize,
}

impl Outbox {
    pub fn new(waker: Option<Waker>) -> Self {
        Self { waker, ..Self::default() }
    }

    pub fn wake_sim(&self) {
        if let Some(waker) = &self.waker {
            waker();
        }
    }

    fn publish(&self, push: Published) -> i32 {
        {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let size = waiting.size + push.json.len() + push.topic.len();
            if size > MOST_WAITING {
                return rc::ERR_STATE;
            }
            waiting.size = size;
            waiting.published.push_back(push);
        }
        self.wake_sim();
        rc::OK
    }

    pub fn take_published(&self) -> Vec<Published> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.size = 0;
        waiting.published.drain(..).collect()
    }
}

/// The host as one instance sees it. It stays where it is from `create` to `destroy`.
pub(super) struct HostTable {
    raw: abi::Host,
    name: String,
    /// The topics that its manifest declares.
    topics: Vec<String>,
    wanted: AtomicBool,
    outbox: Arc<Outbox>,
    /// What is logged of pushes that are refused.
    quiet: Mutex<Quiet>,
}

// SAFETY: `raw.ctx` points to the value itself; everything that is reached through it is atomic or behind a lock.
unsafe impl Send for HostTable {}
// SAFETY: as above.
unsafe impl Sync for HostTable {}

impl HostTable {
    pub fn new(name: &str, topics: &[Topic], outbox: &Arc<Outbox>) -> Box<Self> {
        let mut table = Box::new(Self {
            raw: abi::Host {
                struct_size: super::struct_size::<abi::Host>(),
                abi_major: abi::ABI_MAJOR,
                abi_minor: abi::ABI_MINOR,
                ctx: ptr::null_mut(),
                log: Some(log),
                wake: Some(wake),
                publish: Some(publish),
                get_extension: Some(get_extension),
            },
            name: name.to_owned(),
            topics: topics.iter().map(|topic| topic.name.clone()).collect(),
            wanted: AtomicBool::new(false),
            outbox: Arc::clone(outbox),
            quiet: Mutex::default(),
        });
        table.raw.ctx = ptr::from_ref::<Self>(&table).cast_mut().cast();
        table
    }

    pub fn raw(&self) -> *const abi::Host {
        &raw const self.raw
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Takes a push, or says with which code it is refused, and why.
    fn publish(&self, topic: &[u8], json: &[u8]) -> Result<(), (i32, String)> {
        let topic = String::from_utf8_lossy(topic);
        if !self.topics.iter().any(|known| *known == topic) {
            let why = format!(
                "the topic \"{}\" is not in the plugin's manifest, expected {}",
                cut(&topic),
                if self.topics.is_empty() { "one that is".into() } else { self.topics.join(" or ") }
            );
            return Err((rc::ERR_BAD_ARG, why));
        }
        let (instance, topic) = (self.name.clone(), topic.into_owned());
        check_object(json).map_err(|unfit| (rc::ERR_BAD_ARG, format!("what is for topic \"{topic}\" is {unfit}")))?;
        match self.outbox.publish(Published { instance, topic, json: json.to_vec() }) {
            rc::OK => Ok(()),
            code => Err((code, format!("over {MOST_WAITING} bytes of pushes are waiting"))),
        }
    }

    /// Whether the instance asked for `on_wake` since the last time.
    pub fn take_wanted(&self) -> bool {
        self.wanted.swap(false, Ordering::AcqRel)
    }
}

/// Runs the body of a host function for a plugin, with a panic of ours kept on our side.
///
/// # Safety
/// `host` is NULL or the one of an instance that has not been destroyed.
unsafe fn answer<R>(host: *const abi::Host, refused: R, body: impl FnOnce(&HostTable) -> R) -> R {
    // SAFETY: the caller's promise.
    let Some(raw) = (unsafe { host.as_ref() }) else { return refused };
    // SAFETY: `ctx` points to the table that the host came from.
    let Some(table) = (unsafe { raw.ctx.cast_const().cast::<HostTable>().as_ref() }) else { return refused };
    catch_unwind(AssertUnwindSafe(|| body(table))).unwrap_or(refused)
}

unsafe extern "C" fn log(host: *const abi::Host, level: u32, text: Bytes) {
    // SAFETY: by the table's contract.
    unsafe {
        answer(host, (), |table| {
            let text = text.as_slice();
            let cut = &text[..text.len().min(LONGEST_LINE)];
            write_log(&table.name, level, &one_line(String::from_utf8_lossy(cut).trim_end()));
        });
    }
}

/// A line of a plugin in the host's log.
fn write_log(plugin: &str, level: u32, text: &str) {
    match level {
        level::ERROR => tracing::error!(target: "plugin", plugin, "{text}"),
        level::WARN => tracing::warn!(target: "plugin", plugin, "{text}"),
        level::INFO => tracing::info!(target: "plugin", plugin, "{text}"),
        level::DEBUG => tracing::debug!(target: "plugin", plugin, "{text}"),
        _ => tracing::trace!(target: "plugin", plugin, "{text}"),
    }
}

unsafe extern "C" fn wake(host: *const abi::Host) {
    // SAFETY: by the table's contract.
    unsafe {
        answer(host, (), |table| {
            table.wanted.store(true, Ordering::Release);
            // One call of the waker until the sim thread has looked.
            if !table.outbox.wanted.swap(true, Ordering::AcqRel) {
                table.outbox.wake_sim();
            }
        });
    }
}

unsafe extern "C" fn publish(host: *const abi::Host, topic: Bytes, json: Bytes) -> i32 {
    // SAFETY: by the table's contract.
    unsafe {
        answer(host, rc::ERR_PANIC, |table| {
            let (code, why) = match table.publish(topic.as_slice(), json.as_slice()) {
                Ok(()) => return rc::OK,
                Err(refused) => refused,
            };
            // The code alone helps nobody, and not every plugin looks at it.
            let mut quiet = table.quiet.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(line) = quiet.hear(format!("a push was refused: {why}")) {
                tracing::warn!(target: "plugin", plugin = table.name, "{line}");
            }
            code
        })
    }
}

unsafe extern "C" fn get_extension(_host: *const abi::Host, _id: Bytes) -> *const c_void {
    // Version 1.0 has none.
    ptr::null()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn pushes_and_wakes_wait_for_the_sim_thread() {
        let woken = Arc::new(AtomicUsize::new(0));
        let waker: Waker = {
            let woken = Arc::clone(&woken);
            Arc::new(move || {
                woken.fetch_add(1, Ordering::Relaxed);
            })
        };
        let outbox = Arc::new(Outbox::new(Some(waker)));
        let table = HostTable::new("race", &[Topic { name: "race".into(), summary: String::new() }], &outbox);
        let publish_text = |topic: &str, json: &str| {
            // SAFETY: the host of a table that lives.
            unsafe { publish(table.raw(), Bytes::new(topic.as_bytes()), Bytes::new(json.as_bytes())) }
        };
        assert_eq!(publish_text("race", r#"{"lap":1}"#), rc::OK);
        assert_eq!(publish_text("race", "[1]"), rc::ERR_BAD_ARG);
        assert_eq!(publish_text("race", "{"), rc::ERR_BAD_ARG);
        assert_eq!(publish_text("", "{}"), rc::ERR_BAD_ARG);
        assert_eq!(publish_text("laps", "{}"), rc::ERR_BAD_ARG, "a topic that the manifest does not declare");
        assert_eq!(publish_text("race", r#"{"lap":1e999}"#), rc::ERR_BAD_ARG);
        let expected = Published { instance: "race".into(), topic: "race".into(), json: br#"{"lap":1}"#.to_vec() };
        assert_eq!(outbox.take_published(), [expected]);
        assert_eq!(outbox.take_published(), []);
        // SAFETY: the host of a table that lives.
        unsafe { (wake(table.raw()), wake(table.raw())) };
        assert_eq!(woken.load(Ordering::Relaxed), 2, "one push, two wakes that are one");
        assert!(table.take_wanted() && !table.take_wanted());
        // SAFETY: NULL is refused.
        assert_eq!(unsafe { publish(ptr::null(), Bytes::EMPTY, Bytes::EMPTY) }, rc::ERR_PANIC);
    }
}
