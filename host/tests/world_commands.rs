//! Commands, views and questions: what they answer, and what they refuse.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

mod by_hand;

use by_hand::{Scene, at, pose};
use glamx::DVec3;
use tickworks::world::query::RayQuery;
use tickworks::world::{CommandError, RobotKind, World};
use tickworks_plugin_api::abi::{Command, NO_ENTITY, flag, kind, op};

fn scene() -> World {
    let mut scene = Scene::new(0.004);
    scene.ground();
    scene.crate_("box", at(3.0, 0.0, 0.2), 0.4, 2.0);
    scene.uav("uav", at(0.0, 0.0, 2.0), RobotKind::UavLevel1);
    scene.diff("wheels", 0.0, -3.0);
    scene.build()
}

const BOX: u64 = 1 << 32 | 1;
const UAV_BODY: u64 = 1 << 32 | 2;

fn command(op: u32, entity: u64, numbers: &[f64]) -> Command {
    let mut v = [0.0; 8];
    v[..numbers.len()].copy_from_slice(numbers);
    Command { op, count: numbers.len() as u32, entity, v }
}

#[test]
fn refusals_say_what_is_wrong_and_change_nothing() {
    let mut world = scene();
    let hash = world.state_hash();
    let mut refuse = |c: Command, text: &str| {
        let error = world.apply(&c).unwrap_err().to_string();
        assert!(error.contains(text), "{error:?} does not say {text:?}");
    };
    refuse(command(op::CONTROL, 7, &[0.0; 6]), "no robot with id 7");
    refuse(command(op::CONTROL, NO_ENTITY, &[0.0; 6]), "no robot with id");
    refuse(command(op::CONTROL, 0, &[0.0; 5]), "uav takes 6 numbers, not 5");
    refuse(command(op::CONTROL, 1, &[0.0; 6]), "wheels takes 2 numbers, not 6");
    refuse(command(op::CONTROL, 0, &[0.0, 0.0, f64::NAN, 0.0, 0.0, 0.0]), "number 2 for uav is NaN");
    refuse(command(op::VELOCITY, 1 << 32 | 99, &[0.0; 6]), "no body with id");
    refuse(command(op::VELOCITY, 0, &[0.0; 6]), "no body with id 0");
    refuse(command(op::FORCE, 1 << 32, &[0.0; 6]), "ground::link is static");
    refuse(command(op::IMPULSE, UAV_BODY, &[0.0; 6]), "motion model of robot 0");
    refuse(command(op::IMPULSE, BOX, &[f64::INFINITY, 0.0, 0.0, 0.0, 0.0, 0.0]), "box::link is inf");
    refuse(command(9, BOX, &[0.0; 6]), "no operation 9");
    assert_eq!(world.set_control(3, &[]), Err(CommandError::Unknown { kind: "robot", id: 3 }));
    assert!(world.teleport(2 << 32, &at(0.0, 0.0, 1.0)).unwrap_err().to_string().contains("static"));
    assert!(world.teleport(2 << 32 | 9, &at(0.0, 0.0, 1.0)).unwrap_err().to_string().contains("no model"));
    assert!(world.teleport(2 << 32 | 1, &at(f64::NAN, 0.0, 1.0)).is_err());
    assert_eq!(world.state_hash(), hash);
}

#[test]
fn forces_last_one_tick_and_impulses_act_at_once() {
    let mut world = scene();
    let dt = world.tick_dt();
    world.teleport(2 << 32 | 1, &at(3.0, 0.0, 50.0)).unwrap();
    let speed = |world: &World| {
        let n = world.bodies().ids.iter().position(|id| *id == BOX).unwrap();
        world.bodies().velocities[n]
    };
    world.apply(&command(op::FORCE, BOX, &[12.0, 0.0, 0.0, 0.0, 0.0, 0.0])).unwrap();
    world.physics_tick();
    assert!((speed(&world)[0] - 6.0 * dt).abs() < 1e-4, "{:?}", speed(&world));
    world.physics_tick();
    assert!((speed(&world)[0] - 6.0 * dt).abs() < 1e-4, "the force has ended");
    world.apply(&command(op::IMPULSE, BOX, &[0.0, 4.0, 0.0, 0.0, 0.0, 0.0])).unwrap();
    world.physics_tick();
    assert!((speed(&world)[1] - 2.0).abs() < 1e-4);
    world.apply(&command(op::VELOCITY, BOX, &[-1.0, 0.0, 3.0, 0.0, 0.0, 2.0])).unwrap();
    world.physics_tick();
    let v = speed(&world);
    assert!((v[0] + 1.0).abs() < 1e-4 && (v[2] - (3.0 - 9.81 * dt)).abs() < 1e-3 && (v[5] - 2.0).abs() < 1e-3, "{v:?}");
}

#[test]
fn the_last_control_input_before_a_tick_counts() {
    let mut world = scene();
    world.set_control(0, &[0.1, 0.0, 0.0, 0.0, 0.0, 0.0]).unwrap();
    world.set_control(0, &[0.0, 0.2, 0.0, 0.0, 0.0, 0.0]).unwrap();
    world.physics_tick();
    assert_eq!(pose(&world, 0).translation, DVec3::new(0.0, 0.2, 2.0));
}

#[test]
fn views_are_in_the_order_of_ids_and_follow_the_world() {
    let mut world = scene();
    assert_eq!(world.robots().ids, [0, 1]);
    assert_eq!(world.bodies().ids, [BOX, UAV_BODY, 1 << 32 | 3, 1 << 32 | 4, 1 << 32 | 5]);
    assert_eq!(world.robots().poses[0], [0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.0]);
    world.set_claimed(1, true);
    assert_eq!(world.robots().flags, [0, flag::CLAIMED]);
    world.set_control(0, &[0.0, 0.0, 0.1, 0.0, 0.0, 0.0]).unwrap();
    world.physics_tick();
    assert_eq!(world.robots().poses[0][2], 2.1);
    assert!((world.robots().velocities[0][2] - 6.0).abs() < 1e-12);
    // The UAV's link moves with it, its velocity is that of the world frame.
    assert_eq!(world.bodies().poses[1][2], 2.1);
    assert!((world.bodies().velocities[1][2] - 6.0).abs() < 1e-12);
    world.reset();
    assert_eq!(world.robots().poses[0][2], 2.0);
    assert_eq!(world.robots().flags, [0, flag::CLAIMED], "claims are the sessions'");
}

#[test]
fn rays_see_robots_boxes_and_the_ground() {
    let world = scene();
    let cast = |origin: [f64; 3], direction: [f64; 3], ignore: u64| {
        world.ray_cast(&RayQuery { origin, direction, max_distance: 100.0, ignore }).unwrap()
    };
    let hit = cast([-5.0, 0.0, 2.0], [3.0, 0.0, 0.0], NO_ENTITY).unwrap();
    assert_eq!((hit.robot, hit.body), (0, UAV_BODY));
    assert!((hit.distance - 4.8).abs() < 1e-5 && (hit.normal[0] + 1.0).abs() < 1e-5, "{hit:?}");
    for ignore in [0, UAV_BODY, world.find(kind::MODEL, "uav").unwrap()] {
        assert_eq!(cast([-5.0, 0.0, 2.0], [1.0, 0.0, 0.0], ignore), None, "through {ignore:x}");
    }
    let hit = cast([3.0, 0.0, 5.0], [0.0, 0.0, -1.0], NO_ENTITY).unwrap();
    assert_eq!((hit.robot, hit.body), (NO_ENTITY, BOX));
    assert!((hit.distance - 4.6).abs() < 1e-5 && (hit.point[2] - 0.4).abs() < 1e-5);
    let hit = cast([8.0, 8.0, 5.0], [0.0, 0.0, -1.0], NO_ENTITY).unwrap();
    assert_eq!(world.name(hit.body), Some("ground::link"));
    for (direction, length) in [([0.0; 3], 1.0), ([f64::NAN, 0.0, 0.0], 1.0), ([1.0, 0.0, 0.0], -1.0)] {
        let ray = RayQuery { origin: [0.0; 3], direction, max_distance: length, ignore: NO_ENTITY };
        assert!(world.ray_cast(&ray).is_err());
    }
}

#[test]
fn absurd_inputs_are_survived_and_reported() {
    let mut world = scene();
    for x in [1e30, -1e200, 1e308] {
        world.set_control(0, &[x, 0.0, 0.0, 0.0, x, 0.0]).unwrap();
        world.physics_tick();
        assert_eq!(world.quarantined(), [UAV_BODY]);
        assert_eq!(pose(&world, 0).translation, DVec3::new(0.0, 0.0, 2.0), "it stays where it is");
    }
    // A body that is thrown out of the numbers' range is taken out; the others go on.
    world.apply(&command(op::VELOCITY, BOX, &[1e300, 0.0, 0.0, 0.0, 0.0, 0.0])).unwrap();
    world.physics_tick();
    assert_eq!(world.quarantined(), [BOX]);
    world.set_control(0, &[0.1, 0.0, 0.0, 0.0, 0.0, 0.0]).unwrap();
    world.physics_tick();
    assert!(world.quarantined().is_empty());
    assert!(world.pose(BOX).unwrap().iter().all(|x| x.is_finite()));
    assert_eq!(pose(&world, 0).translation.x, 0.1);
}

#[test]
fn one_that_stands_on_something_stands_and_touches_it() {
    let mut scene = Scene::new(0.004);
    scene.ground();
    let robot = scene.uav("uav", at(0.0, 0.0, 0.075), RobotKind::UavLevel1);
    let mut world = scene.build();
    for _ in 0..60 {
        world.physics_tick();
        assert_eq!(pose(&world, robot), at(0.0, 0.0, 0.075), "to the bit");
        assert!(world.colliding(robot) && !world.in_solver(robot));
    }
    // It takes off.
    for _ in 0..10 {
        world.set_control(robot, &[0.0, 0.0, 0.05, 0.0, 0.0, 0.0]).unwrap();
        world.physics_tick();
    }
    assert!((pose(&world, robot).translation.z - 0.575).abs() < 1e-3 && !world.colliding(robot));
}

#[test]
fn a_crate_that_falls_on_a_parked_uav_is_felt() {
    let mut scene = Scene::new(0.004);
    scene.ground();
    let robot = scene.uav("uav", at(0.0, 0.0, 0.075), RobotKind::UavLevel1);
    scene.crate_("box", at(0.0, 0.0, 2.0), 0.3, 1.0);
    let mut world = scene.build();
    for _ in 0..120 {
        world.physics_tick();
    }
    let z = world.pose(1 << 32 | 2).unwrap()[2];
    assert!((z - 0.3).abs() < 0.01, "it lies on the robot: {z}");
    assert!((pose(&world, robot).translation.z - 0.075).abs() < 5e-3);
}
