//! Where the models and links of a world are, and where they are to be.

use std::collections::{HashMap, HashSet};

use glamx::DPose3;

use super::numbers::same;
use super::{Edits, Saving};
use crate::sdf::typed::{Joint, JointKind, LinkRef, Model, World};

/// Where the models and links of a world are, by scoped name.
#[derive(Default)]
pub(super) struct Config {
    /// Poses that models are given: where their frames are with all joints at 0.
    pub(super) bases: HashMap<String, DPose3>,
    /// Where the frames of models are: their canonical links carry them.
    pub(super) frames: HashMap<String, DPose3>,
    /// Where links are.
    pub(super) links: HashMap<String, DPose3>,
    /// Where the joints of models are: the position of each axis.
    pub(super) joints: HashMap<String, Vec<f64>>,
    /// Links, and models in models, in the frame of the model that they are in.
    inner: HashMap<String, DPose3>,
}

/// The scoped name of a link or joint of a model.
pub(super) fn scoped(model: &Model, name: &str) -> String {
    format!("{}::{name}", model.scoped_name)
}

impl Config {
    pub(super) fn of(models: &[Model]) -> Self {
        let mut config = Self::default();
        models.iter().for_each(|model| model.walk(&mut |model| config.links_of(model)));
        models.iter().for_each(|model| model.walk(&mut |model| config.frame_of(model)));
        models.iter().for_each(|model| model.walk(&mut |model| config.inside(model)));
        config
    }

    fn links_of(&mut self, model: &Model) {
        self.bases.insert(model.scoped_name.clone(), model.world_pose);
        for link in &model.links {
            self.links.insert(scoped(model, &link.name), link.start_pose.unwrap_or(link.world_pose));
        }
        for joint in &model.joints {
            self.joints.insert(scoped(model, &joint.name), joint.axes.iter().map(|axis| axis.position).collect());
        }
    }

    fn frame_of(&mut self, model: &Model) {
        let canonical = link_of(model, &model.resolved_canonical_link);
        // Where no state moves the link, the frame is the model's to the bit.
        let frame = match canonical.and_then(|link| Some((link, link.start_pose?))) {
            Some((link, start)) => start * link.world_pose.inv_mul(&model.world_pose),
            None => model.world_pose,
        };
        self.frames.insert(model.scoped_name.clone(), frame);
    }

    fn inside(&mut self, model: &Model) {
        let frame = self.frames[&model.scoped_name];
        let rest = frame == model.world_pose;
        for link in &model.links {
            let pose = match link.start_pose {
                None if rest => link.pose_in_model,
                start => frame.inv_mul(&start.unwrap_or(link.world_pose)),
            };
            self.inner.insert(scoped(model, &link.name), pose);
        }
        for nested in &model.models {
            let at = self.frames[&nested.scoped_name];
            let pose = frame.inv_mul(&at);
            let pose = if same(&pose, &nested.pose_in_parent) { nested.pose_in_parent } else { pose };
            self.inner.insert(nested.scoped_name.clone(), pose);
        }
    }

    /// Where everything is to be.
    pub(super) fn edited(&self, models: &[Model], edits: &Edits) -> Self {
        let mut target = Self::default();
        for model in models {
            self.edit(model, None, edits, &mut target);
        }
        target
    }

    fn edit(&self, model: &Model, around: Option<(DPose3, bool)>, edits: &Edits, target: &mut Self) {
        let name = &model.scoped_name;
        let now = self.frames[name];
        let canonical = scoped(model, &model.resolved_canonical_link);
        let carried = || {
            let (link, at) = (edits.links.get(&canonical)?, self.links.get(&canonical)?);
            Some(*link * at.inv_mul(&now))
        };
        let inner = |name: &str| self.inner.get(name).copied().unwrap_or(DPose3::IDENTITY);
        let frame = match (edits.models.get(name).copied().or_else(carried), around) {
            (Some(pose), _) => DPose3::from_parts(pose.translation, pose.rotation.normalize()),
            (None, Some((around, true))) => around * inner(name),
            (None, _) => now,
        };
        let moved = frame != now;
        target.frames.insert(name.clone(), frame);
        for link in &model.links {
            let link = scoped(model, &link.name);
            let pose = match edits.links.get(&link) {
                Some(pose) => DPose3::from_parts(pose.translation, pose.rotation.normalize()),
                None if moved => frame * inner(&link),
                None => self.links[&link],
            };
            target.links.insert(link, pose);
        }
        for nested in &model.models {
            self.edit(nested, Some((frame, moved)), edits, target);
        }
    }
}

/// A link by its name in a model's scope, `link` or `model::link`.
fn link_of<'m>(model: &'m Model, name: &str) -> Option<&'m crate::sdf::Link> {
    match name.split_once("::") {
        Some((inner, rest)) => link_of(model.models.iter().find(|m| m.name == inner)?, rest),
        None => model.links.iter().find(|l| l.name == name),
    }
}

/// Which models joints hold to something outside of them: moving the model as a whole would move where these joints are at 0.
pub(super) struct Held {
    /// Models of the world, by name: held by joints that can move.
    pub(super) outer: HashSet<String>,
    /// Models in models, by scoped name: held by any joint.
    pub(super) inner: HashSet<String>,
}

impl Held {
    pub(super) fn of(world: &World) -> Self {
        let mut held = Self { outer: HashSet::new(), inner: HashSet::new() };
        let mut pairs: Vec<(String, String)> = Vec::new();
        let mut add = |scope: &str, joint: &Joint| {
            if joint.kind == JointKind::Gearbox {
                return;
            }
            let end = |end: &LinkRef| match end {
                LinkRef::Link(link) if scope.is_empty() => Some(link.clone()),
                LinkRef::Link(link) => Some(format!("{scope}::{link}")),
                LinkRef::World | LinkRef::Unresolved => None,
            };
            let (parent, child) = (end(&joint.parent_link), end(&joint.child_link));
            for (one, other) in [(&parent, &child), (&child, &parent)] {
                held.inner.extend(one.iter().flat_map(|link| crossed(link, other.as_deref())));
            }
            let top = |link: &Option<String>| Some(link.as_deref()?.split("::").next()?.to_owned());
            let moves = joint.kind != JointKind::Fixed;
            match (top(&parent), top(&child)) {
                (Some(a), Some(b)) if a != b => {
                    if moves {
                        held.outer.insert(a.clone());
                    }
                    pairs.push((a, b));
                }
                (Some(one), None) | (None, Some(one)) if moves => _ = held.outer.insert(one),
                _ => {}
            }
        };
        for model in &world.models {
            model.walk(&mut |model| model.joints.iter().for_each(|joint| add(&model.scoped_name, joint)));
        }
        world.joints.iter().for_each(|joint| add("", joint));
        held.spread(&pairs);
        held
    }

    /// What is joined to a model that is held is held.
    fn spread(&mut self, pairs: &[(String, String)]) {
        let mut joined: HashMap<&str, Vec<&str>> = HashMap::new();
        for (a, b) in pairs {
            joined.entry(a).or_default().push(b);
            joined.entry(b).or_default().push(a);
        }
        let mut open: Vec<String> = self.outer.iter().cloned().collect();
        while let Some(model) = open.pop() {
            for other in joined.remove(model.as_str()).unwrap_or_default() {
                if self.outer.insert(other.to_owned()) {
                    open.push(other.to_owned());
                }
            }
        }
    }
}

/// The models in models that have the link `one` and not the link `other`.
fn crossed(one: &str, other: Option<&str>) -> Vec<String> {
    let ends: Vec<usize> = one.match_indices("::").map(|(at, _)| at).collect();
    let inner = ends.iter().skip(1).map(|end| &one[..*end]);
    let holds = |model: &str, link: &str| link.strip_prefix(model).is_some_and(|rest| rest.starts_with("::"));
    inner.filter(|model| !other.is_some_and(|link| holds(model, link))).map(str::to_owned).collect()
}

impl Saving<'_> {
    /// Models of the world that stay, as the elements of the file have them.
    pub(super) fn kept(&self) -> impl Iterator<Item = &Model> {
        let gone = |name: &String| self.edits.removed.contains(name);
        self.before
            .models
            .iter()
            .filter(move |model| !gone(&model.name) && self.current.frames.contains_key(&model.name))
    }
}
