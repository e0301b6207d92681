//! A running host.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::{Client, Exit, Process, Signal, world};

/// `tickworks run`, from when it is ready to when this value is dropped.
pub struct Host {
    process: Process,
    addr: SocketAddr,
}

impl Host {
    /// Runs a world (see [`world`]) with plugins, weakest first, by name or path, and further arguments, on a free port.
    /// Returns once it listens.
    pub fn start(name: impl AsRef<Path>, plugins: &[&str], args: &[&str]) -> Self {
        Self::of(Process::start(Self::args(name, plugins, args)))
    }

    /// Likewise, after `change` has had a look at the command.
    pub fn start_with(
        name: impl AsRef<Path>,
        plugins: &[&str],
        args: &[&str],
        change: impl FnOnce(&mut Command),
    ) -> Self {
        Self::of(Process::start_with(Self::args(name, plugins, args), change))
    }

    /// What [`start`](Self::start) passes to the program: for runs that are not expected to get ready.
    pub fn args(name: impl AsRef<Path>, plugins: &[&str], args: &[&str]) -> Vec<OsString> {
        let mut all: Vec<OsString> = vec!["run".into(), world(name).into(), "--plugins".into()];
        all.extend(plugins.iter().map(OsString::from));
        all.extend(["--listen", "127.0.0.1:0"].map(OsString::from));
        all.extend(args.iter().map(OsString::from));
        all
    }

    /// Waits until a process that was started with [`args`](Self::args) listens.
    pub fn of(process: Process) -> Self {
        const SIGN: &str = "listening on ";
        let line = process.line(|line| line.contains(SIGN));
        let (_, rest) = line.split_once(SIGN).unwrap_or_default();
        let addr = rest.trim_end_matches(|c: char| c.is_whitespace()).split([' ', ',']).next().unwrap_or_default();
        let addr = addr.parse().unwrap_or_else(|error| panic!("{line:?} has no address: {error}"));
        Self { process, addr }
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// A new connection that speaks JSON lines.
    pub fn json(&self) -> Client {
        Client::json(self.addr)
    }

    /// A new connection that speaks MessagePack.
    pub fn msgpack(&self) -> Client {
        Client::msgpack(self.addr)
    }

    /// A new connection in each framing, to do the same on both.
    pub fn both(&self) -> [(&'static str, Client); 2] {
        [("JSON lines", self.json()), ("MessagePack", self.msgpack())]
    }

    /// The process.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Sends it a signal.
    pub fn signal(&mut self, signal: Signal) {
        self.process.signal(signal);
    }

    /// Waits until it ends by itself.
    pub fn wait(self) -> Exit {
        self.process.wait()
    }

    /// Waits until it ends by itself, at most so long.
    pub fn wait_for(self, time: Duration) -> Exit {
        self.process.wait_for(time)
    }

    /// Ends it in an orderly way.
    pub fn stop(mut self) -> Exit {
        self.signal(Signal::Term);
        self.wait()
    }
}
