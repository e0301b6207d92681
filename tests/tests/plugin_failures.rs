//! A plugin that panics, fails or crashes in the middle of a run: what it costs, and what is said.

use serde_json::{Value, json};
use tickworks_tests::{Client, Exit, Host, Process, Scratch, compile, connect_soon, free_addr, tickworks};

/// A paused host with manual_move and the plugin `bad`, whose trouble this is; a client that has robot 0, and one that
/// was there before anything happened.
struct Case {
    host: Host,
    client: Client,
    witness: Client,
    _scratch: Scratch,
}

impl Case {
    fn new(trouble: &str) -> Self {
        let scratch = Scratch::new();
        let world = scratch.stress_world(&[("bad", trouble)]);
        let host = Host::start(world, &["manual_move"], &["--paused", "--keep-going"]);
        let (mut client, mut witness) = (host.json(), host.msgpack());
        client.ok(json!({"cmd": "connect"}));
        witness.ok(json!({"cmd": "sim_get_info"}));
        Self { host, client, witness, _scratch: scratch }
    }

    /// Does whatever leads to the slot, once. Gives the reply of the request that did, if it was one.
    fn reach(&mut self, slot: &str) -> Option<Value> {
        let client = &mut self.client;
        match slot {
            "on_all_started" => None,
            "on_reset" | "may" => Some(client.request(json!({"cmd": "sim_reset"}))),
            "on_message" => Some(client.request(json!({"cmd": "stress_echo"}))),
            "on_response" => {
                let request = json!({"cmd": "stress_move", "robot_id": 0, "control_input": [0, 0, 0, 0, 0, 0]});
                client.pipeline(&[json!({"cmd": "sim_step"}), request]).pop()
            }
            "on_tick" | "before_physics" | "after_physics" => Some(client.ok(json!({"cmd": "sim_step"}))),
            "draw" => {
                client.ok(json!({"cmd": "sim_subscribe", "topics": ["overlays"]}));
                Some(client.ok(json!({"cmd": "sim_step"})))
            }
            "save" => Some(client.request(json!({"cmd": "sim_get_state"}))),
            "load" => {
                let state = client.ok(json!({"cmd": "sim_get_state"}));
                Some(client.request(json!({"cmd": "sim_load_state", "state": state})))
            }
            "on_wake" => {
                client.ok(json!({"cmd": "stress_echo"}));
                // It is woken between two ticks.
                Some(client.ok(json!({"cmd": "sim_step"})))
            }
            other => panic!("no such slot: {other}"),
        }
    }

    /// World, ticks, clients and the other plugin go on.
    fn goes_on(&mut self, slot: &str) {
        let before = self.witness.ok(json!({"cmd": "sim_get_info"}))["tick"].as_u64().unwrap();
        let requests =
            [json!({"cmd": "sim_step", "ticks": 2}), json!({"cmd": "move", "control_input": [0, 0, 0.1, 0, 0, 0]})];
        let replies = self.client.pipeline(&requests);
        assert_eq!(replies[0]["status"], "stepped", "{slot}: {replies:?}");
        assert_eq!(replies[1]["status"], "move_applied", "{slot}: {replies:?}");
        assert_eq!(self.witness.ok(json!({"cmd": "sim_get_info"}))["tick"], before + 2, "{slot}");
        assert!(self.witness.ok(json!({"cmd": "sim_get_state"}))["plugins"]["manual_move"].is_object(), "{slot}");
        assert_eq!(self.witness.ok(json!({"cmd": "sim_reset"}))["status"], "reset", "{slot}");
        assert_eq!(self.host.json().ok(json!({"cmd": "robot_get_state", "robot_id": 0}))["robot"]["id"], 0, "{slot}");
    }

    /// What the list of plugins says of `bad`.
    fn bad(&mut self) -> Value {
        self.witness.ok(json!({"cmd": "plugin_list"}))["plugins"][1].clone()
    }

    fn ends(self) {
        let exit = self.host.stop();
        assert_eq!(exit.code, Some(0), "{exit:?}");
    }
}

/// The error of a reply that has one.
fn error(reply: &Value) -> &str {
    reply["error"].as_str().unwrap_or_else(|| panic!("no error: {reply}"))
}

/// I8: a failing plugin costs its own function only. A panic in any slot: the instance is not called again, whoever asks
/// for its commands hears why, and everything else goes on.
#[test]
fn i8_a_panic_in_any_slot_costs_that_plugin_only() {
    let slots = [
        "on_all_started",
        "on_reset",
        "on_message",
        "on_response",
        "on_tick",
        "before_physics",
        "after_physics",
        "draw",
        "save",
        "load",
        "may",
        "on_wake",
    ];
    for slot in slots {
        let mut trouble = format!("<trouble slot='{slot}' does='panic'/>");
        if slot == "on_wake" {
            trouble += "<trouble slot='on_message' does='wake'/>";
        }
        let mut case = Case::new(&trouble);
        let reply = case.reach(slot);
        let text = format!(": stress: asked to panic in {slot}");
        // Those that asked for what panicked are told; the others need not know.
        if let Some(reply) = &reply {
            match slot {
                "on_message" | "on_response" | "save" => {
                    let start = format!("plugin \"bad\" failed in {slot}: panicked at ");
                    assert!(error(reply).contains(&start) && error(reply).ends_with(&text), "{slot}: {reply}");
                }
                "load" => {
                    let start = "sim_load_state: field plugins.bad: panicked at ";
                    assert!(error(reply).starts_with(start) && error(reply).ends_with(&text), "{slot}: {reply}");
                }
                "may" => {
                    let start = "sim_reset: plugin \"bad\" failed in may: panicked at ";
                    assert!(error(reply).starts_with(start) && error(reply).ends_with(&text), "{reply}");
                }
                "on_reset" => {
                    assert_eq!(reply["status"], "reset", "{reply}");
                    assert!(reply["failed"]["bad"].as_str().unwrap().ends_with(&text), "{reply}");
                }
                _ => {}
            }
        }
        let bad = case.bad();
        assert_eq!(bad["state"], "failed", "{slot}: {bad}");
        let reason = bad["reason"].as_str().unwrap();
        assert!(reason.starts_with(&format!("in {slot}: panicked at ")) && reason.ends_with(&text), "{slot}: {bad}");
        for cmd in ["stress_echo", "stress_calls", "stress_move"] {
            assert_eq!(
                case.client.error(json!({"cmd": cmd, "robot_id": 0, "control_input": [0, 0, 0, 0, 0, 0]})),
                format!("{cmd} belongs to plugin \"bad\", which has failed: {reason}"),
                "{slot}"
            );
        }
        case.goes_on(slot);
        case.ends();
    }
}

/// An error that is not a panic costs the one call that it was the answer to; the plugin goes on.
#[test]
fn i8_an_error_in_a_slot_costs_that_call_only() {
    let slots = [
        ("on_message", "stress: asked to fail in on_message"),
        ("on_response", "stress: asked to fail in on_response"),
        ("save", "sim_get_state: plugin \"bad\" failed in save: stress: asked to fail in save"),
        ("load", "sim_load_state: field plugins.bad: stress: asked to fail in load"),
        ("may", "sim_reset: stress: no sim_reset now"),
    ];
    for (slot, text) in slots {
        let mut case = Case::new(&format!("<trouble slot='{slot}' does='fail' once='true'/>"));
        let reply = case.reach(slot).unwrap();
        assert_eq!(error(&reply), text, "{slot}");
        assert_eq!(case.bad()["state"], "started", "{slot}");
        assert_eq!(case.client.ok(json!({"cmd": "stress_echo"}))["cmd"], "stress_echo", "{slot}");
        case.goes_on(slot);
        case.ends();
    }
}

/// A reset that fails once does not stand in the way of later ones, nor of the other plugins'.
#[test]
fn a_plugin_whose_reset_fails_once_is_named_and_reset_the_next_time() {
    let mut case = Case::new("<trouble slot='on_reset' does='fail' once='true'/>");
    let reply = case.client.ok(json!({"cmd": "sim_reset"}));
    assert_eq!(reply["failed"], json!({"bad": "stress: asked to fail in on_reset"}), "{reply}");
    let reply = case.client.ok(json!({"cmd": "sim_reset"}));
    assert_eq!((reply.get("failed"), &reply["epoch"]), (None, &json!(2)), "{reply}");
    assert_eq!(case.client.ok(json!({"cmd": "stress_calls"}))["on_reset"], 2);
}

/// A failed load of a state leaves the world as it was, also when the plugin that failed is gone by it.
#[test]
fn a_panic_in_load_leaves_the_world_as_it_was() {
    let mut case = Case::new("<trouble slot='load' does='panic'/>");
    let pose = |client: &mut Client| client.ok(json!({"cmd": "robot_get_state"}))["robot"]["pose"].clone();
    let state = case.client.ok(json!({"cmd": "sim_get_state"}));
    let input = json!({"cmd": "move", "control_input": [0, 0, 0.1, 0, 0, 0]});
    case.client.pipeline(&[json!({"cmd": "sim_step"}), input]);
    let moved = pose(&mut case.client);
    case.client.error(json!({"cmd": "sim_load_state", "state": state}));
    assert_eq!(pose(&mut case.client), moved);
    // Without it, the same state fits, and its part is nobody's.
    case.client.ok(json!({"cmd": "sim_load_state", "state": state}));
    assert_ne!(pose(&mut case.client), moved);
}

/// A panic in `destroy`, at the end, changes nothing about the end.
#[test]
fn a_panic_at_the_end_is_said_and_the_run_ends_well() {
    let case = Case::new("<trouble slot='destroy' does='panic'/>");
    let exit = case.host.stop();
    assert_eq!(exit.code, Some(0), "{exit:?}");
    assert!(exit.stderr.contains("stress: asked to panic in destroy"), "{exit:?}");
}

/// A thread of the plugin's own is none of the host's: its panic is logged, and nobody has failed.
#[test]
fn a_panic_in_a_plugin_s_own_thread_is_logged() {
    let mut case = Case::new("<trouble slot='on_tick' does='thread_panic' once='true'/>");
    case.reach("on_tick");
    case.host.process().error_line(|line| line.contains("stress: a thread of on_tick panics"));
    assert_eq!(case.bad()["state"], "started");
    case.goes_on("on_tick");
}

/// Commands that no robot can take are refused, and those of other plugins are applied.
#[test]
fn garbage_commands_of_a_plugin_move_nothing() {
    let mut case = Case::new(
        "<trouble slot='on_tick' does='garbage'/><trouble slot='before_physics' does='garbage'/>\
         <trouble slot='draw' does='garbage'/>",
    );
    let pose = |client: &mut Client| client.ok(json!({"cmd": "robot_get_state"}))["robot"]["pose"].clone();
    let before = pose(&mut case.client);
    case.client.ok(json!({"cmd": "sim_step", "ticks": 10}));
    assert_eq!(pose(&mut case.client), before);
    case.reach("draw");
    assert_eq!(case.client.push_of("overlays")["shapes"].as_array().unwrap().len(), 1, "what can be drawn");
    case.goes_on("on_tick");
}

/// Messages that wait behind one whose plugin panics get their replies, in order.
#[test]
fn requests_behind_a_panic_are_answered_in_order() {
    let mut case = Case::new("<trouble slot='on_message' does='panic' after='2'/>");
    let requests: Vec<_> = (0..6)
        .map(|i| json!({"cmd": if i % 2 == 0 { "stress_echo" } else { "robot_get_state" }, "robot_id": 0, "id": i}))
        .collect();
    for (i, reply) in case.client.pipeline(&requests).iter().enumerate() {
        assert_eq!(reply["id"], i, "{reply}");
        assert_eq!(reply.get("error").is_some(), i == 4, "{reply}");
    }
}

/// What its own memory faults do cannot be contained in one process. But one can tell who it was.
#[test]
fn a_crash_names_plugin_slot_and_signal_last() {
    let cases = [
        ("on_message", "1", 11, "SIGSEGV (an address that is not its own)"),
        ("on_tick", "2", 6, "SIGABRT (it called abort)"),
        ("create", "1", 11, "SIGSEGV (an address that is not its own)"),
        ("on_tick", "4", 4, "SIGILL (an illegal instruction)"),
    ];
    for (slot, how, signal, name) in cases {
        let scratch = Scratch::new();
        let plugin = compile("bad-plugins/crash.c", &[("SLOT", slot), ("HOW", how)], scratch.path());
        let exit = crash(&scratch, plugin.to_str().unwrap(), slot == "on_message");
        assert_eq!((exit.code, exit.signal), (None, Some(signal)), "{slot}: {exit:?}");
        let last = exit.stderr.lines().last().unwrap_or_default();
        assert_eq!(last, format!("tickworks: plugin \"bad\" killed the process in {slot}: {name}"), "{exit:?}");
    }
}

/// A Rust plugin that aborts is told in the same way.
#[test]
fn an_abort_names_plugin_slot_and_signal_last() {
    let scratch = Scratch::new();
    let world = scratch.stress_world(&[("aborts", "<trouble slot='after_physics' does='abort' after='3'/>")]);
    let exit = tickworks(Host::args(world, &[], &[]));
    assert_eq!((exit.code, exit.signal), (None, Some(6)), "{exit:?}");
    let last = exit.stderr.lines().last().unwrap_or_default();
    let said = "tickworks: plugin \"aborts\" killed the process in after_physics: SIGABRT (it called abort)";
    assert_eq!(last, said, "{exit:?}");
}

/// Runs a plugin that kills its host, after a message where it takes one.
fn crash(scratch: &Scratch, plugin: &str, ask: bool) -> Exit {
    let addr = free_addr();
    let mut args = Host::args(scratch.world(""), &[plugin], &[]);
    let listen = args.iter().position(|arg| arg == "127.0.0.1:0").unwrap();
    args[listen] = addr.to_string().into();
    let process = Process::start(args);
    if ask {
        let mut client = connect_soon(addr);
        process.line(|line| line.contains("listening on"));
        client.send(&json!({"cmd": "bad"}));
    }
    process.wait()
}

/// The stages before there is an instance have names as well, also for `plugin info`, which runs the plugin's code too.
#[test]
fn a_crash_while_it_is_loaded_names_the_stage() {
    let nowhere = "SIGSEGV (an address that is not its own)";
    for (stage, how, place, signal, name) in [
        ("1", "1", "the loading of its library", 11, nowhere),
        ("2", "1", "tw_plugin_entry", 11, nowhere),
        ("3", "2", "describe", 6, "SIGABRT (it called abort)"),
        ("4", "1", "the reading of its table", 11, nowhere),
        ("5", "1", "the reading of its table", 11, nowhere),
    ] {
        let scratch = Scratch::new();
        let plugin = compile("bad-plugins/crash_loading.c", &[("STAGE", stage), ("HOW", how)], scratch.path());
        let path = plugin.to_str().unwrap();
        // In describe its id is known.
        let who = if stage == "3" { "bad" } else { path };
        let said = format!("tickworks: plugin \"{who}\" killed the process in {place}: {name}\n");
        for exit in [tickworks(["plugin", "info", path]), tickworks(Host::args("empty.sdf", &[path], &[]))] {
            assert_eq!((exit.code, exit.signal), (None, Some(signal)), "{place}: {exit:?}");
            assert_eq!(exit.stderr, said);
        }
    }
}

/// A plugin that calls `exit` ends the host like a crash does: with a word, and never with the status of success.
#[test]
fn an_exit_names_plugin_and_slot_and_has_failed() {
    let scratch = Scratch::new();
    for (stage, place) in [("1", "the loading of its library"), ("2", "tw_plugin_entry"), ("3", "describe")] {
        let plugin = compile("bad-plugins/crash_loading.c", &[("STAGE", stage), ("HOW", "6")], scratch.path());
        let path = plugin.to_str().unwrap();
        let who = if stage == "3" { "bad" } else { path };
        let said = format!("tickworks: plugin \"{who}\" ended the process in {place}: it called exit\n");
        for exit in [tickworks(["plugin", "info", path]), tickworks(Host::args("empty.sdf", &[path], &[]))] {
            assert_eq!((exit.code, exit.stderr.as_str()), (Some(1), said.as_str()), "{exit:?}");
        }
    }
    for (slot, how) in [("create", "6"), ("on_message", "6"), ("on_tick", "6"), ("on_tick", "7")] {
        let scratch = Scratch::new();
        let plugin = compile("bad-plugins/crash.c", &[("SLOT", slot), ("HOW", how)], scratch.path());
        let exit = crash(&scratch, plugin.to_str().unwrap(), slot == "on_message");
        assert_eq!((exit.code, exit.signal), (Some(1), None), "{slot}: {exit:?}");
        let last = exit.stderr.lines().last().unwrap_or_default();
        assert_eq!(last, format!("tickworks: plugin \"bad\" ended the process in {slot}: it called exit"), "{exit:?}");
    }
    // On a thread of its own it is in no slot: who is loaded is all that can be said.
    let plugin = compile("bad-plugins/crash.c", &[("SLOT", "on_tick"), ("HOW", "8")], scratch.path());
    let exit = crash(&scratch, plugin.to_str().unwrap(), false);
    assert_eq!((exit.code, exit.signal), (Some(1), None), "{exit:?}");
    let last = exit.stderr.lines().last().unwrap_or_default();
    assert_eq!(last, "tickworks: a thread of a plugin ended the process: it called exit; loaded: bad");
}

/// What a plugin says takes one line, and does nothing to a terminal.
#[test]
fn what_a_plugin_says_stays_on_its_line() {
    let scratch = Scratch::new();
    let talks = compile("bad-plugins/talks.c", &[], scratch.path());
    let host = Host::start("empty.sdf", &[talks.to_str().unwrap()], &[]);
    host.process().line(|line| line.starts_with("plugin bad 1.0\\n\\u{1b}[7m: started in "));
    host.process().error_line(|line| line.contains(" first line\\nsecond line \\u{1b}[2J"));
    let mut client = host.json();
    assert_eq!(client.error(json!({"cmd": "talk"})), "talk: plugin \"bad\" failed in on_message: not\\nnow");
    host.process().error_line(|line| line.ends_with("plugin \"bad\" failed in on_message: not\\nnow"));
    let exit = host.stop();
    assert!(!(exit.stdout + &exit.stderr).contains('\u{1b}'));

    let info = tickworks(["plugin", "info", talks.to_str().unwrap()]);
    assert!(info.stdout.starts_with("bad 1.0\\n\\u{1b}[7m: Talks.\\nA lot.\n"), "{info:?}");
    assert!(info.stdout.contains("    talk  Talks.\\u{1b}[31m\n"), "{info:?}");

    let fails = compile("bad-plugins/talks.c", &[("FAILS", "1")], scratch.path());
    let exit = tickworks(Host::args("empty.sdf", &[fails.to_str().unwrap()], &[]));
    assert!(exit.stdout.contains("plugin bad: failed: no\\nfuel \\u{1b}[31m (0/1)\n"), "{exit:?}");
    assert!(exit.stderr.ends_with("\n  bad: no\\nfuel \\u{1b}[31m\n"), "{exit:?}");
}

/// A push to a topic that the manifest does not declare is refused, and the log says why.
#[test]
fn only_declared_topics_are_pushed_to() {
    let scratch = Scratch::new();
    let talks = compile("bad-plugins/talks.c", &[], scratch.path());
    let host = Host::start("empty.sdf", &[talks.to_str().unwrap()], &[]);
    let mut client = host.json();
    client.ok(json!({"cmd": "sim_subscribe", "topics": ["talk"]}));
    assert!(client.error(json!({"cmd": "talk"})).ends_with("not\\nnow"), "it got the codes of the header");
    assert_eq!(client.push(), json!({"topic": "talk"}));
    let said = "a push was refused: the topic \"other\" is not in the plugin's manifest, expected talk";
    host.process().error_line(|line| line.contains(said));
}

/// What goes wrong in each tick is said once, and then from time to time how often.
#[test]
fn what_goes_wrong_in_each_tick_does_not_fill_the_log() {
    let scratch = Scratch::new();
    let world = scratch.stress_world(&[(
        "bad",
        "<trouble slot='on_tick' does='garbage'/><trouble slot='before_physics' does='garbage'/>",
    )]);
    let exit = tickworks(Host::args(world, &[], &["--fast", "--ticks", "3000"]));
    assert_eq!(exit.code, Some(0), "{exit:?}");
    let lines = exit.stderr.lines().count();
    assert!((1..30).contains(&lines) && exit.stderr.contains("was refused"), "{lines} lines: {exit:?}");
}
