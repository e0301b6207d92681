//! Panics in a plugin: caught at the border, told to the host, never thrown across.
//!
//! A plugin has its own copy of the standard library, so the host's panic hook never hears of its panics. The hook that
//! is installed here sends them to the host's log, also those of the plugin's own threads.

use crate::abi::{level, out, rc};
use crate::raw::{HostLink, Out};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};
use std::{fmt, mem, ptr, thread};

thread_local! {
    /// The host of the call that this thread is in, else NULL.
    static CURRENT: Cell<*const HostLink> = const { Cell::new(ptr::null()) };
    /// What the last panic of this thread said, until the guard takes it.
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The hosts of all instances, for panics of threads that are in no call.
static HOSTS: Mutex<Vec<Weak<HostLink>>> = Mutex::new(Vec::new());

/// Installs the hook, once.
pub(crate) fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !report(info) {
                previous(info);
            }
        }));
    });
}

/// Has panics of this instance's threads told to its host.
pub(crate) fn watch(host: &Arc<HostLink>) {
    install_hook();
    let mut hosts = HOSTS.lock().unwrap_or_else(PoisonError::into_inner);
    hosts.retain(|host| host.strong_count() > 0);
    hosts.push(Arc::downgrade(host));
}

/// Tells a panic to the host; false when there is none that listens.
fn report(info: &PanicHookInfo<'_>) -> bool {
    let text = match info.location() {
        Some(place) => format!("panicked at {place}: {}", Payload(info.payload())),
        None => format!("panicked: {}", Payload(info.payload())),
    };
    // A thread that is going down may have lost its locals already.
    let _ = LAST.try_with(|last| {
        if let Ok(mut last) = last.try_borrow_mut() {
            *last = Some(text.clone());
        }
    });
    let current = CURRENT.try_with(Cell::get).unwrap_or(ptr::null());
    // SAFETY: non-NULL only inside `guard`, which borrows the link for as long.
    if let Some(host) = unsafe { current.as_ref() } {
        return host.log(level::ERROR, &text);
    }
    let thread = thread::current();
    let text = format!("thread \"{}\" {text}", thread.name().unwrap_or("unnamed"));
    let hosts: Vec<_> = match HOSTS.try_lock() {
        Ok(hosts) => hosts.iter().filter_map(Weak::upgrade).collect(),
        Err(_) => return false,
    };
    hosts.iter().rev().any(|host| host.log(level::ERROR, &text))
}

/// Runs a slot's body. A panic becomes text at the sink and [`rc::ERR_PANIC`].
pub(crate) fn guard(host: Option<&HostLink>, out: &Out<'_>, body: impl FnOnce() -> i32) -> i32 {
    let previous = CURRENT.replace(host.map_or(ptr::null(), ptr::from_ref));
    // The instance behind `body` may be left half-changed; that is why it is only dropped afterwards.
    let result = catch_unwind(AssertUnwindSafe(body));
    CURRENT.set(previous);
    result.unwrap_or_else(|payload| {
        let text = LAST.take().unwrap_or_else(|| format!("panicked: {}", Payload(payload.as_ref())));
        // Its destructor is the plugin's code and could panic again.
        mem::forget(payload);
        out.write(out::TEXT, text.as_bytes());
        rc::ERR_PANIC
    })
}

/// A panic's payload as text.
struct Payload<'a>(&'a (dyn Any + Send));

impl fmt::Display for Payload<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = self.0.downcast_ref::<&str>() {
            f.write_str(text)
        } else if let Some(text) = self.0.downcast_ref::<String>() {
            f.write_str(text)
        } else {
            f.write_str("a payload that is no text")
        }
    }
}
