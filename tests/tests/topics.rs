//! The pace that `sim_set_rate` sets.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tickworks_tests::{Client, Host, PATIENCE, Scene};

fn subscribe(client: &mut Client, request: Value) {
    let mut whole = json!({"cmd": "sim_subscribe"});
    for (key, value) in request.as_object().unwrap() {
        whole[key] = value.clone();
    }
    assert_eq!(client.ok(whole)["status"], "subscribed");
}

#[test]
fn the_pace_is_set_while_it_runs_and_while_it_stands() {
    let host = Host::start(Scene::new().file(), &["manual_move"], &["--real-time-factor", "0.5"]);
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
