//! Included models whose parts become parts of the model or world around the include.

use super::Reader;
use super::include::Included;
use crate::sdf::diagnostic::{Code, Diagnostic};
use crate::sdf::frames;
use crate::sdf::tree::Node;
use crate::sdf::typed::{Frame, Joint, Model, Pose, World};

impl Reader<'_> {
    /// Puts the parts of an included model directly into another one. A frame stands for what was its own.
    pub(super) fn merge(&mut self, node: Node<'_>, mut model: Model, parent: &mut Model) {
        let Some(attached_to) = frames::canonical_link(&model) else {
            self.error(Code::ModelWithoutLink, node, format!("model {} has no link to merge", model.name));
            return;
        };
        let proxy = Proxy::new(&model);
        let mut pose = self.merged_pose(node, &mut model);
        if pose.relative_to.is_empty() {
            pose.relative_to = "__model__".to_owned();
        }
        parent.frames.push(proxy.frame(attached_to, pose, node));
        for link in &mut model.links {
            proxy.stand_in_for_pose(&mut link.pose, true);
            let collisions = link.collisions.iter_mut().map(|c| &mut c.pose);
            let visuals = link.visuals.iter_mut().map(|v| &mut v.pose);
            let sensors = link.sensors.iter_mut().map(|s| &mut s.pose);
            let lights = link.lights.iter_mut().map(|l| &mut l.pose);
            for pose in collisions.chain(visuals).chain(sensors).chain(lights) {
                proxy.stand_in_for_pose(pose, false);
            }
        }
        proxy.stand_in(&mut model);
        parent.links.append(&mut model.links);
        parent.frames.append(&mut model.frames);
        parent.joints.append(&mut model.joints);
        parent.models.append(&mut model.models);
        parent.plugins.append(&mut model.plugins);
        parent.grippers.append(&mut model.grippers);
        parent.incomplete |= model.incomplete;
        if parent.robot.is_none() {
            parent.robot = model.robot;
        }
    }

    /// Puts the parts of an included model directly into a world, which has models, frames and joints but no links.
    pub(super) fn merge_into_world(&mut self, node: Node<'_>, included: Included, world: &mut World) {
        let mut model = match included {
            Included::Model(model) if model.links.is_empty() => *model,
            Included::Model(model) => {
                let message = format!("model {} has links of its own, which cannot be merged into a world", model.name);
                let diagnostic = Diagnostic::error(Code::MergeIncludeUnsupported, message).at(node.tag());
                self.report(
                    diagnostic.path(node.path()).help("leave merge out, or put the links into a model of their own"),
                );
                return;
            }
            Included::Light(_) | Included::Actor(_) => {
                let diagnostic = Diagnostic::error(Code::MergeIncludeUnsupported, "only a model can be merged");
                self.report(diagnostic.at(node.tag()).path(node.path()).help("leave merge out"));
                return;
            }
        };
        let proxy = Proxy::new(&model);
        let pose = self.merged_pose(node, &mut model);
        world.frames.push(proxy.frame("world".to_owned(), pose, node));
        proxy.stand_in(&mut model);
        world.frames.append(&mut model.frames);
        world.frames.iter_mut().for_each(|frame| frame.in_world = true);
        world.joints.append(&mut model.joints);
        world.models.append(&mut model.models);
        world.plugins.append(&mut model.plugins);
        world.incomplete |= model.incomplete;
    }

    /// The pose of the model's own frame: that of the include, or what places another frame by it.
    fn merged_pose(&mut self, node: Node<'_>, model: &mut Model) -> Pose {
        let mut pose = std::mem::take(&mut model.pose);
        if !model.placement_frame.is_empty() {
            match frames::pose_in_model(model, &model.placement_frame) {
                Some(placed) => pose.value *= placed.inverse(),
                None => {
                    let message = format!("model {} has no frame {} to place it by", model.name, model.placement_frame);
                    self.error(Code::ModelPlacementFrameInvalid, node, message);
                }
            }
        }
        pose
    }
}

/// The frame that stands for the own frame of a model that was merged.
struct Proxy {
    name: String,
}

impl Proxy {
    fn new(model: &Model) -> Self {
        Self { name: format!("_merged__{}__model__", model.name) }
    }

    fn frame(&self, attached_to: String, pose: Pose, node: Node<'_>) -> Frame {
        Frame {
            name: self.name.clone(),
            attached_to,
            pose,
            pose_in_parent: Default::default(),
            in_world: false,
            attached_link: String::new(),
            span: node.span(),
        }
    }

    fn stand_in_for(&self, name: &mut String, empty_too: bool) {
        if name == "__model__" || (empty_too && name.is_empty()) {
            name.clone_from(&self.name);
        }
    }

    fn stand_in_for_pose(&self, pose: &mut Pose, empty_too: bool) {
        self.stand_in_for(&mut pose.relative_to, empty_too);
    }

    /// Changes what frames, joints and models in `model` say of its own frame.
    fn stand_in(&self, model: &mut Model) {
        for frame in &mut model.frames {
            // A frame without either hangs on the model; one that is attached elsewhere is placed there.
            let attached = !frame.attached_to.is_empty();
            self.stand_in_for(&mut frame.attached_to, true);
            self.stand_in_for_pose(&mut frame.pose, !attached);
        }
        for Joint { parent, child, pose, axes, .. } in &mut model.joints {
            self.stand_in_for(parent, false);
            self.stand_in_for(child, false);
            self.stand_in_for_pose(pose, false);
            axes.iter_mut().for_each(|axis| self.stand_in_for(&mut axis.expressed_in, false));
        }
        model.models.iter_mut().for_each(|nested| self.stand_in_for_pose(&mut nested.pose, true));
    }
}
