//! The workloads in bare rapier: the same bodies, the same settings.

use std::sync::Arc;

use rapier3d::prelude::*;
use tickworks::physics::{Threads, solver_iterations};

pub struct Raw {
    world: PhysicsWorld,
    _pool: Option<Arc<rayon::ThreadPool>>,
}

fn world(dt: f64, gravity: f32) -> PhysicsWorld {
    let mut world = PhysicsWorld::new();
    world.gravity = Vector::Z * gravity;
    let params = &mut world.integration_parameters;
    params.dt = dt as f32;
    params.num_solver_iterations = solver_iterations(dt);
    let stiffer = (2.0 / 240.0 / (params.dt / params.num_solver_iterations as f32)).max(1.0);
    params.contact_softness.natural_frequency *= stiffer;
    params.static_contact_softness.natural_frequency *= stiffer;
    world
}

fn surface(collider: ColliderBuilder, friction: f32) -> ColliderBuilder {
    collider.density(0.0).friction(friction).friction_combine_rule(CoefficientCombineRule::Min)
}

fn box_mass(mass: f32, size: Vector, center: Vector) -> MassProperties {
    let s = size * size;
    MassProperties::new(center, mass, Vector::new(s.y + s.z, s.x + s.z, s.x + s.y) * (mass / 12.0))
}

impl Raw {
    /// On as many threads as the host takes by itself.
    fn new(mut world: PhysicsWorld) -> Self {
        let dynamic = world.bodies.iter().filter(|(_, body)| body.is_dynamic()).count();
        let threads = Threads::Auto.resolve(dynamic);
        let mut pool = None;
        if threads > 1 {
            world.configure_thread_pool(threads).unwrap();
        } else {
            // As the host: the calling thread is the only worker. One pool for all, as a thread can be in one only.
            thread_local! {
                static HERE: Option<Arc<rayon::ThreadPool>> =
                    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().ok().map(Arc::new);
            }
            pool = HERE.with(Clone::clone);
            world.set_thread_pool(pool.clone());
        }
        Self { world, _pool: pool }
    }

    pub fn step(&mut self) {
        self.world.step();
    }

    fn ground(world: &mut PhysicsWorld) {
        let ground = ColliderBuilder::new(SharedShape::halfspace(Vector::Z));
        world.insert(RigidBodyBuilder::fixed(), surface(ground, 0.8));
    }

    pub fn stacks(count: usize, dt: f64) -> Self {
        let mut world = world(dt, -9.81);
        Self::ground(&mut world);
        let columns = count / 10;
        let side = (columns as f64).sqrt().ceil() as usize;
        for column in 0..columns {
            for k in 0..10 {
                let place = Vector::new((column % side) as f32, (column / side) as f32, 0.2 + 0.4 * k as f32);
                let body = RigidBodyBuilder::dynamic()
                    .translation(place)
                    .can_sleep(false)
                    .additional_mass_properties(box_mass(1.0, Vector::splat(0.4), Vector::ZERO));
                world.insert(body, surface(ColliderBuilder::cuboid(0.2, 0.2, 0.2), 0.8));
            }
        }
        Self::new(world)
    }

    /// Robots on two wheels and a caster, which drive in circles or stand.
    pub fn diffs(count: usize, dt: f64, drive: bool) -> Self {
        let mut world = world(dt, -9.81);
        Self::ground(&mut world);
        let side = (count as f64).sqrt().ceil() as usize;
        for n in 0..count {
            let place = Vector::new(2.0 * (n % side) as f32, 2.0 * (n / side) as f32, 0.0);
            let center = Vector::new(-0.1, 0.0, 0.15);
            let body = |place, mass| {
                RigidBodyBuilder::dynamic()
                    .translation(place)
                    .can_sleep(false)
                    .additional_pgs_iterations(3)
                    .additional_mass_properties(mass)
            };
            let chassis = world.insert_body(body(place, box_mass(8.0, Vector::new(0.5, 0.3, 0.1), center)));
            let hull = ColliderBuilder::cuboid(0.25, 0.15, 0.05).translation(center);
            world.insert_collider(surface(hull, 0.8), Some(chassis));
            let caster = ColliderBuilder::ball(0.1).translation(Vector::new(-0.25, 0.0, 0.1));
            world.insert_collider(surface(caster, 0.0), Some(chassis));
            for (y, speed) in [(0.2, 4.6), (-0.2, 5.4)] {
                let (r, l, m) = (0.1_f32, 0.04_f32, 0.5_f32);
                let across = m * (3.0 * r * r + l * l) / 12.0;
                // The engine's cylinder stands along y, as the axle does.
                let mass = MassProperties::new(Vector::ZERO, m, Vector::new(across, m * r * r / 2.0, across));
                let wheel = world.insert_body(body(place + Vector::new(0.0, y, r), mass));
                world.insert_collider(surface(ColliderBuilder::cylinder(l / 2.0, r), 0.8), Some(wheel));
                let mut joint = RevoluteJointBuilder::new(Vector::Y)
                    .local_anchor1(Vector::new(0.0, y, r))
                    .contacts_enabled(false)
                    .motor_model(MotorModel::AccelerationBased)
                    .motor_velocity(if drive { speed } else { 0.0 }, 1e4)
                    .motor_max_force(1000.0)
                    .build()
                    .data;
                joint.set_contacts_enabled(false);
                world.insert_impulse_joint(chassis, wheel, joint);
            }
        }
        Self::new(world)
    }

    pub fn uavs(count: usize, dt: f64) -> Self {
        let mut world = world(dt, 0.0);
        let side = (count as f64).cbrt().ceil() as usize;
        for n in 0..count {
            let (x, y, z) = (n % side, n / side % side, n / side / side);
            let mass = MassProperties::new(Vector::ZERO, 1.0, Vector::new(0.02, 0.02, 0.04));
            let body = RigidBodyBuilder::dynamic()
                .translation(Vector::new(2.0 * x as f32, 2.0 * y as f32, 2.0 * z as f32))
                .linvel(Vector::X)
                .can_sleep(false)
                .additional_mass_properties(mass);
            world.insert_body(body);
        }
        Self::new(world)
    }
}
