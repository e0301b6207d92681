mod by_hand;
use by_hand::*;
use glamx::*;
use tickworks::physics::Shape;
use tickworks::world::RobotKind;
#[test]
fn dbg() {
    let mut scene = Scene::new(0.004);
    scene.fixed("wall", at(0.5, 0.0, 0.0), Shape::Box { size: DVec3::new(1.0, 20.0, 20.0) });
    let robot = scene.uav("uav", at(-1.0, 0.1, 0.2), RobotKind::UavLevel1);
    let mut world = scene.build();
    let slant = 1.4_f64;
    let direction = DVec3::new(slant.cos(), slant.sin(), 0.0);
    for t in 0..25 {
        let body = pose(&world, robot).rotation.inverse() * (direction * 0.37);
        world.set_control(robot, &[body.x, body.y, body.z, 0.0, 0.0, 0.0]).unwrap();
        world.physics_tick();
        println!(
            "{t} {:?} {:?} {} {}",
            pose(&world, robot),
            world.penetration(robot),
            world.colliding(robot),
            world.in_solver(robot)
        );
    }
}
