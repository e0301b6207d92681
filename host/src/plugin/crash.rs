//! What is said when a plugin kills the process: which plugin, in which slot, by which signal.
//!
//! A signal such as SIGSEGV cannot be survived in one process. But it can be told apart from a fault of the host: each
//! thread notes the call that it is in, and the handler writes one line with what it finds there, then lets the signal
//! do what it would have done.

use super::sink::Slot;
use std::cell::{Cell, UnsafeCell};
use std::ffi::c_int;
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::sync::Once;

/// The call that a thread is in. Plain pointers: the handler must find it without any code of others.
#[derive(Clone, Copy)]
struct Call {
    plugin: *const u8,
    plugin_len: usize,
    slot: &'static str,
}

const NO_CALL: Call = Call { plugin: ptr::null(), plugin_len: 0, slot: "" };

thread_local! {
    static CURRENT: Cell<Call> = const { Cell::new(NO_CALL) };
}

/// Notes the call for as long as it lives.
pub(super) struct Entered<'a> {
    previous: Call,
    // The handler reads the name as long as this lives.
    _plugin: &'a str,
}

/// This thread calls this slot of this plugin now.
pub(super) fn enter(plugin: &str, slot: Slot) -> Entered<'_> {
    let call = Call { plugin: plugin.as_ptr(), plugin_len: plugin.len(), slot: slot.name() };
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

/// One line, put together without allocation.
struct Line {
    bytes: [u8; 256],
    len: usize,
}

impl Line {
    fn push(&mut self, text: &[u8]) {
        let room = self.bytes.len() - self.len;
        let text = &text[..text.len().min(room)];
        self.bytes[self.len..self.len + text.len()].copy_from_slice(text);
        self.len += text.len();
    }
}

/// Only async-signal-safe calls in here: `write`, `sigaction`, `raise`.
unsafe extern "C" fn handler(signal: c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    let Some(i) = SIGNALS.iter().position(|(number, _)| *number == signal) else { return };
    let call = CURRENT.try_with(Cell::get).unwrap_or(NO_CALL);
    if !call.plugin.is_null() {
        let mut line = Line { bytes: [0; 256], len: 0 };
        line.push(b"tickworks: plugin \"");
        // SAFETY: `Entered` keeps the name alive as long as the call is noted, and this thread is in the call.
        line.push(unsafe { std::slice::from_raw_parts(call.plugin, call.plugin_len.min(100)) });
        line.push(b"\" killed the process in ");
        line.push(call.slot.as_bytes());
        line.push(b": ");
        line.push(SIGNALS[i].1.as_bytes());
        line.push(b"\n");
        // SAFETY: the bytes of `line`; a short write loses the rest of a message, no more.
        unsafe { libc::write(libc::STDERR_FILENO, line.bytes.as_ptr().cast(), line.len) };
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
        let slot = || CURRENT.get().slot;
        let outer = enter("a", Slot::OnTick);
        {
            let _inner = enter("b", Slot::Draw);
            assert_eq!(slot(), "draw");
        }
        assert_eq!(slot(), "on_tick");
        drop(outer);
        assert!(CURRENT.get().plugin.is_null());
    }
}
