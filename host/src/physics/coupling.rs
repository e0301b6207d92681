//! Joints that depend on the motion of joints: axes that follow another axis, and dry friction.
//!
//! The engine knows neither, so each step asks it for motors that do it, from where everything is. A follower's leader feels
//! nothing of what it does. A brake holds its axis at a place, up to its force; where that does not do, the place is drawn
//! along behind the axis (the elastic and plastic parts of P. R. Dahl's model of friction, 1968). The place is all that is
//! remembered from step to step, and is part of the engine's state.

use std::f64::consts::TAU;

use super::engine::{JointHandle, Physics};
use super::joint::JointSpec;

/// An axis that follows another one: position = multiplier · (leader − reference) + offset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Follower {
    /// Joint and number of its axis.
    pub follower: (JointHandle, usize),
    /// Joint and number of its axis.
    pub leader: (JointHandle, usize),
    /// Ratio.
    pub multiplier: f64,
    /// Added to the follower, rad or m.
    pub offset: f64,
    /// Taken off the leader, rad or m.
    pub reference: f64,
}

/// What each step asks of joints anew.
#[derive(Default)]
pub(super) struct Coupling {
    followers: Vec<Follower>,
    /// Joint and axis.
    brakes: Vec<(JointHandle, usize)>,
}

/// Of a follower's error, what a step makes up: all of it at once would be a jump, and a step later is soon enough.
const CATCH_UP: f64 = 0.2;

/// A follower that is to move faster than this (rad/s, m/s) is woken: its leader may be another body's.
const SLOW: f64 = 1e-3;

/// How far an axis gives way before its brake slips, rad or m.
const ELASTIC: f64 = 5e-4;

impl Coupling {
    pub(super) fn added(&mut self, joint: JointHandle, spec: &JointSpec) {
        let axes = (0..spec.kind.axes().len()).filter(|axis| spec.axes[*axis].brakes());
        self.brakes.extend(axes.map(|axis| (joint, axis)));
    }

    pub(super) fn removed(&mut self, joint: JointHandle) {
        self.brakes.retain(|(braked, _)| *braked != joint);
        self.followers.retain(|follower| follower.follower.0 != joint && follower.leader.0 != joint);
    }
}

impl Physics {
    /// Has an axis follow another one from the next step on.
    pub fn follow(&mut self, follower: Follower) {
        self.coupling.brakes.retain(|brake| *brake != follower.follower);
        self.coupling.followers.push(follower);
        self.changed = true;
    }

    /// Sets the motors for the next step.
    pub(super) fn couple(&mut self) {
        let coupling = std::mem::take(&mut self.coupling);
        for follower in &coupling.followers {
            let (joint, axis) = follower.follower;
            if let Some(velocity) = self.wanted(follower) {
                self.set_motor(joint, velocity.abs() > SLOW, |spec, data| spec.drive(data, axis, velocity));
            }
        }
        for (joint, axis) in &coupling.brakes {
            self.slip(*joint, *axis);
        }
        self.coupling = coupling;
    }

    /// Has the brakes of a joint hold it where it is.
    pub fn hold(&mut self, joint: JointHandle) {
        let state = self.joint_state(joint);
        let Some((_, spec)) = self.joints.get(joint.0) else { return };
        let brakes = spec.axes.map(|axis| axis.brakes());
        for axis in (0..state.len()).filter(|axis| brakes[*axis]) {
            self.set_motor(joint, false, |spec, data| spec.brake(data, axis, state[axis][0], 0.0));
        }
    }

    /// Draws the place at which a brake holds its axis along, and takes what is viscous of its force from the velocity.
    fn slip(&mut self, joint: JointHandle, axis: usize) {
        let Some((handle, spec)) = self.joints.get(joint.0) else { return };
        let Some(data) = self.world.impulse_joints.get(*handle).map(|joint| &joint.data) else { return };
        let (held, viscous) = (spec.held(data, axis), spec.axes[axis].damping > 0.0);
        let [position, velocity] = self.joint_state(joint)[axis];
        let away = position - held;
        let away = if spec.kind.turns(axis) { away - TAU * (away / TAU).round() } else { away };
        let slips = away.abs() > ELASTIC;
        // What holds still is left alone: each change costs the engine its plan for the solver.
        if slips || (viscous && velocity.abs() > SLOW) {
            let place = if slips { position - ELASTIC.copysign(away) } else { held };
            self.set_motor(joint, false, |spec, data| spec.brake(data, axis, place, velocity));
        }
    }

    /// The velocity that leads a follower to where it should be.
    fn wanted(&self, f: &Follower) -> Option<f64> {
        let [leader, leader_speed] = *self.joint_state(f.leader.0).get(f.leader.1)?;
        let [own, _] = *self.joint_state(f.follower.0).get(f.follower.1)?;
        let error = f.multiplier * (leader - f.reference) + f.offset - own;
        let error = match self.period(f) {
            Period::None => error,
            Period::Of(period) => error - period * (error / period).round(),
            Period::Unknown => 0.0,
        };
        Some(f.multiplier * leader_speed + error * CATCH_UP / self.dt())
    }

    /// Up to what a follower's position is known: angles are known up to whole turns.
    fn period(&self, f: &Follower) -> Period {
        let whole_turns = |(joint, axis): (JointHandle, usize)| {
            let spec = self.joints.get(joint.0).map(|(_, spec)| spec);
            spec.is_some_and(|spec| spec.kind.turns(axis) && spec.axes[axis].limit.range(true).is_none())
        };
        let own = whole_turns(f.follower);
        let led = whole_turns(f.leader);
        let ratio = f.multiplier.abs();
        match (led, own) {
            (false, false) => Period::None,
            (false, true) => Period::Of(TAU),
            (true, false) if ratio > 0.0 => Period::Of(TAU * ratio),
            (true, false) => Period::None,
            // Both turn round and round: only where one's turns are whole numbers of the other's does that say anything.
            (true, true) if ratio >= 1.0 && ratio.fract() == 0.0 => Period::Of(TAU),
            (true, true) if ratio > 0.0 && (1.0 / ratio).fract() == 0.0 => Period::Of(TAU * ratio),
            (true, true) => Period::Unknown,
        }
    }

    /// Changes a motor, and wakes what it moves or lets it sleep on.
    fn set_motor(
        &mut self,
        joint: JointHandle,
        wake: bool,
        change: impl FnOnce(&JointSpec, &mut rapier3d::dynamics::GenericJoint),
    ) {
        let Some((handle, spec)) = self.joints.get(joint.0) else { return };
        if let Some(joint) = self.world.impulse_joints.get_mut(*handle, wake) {
            change(spec, &mut joint.data);
        }
    }
}

/// See [`Physics::period`].
enum Period {
    /// It is known as it is.
    None,
    /// Up to multiples of this.
    Of(f64),
    /// Not at all: only the velocity is.
    Unknown,
}
