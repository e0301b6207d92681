//! Joints, and axes that follow other axes.

use glamx::{DPose3, DVec3};

use super::{BuildError, Building};
use crate::physics::{
    AxisSpec, BodyHandle, BodyKind, BodySpec, Follower, Inertial, JointHandle, JointKind, JointLimit, JointSpec, Joints,
};
use crate::world::joints::Joint;
use crate::world::spec::{self, JointAxisSpec};
use crate::world::{Body, Start};

impl Building<'_> {
    pub(super) fn joints(&mut self) {
        let mut anchor: Option<(usize, BodyHandle)> = None;
        for joint in &self.spec.joints {
            let child = self.groups.of_link[joint.child];
            let parent = joint.parent.map(|l| self.groups.of_link[l]);
            let numbers = [parent.unwrap_or(child), child].map(|group| self.base.bodies + group);
            // Fixed joints are in the groups already; one within a group has nothing to do.
            let Some(child_body) =
                self.body_of(child).filter(|_| joint.kind != JointKind::Fixed && parent != Some(child))
            else {
                self.joint(joint, None, numbers);
                continue;
            };
            let (numbers, parent, parent_frame) = match parent {
                Some(group) => match self.body_of(group) {
                    Some(handle) => (numbers, handle, self.groups.frames[group]),
                    None => continue,
                },
                None => {
                    let (number, handle) = match anchor {
                        Some(anchor) => anchor,
                        None => match self.anchor() {
                            Ok(made) => *anchor.insert(made),
                            Err(message) => {
                                self.errors.push(BuildError::new(&joint.name, message));
                                continue;
                            }
                        },
                    };
                    ([number, numbers[1]], handle, DPose3::IDENTITY)
                }
            };
            let direction = |n: usize| joint.axes.get(n).map_or(DVec3::Z, |axis| axis.direction);
            let frame = match joint.kind {
                JointKind::Universal => JointSpec::frame_of_two(joint.pose.translation, direction(0), direction(1)),
                _ => JointSpec::frame(joint.pose.translation, direction(0)),
            };
            let mut spec = JointSpec::new(joint.kind, &frame, &parent_frame, &self.groups.frames[child]);
            for (to, from) in spec.axes.iter_mut().zip(&joint.axes) {
                *to = axis_spec(from);
            }
            let handle = self.world.physics.add_joint(parent, child_body, spec);
            self.joint(joint, Some(handle), numbers);
        }
    }

    fn joint(&mut self, spec: &spec::JointSpec, handle: Option<JointHandle>, bodies: [usize; 2]) {
        self.joints.push(handle);
        let (name, kind, axes) = (spec.name.clone(), spec.kind, spec.axes.len());
        self.world.joints.push(Joint { name, kind, axes, handle, bodies });
    }

    /// What joints to the world are fixed to.
    fn anchor(&mut self) -> Result<(usize, BodyHandle), String> {
        let number = self.world.bodies.next();
        let handle = self.world.physics.add_body(&anchor_spec(), number as u64)?;
        let start = Start { pose: DPose3::IDENTITY, linear: DVec3::ZERO, angular: DVec3::ZERO };
        self.world.bodies.push(Body { handle, links: Vec::new(), robot: None, start });
        Ok((number, handle))
    }

    pub(super) fn followers(&mut self) {
        for follower in &self.spec.followers {
            let handle = |n: usize| self.joints.get(n).copied().flatten();
            // One of them may be within a body.
            let (Some(own), Some(leader)) = (handle(follower.follower.0), handle(follower.leader.0)) else { continue };
            self.world.physics.follow(Follower {
                follower: (own, follower.follower.1),
                leader: (leader, follower.leader.1),
                multiplier: follower.multiplier,
                offset: follower.offset,
                reference: follower.reference,
            });
        }
    }
}

fn axis_spec(axis: &JointAxisSpec) -> AxisSpec {
    AxisSpec {
        limit: JointLimit { lower: axis.lower, upper: axis.upper },
        effort: if axis.effort >= 0.0 { axis.effort } else { f64::INFINITY },
        damping: axis.damping,
        friction: axis.friction,
        stiffness: axis.spring_stiffness,
        reference: axis.spring_reference,
    }
}

fn anchor_spec() -> BodySpec {
    BodySpec {
        pose: DPose3::IDENTITY,
        kind: BodyKind::Static,
        inertial: Inertial::DEFAULT,
        gravity_scale: 0.0,
        damping: [0.0; 2],
        joints: Joints::None,
    }
}
