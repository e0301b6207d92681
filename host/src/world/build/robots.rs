//! Robots: models that can be commanded.

use glamx::DVec3;
use specs::WorldExt;
use tickworks_motion::{DiffDrive, Twist, UavLevel2};
use tickworks_plugin_api::abi::kind;

use super::{BuildError, Building, put};
use crate::physics::{JointHandle, JointKind, Shape};
use crate::world::components::{self as c, RobotKind};
use crate::world::index;
use crate::world::spec::{RobotSpec, WorldSpec};

impl Building<'_> {
    pub(super) fn robots(&mut self) {
        for (n, robot) in self.spec.robots.iter().enumerate() {
            if let Err(message) = self.robot(n, robot) {
                self.errors.push(BuildError::new(&self.spec.models[robot.model].name, message));
            }
        }
    }

    fn robot(&mut self, n: usize, robot: &RobotSpec) -> Result<(), String> {
        let model = &self.spec.models[robot.model];
        let Some(canonical) = model.canonical_link else {
            return Err("a robot needs a link, and this model has none".to_owned());
        };
        let group = self.groups.of_link[canonical];
        if self.groups.fixed[group] {
            return Err("a robot must be able to move, but this model is static or fixed to the world".to_owned());
        }
        if robot.limits.iter().any(|l| !(l.is_finite() && *l >= 0.0)) {
            return Err(format!("the limits {:?} of a robot must be finite and not negative", robot.limits));
        }
        if !(robot.drag.is_finite() && robot.drag >= 0.0) {
            return Err(format!("the drag coefficient is {:?}, but must be finite and not negative", robot.drag));
        }
        // v' = v - k dt v: beyond 2 each tick turns the velocity round and makes it greater.
        if robot.kind == RobotKind::UavLevel2 && robot.drag * self.world.dt > 2.0 {
            return Err(format!(
                "the drag coefficient is {:?} 1/s, but at {} ticks a second must be at most {}",
                robot.drag,
                self.options.rate_hz,
                2.0 / self.world.dt
            ));
        }
        let (Some(body), Some(entity)) = (self.body_of(group), self.model(robot.model)) else { return Ok(()) };
        let own = self.groups.of_robot[n].clone();
        let info = c::RobotInfo {
            id: index::id(kind::ROBOT, self.base.robots + n),
            model: index::id(kind::MODEL, self.base.models + robot.model),
            name: model.name.clone(),
            kind: robot.kind,
            axes: robot.axes,
            control_len: robot.kind.control_len(),
            limits: robot.limits,
            drag: if robot.kind == RobotKind::UavLevel2 { robot.drag } else { 0.0 },
        };
        let bodies = own.iter().filter_map(|group| self.body_of(*group)).collect();
        put(&self.world.ecs, entity, c::Robot { id: info.id, body, bodies });
        self.world.index.infos.push(info);
        put(&self.world.ecs, entity, c::Pose(self.start_of_model(robot.model)));
        put(&self.world.ecs, entity, c::Velocity(Twist::ZERO));
        put(&self.world.ecs, entity, c::ControlInput(None));
        put(&self.world.ecs, entity, c::Colliding(false));
        put(&self.world.ecs, entity, c::Claimed(false));
        let motion = match robot.kind {
            RobotKind::UavLevel1 => c::Motion::Level1,
            RobotKind::UavLevel2 => c::Motion::Level2(UavLevel2 { drag: robot.drag }),
            RobotKind::DiffDrive => c::Motion::DiffDrive { set_point: [0.0; 2] },
        };
        put(&self.world.ecs, entity, motion);
        if robot.kind == RobotKind::DiffDrive {
            let wheels = self.wheels(robot)?;
            put(&self.world.ecs, entity, wheels);
            for (joint, _) in wheels.joints {
                self.world.physics.drive(joint, 0, 0.0);
            }
        } else {
            let ball = self.world.physics.bounding_ball(body);
            put(&self.world.ecs, entity, c::Flight { body, ball, solo: own.len() == 1, axes: robot.axes });
            put(&self.world.ecs, entity, c::Phase::Free);
        }
        if let Some(body) = self.world.bodies.get_mut(self.base.bodies + group) {
            body.robot = Some(entity);
        }
        let mut rows = self.world.ecs.write_storage::<c::Link>();
        for of in own {
            for link in &self.groups.members[of] {
                if let Some(row) = self.link(*link).and_then(|entity| rows.get_mut(entity)) {
                    row.robot = Some(entity);
                    row.carrier = (of == group && robot.kind != RobotKind::DiffDrive).then_some(entity);
                }
            }
        }
        drop(rows);
        self.world.index.add(kind::ROBOT, entity, &model.name);
        Ok(())
    }

    fn wheels(&self, robot: &RobotSpec) -> Result<c::Wheels, String> {
        let model = &self.spec.models[robot.model];
        let Some(wheels) = &robot.wheels else {
            return Err("a DiffDrive needs a left and a right wheel joint, and none are named".to_owned());
        };
        let side = |n: usize| -> Result<(JointHandle, f64, f64, Option<f64>), String> {
            let joint = &self.spec.joints[n];
            let handle = self.joints.get(n).copied().flatten();
            let Some(handle) = handle.filter(|_| joint.kind == JointKind::Revolute) else {
                return Err(format!("the wheel joint {} must be revolute or continuous", joint.name));
            };
            let direction = joint.axes.first().map_or(DVec3::ZERO, |axis| axis.direction);
            let axis = model.pose.rotation.inverse() * direction.normalize_or_zero();
            if axis.y.abs() < 0.5 {
                return Err(format!(
                    "the axis of the wheel joint {} is {axis} in the model's frame, but must lie along y (left)",
                    joint.name
                ));
            }
            let place = model.pose.inverse_transform_point(joint.pose.translation).y;
            let radius = self.spec.links[joint.child].collisions.iter().find_map(|c| match c.shape {
                Shape::Cylinder { radius, .. } | Shape::Sphere { radius } => Some(radius),
                _ => None,
            });
            Ok((handle, axis.y.signum(), place, radius))
        };
        let (left, right) = (side(wheels.left)?, side(wheels.right)?);
        let separation = wheels.separation.unwrap_or((left.2 - right.2).abs());
        if !(separation.is_finite() && separation > 0.0) {
            return Err(format!("the wheel separation is {separation} m, but must be positive"));
        }
        let Some(radius) = wheels.radius.or(left.3).or(right.3) else {
            return Err(
                "the wheel radius is not given, and the wheels have no cylinder or sphere to take it from".to_owned()
            );
        };
        if !(radius.is_finite() && radius > 0.0) {
            return Err(format!("the wheel radius is {radius} m, but must be positive"));
        }
        let drive = DiffDrive { wheel_separation: separation, wheel_radius: radius };
        Ok(c::Wheels { drive, joints: [(left.0, left.1), (right.0, right.1)] })
    }
}

/// The fastest that a robot is meant to be, m/s.
pub(in crate::world) fn fastest(spec: &WorldSpec, dt: f64) -> f64 {
    let speed = |robot: &RobotSpec| {
        let limit = DVec3::new(robot.limits[0], robot.limits[1], robot.limits[2]).length();
        match robot.kind {
            RobotKind::UavLevel1 => limit / dt,
            RobotKind::UavLevel2 if robot.drag > 0.0 => limit / robot.drag,
            _ => 0.0,
        }
    };
    spec.robots.iter().map(speed).filter(|s| s.is_finite()).fold(0.0, f64::max)
}
