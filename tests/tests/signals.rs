//! SIGINT and SIGTERM in each stage of a run: exit status 0 within a second, the port free, nothing left behind.

use serde_json::json;
use std::fs::OpenOptions;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tickworks_tests::{Exit, Host, PATIENCE, Process, Scratch, Signal, compile, connect_soon, free_addr};

/// A second, and what a busy machine may add to it.
const SOON: Duration = Duration::from_millis(1500);

/// Sends the signal and checks the end: status 0, in time, the port free, no child left.
fn ends(mut process: Process, signal: Signal, addr: SocketAddr) -> Exit {
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", process.pid())).unwrap_or_default();
    assert_eq!(children, "", "the host starts no processes");
    process.signal(signal);
    let exit = process.wait_for(SOON);
    assert_eq!((exit.code, exit.signal), (Some(0), None), "{signal:?}: {exit:?}");
    TcpListener::bind(addr).unwrap_or_else(|error| panic!("{addr} should be free: {error}"));
    exit
}

/// Starts a run on a port that is known before it is said.
fn start(world: impl AsRef<Path>, plugins: &[&str], args: &[&str]) -> (Process, SocketAddr) {
    let addr = free_addr();
    let mut all = Host::args(world, plugins, args);
    all.extend(["--listen".into(), addr.to_string().into()]);
    // The later --listen would be an error: the first one goes.
    let first = all.iter().position(|arg| arg == "--listen").unwrap();
    all.drain(first..first + 2);
    (Process::start(all), addr)
}

/// Both signals, each in a run of its own.
fn both(run: impl Fn(Signal)) {
    run(Signal::Int);
    run(Signal::Term);
}

/// Waits until the process catches both signals.
fn until_caught(process: &Process) {
    let deadline = Instant::now() + PATIENCE;
    let status = format!("/proc/{}/status", process.pid());
    let caught = |text: &str| {
        let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:\t")).unwrap_or("0");
        // SIGINT is 2 and SIGTERM is 15: bits 1 and 14.
        u64::from_str_radix(mask, 16).is_ok_and(|mask| mask & 0x4002 == 0x4002)
    };
    while !caught(&std::fs::read_to_string(&status).unwrap()) {
        assert!(Instant::now() < deadline, "signals are never heard");
    }
}

#[test]
fn as_soon_as_signals_are_heard() {
    both(|signal| {
        let (process, addr) = start("arena.sdf", &["manual_move", "trajectory_mission", "race"], &[]);
        until_caught(&process);
        ends(process, signal, addr);
    });
}

/// They are heard before anything is done, such as reading what the options name.
#[test]
fn while_the_token_is_read() {
    both(|signal| {
        let scratch = Scratch::new();
        let token = pipe(&scratch);
        let (process, addr) = start("arena.sdf", &["manual_move"], &["--token-file", token.to_str().unwrap()]);
        until_caught(&process);
        ends(process, signal, addr);
    });
}

/// Before the program has come to hear signals, one ends it in the way of the system. It must not hang.
#[test]
fn right_after_exec() {
    both(|signal| {
        let (mut process, addr) = start("arena.sdf", &["manual_move"], &[]);
        process.signal(signal);
        let exit = process.wait_for(SOON);
        assert!(exit.code == Some(0) || exit.signal.is_some(), "{exit:?}");
        TcpListener::bind(addr).unwrap();
    });
}

fn pipe(scratch: &Scratch) -> std::path::PathBuf {
    let path = scratch.path().join("pipe.sdf");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

#[test]
fn while_the_world_is_read() {
    both(|signal| {
        let scratch = Scratch::new();
        let path = pipe(&scratch);
        let (process, addr) = start(&path, &["manual_move"], &[]);
        // Opens when the host has opened its end, which then waits for a world that does not come.
        let mut world = OpenOptions::new().write(true).open(&path).unwrap();
        world.write_all(b"<sdf version='1.11'>").unwrap();
        ends(process, signal, addr);
    });
}

#[test]
fn while_a_big_world_is_built() {
    let mut boxes = String::new();
    for i in 0..3000 {
        boxes += &format!(
            "<model name='b{i}'><pose>{} {} 1 0 0 0</pose><link name='l'><collision name='c'><geometry><box><size>1 1 1\
             </size></box></geometry></collision></link></model>",
            i % 60 * 2,
            i / 60 * 2
        );
    }
    let text = std::fs::read(Scratch::new().world(&boxes)).unwrap();
    both(|signal| {
        let scratch = Scratch::new();
        let path = pipe(&scratch);
        let (process, addr) = start(&path, &["manual_move"], &[]);
        let mut world = OpenOptions::new().write(true).open(&path).unwrap();
        world.write_all(&text).unwrap();
        // Now it has all of it, and has to parse and build.
        drop(world);
        ends(process, signal, addr);
    });
}

/// A run whose stress plugin has these troubles, from when a line shows that they have come.
fn trouble(troubles: &str, args: &[&str], sign: &str) -> (Process, SocketAddr, Scratch) {
    let scratch = Scratch::new();
    let world = scratch.stress_world(&[("bad", troubles)]);
    let (process, addr) = start(world, &["manual_move"], args);
    if sign.starts_with("stress: ") {
        process.error_line(|line| line.contains(sign));
    } else {
        process.line(|line| line.contains(sign));
    }
    (process, addr, scratch)
}

#[test]
fn while_a_plugin_starts_slowly_or_for_ever() {
    both(|signal| {
        for does in ["<trouble slot='create' does='sleep' seconds='20'/>", "<trouble slot='create' does='hang'/>"] {
            let (process, addr, _scratch) = trouble(does, &[], "plugin bad: starting (");
            let exit = ends(process, signal, addr);
            assert!(!exit.stdout.contains("listening"), "{exit:?}");
        }
    });
}

#[test]
fn while_a_plugin_s_constructor_hangs_the_loader() {
    let scratch = Scratch::new();
    let plugin = compile("bad-plugins/hangs_in_constructor.c", &[], scratch.path());
    both(|signal| {
        let (process, addr) = start("arena.sdf", &["manual_move", plugin.to_str().unwrap()], &[]);
        process.error_line(|line| line == "the constructor hangs");
        ends(process, signal, addr);
    });
}

#[test]
fn while_it_runs_at_its_rate_as_fast_as_it_can_or_stands() {
    both(|signal| {
        for args in [&[][..], &["--rate", "240"], &["--fast"], &["--paused"]] {
            let host = Host::start("arena.sdf", &["manual_move", "trajectory_mission", "race"], args);
            let mut client = host.json();
            if args != ["--paused"] {
                // It is really running.
                while client.ok(json!({"cmd": "sim_get_info"}))["tick"] == 0 {}
            }
            let addr = host.addr();
            let exit = ends(host.into_process(), signal, addr);
            assert!(exit.stdout.lines().last().unwrap().starts_with("ended at tick "), "{exit:?}");
            // Nothing was forced, and who was connected sees the end.
            assert_eq!(exit.stderr, "");
            client.rest();
        }
    });
}

#[test]
fn while_a_plugin_hangs_in_a_slot() {
    let log = |slot: &str, does: &str| {
        format!("<trouble slot='{slot}' does='log' once='true'/><trouble slot='{slot}' does='{does}' seconds='20'/>")
    };
    for slot in ["on_tick", "before_physics", "after_physics", "on_all_started"] {
        let (process, addr, _scratch) =
            trouble(&log(slot, "hang"), &["--rate", "1000"], &format!("stress: {slot} was called"));
        ends(process, Signal::Term, addr);
    }
    // A run that has done its ticks saves the state for its hash.
    let (process, addr, _scratch) =
        trouble(&log("save", "hang"), &["--ticks", "1", "--fast"], "stress: save was called");
    ends(process, Signal::Term, addr);
    // One that is asked to stop does not, and ends each plugin.
    let (process, addr, _scratch) = trouble(&log("destroy", "hang"), &[], "listening on");
    let exit = ends(process, Signal::Term, addr);
    assert!(exit.stderr.contains("stress: destroy was called"), "{exit:?}");
}

#[test]
fn a_plugin_is_ended_once_at_the_end() {
    let (process, addr, _scratch) = trouble("<trouble slot='destroy' does='log'/>", &[], "listening on");
    let exit = ends(process, Signal::Term, addr);
    assert_eq!(exit.stderr.matches("stress: destroy was called").count(), 1, "{exit:?}");
}

#[test]
fn while_clients_do_not_read() {
    both(|signal| {
        let host = Host::start("arena.sdf", &["manual_move", "race"], &["--max-outstanding-bytes", "20000"]);
        let clients: Vec<_> = [host.json(), host.msgpack()]
            .into_iter()
            .map(|mut client| {
                // Far more replies than the limit and the sockets hold.
                for _ in 0..200 {
                    client.send(&json!({"cmd": "help"}));
                }
                client
            })
            .collect();
        let mut other = host.json();
        other.ok(json!({"cmd": "sim_get_info"}));
        let addr = host.addr();
        ends(host.into_process(), signal, addr);
        drop(clients);
    });
}

/// The writing end of a pipe that is full and that nobody reads.
fn full_pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
    let (reader, writer) = std::io::pipe().unwrap();
    let mut filler = writer.try_clone().unwrap();
    // Beside, since it blocks at the end; in pieces as small as the host's, which find no room then.
    std::thread::spawn(move || while filler.write_all(&[b'.'; 64]).is_ok() {});
    (reader, writer)
}

#[test]
fn while_nobody_reads_what_it_prints() {
    let scratch = Scratch::new();
    let world = scratch.stress_world(&[("loud", "<trouble slot='on_all_started' does='log'/>")]);
    let start = |change: &dyn Fn(&mut Command)| {
        let addr = free_addr();
        let mut args = Host::args(&world, &[], &[]);
        let listen = args.iter().position(|arg| arg == "127.0.0.1:0").unwrap();
        args[listen] = addr.to_string().into();
        (Process::start_with(args, change), addr)
    };
    let (_reader, writer) = full_pipe();
    let (process, addr) = start(&|command| {
        command.stderr(writer.try_clone().unwrap());
    });
    // What comes next is the line in the log, in the middle of which the simulation stands.
    process.line(|line| line.starts_with("plugin loud 0.1.0: started"));
    ends(process, Signal::Term, addr);

    let (_reader, writer) = full_pipe();
    let (process, addr) = start(&|command| {
        command.stdout(writer.try_clone().unwrap());
    });
    connect_soon(addr);
    ends(process, Signal::Term, addr);
}
