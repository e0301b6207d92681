//! What was resolved, written into the typed model.

use glamx::DPose3;

use super::graph::Answers;
use super::joints::part_key;
use crate::sdf::typed::{Joint, Link, Model, Pose, Root};

pub(super) fn fill(root: &mut Root, answers: &Answers) {
    let mut scope = 0;
    let fill = Fill { answers };
    for world in &mut root.worlds {
        fill.world(world, scope);
        scope = fill.next_root(scope);
    }
    if let Some(model) = &mut root.model {
        let node = answers.first[scope] + 1;
        fill.nested(model, node, &DPose3::IDENTITY, "");
    }
    if let Some(light) = &mut root.light {
        light.world_pose = light.pose.value;
    }
    if let Some(actor) = &mut root.actor {
        actor.world_pose = actor.pose.value;
    }
}

struct Fill<'a> {
    answers: &'a Answers,
}

/// The product of two poses; the other one, to the bit, where one is the identity.
fn product(a: &DPose3, b: &DPose3) -> DPose3 {
    if *a == DPose3::IDENTITY {
        *b
    } else if *b == DPose3::IDENTITY {
        *a
    } else {
        *a * *b
    }
}

impl Fill<'_> {
    /// The root scope after this one.
    fn next_root(&self, scope: usize) -> usize {
        self.answers.roots.iter().copied().find(|s| *s > scope).unwrap_or(self.answers.first.len())
    }

    fn world(&self, world: &mut crate::sdf::typed::World, scope: usize) {
        let mut node = self.answers.first[scope] + 1;
        for joint in &mut world.joints {
            self.joint(joint, node, &DPose3::IDENTITY);
            node += 1;
        }
        for frame in &mut world.frames {
            frame.pose_in_parent = self.answers.poses[node as usize];
            frame.attached_link = self.answers.bodies.get(&node).cloned().unwrap_or_default();
            node += 1;
        }
        for model in &mut world.models {
            self.nested(model, node, &DPose3::IDENTITY, "");
            node += 1;
        }
        // Lights, actors and cameras hang on frames of the world, but nothing hangs on them.
        let root = self.answers.first[scope];
        world.lights.iter_mut().for_each(|l| l.world_pose = self.part(&l.pose, root));
        world.actors.iter_mut().for_each(|a| a.world_pose = self.part(&a.pose, root));
        if let Some(camera) = &mut world.gui_camera {
            camera.world_pose = self.part(&camera.pose, root);
        }
    }

    fn nested(&self, model: &mut Model, node: u32, around: &DPose3, prefix: &str) {
        model.pose_in_parent = self.answers.poses[node as usize];
        let world = product(around, &model.pose_in_parent);
        let Some(scope) = self.answers.scope_of.get(&node) else { return };
        self.model(model, *scope as usize, world, prefix);
    }

    fn model(&self, model: &mut Model, scope: usize, world: DPose3, prefix: &str) {
        model.world_pose = world;
        model.scoped_name = format!("{prefix}{}", model.name);
        let root = self.answers.first[scope];
        // A static model without links is fixed to the world.
        let body = self.answers.bodies.get(&root).filter(|body| *body != "world");
        model.resolved_canonical_link = body.cloned().unwrap_or_default();
        let mut node = root + 1;
        for link in &mut model.links {
            link.pose_in_model = self.answers.poses[node as usize];
            link.world_pose = product(&world, &link.pose_in_model);
            self.parts(link, node);
            node += 1;
        }
        for joint in &mut model.joints {
            self.joint(joint, node, &world);
            node += 1;
        }
        for frame in &mut model.frames {
            frame.pose_in_parent = self.answers.poses[node as usize];
            frame.attached_link = self.answers.bodies.get(&node).cloned().unwrap_or_default();
            node += 1;
        }
        if model.models.is_empty() {
            return;
        }
        let prefix = format!("{}::", model.scoped_name);
        for nested in &mut model.models {
            self.nested(nested, node, &world, &prefix);
            node += 1;
        }
    }

    fn joint(&self, joint: &mut Joint, node: u32, world: &DPose3) {
        joint.pose_in_model = self.answers.poses[node as usize];
        joint.world_pose = product(world, &joint.pose_in_model);
        for sensor in &mut joint.sensors {
            sensor.pose_in_parent = self.part(&sensor.pose, node);
        }
        let Some(answer) = self.answers.joints.get(&node) else { return };
        joint.parent_link.clone_from(&answer.parent);
        joint.child_link.clone_from(&answer.child);
        joint.pose_in_child = answer.in_child;
        for (axis, (in_joint, in_model)) in joint.axes.iter_mut().zip(&answer.axes) {
            axis.xyz_in_joint = *in_joint;
            axis.xyz_in_model = *in_model;
        }
    }

    fn part(&self, pose: &Pose, owner: u32) -> DPose3 {
        match &pose.span {
            Some(span) if !pose.relative_to.is_empty() => {
                self.answers.parts.get(&(part_key(span), span.range().start, owner)).copied().unwrap_or(pose.value)
            }
            _ => pose.value,
        }
    }

    fn parts(&self, link: &mut Link, node: u32) {
        for collision in &mut link.collisions {
            collision.pose_in_link = self.part(&collision.pose, node);
        }
        for visual in &mut link.visuals {
            visual.pose_in_link = self.part(&visual.pose, node);
        }
        for sensor in &mut link.sensors {
            sensor.pose_in_parent = self.part(&sensor.pose, node);
        }
        for light in &mut link.lights {
            light.world_pose = product(&link.world_pose, &self.part(&light.pose, node));
        }
        for emitter in &mut link.particle_emitters {
            emitter.pose_in_link = self.part(&emitter.pose, node);
        }
        for projector in &mut link.projectors {
            projector.pose_in_link = self.part(&projector.pose, node);
        }
    }
}
