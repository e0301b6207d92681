//! What clients of the protocol rely on, one test for each rule, named after what it says.

use rmpv::Value as Packed;
use serde_json::{Value, json};
use tickworks_tests::{Client, Host, fields, keys};

const ALL: [&str; 3] = ["manual_move", "trajectory_mission", "race"];

fn arena() -> Host {
    Host::start("arena.sdf", &ALL, &["--paused"])
}

fn is_local_time(text: &str) -> bool {
    // 2031-05-17T12:34:56 or with a fraction; nothing after it, so no zone.
    let (date, fraction) = text.split_at_checked(19).unwrap_or((text, ""));
    let shape: String = date.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let digits = fraction.strip_prefix('.').unwrap_or("0");
    shape == "0000-00-00T00:00:00" && !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
}

#[test]
fn n_requests_that_are_sent_before_the_first_reply_is_read_are_answered_in_their_order() {
    let host = arena();
    for (framing, mut client) in host.both() {
        client.ok(json!({"cmd": "connect"}));
        let kinds = [
            json!({"cmd": "robot_get_state"}),
            json!({"cmd": "sim_step"}),
            json!({"cmd": "move", "control_input": [0, 0, 0.01, 0, 0, 0]}),
            json!({"cmd": "mission_get_state"}),
            json!({"cmd": "move", "control_input": "wrong"}),
            json!({"cmd": "sim_get_info"}),
            json!({"cmd": "nothing_like_it"}),
            json!({"no_cmd": true}),
        ];
        let requests: Vec<Value> = (0..2000)
            .map(|n| {
                let mut request = kinds[n % kinds.len()].clone();
                request["id"] = json!(n);
                request
            })
            .collect();
        let replies = client.pipeline(&requests);
        for (n, reply) in replies.iter().enumerate() {
            assert_eq!(reply["id"], n, "{framing}: {reply}");
        }
    }
}

#[test]
fn every_reply_has_a_timestamp_of_local_time_without_a_zone() {
    let host = arena();
    for (framing, mut client) in host.both() {
        client.ok(json!({"cmd": "connect"}));
        for request in [
            json!({"cmd": "robot_get_state"}),
            json!({"cmd": "sim_get_state"}),
            json!({"cmd": "move"}),
            json!({"cmd": "unknown"}),
            json!({}),
            json!([1]),
        ] {
            let reply = client.request(request);
            let timestamp = reply["timestamp"].as_str().unwrap_or_else(|| panic!("{framing}: {reply}"));
            assert!(is_local_time(timestamp), "{framing}: {timestamp}");
        }
    }
}

#[test]
fn numbers_may_be_integers_or_floats() {
    // Two gates, so that a race can be started.
    let host = Host::start("race.sdf", &ALL, &["--paused"]);
    for (framing, mut client) in host.both() {
        for robot in [json!(1), json!(1.0)] {
            assert_eq!(client.ok(json!({"cmd": "robot_get_state", "robot_id": robot}))["robot"]["id"], 1, "{framing}");
            assert_eq!(client.ok(json!({"cmd": "connect", "robot_id": robot}))["id"], 1);
        }
        for zero in [json!(0), json!(0.0)] {
            let replies = client.tick_with(&[json!({"cmd": "move", "control_input": [zero, 0, 0.0, 0, zero, 0.0]})]);
            assert_eq!(replies[0]["status"], "move_applied", "{framing}: {replies:?}");
        }
        for ticks in [json!(2), json!(2.0)] {
            let before = client.ok(json!({"cmd": "sim_get_info"}))["tick"].as_u64().unwrap();
            let reply = client.ok(json!({"cmd": "sim_step", "ticks": ticks}));
            assert_eq!(reply["tick"], before + 2, "{framing}");
        }
        for (one, three) in [(json!(1), json!(3)), (json!(1.0), json!(3.0))] {
            let reply =
                client.ok(json!({"cmd": "race_start", "laps": one, "countdown": three, "robots": [one, three]}));
            assert_eq!((&reply["laps"], &reply["robots"]), (&json!(1), &json!([1, 3])), "{framing}");
            client.ok(json!({"cmd": "race_stop"}));
            client.ok(json!({"cmd": "sim_subscribe", "topics": ["race"], "rate_hz": three}));
            client.ok(json!({"cmd": "sim_unsubscribe", "topics": ["race"]}));
            client.ok(json!({"cmd": "mission_add_via_point",
                "pose": [[one, 0, 0.0, 0], [0, one, 0, 0], [0, 0, one, three], [0, 0, 0, one]]}));
            client.ok(json!({"cmd": "mission_start", "trajectory": [[0, 0.0, 0, 0.0, 0, 0]]}));
            client.ok(json!({"cmd": "mission_stop"}));
        }
        // A client without integers sends a state back with floats only.
        let mut state = client.ok(json!({"cmd": "sim_get_state"}));
        into_floats(&mut state);
        assert_eq!(client.ok(json!({"cmd": "sim_load_state", "state": state}))["status"], "loaded", "{framing}");
        client.leave();
    }
}

fn into_floats(value: &mut Value) {
    match value {
        Value::Number(number) => *value = json!(number.as_f64().unwrap()),
        Value::Array(items) => items.iter_mut().for_each(into_floats),
        Value::Object(entries) => entries.values_mut().for_each(into_floats),
        _ => {}
    }
}

#[test]
fn limits_that_come_back_rounded_to_float32_are_accepted() {
    for world in ["arena.sdf", "ground.sdf", "race.sdf"] {
        let host = Host::start(world, &ALL, &["--paused"]);
        for (framing, mut client) in host.both() {
            let info = client.ok(json!({"cmd": "sim_get_info"}));
            for id in 0..info["robots"].as_array().unwrap().len() as u64 {
                let robot = client.robot(id);
                let limits =
                    if robot["type"] == "UAVLevel2" { &robot["max_accelerations"] } else { &robot["max_velocities"] };
                #[expect(clippy::cast_possible_truncation, reason = "what a client with float32 does")]
                let rounded = |sign: f32| -> Vec<f64> {
                    limits.as_array().unwrap().iter().map(|x| f64::from(sign * x.as_f64().unwrap() as f32)).collect()
                };
                for input in [rounded(1.0), rounded(-1.0)] {
                    let request = json!({"cmd": "move", "robot_id": id, "control_input": input});
                    let replies = client.tick_with(&[request]);
                    assert_eq!(replies[0]["status"], "move_applied", "{framing}: {world}: {replies:?}");
                    let trajectory = json!({"cmd": "mission_start", "robot_id": id, "trajectory": [input]});
                    client.ok(trajectory);
                    client.step(2);
                }
            }
        }
    }
}

#[test]
fn pose_is_a_nested_4x4_of_left_up_forward_and_position() {
    let host = arena();
    for (_, mut client) in host.both() {
        // It stands at (-8, 1.5, 1) and faces +x: left is +y, up is +z, forward is +x.
        let expected = [[0.0, 0.0, 1.0, -8.0], [1.0, 0.0, 0.0, 1.5], [0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]];
        let pose = client.robot(0)["pose"].take();
        let rows = pose.as_array().unwrap();
        assert_eq!(rows.len(), 4);
        for (row, expected) in rows.iter().zip(expected) {
            let row: Vec<f64> = row.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
            assert_eq!(row.len(), 4);
            assert!(row.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{pose}");
        }
    }
}

#[test]
fn a_robot_has_max_velocities_or_max_accelerations_and_drag_coefficient_by_its_type() {
    const COMMON: [&str; 8] = ["colliding", "id", "name", "pose", "sim_time", "tick", "type", "velocity"];
    let with = |more: &[&'static str]| {
        let mut all = [&COMMON[..], more].concat();
        all.sort_unstable();
        all
    };
    let (level_1, level_2) = (with(&["max_velocities"]), with(&["max_accelerations", "drag_coefficient"]));
    let host = arena();
    for (_, mut client) in host.both() {
        let robot = client.robot(0);
        assert_eq!((keys(&robot), &robot["type"]), (level_1.clone(), &json!("UAVLevel1")));
        assert_eq!(robot["max_velocities"], json!([0.05, 0.05, 0.05, 0.04, 0.04, 0.04]));
        assert_eq!(robot["velocity"].as_array().unwrap().len(), 6);
        let robot = client.robot(2);
        assert_eq!((keys(&robot), &robot["type"]), (level_2.clone(), &json!("UAVLevel2")));
        assert_eq!(robot["max_accelerations"].as_array().unwrap().len(), 6);
        assert_eq!(robot["drag_coefficient"], 0.8);
    }
    let host = Host::start("ground.sdf", &ALL, &["--paused"]);
    let robot = host.json().robot(0);
    assert_eq!((keys(&robot), &robot["type"]), (level_1, &json!("DiffDrive")));
    assert_eq!(robot["max_velocities"], json!([1.2, 2.5]));
    assert_eq!(robot["velocity"].as_array().unwrap().len(), 2);
}

#[test]
fn a_second_connection_that_never_sends_connect_reads_with_robot_id() {
    let host = arena();
    let mut first = host.msgpack();
    assert_eq!(first.ok(json!({"cmd": "connect", "robot_id": 0}))["id"], 0);
    for (_, mut second) in host.both() {
        assert_eq!(second.robot(0)["name"], "uav0");
        assert_eq!(second.ok(json!({"cmd": "mission_get_state", "robot_id": 0}))["robot_id"], 0);
        let error = second.error(json!({"cmd": "robot_get_state"}));
        assert!(error.contains("no robot_id") && error.contains("connect"), "{error}");
        let input = [0, 0, 0, 0, 0, 0];
        for request in [
            json!({"cmd": "move", "robot_id": 0, "control_input": input}),
            json!({"cmd": "mission_start", "robot_id": 0, "trajectory": [input]}),
            json!({"cmd": "mission_add_via_point", "robot_id": 0}),
            json!({"cmd": "mission_clear_via_points", "robot_id": 0}),
            json!({"cmd": "mission_stop", "robot_id": 0}),
        ] {
            let error = second.error(request);
            assert!(error.contains("robot 0 belongs to another connection"), "{error}");
        }
    }
}

#[test]
fn the_robots_of_sim_get_state_have_text_keys() {
    let host = arena();
    let mut client = host.msgpack();
    client.send(&json!({"cmd": "sim_get_state"}));
    let reply = client.packed_reply();
    let field = |map: &Packed, name: &str| -> Packed {
        let entry = map.as_map().unwrap().iter().find(|(key, _)| key.as_str() == Some(name));
        entry.unwrap_or_else(|| panic!("{map} has no {name}")).1.clone()
    };
    let robots = field(&reply, "robots");
    let keys: Vec<_> = robots.as_map().unwrap().iter().map(|(key, _)| key.as_str().expect("text")).collect();
    assert_eq!(keys, ["0", "1", "2"]);
    assert_eq!(field(&field(&robots, "2"), "name").as_str(), Some("uav2"));
}

#[test]
fn an_error_of_move_carries_the_robot_with_its_limits() {
    let host = arena();
    for (framing, mut client) in host.both() {
        client.ok(json!({"cmd": "connect"}));
        for (input, expected) in [
            (json!({}), "control_input not provided"),
            (json!({"control_input": [0, 0, 0]}), "has 3 numbers"),
            (json!({"control_input": [0, 0, 1, 0, 0, 0]}), "over the limit"),
            (json!({"control_input": [0, 0, "a", 0, 0, 0]}), "expected a number"),
        ] {
            let mut request = input;
            request["cmd"] = json!("move");
            let reply = client.request(request);
            assert!(reply["error"].as_str().unwrap().contains(expected), "{framing}: {reply}");
            assert_eq!(fields(&reply), ["error", "robot"]);
            assert_eq!(reply["robot"]["max_velocities"][0], 0.05);
        }
        client.leave();
    }
}

#[test]
fn an_id_comes_back_unchanged_and_not_otherwise() {
    let host = arena();
    let mut client = host.json();
    for id in [
        "0",
        "1.0",
        "-0.0",
        "1e3",
        "18446744073709551616",
        "null",
        "\"\\u00e9\\n\"",
        "{\"a\":[1,{\"b\":null}]}",
        "[]",
        "true",
    ] {
        for rest in
            ["\"cmd\":\"sim_get_info\"", "\"cmd\":\"unknown\"", "\"cmd\":7", "\"cmd\":\"move\",\"control_input\":[]"]
        {
            client.send_bytes(format!("{{{rest},\"id\":{id}}}\n"));
            let line = client.line();
            assert!(line.contains(&format!("\"id\":{id}")), "{line}");
        }
    }
    assert!(client.request(json!({"cmd": "sim_get_info"})).get("id").is_none());
    assert!(client.request(json!({"cmd": "unknown"})).get("id").is_none());

    let mut client = host.msgpack();
    let text = |text: &str| Packed::from(text);
    for id in [
        Packed::Nil,
        Packed::from(u64::MAX),
        Packed::from(i64::MIN),
        Packed::F32(0.1),
        Packed::F64(f64::MIN_POSITIVE),
        Packed::F64(-0.0),
        Packed::Binary(vec![0, 255, 10]),
        Packed::Ext(-1, vec![1, 2, 3, 4]),
        Packed::Ext(42, vec![9; 300]),
        Packed::Map(vec![(Packed::from(1), Packed::Boolean(true)), (Packed::Nil, Packed::Array(vec![]))]),
        text(""),
        text(&"x".repeat(70_000)),
    ] {
        for cmd in [text("sim_get_info"), text("unknown"), Packed::from(7)] {
            client.send_packed(&Packed::Map(vec![(text("cmd"), cmd), (text("id"), id.clone())]));
            let reply = client.packed_reply();
            let back = reply.as_map().unwrap().iter().find(|(key, _)| key.as_str() == Some("id"));
            // By their bytes, since the negative zero is equal to the other one.
            assert_eq!(bytes(&back.expect("an id").1), bytes(&id));
        }
    }
    assert!(client.request(json!({"cmd": "sim_get_info"})).get("id").is_none());
}

/// Numbers are finite in both framings, also those of an id, which would come back otherwise.
#[test]
fn an_id_that_is_not_finite_is_refused_and_does_not_come_back() {
    let host = arena();
    let mut client = host.msgpack();
    for (id, shown) in [
        (Packed::F64(f64::NAN), "NaN"),
        (Packed::F32(f32::NEG_INFINITY), "-inf"),
        (Packed::Array(vec![Packed::Map(vec![(Packed::from(1), Packed::F64(f64::INFINITY))])]), "inf"),
    ] {
        client.send_packed(&Packed::Map(vec![("cmd".into(), "sim_get_info".into()), ("id".into(), id)]));
        let reply = client.reply();
        assert_eq!(reply["error"], format!("id is {shown}, but numbers must be finite"));
        assert!(reply.get("id").is_none());
    }
    let mut client = host.json();
    client.send_bytes("{\"cmd\":\"sim_get_info\",\"id\":[1e999]}\n");
    let reply = client.reply();
    assert!(reply["error"].as_str().unwrap().contains("1e999") && reply.get("id").is_none(), "{reply}");
}

fn bytes(value: &Packed) -> Vec<u8> {
    let mut bytes = Vec::new();
    rmpv::encode::write_value(&mut bytes, value).unwrap();
    bytes
}

#[test]
fn sim_load_state_takes_the_whole_reply_with_its_timestamp() {
    let host = arena();
    for (framing, mut client) in host.both() {
        let mut state = client.request(json!({"cmd": "sim_get_state", "id": "mine"}));
        assert!(state["timestamp"].is_string() && state["id"] == "mine", "{framing}");
        assert_eq!(client.ok(json!({"cmd": "sim_load_state", "state": state}))["status"], "loaded", "{framing}");
        state.as_object_mut().unwrap().remove("timestamp");
        client.ok(json!({"cmd": "sim_load_state", "state": state}));
    }
}

#[test]
fn i1_garbage_of_each_kind_is_answered_once_and_the_connection_goes_on() {
    let host = arena();
    let deep = |depth: usize| format!("{{\"cmd\":\"move\",\"x\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    let deep = deep(10_000);
    let long_cmd = format!("{{\"cmd\":\"{}\"}}", "x".repeat(10_000));
    let mut client = host.json();
    let answered = |client: &mut Client, line: &[u8]| {
        client.send_bytes([line, b"\n{\"cmd\":\"robot_get_state\",\"robot_id\":1}\n"].concat());
        let reply = client.reply();
        assert_eq!(fields(&reply), ["error"], "{}: {reply}", String::from_utf8_lossy(line));
        assert_eq!(client.reply()["robot"]["name"], "uav1");
    };
    for line in [
        "nothing",
        "[]",
        "7",
        "{",
        "{}",
        "{\"cmd\":null}",
        "{\"cmd\":[\"move\"]}",
        "{\"cmd\":\"\"}",
        "{\"cmd\":\"Move\"}",
        &deep,
        &long_cmd,
        "{\"cmd\":\"sim_get_info\"}}",
        "{\"cmd\":\"move\",\"robot_id\":1,\"control_input\":[NaN,0,0,0,0,0]}",
        "{\"cmd\":\"move\",\"robot_id\":1,\"control_input\":[1e999,0,0,0,0,0]}",
        "{\"cmd\":\"sim_get_info\",\"cmd\":\"sim_reset\"}",
        "{\"cmd\":\"robot_get_state\",\"robot_id\":3}",
        "{\"cmd\":\"robot_get_state\",\"robot_id\":-1}",
        "{\"cmd\":\"robot_get_state\",\"robot_id\":1.5}",
        "{\"cmd\":\"robot_get_state\",\"robot_id\":\"1\"}",
        "{\"cmd\":\"robot_get_state\",\"robot_id\":18446744073709551615}",
        "{\"cmd\":\"robot_get_state\",\"robot_id\":4294967296}",
        "{\"cmd\":\"sim_step\",\"ticks\":0}",
        "{\"cmd\":\"sim_step\",\"ticks\":-1}",
        "{\"cmd\":\"sim_step\",\"ticks\":1.5}",
        "{\"cmd\":\"sim_step\",\"ticks\":1e300}",
        "{\"cmd\":\"sim_step\",\"ticks\":18446744073709551615}",
        "{\"cmd\":\"sim_load_state\"}",
        "{\"cmd\":\"sim_load_state\",\"state\":{}}",
        "{\"cmd\":\"sim_subscribe\"}",
        "{\"cmd\":\"sim_subscribe\",\"topics\":[]}",
        "{\"cmd\":\"sim_subscribe\",\"topics\":[\"nope\"]}",
        "{\"cmd\":\"sim_subscribe\",\"topics\":[\"sim\"],\"rate_hz\":0}",
        "{\"cmd\":\"mission_add_via_point\",\"pose\":[[1,2],[3]]}",
        "{\"cmd\":\"mission_start\",\"trajectory\":[]}",
        "{\"cmd\":\"mission_start\",\"trajectory\":[[1]]}",
        "{\"cmd\":\"race_start\",\"laps\":0}",
        "{\"cmd\":\"help\",\"command\":\"nope\"}",
    ] {
        answered(&mut client, line.as_bytes());
    }
    answered(&mut client, b"{\"cmd\":\"\xff\xfe\"}");
    answered(&mut client, b"\xff");

    let mut client = host.msgpack();
    let text = |text: &str| Packed::from(text);
    let cmd = || (text("cmd"), text("sim_get_info"));
    let mut nested = Packed::Nil;
    for _ in 0..1000 {
        nested = Packed::Array(vec![nested]);
    }
    let mut frames: Vec<Vec<u8>> = [
        Packed::Nil,
        Packed::from(1),
        Packed::Array(vec![]),
        Packed::Map(vec![]),
        Packed::Map(vec![(text("cmd"), Packed::Nil)]),
        Packed::Map(vec![(text("cmd"), Packed::Binary(b"sim_get_info".to_vec()))]),
        Packed::Map(vec![cmd(), (Packed::from(1), Packed::from(2))]),
        Packed::Map(vec![cmd(), (text("x"), Packed::Ext(1, vec![1]))]),
        Packed::Map(vec![cmd(), (text("x"), Packed::F64(f64::NAN))]),
        Packed::Map(vec![cmd(), (text("x"), Packed::F32(f32::INFINITY))]),
        Packed::Map(vec![cmd(), cmd()]),
        Packed::Map(vec![cmd(), (text("x"), nested)]),
    ]
    .iter()
    .map(bytes)
    .collect();
    let good = bytes(&Packed::Map(vec![cmd()]));
    frames.extend([vec![], vec![0xc1], vec![0x81], [&good[..], &[0xc0]].concat(), good[..good.len() - 1].to_vec()]);
    // A map that claims four billion entries, text that claims four billion bytes, text that is not UTF-8.
    frames.extend([vec![0xdf, 255, 255, 255, 255], vec![0x81, 0xdb, 255, 255, 255, 255], vec![0x81, 0xa1, 0xff, 0xc0]]);
    for frame in frames {
        let length = u32::try_from(frame.len()).unwrap().to_be_bytes();
        client.send_bytes([&length, &frame[..]].concat());
        let reply = client.reply();
        assert_eq!(fields(&reply), ["error"], "{frame:02x?}: {reply}");
        assert_eq!(client.robot(1)["name"], "uav1");
    }
}

#[test]
fn i1_lost_framing_is_answered_once_and_the_connection_closed() {
    let host = Host::start("empty.sdf", &ALL, &["--paused", "--max-frame", "1000"]);
    let long = format!("{{\"cmd\":\"{}\"}}\n", "x".repeat(1000));
    for (mut client, bytes) in
        [(host.json(), long.into_bytes()), (host.msgpack(), vec![0, 0, 4, 0, 1, 2, 3]), (host.msgpack(), vec![0xff; 8])]
    {
        assert!(client.ok(json!({"cmd": "sim_get_info"}))["version"].is_string());
        client.send_bytes(bytes);
        let reply = client.reply();
        assert_eq!(fields(&reply), ["error"]);
        assert!(reply["error"].as_str().unwrap().contains("limit"), "{reply}");
        assert!(client.rest().is_empty());
    }
}
