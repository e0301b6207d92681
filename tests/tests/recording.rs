//! Runs that are recorded and replayed: what is equal, what is found to differ, what a recording survives.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tickworks_tests::{
    Client, Exit, Host, PATIENCE, Process, Scene, Scratch, Signal, connect_soon, free_addr, position, tickworks,
};

const ALL: [&str; 3] = ["manual_move", "trajectory_mission", "race"];

/// Starts a run that is recorded in this file.
fn record(world: impl AsRef<Path>, file: &Path, args: &[&str]) -> Host {
    Host::start(world, &ALL, &[args, &["--record", file.to_str().unwrap()]].concat())
}

fn replay(file: &Path, args: &[&str]) -> Exit {
    tickworks([&["replay", file.to_str().unwrap()], args].concat())
}

/// Replays on one thread and on two. Gives the number of hashes that were equal.
fn equal(file: &Path) -> u64 {
    let hashes = ["1", "2"].map(|threads| {
        let exit = replay(file, &["--threads", threads]);
        assert_eq!(exit.code, Some(0), "{exit:?}");
        assert!(!exit.stdout.contains("ends without"), "{exit:?}");
        let (before, _) = exit.stdout.split_once(" hashes are equal").unwrap_or_else(|| panic!("{exit:?}"));
        before.rsplit(' ').next().unwrap().parse().unwrap()
    });
    assert_eq!(hashes[0], hashes[1]);
    hashes[0]
}

fn lines(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Numbers that look random.
struct Numbers(u64);

impl Numbers {
    /// Below `limit`.
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// Within 0.05 of 0.
    fn turn(&mut self) -> f64 {
        self.below(1001) as f64 * 1e-4 - 0.05
    }

    fn moves(&mut self) -> Value {
        json!({"cmd": "move", "control_input": [self.turn(), self.turn(), 0.05 + self.turn() / 2.0, self.turn() / 2.0,
            self.turn() / 2.0, self.turn() / 2.0]})
    }
}

/// Flies a robot of its own for a while: moves when it likes, several at a time, now and then a look.
fn fly(mut client: Client, seed: u64, time: Duration) {
    client.ok(json!({"cmd": "connect"}));
    let (mut numbers, start) = (Numbers(seed), Instant::now());
    while start.elapsed() < time {
        let mut requests: Vec<Value> = (0..=numbers.below(3)).map(|_| numbers.moves()).collect();
        if numbers.below(4) == 0 {
            requests.push(json!({"cmd": "robot_get_state"}));
        }
        client.pipeline(&requests);
        // At no particular time of a tick.
        std::thread::sleep(Duration::from_micros(numbers.below(25_000)));
    }
}

/// A race of so many clients over so much wall time, replayed.
fn race(world: &Path, clients: u64, time: Duration, args: &[&str]) {
    let scratch = Scratch::new();
    let file = scratch.path().join("race.rec");
    let host = record(world, &file, args);
    let mut first = host.json();
    assert_eq!(first.ok(json!({"cmd": "sim_get_info"}))["recording"], file.to_str().unwrap());
    first.ok(json!({"cmd": "race_start", "countdown": 0.5}));
    std::thread::scope(|scope| {
        for n in 0..clients {
            let client = if n % 2 == 0 { host.json() } else { host.msgpack() };
            scope.spawn(move || fly(client, n, time));
        }
    });
    let ticks = first.ok(json!({"cmd": "sim_get_info"}))["tick"].as_u64().unwrap();
    assert_eq!(host.stop().code, Some(0));
    assert!(ticks > 60, "{ticks}");
    assert_eq!(equal(&file), lines(&file).last().unwrap()["t"].as_u64().unwrap() / 60);
}

#[test]
fn a_race_of_four_clients_is_replayed_equal() {
    race("race.sdf".as_ref(), 4, Duration::from_secs(4), &[]);
}

#[test]
fn a_race_as_fast_as_possible_is_replayed_equal() {
    race("race.sdf".as_ref(), 4, Duration::from_secs(2), &["--fast"]);
}

#[test]
#[ignore = "eight clients race for a minute"]
fn a_race_of_eight_clients_over_a_minute_is_replayed_equal() {
    let scene = (0..8u8).fold(Scene::new(), |scene, n| scene.uav(&format!("u{n}"), [0.0, f64::from(n) / 2.0, 1.0]));
    let scene = scene.with(
        "<plugin filename='race' name='race'><laps>3</laps><gate name='a'><pose>3 2 1 0 0 0</pose><size>8 6</size></gate>\
         <gate name='b'><pose>9 2 1 0 0 0</pose><size>8 6</size></gate></plugin>",
    );
    race(scene.file().as_ref(), 8, Duration::from_secs(60), &[]);
}

/// A model with a plugin of its own, and a robot in it.
fn guest(troubles: &str) -> Value {
    let sdf = format!(
        "<model name='m'><tw:robot type='UAVLevel1' max_velocities='0.1 0.1 0.1 0.1 0.1 0.1'/><link name='l'/>\
         <plugin filename='stress' name='s'>{troubles}</plugin></model>"
    );
    json!({"cmd": "sim_spawn", "name": "guest", "sdf": sdf, "pose": [0, 5, 2, 0, 0, 0]})
}

#[test]
fn whatever_clients_do_to_a_run_is_replayed_equal() {
    let scene = Scene::new().uav("uav0", [0.0, 0.0, 1.0]).uav("uav1", [0.0, 3.0, 1.0]).uav("uav2", [0.0, 6.0, 1.0]);
    let (world, file) = (scene.file(), scene.dir().join("all.rec"));
    let host =
        record(world.as_ref(), &file, &["--rate", "60", "--real-time-factor", "8", "--plugin-start-timeout", "1"]);
    let addr = host.addr();
    std::thread::scope(|scope| {
        for n in 0..2 {
            let client = if n == 0 { host.json() } else { host.msgpack() };
            scope.spawn(move || fly(client, 100 + n, Duration::from_secs(5)));
        }
        let (mut a, mut b) = (host.json(), host.msgpack());
        let state = a.ok(json!({"cmd": "sim_get_state"}));
        for (round, client) in [&mut a, &mut b].into_iter().enumerate() {
            client.ok(
                json!({"cmd": "mission_start", "robot_id": 2, "trajectory": vec![[0.0, 0.0, 0.01, 0.0, 0.0, 0.0]; 20]}),
            );
            client.step(25);
            client.ok(json!({"cmd": "sim_pause"}));
            client.pipeline(&[
                json!({"cmd": "sim_step", "ticks": 30}),
                json!({"cmd": "move", "robot_id": 2, "control_input": [0, 0, 0, 0, 0, 0]}),
            ]);
            client.ok(json!({"cmd": "sim_resume"}));
            client.ok(guest(""));
            client.ok(json!({"cmd": "sim_teleport", "model": "guest", "pose": [1, 5, 3, 0, 0, 0]}));
            client.step(5);
            if round == 0 {
                client.ok(json!({"cmd": "sim_remove", "model": "guest"}));
            }
            // One that works, one that fails, one that never comes back.
            let stress = |does: &str| {
                json!({"cmd": "plugin_load", "sdf":
                format!("<plugin filename='stress' name='more'><trouble slot='create' does='{does}'/></plugin>")})
            };
            client.ok(json!({"cmd": "plugin_load", "sdf":
                "<plugin filename='stress' name='tired'><trouble slot='create' does='sleep' seconds='0.2'/></plugin>"}));
            client.ok(json!({"cmd": "stress_calls"}));
            client.ok(json!({"cmd": "plugin_unload", "plugin": "tired"}));
            client.error(stress("fail"));
            client.error(stress("hang"));
            client.error(json!({"cmd": "plugin_load", "plugins": ["nobody"]}));
            client.request(json!({"cmd": "sim_reset"}));
            client.step(10);
            client.request(json!({"cmd": "sim_load_state", "state": state}));
            client.request(json!({"cmd": "sim_load_state", "state": 7}));
            client.pipeline(&[
                json!({"cmd": "sim_reload_world"}),
                json!({"cmd": "sim_get_info"}),
                json!({"cmd": "sim_step", "ticks": 3}),
            ]);
            client.step(5);
        }
        // One that vanishes in the middle of a request, with steps and a robot of its own; one with garbage.
        let mut gone = Client::json(addr);
        gone.send_bytes(
            "{\"cmd\":\"connect\"}\n{\"cmd\":\"sim_step\",\"ticks\":100000}\n{\"cmd\":\"sim_reset\"}\n{\"cmd\":\"mo",
        );
        drop(gone);
        let mut wild = Client::json(addr);
        for bytes in
            ["{\"cmd\":7}\n", "[1]\n", "\u{1}\n", "{\"cmd\":\"move\",\"robot_id\":-1}\n", "{\"cmd\":\"\\u0000\\n\"}\n"]
        {
            wild.send_bytes(bytes);
            wild.reply();
        }
        let packed = |value: f64| {
            rmpv::Value::Map(vec![
                ("cmd".into(), "move".into()),
                ("robot_id".into(), 2.into()),
                ("control_input".into(), rmpv::Value::Array(vec![value.into(); 6])),
            ])
        };
        let mut binary = Client::msgpack(addr);
        for value in [f64::NAN, 0.01] {
            binary.send_packed(&packed(value));
            binary.packed_reply();
        }
        binary.send_bytes([0, 0, 0, 9, 0x82]);
        drop(binary);
    });
    host.json().step(70);
    assert_eq!(host.stop().code, Some(0));
    let recorded = lines(&file);
    let count = |what: &str| recorded.iter().filter(|line| line["what"] == what).count();
    assert!(count("closed") >= 6 && count("load") >= 9 && recorded.iter().any(|line| line["unfit"].is_string()));
    assert!(equal(&file) >= 4);
}

#[test]
fn messages_before_the_plugins_have_started_are_replayed_as_well() {
    let scene = Scene::new();
    let go = scene.dir().join("go");
    let trouble = format!("<trouble slot='create' does='wait' path='{}'/>", go.display());
    let scene = scene.uav("uav0", [0.0, 0.0, 1.0]).stress("stress", &trouble);
    let (world, file, addr) = (scene.file(), scene.dir().join("early.rec"), free_addr());
    let mut args = Host::args(world.as_ref(), &ALL, &["--fast", "--ticks", "120", "--record", file.to_str().unwrap()]);
    *args.iter_mut().find(|arg| *arg == "127.0.0.1:0").unwrap() = addr.to_string().into();
    let process = Process::start(args);
    let mut client = connect_soon(addr);
    client.send(&json!({"cmd": "sim_reset"}));
    assert_eq!(connect_soon(addr).ok(json!({"cmd": "sim_get_info"}))["stage"], "starting");
    std::fs::write(&go, "").unwrap();
    assert_eq!(client.reply()["epoch"], 1);
    assert_eq!(process.wait().code, Some(0));
    let recorded = lines(&file);
    let at = |what: &str| recorded.iter().position(|line| line["what"] == what).unwrap();
    assert!(at("request") < at("load"));
    assert_eq!(equal(&file), 3);

    // A plugin that had started and does not now.
    std::fs::remove_file(&go).unwrap();
    let exit = replay(&file, &["--plugin-start-timeout", "0.5"]);
    assert_eq!(exit.code, Some(1), "{exit:?}");
    assert!(exit.stderr.contains("\"stress\" started, but here it has not after 0.5 s"), "{exit:?}");
}

/// A recorded run of 150 ticks: a robot is flown by two clients, one after the other. Gives the state's hash after 90.
fn short(file: &Path) -> String {
    let host = record("arena.sdf", file, &["--paused", "--fast"]);
    let mut numbers = Numbers(5);
    let mut hash = String::new();
    for (framing, mut client) in host.both() {
        client.ok(json!({"cmd": "connect", "robot_id": 1}));
        for tick in 0..75 {
            if framing == "MessagePack" && tick == 15 {
                hash = client.state_hash();
            }
            client.tick_with(&[numbers.moves()]);
        }
        client.leave();
    }
    assert_eq!(host.stop().code, Some(0));
    assert_eq!(equal(file), 2);
    hash
}

#[test]
fn a_recording_that_is_cut_anywhere_is_replayed_up_to_there() {
    let scratch = Scratch::new();
    let file = scratch.path().join("whole.rec");
    short(&file);
    let bytes = std::fs::read(&file).unwrap();
    let ends: Vec<usize> = (1..=bytes.len()).filter(|&at| bytes[at - 1] == b'\n').collect();
    let mut numbers = Numbers(11);
    let mut cuts: Vec<usize> =
        (0..8).map(|_| ends[0] + numbers.below((bytes.len() - ends[0]) as u64) as usize).collect();
    for end in ends.iter().take(8).chain(ends.iter().rev().take(4)).chain(ends.iter().step_by(60)) {
        cuts.extend([end - 1, *end, end + 1]);
    }
    for at in cuts.into_iter().filter(|&at| at >= ends[0] && at < bytes.len()) {
        let exit = replay(&scratch.write("cut.rec", &bytes[..at]), &[]);
        assert_eq!(exit.code, Some(0), "cut at {at}: {exit:?}");
        assert!(exit.stdout.contains("the recording ends without its end record, at tick "), "cut at {at}: {exit:?}");
    }
    for at in [0, 1, ends[0] / 2, ends[0] - 1] {
        let exit = replay(&scratch.write("cut.rec", &bytes[..at]), &[]);
        assert_eq!(exit.code, Some(1), "cut at {at}: {exit:?}");
        assert!(exit.stderr.contains("cut.rec: the first line of the recording") && exit.stdout.is_empty(), "{exit:?}");
    }
}

#[test]
fn a_record_that_was_changed_is_found_at_the_next_hash() {
    let scratch = Scratch::new();
    let file = scratch.path().join("whole.rec");
    short(&file);
    let text = std::fs::read_to_string(&file).unwrap();
    let of_move = text.lines().filter(|line| line.contains("control_input")).nth(20).unwrap();
    let number = of_move.split_once("\"control_input\":[").unwrap().1.split(',').next().unwrap();
    let changed = of_move.replacen(&format!("[{number},"), "[0.0501,", 1);
    let tampered = scratch.write("tampered.rec", text.replacen(of_move, &changed, 1));
    let exit = replay(&tampered, &[]);
    assert_eq!(exit.code, Some(1), "{exit:?}");
    let line = 1 + text.lines().position(|line| line.contains("\"hash\"")).unwrap();
    for words in
        [&format!("tampered.rec:{line}: "), "after 60 ticks (1 s; tick 60", "no hash was compared before", "changed"]
    {
        assert!(exit.stderr.contains(words), "{words}: {exit:?}");
    }

    // Another version is what to look at first.
    let other = text.replacen(of_move, &changed, 1).replacen(
        "\"id\":\"race\",\"version\":\"",
        "\"id\":\"race\",\"version\":\"9",
        1,
    );
    let exit = replay(&scratch.write("other.rec", other), &[]);
    assert_eq!(exit.code, Some(1), "{exit:?}");
    assert!(
        exit.stderr.contains("WARN") && exit.stderr.matches("in the recording it was race 9").count() == 2,
        "{exit:?}"
    );

    // What is no record, or none of its time, is said before anything starts.
    let (head, tail) = text.split_at(text.rfind("{\"what\":\"hash\"").unwrap());
    for (record, words) in [("{}", "no record"), ("{\"what\":\"closed\",\"session\":1,\"t\":3}", "t is 3, but must be")]
    {
        let exit = replay(&scratch.write("wrong.rec", format!("{head}{record}\n{tail}")), &[]);
        assert_eq!(exit.code, Some(1), "{exit:?}");
        assert!(
            exit.stderr.contains(words) && exit.stderr.contains("wrong.rec:") && exit.stdout.is_empty(),
            "{exit:?}"
        );
    }
}

#[test]
fn another_world_is_refused_and_the_old_one_may_be_elsewhere() {
    let scene = Scene::new().uav("uav0", [0.0, 0.0, 1.0]);
    let (world, file) = (scene.file(), scene.dir().join("a.rec"));
    assert_eq!(
        record(world.as_ref(), &file, &["--fast", "--ticks", "60", "--seed", "18446744073709551615"]).wait().code,
        Some(0)
    );
    let elsewhere = scene.dir().join("elsewhere.sdf");
    std::fs::rename(&world, &elsewhere).unwrap();
    std::fs::write(&world, std::fs::read_to_string(&elsewhere).unwrap().replace("0 0 1 0 0 0", "0 0 2 0 0 0")).unwrap();
    let exit = replay(&file, &[]);
    assert_eq!(exit.code, Some(1), "{exit:?}");
    assert!(
        exit.stderr.contains("digest") && exit.stderr.contains("scene.sdf") && exit.stderr.contains("--world"),
        "{exit:?}"
    );
    let exit = replay(&file, &["--world", elsewhere.to_str().unwrap()]);
    assert_eq!(exit.code, Some(0), "{exit:?}");
    assert!(exit.stdout.contains("replayed 60 ticks (1.000 s) and 0 messages of 0 connections; 2 hashes"), "{exit:?}");
}

#[test]
fn a_file_that_cannot_be_made_is_said_before_anything_starts() {
    let scratch = Scratch::new();
    let file = scratch.write("there.rec", "mine");
    let dir = scratch.path().join("no/such/a.rec");
    for (file, words) in
        [(&*file, "there.rec: the file exists already"), (&dir, "no/such"), (scratch.path(), "directory")]
    {
        let exit = tickworks(Host::args("race.sdf", &ALL, &["--record", file.to_str().unwrap()]));
        assert_eq!(exit.code, Some(1), "{exit:?}");
        assert!(exit.stderr.contains("--record") && exit.stderr.contains(words) && exit.stdout.is_empty(), "{exit:?}");
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), "mine");
    // A run that does not come about leaves none behind.
    let file = scratch.path().join("failed.rec");
    let args = ["--record", file.to_str().unwrap()];
    assert_eq!(tickworks(Host::args("race.sdf", &["nobody"], &args)).code, Some(1));
    assert!(!file.exists());
}

#[test]
fn a_full_disk_ends_the_recording_and_not_the_run() {
    let host = record("race.sdf", "/dev/full".as_ref(), &["--paused"]);
    host.process().error_line(|line| line.contains("ERROR the recording /dev/full ends at tick 0"));
    let mut client = host.json();
    client.step(3);
    assert_eq!(client.ok(json!({"cmd": "sim_get_info"}))["recording"], Value::Null);
    let exit = host.stop();
    assert_eq!((exit.code, exit.stderr.matches("recording").count()), (Some(0), 1), "{exit:?}");
}

/// Replays up to a tick, and waits until clients can connect.
fn until(file: &Path, tick: u64) -> Host {
    let args =
        ["replay", file.to_str().unwrap(), "--until", &tick.to_string(), "--listen", "127.0.0.1:0"].map(str::to_owned);
    Host::of(Process::start(args))
}

#[test]
fn a_past_run_goes_on_with_live_clients() {
    let scratch = Scratch::new();
    let file = scratch.path().join("a.rec");
    let hash = short(&file);
    let mut ends = Vec::new();
    for _ in 0..2 {
        let host = until(&file, 90);
        let mut client = host.json();
        assert_eq!(client.state_hash(), hash, "the state that the run had then");
        let info = client.ok(json!({"cmd": "sim_get_info"}));
        assert_eq!((&info["tick"], &info["paused"], &info["recording"]), (&json!(90), &json!(true), &json!(null)));
        assert_eq!(info["connections"], 1);
        // The robot of the recording is free.
        let before = position(&client.robot(1));
        client.ok(json!({"cmd": "connect", "robot_id": 1}));
        let forward = json!({"cmd": "move", "control_input": [0, 0.05, 0, 0, 0, 0]});
        assert_eq!(client.tick_with(&[forward])[0]["status"], "move_applied");
        assert_ne!(position(&client.robot(1)), before);
        client.step(30);
        ends.push(client.state_hash());
        client.ok(json!({"cmd": "sim_resume"}));
        let exit = host.stop();
        assert_eq!(exit.code, Some(0), "{exit:?}");
        assert!(exit.stdout.contains("replayed 90 ticks (1.500 s)"), "{exit:?}");
    }
    assert_eq!(ends[0], ends[1], "the same branch twice");
    // At both ends of the recording as well.
    for tick in [0, 150] {
        assert_eq!(until(&file, tick).json().ok(json!({"cmd": "sim_get_info"}))["tick"], tick);
    }
    let exit = replay(&file, &["--until", "151"]);
    assert_eq!(exit.code, Some(1), "{exit:?}");
    assert!(exit.stderr.contains("--until 151") && exit.stderr.contains("goes to tick 150"), "{exit:?}");
}

#[test]
fn what_still_waited_for_recorded_connections_is_gone_at_the_hand_over() {
    let scratch = Scratch::new();
    let file = scratch.path().join("a.rec");
    let host = record("arena.sdf", &file, &["--paused", "--fast"]);
    let mut client = host.json();
    client.ok(json!({"cmd": "connect", "robot_id": 0}));
    // More steps than come: what waits behind them, and they, are gone at the hand-over.
    client.send(&json!({"cmd": "sim_step", "ticks": 1_000_000_000}));
    client.send(&json!({"cmd": "sim_reset"}));
    let mut other = host.json();
    let start = Instant::now();
    while other.ok(json!({"cmd": "sim_get_info"}))["tick"].as_u64().unwrap() < 100 {
        assert!(start.elapsed() < PATIENCE);
    }
    host.stop();
    let host = until(&file, 100);
    let info = host.json().ok(json!({"cmd": "sim_get_info"}));
    assert_eq!((&info["tick"], &info["steps_left"], &info["epoch"]), (&json!(100), &json!(0), &json!(0)), "{info}");
    assert!(info["robots"].as_array().unwrap().iter().all(|robot| robot["claimed"] == false));
}

#[test]
fn a_process_that_is_killed_leaves_a_recording_that_is_replayed() {
    let scratch = Scratch::new();
    let file: PathBuf = scratch.path().join("killed.rec");
    let mut host = record("race.sdf", &file, &["--fast"]);
    let mut client = host.json();
    client.ok(json!({"cmd": "connect"}));
    let mut numbers = Numbers(3);
    while client.ok(json!({"cmd": "sim_get_info"}))["tick"].as_u64().unwrap() < 300 {
        client.pipeline(&[numbers.moves(), numbers.moves()]);
    }
    host.signal(Signal::Kill);
    assert_eq!(host.wait().signal, Some(9));
    let exit = replay(&file, &[]);
    assert_eq!(exit.code, Some(0), "{exit:?}");
    assert!(exit.stdout.contains("ends without its end record"), "{exit:?}");
    assert!(exit.stdout.contains(" of 1 connections; "), "{exit:?}");
}

#[test]
fn a_replay_that_is_asked_to_stop_ends_in_order() {
    let scratch = Scratch::new();
    let file = scratch.path().join("long.rec");
    assert_eq!(record("empty.sdf", &file, &["--fast", "--ticks", "1"]).wait().code, Some(0));
    let text = std::fs::read_to_string(&file).unwrap();
    let (head, _) = text.split_at(text.rfind("{\"what\":\"end\"").unwrap());
    let long =
        scratch.write("long.rec", format!("{head}{}\n", json!({"what": "end", "t": 1_u64 << 50, "tick": 1_u64 << 50})));
    for signal in [Signal::Int, Signal::Term] {
        let mut process = Process::start(["replay", long.to_str().unwrap()]);
        process.line(|line| line.contains("(3/3)"));
        process.signal(signal);
        let exit = process.wait();
        assert_eq!(exit.code, Some(0), "{exit:?}");
        assert!(exit.stdout.contains("the replay was stopped before the end of the recording"), "{exit:?}");
    }
}
