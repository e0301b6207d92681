//! Connections: whose robots they are, how they end, how fast they read, who may come in.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::mpsc;
use std::time::Instant;

use serde_json::{Value, json};
use tickworks_tests::{Client, Host, PATIENCE, Scene};

fn info(client: &mut Client) -> Value {
    client.ok(json!({"cmd": "sim_get_info"}))
}

/// Asks until it is so, because nothing announces it.
fn until(client: &mut Client, what: &str, is: impl Fn(&Value) -> bool) {
    let start = Instant::now();
    while !is(&info(client)) {
        assert!(start.elapsed() < PATIENCE, "never: {what}");
    }
}

fn still() -> Value {
    json!([0, 0, 0, 0, 0, 0])
}

#[test]
fn connect_gives_the_first_free_robot_or_the_one_that_is_asked_for() {
    let host = Host::start("arena.sdf", &["manual_move"], &["--paused"]);
    let (mut a, mut b, mut c, mut d) = (host.json(), host.msgpack(), host.json(), host.msgpack());
    assert_eq!(a.ok(json!({"cmd": "connect"}))["id"], 0);
    assert_eq!(b.ok(json!({"cmd": "connect", "robot_id": 2}))["id"], 2);
    assert_eq!(c.ok(json!({"cmd": "connect"}))["id"], 1);
    let error = d.error(json!({"cmd": "connect"}));
    assert!(error.contains("no robot is free") && error.contains("all 3"), "{error}");
    let error = d.error(json!({"cmd": "connect", "robot_id": 1}));
    assert!(error.contains("robot 1 belongs to another connection"), "{error}");
    let error = d.error(json!({"cmd": "connect", "robot_id": 3}));
    assert!(error.contains("there is no robot 3") && error.contains("0 to 2"), "{error}");

    // Again is the same; another one lets go of the first.
    assert_eq!(a.ok(json!({"cmd": "connect"}))["id"], 0);
    assert_eq!(a.ok(json!({"cmd": "connect", "robot_id": 0}))["id"], 0);
    drop(c);
    until(&mut d, "the robot of a connection that has ended is free", |info| info["robots"][1]["claimed"] == false);
    assert_eq!(a.ok(json!({"cmd": "connect", "robot_id": 1}))["id"], 1);
    let robots = info(&mut d)["robots"].take();
    let claimed: Vec<_> = robots.as_array().unwrap().iter().map(|robot| robot["claimed"] == true).collect();
    assert_eq!(claimed, [false, true, true]);
    assert_eq!(d.ok(json!({"cmd": "connect"}))["id"], 0);
}

#[test]
fn a_world_without_robots_has_none_to_connect_to() {
    let host = Host::start("empty.sdf", &["manual_move"], &["--paused"]);
    for (_, mut client) in host.both() {
        let error = client.error(json!({"cmd": "connect"}));
        assert!(error.contains("no robots"), "{error}");
        assert!(client.error(json!({"cmd": "robot_get_state", "robot_id": 0})).contains("there is no robot 0"));
    }
}

#[test]
fn i3_ids_are_names_of_robots_and_no_places_in_a_list() {
    let host = Host::start("arena.sdf", &["manual_move"], &["--paused"]);
    let mut watcher = host.json();
    let names = |client: &mut Client| [0, 1, 2].map(|id| client.robot(id)["name"].as_str().unwrap().to_owned());
    let expected = ["uav0", "uav1", "uav2"];
    assert_eq!(names(&mut watcher), expected);

    // Claims come and go; the ids that are left do not move up.
    let (mut a, mut b, mut c) = (host.json(), host.json(), host.msgpack());
    assert_eq!(a.ok(json!({"cmd": "connect"}))["id"], 0);
    assert_eq!(b.ok(json!({"cmd": "connect"}))["id"], 1);
    assert_eq!(c.ok(json!({"cmd": "connect"}))["id"], 2);
    drop(a);
    until(&mut watcher, "robot 0 is free", |info| info["robots"][0]["claimed"] == false);
    assert_eq!(names(&mut watcher), expected);
    let reply = b.tick_with(&[json!({"cmd": "move", "control_input": [0.05, 0, 0, 0, 0, 0]})]);
    assert_eq!(reply[0]["new_state"]["id"], 1);
    assert_eq!(reply[0]["new_state"]["name"], "uav1");

    // Nor do they after a reset or another state.
    let state = watcher.ok(json!({"cmd": "sim_get_state"}));
    watcher.ok(json!({"cmd": "sim_reset"}));
    assert_eq!(names(&mut watcher), expected);
    watcher.ok(json!({"cmd": "sim_load_state", "state": state}));
    assert_eq!(names(&mut watcher), expected);
    let reply = c.tick_with(&[json!({"cmd": "move", "control_input": still()})]);
    assert_eq!(reply[0]["new_state"]["name"], "uav2", "the claim has survived both");
    let error = b.error(json!({"cmd": "move", "robot_id": 2, "control_input": still()}));
    assert!(error.contains("robot 2 belongs to another connection"), "{error}");
}

#[test]
fn i1_a_client_may_vanish_at_each_byte_of_a_frame() {
    let host = Host::start("arena.sdf", &["manual_move"], &["--fast"]);
    let mut watcher = host.json();
    for connect in [Host::json, Host::msgpack] {
        let requests = [
            json!({"cmd": "connect", "robot_id": 1}),
            json!({"cmd": "move", "robot_id": 1, "control_input": still()}),
            json!({"cmd": "sim_step", "ticks": 1000}),
        ];
        let bytes: Vec<u8> = requests.iter().flat_map(|request| connect(&host).encode(request)).collect();
        for end in 0..=bytes.len() {
            let mut client = connect(&host);
            if end > 0 {
                client.send_bytes(&bytes[..end]);
            }
            drop(client);
            // Another one is served meanwhile.
            assert_eq!(watcher.robot(2)["name"], "uav2");
        }
        until(&mut watcher, "all have gone and let go of the robot", |info| {
            info["connections"] == 1 && info["robots"][1]["claimed"] == false
        });
    }
    let (mut json, mut msgpack) = (host.json(), host.msgpack());
    assert_eq!(json.ok(json!({"cmd": "connect", "robot_id": 1}))["id"], 1);
    assert_eq!(msgpack.ok(json!({"cmd": "connect", "robot_id": 0}))["id"], 0);
    for client in [&mut json, &mut msgpack] {
        let reply = client.ok(json!({"cmd": "move", "control_input": still()}));
        assert_eq!(reply["status"], "move_applied");
    }
}

#[test]
fn a_client_that_vanishes_with_its_requests_unanswered_costs_nobody_anything() {
    let host = Host::start("arena.sdf", &["manual_move"], &["--paused"]);
    let mut watcher = host.json();
    for connect in [Host::json, Host::msgpack] {
        let mut client = connect(&host);
        client.ok(json!({"cmd": "connect", "robot_id": 0}));
        // Replies that it does not read, so that its end is no polite one, on which the rest would still be sent.
        let mut requests = vec![json!({"cmd": "help"}); 20];
        requests.push(json!({"cmd": "sim_step", "ticks": 1_000_000_000}));
        requests.push(json!({"cmd": "robot_get_state"}));
        requests.iter().for_each(|request| client.send(request));
        client.reply();
        until(&mut watcher, "the steps have begun", |info| info["tick"].as_u64() > Some(3));
        drop(client);
        until(&mut watcher, "its robot is free", |info| info["robots"][0]["claimed"] == false);
        let stood = info(&mut watcher)["tick"].clone();
        assert_eq!(info(&mut watcher)["tick"], stood, "its steps are nobody's");
        assert_eq!(watcher.step(1)["tick"], stood.as_u64().unwrap() + 1);
        watcher.ok(json!({"cmd": "sim_reset"}));
    }
}

#[test]
#[ignore = "the system tells after a minute"]
fn a_client_that_closes_politely_behind_a_long_step_is_noticed() {
    let host = Host::start("arena.sdf", &["manual_move"], &["--paused"]);
    let mut watcher = host.json();
    let mut client = host.json();
    client.ok(json!({"cmd": "connect", "robot_id": 0}));
    client.send(&json!({"cmd": "sim_step", "ticks": 1_000_000_000}));
    until(&mut watcher, "the steps have begun", |info| info["tick"].as_u64() > Some(3));
    assert!(info(&mut watcher)["steps_left"].as_u64() > Some(900_000_000));
    // Everything is read, so that the close is a polite one: half of it looks like a client that waits for the rest.
    drop(client);
    let dropped = std::time::Instant::now();
    while info(&mut watcher)["robots"][0]["claimed"] == true {
        assert!(dropped.elapsed().as_secs() < 90, "its robot is never free");
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
    assert_eq!(info(&mut watcher)["steps_left"], 0);
}

#[test]
fn a_step_ends_when_somebody_pauses_resets_or_loads() {
    let host = Host::start("arena.sdf", &["manual_move"], &["--paused"]);
    for (framing, mut client) in host.both() {
        let mut other = host.json();
        let state = other.ok(json!({"cmd": "sim_get_state"}));
        let ends = [
            json!({"cmd": "sim_pause"}),
            json!({"cmd": "sim_reset"}),
            json!({"cmd": "sim_load_state", "state": state}),
        ];
        for end in ends {
            let cmd = end["cmd"].as_str().unwrap().to_owned();
            client.send(&json!({"cmd": "sim_step", "ticks": 1_000_000}));
            until(&mut other, "the steps have begun", |info| info["steps_left"].as_u64() > Some(0));
            other.ok(end);
            let error = client.reply()["error"].as_str().unwrap().to_owned();
            assert!(
                error.contains(&format!("interrupted by {cmd}")) && error.contains("of 1000000 ticks"),
                "{framing}: {error}"
            );
            let stood = info(&mut other)["tick"].clone();
            std::thread::sleep(std::time::Duration::from_millis(50));
            assert_eq!(info(&mut other)["tick"], stood, "{framing}: {cmd}: time stands");
            assert_eq!(client.step(2)["status"], "stepped");
        }
        client.leave();
    }
}

#[test]
fn a_client_that_ends_its_side_still_gets_its_replies() {
    let host = Host::start("arena.sdf", &["manual_move"], &["--paused"]);
    for (framing, mut client) in host.both() {
        client.send(&json!({"cmd": "connect"}));
        client.send(&json!({"cmd": "sim_step", "ticks": 5}));
        client.send(&json!({"cmd": "robot_get_state"}));
        client.end();
        assert_eq!(client.reply()["status"], "connected", "{framing}");
        assert_eq!(client.reply()["status"], "stepped");
        assert_eq!(client.reply()["robot"]["id"], 0);
        assert!(client.rest().is_empty());
    }
}

#[test]
fn a_subscriber_that_does_not_read_slows_nobody_and_learns_what_it_missed() {
    // Every tick publishes an event and draws.
    let scene = Scene::new()
        .uav("uav0", [0.0, 0.0, 1.0])
        .stress("stress", &format!("<trouble slot='on_tick' does='publish' text='{}'/>", "x".repeat(2000)));
    let host = Host::start(scene.file(), &["manual_move"], &["--paused", "--fast"]);
    // 40 MB: more than the host keeps for a slow reader and than sockets hold.
    const TICKS: u64 = 20_000;
    let mut stalled: Vec<Client> = host.both().into_iter().map(|(_, client)| client).collect();
    for client in &mut stalled {
        client.ok(json!({"cmd": "sim_subscribe", "topics": ["stress", "overlays"]}));
    }
    let mut driver = host.json();
    assert_eq!(driver.step(TICKS)["tick"], TICKS);
    assert_eq!(driver.robot(0)["name"], "uav0");
    let mut ticks = TICKS;
    for client in &mut stalled {
        let (mut events, mut missed, mut drawn) = (0, 0, 0);
        // What was missed at the end is told by the next event: one more tick, until all are accounted for.
        for _ in 0..10 {
            driver.step(1);
            ticks += 1;
            while drawn < ticks {
                let push = client.push();
                if push["topic"] == "stress" {
                    events += 1;
                    missed += push["missed"].as_u64().unwrap_or(0);
                } else {
                    let tick = push["tick"].as_u64().unwrap();
                    assert!(tick > drawn, "a later one replaces an earlier one, never the other way round");
                    drawn = tick;
                }
            }
            if events + missed == ticks {
                break;
            }
        }
        assert_eq!(events + missed, ticks, "{events} events and {missed} missed");
        assert!(missed > 0, "so many do not fit in between");
        client.ok(json!({"cmd": "sim_get_info"}));
    }
}

#[test]
fn a_read_does_not_wait_for_a_tick_and_a_move_does() {
    let scene = Scene::new().uav("uav0", [0.0, 0.0, 1.0]);
    // Two seconds a tick: a hundred reads that each waited for one would be over the patience of this test.
    let host = Host::start(scene.file(), &["manual_move", "trajectory_mission", "race"], &["--rate", "0.5"]);
    for (framing, mut client) in host.both() {
        client.ok(json!({"cmd": "connect"}));
        for _ in 0..25 {
            client.robot(0);
            info(&mut client);
            client.ok(json!({"cmd": "mission_get_state"}));
            client.ok(json!({"cmd": "race_get_state"}));
        }
        let before = client.robot(0)["tick"].as_u64().unwrap();
        let reply = client.ok(json!({"cmd": "move", "control_input": [0, 0, 0.1, 0, 0, 0]}));
        assert_eq!(reply["status"], "move_applied", "{framing}");
        assert!(reply["new_state"]["tick"].as_u64().unwrap() > before, "{framing}: {reply}");

        // Behind a move a read waits for it; on another connection it does not.
        client.send(&json!({"cmd": "move", "control_input": [0, 0, 0.1, 0, 0, 0]}));
        client.send(&json!({"cmd": "robot_get_state"}));
        host.json().robot(0);
        let moved = client.reply()["new_state"].take();
        assert_eq!(client.reply()["robot"]["tick"], moved["tick"], "{framing}");
    }
}

#[test]
fn a_connection_is_let_in_by_the_token_alone() {
    let scene = Scene::new().uav("uav0", [0.0, 0.0, 1.0]);
    let file = scene.dir().join("token");
    std::fs::write(&file, "sesame\n").unwrap();
    let file = file.to_str().unwrap();
    let host = Host::start(scene.file(), &["manual_move"], &["--paused", "--token-file", file]);
    for (_, mut client) in host.both() {
        assert_eq!(client.ok(json!({"cmd": "auth", "token": "sesame"}))["status"], "authenticated");
        assert_eq!(client.ok(json!({"cmd": "connect"}))["id"], 0);
    }
    for wrong in [
        json!({"cmd": "auth", "token": "Sesame"}),
        json!({"cmd": "auth", "token": 7}),
        json!({"cmd": "auth"}),
        json!({"cmd": "sim_get_info"}),
        json!({"cmd": "sim_reset"}),
    ] {
        for (framing, mut client) in host.both() {
            let replies = client.error(wrong.clone());
            assert!(!replies.contains("sesame"), "{framing}: {replies}");
            assert!(client.rest().is_empty(), "{framing}: {wrong}: it is closed after one reply");
        }
    }
    assert!(!host.process().stderr().contains("sesame"));
}

#[test]
fn limits_are_what_the_options_say() {
    let host = Host::start(
        "arena.sdf",
        &["manual_move"],
        &["--paused", "--max-connections", "2", "--max-outstanding-requests", "3", "--max-frame", "300"],
    );
    let [(_, mut a), (_, mut b)] = host.both();
    for client in [&mut a, &mut b] {
        // Three at a time are taken, and all are answered.
        let requests: Vec<Value> =
            (0..100).map(|n| json!({"cmd": "robot_get_state", "robot_id": 0, "id": n})).collect();
        let replies = client.pipeline(&requests);
        assert!(replies.iter().enumerate().all(|(n, reply)| reply["id"] == n && reply["robot"]["id"] == 0));
    }
    let mut third = host.json();
    let error = third.error(json!({"cmd": "sim_get_info"}));
    assert!(error.contains("2 connections"), "{error}");
    assert!(third.rest().is_empty());
    let error = a.error(json!({"cmd": "sim_get_info", "x": "y".repeat(300)}));
    assert!(error.contains("300 bytes"), "{error}");
    assert!(a.rest().is_empty());
    let start = Instant::now();
    while host.json().request(json!({"cmd": "sim_get_info"})).get("error").is_some() {
        assert!(start.elapsed() < PATIENCE, "the place of the one that was closed is free again");
    }
}

/// Sends the beginning of a request on each of so many connections, and then says of which the host has thought better:
/// their errors, and the connections that are left, once `refused` errors have come.
fn unfinished(host: &Host, count: usize, bytes: usize, refused: usize) -> (Vec<String>, Unfinished) {
    let mut line = br#"{"cmd":"sim_get_info","pad":""#.to_vec();
    line.resize(bytes, b'x');
    let (say, heard) = mpsc::channel();
    let mut streams = BTreeMap::new();
    for n in 0..count {
        let stream = TcpStream::connect(host.addr()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (mut ours, line, say) = (stream.try_clone().unwrap(), line.clone(), say.clone());
        std::thread::spawn(move || {
            // One that is refused may not come to its end.
            let _ = ours.write_all(&line);
            let mut reply = String::new();
            let _ = BufReader::new(&ours).read_line(&mut reply);
            let _ = say.send((n, reply));
        });
        streams.insert(n, stream);
    }
    let mut errors = Vec::new();
    for _ in 0..refused {
        let (n, reply) = heard.recv_timeout(PATIENCE).expect("one more should be refused");
        let mut stream = streams.remove(&n).unwrap();
        let mut rest = String::new();
        assert!(stream.read_to_string(&mut rest).is_ok_and(|_| rest.is_empty()), "one error, and the end");
        let reply: Value = serde_json::from_str(&reply).unwrap();
        errors.push(reply["error"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned());
    }
    (errors, Unfinished { streams, heard })
}

/// Connections with a request on the way.
struct Unfinished {
    streams: BTreeMap<usize, TcpStream>,
    /// What each of them reads first.
    heard: mpsc::Receiver<(usize, String)>,
}

impl Unfinished {
    /// Sends what is missing. Gives the replies.
    fn finish(self) -> Vec<Value> {
        for mut stream in self.streams.values() {
            stream.write_all(b"\"}\n").unwrap();
        }
        let replies = self.streams.keys().map(|_| self.heard.recv_timeout(PATIENCE).expect("a reply").1);
        replies.map(|reply| serde_json::from_str(&reply).unwrap()).collect()
    }
}

/// What the connections hold together has a limit: whoever asks for more is told and closed, the others go on.
#[test]
fn unfinished_requests_of_all_connections_are_limited_together() {
    let host = Host::start("empty.sdf", &[], &["--max-buffered-bytes", "10000000"]);
    let mut other = host.msgpack();
    info(&mut other);
    // Two of them fit.
    let (errors, left) = unfinished(&host, 8, 3_000_000, 6);
    assert!(errors.iter().all(|error| error.contains("over 10000000 bytes of unfinished requests")), "{errors:?}");
    let replies = left.finish();
    assert!(replies.len() == 2 && replies.iter().all(|reply| reply["stage"] == "running"), "{replies:?}");
    info(&mut other);
    assert_eq!(host.stop().code, Some(0));
}

/// Where the machine has less memory than the limits allow, unfinished requests do not end the host either.
#[test]
fn unfinished_requests_do_not_end_a_host_that_has_little_memory() {
    let host = Host::start("empty.sdf", &[], &[]);
    let mut other = host.json();
    info(&mut other);
    let pid = host.process().pid();
    let pages = std::fs::read_to_string(format!("/proc/{pid}/statm")).unwrap();
    let pages: usize = pages.split(' ').next().unwrap().parse().unwrap();
    let limit = pages * 4096 + (120 << 20);
    let set = Command::new("prlimit").args([format!("--pid={pid}"), format!("--as={limit}")]).status();
    assert!(set.unwrap().success());
    // Of these 300 MB no more than a half has room.
    let (errors, _left) = unfinished(&host, 20, 15 << 20, 8);
    assert!(errors.iter().all(|error| error.contains("the host holds too much for its connections")), "{errors:?}");
    info(&mut other);
    assert_eq!(host.stop().code, Some(0));
}

/// Everybody who is one too many hears why, also where a crowd comes at once.
#[test]
fn all_of_a_crowd_that_is_too_many_hear_why() {
    let host = Host::start("empty.sdf", &[], &["--max-connections", "2"]);
    let mut known = [host.json(), host.msgpack()];
    known.iter_mut().for_each(|client| drop(info(client)));
    let crowd: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(host.addr()).unwrap()).collect();
    for (n, mut late) in crowd.into_iter().enumerate() {
        late.set_read_timeout(Some(PATIENCE)).unwrap();
        // One that has been told already takes nothing any more.
        let _ = late.write_all(b"{\"cmd\":\"sim_get_info\"}\n");
        let mut reply = String::new();
        BufReader::new(&late).read_line(&mut reply).unwrap_or_else(|error| panic!("{n}: {error}"));
        assert!(reply.contains("the host has 2 connections, which is its limit"), "{n}: {reply:?}");
    }
    known.iter_mut().for_each(|client| drop(info(client)));
}
