//! What is in a robot's way stops it: no tunnelling, less than 5 mm deep, at any speed, and `colliding` says so.

mod by_hand;

use by_hand::{Lcg, Scene, at, collision, mesh_box, pose};
use glamx::{DPose3, DQuat, DVec3};
use tickworks::physics::Shape;
use tickworks::world::{RobotKind, World};

/// How deep a robot may be in anything, m.
const DEEPEST: f64 = 5e-3;

fn assert_not_deep(world: &World, robot: u64, what: &str) {
    if let Some(depth) = world.penetration(robot) {
        assert!(depth < DEEPEST, "{what}: {:.2} mm deep, at {:?}", depth * 1e3, pose(world, robot));
    }
}

/// Obstacles whose near side is the plane x = 0.
fn obstacles() -> Vec<(&'static str, Shape, DPose3)> {
    let size = |x: f64| DVec3::new(x, 20.0, 20.0);
    let flat = [[0.0, -10.0, -10.0], [0.0, 10.0, -10.0], [0.0, 10.0, 10.0], [0.0, -10.0, 10.0]];
    let points: std::sync::Arc<[DVec3]> = flat.into_iter().map(DVec3::from_array).collect();
    let sheet = Shape::TriMesh { points, triangles: vec![[0, 2, 1], [0, 3, 2]].into() };
    vec![
        ("a thick wall", Shape::Box { size: size(1.0) }, at(0.5, 0.0, 0.0)),
        ("a wall of 1 cm", Shape::Box { size: size(0.01) }, at(0.005, 0.0, 0.0)),
        ("a mesh wall of 1 cm", mesh_box([0.01, 20.0, 20.0]), at(0.005, 0.0, 0.0)),
        ("a mesh of two triangles", sheet, DPose3::IDENTITY),
        ("a half-space", Shape::Plane { normal: -DVec3::X }, DPose3::IDENTITY),
    ]
}

#[test]
fn walls_hold_at_any_speed_and_angle() {
    for (name, shape, place) in obstacles() {
        for speed in [0.003, 0.05, 0.1, 0.37, 1.0, 3.0] {
            for slant in [0.0_f64, 0.7, 1.4] {
                for spin in [0.0, 0.3] {
                    let what = format!("{name}, {speed} m a tick, slant {slant}, spin {spin}");
                    let mut scene = Scene::new(0.004);
                    scene.fixed("wall", place, shape.clone());
                    let start = DVec3::new(-1.0, 0.1, 0.2);
                    let robot = scene.uav("uav", DPose3::from_translation(start), RobotKind::UavLevel1);
                    let mut world = scene.build();
                    let direction = DVec3::new(slant.cos(), slant.sin(), 0.0);
                    let mut collided = 0;
                    let ticks = ((1.5 / (speed * slant.cos())) as usize).clamp(10, 4000);
                    for _ in 0..ticks {
                        // A push into the wall, whatever the robot's attitude is.
                        let body = pose(&world, robot).rotation.inverse() * (direction * speed);
                        world.set_control(robot, &[body.x, body.y, body.z, spin, 0.0, 0.0]).unwrap();
                        world.physics_tick();
                        assert_not_deep(&world, robot, &what);
                        assert!(pose(&world, robot).translation.x < 0.0, "{what}: it is through");
                        collided += usize::from(world.colliding(robot));
                        if pose(&world, robot).translation.y.abs() > 9.0 {
                            break;
                        }
                    }
                    assert!(collided > 0, "{what}: it never collided, at {:?}", pose(&world, robot));
                }
            }
        }
    }
}

#[test]
fn at_the_wall_it_is_colliding_and_away_from_it_not() {
    let mut scene = Scene::new(0.004);
    scene.wall("wall", at(0.5, 0.0, 0.0), [1.0, 20.0, 20.0]);
    let robot = scene.uav("uav", at(-1.0, 0.0, 0.0), RobotKind::UavLevel1);
    let mut world = scene.build();
    let go = |world: &mut World, x: f64, ticks: usize| {
        for _ in 0..ticks {
            world.set_control(robot, &[x, 0.0, 0.0, 0.0, 0.0, 0.0]).unwrap();
            world.physics_tick();
        }
        (pose(world, robot).translation.x, world.colliding(robot))
    };
    let (x, colliding) = go(&mut world, 0.1, 7);
    assert!((x - -0.3).abs() < 1e-9 && !colliding, "{x}, {colliding}");
    let (x, colliding) = go(&mut world, 0.1, 5);
    assert!((x - -0.2).abs() < DEEPEST && colliding, "{x}, {colliding}");
    assert!(world.robots().velocities[0][0].abs() < 0.1, "the reported speed is the real one");
    // Still pressed against it without a control input: it stands there.
    world.physics_tick();
    assert!(world.colliding(robot), "it still touches the wall");
    let (x, colliding) = go(&mut world, -0.1, 3);
    assert!(x < -0.45 && !colliding, "{x}, {colliding}");
}

#[test]
fn it_slides_along_a_wall_that_it_is_pressed_against() {
    let mut scene = Scene::new(0.004);
    scene.wall("wall", at(0.5, 0.0, 0.0), [1.0, 40.0, 20.0]);
    scene.0.links[0].collisions[0].surface.friction = 0.0;
    let robot = scene.uav("uav", at(-0.25, 0.0, 0.0), RobotKind::UavLevel1);
    let mut world = scene.build();
    for _ in 0..100 {
        world.set_control(robot, &[0.02, 0.05, 0.0, 0.0, 0.0, 0.0]).unwrap();
        world.physics_tick();
        assert_not_deep(&world, robot, "sliding");
    }
    let p = pose(&world, robot).translation;
    assert!(p.y > 4.5, "it went along the wall: {p}");
}

#[test]
fn corners_and_edges_stop_it_too() {
    for (k, shape) in [
        Shape::Box { size: DVec3::splat(0.3) },
        mesh_box([0.3; 3]),
        Shape::Sphere { radius: 0.15 },
        Shape::Cylinder { radius: 0.1, length: 0.5 },
        Shape::Cone { radius: 0.2, length: 0.4 },
        Shape::Capsule { radius: 0.1, length: 0.3 },
        Shape::Ellipsoid { radii: DVec3::new(0.1, 0.2, 0.3) },
    ]
    .into_iter()
    .enumerate()
    {
        let mut random = Lcg(k as u64);
        for trial in 0..20 {
            let what = format!("shape {k}, trial {trial}");
            let mut scene = Scene::new(0.004);
            let place = DPose3::from_parts(DVec3::ZERO, random.rotation());
            scene.fixed("post", place, shape.clone());
            let start = DPose3::from_parts(DVec3::new(-1.5, 0.0, 0.0), random.rotation());
            let robot = scene.uav("uav", start, RobotKind::UavLevel1);
            let mut world = scene.build();
            let speed = random.range(0.05, 1.0);
            let aim = DVec3::new(0.0, random.range(-0.2, 0.2), random.range(-0.2, 0.2));
            let turn = random.six(0.0, 0.2);
            let mut touched = false;
            for _ in 0..40 {
                let at = pose(&world, robot);
                let way = (aim - at.translation).normalize_or(DVec3::X) * speed;
                let body = at.rotation.inverse() * way;
                world.set_control(robot, &[body.x, body.y, body.z, turn[3], turn[4], turn[5]]).unwrap();
                world.physics_tick();
                assert_not_deep(&world, robot, &what);
                touched |= world.colliding(robot);
            }
            assert!(touched, "{what}: it never touched");
        }
    }
}

#[test]
fn robots_do_not_fly_through_each_other() {
    for speed in [0.02, 0.1, 0.45, 1.0] {
        for offset in [0.0, 0.15, 0.35] {
            for crossing in [false, true] {
                let what = format!("{speed} m a tick, {offset} m aside, crossing {crossing}");
                let mut scene = Scene::new(0.004);
                let first = scene.uav("a", at(-2.0, 0.0, 1.0), RobotKind::UavLevel1);
                let start = if crossing {
                    DPose3::from_parts(DVec3::new(offset, -2.0, 1.0), DQuat::from_rotation_z(0.3))
                } else {
                    at(2.0, offset, 1.0)
                };
                let second = scene.uav("b", start, RobotKind::UavLevel1);
                let mut world = scene.build();
                let mut touched = false;
                for _ in 0..(2.5 / speed) as usize {
                    world.set_control(first, &[speed, 0.0, 0.0, 0.0, 0.0, 0.0]).unwrap();
                    let way = if crossing { DVec3::Y } else { -DVec3::X } * speed;
                    let body = pose(&world, second).rotation.inverse() * way;
                    world.set_control(second, &[body.x, body.y, body.z, 0.0, 0.0, 0.0]).unwrap();
                    world.physics_tick();
                    assert_not_deep(&world, first, &what);
                    assert_not_deep(&world, second, &what);
                    touched |= world.colliding(first) && world.colliding(second);
                }
                assert!(touched, "{what}: they never met");
                if !crossing && offset == 0.0 {
                    let (a, b) = (pose(&world, first).translation.x, pose(&world, second).translation.x);
                    assert!(a < b, "{what}: they changed places, {a} and {b}");
                }
            }
        }
    }
}

#[test]
fn a_swarm_that_meets_in_one_point_does_not_overlap() {
    let mut scene = Scene::new(0.004);
    scene.ground();
    let mut random = Lcg(9);
    let robots: Vec<u64> = (0..30)
        .map(|n| {
            let angle = f64::from(n) / 30.0 * std::f64::consts::TAU;
            let p = DVec3::new(3.0 * angle.cos(), 3.0 * angle.sin(), 1.0 + f64::from(n % 3) * 0.5);
            scene.uav(&format!("u{n}"), DPose3::from_translation(p), RobotKind::UavLevel1)
        })
        .collect();
    let mut world = scene.build();
    for _ in 0..60 {
        for robot in &robots {
            let at = pose(&world, *robot);
            let way = (DVec3::new(0.0, 0.0, 1.0) - at.translation).normalize_or_zero() * random.range(0.05, 0.6);
            let body = at.rotation.inverse() * way;
            world.set_control(*robot, &[body.x, body.y, body.z, 0.0, 0.0, 0.1]).unwrap();
        }
        world.physics_tick();
        for robot in &robots {
            assert_not_deep(&world, *robot, &format!("robot {robot}"));
        }
    }
}

#[test]
fn level_2_is_stopped_and_loses_its_speed() {
    let mut scene = Scene::new(0.004);
    scene.wall("wall", at(0.505, 0.0, 0.0), [0.01, 20.0, 20.0]);
    let robot = scene.uav("uav", at(-3.0, 0.0, 0.0), RobotKind::UavLevel2);
    let mut world = scene.build();
    let mut fastest = 0.0_f64;
    for _ in 0..240 {
        world.set_control(robot, &[30.0, 0.0, 0.0, 0.0, 0.0, 0.0]).unwrap();
        world.physics_tick();
        assert_not_deep(&world, robot, "level 2");
        fastest = fastest.max(world.robots().velocities[0][0]);
    }
    assert!(fastest > 10.0, "{fastest}");
    assert!(pose(&world, robot).translation.x < 0.5 && world.colliding(robot));
    assert!(world.robots().velocities[0][0] < 1.0, "{:?}", world.robots().velocities[0]);
}

#[test]
fn a_robot_pushes_what_can_be_pushed() {
    for (kind, input) in [(RobotKind::UavLevel1, 0.02), (RobotKind::UavLevel2, 20.0)] {
        let mut scene = Scene::new(0.004);
        scene.ground();
        scene.crate_("box", at(0.6, 0.0, 0.2), 0.4, 1.0);
        let robot = scene.uav("uav", at(0.0, 0.0, 0.2), kind);
        let mut world = scene.build();
        let crate_id = 1 << 32 | 1;
        let before = world.pose_of(crate_id).unwrap().translation.x;
        let mut touched = false;
        for _ in 0..90 {
            world.set_control(robot, &[input, 0.0, 0.0, 0.0, 0.0, 0.0]).unwrap();
            world.physics_tick();
            touched |= world.colliding(robot);
            assert_not_deep(&world, robot, "pushing");
        }
        let after = world.pose_of(crate_id).unwrap().translation.x;
        assert!(touched && after - before > 0.5, "{kind:?}: {before} to {after}");
        assert!(pose(&world, robot).translation.z > 0.1);
    }
}

#[test]
fn pushing_a_box_into_a_wall_at_speed_squeezes_nothing() {
    for speed in [0.02, 0.1, 0.5, 1.0] {
        let mut scene = Scene::new(0.004);
        scene.ground();
        scene.wall("wall", at(2.5, 0.0, 1.0), [1.0, 4.0, 2.0]);
        scene.crate_("box", at(0.6, 0.0, 0.2), 0.4, 1.0);
        let robot = scene.uav("uav", at(0.0, 0.0, 0.2), RobotKind::UavLevel1);
        let mut world = scene.build();
        for _ in 0..(4.0 / speed) as usize {
            let body = pose(&world, robot).rotation.inverse() * (DVec3::X * speed);
            world.set_control(robot, &[body.x, body.y, body.z, 0.0, 0.0, 0.0]).unwrap();
            world.physics_tick();
            assert_not_deep(&world, robot, &format!("{speed} m a tick"));
        }
        assert!(pose(&world, robot).translation.x < 1.9, "the wall holds");
    }
}

#[test]
fn a_uav_of_several_shapes_is_stopped_by_each_of_them() {
    let shapes = || {
        vec![
            collision(Shape::Sphere { radius: 0.1 }, DPose3::IDENTITY, 0.5),
            collision(Shape::Cylinder { radius: 0.02, length: 0.3 }, at(0.4, 0.0, 0.0), 0.5),
            collision(Shape::Box { size: DVec3::new(0.02, 0.6, 0.02) }, at(-0.3, 0.0, 0.1), 0.5),
        ]
    };
    for speed in [0.05, 0.3, 1.0] {
        let mut scene = Scene::new(0.004);
        scene.wall("wall", at(0.505, 0.0, 0.0), [0.01, 20.0, 20.0]);
        let robot = scene.uav_of("uav", at(-1.0, 0.0, 0.0), RobotKind::UavLevel1, shapes());
        let mut world = scene.build();
        for _ in 0..(3.0 / speed) as usize {
            world.set_control(robot, &[speed, 0.0, 0.0, 0.0, 0.0, 0.0]).unwrap();
            world.physics_tick();
            assert_not_deep(&world, robot, "mast");
            assert!((pose(&world, robot) * DVec3::new(0.42, 0.0, 0.0)).x < 0.505, "the mast is through");
        }
    }
}
