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

    /// The process alone: its end is the caller's matter then.
    pub fn into_process(self) -> Process {
        self.process
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tickworks;
    use serde_json::json;

    #[test]
    fn a_host_is_started_spoken_to_and_ended() {
        for signal in [Signal::Int, Signal::Term] {
            let mut host = Host::start("arena.sdf", &["manual_move"], &[]);
            let mut text = host.json();
            let mut binary = host.msgpack();
            assert_eq!(text.ok(json!({"cmd": "connect"}))["status"], "connected");
            let info = json!({"cmd": "sim_get_info"});
            assert_eq!(text.ok(info.clone())["world"], binary.ok(info.clone())["world"]);
            let replies = text.pipeline(&vec![info.clone(); 500]);
            assert!(replies.iter().all(|reply| reply["world"] == replies[0]["world"] && reply.get("error").is_none()));
            assert!(binary.error(json!({"cmd": "no_such_command"})).contains("no_such_command"));
            host.signal(signal);
            let exit = host.wait();
            assert_eq!(exit.code, Some(0), "{exit:?}");
            assert!(exit.stdout.contains("listening on"), "{exit:?}");
            // What is left is the end.
            assert!(text.rest().is_empty() && binary.rest().is_empty());
        }
    }

    #[test]
    fn a_run_that_fails_says_why() {
        let exit = tickworks(Host::args("empty.sdf", &["no_such_plugin"], &[]));
        assert_eq!(exit.code, Some(1), "{exit:?}");
        assert!(exit.stderr.contains("no_such_plugin"), "{exit:?}");
    }

    #[test]
    fn the_call_command_speaks_to_it() {
        let host = Host::start("empty.sdf", &[], &[]);
        let address = host.addr().to_string();
        let info = tickworks(["call", "sim_get_info", "--address", &address]);
        assert_eq!(info.code, Some(0), "{info:?}");
        let reply: serde_json::Value = serde_json::from_str(&info.stdout).expect("a reply");
        assert!(reply["tick"].is_u64(), "{reply}");
        let refused = tickworks(["call", "no_such_command", "--address", &address, "--msgpack"]);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert_eq!(host.stop().code, Some(0));
    }
}
