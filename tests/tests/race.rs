//! Races through the wire: gates, laps and places, and the topic that tells of them.

use serde_json::{Value, json};
use tickworks_tests::{Client, Host, Scene};

const PLUGINS: [&str; 3] = ["manual_move", "trajectory_mission", "race"];

/// Two gates across the way of three robots that start in a row, all facing along +x.
fn track() -> Scene {
    Scene::new().uav("near", [0.0, -1.0, 1.0]).uav("middle", [-0.55, 0.0, 1.0]).uav("far", [-1.05, 1.0, 1.0]).with(
        "<plugin filename='race' name='race'><laps>1</laps>\
             <gate name='first'><pose>1 0 1 0 0 0</pose><size>4 2</size></gate>\
             <gate name='second'><pose>2 0 1 0 0 0</pose><size>4 2</size></gate></plugin>",
    )
}

/// Lets every robot fly forward by `step` metres a tick, for so many ticks.
fn fly(client: &mut Client, robots: u64, step: f64, ticks: usize) {
    for robot in 0..robots {
        let trajectory = vec![[0.0, 0.0, step, 0.0, 0.0, 0.0]; ticks];
        client.ok(json!({"cmd": "mission_start", "robot_id": robot, "trajectory": trajectory}));
    }
    client.step(ticks as u64);
}

/// The pushes up to the one of this event, that one included.
fn events_to(client: &mut Client, last: &str) -> Vec<Value> {
    let mut events = Vec::new();
    loop {
        events.push(client.push_of("race"));
        if events.last().is_some_and(|event| event["event"] == last) {
            return events;
        }
    }
}

fn about(time: &Value, expected: f64) -> bool {
    (time.as_f64().unwrap_or(f64::NAN) - expected).abs() < 1e-9
}

#[test]
fn a_race_from_countdown_to_finish() {
    let scene = track();
    let host = Host::start(scene.file(), &PLUGINS, &["--paused", "--fast"]);
    for (framing, mut client) in host.both() {
        client.ok(json!({"cmd": "sim_reset"}));
        client.ok(json!({"cmd": "sim_subscribe", "topics": ["race"]}));
        let reply = client.ok(json!({"cmd": "race_start", "countdown": 0.5}));
        assert_eq!((&reply["status"], &reply["robots"]), (&json!("race_started"), &json!([0, 1, 2])));
        let state = client.ok(json!({"cmd": "race_get_state"}));
        assert_eq!((&state["state"], &state["gates"]), (&json!("countdown"), &json!(["first", "second"])));
        assert!(about(&state["time"], -0.5), "{state}");
        let error = client.error(json!({"cmd": "race_start"}));
        assert!(error.contains("a race is on already"), "{error}");
        client.step(29);
        assert_eq!(client.ok(json!({"cmd": "race_get_state"}))["state"], "countdown");
        client.step(1);
        let state = client.ok(json!({"cmd": "race_get_state"}));
        assert_eq!(state["state"], "running", "{framing}: {state}");
        assert!(about(&state["time"], 0.0), "{state}");

        // 0.1 m a tick: the nearest one is at the first gate after 10 ticks, the others after 15.5 and 20.5.
        fly(&mut client, 3, 0.1, 32);
        let events = events_to(&mut client, "end");
        let kinds: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
        assert_eq!(&kinds[..2], ["countdown", "start"], "{framing}");
        assert_eq!(kinds.iter().filter(|kind| **kind == "gate").count(), 6);
        assert_eq!(kinds.iter().filter(|kind| **kind == "lap").count(), 3);
        assert_eq!(kinds.iter().filter(|kind| **kind == "finish").count(), 3);
        let dt = 1.0 / 60.0;
        let gates: Vec<&Value> =
            events.iter().filter(|event| event["event"] == "gate" && event["robot"] == 1).collect();
        assert_eq!((&gates[0]["gate_name"], &gates[1]["gate_name"]), (&json!("first"), &json!("second")));
        assert!(about(&gates[0]["time"], 15.5 * dt) && about(&gates[1]["time"], 25.5 * dt), "{gates:?}");
        let finishes: Vec<_> = events
            .iter()
            .filter(|event| event["event"] == "finish")
            .map(|event| (&event["name"], &event["place"]))
            .collect();
        assert_eq!(finishes, [(&json!("near"), &json!(1)), (&json!("middle"), &json!(2)), (&json!("far"), &json!(3))]);

        let state = client.ok(json!({"cmd": "race_get_state"}));
        assert_eq!(state["state"], "finished");
        let best = &state["robots"][1];
        assert_eq!((&best["name"], &best["place"], &best["lap"]), (&json!("middle"), &json!(2), &json!(1)));
        assert_eq!((&best["finished"], &best["next_gate"]), (&json!(true), &json!(null)));
        assert!(about(&best["total_time"], 25.5 * dt) && about(&best["best_lap"], 25.5 * dt), "{best}");
        assert_eq!(best["wrong_gates"], 0);
        let error = client.error(json!({"cmd": "race_stop"}));
        assert!(error.contains("no race is on"), "{error}");
    }
}

#[test]
fn gates_that_are_not_due_or_crossed_backwards_count_as_wrong() {
    let scene = track();
    let host = Host::start(scene.file(), &PLUGINS, &["--paused", "--fast"]);
    for (framing, mut client) in host.both() {
        client.ok(json!({"cmd": "sim_reset"}));
        client.ok(json!({"cmd": "race_start", "robots": [0], "laps": 2}));
        fly(&mut client, 1, 0.1, 13);
        fly(&mut client, 1, -0.1, 6);
        let robot = |client: &mut Client| client.ok(json!({"cmd": "race_get_state"}))["robots"][0].take();
        let now = robot(&mut client);
        assert_eq!((&now["next_gate"], &now["wrong_gates"]), (&json!(1), &json!(1)), "{framing}: {now}");
        // Through the first one again, which is not due now, then the second, and half of the next lap.
        fly(&mut client, 1, 0.1, 15);
        let now = robot(&mut client);
        assert_eq!(
            (&now["lap"], &now["next_gate"], &now["wrong_gates"]),
            (&json!(1), &json!(0), &json!(2)),
            "{framing}: {now}"
        );
        assert_eq!(now["finished"], false);
        client.ok(json!({"cmd": "race_stop"}));
        assert_eq!(client.ok(json!({"cmd": "race_get_state"}))["state"], "idle");
    }
}

#[test]
fn the_shipped_track_counts_its_first_gate() {
    let host = Host::start("race.sdf", &PLUGINS, &["--paused", "--fast"]);
    for (framing, mut client) in host.both() {
        client.ok(json!({"cmd": "sim_reset"}));
        client.ok(json!({"cmd": "sim_subscribe", "topics": ["race"]}));
        client.ok(json!({"cmd": "race_start"}));
        // Up to the height of the first gate, 4.5 m ahead, and through it.
        let up = vec![[0.0, 0.08, 0.0, 0.0, 0.0, 0.0]; 15];
        let ahead = vec![[0.0, 0.0, 0.12, 0.0, 0.0, 0.0]; 45];
        client.ok(json!({"cmd": "mission_start", "robot_id": 0, "trajectory": ([up, ahead].concat())}));
        client.step(60);
        let gate = events_to(&mut client, "gate").pop().unwrap();
        assert_eq!(
            (&gate["name"], &gate["gate_name"], &gate["gate"]),
            (&json!("red_kite"), &json!("start"), &json!(0))
        );
        assert!(about(&gate["time"], (15.0 + 4.5 / 0.12) / 60.0), "{framing}: {gate}");
        let state = client.ok(json!({"cmd": "race_get_state"}));
        assert!(state["gates"].as_array().unwrap().len() >= 8);
        assert_eq!((&state["laps"], &state["robots"][0]["next_gate"]), (&json!(3), &json!(1)));
    }
}

#[test]
fn a_reset_ends_a_race_and_tells_its_subscribers_before_anything_new() {
    let scene = track();
    let host = Host::start(scene.file(), &PLUGINS, &["--paused", "--fast"]);
    for (framing, mut client) in host.both() {
        client.ok(json!({"cmd": "sim_subscribe", "topics": ["sim", "race"]}));
        assert_eq!(client.push_of("sim")["event"], "present");
        client.ok(json!({"cmd": "race_start"}));
        client.step(3);
        let epoch = client.ok(json!({"cmd": "sim_reset"}))["epoch"].clone();
        client.ok(json!({"cmd": "race_start"}));
        client.step(1);
        let events: Vec<(Value, Value)> =
            (0..4).map(|_| client.push()).map(|push| (push["topic"].clone(), push["event"].clone())).collect();
        let expected = [("race", "start"), ("sim", "reset"), ("race", "stop"), ("race", "start")];
        assert_eq!(events, expected.map(|(topic, event)| (json!(topic), json!(event))), "{framing}: epoch {epoch}");
        client.ok(json!({"cmd": "race_stop"}));
    }
}

#[test]
fn bad_races_are_refused_by_name() {
    let scene = track();
    let host = Host::start(scene.file(), &PLUGINS, &["--paused"]);
    for (_, mut client) in host.both() {
        for (request, expected) in [
            (json!({"laps": 0}), "laps is 0"),
            (json!({"laps": "two"}), "laps"),
            (json!({"countdown": -1}), "countdown is -1"),
            (json!({"countdown": 1e9}), "countdown is 1000000000"),
            (json!({"robots": []}), "nobody takes part"),
            (json!({"robots": [0, 0]}), "more than once"),
            (json!({"robots": [7]}), "robots names 7"),
            (json!({"robots": 1}), "robots"),
        ] {
            let mut request = request;
            request["cmd"] = json!("race_start");
            let error = client.error(request.clone());
            assert!(error.contains(expected), "{request}: {error}");
        }
        assert_eq!(client.ok(json!({"cmd": "race_get_state"}))["state"], "idle");
    }
    let host = Host::start("arena.sdf", &PLUGINS, &["--paused"]);
    let error = host.json().error(json!({"cmd": "race_start"}));
    assert!(error.contains("no gates") && error.contains("<gate"), "{error}");
}
