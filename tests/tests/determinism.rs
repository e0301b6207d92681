//! I9: the same world, plugins and messages at the same ticks give the same state, bit for bit.

use serde_json::{Value, json};
use tickworks_tests::{Client, Host};

const PLUGINS: [&str; 3] = ["manual_move", "trajectory_mission", "race"];

/// Numbers that look random and are the same in each run.
struct Numbers(u64);

impl Numbers {
    /// From -1 to 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from((self.0 >> 33) as u32) / f64::from(1_u32 << 30) - 1.0
    }
}

/// All four robots fly: two what they are told, which takes one of them through the first gate and into things, two on
/// ways that the host plans and corrects.
fn script(client: &mut Client) {
    let mut numbers = Numbers(7);
    for robot in 0..2 {
        let mut way = vec![json!([0.0, 0.08, 0.0, 0.0, 0.0, 0.0]); 15];
        way.extend((0..600).map(|_| {
            let mut turn = || 0.05 * numbers.next();
            json!([turn(), turn(), 0.12, turn(), turn(), turn()])
        }));
        client.ok(json!({"cmd": "mission_start", "robot_id": robot, "trajectory": way}));
    }
    for robot in 2..4 {
        for (x, y) in [(-4.0, -8.0), (4.0, -9.0), (11.0, -6.0)] {
            let z = 1.6 + 0.4 * f64::from(robot);
            let pose = json!([[0, 0, 1, x], [1, 0, 0, y], [0, 1, 0, z], [0, 0, 0, 1]]);
            client.ok(json!({"cmd": "mission_add_via_point", "robot_id": robot, "pose": pose}));
        }
        client.ok(json!({"cmd": "mission_start", "robot_id": robot}));
    }
    client.ok(json!({"cmd": "race_start", "countdown": 0.25}));
}

/// The hash that a run of so many ticks ends with.
fn hash_of(pace: &[&str], threads: &str, ticks: u64, framing: fn(&Host) -> Client) -> String {
    let ticks = ticks.to_string();
    let args = [&["--paused", "--threads", threads, "--ticks", &ticks], pace].concat();
    let host = Host::start("race.sdf", &PLUGINS, &args);
    let mut client = framing(&host);
    script(&mut client);
    client.send(&json!({"cmd": "sim_resume"}));
    let exit = host.wait();
    assert_eq!(exit.code, Some(0), "{}", exit.stderr);
    let (_, hash) = exit.stdout.rsplit_once("state hash ").unwrap_or_else(|| panic!("no hash in {}", exit.stdout));
    assert!(exit.stdout.contains(&format!("ended at tick {ticks},")), "{}", exit.stdout);
    hash.trim().to_owned()
}

#[test]
fn i9_five_runs_as_fast_as_possible_on_one_and_two_threads() {
    const TICKS: u64 = 400;
    type Connect = fn(&Host) -> Client;
    let (json, msgpack): (Connect, Connect) = (Host::json, Host::msgpack);
    let runs = [("1", json), ("2", json), ("1", msgpack), ("2", msgpack), ("2", json)];
    let hashes = runs.map(|(threads, framing)| hash_of(&["--fast"], threads, TICKS, framing));
    assert!(hashes.iter().all(|hash| *hash == hashes[0]), "{hashes:?}");
    let in_time = ["1", "2"].map(|threads| hash_of(&["--real-time-factor", "20"], threads, TICKS, Host::json));
    assert!(in_time.iter().all(|hash| *hash == hashes[0]), "at twenty times real time: {in_time:?}, not {}", hashes[0]);
    // A hash that never changes would have passed as well.
    assert_ne!(hash_of(&["--fast"], "1", TICKS + 1, Host::json), hashes[0]);
}

#[test]
fn i9_in_real_time_as_well() {
    const TICKS: u64 = 90;
    let in_time = ["1", "2"].map(|threads| hash_of(&["--real-time-factor", "1"], threads, TICKS, Host::json));
    assert_eq!(in_time[0], in_time[1]);
    assert_eq!(hash_of(&["--fast"], "2", TICKS, Host::msgpack), in_time[0]);
}

#[test]
fn i9_messages_in_the_same_ticks_give_the_same_state_however_they_arrive() {
    let run = |host: &Host, mut clients: Vec<Client>, pause: u64| -> Value {
        let mut first = host.json();
        script(&mut first);
        // The moves of one tick come over one connection or over several, before its step or behind it.
        for tick in 0..60_u64 {
            let drive = json!({"cmd": "mission_get_state", "robot_id": tick % 4});
            let at = (tick % clients.len() as u64) as usize;
            clients[at].ok(drive);
            if tick % pause == 0 {
                first.ok(json!({"cmd": "sim_get_state"}));
            }
            clients[at].step(1);
        }
        first.ok(json!({"cmd": "sim_get_state"}))
    };
    let states: Vec<Value> = [1, 7]
        .into_iter()
        .map(|pause| {
            let host = Host::start("race.sdf", &PLUGINS, &["--paused", "--fast"]);
            let clients = host.both().into_iter().map(|(_, client)| client).collect();
            run(&host, clients, pause)
        })
        .collect();
    assert_eq!(states[0]["state"], states[1]["state"]);
    assert_eq!(states[0]["robots"], states[1]["robots"]);
}
