//! Models that come and go while a world runs.
//!
//! What is added gets the next numbers, and its numbers are never given again. What there is, beside the document, is the
//! world's [`Structure`], which a snapshot begins with.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use specs::WorldExt;
use tickworks_plugin_api::abi::kind;

use super::World;
use super::build::{self, BuildError, Building};
use super::components::{Claimed, Flight, Robot};
use super::index::{id, parts};
use super::spec::WorldSpec;
use super::state::RestoreError;
use crate::physics::BodyHandle;

/// The numbers that the next ones get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbers {
    pub(super) robots: usize,
    pub(super) links: usize,
    pub(super) models: usize,
    pub(super) bodies: usize,
    pub(super) joints: usize,
    /// Those that the engine knows.
    pub(super) moving_joints: usize,
}

/// What has come and gone since the build.
#[derive(Debug, Default)]
pub(super) struct Change {
    /// The numbers that came after those of the document.
    document: Numbers,
    /// Numbers of the document's models that are gone.
    removed: BTreeSet<usize>,
    /// What was added and is still there, by the number of its model.
    added: BTreeMap<usize, Added>,
}

/// A model that was added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Added {
    /// Its name.
    pub name: String,
    /// The numbers that its parts begin with.
    base: Numbers,
    /// Of what it was built from.
    digest: u64,
}

/// What there is in a world beside its document, and what of that is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Structure {
    /// Names of the document's models that are gone.
    pub removed: Vec<String>,
    /// Models that were added, in the order in which they were.
    pub added: Vec<Added>,
    next: Numbers,
}

/// Numbers are the lower half of ids; nothing comes near this.
const MOST: usize = 1 << 31;

impl Structure {
    fn numbers(&self) -> impl Iterator<Item = usize> {
        let all = self.added.iter().map(|added| added.base).chain([self.next]);
        all.flat_map(|n| [n.robots, n.links, n.models, n.bodies, n.joints, n.moving_joints])
    }
}

/// Why a model could not be added or removed. The world is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// There is a model of this name.
    #[error("there is a model '{0}' already")]
    Duplicate(String),
    /// Nothing has this id.
    #[error("there is no model with id {0}")]
    Unknown(u64),
    /// It goes only as a whole.
    #[error("'{name}' is a part of the model '{whole}', and goes only with it")]
    Part {
        /// The model.
        name: String,
        /// The one that it is in.
        whole: String,
    },
    /// Fixed joints make it one body with another model.
    #[error("'{name}' is fixed to the model '{other}', and cannot go without it")]
    Fixed {
        /// The model.
        name: String,
        /// The other one.
        other: String,
    },
    /// It cannot be built.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Build(Vec<BuildError>),
}

/// What has gone with a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Its scoped name and those of the models inside it.
    pub models: Vec<String>,
    /// Ids of its robots.
    pub robots: Vec<u64>,
}

impl World {
    pub(super) fn numbers(&self) -> Numbers {
        Numbers {
            robots: self.index.robots.next(),
            links: self.index.bodies.next(),
            models: self.index.models.next(),
            bodies: self.bodies.next(),
            joints: self.joints.next(),
            moving_joints: self.physics.next_joint(),
        }
    }

    /// The document is built.
    pub(super) fn seal(&mut self) {
        self.index.seal();
        self.bodies.seal();
        self.joints.seal();
        self.physics.seal();
        self.change.document = self.numbers();
    }

    /// Whether anything has come or gone since the build.
    pub fn is_changed(&self) -> bool {
        !self.change.removed.is_empty() || self.numbers() != self.change.document
    }

    /// Whether a model, by its number, is one of the document.
    pub(super) fn is_of_document(&self, model: usize) -> bool {
        model < self.change.document.models
    }

    /// What has come and gone since the build.
    pub fn structure(&self) -> Structure {
        let removed = self.change.removed.iter().filter_map(|n| self.document.models.get(*n));
        Structure {
            removed: removed.map(|model| model.name.clone()).collect(),
            added: self.change.added.values().cloned().collect(),
            next: self.numbers(),
        }
    }

    /// Adds what is in `spec`: one model, with what is inside it. Physics takes no step; colliders and queries are in step
    /// when it returns. Gives the model's id.
    ///
    /// # Errors
    /// A name that is taken, or what cannot be built. Nothing is changed then.
    pub fn add_model(&mut self, spec: &WorldSpec) -> Result<u64, ChangeError> {
        let build = |message: &str| ChangeError::Build(vec![BuildError::new(&spec.name, message)]);
        let name = spec.models.first().map(|model| &model.name).ok_or_else(|| build("there is no model in it"))?;
        if self.find(kind::MODEL, name).is_some() {
            return Err(ChangeError::Duplicate(name.clone()));
        }
        // In a world of its own first: what fails there has not touched this one.
        let own = Some(&mut self.physics);
        let mut alone = Self::from_spec_like(Arc::new(spec.clone()), &self.options, own).map_err(ChangeError::Build)?;
        self.physics.take_over(&mut alone.physics);
        let base = self.numbers();
        self.physics.allow_speed(build::fastest(spec, self.dt));
        let options = self.options;
        Building::new(spec, &options, self).finish().map_err(ChangeError::Build)?;
        self.physics.configure_threads().map_err(|message| build(&message))?;
        let digest = build::digest(spec, &options);
        self.change.added.insert(base.models, Added { name: name.clone(), base, digest });
        Ok(id(kind::MODEL, base.models))
    }

    /// Takes a model out, with all that is inside it and the joints that lead to it.
    ///
    /// # Errors
    /// An unknown id, a model inside another one, one that is fixed to another one. Nothing is changed then.
    pub fn remove_model(&mut self, model: u64) -> Result<Removed, ChangeError> {
        let (of, number) = parts(model);
        let name = self.name(model).filter(|_| of == kind::MODEL).map(str::to_owned);
        let Some(name) = name else { return Err(ChangeError::Unknown(model)) };
        if let Some((whole, _)) = name.split_once("::") {
            return Err(ChangeError::Part { whole: whole.to_owned(), name });
        }
        let models: Vec<_> = self.index.within(kind::MODEL, &name).collect();
        let links: Vec<_> = self.index.within(kind::BODY, &name).collect();
        let robots: Vec<u64> = self.index.within(kind::ROBOT, &name).map(|(robot, _)| robot).collect();
        let mut bodies = self.bodies_of(&name);
        let mut inside = bodies.iter().filter_map(|b| self.bodies.get(*b)).flat_map(|body| &body.links);
        if let Some(other) = inside.find(|link| !links.iter().any(|(_, own)| own == *link)) {
            let other = self.entity_id(*other).and_then(|id| self.name(id)).unwrap_or_default();
            let other = other.split("::").next().unwrap_or_default().to_owned();
            return Err(ChangeError::Fixed { name, other });
        }
        let joints: Vec<(usize, [usize; 2])> = self.joints.iter().map(|(n, joint)| (n, joint.bodies)).collect();
        let (gone, stay): (Vec<_>, Vec<_>) =
            joints.into_iter().partition(|(_, ends)| ends.iter().any(|body| bodies.contains(body)));
        // What its joints to the world were fixed to, if nothing else is.
        let anchors = gone.iter().flat_map(|(_, ends)| ends).copied().filter(|body| {
            let loose = self.bodies.get(*body).is_some_and(|body| body.links.is_empty());
            loose && !stay.iter().any(|(_, ends)| ends.contains(body))
        });
        let anchors: Vec<usize> = anchors.collect();
        bodies.extend(anchors);
        bodies.sort_unstable();
        bodies.dedup();

        for (joint, _) in gone {
            if let Some(handle) = self.joints.remove(joint).and_then(|joint| joint.handle) {
                self.physics.remove_joint(handle);
            }
        }
        for body in bodies {
            if let Some(body) = self.bodies.remove(body) {
                self.physics.remove_body(body.handle);
            }
        }
        let removed = Removed {
            models: models.iter().filter_map(|(id, _)| self.name(*id)).map(str::to_owned).collect(),
            robots: robots.clone(),
        };
        for (id, entity) in links.into_iter().chain(models) {
            self.index.remove(id);
            // It is alive: it was found through the index.
            let _ = self.ecs.delete_entity(entity);
        }
        for robot in robots {
            self.index.remove(robot);
        }
        if number < self.change.document.models {
            self.change.removed.insert(number);
        } else {
            self.change.added.remove(&number);
        }
        self.touch();
        Ok(removed)
    }

    /// A world of the same document in which there is what `structure` says; `specs` are what its added models are built from.
    ///
    /// # Errors
    /// A structure that does not come from this document, or models that are not what they were.
    pub fn restructured(&self, structure: &Structure, specs: &[Arc<WorldSpec>]) -> Result<Self, RestoreError> {
        let error = |message: String| RestoreError { field: "models", message };
        let text =
            |errors: Vec<BuildError>| error(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "));
        if structure.numbers().any(|number| number > MOST) {
            return Err(error(format!("their numbers go beyond {MOST}")));
        }
        let mut world = Self::from_spec(Arc::clone(&self.document), &self.options).map_err(text)?;
        for name in &structure.removed {
            let id = world.find(kind::MODEL, name).ok_or_else(|| error(format!("there is no model '{name}'")))?;
            world.remove_model(id).map_err(|e| error(e.to_string()))?;
        }
        if structure.added.len() != specs.len() {
            return Err(error(format!("there are {} that were added, but {}", specs.len(), structure.added.len())));
        }
        for (added, spec) in structure.added.iter().zip(specs) {
            if build::digest(spec, &self.options) != added.digest {
                return Err(error(format!("the model '{}' is not what it was when it was added", added.name)));
            }
            world.skip_to(&added.base);
            world.add_model(spec).map_err(|e| error(e.to_string()))?;
        }
        world.skip_to(&structure.next);
        if world.structure() != *structure {
            return Err(error("they cannot be put together as they were".to_owned()));
        }
        Ok(world)
    }

    /// Builds the document anew.
    pub(super) fn rebuild(&mut self) {
        // It has been built before, so that this cannot fail: it would leave the world as it is.
        let again = Self::from_spec_like(Arc::clone(&self.document), &self.options, Some(&mut self.physics));
        let Ok(mut fresh) = again else { return };
        let claimed: Vec<u64> = self.robot_ids().filter(|robot| self.is_claimed(*robot)).collect();
        std::mem::swap(self, &mut fresh);
        for robot in claimed {
            self.set_claimed(robot, true);
        }
    }

    fn is_claimed(&self, robot: u64) -> bool {
        self.index.robot(robot).and_then(|entity| self.get::<Claimed>(entity)).is_some_and(|claimed| claimed.0)
    }

    fn skip_to(&mut self, numbers: &Numbers) {
        self.index.skip_to(numbers.robots, numbers.links, numbers.models);
        self.bodies.skip_to(numbers.bodies);
        self.joints.skip_to(numbers.joints);
        self.physics.skip_joints_to(numbers.moving_joints);
    }

    /// The engine has other names for the bodies now: `handles`, in the order of their numbers.
    pub(super) fn rename_bodies(&mut self, handles: &[BodyHandle]) {
        let renamed: HashMap<BodyHandle, BodyHandle> =
            self.bodies.values().map(|body| body.handle).zip(handles.iter().copied()).collect();
        if renamed.iter().all(|(old, new)| old == new) {
            return;
        }
        let rename = |handle: &mut BodyHandle| {
            if let Some(new) = renamed.get(handle) {
                *handle = *new;
            }
        };
        self.bodies.values_mut().for_each(|body| rename(&mut body.handle));
        let (mut robots, mut flights) = (self.ecs.write_storage::<Robot>(), self.ecs.write_storage::<Flight>());
        for entity in self.index.robots.values() {
            if let Some(robot) = robots.get_mut(*entity) {
                rename(&mut robot.body);
                robot.bodies.iter_mut().for_each(rename);
            }
            if let Some(flight) = flights.get_mut(*entity) {
                rename(&mut flight.body);
            }
        }
    }
}
