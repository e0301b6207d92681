//! `move` through the wire: what it does, when it counts, and what is in its way.

use serde_json::{Value, json};
use tickworks_tests::{Client, Host, Scene, fields, is_at, position};

fn of(robot: u64, input: [f64; 6]) -> Value {
    json!({"cmd": "move", "robot_id": robot, "control_input": input})
}

/// One move a tick, as often as that. Gives the robot after the last one.
fn push(client: &mut Client, robot: u64, input: [f64; 6], ticks: usize) -> Value {
    let tick = [json!({"cmd": "sim_step"}), of(robot, input)];
    let mut requests: Vec<Value> = tick.iter().cycle().take(2 * ticks).cloned().collect();
    requests.push(json!({"cmd": "robot_get_state", "robot_id": robot}));
    let replies = client.pipeline(&requests);
    for reply in replies.iter().skip(1).step_by(2).take(ticks) {
        assert_eq!(reply["status"], "move_applied", "{reply}");
    }
    let robot = replies.last().expect("the last one")["robot"].clone();
    assert_eq!(robot["colliding"], replies[replies.len() - 2]["new_state"]["colliding"]);
    robot
}

#[test]
fn a_read_behind_a_move_shows_its_effect() {
    let host = Host::start("arena.sdf", &["manual_move"], &["--real-time-factor", "10"]);
    for (framing, mut client) in host.both() {
        client.ok(json!({"cmd": "connect", "robot_id": 0}));
        for _ in 0..50 {
            let before = position(&client.robot(0));
            let input = if before[0] < -8.0 { 0.05 } else { -0.05 };
            let replies = client.pipeline(&[
                json!({"cmd": "move", "control_input": [0.0, 0.0, input, 0.0, 0.0, 0.0]}),
                json!({"cmd": "robot_get_state"}),
            ]);
            let expected = [before[0] + input, before[1], before[2]];
            assert!(is_at(&replies[0]["new_state"], expected, 1e-9), "{framing}: {replies:?} from {before:?}");
            assert_eq!(position(&replies[1]["robot"]), position(&replies[0]["new_state"]), "{framing}");
        }
        client.leave();
    }
}

#[test]
fn a_move_behind_a_step_is_in_its_tick() {
    let host = Host::start("arena.sdf", &["manual_move"], &["--paused"]);
    for (framing, mut client) in host.both() {
        // Often, since the host may be in the middle of anything when the two arrive.
        for n in 0..500 {
            let replies = client.pipeline(&[json!({"cmd": "sim_step"}), of(0, [0.0; 6])]);
            assert_eq!(replies[0]["status"], "stepped");
            assert_eq!(replies[1]["status"], "move_applied", "{framing}: {n}: {}", replies[1]);
            assert_eq!(replies[1]["new_state"]["tick"], replies[0]["tick"]);
        }
    }
}

#[test]
fn a_paused_host_answers_everything() {
    let host = Host::start("race.sdf", &["manual_move", "trajectory_mission", "race"], &["--paused"]);
    for (framing, mut client) in host.both() {
        client.ok(json!({"cmd": "connect", "robot_id": 1}));
        let before = client.state_hash();
        let reply = client.ok(json!({"cmd": "move", "control_input": [0.05, 0, 0, 0, 0, 0]}));
        assert_eq!(fields(&reply), ["reason", "status"]);
        assert_eq!(
            (&reply["status"], &reply["reason"]),
            (&json!("move_not_applied"), &json!("the simulation is paused"))
        );
        assert_eq!(client.state_hash(), before, "{framing}: nothing has changed");
        // What needs no tick is done.
        client.ok(json!({"cmd": "mission_add_via_point"}));
        client.ok(json!({"cmd": "mission_start"}));
        assert_eq!(client.ok(json!({"cmd": "mission_get_state"}))["mission_state"], "running");
        client.ok(json!({"cmd": "mission_stop"}));
        client.ok(json!({"cmd": "mission_clear_via_points"}));
        client.ok(json!({"cmd": "race_start"}));
        client.ok(json!({"cmd": "race_stop"}));
        assert_eq!(client.ok(json!({"cmd": "sim_get_info"}))["tick"], 0);
        client.ok(json!({"cmd": "sim_reset"}));
        client.leave();
    }
    // It resumes, and stands again.
    let mut client = host.json();
    client.ok(json!({"cmd": "sim_resume"}));
    let reply = client.ok(of(0, [0.0; 6]));
    assert_eq!(reply["status"], "move_applied");
    client.ok(json!({"cmd": "sim_pause"}));
    let tick = client.ok(json!({"cmd": "sim_get_info"}))["tick"].clone();
    assert_eq!(client.ok(of(0, [0.0; 6]))["status"], "move_not_applied");
    assert_eq!(client.step(3)["tick"], tick.as_u64().unwrap() + 3);
}

#[test]
fn what_waits_for_a_tick_is_answered_when_time_is_stopped() {
    let scene = Scene::new().uav("uav0", [0.0, 0.0, 1.0]);
    // Ten seconds a tick, so that the pause is there before the next one.
    let host = Host::start(scene.file(), &["manual_move"], &["--rate", "0.1", "--paused"]);
    let mut other = host.json();
    for (framing, mut client) in host.both() {
        let before = other.robot(0)["tick"].clone();
        other.ok(json!({"cmd": "sim_resume"}));
        // The first tick comes at once.
        while other.robot(0)["tick"] == before {}
        client.send(&of(0, [0.0; 6]));
        client.send(&json!({"cmd": "robot_get_state", "robot_id": 0}));
        // Time for both to be taken.
        other.ok(json!({"cmd": "sim_get_info"}));
        other.ok(json!({"cmd": "sim_pause"}));
        let reply = client.reply();
        assert_eq!(reply["status"], "move_not_applied", "{framing}: {reply}");
        assert_eq!(client.reply()["robot"]["id"], 0);
    }
}

#[test]
fn the_later_of_two_moves_in_a_tick_wins_and_the_other_is_told() {
    let host = Host::start("arena.sdf", &["manual_move"], &["--paused"]);
    for (_, mut client) in host.both() {
        let before = position(&client.robot(0));
        let replies =
            client.tick_with(&[of(0, [0.05, 0.0, 0.0, 0.0, 0.0, 0.0]), of(0, [0.0, 0.05, 0.0, 0.0, 0.0, 0.0])]);
        assert_eq!(fields(&replies[0]), ["reason", "status"]);
        assert_eq!(replies[0]["status"], "move_not_applied");
        assert!(replies[0]["reason"].as_str().unwrap().contains("a later move of the same tick"), "{}", replies[0]);
        assert!(is_at(&replies[1]["new_state"], [before[0], before[1], before[2] + 0.05], 1e-9), "{}", replies[1]);
    }
}

#[test]
fn a_refused_move_moves_nothing() {
    let host = Host::start("arena.sdf", &["manual_move"], &["--paused"]);
    let mut client = host.json();
    let before = position(&client.robot(0));
    let mut inputs = vec![json!(null), json!([]), json!(vec![0.01; 5]), json!(vec![0.01; 7]), json!({"left": 0.01})];
    for axis in 0..6 {
        let mut input = [0.0; 6];
        input[axis] = 0.0501;
        inputs.push(json!(input));
        input[axis] = -1e300;
        inputs.push(json!(input));
    }
    let requests: Vec<Value> =
        inputs.iter().map(|input| json!({"cmd": "move", "robot_id": 0, "control_input": input})).collect();
    for (input, reply) in inputs.iter().zip(client.tick_with(&requests)) {
        assert_eq!(fields(&reply), ["error", "robot"], "{input}: {reply}");
    }
    assert_eq!(position(&client.robot(0)), before);
}

#[test]
fn each_type_moves_as_its_formula_says() {
    let host = Host::start("arena.sdf", &["manual_move"], &["--paused"]);
    let mut client = host.json();
    // Level 1: the input is the twist of one tick.
    let robot = push(&mut client, 0, [-0.02, 0.03, 0.05, 0.0, 0.0, 0.0], 10);
    assert!(is_at(&robot, [-8.0 + 0.5, 1.5 - 0.2, 1.0 + 0.3], 1e-9), "{robot}");
    let velocity: Vec<f64> = robot["velocity"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
    assert!((velocity[2] - 0.05 * 60.0).abs() < 1e-9, "{velocity:?}");
    client.step(1);
    assert!(is_at(&client.robot(0), position(&robot), 1e-9), "without an input it stays");
    assert_eq!(client.robot(0)["velocity"], json!([0.0, 0.0, 0.0, 0.0, 0.0, 0.0]));

    // Level 2: v' = v + dt (a - k v), pose' = pose exp(v dt).
    let robot = push(&mut client, 2, [0.0, 0.0, 4.0, 0.0, 0.0, 0.0], 30);
    let dt = 1.0 / 60.0;
    let (mut x, mut v) = (-8.0, 0.0);
    for _ in 0..30 {
        x += v * dt;
        v += dt * (4.0 - 0.8 * v);
    }
    assert!(is_at(&robot, [x, 0.0, 1.0], 1e-6), "{robot}: expected x {x}");
    assert!((robot["velocity"][2].as_f64().unwrap() - v).abs() < 1e-6, "{robot}: expected {v}");

    // DiffDrive: the input holds until the next one.
    let host = Host::start("ground.sdf", &["manual_move"], &["--paused"]);
    let mut client = host.json();
    client.ok(json!({"cmd": "connect", "robot_id": 0}));
    let start = position(&client.robot(0));
    let drive = |v: f64| json!({"cmd": "move", "control_input": [v, 0]});
    assert_eq!(client.tick_with(&[drive(0.6)])[0]["status"], "move_applied");
    client.step(119);
    let robot = client.robot(0);
    let way = position(&robot)[0] - start[0];
    // Two seconds at 0.6 m/s, less what it takes to get going.
    assert!((0.9..1.25).contains(&way), "{way}: {robot}");
    assert_eq!(client.tick_with(&[drive(0.0)])[0]["status"], "move_applied");
    client.step(60);
    let stands = position(&client.robot(0));
    client.step(60);
    assert!(is_at(&client.robot(0), stands, 0.01));
    // It does not drive on for nobody.
    assert_eq!(client.tick_with(&[drive(1.0)])[0]["status"], "move_applied");
    client.step(60);
    client.leave();
    let mut watcher = host.json();
    watcher.step(90);
    let stands = position(&watcher.robot(0));
    watcher.step(60);
    assert!(is_at(&watcher.robot(0), stands, 0.01));
}

/// How far from the wall's face a UAV of the arena may be: half its length, and the penetration that is allowed.
fn deepest(face: f64) -> f64 {
    face + 0.22 - 0.005
}

#[test]
fn at_a_wall_a_move_says_colliding_and_nothing_gets_through() {
    let host = Host::start("arena.sdf", &["manual_move"], &["--paused", "--fast"]);
    for (framing, mut client) in host.both() {
        client.ok(json!({"cmd": "sim_reset"}));
        assert_eq!(client.robot(0)["colliding"], false);
        // Backwards into the west wall, whose face is at x = -9.8, as fast as it may.
        let back = [0.0, 0.0, -0.05, 0.0, 0.0, 0.0];
        for ticks in [35, 1, 1, 100] {
            let robot = push(&mut client, 0, back, ticks);
            let x = position(&robot)[0];
            assert!(x >= deepest(-9.8), "{framing}: it is in the wall: {robot}");
            if x < -9.5 {
                assert_eq!(robot["colliding"], true, "{framing}: {robot}");
            }
        }
        let robot = client.robot(0);
        assert!(position(&robot)[0] < -9.5, "{robot}");
        let replies = client.tick_with(&[of(0, back)]);
        assert_eq!(
            (&replies[0]["status"], &replies[0]["new_state"]["colliding"]),
            (&json!("move_applied"), &json!(true))
        );
        // Away from it, it is free again.
        let robot = push(&mut client, 0, [0.0, 0.0, 0.05, 0.0, 0.0, 0.0], 5);
        assert_eq!(robot["colliding"], false, "{framing}: {robot}");
        assert!(position(&robot)[0] > -9.45, "{robot}");

        // Down onto its pad.
        let robot = push(&mut client, 0, [0.0, -0.05, 0.0, 0.0, 0.0, 0.0], 60);
        assert_eq!(robot["colliding"], true, "{robot}");
        assert!(position(&robot)[2] >= 0.07 - 0.005, "{framing}: it is in the floor: {robot}");

        // Level 2 with all that it has got.
        let mut least = f64::INFINITY;
        let mut hit = false;
        for _ in 0..20 {
            let robot = push(&mut client, 2, [0.0, 0.0, -8.0, 0.0, 0.0, 0.0], 6);
            least = least.min(position(&robot)[0]);
            hit |= robot["colliding"] == true;
        }
        assert!(hit && least >= deepest(-9.8) && least < -9.4, "{framing}: {least}");
        assert!(client.robot(2)["velocity"][2].as_f64().unwrap().abs() < 0.5, "the wall has taken its speed");
    }
}

#[test]
fn a_thin_wall_stops_the_fastest_step() {
    // A tick goes ten times as far as the wall is thick.
    let wall = "<model name='wall'><static>true</static><pose>2 0 1 0 0 0</pose><link name='link'><collision name='c'>\
                <geometry><box><size>0.01 4 4</size></box></geometry></collision></link></model>";
    let scene = Scene::new().uav("uav0", [0.05, 0.0, 1.0]).with(wall);
    let host = Host::start(scene.file(), &["manual_move"], &["--paused", "--fast"]);
    for (framing, mut client) in host.both() {
        client.ok(json!({"cmd": "sim_reset"}));
        for _ in 0..40 {
            let robot = push(&mut client, 0, [0.0, 0.0, 0.1, 0.0, 0.0, 0.0], 1);
            assert!(position(&robot)[0] <= 2.0 - 0.005 - 0.1 + 0.005, "{framing}: {robot}");
        }
        assert_eq!(client.robot(0)["colliding"], true);
    }
}
