//! A world saved back into the file that it was read from.
//!
//! What is saved is the text of the file with single ranges replaced: without an edit it is the same, byte for byte, and an
//! edit changes the one element that it is about. A model's pose goes to its own `<pose>`, or to that of the `<include>` that
//! brought it, in the frame and form that it has there. Where that would not give the world back it goes to the world's
//! `<state>`: links that joints hold, since a link's own pose is where its joints are at 0, and what lies in included files.
//! The text is loaded before it is handed out: what would not give back what was asked for is an error.

mod config;
mod elements;
mod numbers;
mod patch;
mod plan;
mod state;
mod text;
mod verify;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use glamx::DPose3;

use super::options::LoadOptions;
use super::parse::parse;
use super::source::Span;
use super::tree::{Document, Node};
use super::typed::{Root, World};
use super::{Loaded, state as saved_state};
use config::Config;
use patch::{Lines, Patch};
use plan::Plan;

/// What has become of a file's first world since the file was read. What is not named is where it was; what is in a model that
/// was moved, or hangs on it, went along.
#[derive(Clone, Debug, Default)]
pub struct Edits {
    /// Poses in the world of models that were moved, by scoped name (`a::b`). A model's frame is carried by its canonical link.
    pub models: BTreeMap<String, DPose3>,
    /// Poses in the world of links that were moved against their model's frame, by scoped name (`model::link`).
    pub links: BTreeMap<String, DPose3>,
    /// Where joints are, by scoped name (`model::joint`): they are saved beside the poses of links, which they do not change. A
    /// state has no joints of the world; the poses of what these join are saved all the same.
    pub joints: BTreeMap<String, JointPosition>,
    /// Models, by scoped name, that are static from now on, or no more.
    pub is_static: BTreeMap<String, bool>,
    /// Poses in the world of lights of the world that were moved, by name.
    pub lights: BTreeMap<String, DPose3>,
    /// The pose in the world of the camera that a viewer begins with.
    pub gui_camera: Option<DPose3>,
    /// Names of models of the world that are gone.
    pub removed: BTreeSet<String>,
    /// Models that are new.
    pub added: Vec<Added>,
}

/// Where a joint is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointPosition {
    /// Of each axis (rad or m).
    pub positions: [f64; 2],
    /// How many of them count.
    pub axes: usize,
}

/// A model that was added to a world.
#[derive(Clone, Debug, PartialEq)]
pub struct Added {
    /// A whole `<model>` or `<include>` element, with name and pose.
    pub text: String,
}

impl Edits {
    /// Whether nothing is different.
    pub fn is_empty(&self) -> bool {
        self.models.is_empty()
            && self.links.is_empty()
            && self.joints.is_empty()
            && self.is_static.is_empty()
            && self.lights.is_empty()
            && self.gui_camera.is_none()
            && self.removed.is_empty()
            && self.added.is_empty()
    }

    /// The models of which something was moved, by scoped name, and those around them.
    fn touched(&self) -> HashSet<&str> {
        let names = self.models.keys().chain(self.links.keys()).chain(self.joints.keys());
        let around =
            |name: &'_ String| name.match_indices("::").map(|(end, _)| end).chain([name.len()]).collect::<Vec<_>>();
        names.flat_map(|name| around(name).into_iter().filter_map(|end| name.get(..end))).collect()
    }
}

/// A file's new text.
#[derive(Clone, Debug, PartialEq)]
pub struct Saved {
    /// The text, with the byte order mark and line ends of the file.
    pub text: String,
    /// What could not be expressed, a sentence each.
    pub notes: Vec<String>,
}

/// Why a world cannot be saved.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SaveError {
    /// The file does not load as it is.
    #[error("{file} is not saved: it has errors, the first one is {finding}")]
    Unsound {
        /// The file.
        file: String,
        /// Its first error.
        finding: String,
    },
    /// The file is URDF.
    #[error(
        "{file} is a URDF file, which has no place for the poses of a world: convert it to SDF first, with tickworks convert"
    )]
    Urdf {
        /// The file.
        file: String,
    },
    /// An edit names what is not there.
    #[error("{file} has no {what} {name} that could be saved")]
    Unknown {
        /// The file.
        file: String,
        /// The kind: model, link, joint, light, camera.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A number is infinite or no number.
    #[error("the {what} {name} is not saved: {value} is not finite")]
    NotFinite {
        /// The kind: model, link, joint, light, camera.
        what: &'static str,
        /// The name.
        name: String,
        /// The pose or position.
        value: String,
    },
    /// A model cannot go, for others name it.
    #[error("model {name} cannot be removed: it is named by {by}")]
    Named {
        /// The model.
        name: String,
        /// The elements that name it, each with its place.
        by: String,
    },
    /// What is added is no model.
    #[error("what is to be added is not one <model> or <include> with a name: {problem}: {text}")]
    NotAModel {
        /// What is wrong with it.
        problem: String,
        /// How it begins.
        text: String,
    },
    /// The file is one model, light or actor: nothing can be added or removed.
    #[error("{file} has no <world>: nothing can be added to it or removed from it")]
    NoWorld {
        /// The file.
        file: String,
    },
    /// The new text has errors, which the old one has not.
    #[error("{file} is not saved: the new text would not load: {finding}")]
    WouldNotLoad {
        /// The file.
        file: String,
        /// The first error, with its place in the new text.
        finding: String,
    },
    /// The new text says something else than what was to be saved.
    #[error("{file} is not saved: the new text would have {what} {name} {found}, not {wanted}")]
    WouldDiffer {
        /// The file.
        file: String,
        /// The kind: model, link, joint, light, camera.
        what: &'static str,
        /// The name.
        name: String,
        /// What the new text says.
        found: String,
        /// What was to be saved.
        wanted: String,
    },
}

/// The text of a file with what has become of its world. `options` are those that the file was loaded with.
///
/// # Errors
/// What cannot be saved, in a sentence. A part that the file has no place for is no error but a note.
pub fn save(loaded: &Loaded, options: &LoadOptions, edits: &Edits) -> Result<Saved, SaveError> {
    let Some(source) = loaded.documents.first().map(|document| document.source()) else {
        let finding = loaded.diagnostics.first().map(ToString::to_string).unwrap_or_default();
        return Err(SaveError::Unsound { file: String::new(), finding });
    };
    let file = source.path().display().to_string();
    if let Some(error) = loaded.errors().next() {
        return Err(SaveError::Unsound { file, finding: error.to_string() });
    }
    if edits.is_empty() {
        return Ok(Saved { text: source.text().to_owned(), notes: Vec::new() });
    }
    // The tree of the text as it stands: the one that was read has been brought to the current form of the format.
    let document = match parse(source, &options.limits.xml) {
        Ok(document) => document,
        Err(finding) => return Err(SaveError::Unsound { file, finding: finding.to_string() }),
    };
    if document.root().name() == "robot" {
        return Err(SaveError::Urdf { file });
    }
    let Some(before) = first_world(&loaded.root) else { return Err(SaveError::NoWorld { file }) };
    let mut now = before.clone();
    saved_state::apply(&mut now);
    let mut saving = Saving {
        file,
        root: &loaded.root,
        document: &document,
        edits,
        patch: Patch::new(&document),
        in_state: Vec::new(),
        notes: Vec::new(),
        has_world: !loaded.root.worlds.is_empty(),
        current: Config::of(&now.models),
        before,
        now,
    };
    saving.check()?;
    let plan = Plan::new(&saving);
    saving.remove(&plan)?;
    saving.models(&plan);
    saving.things(&plan);
    saving.flags();
    saving.state(&plan);
    saving.add(&plan)?;
    saving.finish(&plan, options)
}

/// A file's first world, or one around the model, light or actor that it is.
fn first_world(root: &Root) -> Option<World> {
    let worlds = root.worlds.first().cloned().into_iter().collect();
    Root { worlds, model: root.model.clone(), light: root.light.clone(), actor: root.actor.clone(), ..*root }
        .into_world()
}

/// A world that is being saved.
struct Saving<'a> {
    file: String,
    root: &'a Root,
    /// The tree of the text, nothing converted.
    document: &'a Document,
    edits: &'a Edits,
    patch: Patch<'a>,
    /// What the state gets.
    in_state: Lines,
    notes: Vec<String>,
    /// Whether there is a `<world>`, and so a place for a `<state>`.
    has_world: bool,
    /// The world as its elements have it.
    before: World,
    /// The same with its `<state>`.
    now: World,
    /// Where everything is in `now`.
    current: Config,
}

impl<'a> Saving<'a> {
    /// The element of the file's own text that a span is the whole of.
    fn element(&self, span: &Span) -> Option<Node<'a>> {
        let source = std::sync::Arc::ptr_eq(span.source(), self.document.source());
        let node = source.then(|| self.document.at(span.range().start)).flatten()?;
        (node.span().range() == span.range()).then_some(node)
    }

    /// Whether all that the edits name is there, and all numbers are numbers.
    fn check(&self) -> Result<(), SaveError> {
        let edits = self.edits;
        let poses = edits.models.iter().map(|(name, pose)| ("model", name, pose));
        let poses = poses.chain(edits.links.iter().map(|(name, pose)| ("link", name, pose)));
        let poses = poses.chain(edits.lights.iter().map(|(name, pose)| ("light", name, pose)));
        let camera = String::from("of the gui");
        for (what, name, pose) in poses.chain(edits.gui_camera.iter().map(|pose| ("camera", &camera, pose))) {
            let turn = pose.rotation.length();
            if !pose.translation.is_finite() || !turn.is_finite() || turn < 1e-9 {
                let value = format!("{pose:?}");
                return Err(SaveError::NotFinite { what, name: name.clone(), value });
            }
        }
        for (name, joint) in &edits.joints {
            if let Some(value) = joint.positions.iter().take(joint.axes).find(|value| !value.is_finite()) {
                return Err(SaveError::NotFinite { what: "joint", name: name.clone(), value: value.to_string() });
            }
        }
        let missing = |names: &mut dyn Iterator<Item = &String>, what, known: &dyn Fn(&str) -> bool| {
            for name in names {
                if !known(name) {
                    return Err(SaveError::Unknown { file: self.file.clone(), what, name: name.clone() });
                }
            }
            Ok(())
        };
        let models = |name: &str| self.current.frames.contains_key(name);
        missing(&mut edits.models.keys().chain(edits.is_static.keys()), "model", &models)?;
        missing(&mut edits.links.keys(), "link", &|name| self.current.links.contains_key(name))?;
        let world_joint = |name: &str| self.now.joints.iter().any(|joint| joint.name == name);
        missing(&mut edits.joints.keys(), "joint", &|name| {
            self.current.joints.contains_key(name) || world_joint(name)
        })?;
        missing(&mut edits.lights.keys(), "light", &|name| self.now.lights.iter().any(|light| light.name == name))?;
        missing(&mut edits.removed.iter(), "model", &|name| self.now.models.iter().any(|model| model.name == name))?;
        if !self.has_world && (!edits.removed.is_empty() || !edits.added.is_empty()) {
            return Err(SaveError::NoWorld { file: self.file.clone() });
        }
        Ok(())
    }
}
