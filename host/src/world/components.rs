//! What entities carry.
//!
//! Durable state, which a snapshot holds: [`Pose`] and [`Velocity`] of robots, [`LinkState`], [`Motion`],
//! [`ControlInput`], [`Phase`], [`Colliding`]. All else is fixed when the world is built, or belongs to the sessions
//! ([`Claimed`]).

use glamx::{DPose3, DVec3};
use serde::{Deserialize, Serialize};
use specs::storage::{DenseVecStorage, VecStorage};
use specs::{Component, Entity};
use tickworks_motion::{Axes, DiffDrive, Twist, UavLevel2};

use crate::physics::{BodyHandle, JointHandle};

/// Says how each component is stored.
macro_rules! components {
    ($($storage:ident: $($name:ident),+;)+) => {
        $($(impl Component for $name { type Storage = $storage<Self>; })+)+
        /// Makes room for every component.
        pub(super) fn register(ecs: &mut specs::World) {
            use specs::WorldExt;
            $($(ecs.register::<$name>();)+)+
        }
    };
}

components! {
    VecStorage: Id, Name;
    DenseVecStorage: Pose, Velocity, LinkState, Motion, ControlInput, Phase, Colliding, Claimed, Robot, Flight, Wheels, Link,
        Model;
}

/// The id that the entity has outside. Robots' models have one as a model besides the one as a robot, in [`Robot`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(pub u64);

/// The scoped name: `model`, `model::link`, `outer::inner`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(pub String);

/// Of a robot's model frame, in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose(pub DPose3);

/// Of a robot, as a twist of its own frame (x forward, y left, z up): m/s, rad/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Velocity(pub Twist);

/// Of a link that physics moves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkState {
    /// In the world.
    pub pose: DPose3,
    /// Of its centre of mass, world frame, m/s.
    pub linear: DVec3,
    /// World frame, rad/s.
    pub angular: DVec3,
}

/// How a robot moves, with what it remembers between ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Motion {
    /// pose' = pose · exp(u).
    Level1,
    /// v' = v + dt (a − k v), pose' = pose · exp(v dt). v is the robot's [`Velocity`].
    Level2(UavLevel2),
    /// Wheels that are driven at the set-point [v, w].
    DiffDrive {
        /// m/s, rad/s; holds until the next one.
        set_point: [f64; 2],
    },
}

/// The control input of this tick, along the axes of the robot's control frame.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct ControlInput(pub Option<[f64; 6]>);

/// Where a flier's motion is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// In the ECS alone: nothing is within its reach.
    Free,
    /// Nowhere: it does not move, and nothing that moves is within its reach. `touching`: it stands against something.
    Parked {
        /// Whether it touches what it stands at.
        touching: bool,
    },
    /// In the solver.
    Solver,
}

/// Whether a robot touched something in its last tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colliding(pub bool);

/// Whether a connection has claimed the robot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claimed(pub bool);

/// What a robot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RobotKind {
    /// Kinematic.
    UavLevel1,
    /// Dynamic, with linear drag.
    UavLevel2,
    /// Two driven wheels.
    DiffDrive,
}

impl RobotKind {
    /// As it is written in documents and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::UavLevel1 => "UAVLevel1",
            Self::UavLevel2 => "UAVLevel2",
            Self::DiffDrive => "DiffDrive",
        }
    }

    /// How many numbers its control input has.
    pub fn control_len(self) -> usize {
        if self == Self::DiffDrive { 2 } else { 6 }
    }
}

/// What does not change about a robot.
#[derive(Clone, Debug, PartialEq)]
pub struct RobotInfo {
    /// Its id: its place among the robots of the document.
    pub id: u64,
    /// Its model's id.
    pub model: u64,
    /// Its model's scoped name.
    pub name: String,
    /// What it is.
    pub kind: RobotKind,
    /// The order of its control frame's axes.
    pub axes: Axes,
    /// How many numbers its control input has: 6 or 2.
    pub control_len: usize,
    /// Largest absolute control input: m and rad a tick (level 1), m/s² and rad/s² (level 2), m/s and rad/s (DiffDrive,
    /// the first two).
    pub limits: [f64; 6],
    /// k of level 2, 1/s; else 0.
    pub drag: f64,
}

/// A robot's fixed part.
#[derive(Clone, Debug, PartialEq)]
pub struct Robot {
    /// Its id as a robot.
    pub id: u64,
    /// Its main body, whose frame is the model's frame.
    pub body: BodyHandle,
    /// All its bodies.
    pub bodies: Vec<BodyHandle>,
}

/// The fixed part of a robot whose motion is prescribed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flight {
    /// Its main body, whose frame is the model's frame.
    pub body: BodyHandle,
    /// A ball in the model's frame that holds all colliders: centre and radius. `None`: nothing can touch it.
    pub ball: Option<(DVec3, f64)>,
    /// All its links are one body, so that it can do without the solver.
    pub solo: bool,
    /// The order of its control frame's axes.
    pub axes: Axes,
}

/// The fixed part of a DiffDrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wheels {
    /// Its measures.
    pub drive: DiffDrive,
    /// Joints and their signs: +1 where a positive turn rolls forward. Left, right.
    pub joints: [(JointHandle, f64); 2],
}

/// The fixed part of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Its body: index into the world's table.
    pub body: usize,
    /// Its frame in the body's frame.
    pub in_body: DPose3,
    /// Its centre of mass in its frame.
    pub com: DVec3,
    /// Whether nothing moves it.
    pub fixed: bool,
    /// The robot that carries it, as a flier: its pose is the robot's.
    pub carrier: Option<Entity>,
    /// The robot that it belongs to.
    pub robot: Option<Entity>,
}

/// The fixed part of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// The link that carries its frame, and the frame in that link; `None` for a model without links.
    pub canonical: Option<(Entity, DPose3)>,
    /// Where the document puts it.
    pub initial: DPose3,
}
