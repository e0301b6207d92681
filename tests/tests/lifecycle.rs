//! Worlds that are reset and loaded again, and plugins that come and go, while clients are at work.

use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};
use tickworks_tests::{Client, Host, PATIENCE, Scene, compile, position};

const ALL: [&str; 3] = ["manual_move", "trajectory_mission", "race"];
const FAST: [&str; 2] = ["--paused", "--fast"];

fn reload() -> Value {
    json!({"cmd": "sim_reload_world"})
}

/// Puts another world into the file of a scene.
fn replace(file: &Path, scene: &Scene) {
    std::fs::copy(scene.file(), file).unwrap();
}

#[test]
fn a_reload_reads_the_file_again_and_connections_keep_their_robots_by_name() {
    let scene = Scene::new().uav("uav0", [0.0, 0.0, 1.0]).uav("uav1", [0.0, 3.0, 1.0]);
    let file = scene.file();
    let host = Host::start(&file, &ALL, &FAST);
    let mut watcher = host.json();
    watcher.ok(json!({"cmd": "sim_subscribe", "topics": ["sim", "plugins"]}));
    let (mut first, mut second, mut third) = (host.json(), host.msgpack(), host.json());
    first.ok(json!({"cmd": "connect", "robot_id": 0}));
    second.ok(json!({"cmd": "connect", "robot_id": 1}));
    first.step(10);
    first.ok(json!({"cmd": "sim_spawn", "name": "guest",
        "sdf": "<model name='m'><tw:robot type='UAVLevel1' max_velocities='1 1 1 1 1 1'/><link name='l'/></model>"}));
    third.ok(json!({"cmd": "connect", "robot_id": 2}));

    // Robot 1 of the old one is robot 0 of the new one.
    replace(file.as_ref(), &Scene::new().uav("uav1", [5.0, 3.0, 2.0]).uav("other", [0.0, 0.0, 9.0]));
    let reply = watcher.ok(reload());
    assert_eq!((&reply["status"], &reply["epoch"]), (&json!("reloaded"), &json!(1)), "{reply}");
    let info = watcher.ok(json!({"cmd": "sim_get_info"}));
    assert_eq!((&info["tick"], &info["paused"], &info["stage"]), (&json!(0), &json!(true), &json!("running")));
    assert_eq!(info["plugins"], json!(ALL));
    assert_eq!(position(&watcher.robot(0)), [5.0, 3.0, 2.0]);
    let up = json!({"cmd": "move", "control_input": [0, 0.1, 0, 0, 0, 0]});
    assert_eq!(second.tick_with(std::slice::from_ref(&up))[0]["new_state"]["name"], "uav1", "by name");
    let lost = first.error(up.clone());
    assert!(lost.contains("robot 0 ('uav0') is not in the world that was loaded"), "{lost}");
    assert!(third.error(up.clone()).contains("robot 2 ('guest')"));
    assert_eq!(first.ok(json!({"cmd": "connect"}))["id"], 1);
    let mut events = Vec::new();
    while events.last().is_none_or(|event| event != "sim reloaded") {
        let push = watcher.push();
        events.push(format!("{} {}", push["topic"].as_str().unwrap(), push["event"].as_str().unwrap()));
    }
    let stops = events.iter().filter(|event| *event == "plugins changed").count();
    assert!(stops >= 3, "the old plugins have been stopped before: {events:?}");
    loop {
        let push = watcher.push_of("plugins");
        if push["event"] == "all_started" {
            assert_eq!((&push["started"], &push["total"]), (&json!(3), &json!(3)));
            break;
        }
    }
}

#[test]
fn with_errors_in_the_file_the_world_that_runs_stays() {
    let scene = Scene::new().uav("uav0", [0.0, 0.0, 1.0]);
    let file = scene.file();
    let path: &Path = file.as_ref();
    let host = Host::start(path, &ALL, &FAST);
    for (framing, mut client) in host.both() {
        client.step(3);
        let before = client.state_hash();
        let good = std::fs::read_to_string(path).unwrap();
        for (text, words) in [
            (good.replace("<pose>", "<psoe>"), "</pose>"),
            (good.replace("0.1</radius>", "-1</radius>"), "radius"),
            (String::new(), "scene.sdf"),
            ("<sdf version='1.9'/>".to_owned(), "no world"),
        ] {
            std::fs::write(path, text).unwrap();
            let error = client.error(reload());
            assert!(error.contains(words) && error.contains("scene.sdf"), "{framing}: {error}");
            assert_eq!(client.state_hash(), before, "{framing}");
        }
        std::fs::remove_file(path).unwrap();
        assert!(client.error(reload()).contains("scene.sdf"));
        std::fs::write(path, good).unwrap();
        assert!(client.error(json!({"cmd": "sim_reload_world", "flie": "x"})).contains("did you mean 'file'"));
        assert_eq!(client.state_hash(), before, "{framing}");
        client.ok(json!({"cmd": "mission_start", "robot_id": 0, "trajectory": vec![[0.0; 6]; 1000]}));
        client.step(1);
        assert!(client.error(reload()).contains("mission"), "{framing}");
        client.ok(json!({"cmd": "mission_stop", "robot_id": 0}));
    }
}

#[test]
fn another_file_may_take_its_place_and_is_a_fresh_run_of_it() {
    let scene = Scene::new().uav("uav0", [0.0, 0.0, 1.0]);
    let other = Scene::new().uav("x", [1.0, 2.0, 3.0]);
    std::fs::copy(other.file(), scene.dir().join("other.sdf")).unwrap();
    let host = Host::start(scene.file(), &ALL, &FAST);
    let fresh = Host::start(scene.dir().join("other.sdf"), &ALL, &FAST);
    let mut client = host.json();
    client.step(7);
    let reply = client.ok(json!({"cmd": "sim_reload_world", "file": "other.sdf"}));
    assert!(reply["world_file"].as_str().unwrap().ends_with("other.sdf"), "{reply}");
    let (mut a, mut b) = (host.json(), fresh.json());
    for ticks in [1, 20] {
        a.step(ticks);
        b.step(ticks);
        assert_eq!(a.state_hash(), b.state_hash());
    }
    // From here on it is the one that is reloaded.
    client.ok(reload());
    assert_eq!(position(&client.robot(0)), [1.0, 2.0, 3.0]);
}

#[test]
fn a_plugin_that_does_not_start_again_is_named_and_the_world_runs_on() {
    let scene = Scene::new().uav("uav0", [0.0, 0.0, 1.0]);
    let file = scene.file();
    let path: &Path = file.as_ref();
    let host = Host::start(path, &ALL, &["--paused", "--plugin-start-timeout", "1"]);
    let mut client = host.json();
    let text = std::fs::read_to_string(path).unwrap();
    let with = |xml: &str| text.replace("</world>", &format!("{xml}</world>"));
    let trouble =
        |does: &str| format!("<plugin filename='stress' name='s'><trouble slot='create' does='{does}'/></plugin>");
    for (what, words) in [("fail", "stress"), ("panic", "asked to panic"), ("hang", "did not start within 1 s")] {
        std::fs::write(path, with(&trouble(what))).unwrap();
        let reply = client.ok(reload());
        assert!(reply["failed"]["s"].as_str().is_some_and(|reason| reason.contains(words)), "{reply}");
        client.step(2);
    }
    std::fs::write(path, with("<plugin filename='./nobody.so' name='s'/>")).unwrap();
    assert!(client.ok(reload())["failed"]["s"].as_str().unwrap().contains("nobody.so"));
    std::fs::write(path, &text).unwrap();
    assert_eq!(client.ok(reload())["failed"], json!({}));
}

/// A world whose plugin starts slowly: until the file `go` is there.
fn slow(scene: Scene) -> Scene {
    let go = scene.dir().join("go");
    scene
        .uav("uav0", [0.0, 0.0, 1.0])
        .stress("stress", &format!("<trouble slot='create' does='wait' path='{}'/>", go.display()))
}

#[test]
fn i7_resets_before_during_and_after_a_slow_start_are_never_lost() {
    let scene = slow(Scene::new());
    let go = scene.dir().join("go");
    std::fs::write(&go, "").unwrap();
    let file = scene.file();
    let host = Host::start(&file, &ALL, &FAST);
    let calls = |client: &mut Client, slot: &str| client.ok(json!({"cmd": "stress_calls"}))[slot].as_u64().unwrap_or(0);
    let mut client = host.json();
    client.step(3);
    client.ok(json!({"cmd": "sim_reset"}));
    assert_eq!(calls(&mut client, "on_reset"), 1);

    // In one tick: a reload, a reset by the same connection and by another one, and what needs the plugin.
    std::fs::remove_file(&go).unwrap();
    let mut other = host.msgpack();
    client.send(&reload());
    client.send(&json!({"cmd": "sim_reset"}));
    client.send(&json!({"cmd": "sim_get_info"}));
    // The other one's commands are behind it, for sure, once it is seen to be starting.
    let start = Instant::now();
    while other.ok(json!({"cmd": "sim_get_info"}))["stage"] != "starting" {
        assert!(start.elapsed() < PATIENCE);
    }
    other.send(&json!({"cmd": "sim_reset"}));
    let mut third = host.json();
    assert!(third.error(json!({"cmd": "stress_calls"})).contains("plugins have started"));
    assert!(third.error(reload()).contains("still starting"));
    assert!(third.error(json!({"cmd": "sim_step"})).contains("still starting"));
    assert!(third.error(json!({"cmd": "sim_spawn", "sdf": "<model name='m'/>"})).contains("still starting"));
    std::fs::write(&go, "").unwrap();
    assert_eq!(client.reply()["status"], "reloaded");
    assert_eq!(other.reply()["epoch"], 3, "it waited for the start");
    assert_eq!(client.reply()["epoch"], 4, "it waited for the reload, as all of its connection");
    assert_eq!(client.reply()["stage"], "running");
    assert_eq!(calls(&mut client, "on_reset"), 2, "after the start");
    let order = client.ok(json!({"cmd": "stress_order"}));
    let order: Vec<&str> = order["order"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let at = |slot: &str| order.iter().position(|called| *called == slot);
    assert!(at("on_all_started") < at("on_reset") && at("on_tick").is_none(), "{order:?}");
}

#[test]
fn plugins_are_loaded_in_order_with_their_parameters_and_unloaded() {
    let scene = Scene::new().uav("uav0", [0.0, 0.0, 1.0]);
    let config = compile("c-plugins/config.c", &[], scene.dir());
    let host = Host::start(scene.file(), &["manual_move"], &FAST);
    for (framing, mut client) in host.both() {
        assert!(client.error(json!({"cmd": "race_get_state"})).contains("unknown command"), "{framing}");
        let reply = client.ok(json!({"cmd": "plugin_load", "plugins": ["trajectory_mission", "race"]}));
        let names: Vec<&Value> = reply["plugins"].as_array().unwrap().iter().map(|plugin| &plugin["name"]).collect();
        assert_eq!(names, ["trajectory_mission", "race"], "{reply}");
        assert!(reply["plugins"].as_array().unwrap().iter().all(|plugin| plugin["state"] == "started"));
        client.ok(json!({"cmd": "race_get_state"}));
        let sdf = format!("<plugin filename='{}' name='mine'><a b='1'>x<c/>y</a></plugin>", config.display());
        client.ok(json!({"cmd": "plugin_load", "sdf": sdf}));
        let given = client.ok(json!({"cmd": "config"}));
        assert_eq!(given["instance"], "mine");
        assert_eq!(given["parameters"]["children"][0]["attributes"], json!([["b", "1"]]), "{given}");
        let list = client.ok(json!({"cmd": "plugin_list"}));
        let order: Vec<&Value> = list["plugins"].as_array().unwrap().iter().map(|plugin| &plugin["name"]).collect();
        assert_eq!(order, ["manual_move", "trajectory_mission", "race", "mine"], "the later is the stronger");
        for name in ["race", "mine", "trajectory_mission"] {
            assert_eq!(client.ok(json!({"cmd": "plugin_unload", "plugin": name}))["status"], "unloaded");
        }
        assert!(client.error(json!({"cmd": "config"})).contains("unknown command"));
        assert_eq!(client.ok(json!({"cmd": "plugin_list"}))["total"], 1);
    }
}

#[test]
fn a_plugin_that_cannot_be_loaded_or_must_not_go_is_an_answer() {
    let scene = Scene::new().uav("uav0", [0.0, 0.0, 1.0]);
    let host = Host::start(scene.file(), &ALL, &["--paused", "--plugin-start-timeout", "1"]);
    for (framing, mut client) in host.both() {
        let mut refused = |request: Value, words: &[&str]| {
            let error = client.error(request.clone());
            assert!(words.iter().all(|word| error.contains(word)), "{framing}: {request}: {error}");
        };
        let load = |plugins: &[&str]| json!({"cmd": "plugin_load", "plugins": plugins});
        refused(load(&[]), &["plugins", "sdf"]);
        refused(load(&["rase"]), &["rase", "did you mean"]);
        refused(load(&["stress", "nobody"]), &["1 of 2", "nobody", "these run: stress"]);
        refused(load(&["stress"]), &["stress"]);
        refused(json!({"cmd": "plugin_load", "plugin": "race"}), &["unknown field 'plugin'", "plugins"]);
        refused(json!({"cmd": "plugin_load", "sdf": "<plugin filename='race'"}), &["plugin_load"]);
        refused(json!({"cmd": "plugin_load", "sdf": "<gravity>0 0 0</gravity>"}), &["<plugin"]);
        for (does, words) in [("fail", "stress"), ("panic", "asked to panic"), ("hang", "did not start within 1 s")] {
            let sdf = format!("<plugin filename='stress' name='bad'><trouble slot='create' does='{does}'/></plugin>");
            refused(json!({"cmd": "plugin_load", "sdf": sdf}), &["0 of 1", "bad", words]);
        }
        refused(json!({"cmd": "plugin_unload", "plugin": "raec"}), &["'raec'", "did you mean 'race'"]);
        refused(json!({"cmd": "plugin_unload", "plugin": "elephant"}), &["'elephant'", "manual_move"]);
        client.ok(json!({"cmd": "mission_start", "robot_id": 0, "trajectory": vec![[0.0; 6]; 1000]}));
        client.step(1);
        let error = client.error(json!({"cmd": "plugin_unload", "plugin": "trajectory_mission"}));
        assert!(error.contains("mission"), "{framing}: {error}");
        client.ok(json!({"cmd": "mission_stop", "robot_id": 0}));
        client.ok(json!({"cmd": "plugin_unload", "plugin": "stress"}));
        let list = client.ok(json!({"cmd": "plugin_list"}));
        assert_eq!((&list["started"], &list["total"]), (&json!(3), &json!(3)), "{framing}: {list}");
    }
}

#[test]
fn while_a_plugin_starts_its_commands_say_so_and_ticks_go_on() {
    let scene = Scene::new().uav("uav0", [0.0, 0.0, 1.0]);
    let go = scene.dir().join("go");
    let host = Host::start(scene.file(), &["manual_move"], &FAST);
    let (mut client, mut other) = (host.json(), host.json());
    let sdf = format!(
        "<plugin filename='stress' name='s'><trouble slot='create' does='wait' path='{}'/></plugin>",
        go.display()
    );
    client.send(&json!({"cmd": "plugin_load", "sdf": sdf}));
    let start = Instant::now();
    while other.ok(json!({"cmd": "plugin_list"}))["total"] != 2 {
        assert!(start.elapsed() < PATIENCE);
    }
    let error = other.error(json!({"cmd": "stress_calls"}));
    assert!(error.contains("still starting"), "{error}");
    other.step(5);
    other.ok(json!({"cmd": "sim_reset"}));
    std::fs::write(&go, "").unwrap();
    assert_eq!(client.reply()["status"], "loaded");
    let order = other.ok(json!({"cmd": "stress_order"}))["order"].clone();
    assert!(order.as_array().unwrap().contains(&json!("on_reset")), "the reset came during its start: {order}");
}

#[test]
fn a_hundred_resets_in_a_row_under_the_load_of_fifty_clients() {
    let scene = (0..50).fold(Scene::new(), |scene, n| scene.uav(&format!("u{n}"), [f64::from(n), 0.0, 1.0]));
    let file = scene.file();
    let host = Host::start(&file, &ALL, &["--rate", "500"]);
    let addr = host.addr();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let (stop, answered) = (&stop, std::sync::atomic::AtomicU64::new(0));
    let answered = &answered;
    std::thread::scope(|scope| {
        for n in 0..50u64 {
            scope.spawn(move || {
                let mut client = if n % 2 == 0 { Client::json(addr) } else { Client::msgpack(addr) };
                client.ok(json!({"cmd": "connect", "robot_id": n}));
                let work = [
                    json!({"cmd": "move", "control_input": [0.01, 0, 0, 0, 0, 0]}),
                    json!({"cmd": "robot_get_state"}),
                    json!({"cmd": "mission_get_state"}),
                ];
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let replies = client.pipeline(&work);
                    assert!(replies.iter().all(|reply| reply.get("error").is_none()), "{replies:?}");
                    answered.fetch_add(3, std::sync::atomic::Ordering::Relaxed);
                }
            });
        }
        let mut client = Client::json(addr);
        client.ok(json!({"cmd": "sim_subscribe", "topics": ["sim"]}));
        for epoch in 1..=100 {
            assert_eq!(client.ok(json!({"cmd": "sim_reset"}))["epoch"], epoch);
            std::thread::sleep(Duration::from_millis(5));
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let epochs =
            client.kept_pushes().into_iter().filter(|push| push["event"] == "reset").map(|push| push["epoch"].clone());
        assert!(epochs.eq((1..=100).map(Value::from)), "each one is told once, in order");
    });
    assert!(answered.load(std::sync::atomic::Ordering::Relaxed) > 1000);
    assert_eq!(host.stop().code, Some(0));
}

#[test]
fn after_a_hundred_resets_the_run_is_that_of_a_fresh_process() {
    for world in ["arena.sdf", "race.sdf", "ground.sdf"] {
        let run = |client: &mut Client| {
            for second in 0..10 {
                let input =
                    if world == "ground.sdf" { json!([0.8, 0.5]) } else { json!([0.01, 0.02, 0.05, 0.01, 0.01, 0.01]) };
                client.tick_with(&[json!({"cmd": "move", "robot_id": second % 2, "control_input": input})]);
                client.step(59);
            }
            client.state_hash()
        };
        let host = Host::start(world, &ALL, &FAST);
        let mut client = host.json();
        let fresh = run(&mut client);
        let resets = vec![json!({"cmd": "sim_reset"}); 100];
        let replies = client.pipeline(&resets);
        assert_eq!(replies[99]["epoch"], 100, "{replies:?}");
        assert_eq!(run(&mut client), fresh, "{world}");
        client.ok(reload());
        assert_eq!(run(&mut client), fresh, "{world}: after a reload");
    }
}
