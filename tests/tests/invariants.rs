//! What holds whatever plugins and clients do: one reply each, the paths of messages, who wins, when resets come.

use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};
use tickworks_tests::{Client, Host, PATIENCE, Process, Scene, is_at};

fn still() -> Value {
    json!([0, 0, 0, 0, 0, 0])
}

fn scene() -> Scene {
    Scene::new().uav("uav0", [0.0, 0.0, 1.0]).uav("uav1", [0.0, 3.0, 1.0])
}

fn plugin(client: &mut Client, name: &str) -> Value {
    let list = client.ok(json!({"cmd": "plugin_list"}));
    let plugins = list["plugins"].as_array().unwrap();
    plugins.iter().find(|plugin| plugin["name"] == name).unwrap_or_else(|| panic!("{list}")).clone()
}

/// Everything that leads into each slot of the plugin, and what has nothing to do with it.
fn everything(state: &Value) -> Vec<Value> {
    vec![
        json!({"cmd": "sim_subscribe", "topics": ["overlays"]}),
        json!({"cmd": "sim_step", "ticks": 2}),
        json!({"cmd": "stress_echo", "x": 1}),
        json!({"cmd": "stress_move", "robot_id": 1, "control_input": still()}),
        json!({"cmd": "move", "robot_id": 0, "control_input": still()}),
        json!({"cmd": "sim_step"}),
        json!({"cmd": "stress_move", "robot_id": 1, "control_input": still()}),
        json!({"cmd": "move", "robot_id": 0, "control_input": still()}),
        json!({"cmd": "sim_get_state"}),
        json!({"cmd": "stress_calls"}),
        json!({"cmd": "sim_load_state", "state": state}),
        json!({"cmd": "sim_reset"}),
        json!({"cmd": "stress_echo"}),
        json!({"cmd": "robot_get_state", "robot_id": 1}),
        json!({"cmd": "sim_step", "ticks": 3}),
        json!({"cmd": "plugin_list"}),
    ]
}

#[test]
fn i1_a_plugin_that_panics_in_a_slot_leaves_no_request_without_its_one_reply() {
    const SLOTS: [&str; 12] = [
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
    for slot in SLOTS {
        let scene = scene().stress(
            "stress",
            &format!("<trouble slot='{slot}' does='panic'/><trouble slot='before_physics' does='wake'/>"),
        );
        // A panic in on_all_started is a start that fails, which would end the run.
        let host = Host::start(scene.file(), &["manual_move"], &["--paused", "--fast", "--keep-going"]);
        // The state of a world whose plugin is well, to have something to load.
        let well = Host::start(scene_that_is_well(&scene), &["manual_move"], &["--paused"]);
        let state = well.json().ok(json!({"cmd": "sim_get_state"}));
        for (framing, mut client) in host.both() {
            let mut requests = everything(&state);
            for (n, request) in requests.iter_mut().enumerate() {
                request["id"] = json!(n);
            }
            let replies = client.pipeline(&requests);
            for (n, (request, reply)) in requests.iter().zip(&replies).enumerate() {
                assert_eq!(reply["id"], n, "{slot}: {framing}: {request}: {reply}");
                if let Some(error) = reply["error"].as_str() {
                    assert!(error.contains("stress"), "{slot}: {framing}: {request}: {error}");
                }
            }
            // The others have not noticed.
            assert_eq!(
                client.tick_with(&[json!({"cmd": "move", "robot_id": 0, "control_input": still()})])[0]["status"],
                "move_applied"
            );
            let stress = plugin(&mut client, "stress");
            assert_eq!(stress["state"], "failed", "{slot}: {framing}: {stress}");
            let reason = stress["reason"].as_str().unwrap();
            assert!(reason.contains(&format!("asked to panic in {slot}")), "{slot}: {reason}");
            assert_eq!(plugin(&mut client, "manual_move")["state"], "started");
            let error = client.error(json!({"cmd": "stress_echo"}));
            assert!(error.contains("stress") && error.contains("has failed"), "{slot}: {error}");
        }
    }
}

/// The same world with a plugin of the same name that does as it should.
fn scene_that_is_well(beside: &Scene) -> impl AsRef<Path> + use<> {
    let file = beside.dir().join("well.sdf");
    std::fs::copy(scene().stress("stress", "").file(), &file).unwrap();
    file
}

#[test]
fn i1_a_reset_or_another_state_in_the_tick_leaves_no_request_without_its_one_reply() {
    let scene = scene().stress("stress", "");
    let host = Host::start(scene.file(), &["manual_move"], &["--real-time-factor", "50"]);
    let state = host.json().ok(json!({"cmd": "sim_get_state"}));
    /// Lets the others end, also when a check has failed.
    struct Done<'a>(&'a std::sync::atomic::AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }
    let done = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        let _done = Done(&done);
        for changes in [json!({"cmd": "sim_reset"}), json!({"cmd": "sim_load_state", "state": state})] {
            let (host, done) = (&host, &done);
            scope.spawn(move || {
                let mut client = host.msgpack();
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    client.ok(changes.clone());
                }
            });
        }
        for (framing, mut client) in host.both() {
            let requests: Vec<Value> = (0..600)
                .map(|n| match n % 5 {
                    0 => json!({"cmd": "move", "robot_id": 0, "control_input": still(), "id": n}),
                    1 => json!({"cmd": "robot_get_state", "robot_id": 0, "id": n}),
                    2 => json!({"cmd": "stress_move", "robot_id": 1, "control_input": still(), "id": n}),
                    3 => json!({"cmd": "sim_reset", "id": n}),
                    _ => json!({"cmd": "sim_step", "id": n}),
                })
                .collect();
            for (n, reply) in client.pipeline(&requests).iter().enumerate() {
                assert_eq!(reply["id"], n, "{framing}: {reply}");
                assert!(reply.get("error").is_none(), "{framing}: {reply}");
            }
        }
    });
}

#[test]
fn i2_ok_and_err_skip_physics_and_physics_comes_back_with_what_came_of_it() {
    let failing = "<trouble slot='on_message' does='fail' after='4' once='true'/>";
    let scene = scene().stress("stress", failing);
    let host = Host::start(scene.file(), &["manual_move"], &["--paused"]);
    let mut client = host.json();
    let calls = |client: &mut Client| client.ok(json!({"cmd": "stress_calls"}));
    let before = client.state_hash();
    // Time stands, and ok and err are answered all the same: they need no physics.
    let reply = client.ok(json!({"cmd": "stress_echo", "x": [1, 2.5, "z"]}));
    assert_eq!(reply["x"], json!([1, 2.5, "z"]));
    let after_ok = calls(&mut client);
    assert!(after_ok.get("on_response").is_none() && after_ok.get("on_tick").is_none(), "{after_ok}");
    // Physics is what would be refused now, and its owner is told.
    let reply = client.ok(json!({"cmd": "stress_move", "robot_id": 0, "control_input": [0, 0, 0.1, 0, 0, 0]}));
    assert!(reply["outcomes"][0].as_str().unwrap().contains("the simulation is paused"), "{reply}");
    assert_eq!(calls(&mut client)["on_response"], 1);
    let error = client.error(json!({"cmd": "stress_move", "robot_id": 0, "control_input": [0, 0, 0.1, 0, 0, 0]}));
    assert!(error.contains("asked to fail in on_message"), "{error}");
    assert_eq!(calls(&mut client)["on_response"], 1, "an err has no outcome");
    assert_eq!(client.state_hash(), before);

    // In a tick, in which all kinds come together, each goes its own way.
    let replies = client.tick_with(&[
        json!({"cmd": "stress_echo", "x": 1}),
        json!({"cmd": "stress_move", "robot_id": 0, "control_input": [0, 0, 0.1, 0, 0, 0]}),
        json!({"cmd": "stress_echo", "x": 2}),
    ]);
    assert_eq!((&replies[0]["x"], &replies[2]["x"]), (&json!(1), &json!(2)));
    assert!(replies[1]["outcomes"][0].as_str().unwrap().starts_with("Applied"), "{}", replies[1]);
    assert!(is_at(&client.robot(0), [0.1, 0.0, 1.0], 1e-9));
    assert_eq!(calls(&mut client)["on_response"], 2);
}

#[test]
fn i4_the_later_plugin_in_the_order_is_the_stronger_one() {
    for (plugins, stress_wins) in [(["manual_move", "stress"], true), (["stress", "manual_move"], false)] {
        let scene = scene();
        let host = Host::start(scene.file(), &plugins, &["--paused"]);
        for (framing, mut client) in host.both() {
            client.ok(json!({"cmd": "sim_reset"}));
            let up = json!({"cmd": "stress_move", "robot_id": 0, "control_input": [0, 0.1, 0, 0, 0, 0]});
            let ahead = json!({"cmd": "move", "robot_id": 0, "control_input": [0, 0, 0.1, 0, 0, 0]});
            // In whichever order they come.
            for (n, order) in [[&up, &ahead], [&ahead, &up]].into_iter().enumerate() {
                let replies = client.tick_with(&order.map(Clone::clone));
                let (by_stress, by_move) = if n == 0 { (&replies[0], &replies[1]) } else { (&replies[1], &replies[0]) };
                let outcome = by_stress["outcomes"][0].as_str().unwrap();
                if stress_wins {
                    assert!(outcome.starts_with("Applied"), "{framing}: {outcome}");
                    assert_eq!(by_move["status"], "move_not_applied", "{framing}: {by_move}");
                    assert!(by_move["reason"].as_str().unwrap().contains("stress"), "{by_move}");
                } else {
                    assert!(
                        outcome.starts_with("Overridden") && outcome.contains("manual_move"),
                        "{framing}: {outcome}"
                    );
                    assert_eq!(by_move["status"], "move_applied", "{framing}: {by_move}");
                }
            }
            let expected = if stress_wins { [0.0, 0.0, 1.2] } else { [0.2, 0.0, 1.0] };
            assert!(is_at(&client.robot(0), expected, 1e-9), "{framing}: {}", client.robot(0));
        }
    }
}

/// A host that is still starting: its plugin waits for the file `go` in the scene's folder.
struct Starting {
    process: Process,
    addr: SocketAddr,
    scene: Scene,
}

impl Starting {
    fn new(troubles: &str, args: &[&str]) -> Self {
        let scene = scene();
        let wait = format!("<trouble slot='create' does='wait' path='{}'/>", scene.dir().join("go").display());
        let scene = scene.stress("stress", &format!("{wait}{troubles}"));
        // Free again at once; ports go round, so nobody else gets it in the meantime.
        let addr = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut all = Host::args(scene.file(), &["manual_move"], args);
        let listen = all.iter().position(|arg| arg == "127.0.0.1:0").unwrap();
        all[listen] = addr.to_string().into();
        Self { process: Process::start(all), addr, scene }
    }

    fn connect(&self, framing: fn(SocketAddr) -> Client) -> Client {
        let start = Instant::now();
        while std::net::TcpStream::connect(self.addr).is_err() {
            assert!(start.elapsed() < PATIENCE, "it does not listen\n{}", self.process.stderr());
            thread::yield_now();
        }
        framing(self.addr)
    }

    fn go(&self) {
        std::fs::write(self.scene.dir().join("go"), "").unwrap();
    }
}

#[test]
fn i7_a_reset_during_a_start_comes_right_after_it_and_before_the_first_tick() {
    let starting = Starting::new("", &["--fast"]);
    let [mut first, mut second] = [Client::json, Client::msgpack].map(|framing| starting.connect(framing));
    let mut watcher = starting.connect(Client::json);
    assert_eq!(watcher.ok(json!({"cmd": "sim_get_info"}))["stage"], "starting");
    for client in [&mut first, &mut second] {
        client.send(&json!({"cmd": "sim_reset"}));
        client.send(&json!({"cmd": "robot_get_state", "robot_id": 0}));
    }
    // Both have arrived when these have, for what a connection sends arrives in order and nothing overtakes within it.
    let before = watcher.ok(json!({"cmd": "sim_get_info"}));
    assert_eq!((&before["stage"], &before["epoch"], &before["tick"]), (&json!("starting"), &json!(0), &json!(0)));
    let error = watcher.error(json!({"cmd": "stress_echo"}));
    assert!(error.contains("1 of 2 plugins have started"), "{error}");
    assert!(watcher.error(json!({"cmd": "sim_step"})).contains("still starting"));
    starting.go();
    for client in [&mut first, &mut second] {
        let reply = client.reply();
        assert_eq!(reply["status"], "reset", "{reply}");
        assert_eq!(client.reply()["robot"]["name"], "uav0");
    }
    let order = watcher.ok(json!({"cmd": "stress_order"}))["order"].take();
    let order: Vec<&str> = order.as_array().unwrap().iter().map(|slot| slot.as_str().unwrap()).collect();
    assert!(order.starts_with(&["create", "created", "on_all_started", "on_reset"]), "{order:?}");
    assert!(!order[4..].contains(&"on_reset"), "once: {order:?}");
    assert_eq!(watcher.ok(json!({"cmd": "sim_get_info"}))["epoch"], 1);
}

#[test]
fn i7_a_reset_that_fails_after_a_start_is_named_in_the_reply() {
    let starting = Starting::new("<trouble slot='on_reset' does='fail'/>", &["--paused"]);
    let mut client = starting.connect(Client::json);
    assert_eq!(client.ok(json!({"cmd": "sim_get_info"}))["stage"], "starting");
    client.send(&json!({"cmd": "sim_reset"}));
    let mut watcher = starting.connect(Client::json);
    assert_eq!(watcher.ok(json!({"cmd": "sim_get_info"}))["stage"], "starting");
    starting.go();
    let reply = client.reply();
    assert_eq!(reply["status"], "reset");
    assert!(reply["failed"]["stress"].as_str().unwrap_or_default().contains("asked to fail in on_reset"), "{reply}");
    // As at any other time.
    let reply = client.ok(json!({"cmd": "sim_reset"}));
    assert!(reply["failed"]["stress"].as_str().unwrap().contains("asked to fail in on_reset"), "{reply}");
    assert_eq!(plugin(&mut client, "stress")["state"], "started");
}

#[test]
fn i8_what_a_plugin_commands_may_be_garbage_and_costs_nobody_anything() {
    let troubles = ["on_tick", "before_physics", "draw", "on_message", "on_response"]
        .map(|slot| format!("<trouble slot='{slot}' does='garbage'/>"))
        .concat();
    let scene = scene().stress("stress", &troubles);
    let host = Host::start(scene.file(), &["manual_move"], &["--paused", "--fast"]);
    for (framing, mut client) in host.both() {
        client.ok(json!({"cmd": "sim_subscribe", "topics": ["overlays"]}));
        client.step(20);
        let error = client.error(json!({"cmd": "stress_echo"}));
        assert!(error.contains("must be a JSON object"), "{framing}: {error}");
        client.error(json!({"cmd": "stress_move", "robot_id": 0, "control_input": still()}));
        let ahead = json!({"cmd": "move", "robot_id": 0, "control_input": [0, 0, 0.1, 0, 0, 0]});
        assert_eq!(client.tick_with(&[ahead])[0]["status"], "move_applied", "{framing}");
        client.ok(json!({"cmd": "sim_reset"}));
        assert!(is_at(&client.robot(0), [0.0, 0.0, 1.0], 1e-9));
    }
}
