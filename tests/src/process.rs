//! A run of the program: what it prints, how it ends.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::{PATIENCE, program};

/// How a run ended, and what it printed.
#[derive(Debug)]
pub struct Exit {
    /// The exit status; `None` when a signal ended it.
    pub code: Option<i32>,
    /// The number of the signal that ended it.
    pub signal: Option<i32>,
    /// Everything from stdout.
    pub stdout: String,
    /// Everything from stderr.
    pub stderr: String,
}

/// Signals that end a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C.
    Int,
    /// A polite request.
    Term,
    /// No request at all.
    Kill,
}

/// Runs `tickworks` to its end.
pub fn tickworks<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Exit {
    Process::start(args).wait()
}

/// A running `tickworks`, which does not outlive this value.
pub struct Process {
    child: Child,
    stdout: Arc<Lines>,
    stderr: Arc<Lines>,
    readers: Vec<JoinHandle<()>>,
    /// A home of its own, so that nothing of the user's is found in it.
    _home: TempDir,
}

impl Process {
    /// Starts it with these arguments, in an environment without the user's settings.
    pub fn start<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Self {
        Self::start_with(args, |_| {})
    }

    /// Likewise, after `change` has had a look at the command.
    pub fn start_with<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>, change: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(program());
        command.args(args);
        Self::spawn(command, change)
    }

    /// Runs another program likewise, one that runs `tickworks` in its turn.
    pub fn spawn(mut command: Command, change: impl FnOnce(&mut Command)) -> Self {
        let home = tempfile::tempdir().expect("a folder for temporary files");
        command.env("HOME", home.path());
        for name in std::env::vars_os().map(|(name, _)| name) {
            let text = name.to_string_lossy();
            if text.starts_with("TICKWORKS_")
                || text.starts_with("XDG_")
                || text.starts_with("GZ_")
                || text == "RUST_LOG"
            {
                command.env_remove(&name);
            }
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        change(&mut command);
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", command.get_program().display()));
        let (stdout, stderr) = (Arc::new(Lines::default()), Arc::new(Lines::default()));
        let mut readers = Vec::new();
        if let Some(pipe) = child.stdout.take() {
            readers.push(Lines::read(&stdout, pipe));
        }
        if let Some(pipe) = child.stderr.take() {
            readers.push(Lines::read(&stderr, pipe));
        }
        Self { child, stdout, stderr, readers, _home: home }
    }

    /// The process's id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The end of its stdin that can be written to, where `change` made it a pipe; once.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Waits for a line on stdout, also one that is there already.
    pub fn line(&self, is: impl Fn(&str) -> bool) -> String {
        self.stdout.find(is).unwrap_or_else(|why| panic!("{why} on stdout\n{}", self.output()))
    }

    /// Waits for a line on stderr, also one that is there already.
    pub fn error_line(&self, is: impl Fn(&str) -> bool) -> String {
        self.stderr.find(is).unwrap_or_else(|why| panic!("{why} on stderr\n{}", self.output()))
    }

    /// What it has printed on stdout by now.
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// What it has printed on stderr by now.
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    fn output(&self) -> String {
        format!("--- stdout\n{}--- stderr\n{}---", self.stdout(), self.stderr())
    }

    /// Sends a signal. A process that has ended already is no error.
    pub fn signal(&mut self, signal: Signal) {
        let name = match signal {
            Signal::Int => "INT",
            Signal::Term => "TERM",
            Signal::Kill => "KILL",
        };
        // Not waited for yet, so the id cannot be another process's.
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            // The shell's own kill: a system may lack the program of that name.
            let sent = Command::new("sh").args(["-c", &format!("kill -{name} {}", self.pid())]).output();
            assert!(
                sent.is_ok_and(|output| output.status.success()) || self.child.try_wait().is_ok(),
                "cannot send a signal"
            );
        }
    }

    /// Waits for the end.
    pub fn wait(self) -> Exit {
        self.wait_for(PATIENCE)
    }

    /// Waits for the end, at most so long.
    pub fn wait_for(mut self, time: Duration) -> Exit {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                break status;
            }
            // There is no wait with a timeout; this does not decide anything.
            std::thread::sleep(Duration::from_millis(2));
            assert!(start.elapsed() < time, "it is still running after {time:?}\n{}", self.output());
        };
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
        Exit { code: status.code(), signal: status.signal(), stdout: self.stdout(), stderr: self.stderr() }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the host of the test that failed has printed:\n{}", self.output());
        }
    }
}

/// Lines that are read while they come.
#[derive(Default)]
struct Lines {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    text: String,
    ended: bool,
}

impl Lines {
    fn read(lines: &Arc<Self>, pipe: impl Read + Send + 'static) -> JoinHandle<()> {
        let lines = Arc::clone(lines);
        std::thread::spawn(move || {
            let mut pipe = BufReader::new(pipe);
            let mut line = Vec::new();
            while pipe.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                lines.change(|state| state.text.push_str(&String::from_utf8_lossy(&line)));
                line.clear();
            }
            lines.change(|state| state.ended = true);
        })
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    fn text(&self) -> String {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).text.clone()
    }

    fn find(&self, is: impl Fn(&str) -> bool) -> Result<String, &'static str> {
        let deadline = Instant::now() + PATIENCE;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(line) = state.text.lines().find(|line| is(line)) {
                return Ok(line.to_owned());
            }
            if state.ended {
                return Err("the process has ended without the line that was waited for");
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err("the line that was waited for did not come");
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
