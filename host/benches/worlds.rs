//! A tick of the world beside the same steps of bare rapier: boxes in stacks, robots on wheels, UAVs. The worlds are those
//! of the benchmark that other engines are measured with.
//!
//! Each pair is measured in turns, so that what else the machine does falls on both, and its ratio is printed: the time of
//! bare rapier over that of the host (1: no overhead). Then criterion measures the host's tick by itself.
//!
//! `cargo bench --bench worlds`; `-- uav` for a part of it.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a bench prints, and may fail loudly")]

#[path = "../tests/by_hand/mod.rs"]
mod by_hand;
mod raw;

use std::time::{Duration, Instant};

use by_hand::{Scene, at};
use criterion::{Criterion, criterion_group, criterion_main};
use tickworks::physics::Threads;
use tickworks::world::{RobotKind, World};

/// What one workload is: the host's world and bare rapier's, with what is done before each tick.
struct Pair {
    name: String,
    host: World,
    raw: Option<raw::Raw>,
    drive: fn(&mut World, u64),
}

fn nothing(_: &mut World, _: u64) {}

fn fly(world: &mut World, tick: u64) {
    let turn = if tick.is_multiple_of(120) { -1.0 } else { 1.0 };
    for robot in 0..world.robot_count() as u64 {
        world.set_control(robot, &[0.02, 0.0, 0.0, 0.0, 0.0, 0.01 * turn]).unwrap();
    }
}

fn roll(world: &mut World, tick: u64) {
    if tick == 0 {
        for robot in 0..world.robot_count() as u64 {
            world.set_control(robot, &[0.5, 0.2]).unwrap();
        }
    }
}

fn stack(count: usize, sleep: bool) -> Scene {
    let mut scene = Scene::new(0.001);
    scene.ground();
    scene.stacks(count);
    for model in &mut scene.0.models {
        model.allow_sleep = sleep;
    }
    scene
}

fn diffs(count: usize) -> Scene {
    let mut scene = Scene::new(0.001);
    scene.ground();
    let side = (count as f64).sqrt().ceil() as usize;
    for n in 0..count {
        scene.diff(&format!("r{n}"), 2.0 * (n % side) as f64, 2.0 * (n / side) as f64);
    }
    scene
}

fn uavs(count: usize, colliders: bool) -> Scene {
    let mut scene = Scene::new(0.004);
    scene.0.gravity = glamx::DVec3::ZERO;
    let side = (count as f64).cbrt().ceil() as usize;
    for n in 0..count {
        let (x, y, z) = (n % side, n / side % side, n / side / side);
        let place = at(2.0 * x as f64, 2.0 * y as f64, 2.0 * z as f64);
        if colliders {
            scene.uav(&format!("u{n}"), place, RobotKind::UavLevel1);
        } else {
            scene.uav_of(&format!("u{n}"), place, RobotKind::UavLevel1, Vec::new());
        }
    }
    scene
}

fn pairs() -> Vec<Box<dyn Fn() -> Pair>> {
    let mut list: Vec<Box<dyn Fn() -> Pair>> = Vec::new();
    for count in [100, 1000] {
        list.push(Box::new(move || {
            let scene = stack(count, false);
            let raw = Some(raw::Raw::stacks(count, 0.001));
            Pair { name: format!("boxes_stack_{count}"), host: scene.build_on(Threads::Auto), raw, drive: nothing }
        }));
    }
    for count in [1, 10, 100, 1000] {
        list.push(Box::new(move || Pair {
            name: format!("diff_{count}"),
            host: diffs(count).build_on(Threads::Auto),
            raw: Some(raw::Raw::diffs(count, 0.001, true)),
            drive: roll,
        }));
    }
    for count in [1, 10, 100, 1000, 10_000] {
        list.push(Box::new(move || Pair {
            name: format!("uav_{count}"),
            host: uavs(count, false).build_on(Threads::Auto),
            raw: Some(raw::Raw::uavs(count, 0.004)),
            drive: fly,
        }));
    }
    list.push(Box::new(|| Pair {
        name: "uav_10000_with_colliders".to_owned(),
        host: uavs(10_000, true).build_on(Threads::Auto),
        raw: None,
        drive: fly,
    }));
    list
}

/// Least time of a batch of ticks: what the work costs when nothing disturbs it. Both sides take turns.
fn measure(pair: &mut Pair, batches: u32, ticks: u32) -> (Duration, Option<Duration>) {
    let (mut host, mut raw) = (Duration::MAX, Duration::MAX);
    let mut tick = 0;
    for _ in 0..batches {
        let mut spent = Duration::ZERO;
        for _ in 0..ticks {
            (pair.drive)(&mut pair.host, tick);
            tick += 1;
            let start = Instant::now();
            pair.host.physics_tick();
            spent += start.elapsed();
        }
        host = host.min(spent / ticks);
        if let Some(bare) = &mut pair.raw {
            let steps = ticks * pair.host.subticks();
            let start = Instant::now();
            for _ in 0..steps {
                bare.step();
            }
            raw = raw.min(start.elapsed() / ticks);
        }
    }
    (host, pair.raw.as_ref().map(|_| raw))
}

fn worlds(criterion: &mut Criterion) {
    let only: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    println!("{:<26} {:>12} {:>12} {:>9} {:>10}", "a tick of 1/60 s", "host", "rapier", "ratio", "overhead");
    for make in pairs() {
        let mut pair = make();
        if !only.is_empty() && !only.iter().any(|part| pair.name.contains(part.as_str())) {
            continue;
        }
        let once = measure(&mut pair, 1, 1).0.max(Duration::from_micros(1));
        let ticks = (Duration::from_millis(20).as_nanos() / once.as_nanos()).clamp(1, 2000) as u32;
        let (host, raw) = measure(&mut pair, 40, ticks);
        match raw {
            Some(raw) => println!(
                "{:<26} {:>9.1} us {:>9.1} us {:>9.3} {:>7.1} us",
                pair.name,
                host.as_secs_f64() * 1e6,
                raw.as_secs_f64() * 1e6,
                raw.as_secs_f64() / host.as_secs_f64(),
                (host.as_secs_f64() - raw.as_secs_f64()) * 1e6
            ),
            None => println!("{:<26} {:>9.1} us", pair.name, host.as_secs_f64() * 1e6),
        }
        let mut tick = 1;
        let drive = pair.drive;
        let world = &mut pair.host;
        criterion.bench_function(&pair.name, |bencher| {
            bencher.iter(|| {
                drive(world, tick);
                tick += 1;
                world.physics_tick();
            });
        });
    }
}

fn views(criterion: &mut Criterion) {
    let mut world = uavs(10_000, false).build();
    criterion.bench_function("view_of_10000_robots", |bencher| {
        bencher.iter(|| {
            // Any change makes the arrays be built anew.
            world.set_claimed(0, true);
            world.robots().poses.len()
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = worlds, views
}
criterion_main!(benches);
