//! Keys in a run at a terminal: `r` resets the world, `p` lets time stand and run again.
//!
//! A key is a client like any other: it connects, asks, and prints what it is told. So it is answered in its turn,
//! refused where a mission refuses, and is in a recording.
//!
//! The terminal gives keys one by one and does not show them as long as the run is in its foreground; however the
//! process ends or stops, it is put back to what it was.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};
use serde_json::{Value, json};
use signal_hook::consts::SIGTSTP;
use signal_hook::iterator::Signals;
use std::io::IsTerminal;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

use super::{complain, say};
use crate::net::client::{Client, Framing};
use crate::plugin::crash;
use crate::text::one_line;

/// How often it is looked whether this is the job in the foreground, and is to be stopped.
const GLANCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// How long a key may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Keys that somebody may have typed while the one before was at work; more than these are pasted.
const MOST_AT_ONCE: usize = 4;

const ESCAPE: u8 = 0x1b;

/// What the terminal was like.
static BEFORE: OnceLock<Termios> = OnceLock::new();

/// Reads keys as long as it lives.
pub(super) struct Keys {
    ready: Sender<SocketAddr>,
}

impl Keys {
    /// Reads keys once there is an address to send them to; `None` where nobody sits at a terminal.
    pub fn watch(token: Option<String>) -> Option<Self> {
        if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
            return None;
        }
        // Here, not when the run is ready: a new thread could wait for a lock of the system's loader then.
        let stops = Signals::new([SIGTSTP]).ok()?;
        let (ready, address) = channel();
        Builder::new().name("keys".into()).spawn(move || read(&address, token.as_deref(), stops)).ok()?;
        crash::before_the_end(restore);
        Some(Self { ready })
    }

    /// Clients can connect here now.
    pub fn ready(&self, address: SocketAddr) {
        // Where the thread has gone there is no terminal any more.
        let _ = self.ready.send(address);
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        restore();
    }
}

/// Puts the terminal back to what it was. Async-signal-safe: three system calls.
pub(super) fn restore() {
    if let Some(before) = BEFORE.get()
        && in_foreground()
    {
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, before);
    }
}

/// Whether the terminal is this job's: the settings of one that is another's are not touched.
fn in_foreground() -> bool {
    tcgetpgrp(rustix::stdio::stdin()).is_ok_and(|group| group == getpgrp())
}

/// Lets the terminal give keys one by one. `false`: it is gone.
fn take_keys() -> bool {
    let stdin = rustix::stdio::stdin();
    let Ok(mut now) = tcgetattr(stdin) else { return false };
    if now.local_modes.contains(LocalModes::ICANON) {
        BEFORE.get_or_init(|| now.clone());
        now.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        return tcsetattr(stdin, OptionalActions::Now, &now).is_ok();
    }
    true
}

fn read(address: &Receiver<SocketAddr>, token: Option<&str>, mut stops: Signals) {
    let Ok(address) = address.recv() else { return };
    let mut told = false;
    loop {
        if stops.pending().next().is_some() {
            restore();
            let _ = signal_hook::low_level::emulate_default_handler(SIGTSTP);
        }
        if !in_foreground() {
            std::thread::sleep(Duration::from_millis(100));
            continue;
        }
        if !take_keys() {
            return;
        }
        if !std::mem::replace(&mut told, true) {
            let _ = say("  keys:    r resets, p pauses and resumes, Ctrl-C ends");
        }
        let stdin = rustix::stdio::stdin();
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&GLANCE)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(_) => return,
        }
        let mut bytes = [0; 64];
        match rustix::io::read(stdin, &mut bytes) {
            // The terminal has gone.
            Ok(0) => return,
            // What a key with a name sends, and what is pasted, is not meant for this.
            Ok(count) if bytes[0] == ESCAPE || count > MOST_AT_ONCE => {}
            Ok(count) => bytes[..count].iter().for_each(|key| pressed(*key, address, token)),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

fn pressed(key: u8, address: SocketAddr, token: Option<&str>) {
    let done = match key {
        b'r' => reset(address, token),
        b'p' => pause_or_resume(address, token),
        key if key.is_ascii_graphic() => {
            Err(format!("no key of this run: r resets, p pauses and resumes, Ctrl-C ends (not '{}')", char::from(key)))
        }
        _ => return,
    };
    match done {
        Ok(text) => drop(say(one_line(&text))),
        Err(text) => complain(one_line(&text)),
    }
}

fn reset(address: SocketAddr, token: Option<&str>) -> Result<String, String> {
    let reply = ask(&mut connect(address, token)?, "sim_reset")?;
    let mut text = format!("reset: tick 0, epoch {}", reply["epoch"]);
    if let Some(failed) = reply["failed"].as_object() {
        for (plugin, reason) in failed {
            text.push_str(&format!("; plugin {plugin} failed: {}", reason.as_str().unwrap_or_default()));
        }
    }
    Ok(text)
}

fn pause_or_resume(address: SocketAddr, token: Option<&str>) -> Result<String, String> {
    let mut client = connect(address, token)?;
    let paused = ask(&mut client, "sim_get_info")?["paused"] == true;
    let reply = ask(&mut client, if paused { "sim_resume" } else { "sim_pause" })?;
    Ok(format!("{} at tick {}", reply["status"].as_str().unwrap_or_default(), reply["tick"]))
}

fn connect(address: SocketAddr, token: Option<&str>) -> Result<Client, String> {
    let mut client = Client::connect(here(address), Framing::JsonLines, PATIENCE).map_err(|error| error.to_string())?;
    if let Some(token) = token {
        client.auth(token).map_err(|error| error.to_string())?;
    }
    Ok(client)
}

/// An address that listens on every interface is reached on this one.
fn here(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

fn ask(client: &mut Client, cmd: &str) -> Result<Value, String> {
    let reply = client.request(&json!({ "cmd": cmd })).map_err(|error| format!("{cmd}: {error}"))?;
    match reply["error"].as_str() {
        Some(error) => Err(error.to_owned()),
        None => Ok(reply),
    }
}
