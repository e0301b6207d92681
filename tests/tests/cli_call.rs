//! `tickworks call`: a client for scripts.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::time::{Duration, Instant};
use tickworks_tests::{Exit, Host, Process, Scratch, Signal, bin_dir, free_addr, tickworks};

/// Calls a host.
fn call(host: &Host, args: &[&str]) -> Exit {
    let address = host.addr().to_string();
    tickworks(["call", "--address", &address].iter().chain(args))
}

/// The one line of a call that went well, as JSON.
fn reply(exit: &Exit) -> Value {
    assert_eq!((exit.code, exit.stderr.as_str()), (Some(0), ""), "{exit:?}");
    assert_eq!(exit.stdout.lines().count(), 1, "{exit:?}");
    serde_json::from_str(&exit.stdout).unwrap()
}

#[test]
fn values_are_json_where_they_can_be_and_text_where_they_cannot() {
    let scratch = Scratch::new();
    let host = Host::start(scratch.stress_world(&[("echo", "")]), &[], &[]);
    let sent = |args: &[&str]| {
        let all: Vec<_> = ["stress_echo"].iter().chain(args).copied().collect();
        let mut echoed = reply(&call(&host, &all));
        echoed.as_object_mut().unwrap().retain(|key, _| !["cmd", "timestamp"].contains(&key.as_str()));
        echoed
    };
    assert_eq!(sent(&[]), json!({}));
    assert_eq!(
        sent(&["n=60", "x=-1.5", "yes=true", "none=null"]),
        json!({"n": 60, "x": -1.5, "yes": true, "none": null})
    );
    assert_eq!(sent(&["list=[1, \"a\"]", "map={\"a\": {}}"]), json!({"list": [1, "a"], "map": {"a": {}}}));
    assert_eq!(sent(&["name=uav0", "quoted=\"60\"", "empty="]), json!({"name": "uav0", "quoted": "60", "empty": ""}));
    assert_eq!(sent(&["uri=model://a?b=c", "half=[1,"]), json!({"uri": "model://a?b=c", "half": "[1,"}));
    // KEY=VALUE is stronger than the object, the later one than the one before.
    assert_eq!(sent(&["a=1", "a=2", "--json", "{\"a\": 0, \"b\": 0}"]), json!({"a": 2, "b": 0}));
    // The same in the other framing.
    assert_eq!(sent(&["--msgpack", "list=[1, -2, 2.5]", "t=é"]), json!({"list": [1, -2, 2.5], "t": "é"}));
}

#[test]
fn an_error_reply_is_printed_and_makes_the_exit_status_1() {
    let host = Host::start("empty.sdf", &["manual_move"], &[]);
    for args in [&["sim_get_infos"][..], &["sim_get_infos", "--msgpack"]] {
        let exit = call(&host, args);
        assert_eq!((exit.code, exit.stderr.as_str()), (Some(1), ""), "{exit:?}");
        let reply: Value = serde_json::from_str(&exit.stdout).unwrap();
        let error = reply["error"].as_str().unwrap();
        assert!(error.contains("sim_get_infos") && error.contains("did you mean 'sim_get_info'?"), "{error}");
    }
}

#[test]
fn a_reply_can_be_printed_on_several_lines() {
    let host = Host::start("empty.sdf", &["manual_move"], &[]);
    let exit = call(&host, &["sim_get_info", "--pretty"]);
    assert_eq!(exit.code, Some(0));
    assert!(exit.stdout.starts_with("{\n  \"control_loop_rate_hz\": 60.0,\n"), "{exit:?}");
    assert_eq!(serde_json::from_str::<Value>(&exit.stdout).unwrap()["world"], "empty");
}

#[test]
fn where_no_host_listens_that_is_said() {
    let addr = free_addr().to_string();
    let exit = tickworks(["call", "sim_get_info", "--address", &addr]);
    assert_eq!((exit.code, exit.stdout.as_str()), (Some(1), ""));
    let said = format!("tickworks: cannot connect to {addr}: ");
    assert!(exit.stderr.starts_with(&said) && exit.stderr.contains("refused"), "{exit:?}");
    assert_eq!(exit.stderr.lines().count(), 1, "{exit:?}");
    let exit = tickworks(["call", "sim_get_info", "--address", "no port"]);
    assert_eq!(exit.code, Some(1));
    assert!(exit.stderr.contains("no port") && exit.stderr.contains("127.0.0.1:42069"), "{exit:?}");
}

/// Something listens, but does not answer.
#[test]
fn a_host_that_does_not_answer_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap().to_string();
    // Built before the time begins.
    bin_dir();
    let begin = Instant::now();
    let exit = tickworks(["call", "sim_get_info", "--address", &addr, "--timeout", "0.3"]);
    assert!(begin.elapsed() < Duration::from_secs(10));
    assert_eq!(exit.code, Some(1));
    assert!(exit.stderr.starts_with("tickworks: ") && exit.stderr.contains("0.3 s"), "{exit:?}");
}

#[test]
fn the_address_may_come_from_the_environment() {
    let host = Host::start("empty.sdf", &["manual_move"], &[]);
    let exit = Process::start_with(["call", "sim_get_info"], |command| {
        command.env("TICKWORKS_ADDRESS", host.addr().to_string());
    })
    .wait();
    assert_eq!(reply(&exit)["world"], "empty");
}

#[test]
fn follow_prints_pushes_a_line_each_until_the_host_goes() {
    let mut host = Host::start("empty.sdf", &["manual_move"], &[]);
    let address = host.addr().to_string();
    let follower = Process::start(["call", "sim_subscribe", "topics=[\"sim\"]", "--follow", "--address", &address]);
    follower.line(|line| line.contains("\"subscribed\""));
    let mut client = host.json();
    for _ in 0..2 {
        client.ok(json!({"cmd": "sim_reset"}));
    }
    follower.line(|line| line.contains("\"event\":\"reset\",\"epoch\":2"));
    host.signal(Signal::Term);
    let exit = follower.wait();
    assert_eq!(exit.code, Some(1), "{exit:?}");
    assert!(exit.stderr.starts_with("tickworks: "), "{exit:?}");
    let lines: Vec<Value> = exit.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["status"], "subscribed");
    let resets = lines.iter().filter(|line| line["event"] == "reset").count();
    assert_eq!(resets, 2, "{lines:?}");
}

/// Behind `| head -1` it ends with the first push that nobody reads.
#[test]
fn follow_ends_quietly_when_its_reader_goes() {
    let host = Host::start("empty.sdf", &["manual_move"], &[]);
    let address = host.addr().to_string();
    let (reader, writer) = std::io::pipe().unwrap();
    let follower = Process::start_with(
        ["call", "sim_subscribe", "topics=[\"sim\"]", "--follow", "--address", &address],
        |command| {
            command.stdout(writer);
        },
    );
    let mut reader = BufReader::new(reader);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    assert!(line.contains("subscribed"), "{line}");
    drop(reader);
    let mut client = host.json();
    // Each of these is a push. It is over when nobody but this client is connected.
    while client.ok(json!({"cmd": "sim_get_info"}))["connections"] != 1 {
        client.ok(json!({"cmd": "sim_reset"}));
    }
    let exit = follower.wait();
    assert_eq!((exit.code, exit.stderr.as_str()), (Some(0), ""), "{exit:?}");
}

#[test]
fn a_token_opens_a_host_that_wants_one() {
    let scratch = Scratch::new();
    let token = scratch.write("token", "open sesame\n");
    let token = token.to_str().unwrap();
    let host = Host::start("empty.sdf", &["manual_move"], &["--token-file", token]);
    assert_eq!(reply(&call(&host, &["sim_get_info", "--token-file", token]))["world"], "empty");
    let exit = call(&host, &["sim_get_info"]);
    assert_eq!(exit.code, Some(1), "{exit:?}");
    assert!(exit.stdout.contains("auth"), "{exit:?}");
    let missing = scratch.path().join("none");
    let exit = call(&host, &["sim_get_info", "--token-file", missing.to_str().unwrap()]);
    assert_eq!(exit.code, Some(1));
    assert!(exit.stderr.starts_with(&format!("tickworks: --token-file {}: ", missing.display())), "{exit:?}");
}

#[test]
fn wrong_fields_are_a_wrong_command_line() {
    for (args, text) in [
        (&["call", "move", "control_input"][..], "'control_input' has no '=': expected KEY=VALUE"),
        (&["call", "move", "=1"], "'=1' has no key before its '='"),
        (&["call", "move", "--json", "[1]"], "expected a JSON object, such as {\"ticks\": 60}"),
        (&["call", "move", "--json", "{"], "not JSON: "),
        (&["call", "move", "--timeout", "0"], "0 s is out of range"),
        (&["call"], "<CMD>"),
    ] {
        let exit = tickworks(args);
        assert_eq!((exit.code, exit.stdout.as_str()), (Some(2), ""), "{exit:?}");
        assert!(exit.stderr.contains(text), "{text}: {exit:?}");
    }
}
