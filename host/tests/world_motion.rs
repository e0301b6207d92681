//! Robots with nothing in their way move as their models say.

mod by_hand;

use by_hand::{Lcg, Scene, at, pose};
use glamx::{DPose3, DVec3};
use tickworks::world::RobotKind;
use tickworks_motion::{Axes, DiffDrive, Twist, UavLevel2, se3};

fn assert_near(found: &DPose3, expected: &DPose3, meters: f64, radians: f64, what: &str) {
    let (distance, angle) = se3::distance(found, expected);
    assert!(distance <= meters && angle <= radians, "{what}: off by {distance} m and {angle} rad");
}

/// The same product, on 4x4 matrices and by the power series of the exponential: nothing of the crate's own formulas.
fn product_of_exponentials(start: glamx::DMat4, twists: &[[f64; 6]]) -> glamx::DMat4 {
    let exp = |[x, y, z, p, q, r]: [f64; 6]| {
        let m = glamx::DMat4::from_cols_array(&[0.0, r, -q, 0.0, -r, 0.0, p, 0.0, q, -p, 0.0, 0.0, x, y, z, 0.0]);
        let (mut sum, mut term) = (glamx::DMat4::IDENTITY, glamx::DMat4::IDENTITY);
        for k in 1..25 {
            term = term * m * (1.0 / f64::from(k));
            sum += term;
        }
        sum
    };
    twists.iter().fold(start, |pose, twist| pose * exp(*twist))
}

#[test]
fn level_1_is_the_product_of_exponentials_for_10_000_random_twists() {
    // With colliders, without, and beside a wall that keeps the robot in the solver.
    for (colliders, wall) in [(false, false), (true, false), (true, true)] {
        let mut scene = Scene::new(0.004);
        scene.ground();
        let start = at(1.0, 2.0, 300.0);
        let robot = if colliders {
            scene.uav("uav", start, RobotKind::UavLevel1)
        } else {
            scene.uav_of("uav", start, RobotKind::UavLevel1, Vec::new())
        };
        let mut random = Lcg(1);
        let twists: Vec<[f64; 6]> = (0..10_000).map(|_| random.six(0.1, 0.2)).collect();
        if wall {
            scene.wall("ceiling", at(0.0, 0.0, 10_000.0), [1.0, 1.0, 1.0]);
        }
        let mut world = scene.build();
        for twist in &twists {
            world.set_control(robot, twist).unwrap();
            world.physics_tick();
        }
        let expected = product_of_exponentials(start.to_mat4(), &twists);
        let found = pose(&world, robot);
        let expected = DPose3::from_parts(expected.w_axis.truncate(), glamx::DQuat::from_mat4(&expected).normalize());
        assert_near(&found, &expected, 1e-8, 1e-8, "after 10,000 ticks");
        assert!(!world.colliding(robot));
    }
}

#[test]
fn level_2_follows_its_equation_for_10_000_ticks() {
    let mut scene = Scene::new(0.004);
    scene.ground();
    let start = at(0.0, 0.0, 1000.0);
    let robot = scene.uav("uav", start, RobotKind::UavLevel2);
    let mut world = scene.build();
    let (model, dt) = (UavLevel2 { drag: 0.5 }, world.tick_dt());
    let (mut expected, mut v) = (start, [0.0; 6]);
    let mut random = Lcg(2);
    for tick in 0..10_000 {
        let a = random.six(3.0, 3.0);
        // Every third tick without a control input: the acceleration is zero, drag goes on.
        let given = tick % 3 != 2;
        if given {
            world.set_control(robot, &a).unwrap();
        }
        world.physics_tick();
        expected = se3::moved(&expected, Twist::from_array(v) * dt);
        for k in 0..6 {
            v[k] += dt * (if given { a[k] } else { 0.0 } - model.drag * v[k]);
        }
    }
    assert_near(&pose(&world, robot), &expected, 1e-8, 1e-8, "after 10,000 ticks");
    let found = world.robots().velocities[0];
    assert!(found.iter().zip(v).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?} is not {v:?}");
}

#[test]
fn the_solver_and_the_free_flight_give_the_same_bits() {
    // The same twists, once alone in the sky, once within reach of a wall that is never touched.
    let run = |near: bool| {
        let mut scene = Scene::new(0.004);
        let robot = scene.uav("uav", at(0.0, 0.0, 5.0), RobotKind::UavLevel1);
        if near {
            // A cage around the robot, wide enough to turn in and near enough for its reach.
            for (n, side) in [DVec3::X, -DVec3::X, DVec3::Y, -DVec3::Y, DVec3::Z, -DVec3::Z].into_iter().enumerate() {
                let p = DVec3::new(0.0, 0.0, 5.0) + side * 0.84;
                scene.wall(&format!("side{n}"), DPose3::from_translation(p), [1.0, 1.0, 1.0]);
            }
        }
        let mut world = scene.build();
        let mut random = Lcg(3);
        let (mut poses, mut solved) = (Vec::new(), 0);
        for _ in 0..500 {
            // Back and forth, so that it stays in the middle.
            let u = random.six(0.02, 0.3);
            for sign in [1.0, -1.0] {
                world.set_control(robot, &u.map(|x| x * sign)).unwrap();
                world.physics_tick();
                poses.push(pose(&world, robot));
                assert!(!world.colliding(robot));
                solved += usize::from(world.in_solver(robot));
            }
        }
        assert!(if near { solved > 500 } else { solved == 0 }, "{solved} ticks in the solver");
        poses
    };
    let (free, caged) = (run(false), run(true));
    for (tick, (a, b)) in free.iter().zip(&caged).enumerate() {
        assert_eq!(a, b, "tick {tick}");
    }
}

#[test]
fn no_control_input_means_no_motion_for_level_1() {
    let mut scene = Scene::new(0.004);
    let robot = scene.uav("uav", at(0.0, 0.0, 5.0), RobotKind::UavLevel1);
    let mut world = scene.build();
    world.set_control(robot, &[0.1, 0.0, 0.0, 0.0, 0.0, 0.0]).unwrap();
    world.physics_tick();
    assert_eq!(pose(&world, robot).translation, DVec3::new(0.1, 0.0, 5.0));
    assert!((world.robots().velocities[0][0] - 6.0).abs() < 1e-12);
    world.physics_tick();
    assert_eq!(pose(&world, robot).translation, DVec3::new(0.1, 0.0, 5.0));
    assert_eq!(world.robots().velocities[0], [0.0; 6]);
}

#[test]
fn the_control_frame_is_left_up_forward_unless_said_otherwise() {
    let mut scene = Scene::new(0.004);
    let robot = scene.uav("uav", at(0.0, 0.0, 5.0), RobotKind::UavLevel1);
    scene.0.robots[0].axes = Axes::Luf;
    let mut world = scene.build();
    world.set_control(robot, &[0.1, 0.2, 0.3, 0.0, 0.0, 0.0]).unwrap();
    world.physics_tick();
    assert_near(&pose(&world, robot), &at(0.3, 0.1, 5.2), 1e-12, 1e-12, "left, up, forward");
    let columns = world.control_pose(robot).unwrap();
    assert_eq!(columns[0][..3], [0.0, 0.0, 1.0], "x is the third axis");
}

#[test]
fn a_diff_drive_does_what_it_is_told() {
    let mut scene = Scene::new(0.001);
    scene.ground();
    let robot = scene.diff("r", 0.0, 0.0);
    let mut world = scene.build();
    world.set_control(robot, &[0.5, 0.0]).unwrap();
    for _ in 0..120 {
        world.physics_tick();
    }
    let straight = pose(&world, robot);
    // Two seconds at 0.5 m/s, less the start.
    assert!((straight.translation.x - 1.0).abs() < 0.05, "{straight:?}");
    assert!(straight.translation.y.abs() < 0.01 && straight.translation.z.abs() < 0.005, "{straight:?}");
    let v = world.robots().velocities[0];
    assert!((v[0] - 0.5).abs() < 0.02 && v[5].abs() < 0.02, "{v:?}");
    assert!(!world.colliding(robot), "the ground under it is no collision");

    world.set_control(robot, &[0.3, 0.6]).unwrap();
    for _ in 0..60 {
        world.physics_tick();
    }
    let v = world.robots().velocities[0];
    assert!((v[0] - 0.3).abs() < 0.03 && (v[5] - 0.6).abs() < 0.06, "{v:?}");
    let expected = se3::moved(&straight, DiffDrive::displacement([0.3, 0.6], 1.0));
    assert_near(&pose(&world, robot), &expected, 0.05, 0.1, "after a curve");

    // The set-point holds; released, it stands.
    world.release_robot(robot);
    for _ in 0..30 {
        world.physics_tick();
    }
    let v = world.robots().velocities[0];
    assert!(v[0].abs() < 0.01 && v[5].abs() < 0.01, "{v:?}");
}

#[test]
fn links_that_are_fixed_to_a_uav_follow_it_to_the_bit() {
    use tickworks::physics::{Inertial, JointKind};
    let mut scene = Scene::new(0.004);
    let robot = scene.uav("uav", at(0.0, 0.0, 5.0), RobotKind::UavLevel1);
    let c = vec![by_hand::collision(tickworks::physics::Shape::Sphere { radius: 0.1 }, DPose3::IDENTITY, 0.5)];
    let arm = scene.link(0, "arm", at(0.5, 0.0, 0.1), Inertial::DEFAULT, c);
    let frame = scene.0.links[arm].pose;
    scene.joint("weld", JointKind::Fixed, [0, arm], frame, DVec3::X);
    let mut world = scene.build();
    let mut random = Lcg(5);
    for _ in 0..100 {
        world.set_control(robot, &random.six(0.1, 0.2)).unwrap();
        world.physics_tick();
        let arm = world.pose_of((1 << 32) | 1).unwrap();
        assert_near(&arm, &(pose(&world, robot) * at(0.5, 0.0, 0.1)), 1e-12, 1e-12, "the arm");
    }
}
