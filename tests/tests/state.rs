//! States: taken, put into a fresh process, loaded again, reset; and what nobody may see of it.

use serde_json::{Value, json};
use tickworks_tests::{Client, Host, Scene, position};

const ALL: [&str; 3] = ["manual_move", "trajectory_mission", "race"];
const FAST: [&str; 2] = ["--paused", "--fast"];

/// What both processes get in the same ticks after the state was taken.
type Future = fn(&mut Client);

/// Takes the state after `past`, lets the future come, and compares it with the same future in a fresh process.
fn i5(world: &str, past: Future, future: Future) {
    let host = Host::start(world, &ALL, &FAST);
    let fresh = Host::start(world, &ALL, &FAST);
    for ((framing, mut first), (_, mut second)) in host.both().into_iter().zip(fresh.both()) {
        let start = first.ok(json!({"cmd": "sim_get_state"}));
        past(&mut first);
        let state = first.ok(json!({"cmd": "sim_get_state"}));
        future(&mut first);
        let expected = first.ok(json!({"cmd": "sim_get_state"}));
        assert_ne!(expected["state"]["hash"], state["state"]["hash"]);

        assert_ne!(second.state_hash(), state["state"]["hash"].as_str().unwrap());
        second.ok(json!({"cmd": "sim_load_state", "state": state}));
        assert_eq!(second.state_hash(), state["state"]["hash"].as_str().unwrap(), "{framing}: the state itself");
        future(&mut second);
        let got = second.ok(json!({"cmd": "sim_get_state"}));
        assert_eq!(got["robots"], expected["robots"], "{framing}");
        assert_eq!(got["plugins"], expected["plugins"], "{framing}");
        assert_eq!(got["state"], expected["state"], "{framing}: every byte of the future");

        // For the other framing: where both began.
        for client in [&mut first, &mut second] {
            for robot in 0..start["robots"].as_object().unwrap().len() {
                client.request(json!({"cmd": "mission_stop", "robot_id": robot}));
            }
            client.ok(json!({"cmd": "sim_load_state", "state": start}));
        }
    }
}

fn facing_x([x, y, z]: [f64; 3]) -> Value {
    json!([[0.0, 0.0, 1.0, x], [1.0, 0.0, 0.0, y], [0.0, 1.0, 0.0, z], [0.0, 0.0, 0.0, 1.0]])
}

#[test]
fn i5_missions_in_flight_and_boxes_that_are_pushed_go_on_in_a_fresh_process() {
    fn past(client: &mut Client) {
        // Robot 2 plans its way and corrects itself on it, robot 1 plays what it is told, robot 0 flies into the boxes.
        client.ok(json!({"cmd": "mission_add_via_point", "robot_id": 2, "pose": facing_x([-5.0, 1.0, 1.5])}));
        client.ok(json!({"cmd": "mission_add_via_point", "robot_id": 2, "pose": facing_x([-3.0, -1.0, 2.0])}));
        client.ok(json!({"cmd": "mission_start", "robot_id": 2}));
        let turns: Vec<[f64; 6]> = (0..400).map(|n| [0.0, 0.0, 0.01, 0.0, 0.001 * f64::from(n % 7), 0.0]).collect();
        client.ok(json!({"cmd": "mission_start", "robot_id": 1, "trajectory": turns}));
        let way = [vec![[-0.05, -0.025, 0.05, 0.0, 0.0, 0.0]; 30], vec![[0.0, 0.0, 0.05, 0.0, 0.0, 0.0]; 200]].concat();
        client.ok(json!({"cmd": "mission_start", "robot_id": 0, "trajectory": way}));
        client.step(170);
    }
    fn future(client: &mut Client) {
        client.step(40);
        client.ok(json!({"cmd": "mission_stop", "robot_id": 1}));
        let input = json!({"cmd": "move", "robot_id": 1, "control_input": [0.05, 0, 0, 0, 0, 0]});
        assert_eq!(client.tick_with(&[input])[0]["status"], "move_applied");
        client.step(60);
    }
    i5("arena.sdf", past, future);
}

#[test]
fn i5_a_race_goes_on_in_a_fresh_process() {
    fn past(client: &mut Client) {
        client.ok(json!({"cmd": "race_start", "countdown": 0.1}));
        for robot in 0..2 {
            let way = [vec![[0.0, 0.08, 0.0, 0.0, 0.0, 0.0]; 15], vec![[0.0, 0.0, 0.12, 0.0, 0.0, 0.0]; 100]].concat();
            client.ok(json!({"cmd": "mission_start", "robot_id": robot, "trajectory": way}));
        }
        client.step(40);
    }
    fn future(client: &mut Client) {
        client.step(60);
        let race = client.ok(json!({"cmd": "race_get_state"}));
        assert_eq!(race["robots"][0]["next_gate"], 1, "{race}");
    }
    i5("race.sdf", past, future);
}

#[test]
fn i5_wheels_roll_on_in_a_fresh_process() {
    fn past(client: &mut Client) {
        let drive = |robot: u64, v: f64, w: f64| json!({"cmd": "move", "robot_id": robot, "control_input": [v, w]});
        let replies = client.tick_with(&[drive(0, 1.2, 0.3), drive(1, 1.0, -0.4), drive(2, -0.3, 1.0)]);
        assert!(replies.iter().all(|reply| reply["status"] == "move_applied"), "{replies:?}");
        client.step(59);
    }
    fn future(client: &mut Client) {
        client.step(60);
        let stop = json!({"cmd": "move", "robot_id": 0, "control_input": [0, 0]});
        assert_eq!(client.tick_with(&[stop])[0]["status"], "move_applied");
        client.step(59);
    }
    i5("ground.sdf", past, future);
}

#[test]
fn i6_before_anything_can_be_seen_the_poses_are_the_document_s() {
    // The plugin's start lasts until this test has looked; nothing moves before it, and nothing has when it ends.
    let scene = Scene::new();
    let go = scene.dir().join("go");
    let scene = scene
        .uav("low", [0.25, -3.0, 0.5])
        .uav("high", [1e3, 2.0, 40.125])
        .stress("stress", &format!("<trouble slot='create' does='wait' path='{}'/>", go.display()));
    let port = free_port();
    let host = tickworks_tests::Process::start(
        ["run".as_ref(), scene.file().as_ref().as_os_str()]
            .into_iter()
            .chain(["--plugins", "manual_move", "--fast", "--listen", &port.to_string()].map(AsRef::as_ref)),
    );
    let mut client = connect(port);
    let check = |client: &mut Client, what: &str| {
        assert_eq!(position(&client.robot(0)), [0.25, -3.0, 0.5], "{what}");
        assert_eq!(position(&client.robot(1)), [1e3, 2.0, 40.125], "{what}");
    };
    assert_eq!(client.ok(json!({"cmd": "sim_get_info"}))["stage"], "starting");
    check(&mut client, "while plugins start");
    assert_eq!(client.robot(0)["tick"], 0, "no tick runs before all have started");
    std::fs::write(go, "").unwrap();
    host.line(|line| line.contains("listening on "));
    check(&mut client, "in the first ticks");
}

fn free_port() -> std::net::SocketAddr {
    // Free again when this returns. Nobody else takes the same one in a moment, since ports go round.
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn connect(addr: std::net::SocketAddr) -> Client {
    let start = std::time::Instant::now();
    while std::net::TcpStream::connect(addr).is_err() {
        assert!(start.elapsed() < tickworks_tests::PATIENCE, "it does not listen");
        std::thread::yield_now();
    }
    Client::json(addr)
}

#[test]
fn i6_after_a_reset_and_a_load_poses_and_rays_are_in_step_at_once() {
    let scene = Scene::new().uav("uav0", [0.0, 0.0, 1.0]).uav("uav1", [0.0, 3.0, 1.0]).stress("stress", "");
    let host = Host::start(scene.file(), &["manual_move"], &FAST);
    // Down the way of robot 0: it is hit where it is, or nothing is.
    let ray = |x: f64| json!({"cmd": "stress_ray", "origin": [x, 0, 5], "direction": [0, 0, -1]});
    let read = |robot: u64| json!({"cmd": "robot_get_state", "robot_id": robot});
    let forward = json!({"cmd": "move", "robot_id": 0, "control_input": [0, 0, 0.1, 0, 0, 0]});
    let hits = |reply: &Value, hit: bool| {
        let distance = reply["distance"].as_f64().unwrap();
        let expected = if hit { 3.9 } else { 5.0 };
        assert!((distance - expected).abs() < 1e-4, "{reply}: expected {expected}");
        assert_eq!(reply["robot"], if hit { json!(0) } else { json!(null) });
    };
    for (framing, mut client) in host.both() {
        client.ok(json!({"cmd": "sim_reset"}));
        for _ in 0..20 {
            client.tick_with(std::slice::from_ref(&forward));
        }
        let far = client.ok(json!({"cmd": "sim_get_state"}));
        // All in one write: nothing comes between the change and the look.
        let replies = client.pipeline(&[
            read(0),
            ray(2.0),
            ray(0.0),
            json!({"cmd": "sim_reset"}),
            read(0),
            ray(2.0),
            ray(0.0),
            json!({"cmd": "sim_load_state", "state": far}),
            read(0),
            ray(2.0),
            ray(0.0),
        ]);
        let at = |n: usize| position(&replies[n]["robot"]);
        assert_eq!(at(4), [0.0, 0.0, 1.0], "{framing}: the document's");
        assert_eq!(at(8), at(0), "{framing}: the state's, to the bit");
        assert_eq!(replies[8]["robot"], far["robots"]["0"]);
        for (n, hit) in [(1, true), (2, false), (5, false), (6, true), (9, true), (10, false)] {
            hits(&replies[n], hit);
        }
        // A step from there goes on from there.
        let replies = client.tick_with(std::slice::from_ref(&forward));
        assert!((position(&replies[0]["new_state"])[0] - 2.1).abs() < 1e-9, "{framing}");
    }
}

#[test]
fn a_reset_is_a_fresh_start_and_the_run_after_it_the_same() {
    for world in ["arena.sdf", "race.sdf", "ground.sdf"] {
        let host = Host::start(world, &ALL, &FAST);
        for (framing, mut client) in host.both() {
            let run = |client: &mut Client| {
                let ground = world == "ground.sdf";
                let input = if ground { json!([0.8, 0.5]) } else { json!([0.01, 0.02, 0.05, 0.01, 0.01, 0.01]) };
                client.ok(json!({"cmd": "mission_start", "robot_id": 1, "trajectory": [input, input]}));
                let step = client.tick_with(&[json!({"cmd": "move", "robot_id": 0, "control_input": input})]);
                assert_eq!(step[0]["status"], "move_applied");
                if world == "race.sdf" {
                    client.ok(json!({"cmd": "race_start"}));
                }
                client.step(30);
                client.state_hash()
            };
            client.ok(json!({"cmd": "sim_reset"}));
            let fresh = client.state_hash();
            let first = run(&mut client);
            assert_ne!(first, fresh);
            client.ok(json!({"cmd": "sim_reset"}));
            assert_eq!(client.state_hash(), fresh, "{framing}: {world}: nothing is left of the run");
            assert_eq!(run(&mut client), first, "{framing}: {world}: the same again");
        }
    }
}

#[test]
fn looking_and_claims_do_not_belong_to_the_state() {
    let host = Host::start("arena.sdf", &ALL, &["--paused"]);
    let mut watcher = host.json();
    let before = watcher.state_hash();
    for (_, mut client) in host.both() {
        client.ok(json!({"cmd": "connect", "robot_id": 0}));
        client.ok(json!({"cmd": "mission_get_state"}));
        client.ok(json!({"cmd": "race_get_state"}));
        client.ok(json!({"cmd": "sim_subscribe", "topics": ["sim", "overlays"]}));
        client.ok(json!({"cmd": "sim_get_state"}));
        client.request(json!({"cmd": "race_start"}));
        client.request(json!({"cmd": "move", "control_input": []}));
        assert_eq!(watcher.state_hash(), before);
        client.kept_pushes();
        client.leave();
        assert_eq!(watcher.state_hash(), before);
    }
}

#[test]
fn a_state_that_does_not_fit_is_refused_by_field_and_changes_nothing() {
    let host = Host::start("race.sdf", &ALL, &FAST);
    let other = Host::start("arena.sdf", &ALL, &FAST).json().ok(json!({"cmd": "sim_get_state"}));
    for (framing, mut client) in host.both() {
        client.ok(json!({"cmd": "race_start"}));
        client.step(5);
        let good = client.ok(json!({"cmd": "sim_get_state"}));
        client.step(5);
        let before = client.state_hash();
        let mut refused = |state: Value, field: &str| {
            let error = client.error(json!({"cmd": "sim_load_state", "state": state}));
            assert!(error.contains(field), "{framing}: {error}: should name {field}");
            assert_eq!(client.state_hash(), before, "{framing}: {field}");
        };
        let with = |path: &[&str], value: Value| {
            let mut state = good.clone();
            let field = path.iter().fold(&mut state, |at, name| &mut at[*name]);
            *field = value;
            state
        };
        refused(json!(7), "state");
        refused(json!({}), "robots");
        refused(other.clone(), "state.world");
        refused(with(&["state", "format"], json!(99)), "state.format is 99");
        refused(with(&["state", "control_loop_rate_hz"], json!(50)), "state.control_loop_rate_hz is 50");
        refused(with(&["state", "tick"], json!(-1)), "tick");
        refused(with(&["state", "tick"], json!(u64::MAX)), "state.tick is 18446744073709551615");
        // What is well-formed and was changed all the same.
        refused(with(&["state", "tick"], json!(6)), "state.hash");
        refused(with(&["state", "seed"], json!(77)), "state.hash");
        refused(with(&["state", "hash"], json!("0000000000000000")), "state.hash is 0000000000000000");
        refused(with(&["robots", "1", "colliding"], json!(true)), "robots.1.colliding is true");
        refused(with(&["robots"], json!({})), "robots.0");
        refused(with(&["more"], json!(1)), "more");
        refused(with(&["plugins"], json!({})), "plugins has no state of");
        refused(with(&["plugins", "other"], json!({"id": "other", "version": "1.0.0", "state": 1})), "plugins.other");
        refused(with(&["state", "data"], json!("%%%")), "state.data");
        refused(with(&["state", "data"], json!("AAAA")), "state.data");
        let data = good["state"]["data"].as_str().unwrap();
        refused(with(&["state", "data"], json!(data[..data.len() / 8 * 4])), "state.data");
        refused(with(&["robots", "0", "pose"], json!([1])), "pose");
        refused(with(&["plugins", "race", "state"], json!({"version": 99})), "plugins.race");
        refused(with(&["plugins", "race", "state"], json!("wrong")), "plugins.race");
        refused(with(&["plugins", "trajectory_mission", "state", "missions"], json!(7)), "plugins.trajectory_mission");
        // As the reply came, with what the host puts into each reply.
        client.ok(json!({"cmd": "sim_load_state", "state": with(&["id"], json!("of the request"))}));
        assert_eq!(client.state_hash(), good["state"]["hash"].as_str().unwrap());
        client.ok(json!({"cmd": "race_stop"}));
    }
}

#[test]
fn i5_a_run_starts_from_a_state_in_a_file_and_so_does_its_replay() {
    let scene = Scene::new();
    let (file, record) = (scene.dir().join("state.json"), scene.dir().join("run.rec"));
    let host = Host::start("arena.sdf", &ALL, &FAST);
    let mut client = host.json();
    client
        .ok(json!({"cmd": "mission_start", "robot_id": 1, "trajectory": vec![[0.0, 0.0, 0.02, 0.0, 0.0, 0.01]; 200]}));
    client.ok(json!({"cmd": "sim_spawn", "name": "guest", "sdf": "<model name='b'><pose>0 0 3 0 0 0</pose><link name='l'/></model>"}));
    client.step(50);
    let address = host.addr().to_string();
    let state = tickworks_tests::tickworks(["call", "sim_get_state", "--address", &address]);
    std::fs::write(&file, state.stdout).unwrap();
    let from = file.to_str().unwrap();
    let other =
        Host::start("arena.sdf", &ALL, &["--paused", "--fast", "--state", from, "--record", record.to_str().unwrap()]);
    let mut second = other.json();
    assert_eq!(second.state_hash(), client.state_hash());
    assert_eq!(second.ok(json!({"cmd": "sim_get_info"}))["tick"], 50);
    client.step(100);
    second.step(100);
    assert_eq!(second.state_hash(), client.state_hash());
    assert_eq!(other.stop().code, Some(0));
    let replayed = tickworks_tests::tickworks(["replay", record.to_str().unwrap()]);
    assert_eq!(replayed.code, Some(0), "{replayed:?}");

    for (content, words) in
        [(None, "cannot be read"), (Some("{"), "is no JSON"), (Some("{}"), "robots"), (Some("7"), "state")]
    {
        content.map(|text| std::fs::write(&file, text)).unwrap_or_else(|| std::fs::remove_file(&file)).unwrap();
        let exit = tickworks_tests::tickworks(Host::args("arena.sdf", &ALL, &["--state", from]));
        assert_eq!(exit.code, Some(1), "{exit:?}");
        assert!(exit.stderr.contains(words) && exit.stderr.contains("state.json"), "{exit:?}");
    }
}
