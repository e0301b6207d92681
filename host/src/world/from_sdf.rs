//! From what a document says to what a world is made from, and what of it is taken differently than it was written.

use std::collections::HashMap;

use glamx::DVec3;
use tickworks_motion::Axes;

use super::build::{BuildError, BuildOptions};
use super::components::RobotKind;
use super::spec::{CollisionSpec, JointSpec, LinkSpec, ModelSpec, RobotSpec, WheelSpec, WorldSpec};
use super::{World, shapes::Shapes};
use crate::physics::{Inertial, JointKind, Surface};
use crate::sdf::{self, Code, Diagnostic, LinkRef, Span};

impl World {
    /// Builds a world from a document's. Warnings say what is taken differently than it was written.
    ///
    /// # Errors
    /// Everything that cannot be built, each with its place.
    pub fn build(
        document: &sdf::World,
        options: &BuildOptions,
    ) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        let mut reading = Reading::new();
        reading.world(document);
        let Reading { spec, mut findings, places, .. } = reading;
        let is_error = |finding: &Diagnostic| finding.severity == sdf::Severity::Error;
        let errors = match Self::from_spec(&spec, options) {
            Ok(world) if !findings.iter().any(is_error) => return Ok((world, findings)),
            Ok(_) => Vec::new(),
            Err(errors) => errors,
        };
        findings.retain(is_error);
        findings.extend(errors.iter().map(|error| places.locate(error, document)));
        Err(findings)
    }
}

/// Where each element stands, by its scoped name.
#[derive(Default)]
struct Places(HashMap<String, Span>);

impl Places {
    fn locate(&self, error: &BuildError, document: &sdf::World) -> Diagnostic {
        let span = self.0.get(&error.element).unwrap_or(&document.span);
        Diagnostic::error(Code::ElementInvalid, format!("{}: {}", error.element, error.message)).at(span.clone())
    }
}

struct Reading {
    spec: WorldSpec,
    findings: Vec<Diagnostic>,
    places: Places,
    shapes: Shapes,
    /// Links and joints by scoped name.
    links: HashMap<String, usize>,
    joints: HashMap<String, usize>,
}

impl Reading {
    fn new() -> Self {
        Self {
            spec: WorldSpec::default(),
            findings: Vec::new(),
            places: Places::default(),
            shapes: Shapes::default(),
            links: HashMap::new(),
            joints: HashMap::new(),
        }
    }

    fn world(&mut self, document: &sdf::World) {
        self.spec.name.clone_from(&document.name);
        self.spec.gravity = document.gravity;
        self.spec.max_step_size = document.physics().max_step_size;
        for model in &document.models {
            self.model(model, None);
        }
        for joint in &document.joints {
            self.joint(joint, "");
        }
    }

    fn model(&mut self, model: &sdf::Model, parent: Option<usize>) {
        let name = &model.scoped_name;
        let number = self.spec.models.len();
        let fixed = model.is_static || parent.is_some_and(|parent| self.spec.models[parent].fixed);
        self.places.0.insert(name.clone(), model.span.clone());
        self.spec.models.push(ModelSpec {
            name: name.clone(),
            pose: model.world_pose,
            fixed,
            self_collide: model.self_collide,
            canonical_link: None,
            allow_sleep: model.allow_auto_disable,
            parent,
        });
        for link in &model.links {
            self.link(link, name, number, fixed);
        }
        for nested in &model.models {
            self.model(nested, Some(number));
        }
        self.spec.models[number].canonical_link =
            self.links.get(&scoped(name, &model.resolved_canonical_link)).copied();
        for joint in &model.joints {
            self.joint(joint, name);
        }
        if let Some(robot) = &model.robot {
            self.robot(robot, name, number);
        }
    }

    fn link(&mut self, link: &sdf::Link, model_name: &str, model: usize, fixed: bool) {
        let name = scoped(model_name, &link.name);
        self.places.0.insert(name.clone(), link.span.clone());
        if link.kinematic && !fixed {
            let message = format!("link '{name}' is kinematic; it is simulated as one that forces move");
            self.findings.push(Diagnostic::warning(Code::ElementUnread, message).at(link.span.clone()));
        }
        let mut collisions = Vec::with_capacity(link.collisions.len());
        for collision in &link.collisions {
            let collision_name = scoped(&name, &collision.name);
            self.places.0.insert(collision_name, collision.span.clone());
            if let Some(shape) = self.shapes.shape(collision, fixed, &mut self.findings) {
                let surface = surface(&collision.surface);
                collisions.push(CollisionSpec {
                    name: collision.name.clone(),
                    pose: collision.pose_in_link,
                    shape,
                    surface,
                });
            }
        }
        let inertial = &link.inertial;
        self.links.insert(name.clone(), self.spec.links.len());
        self.spec.links.push(LinkSpec {
            name,
            model,
            pose: link.world_pose,
            inertial: Inertial { mass: inertial.mass, pose: inertial.pose, moments: inertial.inertia },
            gravity: link.gravity,
            damping: link.velocity_decay,
            collisions,
        });
    }

    fn joint(&mut self, joint: &sdf::Joint, scope: &str) {
        let name = scoped(scope, &joint.name);
        self.places.0.insert(name.clone(), joint.span.clone());
        let end = |link: &LinkRef| match link {
            LinkRef::Link(link) => self.links.get(&scoped(scope, link)).copied(),
            LinkRef::World | LinkRef::Unresolved => None,
        };
        let (parent, child) = (end(&joint.parent_link), end(&joint.child_link));
        if parent == child {
            // Both on one link: the document's reader has said so.
            return;
        }
        // The engine's joints end at a link: one whose child is the world is turned round, and so is its axis.
        let (parent, child, turned) = match (parent, child) {
            (parent, Some(child)) => (parent, child, false),
            (Some(parent), None) => (None, parent, true),
            (None, None) => return,
        };
        let kind = self.joint_kind(joint, &name);
        let axis = joint.axes.first();
        let along = axis.map_or(DVec3::Z, |axis| joint.world_pose.rotation * axis.xyz_in_joint);
        let (lower, upper) = match axis {
            Some(axis) if joint.kind != sdf::JointKind::Continuous => (axis.limits.lower, axis.limits.upper),
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        };
        self.joints.insert(name.clone(), self.spec.joints.len());
        self.spec.joints.push(JointSpec {
            name,
            kind,
            parent,
            child,
            pose: joint.world_pose,
            axis: if turned { -along } else { along },
            lower,
            upper,
            effort: axis.map_or(f64::INFINITY, |axis| axis.limits.effort),
            damping: axis.map_or(0.0, |axis| axis.dynamics.damping),
            friction: axis.map_or(0.0, |axis| axis.dynamics.friction),
            spring_stiffness: axis.map_or(0.0, |axis| axis.dynamics.spring_stiffness),
            spring_reference: axis.map_or(0.0, |axis| axis.dynamics.spring_reference),
        });
    }

    fn joint_kind(&mut self, joint: &sdf::Joint, name: &str) -> JointKind {
        let (kind, instead) = match joint.kind {
            sdf::JointKind::Fixed => return JointKind::Fixed,
            sdf::JointKind::Revolute | sdf::JointKind::Continuous => return JointKind::Revolute,
            sdf::JointKind::Prismatic => return JointKind::Prismatic,
            sdf::JointKind::Ball => return JointKind::Ball,
            sdf::JointKind::Universal => (JointKind::Ball, "a ball joint, which turns about a third axis as well"),
            sdf::JointKind::Screw => (JointKind::Revolute, "a revolute joint, which does not slide along its axis"),
            sdf::JointKind::Gearbox => (JointKind::Revolute, "a revolute joint without the gear's ratio"),
            sdf::JointKind::Revolute2 => (JointKind::Revolute, "a revolute joint about its first axis"),
        };
        let message = format!("joint '{name}' is a {} joint; it is simulated as {instead}", joint.kind.name());
        self.findings.push(Diagnostic::warning(Code::ElementUnread, message).at(joint.span.clone()));
        kind
    }

    fn robot(&mut self, robot: &sdf::Robot, model_name: &str, model: usize) {
        let mut limits = [0.0; 6];
        let mut drag = 0.0;
        let mut wheels = None;
        let kind = match &robot.kind {
            sdf::RobotKind::UavLevel1 { max_velocities } => {
                limits = *max_velocities;
                RobotKind::UavLevel1
            }
            sdf::RobotKind::UavLevel2 { max_accelerations, drag_coefficient } => {
                limits = *max_accelerations;
                drag = *drag_coefficient;
                RobotKind::UavLevel2
            }
            sdf::RobotKind::DiffDrive { max_velocities, wheel_separation, wheel_radius, left_joint, right_joint } => {
                limits[..2].copy_from_slice(max_velocities);
                let mut wheel = |name: &str| {
                    let found = self.joints.get(&scoped(model_name, name)).copied();
                    if found.is_none() {
                        let message = format!("the wheel joint '{name}' joins nothing in model '{model_name}'");
                        self.findings.push(Diagnostic::error(Code::RobotInvalid, message).at(robot.span.clone()));
                    }
                    found
                };
                if let (Some(left), Some(right)) = (wheel(left_joint), wheel(right_joint)) {
                    wheels = Some(WheelSpec { left, right, separation: *wheel_separation, radius: *wheel_radius });
                }
                RobotKind::DiffDrive
            }
        };
        let axes = match robot.axes {
            sdf::Axes::Luf => Axes::Luf,
            sdf::Axes::Flu => Axes::Flu,
        };
        self.spec.robots.push(RobotSpec { model, kind, axes, limits, drag, wheels });
    }
}

/// A name in a scope, as SDF writes it.
fn scoped(scope: &str, name: &str) -> String {
    if scope.is_empty() { name.to_owned() } else { format!("{scope}::{name}") }
}

/// The engine's surfaces have one coefficient of friction: the mean of SDF's two.
fn surface(surface: &sdf::Surface) -> Surface {
    Surface {
        friction: (surface.friction.mu + surface.friction.mu2) / 2.0,
        restitution: surface.restitution,
        bitmask: surface.collide_bitmask,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sdf::{LoadOptions, Source};

    fn build(models: &str) -> Result<(World, Vec<Diagnostic>), Vec<Diagnostic>> {
        let text = format!(
            "<sdf version=\"1.11\" xmlns:tw=\"https://tickworks.dev/sdf\">\n<world name=\"w\">\n{models}\n</world></sdf>"
        );
        let loaded = sdf::load_source(&Source::new("w.sdf", text), &LoadOptions::default());
        assert!(!loaded.has_errors(), "{:?}", loaded.diagnostics);
        World::build(&loaded.into_world().unwrap(), &BuildOptions::default())
    }

    const ROBOT: &str = "<model name=\"r\"><pose>1 2 3 0 0 0</pose><tw:robot type=\"UAVLevel1\"/>\
        <link name=\"l\"><collision name=\"c\"><geometry><sphere><radius>0.1</radius></sphere></geometry></collision></link>\
        </model>";

    #[test]
    fn poses_after_a_load_are_the_document_s_to_the_bit() {
        let (world, warnings) = build(ROBOT).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        assert_eq!(world.robots().poses, [[1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0]]);
        assert_eq!(world.pose(world.find(1, "r::l").unwrap()), Some([1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0]));
    }

    #[test]
    fn a_static_robot_is_an_error_with_its_place() {
        let text = ROBOT.replace("<link", "<static>true</static>\n<link");
        let errors = build(&text).err().unwrap();
        assert_eq!(errors.len(), 1);
        let text = errors[0].to_string();
        assert!(text.starts_with("w.sdf:3:1: error"), "{text}");
        assert!(text.contains("must be able to move"), "{text}");
    }

    #[test]
    fn what_is_simulated_differently_is_said() {
        let link = |name: &str| {
            format!("<link name=\"{name}\"><pose>{} 0 9 0 0 0</pose></link>", if name == "a" { 0 } else { 1 })
        };
        let model = format!(
            "<model name=\"m\">{}{}<joint name=\"j\" type=\"universal\"><parent>a</parent><child>b</child>\
             <axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2></joint></model>",
            link("a"),
            link("b")
        );
        let (_, warnings) = build(&model).unwrap();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].message.contains("joint 'm::j' is a universal joint; it is simulated as a ball joint"));
    }
}
