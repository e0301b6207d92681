//! A whole tick of the host, with the plugins that ship, beside the same steps of bare rapier; and a message through a
//! plugin and back, without the socket.
//!
//! Robots stand still here; the bench `worlds` has them move. Each pair is measured in turns, so that what else the
//! machine does falls on both. `cargo bench --bench ticks`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench prints, and may fail loudly"
)]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use tickworks::net::{Net, NetOptions};
use tickworks::plugin::{Counts, LoadContext, Manager, ManagerOptions, PluginReport, PluginSpec, Search, TrackerEvent};
use tickworks::sdf::Diagnostic;
use tickworks::sim::{Ended, Observer, Options, Pace, Ready, Simulation, Stop};

#[path = "../tests/by_hand/mod.rs"]
mod by_hand;
mod raw;
#[allow(dead_code, reason = "each bench uses a part of it")]
mod sdf_text;

/// The plugins that ship, weakest first.
const PLUGINS: [&str; 3] = ["manual_move", "trajectory_mission", "race"];

/// Says nothing, fails loudly.
struct Silent;

impl Observer for Silent {
    fn diagnostic(&mut self, diagnostic: &Diagnostic) {
        assert!(diagnostic.severity != tickworks::sdf::Severity::Error, "{diagnostic}");
    }
    fn plugin(&mut self, _: &PluginReport, _: Counts) {}
    fn ready(&mut self, _: &Ready) {}
    fn ended(&mut self, _: &Ended) {}
}

/// A simulation as `tickworks run` makes it, with its socket.
fn simulation(world: &Path) -> (Net, Simulation) {
    let net = NetOptions::new("127.0.0.1:0".parse().unwrap());
    let options = Options {
        world: world.to_owned(),
        model_paths: Vec::new(),
        plugins: PLUGINS.map(Into::into).to_vec(),
        plugin_dirs: vec![tickworks_tests::bin_dir().to_owned()],
        net: net.clone(),
        rate: 60.0,
        pace: Some(Pace::Fast),
        seed: 0,
        ticks: None,
        paused: false,
        keep_going: false,
        plugin_start_timeout: Duration::from_secs(30),
        threads: None,
        save_dir: None,
        state: None,
        record: None,
    };
    let (net, inbox) = Net::start(net).unwrap();
    let simulation = Simulation::load(&options, &Stop::new(), &mut Silent, &net, inbox).unwrap().unwrap();
    (net, simulation)
}

struct Pair {
    name: String,
    text: String,
    raw: raw::Raw,
    subticks: u32,
}

fn pairs() -> Vec<Pair> {
    let mut pairs =
        vec![Pair { name: "nothing".into(), text: sdf_text::ground(), raw: raw::Raw::stacks(0, 0.001), subticks: 17 }];
    for count in [1, 10, 100, 1000, 10_000] {
        let (text, raw) = (sdf_text::uavs(count), raw::Raw::uavs(count, 0.004));
        pairs.push(Pair { name: format!("uav_{count}"), text, raw, subticks: 5 });
    }
    for count in [1, 10, 100] {
        let (text, raw) = (sdf_text::diffs(count), raw::Raw::diffs(count, 0.001, false));
        pairs.push(Pair { name: format!("diff_{count}"), text, raw, subticks: 17 });
    }
    for count in [100, 1000] {
        let (text, raw) = (sdf_text::stacks(count), raw::Raw::stacks(count, 0.001));
        pairs.push(Pair { name: format!("boxes_stack_{count}"), text, raw, subticks: 17 });
    }
    pairs
}

/// Many short ones, so that both sides get a quiet moment of the machine.
const BATCHES: u32 = 60;

/// Least time of a batch of ticks, host and rapier in turns.
fn measure(simulation: &mut Simulation, raw: &mut raw::Raw, subticks: u32, batches: u32, ticks: u32) -> (f64, f64) {
    let (mut host, mut bare) = (f64::MAX, f64::MAX);
    for _ in 0..batches {
        let start = Instant::now();
        for _ in 0..ticks {
            simulation.run_tick();
        }
        host = host.min(start.elapsed().as_secs_f64() / f64::from(ticks));
        let start = Instant::now();
        for _ in 0..ticks * subticks {
            raw.step();
        }
        bare = bare.min(start.elapsed().as_secs_f64() / f64::from(ticks));
    }
    (host * 1e6, bare * 1e6)
}

fn ticks(_: &mut Criterion) {
    let only: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let dir = tempfile::tempdir().unwrap();
    println!("{:<18} {:>12} {:>12} {:>9} {:>12}", "a tick of 1/60 s", "host", "rapier", "ratio", "overhead");
    for mut pair in pairs() {
        if !only.is_empty() && !only.iter().any(|part| pair.name.contains(part.as_str())) {
            continue;
        }
        let file = dir.path().join("world.sdf");
        std::fs::write(&file, &pair.text).unwrap();
        let (_net, mut simulation) = simulation(&file);
        let once = measure(&mut simulation, &mut pair.raw, pair.subticks, 1, 2);
        let count = (2e4 / (once.0 + once.1)).clamp(1.0, 2000.0) as u32;
        let (host, raw) = measure(&mut simulation, &mut pair.raw, pair.subticks, BATCHES, count);
        println!(
            "{:<18} {host:>9.1} us {raw:>9.1} us {:>9.3} {:>6.1} us {:>5.1} %",
            pair.name,
            host / raw,
            host - raw,
            100.0 * (host / raw - 1.0)
        );
    }
}

/// The plugins alone, over a view that is always the same.
fn manager() -> Manager {
    let search = Search::in_dirs(vec![tickworks_tests::bin_dir().to_owned()]);
    let start_timeout = Duration::from_secs(30);
    let mut manager = Manager::new(ManagerOptions { search, start_timeout, keep_going: false, waker: None });
    let world = tickworks_plugin_api::WorldRef { name: "bench".into(), file: None::<PathBuf> };
    manager.load(PLUGINS.map(PluginSpec::named).to_vec(), &LoadContext { world, rate_hz: 60.0, seed: 0 });
    while !manager.wait(Instant::now() + start_timeout).iter().any(|e| matches!(e, TrackerEvent::AllStarted { .. })) {}
    manager
}

fn messages(criterion: &mut Criterion) {
    let world = {
        let mut scene = by_hand::Scene::new(0.004);
        scene.uav("u0", by_hand::at(0.0, 0.0, 1.0), tickworks::world::RobotKind::UavLevel1);
        scene.build()
    };
    let mut manager = manager();
    let moment = tickworks::sim::Moment { tick: 0, dt: 1.0 / 60.0, paused: false };
    let view = tickworks::sim::View { world: &world, moment };
    let mut bench = |name: &str, cmd: &str, json: &str| {
        let message = tickworks::plugin::MessageIn {
            id: 0,
            session: 1,
            from: tickworks_plugin_api::EntityId::NONE,
            target: tickworks_plugin_api::EntityId(0),
            cmd,
            json: json.as_bytes(),
        };
        criterion.bench_function(name, |bencher| bencher.iter(|| black_box(manager.message(&view, &message))));
    };
    bench("message_move", "move", r#"{"cmd":"move","robot_id":0,"control_input":[0,0,0.05,0,0,0]}"#);
    bench("message_mission_get_state", "mission_get_state", r#"{"cmd":"mission_get_state","robot_id":0}"#);
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = ticks, messages
}
criterion_main!(benches);
