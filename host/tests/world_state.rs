//! The state of a world: what a snapshot, a reset, a number of threads and a look at it change, and what not.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

mod by_hand;

use by_hand::{Lcg, Scene, at, pose};
use glamx::{DPose3, DVec3};
use tickworks::physics::{JointKind, Shape, Threads};
use tickworks::world::query::RayQuery;
use tickworks::world::{RobotKind, World};
use tickworks_plugin_api::abi::{self, NO_ENTITY, kind, op};

/// Stacks, a pendulum, a robot on wheels, a UAV that pushes a stack over, others that fly freely and into each other.
fn busy() -> Scene {
    let mut scene = Scene::new(0.004);
    scene.ground();
    scene.stacks(20);
    scene.wall("wall", at(3.0, 0.0, 1.0), [0.01, 4.0, 2.0]);
    let arm = scene.model("pendulum", at(-2.0, 0.0, 2.0), false);
    let inertial = tickworks::physics::Inertial::DEFAULT;
    let c = || vec![by_hand::collision(Shape::Sphere { radius: 0.1 }, DPose3::IDENTITY, 0.5)];
    let top = scene.link(arm, "top", DPose3::IDENTITY, inertial, c());
    let bob = scene.link(arm, "bob", at(0.5, 0.0, 0.0), inertial, c());
    scene.joint("swing", JointKind::Revolute, [top, bob], at(-2.0, 0.0, 2.0), DVec3::Y);
    let pin = scene.joint("pin", JointKind::Fixed, [top, top], at(-2.0, 0.0, 2.0), DVec3::X);
    scene.0.joints[pin].parent = None;
    scene.uav("pusher", at(-1.5, 0.1, 1.0), RobotKind::UavLevel1);
    scene.uav("drifter", at(0.5, 2.0, 1.5), RobotKind::UavLevel2);
    scene.uav("lone", at(0.0, 0.0, 50.0), RobotKind::UavLevel1);
    scene.diff("wheels", -1.5, -1.5);
    scene
}

/// The input of a tick: a function of the tick alone.
fn drive(world: &mut World, tick: u64) {
    let mut random = Lcg(tick.wrapping_mul(77) + 5);
    world.set_control(0, &[0.02, 0.0, 0.002, 0.0, 0.0, 0.01]).unwrap();
    world.set_control(1, &random.six(3.0, 2.0)).unwrap();
    if tick.is_multiple_of(2) {
        world.set_control(2, &random.six(0.1, 0.1)).unwrap();
    }
    if tick.is_multiple_of(30) {
        world.set_control(3, &[random.range(-0.5, 1.0), random.range(-1.0, 1.0)]).unwrap();
    }
    if tick.is_multiple_of(50) {
        let mut v = [0.0; 8];
        v[..6].copy_from_slice(&[random.range(-2.0, 2.0), 1.0, 2.0, 0.1, 0.0, 0.2]);
        let command = abi::Command { op: op::IMPULSE, count: 6, entity: 1 << 32 | 7, v };
        world.apply(&command).unwrap();
    }
}

fn run(world: &mut World, ticks: std::ops::Range<u64>) -> Vec<u64> {
    ticks
        .map(|tick| {
            drive(world, tick);
            world.physics_tick();
            world.state_hash()
        })
        .collect()
}

#[test]
fn i5_a_snapshot_in_a_fresh_world_has_the_same_future() {
    let scene = busy();
    for k in [0, 1, 37, 90, 200] {
        let mut world = scene.build();
        run(&mut world, 0..k);
        let snapshot = world.snapshot();
        let mut fresh = scene.build();
        fresh.restore(&snapshot).unwrap();
        assert_eq!(fresh.state_hash(), world.state_hash(), "right after the restore at tick {k}");
        assert!(fresh.snapshot() == snapshot, "byte for byte, at tick {k}");
        let (a, b) = (run(&mut world, k..k + 150), run(&mut fresh, k..k + 150));
        let differs = a.iter().zip(&b).position(|(a, b)| a != b);
        assert_eq!(differs, None, "ticks after the restore at tick {k} that are the same");
        assert_eq!(pose(&world, 0), pose(&fresh, 0));
    }
}

#[test]
fn a_restore_into_a_world_that_has_gone_on_is_the_same_as_into_a_fresh_one() {
    let mut world = busy().build();
    run(&mut world, 0..60);
    let snapshot = world.snapshot();
    let first = run(&mut world, 60..160);
    world.restore(&snapshot).unwrap();
    assert_eq!(run(&mut world, 60..160), first);
}

#[test]
fn i9_threads_and_looking_change_no_bit() {
    let scene = busy();
    let mut one = scene.build_on(Threads::Count(1));
    let mut two = scene.build_on(Threads::Count(2));
    let ray =
        RayQuery { origin: [0.0, 0.0, 60.0], direction: [0.0, 0.0, -1.0], max_distance: 100.0, ignore: NO_ENTITY };
    for tick in 0..200 {
        drive(&mut one, tick);
        one.physics_tick();
        // One of them is looked at all the time.
        drive(&mut two, tick);
        two.ray_cast(&ray).unwrap();
        two.physics_tick();
        two.ray_cast(&ray).unwrap();
        two.robots();
        two.bodies();
        two.snapshot();
        assert_eq!(one.state_hash(), two.state_hash(), "tick {tick}");
    }
}

#[test]
fn i9_many_bodies_on_one_and_two_threads() {
    let mut scene = Scene::new(0.004);
    scene.ground();
    scene.stacks(400);
    for n in 0..20 {
        scene.uav(&format!("u{n}"), at(-1.0, f64::from(n) * 0.5, 1.0), RobotKind::UavLevel1);
    }
    let mut worlds = [scene.build_on(Threads::Count(1)), scene.build_on(Threads::Count(2)), scene.build()];
    for _ in 0..60 {
        let hashes = worlds.each_mut().map(|world| {
            for robot in 0..20 {
                world.set_control(robot, &[0.05, 0.0, 0.0, 0.0, 0.0, 0.0]).unwrap();
            }
            world.physics_tick();
            world.state_hash()
        });
        assert!(hashes.iter().all(|h| *h == hashes[0]), "{hashes:x?}");
    }
}

#[test]
fn a_world_on_another_thread_goes_on_as_on_the_first() {
    let mut world = busy().build();
    let mut twin = busy().build();
    let first = run(&mut world, 0..30);
    assert_eq!(run(&mut twin, 0..30), first);
    let moved = std::thread::spawn(move || {
        let hashes = run(&mut twin, 30..60);
        (twin, hashes)
    });
    let (_, hashes) = moved.join().unwrap();
    assert_eq!(hashes, run(&mut world, 30..60));
}

#[test]
fn a_reset_is_a_fresh_build() {
    let scene = busy();
    let mut world = scene.build();
    let start = world.state_hash();
    let first = run(&mut world, 0..120);
    for _ in 0..3 {
        world.reset();
        assert_eq!(world.state_hash(), start);
        assert_eq!(run(&mut world, 0..120), first);
    }
    assert_eq!(scene.build().state_hash(), start);
}

#[test]
fn i6_building_resetting_and_restoring_move_nothing() {
    let scene = busy();
    let mut world = scene.build();
    let as_written = |world: &World, what: &str| {
        for (n, link) in scene.0.links.iter().enumerate() {
            let found = world.pose_of(1 << 32 | n as u64).unwrap();
            let (d, a) = tickworks_motion::se3::distance(&found, &link.pose);
            assert!(d < 1e-12 && a < 1e-9, "{what}: {} is off by {d} m", link.name);
        }
    };
    as_written(&world, "built");
    let snapshot = world.snapshot();
    run(&mut world, 0..20);
    world.reset();
    as_written(&world, "reset");
    run(&mut world, 0..20);
    world.restore(&snapshot).unwrap();
    as_written(&world, "restored");
}

#[test]
fn i6_after_a_teleport_queries_see_the_new_place_at_once() {
    let mut world = busy().build();
    run(&mut world, 0..5);
    let model = world.find(kind::MODEL, "b0").unwrap();
    let down = |world: &World, x: f64| {
        let ray =
            RayQuery { origin: [x, 7.0, 5.0], direction: [0.0, 0.0, -2.0], max_distance: 10.0, ignore: NO_ENTITY };
        world.ray_cast(&ray).unwrap().unwrap()
    };
    assert!((down(&world, 9.0).distance - 5.0).abs() < 1e-4, "the ground");
    world.teleport(model, &at(9.0, 7.0, 1.0)).unwrap();
    let hit = down(&world, 9.0);
    assert!((hit.distance - 3.8).abs() < 1e-4, "{hit:?}");
    assert_eq!(world.name(hit.body), Some("b0::link"));
    // A robot, too, in the solver or not, and it stays where it was put.
    for robot in [0, 2] {
        let model = world.robot_info(robot).unwrap().model;
        world.teleport(model, &at(11.0, 7.0, 2.0)).unwrap();
        let hit = down(&world, 11.0);
        assert_eq!(hit.robot, robot);
        assert!((hit.distance - (3.0 - 0.075)).abs() < 1e-4, "{hit:?}");
        world.physics_tick();
        assert!((pose(&world, robot).translation - DVec3::new(11.0, 7.0, 2.0)).length() < 1e-9);
        world.teleport(model, &at(-20.0, 0.0, 5.0)).unwrap();
        assert!((down(&world, 11.0).distance - 5.0).abs() < 1e-4);
    }
    // What was asleep on the ground falls from its new place.
    for _ in 0..60 {
        world.physics_tick();
    }
    let z = world.pose_of(model).unwrap().translation.z;
    assert!((z - 0.2).abs() < 0.01, "{z}");
}

#[test]
fn damaged_and_foreign_states_are_refused_and_change_nothing() {
    let mut world = busy().build();
    run(&mut world, 0..30);
    let good = world.snapshot();
    let hash = world.state_hash();
    let mut refuse = |bytes: &[u8], field: &str| {
        let error = world.restore(bytes).unwrap_err();
        assert_eq!(error.field, field, "{error}");
        assert_eq!(world.state_hash(), hash);
    };
    refuse(b"", "header");
    refuse(&good[..20], "header");
    refuse(b"something else that is long enough to be a header", "header");
    refuse(&good[..good.len() - 1], "checksum");
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    refuse(&flipped, "checksum");
    let mut newer = good.clone();
    newer[8] = 99;
    refuse(&newer, "version");
    let mut other = busy();
    other.uav("one_more", at(0.0, 0.0, 9.0), RobotKind::UavLevel1);
    refuse(&other.build().snapshot(), "world");
    assert_eq!(run(&mut world, 30..50), {
        let mut twin = busy().build();
        run(&mut twin, 0..50)[30..].to_vec()
    });
}

#[test]
fn a_stack_of_ten_boxes_rests_for_a_minute() {
    for step in [0.001, 0.004] {
        let mut scene = Scene::new(step);
        scene.ground();
        scene.stacks(10);
        // Awake all the time: that it falls asleep must not be what keeps it.
        for model in &mut scene.0.models {
            model.allow_sleep = false;
        }
        let mut world = scene.build();
        world.physics_tick();
        let ids: Vec<u64> = world.bodies().ids.to_vec();
        let first: Vec<DVec3> = ids.iter().map(|id| world.pose_of(*id).unwrap().translation).collect();
        for (n, p) in first.iter().enumerate() {
            let start = scene.0.links[n + 1].pose.translation;
            let jump = (*p - start).length();
            assert!(jump < if step == 0.001 { 5e-4 } else { 2e-3 }, "box {n} jumps by {jump} m at the first tick");
        }
        for _ in 0..3600 {
            world.physics_tick();
        }
        for (n, id) in ids.iter().enumerate() {
            let p = world.pose_of(*id).unwrap().translation;
            let start = scene.0.links[n + 1].pose.translation;
            // Contacts are springs: the lower ones carry more.
            let allowed = if step == 0.001 { 5e-4 } else { 5e-3 };
            assert!((p - start).length() < allowed, "box {n} moved by {} m at steps of {step} s", (p - start).length());
        }
    }
}

#[test]
fn what_rests_falls_asleep_and_costs_nothing() {
    let mut scene = Scene::new(0.004);
    scene.ground();
    scene.stacks(50);
    let mut world = scene.build();
    // Stacks of ten settle for some seconds.
    for _ in 0..600 {
        world.physics_tick();
    }
    assert!(world.physics().at_rest());
    let hash = world.state_hash();
    for _ in 0..60 {
        world.physics_tick();
    }
    assert_eq!(world.state_hash(), hash, "nothing changes any more");
}
