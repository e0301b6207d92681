//! Models that come and go while a world runs.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tickworks_tests::{Client, Host, PATIENCE, Scene, compile};

const ALL: [&str; 3] = ["manual_move", "trajectory_mission", "race"];
const FAST: [&str; 2] = ["--paused", "--fast"];

const BALL: &str = "<model name='ball'><pose>0 0 2 0 0 0</pose><link name='l'><collision name='c'><geometry><sphere>\
    <radius>0.1</radius></sphere></geometry></collision></link></model>";

const UAV: &str = "<model name='uav'><tw:robot type='UAVLevel1' max_velocities='0.1 0.1 0.1 0.05 0.05 0.05'/><link name='l'/>\
    </model>";

fn spawn(sdf: &str, name: &str, pose: &[f64]) -> Value {
    json!({"cmd": "sim_spawn", "sdf": sdf, "name": name, "pose": pose})
}

fn names(client: &mut Client) -> Vec<String> {
    let models = client.ok(json!({"cmd": "sim_list_models"}));
    models["models"].as_array().unwrap().iter().map(|model| model["name"].as_str().unwrap().to_owned()).collect()
}

fn pose(client: &mut Client, model: &str) -> Vec<f64> {
    let model = client.ok(json!({"cmd": "sim_get_model", "model": model}));
    model["model"]["pose"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

#[test]
fn a_model_is_spawned_moved_looked_at_and_removed() {
    let scene = Scene::new().uav("uav0", [0.0, 0.0, 1.0]);
    let host = Host::start(scene.file(), &ALL, &FAST);
    for (framing, mut client) in host.both() {
        let spawned = client.ok(spawn(BALL, "b1", &[1.0, 2.0, 3.0, 0.0, 0.0, 0.0]));
        assert_eq!((&spawned["status"], &spawned["name"]), (&json!("spawned"), &json!("b1")), "{framing}: {spawned}");
        assert_eq!(names(&mut client), ["ground", "uav0", "b1"]);
        assert_eq!(pose(&mut client, "b1"), [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0]);
        // As its SDF says, and as a quaternion.
        client.ok(json!({"cmd": "sim_spawn", "sdf": BALL}));
        assert_eq!(pose(&mut client, "ball")[..3], [0.0, 0.0, 2.0]);
        let turned = [0.0, 5.0, 1.0, 0.0, 0.0, 0.6, 0.8];
        client.ok(spawn(BALL, "b2", &turned));
        assert!(pose(&mut client, "b2").iter().zip(turned).all(|(a, b)| (a - b).abs() < 1e-12));
        client.step(30);
        assert!(pose(&mut client, "b1")[2] < 2.0, "it falls");
        let model = client.ok(json!({"cmd": "sim_get_model", "model": "b1"}));
        assert_eq!(model["model"]["links"][0]["name"], "b1::l");
        assert!(model["model"]["links"][0]["velocity"][2].as_f64().unwrap() < -1.0, "{model}");
        let to = client.ok(json!({"cmd": "sim_teleport", "model": "b1", "pose": [9, 9, 9, 0, 0, 0, 1]}));
        assert_eq!(to["pose"], json!([9.0, 9.0, 9.0, 0.0, 0.0, 0.0, 1.0]));
        for name in ["b1", "b2", "ball"] {
            let removed = client.ok(json!({"cmd": "sim_remove", "model": name}));
            assert_eq!(removed["models"], json!([name]));
        }
        assert_eq!(names(&mut client), ["ground", "uav0"]);
    }
}

#[test]
fn the_reply_is_the_outcome() {
    let scene = Scene::new().uav("uav0", [0.0, 0.0, 1.0]);
    let host = Host::start(scene.file(), &ALL, &FAST);
    for (_, mut client) in host.both() {
        let before = client.state_hash();
        let mut refused = |request: Value, words: &[&str]| {
            let error = client.error(request.clone());
            assert!(words.iter().all(|word| error.contains(word)), "{request}: {error}");
        };
        refused(json!({"cmd": "sim_spawn"}), &["sdf", "uri"]);
        refused(json!({"cmd": "sim_spawn", "sdf": BALL, "uri": "model://x"}), &["not both"]);
        refused(spawn(BALL, "uav0", &[0.0; 6]), &["a model 'uav0' already"]);
        refused(spawn(BALL, "a::b", &[0.0; 6]), &["'a::b'"]);
        refused(spawn(BALL, "", &[0.0; 6]), &["name"]);
        refused(spawn(BALL, "world", &[0.0; 6]), &["reserved"]);
        refused(spawn(BALL, "x", &[0.0; 5]), &["5 numbers", "qx qy qz qw"]);
        refused(spawn(BALL, "x", &[0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]), &["length"]);
        refused(spawn(BALL, "x", &[1e12, 0.0, 0.0, 0.0, 0.0, 0.0]), &["x"]);
        refused(spawn("<model name='a'><link name='l'><colision name='c'/></link>", "x", &[0.0; 6]), &["sim_spawn:1"]);
        refused(spawn("<model name='a'/><model name='b'/>", "x", &[0.0; 6]), &["sim_spawn"]);
        refused(spawn("<sdf version='1.9'><world name='w'/></sdf>", "x", &[0.0; 6]), &["one <model>"]);
        refused(json!({"cmd": "sim_spawn", "sdf": "", "name": "x"}), &["sim_spawn"]);
        refused(json!({"cmd": "sim_spawn", "uri": "model://nobody_has_this", "name": "x"}), &["nobody_has_this"]);
        refused(json!({"cmd": "sim_spawn", "sdf": BALL, "nmae": "x"}), &["nmae"]);
        let bad_mass = "<model name='m'><link name='l'><inertial><mass>-1</mass></inertial></link></model>";
        refused(spawn(bad_mass, "x", &[0.0; 6]), &["mass"]);
        for cmd in ["sim_remove", "sim_get_model"] {
            refused(json!({"cmd": cmd, "model": "uav1"}), &["'uav1'", "did you mean 'uav0'"]);
            refused(json!({"cmd": cmd, "model": "elephant"}), &["'elephant'", "ground, uav0"]);
            refused(json!({"cmd": cmd}), &["model"]);
        }
        refused(json!({"cmd": "sim_teleport", "model": "uav1", "pose": [0, 0, 0, 0, 0, 0]}), &["did you mean 'uav0'"]);
        refused(json!({"cmd": "sim_teleport", "model": "ground", "pose": [0, 0, 0, 0, 0, 0]}), &["static"]);
        refused(json!({"cmd": "sim_teleport", "model": "uav0", "pose": [0, 0]}), &["2 numbers"]);
        assert_eq!(client.state_hash(), before, "nothing has changed");
    }
}

#[test]
fn a_robot_that_is_spawned_can_be_flown_and_its_connection_hears_of_its_end() {
    let scene = Scene::new().uav("uav0", [0.0, 0.0, 1.0]);
    let host = Host::start(scene.file(), &ALL, &FAST);
    let mut watcher = host.json();
    watcher.ok(json!({"cmd": "sim_subscribe", "topics": ["sim"]}));
    assert_eq!(watcher.push_of("sim")["event"], "present");
    for (round, (_, mut client)) in host.both().into_iter().enumerate() {
        let spawned = client.ok(spawn(UAV, "new", &[0.0, 0.0, 5.0, 0.0, 0.0, 0.0]));
        let id = spawned["robots"][0].as_u64().unwrap();
        assert_eq!(id, round as u64 + 1, "ids are not given again");
        assert_eq!(client.ok(json!({"cmd": "connect", "robot_id": id}))["id"], id);
        let up = json!({"cmd": "move", "control_input": [0, 0.1, 0, 0, 0, 0]});
        assert_eq!(client.tick_with(std::slice::from_ref(&up))[0]["status"], "move_applied");
        assert!((pose(&mut client, "new")[2] - 5.1).abs() < 1e-9);
        let way = vec![[0.0, 0.0, 0.05, 0.0, 0.0, 0.0]; 100];
        client.ok(json!({"cmd": "mission_start", "trajectory": way}));
        client.step(3);
        let info = client.ok(json!({"cmd": "sim_get_info"}));
        assert_eq!(info["robots"].as_array().unwrap().len(), 2, "{info}");

        assert_eq!(watcher.ok(json!({"cmd": "sim_remove", "model": "new"}))["robots"], json!([id]));
        client.step(3);
        let lost = client.error(up.clone());
        assert!(lost.contains(&format!("robot {id} ('new') is gone: it was removed")), "{lost}");
        let gone = client.error(json!({"cmd": "robot_get_state", "robot_id": id}));
        assert!(gone.contains(&format!("no robot {id}")), "{gone}");
        client.request(json!({"cmd": "mission_get_state", "robot_id": id}));
        // The mission went with its robot: nothing stands in a reset's way.
        client.ok(json!({"cmd": "sim_reset"}));
        assert_eq!(client.ok(json!({"cmd": "connect"}))["id"], 0, "another one can be had");
        let events: Vec<Value> = (0..3).map(|_| watcher.push_of("sim")["event"].clone()).collect();
        assert_eq!(events, [json!("spawned"), json!("removed"), json!("reset")]);
        // For the other framing: the numbers go on from where they would have been.
        client.ok(spawn(UAV, "filler", &[0.0; 6]));
        client.ok(json!({"cmd": "sim_remove", "model": "filler"}));
        watcher.push_of("sim");
        watcher.push_of("sim");
        client.leave();
    }
}

/// Waits until the file holds this.
fn diary(path: &PathBuf, expected: &str) {
    let start = Instant::now();
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if text == expected {
            return;
        }
        assert!(start.elapsed() < PATIENCE && !text.contains('x'), "the diary is {text:?}, expected {expected:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn the_plugin_of_a_model_comes_and_goes_with_it_and_is_destroyed_exactly_once() {
    let scene = Scene::new().uav("uav0", [0.0, 0.0, 1.0]);
    let plugin = compile("c-plugins/diary.c", &[], scene.dir());
    let path = scene.dir().join("diary");
    let model = format!(
        "<model name='m'><link name='l'/><plugin filename='{}' name='p'><a>1</a></plugin></model>",
        plugin.display()
    );
    let host = Host::start_with(scene.file(), &ALL, &FAST, |command| {
        command.env("TICKWORKS_DIARY", &path);
    });
    let mut client = host.json();
    let spawned = client.ok(spawn(&model, "one", &[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]));
    assert_eq!(spawned["plugins"], json!(["one::p"]));
    diary(&path, "ca");
    client.step(2);
    assert_eq!(client.ok(json!({"cmd": "diary_hello"}))["hello"], true);
    let model_of = client.ok(json!({"cmd": "sim_get_model", "model": "one"}));
    assert_eq!(model_of["model"]["plugins"], json!(["one::p"]));
    diary(&path, "cat");
    // Of this model alone.
    client.ok(json!({"cmd": "sim_reset", "model": "uav0"}));
    client.ok(json!({"cmd": "sim_reset", "model": "one"}));
    diary(&path, "catr");
    assert_eq!(client.ok(json!({"cmd": "sim_remove", "model": "one"}))["plugins"], json!(["one::p"]));
    diary(&path, "catrd");
    assert!(client.error(json!({"cmd": "diary_hello"})).contains("unknown command"));
    client.step(5);
    // One that is removed while it starts, and one that a reset takes away.
    let both = client.pipeline(&[spawn(&model, "two", &[0.0; 6]), json!({"cmd": "sim_remove", "model": "two"})]);
    assert!(both.iter().all(|reply| reply.get("error").is_none()), "{both:?}");
    diary(&path, "catrdcd");
    client.ok(spawn(&model, "three", &[0.0; 6]));
    diary(&path, "catrdcdca");
    client.ok(json!({"cmd": "sim_reset"}));
    diary(&path, "catrdcdcad");
    assert_eq!(names(&mut client), ["ground", "uav0"]);
    assert_eq!(host.stop().code, Some(0));
    diary(&path, "catrdcdcad");
}

#[test]
fn a_removed_model_returns_with_its_plugin_at_a_reset() {
    let scene = Scene::new().uav("uav0", [0.0, 0.0, 1.0]);
    let plugin = compile("c-plugins/diary.c", &[], scene.dir());
    let path = scene.dir().join("diary");
    let scene = scene
        .with(&format!("<model name='m'><link name='l'/><plugin filename='{}' name='p'/></model>", plugin.display()));
    let host = Host::start_with(scene.file(), &ALL, &FAST, |command| {
        command.env("TICKWORKS_DIARY", &path);
    });
    let mut client = host.json();
    client.step(1);
    let fresh = client.ok(json!({"cmd": "sim_reset"}));
    assert_eq!(fresh.get("starting"), None);
    diary(&path, "catr");
    client.ok(json!({"cmd": "sim_remove", "model": "m"}));
    diary(&path, "catrd");
    assert_eq!(client.ok(json!({"cmd": "sim_reset"}))["starting"], json!(["m::p"]));
    diary(&path, "catrdcar");
    assert_eq!(names(&mut client), ["ground", "uav0", "m"]);
}

#[test]
fn i5_a_state_with_models_that_have_come_and_gone_fits_into_a_fresh_process() {
    let host = Host::start("arena.sdf", &ALL, &FAST);
    let fresh = Host::start("arena.sdf", &ALL, &FAST);
    let (mut first, mut second) = (host.json(), fresh.json());
    first.step(5);
    let some = names(&mut first);
    first.ok(spawn(BALL, "b1", &[0.0, 0.5, 3.0, 0.0, 0.0, 0.0]));
    first.step(5);
    let movable =
        some.iter().find(|name| name.contains("box") || name.contains("crate")).unwrap_or(&some[some.len() - 1]);
    first.ok(json!({"cmd": "sim_remove", "model": movable}));
    first.ok(spawn(UAV, "u9", &[0.0, 0.5, 2.0, 0.0, 0.0, 0.0]));
    first.ok(json!({"cmd": "sim_remove", "model": "b1"}));
    first.ok(spawn(BALL, "b1", &[0.1, 0.5, 3.0, 0.0, 0.3, 0.0]));
    first.step(7);
    let state = first.ok(json!({"cmd": "sim_get_state"}));
    let mut wrong = state.clone();
    wrong["state"]["models"][0]["name"] = json!("u8");
    let before = second.state_hash();
    assert!(second.error(json!({"cmd": "sim_load_state", "state": wrong})).contains("models"));
    wrong["state"]["models"] = json!([]);
    assert!(second.error(json!({"cmd": "sim_load_state", "state": wrong})).contains("models"));
    assert_eq!(second.state_hash(), before);
    second.ok(json!({"cmd": "sim_load_state", "state": state}));
    assert_eq!(names(&mut first), names(&mut second));
    for ticks in [1, 2, 60, 200] {
        first.step(ticks);
        second.step(ticks);
        assert_eq!(first.state_hash(), second.state_hash(), "after {ticks} more ticks");
    }
    // Back in the process that it came from, too; then the start.
    first.ok(json!({"cmd": "sim_reset"}));
    first.ok(json!({"cmd": "sim_load_state", "state": state}));
    first.step(263);
    assert_eq!(first.state_hash(), second.state_hash());
    second.ok(json!({"cmd": "sim_reset"}));
    assert_eq!(second.state_hash(), before);
}

/// Lines of `/proc/PID/status`, and how many files are open.
fn usage(pid: u32) -> BTreeMap<String, u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let number = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count() as u64;
    [("rss", number("VmRSS:")), ("threads", number("Threads:")), ("files", files)]
        .map(|(k, v)| (k.to_owned(), v))
        .into()
}

/// The same, once the threads of the last starts have ended.
fn settled(pid: u32) -> BTreeMap<String, u64> {
    std::thread::sleep(Duration::from_millis(300));
    usage(pid)
}

fn cycles(client: &mut Client, model: &str, count: usize) {
    let cycle = [
        spawn(model, "guest", &[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]),
        json!({"cmd": "sim_step"}),
        json!({"cmd": "sim_remove", "model": "guest"}),
    ];
    for _ in 0..count {
        let replies = client.pipeline(&cycle);
        assert!(replies.iter().all(|reply| reply.get("error").is_none()), "{replies:?}");
    }
}

fn come_and_go(first: usize, more: usize) {
    let scene = Scene::new().uav("uav0", [0.0, 0.0, 1.0]);
    let plugin = compile("c-plugins/diary.c", &[], scene.dir());
    let model = format!(
        "<model name='m'><link name='l'><collision name='c'><geometry><box><size>1 1 1</size></box></geometry></collision>\
         </link><plugin filename='{}' name='p'/></model>",
        plugin.display()
    );
    let host = Host::start(scene.file(), &ALL, &FAST);
    let mut client = host.json();
    cycles(&mut client, &model, first);
    let before = settled(host.process().pid());
    cycles(&mut client, &model, more);
    let after = settled(host.process().pid());
    assert_eq!((before["threads"], before["files"]), (after["threads"], after["files"]), "{before:?} {after:?}");
    println!("{before:?} {after:?}");
    assert!(after["rss"] as f64 <= before["rss"] as f64 * 1.05, "{before:?} {after:?}");
    assert_eq!(names(&mut client), ["ground", "uav0"]);
}

#[test]
fn what_comes_and_goes_leaves_nothing_behind() {
    come_and_go(300, 700);
}

#[test]
#[ignore = "ten thousand models with a plugin each come and go"]
fn ten_thousand_models_come_and_go_and_leave_nothing_behind() {
    come_and_go(1_000, 9_000);
}
