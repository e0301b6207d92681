//! Joints of a document. What physics has no joint for is approximated, with a warning that says by what.

use glamx::DVec3;

use super::Reading;
use crate::physics::{JointKind, REACH};
use crate::sdf::{self, Code, LinkRef, Span};
use crate::world::spec::{FollowerSpec, JointAxisSpec, JointSpec};

/// The format's stiffness and dissipation of a stop.
const STOP: (f64, f64) = (1e8, 1.0);

/// A joint, or an axis of one, that follows another joint.
pub(super) struct Following<'a> {
    scope: &'a str,
    joint: &'a sdf::Joint,
    /// Of a mimic, the axis; of a gearbox, none.
    axis: Option<usize>,
}

/// A name in the scope of a model, or of the world.
fn scoped(scope: &str, name: &str) -> String {
    if scope.is_empty() { name.to_owned() } else { format!("{scope}::{name}") }
}

impl<'a> Reading<'a> {
    pub(super) fn model_joints(&mut self, model: &'a sdf::Model) {
        for joint in &model.joints {
            self.joint(joint, &model.scoped_name);
        }
    }

    pub(super) fn joint(&mut self, joint: &'a sdf::Joint, scope: &'a str) {
        let name = scoped(scope, &joint.name);
        if joint.kind == sdf::JointKind::Gearbox {
            self.following.push(Following { scope, joint, axis: None });
            return;
        }
        let (Some(parent), Some(child)) = (self.end(scope, &joint.parent_link), self.end(scope, &joint.child_link))
        else {
            // Said by the reader of the document already, where it is an error.
            self.warn(&joint.span, format!("joint {name} has an end that is no link: it is left out"));
            return;
        };
        // One whose child is the world is turned round, so that it ends at a link; so is its axis.
        let (parent, child, sense) = match (parent, child) {
            (parent, Some(child)) => (parent, child, 1.0),
            (Some(parent), None) => (None, parent, -1.0),
            (None, None) => {
                self.warn(&joint.span, format!("joint {name} joins the world to itself: it is left out"));
                return;
            }
        };
        if parent == Some(child) {
            self.warn(&joint.span, format!("joint {name} joins a link to itself: it is left out"));
            return;
        }
        let constant_velocity =
            "a joint of constant velocity: where both angles are large, it differs from a cross joint";
        let (kind, approximation) = match joint.kind {
            sdf::JointKind::Fixed | sdf::JointKind::Gearbox => (JointKind::Fixed, None),
            sdf::JointKind::Revolute | sdf::JointKind::Continuous => (JointKind::Revolute, None),
            sdf::JointKind::Prismatic => (JointKind::Prismatic, None),
            sdf::JointKind::Ball => (JointKind::Ball, None),
            sdf::JointKind::Universal | sdf::JointKind::Revolute2 => (JointKind::Universal, Some(constant_velocity)),
            sdf::JointKind::Screw => {
                (JointKind::Cylindrical, Some("one whose travel follows its turn: a force along it does not turn it"))
            }
        };
        if let Some(what) = approximation {
            self.warn(&joint.span, format!("joint {name} ({}) is built as {what}", joint.kind.name()));
        }
        let index = self.spec.joints.len();
        let mut axes: Vec<JointAxisSpec> =
            joint.axes.iter().take(joint.kind.axes()).map(|axis| self.axis(joint, &name, axis, sense)).collect();
        while axes.len() < joint.kind.axes() {
            axes.push(JointAxisSpec::free(joint.world_pose.rotation * DVec3::Z * sense));
        }
        match joint.kind {
            sdf::JointKind::Screw => {
                let ratio = joint.thread_pitch / std::f64::consts::TAU;
                // The travel has the limits: turns are known up to whole ones only.
                let mut travel = JointAxisSpec::free(axes[0].direction);
                let ends = [axes[0].lower * ratio, axes[0].upper * ratio];
                (travel.lower, travel.upper) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
                (axes[0].lower, axes[0].upper) = (f64::NEG_INFINITY, f64::INFINITY);
                axes.push(travel);
                let (follower, leader) = ((index, 1), (index, 0));
                self.spec.followers.push(FollowerSpec {
                    follower,
                    leader,
                    multiplier: ratio,
                    offset: 0.0,
                    reference: 0.0,
                });
            }
            sdf::JointKind::Universal | sdf::JointKind::Revolute2 => {
                let cosine = axes[0].direction.dot(axes[1].direction).abs();
                if cosine > 0.1 {
                    let degrees = cosine.min(1.0).acos().to_degrees();
                    let text = format!("the axes of joint {name} are {degrees:.0} degrees apart, and are taken as 90");
                    self.warn(&joint.span, text);
                }
            }
            _ => {}
        }
        for (n, axis) in joint.axes.iter().take(joint.kind.axes()).enumerate() {
            if axis.mimic.is_some() {
                self.following.push(Following { scope, joint, axis: Some(n) });
            }
        }
        self.joints.insert(name.clone(), index);
        self.places.insert(name.clone(), (joint.span.clone(), Code::ElementInvalid));
        self.spec.joints.push(JointSpec { name, kind, parent, child, pose: joint.world_pose, axes });
    }

    /// An end of a joint: a link, or the world; `None` where there is no such link.
    fn end(&self, scope: &str, end: &LinkRef) -> Option<Option<usize>> {
        match end {
            LinkRef::Link(link) => self.links.get(&scoped(scope, link)).copied().map(Some),
            LinkRef::World => Some(None),
            LinkRef::Unresolved => None,
        }
    }

    fn axis(&mut self, joint: &sdf::Joint, name: &str, axis: &sdf::JointAxis, sense: f64) -> JointAxisSpec {
        let free = joint.kind == sdf::JointKind::Continuous;
        let dynamics = axis.dynamics;
        if dynamics.friction > 0.0 && dynamics.spring_stiffness > 0.0 {
            let text = format!("joint {name} has a spring: its dry friction of {} is not built", dynamics.friction);
            self.warn(&axis.span, text);
        }
        for (what, value) in [("damping", dynamics.damping), ("friction", dynamics.friction)] {
            if value < 0.0 {
                self.warn(&axis.span, format!("joint {name}: its {what} is {value:?}, below 0, and is taken as 0"));
            }
        }
        self.unused(joint, name, axis);
        JointAxisSpec {
            direction: joint.world_pose.rotation * axis.xyz_in_joint * sense,
            lower: if free { f64::NEG_INFINITY } else { axis.limits.lower },
            upper: if free { f64::INFINITY } else { axis.limits.upper },
            effort: axis.limits.effort,
            damping: dynamics.damping.max(0.0),
            friction: dynamics.friction.max(0.0),
            spring_stiffness: dynamics.spring_stiffness,
            spring_reference: dynamics.spring_reference,
        }
    }

    /// Says which parts of an axis act otherwise than they are written.
    fn unused(&mut self, joint: &sdf::Joint, name: &str, axis: &sdf::JointAxis) {
        let limits = &axis.limits;
        if limits.velocity.is_finite() {
            let text = format!("joint {name}: the <velocity> of its limit, {:?}, is not held", limits.velocity);
            self.warn_once("velocity", &axis.span, text);
        }
        if (limits.stiffness, limits.dissipation) != STOP {
            let text = format!("joint {name}: its stops are hard, their <stiffness> and <dissipation> are not used");
            self.warn_once("stop", &axis.span, text);
        }
        let turn = std::f64::consts::PI + 1e-6;
        // Limits such as ±1e12 are written for none.
        let beyond = |end: f64| end.abs() > turn && end.abs() < REACH;
        if joint.kind == sdf::JointKind::Revolute && (beyond(limits.lower) || beyond(limits.upper)) {
            self.warn(
                &axis.span,
                format!(
                    "joint {name}: its limits {:?} and {:?} go beyond -π and π and do not hold: its angle is known up to a turn",
                    limits.lower, limits.upper
                ),
            );
        }
    }

    /// Joints that follow others, now that all joints are there.
    pub(super) fn followers(&mut self) {
        for Following { scope, joint, axis } in std::mem::take(&mut self.following) {
            let name = scoped(scope, &joint.name);
            let said = self.warnings.len();
            let made = match axis {
                Some(n) => self.mimic(scope, joint, n),
                None => self.gearbox(scope, joint),
            };
            match made {
                Ok(follower) if self.leads_back(&follower) => {
                    // That it follows the other by a motor does not hold.
                    self.warnings.truncate(said);
                    self.warn(
                        &joint.span,
                        format!("joint {name} follows no other: those that it would follow follow it"),
                    );
                }
                Ok(follower) => self.spec.followers.push(follower),
                Err(why) => self.warn(&joint.span, format!("joint {name} follows no other: {why}")),
            }
        }
    }

    /// Whether the leader of a follower follows it, over others or at once.
    fn leads_back(&self, new: &FollowerSpec) -> bool {
        let next = |axis: (usize, usize)| self.spec.followers.iter().find(|f| f.follower == axis).map(|f| f.leader);
        std::iter::successors(Some(new.leader), |axis| next(*axis)).any(|axis| axis == new.follower)
    }

    fn mimic(&mut self, scope: &str, joint: &sdf::Joint, n: usize) -> Result<FollowerSpec, String> {
        let Some(mimic) = joint.axes.get(n).and_then(|axis| axis.mimic.as_ref()) else {
            return Err("it has no <mimic>".to_owned());
        };
        let follower = self.joints.get(&scoped(scope, &joint.name)).copied().ok_or("it is not built")?;
        let leader = scoped(scope, &mimic.joint);
        let leader = self.joints.get(&leader).copied().ok_or_else(|| format!("there is no joint {leader}"))?;
        let second = usize::from(mimic.axis == "axis2");
        if self.spec.joints[leader].axes.len() <= second {
            return Err(format!("joint {} has no {}", mimic.joint, if second == 1 { "axis2" } else { "axis" }));
        }
        self.note_follower(&joint.span, &scoped(scope, &joint.name), &mimic.joint);
        Ok(FollowerSpec {
            follower: (follower, n),
            leader: (leader, second),
            multiplier: mimic.multiplier,
            offset: mimic.offset,
            reference: mimic.reference,
        })
    }

    /// A gearbox is no joint, but a ratio between two: those of its ends to its reference body.
    fn gearbox(&mut self, scope: &str, joint: &sdf::Joint) -> Result<FollowerSpec, String> {
        let body = &joint.gearbox_reference_body;
        let hub = self.links.get(&scoped(scope, body)).copied();
        let hub = hub.ok_or_else(|| format!("its reference body '{body}' is no link"))?;
        let side = |end: &LinkRef, axis: usize| -> Result<(usize, f64), String> {
            let link = self.end(scope, end).flatten().ok_or("an end of it is no link")?;
            let ends = [(Some(hub), link, 1.0), (Some(link), hub, -1.0)];
            let found = self.spec.joints.iter().enumerate().find_map(|(n, j)| {
                let way = ends.iter().find(|(parent, child, _)| j.parent == *parent && j.child == *child)?;
                (j.kind == JointKind::Revolute).then_some((n, way.2))
            });
            let (n, way) = found.ok_or_else(|| {
                format!("no revolute joint joins {} to its reference body '{body}'", self.spec.links[link].name)
            })?;
            let own = joint.axes.get(axis).map_or(DVec3::Z, |a| joint.world_pose.rotation * a.xyz_in_joint);
            let direction = self.spec.joints[n].axes.first().map_or(DVec3::Z, |a| a.direction);
            Ok((n, way * if own.dot(direction) < 0.0 { -1.0 } else { 1.0 }))
        };
        let (leader, leads) = side(&joint.parent_link, 0)?;
        let (follower, follows) = side(&joint.child_link, 1)?;
        let (name, by) = (self.spec.joints[follower].name.clone(), self.spec.joints[leader].name.clone());
        self.note_follower(&joint.span, &name, &by);
        Ok(FollowerSpec {
            follower: (follower, 0),
            leader: (leader, 0),
            multiplier: -joint.gearbox_ratio * leads * follows,
            offset: 0.0,
            reference: 0.0,
        })
    }

    fn note_follower(&mut self, span: &Span, name: &str, leader: &str) {
        let text = format!("joint {name} follows joint {leader} by a motor: what it meets is not felt by {leader}");
        self.warn(span, text);
    }
}
