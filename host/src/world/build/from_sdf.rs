//! A [`WorldSpec`] from a document, and a world from it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{BuildError, BuildOptions};
use crate::physics::{Inertial, Surface};
use crate::sdf::{self, Code, Diagnostic, Span};
use crate::world::components::RobotKind;
use crate::world::spec::{CollisionSpec, LinkSpec, ModelSpec, RobotSpec, WheelSpec, WorldSpec};
use crate::world::{ChangeError, World};
use tickworks_motion::Axes;

mod joints;
mod shapes;

use joints::Following;
use shapes::{Shapes, Taken};

impl World {
    /// Builds a world from a document that has no errors. Physics takes no step; colliders and queries are in step when it
    /// returns. Comes with warnings about what physics does not take as the document means it.
    ///
    /// # Errors
    /// All that cannot be built, each with its place in the document.
    pub fn build(document: &sdf::World, options: &BuildOptions) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        let mut reading = Reading::new(document);
        reading.world();
        if !reading.errors.is_empty() {
            return Err(reading.errors);
        }
        match Self::from_spec(std::mem::take(&mut reading.spec), options) {
            Ok(world) => Ok((world, reading.warnings)),
            Err(errors) => Err(errors.into_iter().map(|error| reading.place(error)).collect()),
        }
    }

    /// What the one model of a document that has no errors is made from, in this world; with warnings as of
    /// [`World::build`].
    ///
    /// # Errors
    /// All that cannot be built, each with its place in the document.
    pub fn model_spec(&self, document: &sdf::World) -> Result<(Arc<WorldSpec>, Vec<Diagnostic>), Vec<Diagnostic>> {
        let reading = self.reading(document);
        if reading.errors.is_empty() { Ok((Arc::new(reading.spec), reading.warnings)) } else { Err(reading.errors) }
    }

    /// Adds the model of a document that has no errors and one model, as [`World::add_model`]. Gives its id, what it was
    /// made from, and warnings as [`World::build`].
    ///
    /// # Errors
    /// All that cannot be built, each with its place in the document. Nothing is changed then.
    pub fn add(&mut self, document: &sdf::World) -> Result<(u64, Arc<WorldSpec>, Vec<Diagnostic>), Vec<Diagnostic>> {
        let mut reading = self.reading(document);
        if !reading.errors.is_empty() {
            return Err(reading.errors);
        }
        let spec = Arc::new(std::mem::take(&mut reading.spec));
        match self.add_model(&spec) {
            Ok(id) => Ok((id, spec, reading.warnings)),
            Err(ChangeError::Build(errors)) => Err(errors.into_iter().map(|error| reading.place(error)).collect()),
            Err(error) => {
                Err(vec![Diagnostic::error(Code::ElementInvalid, error.to_string()).at(document.span.clone())])
            }
        }
    }

    fn reading<'a>(&self, document: &'a sdf::World) -> Reading<'a> {
        let mut reading = Reading::new(document);
        reading.spec.gravity = self.document.gravity;
        reading.spec.max_step_size = self.document.max_step_size;
        reading.world();
        reading
    }
}

/// A document that is being read.
struct Reading<'a> {
    document: &'a sdf::World,
    spec: WorldSpec,
    warnings: Vec<Diagnostic>,
    errors: Vec<Diagnostic>,
    /// Models, links and joints by scoped name.
    models: HashMap<String, usize>,
    links: HashMap<String, usize>,
    joints: HashMap<String, usize>,
    /// Places by scoped name.
    places: HashMap<String, (Span, Code)>,
    shapes: Shapes,
    /// Of which kinds it was said in which files that they are not used.
    said: HashSet<(&'static str, *const sdf::Source)>,
    /// Joints that follow others, once all are there.
    following: Vec<Following<'a>>,
}

impl<'a> Reading<'a> {
    fn new(document: &'a sdf::World) -> Self {
        let mut places = HashMap::new();
        places.insert(document.name.clone(), (document.span.clone(), Code::ElementInvalid));
        Self {
            document,
            spec: WorldSpec {
                name: document.name.clone(),
                gravity: document.gravity,
                max_step_size: document.physics().max_step_size,
                ..WorldSpec::default()
            },
            warnings: Vec::new(),
            errors: Vec::new(),
            models: HashMap::new(),
            links: HashMap::new(),
            joints: HashMap::new(),
            places,
            shapes: Shapes::default(),
            said: HashSet::new(),
            following: Vec::new(),
        }
    }

    fn world(&mut self) {
        for model in &self.document.models {
            self.model(model, None, model.is_static);
        }
        // Joints after all links, so that those between models find both ends.
        for model in &self.document.models {
            model.walk(&mut |m| self.model_joints(m));
        }
        for joint in &self.document.joints {
            self.joint(joint, "");
        }
        self.followers();
        for model in &self.document.models {
            model.walk(&mut |m| self.robot(m));
        }
    }

    fn model(&mut self, model: &sdf::Model, parent: Option<usize>, fixed: bool) {
        let n = self.spec.models.len();
        let name = model.scoped_name.clone();
        self.places.insert(name.clone(), (model.span.clone(), Code::RobotInvalid));
        self.models.insert(name.clone(), n);
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
            self.link(link, &name, n, fixed);
        }
        for inner in &model.models {
            self.model(inner, Some(n), fixed || inner.is_static);
        }
        let canonical = format!("{name}::{}", model.resolved_canonical_link);
        self.spec.models[n].canonical_link = self.links.get(&canonical).copied();
    }

    fn link(&mut self, link: &sdf::Link, model_name: &str, model: usize, fixed: bool) {
        let name = format!("{model_name}::{}", link.name);
        self.places.insert(name.clone(), (link.span.clone(), Code::LinkInertiaInvalid));
        self.links.insert(name.clone(), self.spec.links.len());
        if link.kinematic && !fixed {
            self.warn(
                &link.span,
                format!("link {name} is kinematic, but is moved by forces and contacts like any other"),
            );
        }
        if link.inertial.fluid_added_mass.is_some() && !fixed {
            self.warn(&link.span, format!("link {name} is moved without its fluid_added_mass"));
        }
        if link.enable_wind && self.document.wind != glamx::DVec3::ZERO && !fixed {
            self.warn(&link.span, format!("link {name} asks for wind, which does not blow here"));
        }
        let mut collisions = Vec::new();
        for collision in &link.collisions {
            let full = format!("{name}::{}", collision.name);
            self.places.insert(full.clone(), (collision.span.clone(), Code::ElementInvalid));
            if collision.surface.collide_without_contact {
                self.warn(&collision.span, format!("collision {full} is without contact: it is left out"));
                continue;
            }
            let Taken { shapes, remark } = match self.shapes.shapes(&collision.geometry, fixed) {
                Ok(found) => found,
                Err((code, message)) => {
                    self.errors.push(
                        Diagnostic::error(code, format!("collision {full}: {message}")).at(collision.span.clone()),
                    );
                    continue;
                }
            };
            if let Some(remark) = remark {
                self.warn(&collision.span, format!("collision {full}: {remark}"));
            }
            let friction = &collision.surface.friction;
            if friction.mu != friction.mu2 {
                let (mu, mu2) = (friction.mu, friction.mu2);
                self.warn(
                    &collision.span,
                    format!("collision {full}: friction is mu = {mu} along every direction, mu2 = {mu2} is not used"),
                );
            }
            self.unused_surface(&full, collision);
            let surface = Surface {
                friction: friction.mu,
                restitution: collision.surface.restitution,
                bitmask: collision.surface.collide_bitmask,
            };
            collisions.extend(shapes.into_iter().map(|(pose, shape)| CollisionSpec {
                name: collision.name.clone(),
                pose: collision.pose_in_link * pose,
                shape,
                surface,
            }));
        }
        let inertial = &link.inertial;
        self.spec.links.push(LinkSpec {
            name,
            model,
            pose: link.world_pose,
            start: link.start_pose,
            velocity: link.initial_velocity,
            inertial: Inertial { mass: inertial.mass, pose: inertial.pose, moments: inertial.inertia },
            gravity: link.gravity,
            damping: link.velocity_decay,
            collisions,
        });
    }

    fn robot(&mut self, model: &sdf::Model) {
        let Some(robot) = &model.robot else { return };
        let Some(n) = self.models.get(&model.scoped_name).copied() else { return };
        self.places.insert(model.scoped_name.clone(), (robot.span.clone(), Code::RobotInvalid));
        let mut spec = RobotSpec {
            model: n,
            kind: RobotKind::UavLevel1,
            axes: match robot.axes {
                sdf::Axes::Luf => Axes::Luf,
                sdf::Axes::Flu => Axes::Flu,
            },
            limits: [0.0; 6],
            drag: 0.0,
            wheels: None,
        };
        match &robot.kind {
            sdf::RobotKind::UavLevel1 { max_velocities } => spec.limits = *max_velocities,
            sdf::RobotKind::UavLevel2 { max_accelerations, drag_coefficient } => {
                (spec.kind, spec.limits, spec.drag) = (RobotKind::UavLevel2, *max_accelerations, *drag_coefficient);
            }
            sdf::RobotKind::DiffDrive { max_velocities, wheel_separation, wheel_radius, left_joint, right_joint } => {
                spec.kind = RobotKind::DiffDrive;
                spec.limits[..2].copy_from_slice(max_velocities);
                let joint = |name: &str| self.joints.get(&format!("{}::{name}", model.scoped_name)).copied();
                if let (Some(left), Some(right)) = (joint(left_joint), joint(right_joint)) {
                    spec.wheels = Some(WheelSpec { left, right, separation: *wheel_separation, radius: *wheel_radius });
                }
            }
        }
        self.spec.robots.push(spec);
    }

    fn warn(&mut self, span: &Span, message: String) {
        self.warnings.push(Diagnostic::warning(Code::ElementUnread, message).at(span.clone()));
    }

    /// Warns of a kind of thing that is not used, once in a file.
    fn warn_once(&mut self, kind: &'static str, span: &Span, message: String) {
        if self.said.insert((kind, Arc::as_ptr(span.source()))) {
            self.warn(span, message + "; this is said once for each file");
        }
    }

    /// Says which parts of a surface are not used.
    fn unused_surface(&mut self, name: &str, collision: &sdf::Collision) {
        let surface = &collision.surface;
        let friction = &surface.friction;
        let unused = [
            ("fdir1", friction.direction != glamx::DVec3::ZERO),
            ("slip1> and <slip2", friction.slip != [0.0; 2]),
            ("torsional", friction.torsional.is_some_and(|coefficient| coefficient != 1.0)),
            ("kp", surface.stiffness.is_some_and(|kp| kp != 1e12)),
            ("kd", surface.damping.is_some_and(|kd| kd != 1.0)),
        ];
        for (kind, _) in unused.into_iter().filter(|(_, given)| *given) {
            self.warn_once(kind, &collision.span, format!("collision {name}: the <{kind}> of its surface is not used"));
        }
    }

    /// A build error at its place in the document.
    fn place(&self, error: BuildError) -> Diagnostic {
        let text = error.to_string();
        match self.places.get(&error.element) {
            Some((span, code)) => Diagnostic::error(*code, text).at(span.clone()),
            None => Diagnostic::error(Code::ElementInvalid, text).at(self.document.span.clone()),
        }
    }
}
