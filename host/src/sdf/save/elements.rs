//! The poses of models, lights and other elements, each in its own `<pose>`.

use glamx::DPose3;

use super::Saving;
use super::numbers::{self, same};
use super::plan::{Plan, Site};
use crate::sdf::frames::Pinned;
use crate::sdf::source::Span;
use crate::sdf::tree::Node;
use crate::sdf::typed::{Model, Pose};

/// What of a product of poses is but rounding where it should be 0.
const ROUNDING: f64 = 1e-15;

impl<'a> Saving<'a> {
    /// Writes the poses of models. Those that hang on one that moved, and did not move with it, are written as well.
    pub(super) fn models(&mut self, plan: &Plan<'a>) {
        let mut pinned = plan.pinned(self);
        let mut writes = Vec::new();
        for model in self.kept() {
            self.model(plan, &mut pinned, model, "", &mut writes);
        }
        for (site, pose) in writes {
            self.write(site, &pose);
        }
    }

    fn model(
        &self,
        plan: &Plan<'a>,
        pinned: &mut Pinned<'_>,
        model: &Model,
        around: &str,
        writes: &mut Vec<(Site<'a>, DPose3)>,
    ) {
        let name = &model.scoped_name;
        let hangs = !model.pose.relative_to.is_empty() && around.is_empty();
        if (plan.moved.contains(name) || hangs)
            && let Some(site) = self.site(model)
            && let Some(pose) = self.pose_in_file(plan, pinned, model, around, site)
        {
            writes.push((site, pose));
        }
        for nested in &model.models {
            self.model(plan, pinned, nested, name, writes);
        }
    }

    /// The pose that the element of a model is to have; none where it has it.
    fn pose_in_file(
        &self,
        plan: &Plan<'a>,
        pinned: &mut Pinned<'_>,
        model: &Model,
        around: &str,
        site: Site<'a>,
    ) -> Option<DPose3> {
        let placed = match model.placement_frame.as_str() {
            "" => DPose3::IDENTITY,
            frame => pinned.pose_of(&model.scoped_name, frame)?,
        };
        let wanted = product(plan.in_scope.get(&model.scoped_name)?, &placed);
        let base = pinned.pose_of(around, &model.pose.relative_to)?;
        let pose = relative(&base, &wanted);
        if same(&pose, &model.pose.value) {
            return None;
        }
        // A pose of an included file is left aside by that of its include, which is in the frame around.
        Some(if site.node().child("pose").is_some() { pose } else { wanted })
    }

    fn write(&mut self, site: Site<'a>, pose: &DPose3) {
        let node = site.node();
        let behind = match site {
            Site::Model(_) => None,
            Site::Include(_) => node.children().filter(|child| matches!(child.name(), "uri" | "name")).last(),
        };
        self.write_pose(node, behind, pose);
    }

    fn write_pose(&mut self, node: Node<'a>, behind: Option<Node<'a>>, pose: &DPose3) {
        match node.child("pose") {
            Some(old) => self.patch.set_pose(old, pose),
            None => self.patch.insert(node, behind, vec![(0, format!("<pose>{}</pose>", numbers::pose(pose)))]),
        }
    }

    /// Writes the poses of lights, of the camera, and of what hangs on a model that moved.
    pub(super) fn things(&mut self, plan: &Plan<'a>) {
        let mut pinned = plan.pinned(self);
        let mut writes: Vec<(Node<'a>, DPose3)> = Vec::new();
        let mut notes = Vec::new();
        let world = &self.before;
        let mut thing = |node: Option<Node<'a>>, pose: &Pose, default: &str, wanted: &DPose3, what: &str| {
            let written = node.is_some_and(|node| node.child("pose").is_some());
            let frame = if pose.relative_to.is_empty() { default } else { &pose.relative_to };
            let Some(base) = pinned.pose_of("", frame) else { return };
            let value = relative(&base, wanted);
            if same(&value, &pose.value) {
                return;
            }
            match node {
                Some(node) => writes.push((node, if written { value } else { *wanted })),
                None => {
                    notes.push(format!("The pose of {what} is not saved: it is in a file that the world includes."))
                }
            }
        };
        for frame in &world.frames {
            if let (Some(node), Some(wanted)) = (self.own_frame(frame), plan.frames.get(&frame.name)) {
                thing(Some(node), &frame.pose, &frame.attached_to, wanted, "");
            }
        }
        for light in &world.lights {
            let in_state = self.light_entry(plan, &light.name).is_some_and(|entry| entry.child("pose").is_some());
            let wanted = self.edits.lights.get(&light.name).filter(|_| !in_state).unwrap_or(&light.world_pose);
            let node = self.element(light.include.as_ref().unwrap_or(&light.span));
            thing(node, &light.pose, "", wanted, &format!("light {}", light.name));
        }
        for actor in &world.actors {
            thing(self.element(&actor.span), &actor.pose, "", &actor.world_pose, &format!("actor {}", actor.name));
        }
        let camera = self.camera(&world.span);
        match (&world.gui_camera, &self.edits.gui_camera) {
            (Some(found), wanted) => {
                thing(camera, &found.pose, "", wanted.as_ref().unwrap_or(&found.world_pose), "the camera of the gui");
            }
            (None, Some(_)) => notes.push("The pose of the camera is not saved: the file has no <gui><camera>.".into()),
            (None, None) => {}
        }
        for (node, pose) in writes {
            let behind = node.children().filter(|child| matches!(child.name(), "uri" | "name")).last();
            self.write_pose(node, behind, &pose);
        }
        self.notes.extend(notes);
    }

    fn camera(&self, world: &Span) -> Option<Node<'a>> {
        self.element(world)?.child("gui")?.child("camera")
    }

    /// Writes which models are static.
    pub(super) fn flags(&mut self) {
        let mut models = Vec::new();
        for model in self.before.models.iter().filter(|model| !self.edits.removed.contains(&model.name)) {
            model.walk(&mut |model| {
                if let Some(flag) =
                    self.edits.is_static.get(&model.scoped_name).filter(|flag| **flag != model.is_static)
                {
                    models.push((model.scoped_name.clone(), self.site(model), *flag));
                }
            });
        }
        for (name, site, flag) in models {
            let Some(site) = site else {
                self.notes.push(format!(
                    "Whether model {name} is static is not saved: it is in a file that the world includes."
                ));
                continue;
            };
            let node = site.node();
            match node.child("static") {
                Some(old) => self.patch.set_text(old, if flag { "true" } else { "false" }),
                None => {
                    let behind = node.children().filter(|c| matches!(c.name(), "uri" | "name" | "pose")).last();
                    self.patch.insert(node, behind, vec![(0, format!("<static>{flag}</static>"))]);
                }
            }
        }
    }
}

fn product(a: &DPose3, b: &DPose3) -> DPose3 {
    if *b == DPose3::IDENTITY { *a } else { tidy(*a * *b) }
}

/// A pose in the frame `base`.
fn relative(base: &DPose3, pose: &DPose3) -> DPose3 {
    if *base == DPose3::IDENTITY { *pose } else { tidy(base.inv_mul(pose)) }
}

/// A pose without what rounding left where it should be 0.
fn tidy(mut pose: DPose3) -> DPose3 {
    for value in pose.translation.as_mut().iter_mut() {
        if value.abs() < ROUNDING {
            *value = 0.0;
        }
    }
    let turn = pose.rotation.to_array().map(|value| if value.abs() < ROUNDING { 0.0 } else { value });
    pose.rotation = glamx::DQuat::from_array(turn);
    pose
}
