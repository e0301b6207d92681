//! What is asked of robots and bodies for the next tick.

use glamx::{DPose3, DVec3};
use specs::{Entity, WorldExt};
use tickworks_plugin_api::abi::{self, kind, op};

use super::World;
use super::components::{Claimed, ControlInput, Flight, Link, Motion, Phase, Pose, Robot, Velocity, Wheels};
use super::index::parts;

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
                let body = self.bodies[link.body].handle;
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
        let prefix = format!("{name}::");
        let Some(now) = self.model_pose(entity) else { return Err(unknown) };
        let bodies: Vec<usize> = (0..self.bodies.len())
            .filter(|b| {
                let links = &self.bodies[*b].links;
                let name = |l: &Entity| self.entity_id(*l).and_then(|id| self.name(id));
                links.iter().any(|l| name(l).is_some_and(|n| n.starts_with(&prefix)))
            })
            .collect();
        if bodies.iter().any(|b| self.bodies[*b].links.iter().any(|l| self.get::<Link>(*l).is_some_and(|l| l.fixed))) {
            return Err(CommandError::Static { name });
        }
        for b in bodies {
            let handle = self.bodies[b].handle;
            let Some(state) = self.physics.state(handle) else { continue };
            // A flier out of the solver has its place in the ECS.
            let main = self.bodies[b].robot;
            let at = main.and_then(|r| self.get::<Pose>(r)).map_or(state.pose, |p| p.0);
            let to = *pose * now.inv_mul(&at);
            self.physics.teleport(handle, &to);
            self.physics.set_velocity(handle, DVec3::ZERO, DVec3::ZERO);
            if let Some(robot) = main {
                let ecs = &self.ecs;
                if let Some(row) = ecs.write_storage::<Pose>().get_mut(robot) {
                    row.0 = to;
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
            self.place_links(b, &to, DVec3::ZERO, DVec3::ZERO);
        }
        self.physics.sync();
        self.touch();
        Ok(())
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
