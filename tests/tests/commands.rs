//! Every command, in both framings, over one pipelined connection and over ten at once; and what `help` says of them.

use std::collections::BTreeMap;
use std::thread;

use serde_json::{Value, json};
use tickworks_tests::{Client, Host, Scene, fields, keys};

const ALL: [&str; 3] = ["manual_move", "trajectory_mission", "race"];

const ROBOT_1: &[&str] = &["colliding", "id", "max_velocities", "name", "pose", "sim_time", "tick", "type", "velocity"];

/// All commands of one connection in an order in which each succeeds, with the fields of its reply. The robot is the
/// connection's own, of level 1.
fn script(robot: u64, state: &Value) -> Vec<(Value, &'static [&'static str])> {
    let zeros = json!([0, 0, 0, 0, 0, 0]);
    vec![
        (json!({"cmd": "connect", "robot_id": robot}), &["robot_id", "status"]),
        (json!({"cmd": "help"}), &["endpoints"]),
        (json!({"cmd": "help", "command": "move"}), &["endpoints"]),
        (json!({"cmd": "robot_get_state"}), &["robot"]),
        (
            json!({"cmd": "sim_get_info"}),
            &[
                "connections",
                "control_loop_rate_hz",
                "epoch",
                "paused",
                "plugins",
                "real_time_factor",
                "recording",
                "robots",
                "seed",
                "sim_time",
                "stage",
                "steps_left",
                "target_real_time_factor",
                "tick",
                "version",
                "world",
                "world_file",
            ],
        ),
        (json!({"cmd": "plugin_list"}), &["plugins", "started", "total"]),
        (json!({"cmd": "sim_pause"}), &["status", "tick"]),
        (json!({"cmd": "move", "control_input": zeros}), &["reason", "status"]),
        (json!({"cmd": "sim_step", "ticks": 2}), &["sim_time", "status", "tick"]),
        (json!({"cmd": "move", "control_input": zeros}), &["new_state", "status"]),
        (json!({"cmd": "mission_add_via_point"}), &["count", "status"]),
        (
            json!({"cmd": "mission_get_state"}),
            &["mission_state", "reason", "robot_id", "step", "steps", "via_point", "via_points"],
        ),
        (json!({"cmd": "mission_start", "trajectory": [zeros, zeros]}), &["status", "steps"]),
        (json!({"cmd": "mission_stop"}), &["status", "step"]),
        (json!({"cmd": "mission_clear_via_points"}), &["status"]),
        (json!({"cmd": "race_start", "countdown": 1}), &["laps", "robots", "status"]),
        (json!({"cmd": "race_get_state"}), &["gates", "laps", "robots", "state", "time"]),
        (json!({"cmd": "race_stop"}), &["status"]),
        (
            json!({"cmd": "sim_subscribe", "topics": ["sim", "plugins", "state", "overlays", "logs", "race"], "rate_hz": 10}),
            &["status", "topics"],
        ),
        (
            json!({"cmd": "sim_unsubscribe", "topics": ["sim", "plugins", "state", "overlays", "logs", "race"]}),
            &["status", "topics"],
        ),
        (json!({"cmd": "sim_get_state"}), &["plugins", "robots", "state"]),
        (json!({"cmd": "sim_load_state", "state": state}), &["status"]),
        (json!({"cmd": "sim_set_rate", "real_time_factor": 0}), &["real_time_factor", "status"]),
        (json!({"cmd": "sim_reset"}), &["epoch", "status"]),
        (json!({"cmd": "sim_resume"}), &["status", "tick"]),
        (json!({"cmd": "sim_pause"}), &["status", "tick"]),
    ]
}

/// Gives each request an id of its own, sends all, and compares each reply's id.
fn run_script(client: &mut Client, script: &[(Value, &'static [&'static str])]) -> Vec<Value> {
    let requests: Vec<Value> = script
        .iter()
        .enumerate()
        .map(|(n, (request, _))| {
            let mut request = request.clone();
            request["id"] = json!(n);
            request
        })
        .collect();
    let replies = client.pipeline(&requests);
    for (n, reply) in replies.iter().enumerate() {
        assert_eq!(reply["id"], n, "{reply}");
        assert!(reply["timestamp"].is_string(), "{reply}");
    }
    replies
}

#[test]
fn each_command_succeeds_and_its_reply_has_exactly_its_own_fields() {
    let host = Host::start("race.sdf", &ALL, &["--paused"]);
    for (framing, mut client) in host.both() {
        let state = client.ok(json!({"cmd": "sim_get_state"}));
        let mut script = script(0, &state);
        // A move that is to be applied has to be in a tick: behind a step that has not come to its end.
        let step = script.iter().position(|(request, _)| request["cmd"] == "sim_step").unwrap();
        script[step].0["ticks"] = json!(1);
        for ((request, expected), reply) in script.iter().zip(run_script(&mut client, &script)) {
            let cmd = request["cmd"].as_str().unwrap();
            // A request's `id` takes the place of the one in the reply of connect, which says it once more.
            assert_eq!(fields(&reply), *expected, "{framing}: {cmd}: {reply}");
            if let Some(robot) = reply.get("robot").or_else(|| reply.get("new_state")) {
                assert_eq!(keys(robot), ROBOT_1, "{framing}: {cmd}");
            }
        }
        assert_eq!(client.kept_pushes().len(), 2, "what is present, of sim and of plugins");
        client.leave();
    }
}

#[test]
fn connect_s_own_id_is_the_robot_s_where_the_request_has_none() {
    let host = Host::start("race.sdf", &ALL, &["--paused"]);
    for (_, mut client) in host.both() {
        let reply = client.ok(json!({"cmd": "connect", "robot_id": 2}));
        assert_eq!(keys(&reply), ["id", "status", "timestamp"]);
        assert_eq!((&reply["status"], &reply["id"]), (&json!("connected"), &json!(2)));
        client.leave();
    }
}

#[test]
fn inner_objects_have_exactly_their_own_fields() {
    let host = Host::start("race.sdf", &ALL, &["--paused"]);
    for (_, mut client) in host.both() {
        let info = client.ok(json!({"cmd": "sim_get_info"}));
        assert_eq!(keys(&info["robots"][0]), ["claimed", "id", "name", "type"]);
        let list = client.ok(json!({"cmd": "plugin_list"}));
        for plugin in list["plugins"].as_array().unwrap() {
            let expected = ["endpoints", "id", "name", "path", "start_seconds", "state", "version"];
            assert_eq!(keys(plugin), expected);
            assert_eq!(plugin["state"], "started");
        }
        assert_eq!((&list["started"], &list["total"]), (&json!(3), &json!(3)));
        let state = client.ok(json!({"cmd": "sim_get_state"}));
        assert_eq!(keys(&state["state"]), ["control_loop_rate_hz", "data", "format", "hash", "seed", "tick", "world"]);
        assert_eq!(keys(&state["plugins"]), ["manual_move", "race", "trajectory_mission"]);
        assert_eq!(keys(&state["plugins"]["race"]), ["id", "state", "version"]);
        assert_eq!(keys(&state["plugins"]["manual_move"]), ["data", "id", "version"]);
        let race = client.ok(json!({"cmd": "race_start"}));
        assert_eq!(race["robots"], json!([0, 1, 2, 3]));
        let race = client.ok(json!({"cmd": "race_get_state"}));
        assert_eq!(
            keys(&race["robots"][0]),
            [
                "best_lap",
                "finished",
                "gate_times",
                "id",
                "lap",
                "lap_times",
                "name",
                "next_gate",
                "place",
                "retired",
                "total_time",
                "wrong_gates"
            ]
        );
        client.ok(json!({"cmd": "race_stop"}));
    }
}

#[test]
fn ten_connections_at_once_each_get_all_their_replies_in_order() {
    let mut scene = Scene::new();
    for n in 0..10 {
        scene = scene.uav(&format!("uav{n}"), [0.0, f64::from(n), 1.0]);
    }
    let scene = scene
        .with("<plugin filename='race' name='race'><gate><pose>5 0 1 0 0 0</pose><size>2 2</size></gate></plugin>");
    let file = scene.file();
    let host = Host::start(&file, &ALL, &["--real-time-factor", "20"]);
    let state = host.json().ok(json!({"cmd": "sim_get_state"}));
    thread::scope(|scope| {
        for robot in 0..10 {
            let (host, state) = (&host, &state);
            scope.spawn(move || {
                let mut client = if robot % 2 == 0 { host.json() } else { host.msgpack() };
                let script = script(robot, state);
                for _ in 0..5 {
                    for ((request, expected), reply) in script.iter().zip(run_script(&mut client, &script)) {
                        let cmd = request["cmd"].as_str().unwrap();
                        match reply["error"].as_str() {
                            // There is one race, one clock and one world for all of them.
                            Some(error) => assert!(
                                error.contains("a race is on already")
                                    || error.contains("no race is on")
                                    || error.contains("a mission runs on")
                                    || error.contains("interrupted by"),
                                "{cmd}: {error}"
                            ),
                            None if cmd == "move" => assert!(reply["status"].is_string(), "{reply}"),
                            None => assert_eq!(fields(&reply), *expected, "{cmd}: {reply}"),
                        }
                    }
                }
            });
        }
    });
    let mut client = host.json();
    assert_eq!(client.ok(json!({"cmd": "plugin_list"}))["started"], 3);
}

#[test]
fn help_lists_every_command_with_a_summary_and_schemas() {
    let host = Host::start("race.sdf", &ALL, &["--paused"]);
    for (_, mut client) in host.both() {
        let help = client.ok(json!({"cmd": "help"}));
        let entries: BTreeMap<&str, &Value> = help["endpoints"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| (entry["name"].as_str().unwrap(), entry))
            .collect();
        for (request, _) in script(0, &json!({})) {
            let cmd = request["cmd"].as_str().unwrap();
            assert!(entries.contains_key(cmd), "help does not list {cmd}");
        }
        for (name, entry) in &entries {
            assert_eq!(keys(entry), ["name", "owners", "reply", "request", "summary"], "{name}");
            assert!(entry["summary"].as_str().unwrap().ends_with('.'), "{name}");
            assert!(entry["request"].is_object() && entry["reply"].is_object(), "{name}");
            assert_eq!(client.ok(json!({"cmd": "help", "command": name}))["endpoints"], json!([entry]));
        }
        assert_eq!(entries["move"]["owners"], json!(["manual_move"]));
        assert_eq!(entries["race_start"]["owners"], json!(["race"]));
        assert_eq!(entries["connect"]["owners"], json!(["host"]));
        let error = client.error(json!({"cmd": "help", "command": "mve"}));
        assert!(error.contains("did you mean 'move'"), "{error}");
    }
}

#[test]
fn requests_and_replies_validate_against_the_schemas_that_help_gives() {
    let host = Host::start("race.sdf", &ALL, &["--paused"]);
    for (framing, mut client) in host.both() {
        let help = client.ok(json!({"cmd": "help"}));
        let schema = |cmd: &str, side: &str| {
            let entries = help["endpoints"].as_array().unwrap();
            let schema = &entries.iter().find(|entry| entry["name"] == cmd).unwrap()[side];
            jsonschema::validator_for(schema).unwrap_or_else(|error| panic!("{cmd}: {side}: {error}: {schema}"))
        };
        let state = client.ok(json!({"cmd": "sim_get_state"}));
        let mut script = script(0, &state);
        // With robots that have been somewhere, finished laps and missions that run.
        script.insert(16, (json!({"cmd": "sim_step", "ticks": 100}), &[]));
        for (request, _) in &script {
            let cmd = request["cmd"].as_str().unwrap();
            let reply = client.ok(request.clone());
            for (side, value) in [("request", request), ("reply", &reply)] {
                let errors: Vec<_> = schema(cmd, side).iter_errors(value).map(|error| error.to_string()).collect();
                assert!(errors.is_empty(), "{framing}: {cmd}: {side}: {errors:?}: {value}");
            }
        }
        // Schemas that let everything through would have passed as well.
        for (cmd, wrong) in [
            ("move", json!({"control_input": "up"})),
            ("sim_step", json!({"ticks": "many"})),
            ("connect", json!({"robot_id": "first"})),
            ("sim_subscribe", json!({})),
            ("sim_load_state", json!({"state": {}})),
            ("mission_start", json!({"trajectory": [1]})),
            ("race_start", json!({"robots": "all"})),
        ] {
            assert!(!schema(cmd, "request").is_valid(&wrong), "{cmd}: {wrong}");
        }
        for (cmd, wrong) in [
            ("move", json!({"status": "move_applied"})),
            ("move", json!({"status": "flown", "reason": ""})),
            ("robot_get_state", json!({"robot": {"id": 0}})),
            ("race_get_state", json!({"state": "soon"})),
            ("mission_get_state", json!({"mission_state": "lost"})),
        ] {
            assert!(!schema(cmd, "reply").is_valid(&wrong), "{cmd}: {wrong}");
        }
        client.kept_pushes();
        client.leave();
    }
}
