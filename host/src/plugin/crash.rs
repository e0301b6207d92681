//! What is said when a plugin kills the process or ends it: which plugin, at which stage or in which slot, by what.
//!
//! A signal such as SIGSEGV cannot be survived in one process, and neither can a call of `exit`. But both can be told
//! apart from what the host does: each thread notes the call that it is in, and the handler writes one line with what it
//! finds there. The signal then does what it would have done; an exit becomes one that has failed, whatever its status
//! was, so that nobody takes it for the end of a run. `_exit` asks nobody.

use std::cell::{Cell, UnsafeCell};
use std::ffi::c_int;
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, OnceLock};

/// Stages of loading that are no slots of the table, as the last line names them.
pub(super) mod stage {
    pub const LIBRARY: &str = "the loading of its library";
    pub const ENTRY: &str = "tw_plugin_entry";
    pub const ROOT: &str = "the check of its root module";
    pub const TABLE: &str = "the reading of its table";
}

/// The call that a thread is in. Plain pointers: the handler must find it without any code of others.
#[derive(Clone, Copy)]
struct Call {
    plugin: *const u8,
    plugin_len: usize,
    place: &'static str,
}

const NO_CALL: Call = Call { plugin: ptr::null(), plugin_len: 0, place: "" };

thread_local! {
    static CURRENT: Cell<Call> = const { Cell::new(NO_CALL) };
}

/// Notes the call for as long as it lives.
pub(super) struct Entered<'a> {
    previous: Call,
    // The handler reads the name as long as this lives.
    _plugin: &'a str,
}

/// This thread calls this slot of this plugin now, or runs its code at this stage.
pub(super) fn enter<'a>(plugin: &'a str, place: &'static str) -> Entered<'a> {
    let call = Call { plugin: plugin.as_ptr(), plugin_len: plugin.len(), place };
    Entered { previous: CURRENT.replace(call), _plugin: plugin }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        CURRENT.set(self.previous);
    }
}

const SIGNALS: [(c_int, &str); 5] = [
    (libc::SIGSEGV, "SIGSEGV (an address that is not its own)"),
    (libc::SIGBUS, "SIGBUS (memory that is not there)"),
    (libc::SIGILL, "SIGILL (an illegal instruction)"),
    (libc::SIGFPE, "SIGFPE (impossible arithmetic)"),
    (libc::SIGABRT, "SIGABRT (it called abort)"),
];

/// What the signals did before, for the handler to go back to.
struct Previous(UnsafeCell<[MaybeUninit<libc::sigaction>; SIGNALS.len()]>);
// SAFETY: written once before any handler is installed, and only read afterwards.
unsafe impl Sync for Previous {}
static PREVIOUS: Previous = Previous(UnsafeCell::new([const { MaybeUninit::uninit() }; SIGNALS.len()]));

/// Installs the handlers, once for the process.
///
/// They run on the alternate stack that the standard library gives to each of its threads, so an overflow of the stack
/// is reported as well.
pub fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: the functions have the type that is asked for. Where there is no room for them, exits are not told.
        unsafe {
            libc::atexit(exit_handler);
            at_quick_exit(exit_handler);
        }
        for (i, (signal, _)) in SIGNALS.iter().enumerate() {
            // SAFETY: `Once` makes this the only writer, and no handler of ours reads the entry before the second call,
            // which installs it. Both calls get valid pointers; the handler is async-signal-safe.
            unsafe {
                let previous = (*PREVIOUS.0.get())[i].as_mut_ptr();
                if libc::sigaction(*signal, ptr::null(), previous) != 0 {
                    continue;
                }
                let mut action: libc::sigaction = mem::zeroed();
                action.sa_sigaction = handler as *const () as libc::sighandler_t;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigemptyset(&raw mut action.sa_mask);
                libc::sigaction(*signal, &raw const action, ptr::null_mut());
            }
        }
    });
}

unsafe extern "C" {
    /// C11's; the libc crate does not have it.
    fn at_quick_exit(function: extern "C" fn()) -> c_int;
}

/// What is called before the process ends in one of the ways that are told here.
static BEFORE_THE_END: OnceLock<fn()> = OnceLock::new();

/// Has this called before a signal or an exit ends the process: once for a process, and only async-signal-safe functions.
pub fn before_the_end(run: fn()) {
    let _ = BEFORE_THE_END.set(run);
}

fn put_in_order() {
    if let Some(run) = BEFORE_THE_END.get() {
        run();
    }
}

/// The host itself does not call `exit` now: see [`forbid_exit`].
static EXIT_IS_FORBIDDEN: AtomicBool = AtomicBool::new(false);

/// The ids of all plugins that have been loaded, for exits of which nobody knows whose they are.
static LOADED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// This plugin may end the process from now on, with threads of its own.
pub(super) fn loaded(id: &str) {
    LOADED.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(id.to_owned());
}

/// While this lives, `exit` is called by plugins only.
pub struct NoExit(());

/// The host does not call `exit` as long as the result lives, which goes also when a panic does. So an exit outside of all
/// calls is one of a plugin's own thread.
#[must_use]
pub fn forbid_exit() -> NoExit {
    EXIT_IS_FORBIDDEN.store(true, Ordering::SeqCst);
    NoExit(())
}

impl Drop for NoExit {
    fn drop(&mut self) {
        EXIT_IS_FORBIDDEN.store(false, Ordering::SeqCst);
    }
}

/// What an exit that no plugin may ask for ends with.
const FAILED: c_int = 1;

extern "C" fn exit_handler() {
    let call = CURRENT.try_with(Cell::get).unwrap_or(NO_CALL);
    let mut line = Line::new();
    if !call.plugin.is_null() {
        line.push(b"tickworks: plugin \"");
        line.push_name(call);
        line.push(b"\" ended the process in ");
        line.push(call.place.as_bytes());
        line.push(b": it called exit");
    } else if EXIT_IS_FORBIDDEN.load(Ordering::SeqCst) {
        line.push(b"tickworks: a thread of a plugin ended the process: it called exit; loaded: ");
        // Who calls exit may be in the middle of loading.
        let ids = LOADED.try_lock().map(|ids| ids.join(", ")).unwrap_or_default();
        line.push(ids.as_bytes());
    } else {
        return;
    }
    put_in_order();
    line.write();
    // SAFETY: it does not return, and runs nothing else: what else was to run at the exit may be the plugin's.
    unsafe { libc::_exit(FAILED) };
}

/// Bytes of a line.
const LONGEST: usize = 512;

/// Bytes of a plugin's name or path in it: of a longer one its end is shown.
const LONGEST_NAME: usize = 320;

/// One line, put together without allocation.
struct Line {
    bytes: [u8; LONGEST],
    len: usize,
}

impl Line {
    const fn new() -> Self {
        Self { bytes: [0; LONGEST], len: 0 }
    }

    /// The name in a call that is noted, and that this thread is in.
    fn push_name(&mut self, call: Call) {
        // SAFETY: `Entered` keeps the name alive as long as the call is noted.
        let name = unsafe { std::slice::from_raw_parts(call.plugin, call.plugin_len) };
        self.push(&name[name.len().saturating_sub(LONGEST_NAME)..]);
    }

    /// Ends the line, also one that is full, and writes it.
    fn write(&mut self) {
        self.bytes[self.len] = b'\n';
        self.len += 1;
        // SAFETY: the bytes of `self`; a short write loses the rest of a message, no more.
        unsafe { libc::write(libc::STDERR_FILENO, self.bytes.as_ptr().cast(), self.len) };
    }

    fn push(&mut self, text: &[u8]) {
        let room = LONGEST - 1 - self.len;
        let text = &text[..text.len().min(room)];
        self.bytes[self.len..self.len + text.len()].copy_from_slice(text);
        self.len += text.len();
    }
}

/// Only async-signal-safe calls in here: `write`, `sigaction`, `raise`, and what [`before_the_end`] was given.
unsafe extern "C" fn handler(signal: c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    let Some(i) = SIGNALS.iter().position(|(number, _)| *number == signal) else { return };
    put_in_order();
    let call = CURRENT.try_with(Cell::get).unwrap_or(NO_CALL);
    if !call.plugin.is_null() {
        let mut line = Line::new();
        line.push(b"tickworks: plugin \"");
        line.push_name(call);
        line.push(b"\" killed the process in ");
        line.push(call.place.as_bytes());
        line.push(b": ");
        line.push(SIGNALS[i].1.as_bytes());
        line.write();
    }
    // SAFETY: `install` filled the entry before it installed this handler for the signal; `info` is the kernel's.
    unsafe {
        libc::sigaction(signal, (*PREVIOUS.0.get())[i].as_ptr(), ptr::null_mut());
        // A fault happens again when this returns, and then does what it did before. A signal that was sent does not.
        if info.is_null() || (*info).si_code <= 0 {
            libc::raise(signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_nest() {
        let place = || CURRENT.get().place;
        let outer = enter("a", "on_tick");
        {
            let _inner = enter("b", "draw");
            assert_eq!(place(), "draw");
        }
        assert_eq!(place(), "on_tick");
        drop(outer);
        assert!(CURRENT.get().plugin.is_null());
    }
}
