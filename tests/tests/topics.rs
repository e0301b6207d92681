//! The topics `state` and `logs`, and the pace that `sim_set_rate` sets.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tickworks_tests::{Client, Host, PATIENCE, Scene, keys};

const FAST: [&str; 2] = ["--paused", "--fast"];

/// A UAV, a box that falls, a pendulum that hangs in its own frame, a model in a model, and something static.
fn scene() -> Scene {
    let ball = "<link name='l'><collision name='c'><geometry><sphere><radius>0.1</radius></sphere></geometry>\
                </collision></link>";
    Scene::new()
        .uav("uav0", [0.0, 0.0, 1.0])
        .with(&format!("<model name='box'><pose>5 0 9 0 0 0</pose>{ball}</model>"))
        .with(
            "<model name='pendulum'><pose>0 9 5 0 0 0</pose><link name='l'><inertial><pose>1 0 0 0 0 0</pose></inertial></link>\
             <joint name='j' type='revolute'><parent>world</parent><child>l</child><axis><xyz>0 1 0</xyz></axis></joint></model>",
        )
        .with(&format!(
            "<model name='outer'><pose>9 9 9 0 0 0</pose>{ball}<model name='inner'><pose>1 0 0 0 0 0</pose>{ball}</model>\
             <joint name='j' type='fixed'><parent>l</parent><child>inner::l</child></joint></model>"
        ))
        .with("<model name='wall'><static>true</static><pose>0 -9 0 0 0 0</pose><link name='l'/></model>")
}

fn subscribe(client: &mut Client, request: Value) {
    let mut whole = json!({"cmd": "sim_subscribe"});
    for (key, value) in request.as_object().unwrap() {
        whole[key] = value.clone();
    }
    assert_eq!(client.ok(whole)["status"], "subscribed");
}

fn names(push: &Value) -> Vec<&str> {
    push["models"].as_array().unwrap().iter().map(|model| model["name"].as_str().unwrap()).collect()
}

/// The numbers of a field of a model.
fn numbers(push: &Value, model: &str, field: &str) -> Vec<f64> {
    let models = push["models"].as_array().unwrap();
    let found = models.iter().find(|row| row["name"] == model).unwrap_or_else(|| panic!("no {model} in {push}"));
    found[field].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// Nothing has come that has not been asked for.
fn is_silent(client: &mut Client) -> bool {
    client.ok(json!({"cmd": "sim_get_info"}));
    client.kept_pushes().is_empty()
}

#[test]
fn state_is_what_is_there_at_once_and_after_each_change() {
    let host = Host::start(scene().file(), &["manual_move"], &FAST);
    for (framing, mut client) in host.both() {
        let epoch = client.ok(json!({"cmd": "sim_get_info"}))["epoch"].as_u64().unwrap();
        client.ok(json!({"cmd": "connect"}));
        subscribe(&mut client, json!({"topics": ["state"]}));
        let first = client.push();
        assert_eq!(keys(&first), ["epoch", "models", "sim_time", "tick", "topic"], "{framing}");
        assert_eq!((&first["topic"], &first["tick"], &first["epoch"]), (&json!("state"), &json!(0), &json!(epoch)));
        assert_eq!(names(&first), ["uav0", "box", "pendulum", "outer"], "{framing}: nothing static, nothing inside");
        assert_eq!(numbers(&first, "box", "pose"), [5.0, 0.0, 9.0, 0.0, 0.0, 0.0, 1.0]);
        assert!(is_silent(&mut client), "{framing}: once is enough while nothing changes");

        let forward = json!({"cmd": "move", "control_input": [0, 0, 0.05, 0, 0, 0]});
        assert_eq!(client.tick_with(&[forward])[0]["status"], "move_applied");
        let push = client.push();
        assert_eq!((&push["tick"], numbers(&push, "uav0", "velocity")[0]), (&json!(1), 3.0), "{framing}: {push}");
        assert!((numbers(&push, "uav0", "pose")[0] - 0.05).abs() < 1e-9);

        client.step(29);
        let mut push = client.push();
        while push["tick"] != 30 {
            push = client.push();
        }
        let (fall, swing) = (numbers(&push, "box", "velocity"), numbers(&push, "pendulum", "velocity"));
        assert!((fall[2] + 4.9).abs() < 0.2, "{framing}: half a second of gravity: {fall:?}");
        assert!(swing[4] > 1.0, "{framing}: {swing:?}");
        let linear = swing[..3].iter().map(|v| v * v).sum::<f64>().sqrt();
        assert!(linear < 0.05, "{framing}: its frame hangs where it is, however its mass moves: {swing:?}");

        let state = client.ok(json!({"cmd": "sim_get_state"}));
        client.ok(json!({"cmd": "sim_reset"}));
        let push = client.push();
        assert_eq!((&push["tick"], &push["epoch"]), (&json!(0), &json!(epoch + 1)), "{framing}: after a reset");
        assert_eq!(push["models"], first["models"]);
        client.ok(json!({"cmd": "sim_load_state", "state": state}));
        let push = client.push();
        assert_eq!((&push["tick"], numbers(&push, "box", "velocity")), (&json!(30), fall), "{framing}: a loaded state");

        client.ok(json!({"cmd": "sim_teleport", "model": "box", "pose": [5, 5, 5, 0, 0, 0]}));
        assert_eq!(numbers(&client.push(), "box", "pose")[..3], [5.0, 5.0, 5.0], "{framing}");
        client.ok(json!({"cmd": "sim_spawn", "sdf": "<model name='new'><link name='l'/></model>"}));
        let push = client.push();
        assert!(names(&push).contains(&"new"), "{framing}: {push}");
        client.ok(json!({"cmd": "sim_remove", "model": "new"}));
        assert!(!names(&client.push()).contains(&"new"));
        client.ok(json!({"cmd": "sim_reset"}));
        client.ok(json!({"cmd": "sim_unsubscribe", "topics": ["state"]}));
        client.kept_pushes();
        client.step(1);
        assert!(is_silent(&mut client), "{framing}");
        client.ok(json!({"cmd": "sim_reset"}));
        client.leave();
    }
}

#[test]
fn each_session_has_its_own_models() {
    let host = Host::start(scene().file(), &["manual_move"], &FAST);
    let (mut first, mut second) = (host.json(), host.msgpack());
    subscribe(&mut first, json!({"topics": ["state"], "models": ["wall", "outer::inner", "wall"]}));
    subscribe(&mut second, json!({"topics": ["state"], "models": ["box"]}));
    let push = first.push();
    assert_eq!(names(&push), ["wall", "outer::inner"]);
    assert_eq!(numbers(&push, "wall", "pose")[..3], [0.0, -9.0, 0.0]);
    assert_eq!(numbers(&push, "outer::inner", "pose")[..3], [10.0, 9.0, 9.0]);
    assert_eq!(names(&second.push()), ["box"]);
    first.step(1);
    assert_eq!(names(&first.push()), ["wall", "outer::inner"]);
    assert_eq!(names(&second.push()), ["box"]);
    // Once more replaces the list.
    subscribe(&mut second, json!({"topics": ["sim", "state"], "models": ["uav0"], "rate_hz": 1000}));
    assert_eq!(names(&second.push_of("state")), ["uav0"]);
    // One that goes is left out, and is there again when it comes again.
    first.ok(json!({"cmd": "sim_remove", "model": "outer"}));
    assert_eq!(names(&first.push()), ["wall"]);
    first.ok(json!({"cmd": "sim_reset"}));
    assert_eq!(names(&first.push()), ["wall", "outer::inner"]);
}

#[test]
fn what_cannot_be_subscribed_to_is_said_and_nothing_is_subscribed() {
    let host = Host::start(scene().file(), &["manual_move"], &FAST);
    for (framing, mut client) in host.both() {
        for (request, words) in [
            (json!({"topics": ["state"], "models": ["box", "uav1"]}), &["'uav1'", "did you mean 'uav0'"][..]),
            (json!({"topics": ["sim", "state"], "models": ["outer::iner"]}), &["'outer::iner'", "'outer::inner'"]),
            (json!({"topics": ["state"], "models": ["elephant"]}), &["'elephant'", "uav0, box"]),
            (json!({"topics": ["state"], "models": []}), &["models is empty"]),
            (json!({"topics": ["state"], "models": "box"}), &["models"]),
            (json!({"topics": ["state"], "modles": ["box"]}), &["modles", "did you mean 'models'"]),
            (json!({"topics": ["sim"], "models": ["box"]}), &["models", "state", "sim"]),
            (json!({"topics": ["sim"], "level": "warn"}), &["level", "logs"]),
            (json!({"topics": ["logs"], "level": "loud"}), &["level", "loud", "warn"]),
            (json!({"topics": ["state"], "rate_hz": 0}), &["rate_hz", "0"]),
            (json!({"topics": ["stat"]}), &["did you mean 'state'"]),
        ] {
            let mut whole = request.clone();
            whole["cmd"] = json!("sim_subscribe");
            let error = client.error(whole);
            assert!(words.iter().all(|word| error.contains(word)), "{framing}: {request}: {error}");
        }
        client.step(1);
        assert!(is_silent(&mut client), "{framing}");
    }
}

#[test]
fn a_rate_is_kept_and_those_who_want_the_same_are_shown_the_same() {
    let host = Host::start(scene().file(), &["manual_move"], &[]);
    let (mut first, mut second) = (host.json(), host.json());
    let request = json!({"topics": ["state", "overlays"], "rate_hz": 5});
    subscribe(&mut first, request.clone());
    subscribe(&mut second, request);
    let begin = Instant::now();
    let ticks = |client: &mut Client| -> Vec<u64> {
        (0..5).map(|_| client.push_of("state")["tick"].as_u64().unwrap()).collect()
    };
    let (a, b) = (ticks(&mut first), ticks(&mut second));
    let took = begin.elapsed();
    assert!(took >= Duration::from_millis(700), "four intervals of 200 ms: {took:?}");
    assert!(a.windows(2).all(|pair| pair[0] < pair[1]), "{a:?}");
    assert!(a[1..].iter().filter(|tick| b.contains(tick)).count() >= 2, "{a:?} and {b:?} come from one mould");
}

#[test]
fn who_does_not_read_gets_the_newest_in_the_end_and_slows_nobody() {
    let host = Host::start(scene().file(), &["manual_move"], &["--fast"]);
    let mut driver = host.json();
    // A list that is long on the wire.
    driver.ok(json!({"cmd": "sim_pause"}));
    for n in 0..200 {
        let sdf = "<model name='m'><link name='l'><gravity>false</gravity></link></model>";
        let name = format!("{}{n}", "long_name_".repeat(20));
        driver.ok(json!({"cmd": "sim_spawn", "sdf": sdf, "name": name, "pose": [n, 50, 50, 0, 0, 0]}));
    }
    let mut stalled: Vec<Client> = host.both().into_iter().map(|(_, client)| client).collect();
    for client in &mut stalled {
        subscribe(client, json!({"topics": ["state"]}));
    }
    driver.step(5000);
    let last = driver.step(1)["tick"].as_u64().unwrap();
    for client in &mut stalled {
        let mut before = None;
        loop {
            let push = client.push();
            let tick = push["tick"].as_u64();
            assert!(tick >= before, "a later one replaces an earlier one, never the other way round");
            if tick == Some(last) {
                break;
            }
            before = tick;
        }
        assert!(is_silent(client));
    }
}

#[test]
fn logs_are_told_with_their_level_and_where_they_come_from() {
    let scene = Scene::new().stress("stress", "<trouble slot='on_tick' does='log'/>");
    let host = Host::start(scene.file(), &["manual_move"], &FAST);
    for (framing, mut client) in host.both() {
        let mut strict = host.json();
        subscribe(&mut strict, json!({"topics": ["logs"], "level": "error"}));
        subscribe(&mut client, json!({"topics": ["logs"]}));
        let tick = client.step(1)["tick"].clone();
        let push = client.push();
        assert_eq!(keys(&push), ["level", "message", "plugin", "target", "tick", "topic"], "{framing}: {push}");
        assert_eq!(
            (&push["topic"], &push["level"], &push["plugin"]),
            (&json!("logs"), &json!("warn"), &json!("stress"))
        );
        assert_eq!((&push["tick"], &push["target"]), (&tick, &json!("plugin")), "{push}");
        assert!(push["message"].as_str().unwrap().contains("on_tick was called"), "{push}");
        client.ok(json!({"cmd": "sim_unsubscribe", "topics": ["logs"]}));
        client.kept_pushes();
        client.step(1);
        assert!(is_silent(&mut client) && is_silent(&mut strict), "{framing}");
        client.leave();
    }
    host.process().error_line(|line| line.contains("WARN") && line.contains("on_tick was called"));
}

#[test]
fn a_log_of_another_thread_is_told_while_time_stands() {
    let scene = scene();
    let token = scene.dir().join("token");
    std::fs::write(&token, "secret").unwrap();
    let args = ["--paused", "--token-file", token.to_str().unwrap()];
    let host = Host::start(scene.file(), &["manual_move"], &args);
    let mut client = host.json();
    client.ok(json!({"cmd": "auth", "token": "secret"}));
    subscribe(&mut client, json!({"topics": ["logs"], "level": "warn"}));
    host.json().error(json!({"cmd": "auth", "token": "guess"}));
    let push = client.push();
    assert_eq!((&push["level"], push.get("plugin")), (&json!("warn"), None), "{push}");
    assert!(push["target"].as_str().unwrap().contains("net"), "{push}");
    assert!(push["message"].as_str().unwrap().contains("did not authenticate"), "{push}");
}

#[test]
fn logs_beyond_what_fits_are_counted() {
    const EACH: u64 = 1500;
    let scene = Scene::new().stress("stress", &"<trouble slot='on_tick' does='log'/>".repeat(EACH as usize));
    let host = Host::start(scene.file(), &["manual_move"], &FAST);
    let mut client = host.json();
    subscribe(&mut client, json!({"topics": ["logs"]}));
    let (mut told, mut missed, mut ticks) = (0, 0, 0);
    // What was missed at the end is told by the next one: one more tick, until all are accounted for but the last gap.
    for _ in 0..3 {
        client.step(1);
        ticks += 1;
        client.ok(json!({"cmd": "sim_get_info"}));
        for push in client.kept_pushes() {
            told += 1;
            missed += push["missed"].as_u64().unwrap_or(0);
        }
    }
    assert!(missed > 0 && told > 0);
    let gap = EACH * ticks - told - missed;
    assert!(gap < EACH, "{told} told and {missed} missed of {}: only the last gap is open", EACH * ticks);
}

#[test]
fn the_pace_is_set_while_it_runs_and_while_it_stands() {
    let host = Host::start(scene().file(), &["manual_move"], &["--real-time-factor", "0.5"]);
    for (framing, mut client) in host.both() {
        let info = |client: &mut Client| client.ok(json!({"cmd": "sim_get_info"}));
        let set = |client: &mut Client, factor: Value| {
            let reply = client.ok(json!({"cmd": "sim_set_rate", "real_time_factor": factor.clone()}));
            assert_eq!((&reply["status"], reply["real_time_factor"].as_f64()), (&json!("rate_set"), factor.as_f64()));
        };
        set(&mut client, json!(0.5));
        assert_eq!(info(&mut client)["target_real_time_factor"], 0.5, "{framing}");
        subscribe(&mut client, json!({"topics": ["sim"]}));
        assert_eq!(client.push()["event"], "present");

        // As fast as possible: a minute of simulated time in far less than a minute.
        set(&mut client, json!(0));
        let push = client.push();
        assert_eq!((&push["event"], push["real_time_factor"].as_f64()), (&json!("rate"), Some(0.0)), "{push}");
        let begin = Instant::now();
        let start = info(&mut client)["tick"].as_u64().unwrap();
        while info(&mut client)["tick"].as_u64().unwrap() < start + 3600 {
            assert!(begin.elapsed() < PATIENCE, "{framing}: it does not run");
        }
        // Slow: some 0.6 ticks in a tenth of a second, and none to make up for.
        set(&mut client, json!(0.1));
        assert_eq!(client.push()["real_time_factor"], 0.1);
        let before = info(&mut client)["tick"].as_u64().unwrap();
        let begin = Instant::now();
        std::thread::sleep(Duration::from_millis(500));
        let after = info(&mut client)["tick"].as_u64().unwrap();
        let most = (begin.elapsed().as_secs_f64() * 6.0) as u64 + 2;
        assert!((before + 1..=before + most).contains(&after), "{framing}: from {before} to {after}");

        client.ok(json!({"cmd": "sim_pause"}));
        assert_eq!(client.push()["event"], "paused");
        set(&mut client, json!(1000));
        assert_eq!(client.push()["event"], "rate");
        let standing = info(&mut client);
        assert_eq!((&standing["paused"], &standing["target_real_time_factor"]), (&json!(true), &json!(1000.0)));
        assert_eq!(client.ok(json!({"cmd": "sim_pause"}))["tick"], standing["tick"], "{framing}: a pause stays");
        for factor in [json!(-1), json!(0.0001), json!(1000.5), json!(1e300)] {
            let error = client.error(json!({"cmd": "sim_set_rate", "real_time_factor": factor}));
            assert!(error.contains("0.001 to 1000") && error.contains("real_time_factor"), "{framing}: {error}");
        }
        client.error(json!({"cmd": "sim_set_rate"}));
        client.error(json!({"cmd": "sim_set_rate", "real_time_factor": "fast"}));
        assert_eq!(info(&mut client)["target_real_time_factor"], 1000.0);
        assert!(client.kept_pushes().is_empty());
        set(&mut client, json!(0.5));
        client.ok(json!({"cmd": "sim_resume"}));
        client.kept_pushes();
    }
}
