//! What is asked of robots and bodies for the next tick.

use glamx::{DPose3, DVec3};
use specs::{Entity, WorldExt};
use tickworks_plugin_api::abi::{self, kind, op};

use super::components::{Claimed, Colliding, ControlInput, Flight, Link, Motion, Phase, Pose, Robot, Velocity, Wheels};
use super::index::parts;
use super::{Start, World};

/// Why a command was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// Nothing has this id.
    #[error("there is no {kind} with id {id}")]
    Unknown {
        /// What was expected: robot, body, model.
        kind: &'static str,
        /// The id.
        id: u64,
    },
    /// The numbers are too many or too few.
    #[error("{name} takes {expected} numbers, not {found}")]
    Count {
        /// Whose command it is.
        name: String,
        /// How many it takes.
        expected: usize,
        /// How many came.
        found: usize,
    },
    /// A number is infinite or no number.
    #[error("number {index} for {name} is {value}, but must be finite")]
    NotFinite {
        /// Whose command it is.
        name: String,
        /// Which one, from 0.
        index: usize,
        /// As text.
        value: String,
    },
    /// Nothing moves it.
    #[error("{name} is static: nothing moves it")]
    Static {
        /// Its name.
        name: String,
    },
    /// Its motion is prescribed.
    #[error("{name} is moved by the motion model of robot {robot}: command that robot instead")]
    Prescribed {
        /// Its name.
        name: String,
        /// The robot's id.
        robot: u64,
    },
    /// There is no such operation.
    #[error("there is no operation {op} (0 control, 1 velocity, 2 force, 3 impulse)")]
    Operation {
        /// Its number.
        op: u32,
    },
}

impl World {
    /// Sets the control input of a robot for the next tick, along the axes of its control frame. The last one before the
    /// tick counts; limits are not looked at.
    ///
    /// # Errors
    /// Unknown robot, wrong count, a number that is not finite. Nothing is changed then.
    pub fn set_control(&mut self, robot: u64, input: &[f64]) -> Result<(), CommandError> {
        let entity = self.robot_entity(robot)?;
        let expected = self.robot_info(robot).map_or(0, |info| info.control_len);
        self.check_numbers(robot, input, expected)?;
        let mut six = [0.0; 6];
        six[..expected].copy_from_slice(input);
        if let Some(control) = self.ecs.write_storage::<ControlInput>().get_mut(entity) {
            control.0 = Some(six);
        }
        Ok(())
    }

    /// Takes any command for the next tick.
    ///
    /// # Errors
    /// As [`World::set_control`]; also a body that is static or whose motion a robot prescribes.
    pub fn apply(&mut self, command: &abi::Command) -> Result<(), CommandError> {
        let count = (command.count as usize).min(command.v.len());
        let numbers = &command.v[..count];
        match command.op {
            op::CONTROL => self.set_control(command.entity, numbers),
            op::VELOCITY | op::FORCE | op::IMPULSE => {
                let link = self.movable(command.entity)?;
                self.check_numbers(command.entity, numbers, 6)?;
                let unknown = CommandError::Unknown { kind: "body", id: command.entity };
                let body = self.bodies.get(link.body).ok_or(unknown)?.handle;
                let linear = DVec3::new(numbers[0], numbers[1], numbers[2]);
                let angular = DVec3::new(numbers[3], numbers[4], numbers[5]);
                match command.op {
                    op::VELOCITY => self.physics.set_velocity(body, linear, angular),
                    op::FORCE => {
                        self.physics.add_force(body, linear, angular);
                        self.pushed.push(body);
                    }
                    _ => self.physics.add_impulse(body, linear, angular),
                }
                Ok(())
            }
            op => Err(CommandError::Operation { op }),
        }
    }

    /// Puts a model somewhere else, at once and at rest; with it all that is joined to its links. Colliders and queries are
    /// in step when it returns.
    ///
    /// # Errors
    /// Unknown model, a pose that is not finite, a static model.
    pub fn teleport(&mut self, model: u64, pose: &DPose3) -> Result<(), CommandError> {
        let unknown = CommandError::Unknown { kind: "model", id: model };
        let (of, n) = parts(model);
        let Some(entity) = (of == kind::MODEL).then(|| self.index.models.get(n).copied()).flatten() else {
            return Err(unknown);
        };
        let (p, q) = (pose.translation, pose.rotation);
        self.check_numbers(model, &[p.x, p.y, p.z, q.x, q.y, q.z, q.w], 7)?;
        let name = self.name(model).unwrap_or_default().to_owned();
        let Some(now) = self.model_pose(entity) else { return Err(unknown) };
        let bodies = self.bodies_of(&name);
        if bodies.iter().any(|b| self.is_fixed(*b)) {
            return Err(CommandError::Static { name });
        }
        for b in bodies {
            let Some((handle, main)) = self.bodies.get(b).map(|body| (body.handle, body.robot)) else { continue };
            let Some(state) = self.physics.state(handle) else { continue };
            // A flier out of the solver has its place in the ECS.
            let at = main.and_then(|r| self.get::<Pose>(r)).map_or(state.pose, |p| p.0);
            self.put_body(b, &Start { pose: *pose * now.inv_mul(&at), linear: DVec3::ZERO, angular: DVec3::ZERO });
        }
        self.physics.sync();
        self.touch();
        Ok(())
    }

    /// Puts a model and all that is joined to its links back to where they started, at the velocity that they started with.
    /// Colliders and queries are in step when it returns.
    ///
    /// # Errors
    /// Unknown model.
    pub fn reset_model(&mut self, model: u64) -> Result<(), CommandError> {
        let known = parts(model).0 == kind::MODEL && self.index.entity(model).is_some();
        let Some(name) = self.name(model).filter(|_| known).map(str::to_owned) else {
            return Err(CommandError::Unknown { kind: "model", id: model });
        };
        let bodies = self.bodies_of(&name);
        for b in bodies.iter().copied() {
            if self.is_fixed(b) {
                continue;
            }
            let Some((start, robot)) = self.bodies.get(b).map(|body| (body.start, body.robot)) else { continue };
            self.put_body(b, &start);
            if let Some(robot) = robot {
                if self.get::<Wheels>(robot).is_some() {
                    self.set_point(robot, [0.0; 2]);
                }
                let ecs = &self.ecs;
                if let Some(row) = ecs.write_storage::<ControlInput>().get_mut(robot) {
                    row.0 = None;
                }
                if let Some(row) = ecs.write_storage::<Colliding>().get_mut(robot) {
                    row.0 = false;
                }
            }
        }
        let joints = self.joints.values().filter(|joint| joint.bodies.iter().any(|body| bodies.contains(body)));
        for joint in joints.filter_map(|joint| joint.handle) {
            self.physics.hold(joint);
        }
        self.physics.sync();
        self.touch();
        Ok(())
    }

    /// Numbers of the bodies that have a link of a model or of one inside it.
    pub(super) fn bodies_of(&self, model: &str) -> Vec<usize> {
        let links = self.index.within(kind::BODY, model);
        let mut bodies: Vec<usize> = links.filter_map(|(_, entity)| Some(self.get::<Link>(entity)?.body)).collect();
        bodies.sort_unstable();
        bodies.dedup();
        bodies
    }

    fn is_fixed(&self, body: usize) -> bool {
        let links = self.bodies.get(body).map_or(&[][..], |body| &body.links);
        links.iter().any(|link| self.get::<Link>(*link).is_some_and(|link| link.fixed))
    }

    /// Puts a body somewhere, with a velocity; with it its links and, if it is a robot's main body, that robot.
    fn put_body(&mut self, number: usize, to: &Start) {
        let Some((handle, robot)) = self.bodies.get(number).map(|body| (body.handle, body.robot)) else { return };
        self.physics.teleport(handle, &to.pose);
        self.physics.clear_forces(handle);
        self.physics.set_velocity(handle, to.linear, to.angular);
        if let Some(robot) = robot {
            let ecs = &self.ecs;
            if let Some(row) = ecs.write_storage::<Pose>().get_mut(robot) {
                row.0 = to.pose;
            }
            if let Some(row) = ecs.write_storage::<Velocity>().get_mut(robot) {
                row.0 = Default::default();
            }
            if let Some(phase) = ecs.write_storage::<Phase>().get_mut(robot)
                && matches!(phase, Phase::Parked { .. })
            {
                *phase = Phase::Free;
            }
        }
        let com = to.pose * self.physics.center_of_mass(handle);
        self.place_links(number, &to.pose, com, to.linear, to.angular);
    }

    /// Ends what a robot's last commander asked for: a DiffDrive's set-point becomes zero.
    pub fn release_robot(&mut self, robot: u64) {
        let Ok(entity) = self.robot_entity(robot) else { return };
        if let Some(control) = self.ecs.write_storage::<ControlInput>().get_mut(entity) {
            control.0 = None;
        }
        if self.get::<Wheels>(entity).is_some() {
            self.set_point(entity, [0.0; 2]);
        }
    }

    /// Marks a robot as claimed by a connection, or as free. Only a flag of the view.
    pub fn set_claimed(&mut self, robot: u64, claimed: bool) {
        let Ok(entity) = self.robot_entity(robot) else { return };
        if let Some(row) = self.ecs.write_storage::<Claimed>().get_mut(entity) {
            row.0 = claimed;
        }
        self.touch_robots();
    }

    /// Makes a DiffDrive's wheels turn for [v, w].
    pub(super) fn set_point(&mut self, entity: Entity, point: [f64; 2]) {
        let Some(wheels) = self.get::<Wheels>(entity) else { return };
        let mut motions = self.ecs.write_storage::<Motion>();
        if let Some(Motion::DiffDrive { set_point }) = motions.get_mut(entity)
            && *set_point != point
        {
            *set_point = point;
            for ((joint, sign), speed) in wheels.joints.into_iter().zip(wheels.drive.wheel_speeds(point)) {
                self.physics.drive(joint, 0, sign * speed);
            }
        }
    }

    pub(super) fn robot_entity(&self, robot: u64) -> Result<Entity, CommandError> {
        self.index.robot(robot).ok_or(CommandError::Unknown { kind: "robot", id: robot })
    }

    /// The link with an id, if forces can move it.
    fn movable(&self, body: u64) -> Result<Link, CommandError> {
        let (of, n) = parts(body);
        let entity = (of == kind::BODY).then(|| self.index.bodies.get(n).copied()).flatten();
        let Some(link) = entity.and_then(|e| self.get::<Link>(e)) else {
            return Err(CommandError::Unknown { kind: "body", id: body });
        };
        let name = || self.name(body).unwrap_or_default().to_owned();
        if link.fixed {
            return Err(CommandError::Static { name: name() });
        }
        if let Some(robot) = link.carrier
            && self.ecs.read_storage::<Flight>().get(robot).is_some()
        {
            let robot = self.ecs.read_storage::<Robot>().get(robot).map_or(u64::MAX, |r| r.id);
            return Err(CommandError::Prescribed { name: name(), robot });
        }
        Ok(link)
    }

    fn check_numbers(&self, id: u64, numbers: &[f64], expected: usize) -> Result<(), CommandError> {
        let name = || self.name(id).map_or_else(|| id.to_string(), str::to_owned);
        if numbers.len() != expected {
            return Err(CommandError::Count { name: name(), expected, found: numbers.len() });
        }
        match numbers.iter().position(|x| !x.is_finite()) {
            Some(index) => Err(CommandError::NotFinite { name: name(), index, value: numbers[index].to_string() }),
            None => Ok(()),
        }
    }
}
