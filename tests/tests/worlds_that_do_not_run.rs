//! Worlds and circumstances in which a run cannot be: said before anything else is done. And some that look so, and run.

use serde_json::json;
use std::net::TcpListener;
use tickworks_tests::{Exit, Host, Process, Scratch, tickworks, world};

/// A run of a file, which must fail.
fn run(file: &std::path::Path) -> Exit {
    let exit = tickworks(Host::args(file, &["manual_move"], &[]));
    assert_eq!((exit.code, exit.signal, exit.stdout.as_str()), (Some(1), None, ""), "{exit:?}");
    exit
}

#[test]
fn a_file_that_is_not_there_or_no_file() {
    let scratch = Scratch::new();
    let missing = scratch.path().join("missing.sdf");
    let exit = run(&missing);
    assert!(exit.stderr.contains(&format!("cannot read {}: No such file or directory", missing.display())), "{exit:?}");
    let last = format!("tickworks: {} has 1 error; it does not run\n", missing.display());
    assert!(exit.stderr.ends_with(&last), "{exit:?}");
    let exit = run(scratch.path());
    assert!(exit.stderr.contains("Is a directory"), "{exit:?}");
}

#[test]
fn a_file_that_is_empty_or_no_sdf() {
    let scratch = Scratch::new();
    for (content, place, text) in [
        (&b""[..], "1:1", "the file has no element"),
        (b"hello\n", "1:1", "the file has no element"),
        (b"<sdf version='1.11'>\n  <world name='w'>\n", "", "is not closed"),
        (b"<sdf version='1.11'>\n</world>\n", "2:", "</world>"),
        (b"<html/>", "1:1", "<html>"),
        (b"<sdf version='1.11'>\xff</sdf>", "1:21", "is not UTF-8 text"),
    ] {
        let path = scratch.write("w.sdf", content);
        let exit = run(&path);
        let line = exit.stderr.lines().find(|line| line.contains(text)).unwrap_or_else(|| panic!("{text}: {exit:?}"));
        assert!(line.starts_with(&format!("{}:{place}", path.display())) && line.contains(": error["), "{exit:?}");
    }
}

#[test]
fn a_file_without_a_world_has_nothing_to_run() {
    let scratch = Scratch::new();
    let path = scratch.write("none.sdf", "<sdf version='1.11'></sdf>");
    let exit = run(&path);
    let said = format!("tickworks: {} holds no world and no model; there is nothing to run\n", path.display());
    assert!(exit.stderr.ends_with(&said), "{exit:?}");
}

/// All of them, so that nobody has to start the host once for each.
#[test]
fn errors_are_listed_at_once_each_on_a_line_with_its_place() {
    let scratch = Scratch::new();
    let path = scratch.world(
        "<gravity>0 0</gravity>
    <model name='m'><pose>0 0 x 0 0 0</pose><link name='l'><inertial><mass>heavy</mass></inertial></link></model>
    <include><uri>model://nowhere</uri></include>
    <joint name='j' type='spinning'><parent>world</parent><child>m</child></joint>",
    );
    let exit = run(&path);
    let places = ["15:10", "16:27", "16:76", "17:19", "18:27"];
    for place in places {
        let start = format!("{}:{place}", path.display());
        assert!(exit.stderr.lines().any(|line| line.starts_with(&start)), "{place}: {exit:?}");
    }
    let errors = exit.stderr.lines().filter(|line| line.contains(": error[")).count();
    assert!(errors == places.len(), "{exit:?}");
    let last = exit.stderr.lines().last().unwrap();
    assert_eq!(last, format!("tickworks: {} has {errors} errors; it does not run", path.display()));
}

/// What is wrong with the port is said before the world is looked at.
#[test]
fn a_busy_port_is_an_error_before_anything_else() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap().to_string();
    let exit = tickworks(["run", "/no/such/world.sdf", "--plugins", "no_such_plugin", "--listen", &addr]);
    assert_eq!((exit.code, exit.stdout.as_str()), (Some(1), ""), "{exit:?}");
    let said = format!("tickworks: cannot listen on {addr}: Address already in use");
    assert!(exit.stderr.starts_with(&said), "{exit:?}");
    assert!(exit.stderr.contains("another program, perhaps another host, uses this port"), "{exit:?}");
    assert_eq!(exit.stderr.lines().count(), 1, "{exit:?}");
    // Another host is such a program.
    let host = Host::start("empty.sdf", &["manual_move"], &[]);
    let empty = world("empty.sdf");
    let exit = tickworks(["run", empty.to_str().unwrap(), "--listen", &host.addr().to_string()]);
    assert_eq!(exit.code, Some(1), "{exit:?}");
    assert_eq!(host.json().ok(json!({"cmd": "sim_get_info"}))["world"], "empty");
}

#[test]
fn a_world_without_a_model_runs() {
    let scratch = Scratch::new();
    let path = scratch.write("w.sdf", "<sdf version='1.11'><world name='w'/></sdf>");
    let host = Host::start(&path, &["manual_move", "trajectory_mission", "race"], &[]);
    host.process().line(|line| line == "  robots:  none");
    let mut client = host.json();
    client.ok(json!({"cmd": "sim_step", "ticks": 3}));
    let error = client.error(json!({"cmd": "connect"}));
    assert_eq!(error, "connect: this world has no robots (models with a <tw:robot> element)");
    for cmd in ["move", "mission_start", "race_start", "robot_get_state"] {
        client.error(json!({"cmd": cmd}));
    }
    let state = client.ok(json!({"cmd": "sim_get_state"}));
    client.ok(json!({"cmd": "sim_load_state", "state": state}));
    client.ok(json!({"cmd": "sim_reset"}));
}

/// A model's own file, as a catalogue has it.
#[test]
fn a_bare_model_runs_in_a_world_of_defaults() {
    let scratch = Scratch::new();
    let text = "<sdf version='1.11' xmlns:tw='https://tickworks.dev/sdf'><model name='uav'>\
                <tw:robot type='UAVLevel1'/><link name='l'/></model></sdf>";
    let host = Host::start(scratch.write("model.sdf", text), &["manual_move"], &[]);
    host.process().line(|line| line == "  robots:  uav (UAVLevel1)");
}

/// `tickworks run … | head -1`: who reads has what they wanted, and the host has its clients.
#[test]
fn a_host_whose_stdout_nobody_reads_any_more_goes_on() {
    let scratch = Scratch::new();
    let path = scratch.stress_world(&[("loud", "<trouble slot='on_message' does='log'/>")]);
    for both in [false, true] {
        let addr = tickworks_tests::free_addr();
        let (reader, writer) = std::io::pipe().unwrap();
        let mut args = Host::args(&path, &[], &[]);
        let listen = args.iter().position(|arg| arg == "127.0.0.1:0").unwrap();
        args[listen] = addr.to_string().into();
        let mut process = Process::start_with(args, |command| {
            if both {
                command.stderr(writer.try_clone().unwrap());
            }
            command.stdout(writer);
        });
        drop(reader);
        let mut client = tickworks_tests::connect_soon(addr);
        while client.ok(json!({"cmd": "sim_get_info"}))["stage"] != "running" {}
        // Each of these is a line in the log.
        for _ in 0..3 {
            assert_eq!(client.ok(json!({"cmd": "stress_echo"}))["cmd"], "stress_echo");
        }
        client.ok(json!({"cmd": "sim_step", "ticks": 3}));
        process.signal(tickworks_tests::Signal::Term);
        let exit = process.wait();
        assert_eq!((exit.code, exit.signal), (Some(0), None), "{exit:?}");
        assert!(!exit.stderr.contains("panicked"), "{exit:?}");
    }
}

/// Clients that vanish in the middle of a frame, at each byte of it, cost nobody anything.
#[test]
fn clients_that_vanish_at_each_byte_cost_nothing() {
    let host = Host::start("arena.sdf", &["manual_move"], &[]);
    let mut witness = host.json();
    for client in [Host::json, Host::msgpack] {
        let frame = client(&host).encode(&json!({"cmd": "connect", "id": 1}));
        for length in 0..=frame.len() {
            let mut client = client(&host);
            client.send_bytes(&frame[..length]);
            drop(client);
        }
    }
    assert_eq!(witness.ok(json!({"cmd": "sim_get_info"}))["stage"], "running");
    // The robots that some of them claimed are free again, once their ends have been seen.
    while witness.ok(json!({"cmd": "sim_get_info"}))["connections"] != 1 {}
    let info = witness.ok(json!({"cmd": "sim_get_info"}));
    assert!(info["robots"].as_array().unwrap().iter().all(|robot| robot["claimed"] == false), "{info}");
    assert_eq!(host.stop().stderr, "");
}

/// Ids and names of nothing are errors that say so.
#[test]
fn what_does_not_exist_is_named() {
    let host = Host::start("arena.sdf", &["manual_move", "trajectory_mission"], &[]);
    let mut client = host.json();
    for id in [json!(99), json!(u64::MAX), json!(-1), json!("uav0"), json!(1.5)] {
        for cmd in ["robot_get_state", "connect", "move", "mission_start"] {
            let input = [0; 6];
            let error = client.error(json!({"cmd": cmd, "robot_id": id, "control_input": input}));
            assert!(error.contains("robot"), "{cmd} {id}: {error}");
        }
    }
    let error = client.error(json!({"cmd": "robot_get_state", "robot_id": 99}));
    assert!(error.contains("99"), "{error}");
}
