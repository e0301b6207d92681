//! Worlds built by hand, without a document: for tests and benches.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test and bench uses a part of it; what fails here fails the test"
)]

use std::f64::consts::{FRAC_PI_2, TAU};
use std::sync::Arc;

use glamx::{DPose3, DQuat, DVec3};
use tickworks::physics::{Inertial, JointKind, Shape, Surface, Threads};
use tickworks::world::spec::{CollisionSpec, JointAxisSpec, JointSpec, LinkSpec, ModelSpec, RobotSpec, WheelSpec};
use tickworks::world::{BuildOptions, RobotKind, World, WorldSpec};
use tickworks_motion::Axes;

/// A world under construction.
pub struct Scene(pub WorldSpec);

pub fn at(x: f64, y: f64, z: f64) -> DPose3 {
    DPose3::from_translation(DVec3::new(x, y, z))
}

pub fn box_inertia(mass: f64, size: DVec3) -> Inertial {
    let s = size * size;
    let moments = [s.y + s.z, s.x + s.z, s.x + s.y].map(|x| mass * x / 12.0);
    Inertial { mass, pose: DPose3::IDENTITY, moments: [moments[0], moments[1], moments[2], 0.0, 0.0, 0.0] }
}

pub fn collision(shape: Shape, pose: DPose3, friction: f64) -> CollisionSpec {
    CollisionSpec { name: "c".to_owned(), pose, shape, surface: Surface { friction, ..Surface::default() } }
}

impl Scene {
    pub fn new(max_step_size: f64) -> Self {
        Self(WorldSpec { gravity: DVec3::new(0.0, 0.0, -9.81), max_step_size, ..WorldSpec::default() })
    }

    pub fn build(&self) -> World {
        self.build_on(Threads::Count(1))
    }

    pub fn build_on(&self, threads: Threads) -> World {
        World::from_spec(self.0.clone(), &BuildOptions { threads, ..BuildOptions::default() }).unwrap()
    }

    pub fn model(&mut self, name: &str, pose: DPose3, fixed: bool) -> usize {
        self.0.models.push(ModelSpec {
            name: name.to_owned(),
            pose,
            fixed,
            self_collide: false,
            canonical_link: None,
            allow_sleep: true,
            parent: None,
        });
        self.0.models.len() - 1
    }

    /// Adds a link at `pose` in its model's frame.
    pub fn link(&mut self, model: usize, name: &str, pose: DPose3, inertial: Inertial, c: Vec<CollisionSpec>) -> usize {
        let n = self.0.links.len();
        let of = &mut self.0.models[model];
        of.canonical_link.get_or_insert(n);
        let (name, pose) = (format!("{}::{name}", of.name), of.pose * pose);
        self.0.links.push(LinkSpec {
            name,
            model,
            pose,
            start: None,
            velocity: [0.0; 6],
            inertial,
            gravity: true,
            damping: [0.0; 2],
            collisions: c,
        });
        n
    }

    pub fn fixed(&mut self, name: &str, pose: DPose3, shape: Shape) -> usize {
        let model = self.model(name, pose, true);
        let c = vec![collision(shape, DPose3::IDENTITY, 0.8)];
        self.link(model, "link", DPose3::IDENTITY, Inertial::DEFAULT, c);
        model
    }

    pub fn ground(&mut self) {
        self.fixed("ground", DPose3::IDENTITY, Shape::Plane { normal: DVec3::Z });
    }

    /// A wall: a box of this size.
    pub fn wall(&mut self, name: &str, pose: DPose3, size: [f64; 3]) {
        self.fixed(name, pose, Shape::Box { size: DVec3::from_array(size) });
    }

    pub fn crate_(&mut self, name: &str, pose: DPose3, edge: f64, mass: f64) -> usize {
        let size = DVec3::splat(edge);
        let model = self.model(name, pose, false);
        let c = vec![collision(Shape::Box { size }, DPose3::IDENTITY, 0.8)];
        self.link(model, "link", DPose3::IDENTITY, box_inertia(mass, size), c);
        model
    }

    pub fn joint(&mut self, name: &str, kind: JointKind, ends: [usize; 2], pose: DPose3, axis: DVec3) -> usize {
        self.0.joints.push(JointSpec {
            name: name.to_owned(),
            kind,
            parent: Some(ends[0]),
            child: ends[1],
            pose,
            axes: vec![JointAxisSpec::free(axis)],
        });
        self.0.joints.len() - 1
    }

    pub fn robot(&mut self, model: usize, kind: RobotKind, limits: [f64; 6]) -> u64 {
        let drag = if kind == RobotKind::UavLevel2 { 0.5 } else { 0.0 };
        self.0.robots.push(RobotSpec { model, kind, axes: Axes::Flu, limits, drag, wheels: None });
        self.0.robots.len() as u64 - 1
    }

    /// A UAV of one box, 0.4 x 0.4 x 0.15 m and 1 kg.
    pub fn uav(&mut self, name: &str, pose: DPose3, kind: RobotKind) -> u64 {
        let shape = Shape::Box { size: DVec3::new(0.4, 0.4, 0.15) };
        self.uav_of(name, pose, kind, vec![collision(shape, DPose3::IDENTITY, 0.5)])
    }

    pub fn uav_of(&mut self, name: &str, pose: DPose3, kind: RobotKind, c: Vec<CollisionSpec>) -> u64 {
        let model = self.model(name, pose, false);
        let moments = [0.02, 0.02, 0.04, 0.0, 0.0, 0.0];
        self.link(model, "body", DPose3::IDENTITY, Inertial { moments, ..Inertial::DEFAULT }, c);
        self.robot(model, kind, [10.0; 6])
    }

    /// The two-wheeled robot of the benchmark: 8 kg, wheels of 0.1 m radius 0.4 m apart, a caster without friction.
    pub fn diff(&mut self, name: &str, x: f64, y: f64) -> u64 {
        let size = DVec3::new(0.5, 0.3, 0.1);
        let model = self.model(name, at(x, y, 0.0), false);
        let chassis = self.link(
            model,
            "chassis",
            DPose3::IDENTITY,
            box_inertia(8.0, size).placed(&at(-0.1, 0.0, 0.15)),
            vec![
                collision(Shape::Box { size }, at(-0.1, 0.0, 0.15), 0.8),
                collision(Shape::Sphere { radius: 0.1 }, at(-0.25, 0.0, 0.1), 0.0),
            ],
        );
        let (r, l, m) = (0.1, 0.04, 0.5);
        let side = m * (3.0 * r * r + l * l) / 12.0;
        let inertial =
            Inertial { mass: m, pose: DPose3::IDENTITY, moments: [side, side, m * r * r / 2.0, 0.0, 0.0, 0.0] };
        let wheels = [("left", 0.2), ("right", -0.2)].map(|(name, y)| {
            let pose = DPose3::from_parts(DVec3::new(0.0, y, r), DQuat::from_rotation_x(-FRAC_PI_2));
            let c = vec![collision(Shape::Cylinder { radius: r, length: l }, DPose3::IDENTITY, 0.8)];
            let wheel = self.link(model, &format!("{name}_wheel"), pose, inertial, c);
            let pose = self.0.links[wheel].pose;
            let axis = pose.rotation * DVec3::Z;
            let joint = self.joint(&format!("{name}_joint"), JointKind::Revolute, [chassis, wheel], pose, axis);
            self.0.joints[joint].axes[0].effort = 1000.0;
            joint
        });
        let robot = self.robot(model, RobotKind::DiffDrive, [10.0; 6]);
        let wheels = WheelSpec { left: wheels[0], right: wheels[1], separation: None, radius: None };
        self.0.robots[robot as usize].wheels = Some(wheels);
        robot
    }

    /// Columns of ten crates each, 1 m apart, as in the benchmark.
    pub fn stacks(&mut self, count: usize) {
        let columns = count / 10;
        let side = (columns as f64).sqrt().ceil() as usize;
        for column in 0..columns {
            for k in 0..10 {
                let (x, y) = ((column % side) as f64, (column / side) as f64);
                self.crate_(&format!("b{}", column * 10 + k), at(x, y, 0.2 + 0.4 * k as f64), 0.4, 1.0);
            }
        }
    }
}

/// A closed surface of triangles of a box: a mesh like those that are exported.
pub fn mesh_box(size: [f64; 3]) -> Shape {
    let [x, y, z] = size.map(|s| s / 2.0);
    let points: Arc<[DVec3]> = (0..8)
        .map(|i| {
            DVec3::new(
                if i & 1 == 0 { -x } else { x },
                if i & 2 == 0 { -y } else { y },
                if i & 4 == 0 { -z } else { z },
            )
        })
        .collect();
    let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let triangles: Arc<[[u32; 3]]> = quads.iter().flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]).collect();
    Shape::TriMesh { points, triangles }
}

/// Numbers that are scattered, and the same everywhere (the generator of the benchmark's worlds).
pub struct Lcg(pub u64);

impl Lcg {
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn range(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.unit()
    }

    pub fn rotation(&mut self) -> DQuat {
        let axis = DVec3::new(self.range(-1.0, 1.0), self.range(-1.0, 1.0), self.range(-1.0, 1.0));
        DQuat::from_axis_angle(axis.try_normalize().unwrap_or(DVec3::X), self.range(0.0, TAU))
    }

    pub fn six(&mut self, linear: f64, angular: f64) -> [f64; 6] {
        std::array::from_fn(|k| if k < 3 { self.range(-linear, linear) } else { self.range(-angular, angular) })
    }
}

/// The pose of a robot.
pub fn pose(world: &World, robot: u64) -> DPose3 {
    world.pose_of(robot).unwrap()
}
