//! Pushes through the wire: who gets them, what is in them, and in which order they come.

use std::net::SocketAddr;
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};
use tickworks_tests::{Client, Host, PATIENCE, Process, Scene, keys};

fn subscribe(client: &mut Client, topics: &[&str]) {
    let reply = client.ok(json!({"cmd": "sim_subscribe", "topics": topics}));
    assert_eq!((&reply["status"], &reply["topics"]), (&json!("subscribed"), &json!(topics)));
}

#[test]
fn only_subscribers_get_pushes_until_they_unsubscribe() {
    let scene = Scene::new().uav("uav0", [0.0, 0.0, 1.0]).stress("stress", "<trouble slot='on_tick' does='publish'/>");
    let host = Host::start(scene.file(), &["manual_move"], &["--paused", "--fast"]);
    for (framing, mut client) in host.both() {
        let mut other = host.json();
        subscribe(&mut client, &["stress"]);
        client.step(3);
        for _ in 0..3 {
            let push = client.push();
            assert_eq!((&push["topic"], &push["slot"]), (&json!("stress"), &json!("on_tick")), "{framing}");
        }
        let reply = client.ok(json!({"cmd": "sim_unsubscribe", "topics": ["stress"]}));
        assert_eq!(reply["status"], "unsubscribed");
        client.step(3);
        other.step(1);
        client.robot(0);
        assert!(client.kept_pushes().is_empty() && other.kept_pushes().is_empty(), "{framing}");
        // Twice is once, and off twice is no error.
        subscribe(&mut client, &["stress", "stress"]);
        client.step(1);
        client.ok(json!({"cmd": "sim_unsubscribe", "topics": ["stress"]}));
        client.ok(json!({"cmd": "sim_unsubscribe", "topics": ["stress"]}));
        client.robot(0);
        assert_eq!(client.kept_pushes().len(), 1, "{framing}");
        for topics in [json!(["strss"]), json!([]), json!(["stress", 7]), json!("stress"), json!(null)] {
            let error = client.error(json!({"cmd": "sim_subscribe", "topics": topics}));
            assert!(error.contains("topic"), "{framing}: {error}");
        }
        assert!(client.error(json!({"cmd": "sim_subscribe", "topics": ["strss"]})).contains("did you mean 'stress'"));
        client.leave();
    }
}

#[test]
fn sim_tells_pauses_resets_and_states_as_they_happen() {
    let host = Host::start("arena.sdf", &["manual_move"], &["--paused", "--fast"]);
    for (framing, mut client) in host.both() {
        let state = client.ok(json!({"cmd": "sim_get_state"}));
        let epoch = client.ok(json!({"cmd": "sim_get_info"}))["epoch"].as_u64().unwrap();
        subscribe(&mut client, &["sim"]);
        client.step(2);
        for request in ["sim_resume", "sim_resume", "sim_pause", "sim_pause", "sim_reset"] {
            client.ok(json!({"cmd": request}));
        }
        client.ok(json!({"cmd": "sim_load_state", "state": state}));
        let pushes: Vec<Value> = (0..5).map(|_| client.push()).collect();
        let events: Vec<&str> = pushes.iter().map(|push| push["event"].as_str().unwrap()).collect();
        assert_eq!(events, ["present", "resumed", "paused", "reset", "state_loaded"], "{framing}: {pushes:?}");
        assert_eq!((&pushes[0]["epoch"], &pushes[0]["paused"]), (&json!(epoch), &json!(true)));
        assert_eq!(pushes[3]["epoch"], epoch + 1, "{framing}");
        assert_eq!(pushes[4]["tick"], state["state"]["tick"]);
        assert!(pushes.iter().all(|push| push["topic"] == "sim" && push["timestamp"].is_string()), "{pushes:?}");
        client.robot(0);
        assert!(client.kept_pushes().is_empty());
    }
}

#[test]
fn overlays_show_what_plugins_draw() {
    let host = Host::start("race.sdf", &["manual_move", "trajectory_mission", "race"], &["--paused", "--fast"]);
    for (framing, mut client) in host.both() {
        subscribe(&mut client, &["overlays"]);
        client.ok(json!({"cmd": "mission_add_via_point", "robot_id": 1}));
        let tick = client.step(1)["tick"].clone();
        let push = client.push();
        assert_eq!((&push["topic"], &push["tick"]), (&json!("overlays"), &tick), "{framing}");
        let shapes = push["shapes"].as_array().unwrap();
        let of = |plugin: &str| shapes.iter().filter(|shape| shape["plugin"] == plugin).collect::<Vec<_>>();
        let gates = of("race").iter().filter(|shape| shape["kind"] == "rectangle").count();
        assert_eq!(gates, 10, "{framing}: each gate of the track");
        assert!(!of("trajectory_mission").is_empty(), "{framing}: the via point");
        let point = of("trajectory_mission").into_iter().find(|shape| shape["kind"] == "sphere").unwrap();
        assert_eq!(keys(point), ["color", "kind", "plugin", "pose", "size", "width"]);
        client.ok(json!({"cmd": "mission_clear_via_points", "robot_id": 1}));
    }
}

#[test]
fn plugins_tells_the_starts_with_their_counts_and_all_started_once() {
    let scene = Scene::new();
    let go = scene.dir().join("go");
    let scene = scene
        .stress("first", &format!("<trouble slot='create' does='wait' path='{}'/>", go.display()))
        .stress("second", &format!("<trouble slot='create' does='wait' path='{}'/>", go.display()));
    // Free again at once; ports go round, so nobody else gets it in the meantime.
    let addr: SocketAddr = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut args = Host::args(scene.file(), &["manual_move"], &["--paused"]);
    let listen = args.iter().position(|arg| arg == "127.0.0.1:0").unwrap();
    args[listen] = addr.to_string().into();
    let process = Process::start(args);
    let start = Instant::now();
    while std::net::TcpStream::connect(addr).is_err() {
        assert!(start.elapsed() < PATIENCE, "it does not listen\n{}", process.stderr());
        thread::yield_now();
    }
    let mut clients = [Client::json(addr), Client::msgpack(addr)];
    for client in &mut clients {
        subscribe(client, &["plugins"]);
        let present = client.push();
        assert_eq!((&present["event"], &present["total"]), (&json!("present"), &json!(3)), "{present}");
        assert!(present["started"].as_u64() <= Some(1), "two of them wait: {present}");
    }
    std::fs::write(go, "").unwrap();
    for client in &mut clients {
        let mut last = 0;
        loop {
            let push = client.push();
            let started = push["started"].as_u64().unwrap();
            assert!(started >= last && push["total"] == 3, "{push}");
            last = started;
            if push["event"] == "all_started" {
                break;
            }
            assert_eq!(push["event"], "changed", "{push}");
        }
        assert_eq!(last, 3);
        client.ok(json!({"cmd": "sim_step", "ticks": 5}));
        let more = client.kept_pushes();
        assert!(more.is_empty(), "all_started comes once, and last: {more:?}");
        let list = client.ok(json!({"cmd": "plugin_list"}));
        assert_eq!((&list["started"], &list["total"]), (&json!(3), &json!(3)));
    }
}

#[test]
fn a_plugin_that_fails_later_is_told_too() {
    let scene = Scene::new().stress("stress", "<trouble slot='on_tick' does='panic' after='3'/>");
    let host = Host::start(scene.file(), &["manual_move"], &["--paused", "--fast"]);
    let mut client = host.json();
    subscribe(&mut client, &["plugins"]);
    assert_eq!(client.push()["event"], "present");
    client.step(10);
    let push = client.push();
    assert_eq!((&push["event"], &push["plugin"]["name"]), (&json!("changed"), &json!("stress")), "{push}");
    assert_eq!((&push["plugin"]["state"], &push["started"]), (&json!("failed"), &json!(1)), "{push}");
    assert!(push["plugin"]["reason"].as_str().unwrap().contains("asked to panic in on_tick"), "{push}");
}
