//! What was written, loaded again and held against what was to be saved.

use glamx::DPose3;

use super::config::{Config, scoped};
use super::numbers::{self, near};
use super::patch::Patch;
use super::plan::Plan;
use super::{SaveError, Saved, Saving};
use crate::sdf::options::LoadOptions;
use crate::sdf::source::Source;
use crate::sdf::state::MAX_JOINTS;
use crate::sdf::typed::{Model, World};
use crate::sdf::{self, load_source};

/// Poses that are read again differ by no more (m, and components of the quaternion; relative beyond 1 m).
const TOLERANCE: f64 = 1e-9;

impl<'a> Saving<'a> {
    /// Makes the text, and makes sure that it says what is to be saved.
    pub(super) fn finish(mut self, plan: &Plan<'a>, options: &LoadOptions) -> Result<Saved, SaveError> {
        let patch = std::mem::replace(&mut self.patch, Patch::new(self.document));
        let source = Source::new(self.document.source().path(), patch.finish());
        let loaded = load_source(&source, options);
        if let Some(error) = loaded.errors().next() {
            return Err(SaveError::WouldNotLoad { file: self.file, finding: error.to_string() });
        }
        let Some(mut after) = loaded.into_world() else {
            return Err(self.differs("world", &self.before.name, "missing".to_owned(), "there".to_owned()));
        };
        sdf::state::apply(&mut after);
        self.check_models(plan, &after)?;
        self.check_things(&after)?;
        for model in &after.models {
            let mut checked = Ok(());
            model.walk(&mut |model| {
                if checked.is_ok() {
                    checked = self.check_values(model);
                }
            });
            checked?;
        }
        Ok(Saved { text: source.text().to_owned(), notes: self.notes })
    }

    fn differs(&self, what: &'static str, name: &str, found: String, wanted: String) -> SaveError {
        SaveError::WouldDiffer { file: self.file.clone(), what, name: name.to_owned(), found, wanted }
    }

    fn check_pose(
        &self,
        what: &'static str,
        name: &str,
        found: Option<&DPose3>,
        wanted: &DPose3,
    ) -> Result<(), SaveError> {
        match found {
            Some(found) if near(found, wanted, TOLERANCE) => Ok(()),
            Some(found) => {
                let at = |pose: &DPose3| format!("at {}", numbers::pose(pose));
                Err(self.differs(what, name, at(found), at(wanted)))
            }
            None => Err(self.differs(what, name, "missing".to_owned(), "there".to_owned())),
        }
    }

    /// All models and links, also those that were not to move.
    fn check_models(&self, plan: &Plan<'a>, after: &World) -> Result<(), SaveError> {
        let found = Config::of(&after.models);
        let gone = |model: &&Model| self.edits.removed.contains(&model.name);
        let kept: Vec<&Model> = self.now.models.iter().filter(|model| !gone(model)).collect();
        let mut models = Vec::new();
        kept.iter().for_each(|model| model.walk(&mut |model| models.push(model)));
        for model in models {
            let name = &model.scoped_name;
            // What a file without a state cannot say was noted.
            let frames = if self.has_world { &plan.target.frames } else { &plan.bases };
            let Some(frame) = frames.get(name) else { continue };
            if model.links.is_empty() || self.edits.models.contains_key(name) {
                self.check_pose("model", name, found.frames.get(name), frame)?;
            }
            for link in &model.links {
                let name = scoped(model, &link.name);
                let wanted = plan.target.links.get(&name).copied().filter(|_| self.has_world);
                let wanted = wanted.unwrap_or_else(|| *frame * link.pose_in_model);
                self.check_pose("link", &name, found.links.get(&name), &wanted)?;
            }
        }
        let wanted = kept.len() + self.edits.added.len();
        if after.models.len() != wanted {
            let found = format!("with {} models", after.models.len());
            return Err(self.differs("world", &self.before.name, found, format!("with {wanted}")));
        }
        Ok(())
    }

    fn check_things(&self, after: &World) -> Result<(), SaveError> {
        for light in &self.now.lights {
            let found = after.lights.iter().find(|found| found.name == light.name).map(|light| &light.world_pose);
            let wanted = self.edits.lights.get(&light.name).unwrap_or(&light.world_pose);
            self.check_pose("light", &light.name, found, wanted)?;
        }
        if let (Some(camera), Some(wanted)) = (&after.gui_camera, &self.edits.gui_camera) {
            self.check_pose("camera", &camera.name, Some(&camera.world_pose), wanted)?;
        }
        Ok(())
    }

    /// Positions of joints, and what is static.
    fn check_values(&self, model: &Model) -> Result<(), SaveError> {
        let joints = model.joints.iter().filter(|_| self.has_world && model.joints.len() <= MAX_JOINTS);
        for joint in joints {
            let name = scoped(model, &joint.name);
            let Some(wanted) = self.edits.joints.get(&name) else { continue };
            for (axis, wanted) in joint.axes.iter().zip(wanted.positions.iter().take(wanted.axes)) {
                if (axis.position - wanted).abs() > TOLERANCE * wanted.abs().max(1.0) {
                    return Err(self.differs("joint", &name, format!("at {}", axis.position), format!("at {wanted}")));
                }
            }
        }
        Ok(())
    }
}
