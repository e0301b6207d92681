//! Plugins that start slowly, fail, panic or never return: what is counted, told and printed, and how the run ends.

use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tickworks_tests::{Client, Exit, Host, Process, Scratch, bin_dir, compile, connect_soon, free_addr, tickworks};

const SLEEP: &str = "<trouble slot='create' does='sleep' seconds='2'/>";
const FAIL: &str = "<trouble slot='create' does='fail'/>";
const PANIC: &str = "<trouble slot='create' does='panic'/>";
const HANG: &str = "<trouble slot='create' does='hang'/>";

const FAILED: &str = "stress: asked to fail in create";
const HUNG: &str = "it did not start within 0.5 s: create has not returned";

/// A run on a port that is known before the run says it, for clients that come while plugins start.
fn start(scratch: &Scratch, instances: &[(&str, &str)], args: &[&str]) -> (Process, Client) {
    let addr = free_addr();
    let mut all = Host::args(scratch.stress_world(instances), &["manual_move"], args);
    let listen = all.iter().position(|arg| arg == "127.0.0.1:0").unwrap();
    all[listen] = addr.to_string().into();
    (Process::start(all), connect_soon(addr))
}

/// A run that is expected to end by itself.
fn run(instances: &[(&str, &str)], args: &[&str]) -> Exit {
    tickworks(Host::args(Scratch::new().stress_world(instances), &["manual_move"], args))
}

/// A run that is expected to go on.
fn going(instances: &[(&str, &str)], args: &[&str]) -> Host {
    let args: Vec<_> = ["--keep-going"].iter().chain(args).copied().collect();
    Host::start(Scratch::new().stress_world(instances), &["manual_move"], &args)
}

/// The end of a run that could not start all: its status, and what it says last.
fn assert_incomplete(exit: &Exit, started: usize, failed: &[(&str, &str)], total: usize) {
    assert_eq!(exit.code, Some(1), "{exit:?}");
    let mut said = format!("tickworks: {started} of {total} plugins started (--keep-going runs without the others)\n");
    for (name, reason) in failed {
        said += &format!("  {name}: {reason}\n");
        assert!(exit.stdout.contains(&format!("plugin {name}: failed: {reason} (")), "{exit:?}");
    }
    assert!(exit.stderr.ends_with(&said), "expected at its end:\n{said}found {exit:?}");
    assert!(!exit.stdout.contains("listening on"), "{exit:?}");
}

/// All pushes of the topic `plugins` up to the end of the load.
fn pushes(client: &mut Client) -> Vec<Value> {
    let mut pushes = Vec::new();
    loop {
        let push = client.push_of("plugins");
        let last = matches!(push["event"].as_str(), Some("all_started" | "incomplete"));
        pushes.push(push);
        if last {
            return pushes;
        }
    }
}

#[test]
fn one_that_takes_two_seconds_is_waited_for_and_told_about() {
    let scratch = Scratch::new();
    let (process, mut client) = start(&scratch, &[("sleeper", SLEEP), ("quick", "")], &[]);
    client.ok(json!({"cmd": "sim_subscribe", "topics": ["plugins"]}));
    let info = client.ok(json!({"cmd": "sim_get_info"}));
    assert_eq!((&info["stage"], &info["tick"]), (&json!("starting"), &json!(0)));
    // The quick one owns the command as well, but nobody is called before all have started.
    let error = client.error(json!({"cmd": "stress_echo"}));
    let texts = [0, 1, 2].map(|n| format!("stress_echo is not available yet: {n} of 3 plugins have started"));
    assert!(texts.contains(&error), "{error}");

    let pushes = pushes(&mut client);
    assert_eq!(pushes[0]["event"], "present");
    assert_eq!(pushes[0]["plugins"].as_array().unwrap().len(), 3);
    let counts: Vec<_> = pushes.iter().map(|push| push["started"].as_u64().unwrap()).collect();
    assert!(counts.is_sorted(), "{counts:?}");
    assert!(pushes.iter().all(|push| push["total"] == 3), "{pushes:?}");
    let [.., last, all] = &pushes[..] else { panic!("{pushes:?}") };
    assert_eq!((&last["plugin"]["name"], &last["plugin"]["state"]), (&json!("sleeper"), &json!("started")));
    assert_eq!((&all["event"], &all["started"]), (&json!("all_started"), &json!(3)));
    // Once, and not again.
    client.ok(json!({"cmd": "sim_step"}));
    assert_eq!(client.kept_pushes(), Vec::<Value>::new());
    assert_eq!(client.ok(json!({"cmd": "sim_get_info"}))["stage"], "running");

    process.line(|line| line.starts_with("  plugins: "));
    let stdout = process.stdout();
    let at = |start: &str| stdout.find(start).unwrap_or_else(|| panic!("no {start:?} in\n{stdout}"));
    let order = [
        "plugin sleeper: starting (",
        "plugin quick: starting (",
        "plugin quick 0.1.0: started in ",
        "plugin sleeper 0.1.0: started in 2",
        "world scratch: listening on ",
        "  robots:  uav0 (UAVLevel1)\n",
        "  plugins: manual_move, sleeper, quick\n",
    ];
    assert!(order.map(at).is_sorted(), "{stdout}");
    assert!(stdout.contains(" ms (3/3)\nworld "), "{stdout}");
}

#[test]
fn one_that_fails_ends_the_run_with_its_reason() {
    let exit = run(&[("bad", FAIL), ("good", "")], &[]);
    assert_incomplete(&exit, 2, &[("bad", FAILED)], 3);
}

#[test]
fn one_that_panics_ends_the_run_with_place_and_text() {
    let exit = run(&[("bad", PANIC), ("good", "")], &[]);
    let reason = exit.stderr.lines().last().unwrap().strip_prefix("  bad: ").unwrap_or_else(|| panic!("{exit:?}"));
    assert!(reason.starts_with("panicked at ") && reason.contains("stress-plugin/src/lib.rs:"), "{reason}");
    assert!(reason.ends_with(": stress: asked to panic in create"), "{reason}");
    assert_incomplete(&exit, 2, &[("bad", reason)], 3);
}

#[test]
fn one_that_never_returns_is_named_after_its_time() {
    // Built before the time begins.
    bin_dir();
    let begin = Instant::now();
    let exit = run(&[("bad", HANG), ("good", "")], &["--plugin-start-timeout", "0.5"]);
    assert_incomplete(&exit, 2, &[("bad", HUNG)], 3);
    // It does not hold the end.
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
}

/// A constructor that hangs holds the system's loader, which every thread needs now and then: there can be no run beside
/// it, but an end that says what it was.
#[test]
fn one_whose_constructor_never_returns_is_named_after_its_time() {
    let scratch = Scratch::new();
    let plugin = compile("bad-plugins/hangs_in_constructor.c", &[], scratch.path());
    let path = plugin.to_str().unwrap();
    for plugins in [["manual_move", path, "race"], [path, "manual_move", "race"]] {
        for more in [&[][..], &["--keep-going"]] {
            let args: Vec<_> = ["--plugin-start-timeout", "0.5"].iter().chain(more).copied().collect();
            let exit = tickworks(Host::args("arena.sdf", &plugins, &args));
            assert_eq!(exit.code, Some(1), "{exit:?}");
            let hung = format!("plugin {path}: failed: plugin {path}: loading it has not come to an end after 0.5 s, ");
            assert!(exit.stdout.contains(&hung), "{exit:?}");
            let after = format!("it cannot be loaded: the system's loader has not come back from {path} (0/3)\n");
            assert!(exit.stdout.contains(&after), "{exit:?}");
            let said = format!("tickworks: a constructor of {path} hangs, and the system's loader with it: ");
            assert!(exit.stderr.lines().last().unwrap().starts_with(&said), "{exit:?}");
        }
    }
}

#[test]
fn several_that_fail_are_all_named_in_their_order() {
    let instances = [("hangs", HANG), ("fails", FAIL), ("sleeps", SLEEP), ("good", ""), ("fails_too", FAIL)];
    let exit = run(&instances, &["--plugin-start-timeout", "0.5"]);
    let failed = [("hangs", HUNG), ("fails", FAILED), ("sleeps", HUNG), ("fails_too", FAILED)];
    assert_incomplete(&exit, 2, &failed, 6);
}

#[test]
fn subscribers_hear_of_an_incomplete_start_before_the_host_goes() {
    let scratch = Scratch::new();
    let (process, mut client) = start(&scratch, &[("sleeper", SLEEP), ("bad", FAIL)], &[]);
    client.ok(json!({"cmd": "sim_subscribe", "topics": ["plugins"]}));
    let pushes = pushes(&mut client);
    let last = pushes.last().unwrap();
    assert_eq!(last["event"], "incomplete");
    assert_eq!(last["failed"], json!({"bad": FAILED}));
    assert_eq!((&last["started"], &last["total"]), (&json!(2), &json!(3)));
    assert!(pushes.iter().all(|push| push["total"] == 3 && push["event"] != "all_started"), "{pushes:?}");
    client.rest();
    assert_incomplete(&process.wait(), 2, &[("bad", FAILED)], 3);
}

/// The load is complete whatever becomes of each: those that started and those that failed are all there are.
#[test]
fn with_keep_going_the_others_run_and_the_counts_add_up() {
    let instances = [("fails", FAIL), ("panics", PANIC), ("hangs", HANG), ("good", "")];
    let host = going(&instances, &["--plugin-start-timeout", "0.5"]);
    host.process().line(|line| line == "  plugins: manual_move, good");
    let mut client = host.json();
    let list = client.ok(json!({"cmd": "plugin_list"}));
    assert_eq!((&list["started"], &list["total"]), (&json!(2), &json!(5)));
    let states: Vec<_> = list["plugins"].as_array().unwrap().iter().map(|plugin| &plugin["state"]).collect();
    assert_eq!(states, ["started", "failed", "failed", "failed", "started"]);
    assert_eq!(list["plugins"][1]["reason"], FAILED);
    assert_eq!(list["plugins"][3]["reason"], HUNG);
    assert_eq!(client.ok(json!({"cmd": "stress_calls"}))["on_all_started"], 1);
    client.ok(json!({"cmd": "connect"}));
    let moved = client.ok(json!({"cmd": "move", "control_input": [0, 0, 0.1, 0, 0, 0]}));
    assert_eq!(moved["status"], "move_applied");
    assert_eq!(host.stop().code, Some(0));
}

#[test]
fn a_command_of_one_that_did_not_start_says_why() {
    for (does, reason) in [(FAIL, FAILED), (HANG, HUNG)] {
        let host = going(&[("bad", does)], &["--plugin-start-timeout", "0.5"]);
        let error = host.json().error(json!({"cmd": "stress_echo"}));
        assert_eq!(error, format!("stress_echo belongs to plugin \"bad\", which has failed: {reason}"));
        assert_eq!(host.stop().code, Some(0));
    }
}

/// One item that is wrong does not take those after it along.
#[test]
fn one_bad_plugin_in_the_middle_of_ten_costs_nothing_but_itself() {
    let names: Vec<String> = (0..10).map(|i| format!("s{i}")).collect();
    for does in [FAIL, PANIC] {
        let instances: Vec<_> =
            names.iter().enumerate().map(|(i, name)| (name.as_str(), if i == 5 { does } else { "" })).collect();
        let host = going(&instances, &[]);
        host.process().line(|line| line == "  plugins: manual_move, s0, s1, s2, s3, s4, s6, s7, s8, s9");
        let list = host.json().ok(json!({"cmd": "plugin_list"}));
        assert_eq!((&list["started"], &list["total"]), (&json!(10), &json!(11)));
    }
}

/// A failure in `on_all_started` is one of the start as well: the plugin is not used.
#[test]
fn one_that_fails_when_all_have_started_is_not_used() {
    let host = going(&[("bad", "<trouble slot='on_all_started' does='fail'/>")], &[]);
    let mut client = host.json();
    let list = client.ok(json!({"cmd": "plugin_list"}));
    assert_eq!((&list["plugins"][1]["state"], &list["started"]), (&json!("failed"), &json!(1)));
    assert_eq!(
        client.error(json!({"cmd": "stress_echo"})),
        "stress_echo belongs to plugin \"bad\", which has failed: in on_all_started: stress: asked to fail in \
         on_all_started"
    );
}

/// How long `count` plugins take to start that take `seconds` each, in the eyes of who reads stdout.
fn together(count: usize, seconds: f64) -> Duration {
    let names: Vec<String> = (0..count).map(|i| format!("s{i}")).collect();
    let does = format!("<trouble slot='create' does='sleep' seconds='{seconds}'/>");
    let instances: Vec<_> = names.iter().map(|name| (name.as_str(), does.as_str())).collect();
    let scratch = Scratch::new();
    let process = Process::start(Host::args(scratch.stress_world(&instances), &[], &[]));
    process.line(|line| line.starts_with("plugin s0: starting ("));
    let begin = Instant::now();
    let host = Host::of(process);
    let took = begin.elapsed();
    let list = host.json().ok(json!({"cmd": "plugin_list"}));
    assert_eq!((&list["started"], &list["total"]), (&json!(count), &json!(count)));
    for plugin in list["plugins"].as_array().unwrap() {
        assert!(plugin["start_seconds"].as_f64().unwrap() >= seconds, "{plugin}");
    }
    took
}

/// They sleep at the same time. One after the other would be 10 s; the rest above 1 s is for a busy machine.
#[test]
fn ten_that_take_a_second_take_a_second_together() {
    let took = together(10, 1.0);
    assert!(took < Duration::from_millis(2500), "{took:?}");
}

/// One after the other would be 20 s.
#[test]
fn two_hundred_that_take_a_tenth_are_up_in_no_time() {
    let took = together(200, 0.1);
    assert!(took < Duration::from_millis(2500), "{took:?}");
}

/// I7: a reset during the start comes right after it, and its reply when it is done.
#[test]
fn i7_a_reset_during_the_start_is_not_lost() {
    let scratch = Scratch::new();
    let (process, mut client) = start(&scratch, &[("sleeper", SLEEP), ("quick", "")], &["--paused"]);
    let reset = client.ok(json!({"cmd": "sim_reset"}));
    assert_eq!((&reset["status"], &reset["epoch"]), (&json!("reset"), &json!(1)));
    let calls = client.ok(json!({"cmd": "stress_calls"}));
    assert_eq!((&calls["on_all_started"], &calls["on_reset"], calls.get("on_tick")), (&json!(1), &json!(1), None));
    drop(process);
}
