//! Missions through the wire: what their clients rely on, and what they keep others from.

use serde_json::{Value, json};
use tickworks_tests::{Client, Host, is_at, position};

const PLUGINS: [&str; 2] = ["manual_move", "trajectory_mission"];

fn paused_arena() -> Host {
    Host::start("arena.sdf", &PLUGINS, &["--paused", "--fast"])
}

fn state(client: &mut Client, robot: u64) -> Value {
    client.ok(json!({"cmd": "mission_get_state", "robot_id": robot}))
}

/// Upright, facing along +x turned by `yaw`, in left, up, forward columns.
fn facing(yaw: f64, [x, y, z]: [f64; 3]) -> Value {
    let (s, c) = yaw.sin_cos();
    json!([[-s, 0.0, c, x], [c, 0.0, s, y], [0.0, 1.0, 0.0, z], [0.0, 0.0, 0.0, 1.0]])
}

#[test]
fn a_via_point_without_a_pose_is_the_robot_s_present_one() {
    let host = paused_arena();
    for (framing, mut client) in host.both() {
        for pose in [None, Some(Value::Null)] {
            let mut request = json!({"cmd": "mission_add_via_point", "robot_id": 1});
            if let Some(pose) = pose {
                request["pose"] = pose;
            }
            client.tick_with(&[json!({"cmd": "move", "robot_id": 1, "control_input": [0, 0.01, 0.02, 0, 0.01, 0]})]);
            let count = client.ok(request)["count"].as_u64().unwrap() as usize;
            let points = state(&mut client, 1)["via_points"].take();
            assert_eq!(points.as_array().unwrap().len(), count, "{framing}");
            assert_eq!(points[count - 1], client.robot(1)["pose"], "{framing}");
        }
        client.ok(json!({"cmd": "mission_clear_via_points", "robot_id": 1}));
        assert_eq!(state(&mut client, 1)["via_points"], json!([]));
    }
}

#[test]
fn anything_but_running_is_over() {
    let host = paused_arena();
    for (framing, mut client) in host.both() {
        client.ok(json!({"cmd": "sim_reset"}));
        let is = |client: &mut Client, expected: &str| {
            assert_eq!(state(client, 0)["mission_state"], expected, "{framing}");
        };
        is(&mut client, "idle");
        let two = json!({"cmd": "mission_start", "trajectory": [[0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]]});
        client.ok(two.clone());
        is(&mut client, "running");
        client.step(1);
        is(&mut client, "running");
        client.step(1);
        is(&mut client, "finished");
        client.ok(two);
        client.ok(json!({"cmd": "mission_stop"}));
        is(&mut client, "stopped");
        client.ok(json!({"cmd": "sim_reset"}));
        is(&mut client, "idle");
    }
}

#[test]
fn a_reply_without_error_means_started_and_one_with_it_not() {
    let host = paused_arena();
    for (framing, mut client) in host.both() {
        client.ok(json!({"cmd": "sim_reset"}));
        for wrong in [
            json!({"cmd": "mission_start"}),
            json!({"cmd": "mission_start", "trajectory": []}),
            json!({"cmd": "mission_start", "trajectory": [[0, 0, 0]]}),
            json!({"cmd": "mission_start", "trajectory": [[0, 0, 9, 0, 0, 0]]}),
            json!({"cmd": "mission_start", "trajectory": "away"}),
            json!({"cmd": "mission_start", "robot_id": 9, "trajectory": [[0, 0, 0, 0, 0, 0]]}),
        ] {
            client.error(wrong);
            assert_eq!(state(&mut client, 0)["mission_state"], "idle", "{framing}");
        }
        let reply = client.ok(json!({"cmd": "mission_start", "trajectory": [[0, 0, 0, 0, 0, 0]]}));
        assert_eq!((&reply["status"], &reply["steps"]), (&json!("mission_started"), &json!(1)));
        assert_eq!(state(&mut client, 0)["mission_state"], "running");
        client.ok(json!({"cmd": "mission_stop"}));
        let error = client.error(json!({"cmd": "mission_stop"}));
        assert!(error.contains("no mission runs"), "{error}");
    }
}

#[test]
fn each_tick_consumes_one_entry_of_the_trajectory() {
    let host = paused_arena();
    for (framing, mut client) in host.both() {
        client.ok(json!({"cmd": "sim_reset"}));
        let entries: Vec<[f64; 6]> = (0..20).map(|n| [0.0, 0.0, 0.001 * f64::from(n), 0.0, 0.0, 0.0]).collect();
        client.ok(json!({"cmd": "mission_start", "robot_id": 0, "trajectory": entries}));
        let mut x = -8.0;
        for (n, entry) in entries.iter().enumerate() {
            assert_eq!(state(&mut client, 0)["step"], n);
            client.step(1);
            x += entry[2];
            assert!(is_at(&client.robot(0), [x, 1.5, 1.0], 1e-9), "{framing}: after entry {n}");
        }
        assert_eq!(state(&mut client, 0)["step"], 20);
        client.step(5);
        assert!(is_at(&client.robot(0), [x, 1.5, 1.0], 1e-9), "{framing}: and then it stays");
    }
}

#[test]
fn the_default_robot_is_the_connection_s_own_else_robot_0() {
    let host = paused_arena();
    for (_, mut client) in host.both() {
        assert_eq!(client.ok(json!({"cmd": "mission_get_state"}))["robot_id"], 0);
        client.ok(json!({"cmd": "connect", "robot_id": 2}));
        assert_eq!(client.ok(json!({"cmd": "mission_get_state"}))["robot_id"], 2);
        client.ok(json!({"cmd": "mission_add_via_point"}));
        assert_eq!(state(&mut client, 0)["via_points"], json!([]));
        assert_eq!(state(&mut client, 2)["via_points"].as_array().unwrap().len(), 1);
        client.ok(json!({"cmd": "mission_clear_via_points"}));
        client.leave();
    }
}

#[test]
fn while_a_mission_runs_what_would_disturb_it_is_refused_and_named() {
    let host = paused_arena();
    for (framing, mut client) in host.both() {
        let saved = client.ok(json!({"cmd": "sim_get_state"}));
        client.ok(json!({"cmd": "mission_add_via_point", "robot_id": 1}));
        client.ok(json!({"cmd": "mission_start", "robot_id": 1, "trajectory": vec![[0.0; 6]; 50]}));
        client.step(1);
        let before = client.state_hash();
        for request in [
            json!({"cmd": "sim_reset"}),
            json!({"cmd": "sim_load_state", "state": saved}),
            json!({"cmd": "mission_add_via_point", "robot_id": 1}),
            json!({"cmd": "mission_clear_via_points", "robot_id": 1}),
            json!({"cmd": "mission_start", "robot_id": 1, "trajectory": [[0, 0, 0, 0, 0, 0]]}),
            json!({"cmd": "mission_start", "robot_id": 1}),
        ] {
            let error = client.error(request.clone());
            for part in ["a mission runs on robot 1 \"uav1\"", "step 1 of 50", "mission_stop"] {
                assert!(error.contains(part), "{framing}: {}: {error}", request["cmd"]);
            }
        }
        assert_eq!(client.state_hash(), before, "{framing}: what was refused has changed nothing");
        // Other robots are not concerned.
        client.ok(json!({"cmd": "mission_add_via_point", "robot_id": 0}));
        client.ok(json!({"cmd": "mission_clear_via_points", "robot_id": 0}));
        client.ok(json!({"cmd": "mission_stop", "robot_id": 1}));
        client.ok(json!({"cmd": "sim_reset"}));
        assert_eq!(state(&mut client, 1)["via_points"].as_array().unwrap().len(), 1, "via points survive a reset");
        client.ok(json!({"cmd": "mission_clear_via_points", "robot_id": 1}));
        client.ok(json!({"cmd": "sim_load_state", "state": saved}));
    }
}

#[test]
fn i4_a_mission_goes_before_a_move_and_the_move_is_told() {
    for (plugins, mission_wins) in
        [(["manual_move", "trajectory_mission"], true), (["trajectory_mission", "manual_move"], false)]
    {
        let host = Host::start("arena.sdf", &plugins, &["--paused"]);
        for (framing, mut client) in host.both() {
            client.ok(json!({"cmd": "sim_reset"}));
            client.ok(json!({"cmd": "mission_start", "robot_id": 0, "trajectory": [[0, 0.02, 0, 0, 0, 0]]}));
            let moved = |robot: u64| json!({"cmd": "move", "robot_id": robot, "control_input": [0, 0, 0.03, 0, 0, 0]});
            let replies = client.tick_with(&[moved(0), moved(1)]);
            let reply = &replies[0];
            if mission_wins {
                assert_eq!(reply["status"], "move_not_applied", "{framing}: {reply}");
                assert!(reply["reason"].as_str().unwrap().contains("trajectory_mission"), "{reply}");
                assert!(is_at(&client.robot(0), [-8.0, 1.5, 1.02], 1e-9));
            } else {
                assert_eq!(reply["status"], "move_applied", "{framing}: {reply}");
                assert!(is_at(&client.robot(0), [-7.97, 1.5, 1.0], 1e-9));
            }
            assert_eq!(replies[1]["status"], "move_applied", "another robot is not concerned");
            assert_eq!(state(&mut client, 0)["mission_state"], "finished");
            assert_eq!(client.tick_with(&[moved(0)])[0]["status"], "move_applied", "after it the move is");
        }
    }
}

/// The angle between the forward axes of two poses, rad.
fn angle(a: &Value, b: &Value) -> f64 {
    let forward = |pose: &Value| [0, 1, 2].map(|row: usize| pose[row][2].as_f64().unwrap());
    forward(a).iter().zip(forward(b)).map(|(a, b)| a * b).sum::<f64>().clamp(-1.0, 1.0).acos()
}

#[test]
fn a_planned_mission_arrives_within_its_limits() {
    let host = paused_arena();
    for (framing, mut client) in host.both() {
        client.ok(json!({"cmd": "sim_reset"}));
        for (robot, y) in [(0, 2.5), (2, 0.0)] {
            client.ok(json!({"cmd": "mission_clear_via_points", "robot_id": robot}));
            let points = [facing(0.4, [-6.5, y, 1.6]), facing(-0.8, [-5.5, y - 0.4, 2.0])];
            for point in &points {
                client.ok(json!({"cmd": "mission_add_via_point", "robot_id": robot, "pose": point}));
            }
            let steps = client.ok(json!({"cmd": "mission_start", "robot_id": robot}))["steps"].as_u64().unwrap();
            let limits = client.robot(robot)["max_velocities"].clone();
            let mut ticks = 0;
            while state(&mut client, robot)["mission_state"] == "running" {
                client.step(1);
                ticks += 1;
                assert!(ticks < 10 * steps + 1000, "{framing}: it does not arrive: {}", state(&mut client, robot));
                if let Some(limits) = limits.as_array() {
                    let velocity = client.robot(robot)["velocity"].clone();
                    for (axis, limit) in limits.iter().enumerate() {
                        let step = velocity[axis].as_f64().unwrap() / 60.0;
                        assert!(step.abs() <= limit.as_f64().unwrap() * (1.0 + 1e-6), "{framing}: axis {axis}: {step}");
                    }
                }
            }
            assert_eq!(state(&mut client, robot)["mission_state"], "finished", "{framing}");
            let now = client.robot(robot);
            let target = [-5.5, y - 0.4, 2.0];
            let tolerance = if robot == 0 { 1e-6 } else { 0.01 };
            assert!(is_at(&now, target, tolerance), "{framing}: {:?}", position(&now));
            assert!(angle(&now["pose"], &points[1]) < 1_f64.to_radians(), "{framing}: {now}");
            let speed = |robot: &Value| -> f64 {
                let velocity = robot["velocity"].as_array().unwrap();
                velocity.iter().take(3).map(|x| x.as_f64().unwrap().powi(2)).sum::<f64>().sqrt()
            };
            client.step(1);
            assert!(speed(&client.robot(robot)) < 0.01, "{framing}: it stands at the end");
        }
    }
}

#[test]
fn wheels_drive_a_mission_too() {
    let host = Host::start("ground.sdf", &PLUGINS, &["--paused", "--fast"]);
    let mut client = host.json();
    let start = position(&client.robot(1));
    client.ok(json!({"cmd": "mission_start", "robot_id": 1, "trajectory": vec![[0.8, 0.0]; 120]}));
    client.step(121);
    let way = position(&client.robot(1))[0] - start[0];
    assert!((1.2..1.7).contains(&way), "{way}");
    client.step(60);
    let stands = position(&client.robot(1));
    client.step(60);
    assert!(is_at(&client.robot(1), stands, 0.01), "it is stopped at the end of its mission");
    let error = client.error(json!({"cmd": "mission_start", "robot_id": 1, "trajectory": [[0, 0, 0, 0, 0, 0]]}));
    assert!(error.contains("6 numbers") && error.contains("takes 2"), "{error}");
}

#[test]
fn a_robot_of_a_connection_that_has_gone_flies_its_mission_to_the_end() {
    let host = paused_arena();
    for (framing, mut client) in host.both() {
        client.ok(json!({"cmd": "connect", "robot_id": 0}));
        let before = position(&client.robot(0));
        client.ok(json!({"cmd": "mission_start", "trajectory": vec![[0.0, 0.01, 0.0, 0.0, 0.0, 0.0]; 10]}));
        client.leave();
        let mut watcher = host.json();
        watcher.step(10);
        assert_eq!(state(&mut watcher, 0)["mission_state"], "finished", "{framing}");
        assert!(is_at(&watcher.robot(0), [before[0], before[1], before[2] + 0.1], 1e-9), "{framing}");
    }
}
