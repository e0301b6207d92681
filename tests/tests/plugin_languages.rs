//! Plugins in C and C++, compiled here from the header alone and as strictly as it allows, in a running host.

use serde_json::{Value, json};
use tickworks_tests::{Client, Host, Scratch, compile, compile_as, tickworks};

/// Where robot 0 is.
fn pose(client: &mut Client) -> Value {
    client.ok(json!({"cmd": "robot_get_state", "robot_id": 0}))["robot"]["pose"].clone()
}

/// Position of a 4x4 pose.
fn position(pose: &Value) -> [f64; 3] {
    [0, 1, 2].map(|row| pose[row][3].as_f64().unwrap())
}

#[test]
fn a_c_plugin_answers_and_moves_a_robot() {
    let scratch = Scratch::new();
    let nudge = compile("c-plugins/nudge.c", &[], scratch.path());
    let host = Host::start(scratch.world(""), &[nudge.to_str().unwrap()], &[]);
    host.process().line(|line| line.starts_with("plugin nudge 1.0.0: started in "));
    host.process().error_line(|line| line.contains("ready to nudge"));
    let mut client = host.json();
    // What its manifest says is what the host does: it needs a robot, and finds the connection's own.
    let error = client.error(json!({"cmd": "nudge"}));
    assert!(error.starts_with("nudge: ") && error.contains("robot_id"), "{error}");
    client.ok(json!({"cmd": "connect"}));
    let before = position(&pose(&mut client));
    let reply = client.ok(json!({"cmd": "nudge"}));
    assert_eq!((&reply["status"], &reply["count"]), (&json!("nudged"), &json!(1)));
    // Half of 0.1 m along its forward axis, the world's x.
    let after = position(&pose(&mut client));
    let moved = [0, 1, 2].map(|axis| after[axis] - before[axis]);
    assert!((moved[0] - 0.05).abs() < 1e-6 && moved[1].abs() < 1e-6 && moved[2].abs() < 1e-6, "{moved:?}");
    // In the other framing as well, and refused on a robot of another connection.
    let mut other = host.msgpack();
    assert_eq!(other.ok(json!({"cmd": "nudge_count"}))["count"], 1);
    let error = other.error(json!({"cmd": "nudge", "robot_id": 0}));
    assert!(error.contains("another connection"), "{error}");
    assert_eq!(other.ok(json!({"cmd": "nudge_count"}))["count"], 1);
}

#[test]
fn a_c_plugin_s_state_goes_on_in_a_fresh_process() {
    let scratch = Scratch::new();
    let nudge = compile("c-plugins/nudge.c", &[], scratch.path());
    let world = scratch.world("");
    let start = || Host::start(&world, &[nudge.to_str().unwrap()], &["--paused"]);

    let host = start();
    let mut client = host.json();
    client.ok(json!({"cmd": "connect"}));
    for _ in 0..3 {
        client.pipeline(&[json!({"cmd": "sim_step"}), json!({"cmd": "nudge"})]);
    }
    let state = client.ok(json!({"cmd": "sim_get_state"}));
    assert_eq!(state["plugins"]["nudge"]["state"], json!({"count": 3}));
    let pose_then = pose(&mut client);
    assert_eq!(host.stop().code, Some(0));

    let host = start();
    let mut client = host.json();
    client.ok(json!({"cmd": "connect"}));
    assert_ne!(pose(&mut client), pose_then);
    assert_eq!(client.ok(json!({"cmd": "sim_load_state", "state": state}))["status"], "loaded");
    assert_eq!(pose(&mut client), pose_then);
    assert_eq!(client.ok(json!({"cmd": "nudge_count"}))["count"], 3);
    let again = client.ok(json!({"cmd": "sim_get_state"}));
    for field in ["state", "plugins", "robots"] {
        assert_eq!(again[field], state[field], "{field}");
    }

    // A state that the plugin does not take: the world stays as it was, too.
    let mut wrong = state.clone();
    wrong["plugins"]["nudge"]["state"] = json!({"sum": 3});
    client.pipeline(&[json!({"cmd": "sim_step"}), json!({"cmd": "nudge"})]);
    let moved = pose(&mut client);
    assert_eq!(
        client.error(json!({"cmd": "sim_load_state", "state": wrong})),
        "sim_load_state: field plugins.nudge: the state has no count"
    );
    assert_eq!(pose(&mut client), moved);
    assert_eq!(client.ok(json!({"cmd": "nudge_count"}))["count"], 4);
}

#[test]
fn a_cpp_plugin_that_throws_is_named_and_the_host_goes_on() {
    let scratch = Scratch::new();
    let throws = compile("c-plugins/throws.cpp", &[], scratch.path());
    let host = Host::start(scratch.world(""), &["manual_move", throws.to_str().unwrap()], &[]);
    let mut client = host.json();
    assert_eq!(client.ok(json!({"cmd": "calm"}))["status"], "calm");
    assert_eq!(
        client.error(json!({"cmd": "throw"})),
        "throw: plugin \"throws\" failed in on_message: thrown in on_message: throw"
    );
    // An exception that was not caught is a fault like a panic: nobody knows what it left behind.
    let error = client.error(json!({"cmd": "calm"}));
    assert_eq!(
        error,
        "calm belongs to plugin \"throws\", which has failed: in on_message: thrown in on_message: throw"
    );
    client.ok(json!({"cmd": "connect"}));
    assert_eq!(client.ok(json!({"cmd": "move", "control_input": [0, 0, 0.05, 0, 0, 0]}))["status"], "move_applied");
    // It throws once more while it is destroyed.
    host.process().error_line(|line| line.contains("thrown in destroy"));
    assert_eq!(host.stop().code, Some(0));
}

#[test]
fn a_cpp_plugin_that_throws_in_its_start_is_a_failed_start() {
    let scratch = Scratch::new();
    let throws = compile("c-plugins/throws.cpp", &[], scratch.path());
    let world = scratch.world(&format!("<plugin filename='{}' name='no'/>", throws.display()));
    let exit = tickworks(Host::args(world, &[], &[]));
    assert_eq!(exit.code, Some(1));
    assert!(exit.stderr.ends_with("\n  no: thrown in create\n"), "{exit:?}");
}

/// What one plugin exports is not what another one calls.
#[test]
fn equal_symbols_of_two_plugins_do_not_meet() {
    let scratch = Scratch::new();
    let plugin = |name: &str, answer: &str| {
        let defines = [("NAME", format!("\"{name}\"")), ("ANSWER", answer.to_owned())];
        let defines: Vec<_> = defines.iter().map(|(key, value)| (*key, value.as_str())).collect();
        compile_as(name, "c-plugins/same_symbol.c", &defines, scratch.path())
    };
    let (one, two) = (plugin("one", "1"), plugin("two", "2"));
    let host = Host::start(scratch.world(""), &[one.to_str().unwrap(), two.to_str().unwrap()], &[]);
    let mut client = host.json();
    for calls in 1..4 {
        let reply = client.ok(json!({"cmd": "one"}));
        assert_eq!((&reply["answer"], &reply["calls"]), (&json!(1), &json!(calls)));
    }
    let reply = client.ok(json!({"cmd": "two"}));
    assert_eq!((&reply["answer"], &reply["calls"]), (&json!(2), &json!(1)));
}

/// A mistake in Rust is named like one in C: command, plugin, and what is wrong.
#[test]
fn a_reply_in_rust_that_is_no_object_names_command_and_plugin() {
    let scratch = Scratch::new();
    let world = scratch.stress_world(&[("bad", "<trouble slot='on_message' does='garbage'/>")]);
    let host = Host::start(world, &[], &[]);
    for mut client in [host.json(), host.msgpack()] {
        assert_eq!(
            client.error(json!({"cmd": "stress_echo"})),
            "stress_echo: plugin \"bad\" failed in on_message: its reply must be a JSON object, this is \"no object\""
        );
    }
}

/// What a saved state, a manifest or a request lacks is said in words of JSON, and not of the language that reads it.
#[test]
fn what_is_wrong_with_a_json_text_is_said_in_plain_words() {
    let host = Host::start("arena.sdf", &["manual_move", "trajectory_mission", "race"], &["--paused"]);
    let mut client = host.json();
    let state = client.ok(json!({"cmd": "sim_get_state"}));
    let changed = |path: &str, value: Value| {
        let mut state = state.clone();
        *state.pointer_mut(path).unwrap() = value;
        json!({"cmd": "sim_load_state", "state": state})
    };
    for (request, error) in [
        (json!({"cmd": "sim_subscribe"}), "sim_subscribe: the field topics is missing"),
        (json!({"cmd": "sim_subscribe", "topics": "sim"}), "sim_subscribe: field topics is \"sim\", expected a list"),
        (json!({"cmd": "sim_step", "ticks": -1}), "sim_step: field ticks is -1, expected a whole number from 0"),
        (
            json!({"cmd": "sim_load_state", "state": []}),
            "sim_load_state: field state has 0 elements, expected an object",
        ),
        (
            changed("/state/tick", json!("x")),
            "sim_load_state: field state.state.tick is \"x\", expected a whole number from 0",
        ),
        (
            changed("/plugins/race/state/race", json!(7)),
            "sim_load_state: field plugins.race: field race is 7, expected an object",
        ),
        (
            changed("/plugins/trajectory_mission/state", json!({"version": 1})),
            "sim_load_state: field plugins.trajectory_mission: the field missions is missing",
        ),
    ] {
        assert_eq!(client.error(request), error);
    }
}

/// Each way to break the contract is an error reply that names plugin and breach, and costs that message only.
#[test]
fn answers_against_the_contract_are_errors_and_nothing_else() {
    let scratch = Scratch::new();
    let answers = compile("bad-plugins/answers.c", &[], scratch.path());
    let host = Host::start(scratch.world(""), &["manual_move", answers.to_str().unwrap()], &[]);
    let breaches = [
        ("nothing", "it gave no answer"),
        ("two_replies", "it wrote an ok reply after an ok reply: expected one of them"),
        ("reply_and_commands", "it wrote a reply and commands: expected one of them"),
        ("not_json", "its reply is not JSON: expected value at line 1 column 7"),
        ("not_object", "its reply is not a JSON object: [1, 2]"),
        ("not_utf8", "its reply is not UTF-8 after byte 7"),
        ("half_a_command", "it wrote 40 bytes of commands: 40 too many for commands of 80 bytes"),
        ("no_reason", "it returned TW_ERR_STATE (-5) and no reason"),
        (
            "huge_number",
            "its reply is JSON that clients cannot read: a number is too large at column 11: `{\"a\": 1e999}`; numbers must \
             be finite",
        ),
        ("deep", "its reply is nested deeper than 64 levels at byte 70"),
        (
            "surrogate",
            "its reply is JSON that clients cannot read: a text is not Unicode at column 14: `{\"a\": \"\\ud800\"}`; \
             surrogates come in pairs",
        ),
        ("twice", "its reply is an object with the field \"a\" twice"),
        ("topic", "its reply has the field \"topic\", by which clients know a push"),
        ("error_in_ok", "its ok reply has the field \"error\", by which clients know an error"),
        ("empty_error", "its error reply is empty, expected a sentence"),
        ("error_number", "\"error\" of its error reply is 5, expected text"),
        ("deep_error", "its error reply is nested deeper than 64 levels at byte 85"),
    ];
    let requests: Vec<_> = breaches.iter().map(|(cmd, _)| json!({"cmd": cmd, "id": cmd})).collect();
    for mut client in [host.json(), host.msgpack()] {
        for ((cmd, text), reply) in breaches.iter().zip(client.pipeline(&requests)) {
            assert_eq!(reply["error"], format!("{cmd}: plugin \"answers\" failed in on_message: {text}"), "{cmd}");
            assert_eq!(reply["id"], *cmd);
        }
        assert_eq!(client.error(json!({"cmd": "plain_error"})), "plain \"text\"");
        assert_eq!(client.ok(json!({"cmd": "fine"}))["status"], "fine");
        assert_eq!(client.ok(json!({"cmd": "wrong_world"}))["refused"], true);
        // A control that is infinite reaches no robot.
        let reply = client.ok(json!({"cmd": "infinite"}));
        assert_eq!(reply["status"], "not_applied");
        assert!(reply["reason"].as_str().unwrap().contains("finite"), "{reply}");
    }
    let list = host.json().ok(json!({"cmd": "plugin_list"}));
    assert_eq!(list["started"], 2, "{list}");
}
