//! What goes to the `<state>` of a world: poses that no element of its own can have, and positions of joints.

use glamx::DPose3;
use quick_xml::escape::escape;

use super::config::scoped;
use super::numbers::{self, near, number, same};
use super::patch::Lines;
use super::plan::Plan;
use super::{JointPosition, Saving};
use crate::sdf::schema;
use crate::sdf::state::MAX_JOINTS;
use crate::sdf::tree::Node;
use crate::sdf::typed::{Joint, Model};
use crate::sdf::value::{self, RotationFormat};

/// How the elements of a state are called.
pub(super) struct Words {
    pub(super) model: &'static str,
    link: &'static str,
    joint: &'static str,
    light: &'static str,
}

/// Joints that are nearer to where they were than this (rad or m) have not moved.
const STILL: f64 = 1e-12;

/// Links that kept their places in a model to within this went along with it, as a whole.
const RIGID: f64 = 1e-11;

impl<'a> Saving<'a> {
    pub(super) fn words(&self) -> Words {
        if self.root.version < (1, 12) {
            Words { model: "model", link: "link", joint: "joint", light: "light" }
        } else {
            Words { model: "model_state", link: "link_state", joint: "joint_state", light: "light_state" }
        }
    }

    pub(super) fn light_entry(&self, plan: &Plan<'a>, name: &str) -> Option<Node<'a>> {
        named(plan.state?, self.words().light, name)
    }

    /// Updates the state, or writes one.
    pub(super) fn state(&mut self, plan: &Plan<'a>) {
        let touched = self.edits.touched();
        let models: Vec<Model> = self.kept().filter(|m| touched.contains(m.scoped_name.as_str())).cloned().collect();
        for model in &models {
            let entry = plan.entries.get(&model.scoped_name).copied();
            let from = plan.in_scope.get(&model.scoped_name).copied().unwrap_or(model.world_pose);
            let whole = self.is_whole(plan, model);
            let lines = self.entry(plan, model, entry, &from, whole);
            if self.has_world {
                self.in_state.extend(lines);
            } else if !lines.is_empty() || !plan.is_expressed(model) {
                self.notes.push(format!(
                    "How the parts of model {} are to one another is not saved: a file without a <world> has no <state>.",
                    model.name
                ));
            }
        }
        for (name, pose) in &self.edits.lights {
            if let Some(old) = self.light_entry(plan, name).and_then(|entry| entry.child("pose")) {
                self.set_pose(old, pose);
            }
        }
        self.fill_state(plan);
    }

    /// Puts what the state gets into it, or into a new one.
    fn fill_state(&mut self, plan: &Plan<'a>) {
        let lines = std::mem::take(&mut self.in_state);
        let Some(world) = self.element(&self.before.span).filter(|_| !lines.is_empty()) else { return };
        match plan.state {
            Some(state) => self.patch.append(state, lines),
            None => {
                let name = format!("<state world_name=\"{}\">", escape(self.before.name.as_str()));
                self.patch.append(world, within(name, vec![lines], "state"));
            }
        }
    }

    /// Whether a model, and what is in it, moved as one, and joints did not.
    fn is_whole(&self, plan: &Plan<'a>, model: &Model) -> bool {
        let (Some(was), Some(is)) = (self.current.bases.get(&model.scoped_name), plan.bases.get(&model.scoped_name))
        else {
            return false;
        };
        let step = *is * was.inverse();
        let mut whole = true;
        model.walk(&mut |model| {
            let along = |was: Option<&DPose3>, is: Option<&DPose3>| match (was, is) {
                (Some(was), Some(is)) => near(&(step * *was), is, RIGID),
                _ => false,
            };
            let name = &model.scoped_name;
            whole &= along(self.current.bases.get(name), plan.bases.get(name));
            for link in &model.links {
                let name = scoped(model, &link.name);
                whole &= along(self.current.links.get(&name), plan.target.links.get(&name));
            }
            whole &= self.moved_joints(model).is_empty();
        });
        whole
    }

    /// The joints of a model that are elsewhere than the state has them.
    fn moved_joints<'m>(&self, model: &'m Model) -> Vec<(&'m Joint, JointPosition)> {
        // More are not applied.
        let joints = model.joints.iter().filter(|_| model.joints.len() <= MAX_JOINTS);
        let moved = joints.filter_map(|joint| {
            let name = scoped(model, &joint.name);
            let (mut at, now) = (*self.edits.joints.get(&name)?, self.current.joints.get(&name)?);
            at.axes = at.axes.min(now.len()).min(2);
            let moved = (0..at.axes).any(|n| (at.positions[n] - now[n]).abs() > STILL);
            moved.then_some((joint, at))
        });
        moved.collect()
    }

    /// Brings the entry of a model to where the model is to be. `from` is where the model is without one. Returns the lines of
    /// an entry that is needed and not there yet.
    fn entry(&mut self, plan: &Plan<'a>, model: &Model, entry: Option<Node<'a>>, from: &DPose3, whole: bool) -> Lines {
        let words = self.words();
        let Some(base) = plan.bases.get(&model.scoped_name) else { return Lines::new() };
        let mut new: Vec<Lines> = Vec::new();
        match entry.and_then(|entry| entry.child("pose")) {
            Some(old) => self.set_pose(old, base),
            None if same(from, base) => {}
            None => match entry {
                Some(entry) => self.patch.insert(entry, None, pose_line(base)),
                None => new.push(pose_line(base)),
            },
        }
        for (joint, at) in self.moved_joints(model) {
            let old = entry.and_then(|entry| named(entry, words.joint, &joint.name));
            new.push(self.joint(old, &joint.name, &at));
        }
        for link in &model.links {
            let Some(wanted) = plan.target.links.get(&scoped(model, &link.name)) else { continue };
            let old = entry.and_then(|entry| named(entry, words.link, &link.name));
            if let Some(pose) = old.and_then(|old| old.child("pose")) {
                self.set_pose(pose, wanted);
            } else if !whole && !same(&(*base * link.pose_in_model), wanted) {
                match old {
                    Some(old) => self.patch.insert(old, None, pose_line(wanted)),
                    None => new.push(within(open(words.link, &link.name), vec![pose_line(wanted)], words.link)),
                }
            }
        }
        for nested in &model.models {
            let old = plan.entries.get(&nested.scoped_name).copied();
            let inside = plan.in_scope.get(&nested.scoped_name).unwrap_or(&nested.pose_in_parent);
            new.push(self.entry(plan, nested, old, &(*base * *inside), whole));
        }
        new.retain(|lines| !lines.is_empty());
        match entry {
            Some(entry) => {
                new.into_iter().for_each(|lines| self.patch.append(entry, lines));
                Lines::new()
            }
            None if new.is_empty() => Lines::new(),
            None => within(open(words.model, &model.name), new, words.model),
        }
    }

    /// Sets a pose of a state, which is in the world whatever it says, unless it is that already.
    fn set_pose(&mut self, node: Node<'a>, pose: &DPose3) {
        let old = value::pose(node.text(), schema::rotation_format(node)).unwrap_or_default();
        if !same(&old, pose) {
            self.patch.set_pose(node, pose);
        }
    }

    /// Sets the positions of a joint. Returns the lines of an entry that is not there yet.
    fn joint(&mut self, old: Option<Node<'a>>, name: &str, at: &JointPosition) -> Lines {
        let mut new: Vec<Lines> = Vec::new();
        for (axis, position) in at.positions.iter().take(at.axes).enumerate() {
            let word = ["axis_state", "axis2_state"][axis.min(1)];
            if let Some(state) = old.and_then(|old| old.child(word)) {
                match state.child("position") {
                    Some(old) => {
                        let degrees = schema::rotation_format(old) == RotationFormat::Degrees;
                        let position = if degrees { position.to_degrees() } else { *position };
                        self.patch.set_text(old, &number(position));
                    }
                    None => self.patch.insert(state, None, vec![(0, element("position", *position))]),
                }
                continue;
            }
            let is_it = |angle: &Node<'_>| {
                angle.attribute_value("axis").and_then(|axis| value::unsigned(axis).ok()).unwrap_or(0) == axis as u64
            };
            match old.and_then(|old| old.children_named("angle").filter(is_it).last()) {
                Some(angle) => self.patch.set_text(angle, &number(*position)),
                None if self.root.version < (1, 12) => {
                    new.push(vec![(0, format!("<angle axis=\"{axis}\">{}</angle>", number(*position)))]);
                }
                None => new.push(within(format!("<{word}>"), vec![vec![(0, element("position", *position))]], word)),
            }
        }
        let word = self.words().joint;
        match old {
            Some(old) => {
                new.into_iter().for_each(|lines| self.patch.append(old, lines));
                Lines::new()
            }
            None => within(open(word, name), new, word),
        }
    }
}

/// The entry of a name; of several the last one counts.
fn named<'a>(node: Node<'a>, element: &str, name: &str) -> Option<Node<'a>> {
    node.children_named(element).filter(|entry| entry.attribute_value("name") == Some(name)).last()
}

fn open(element: &str, name: &str) -> String {
    format!("<{element} name=\"{}\">", escape(name))
}

fn element(name: &str, value: f64) -> String {
    format!("<{name}>{}</{name}>", number(value))
}

fn pose_line(pose: &DPose3) -> Lines {
    vec![(0, format!("<pose>{}</pose>", numbers::pose(pose)))]
}

/// Lines between a tag and the one that closes it.
fn within(tag: String, inside: Vec<Lines>, element: &str) -> Lines {
    let inside = inside.into_iter().flatten().map(|(depth, line)| (depth + 1, line));
    let mut lines = vec![(0, tag)];
    lines.extend(inside);
    lines.push((0, format!("</{element}>")));
    lines
}
