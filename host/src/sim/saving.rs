//! `sim_save_world`: the world, as it is, back into SDF.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use tickworks_plugin_api::abi::kind;
use tickworks_plugin_api::parse_request;

use super::commands::{Answered, now, only_fields};
use super::simulation::Simulation;
use super::spawning;
use crate::net::Request;
use crate::sdf;
use crate::sdf::save::{Added, Edits, JointPosition, save};
use crate::whole_file::{self, Existing};

/// `sim_save_world`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SaveRequest {
    /// The file, in the directory of the world's file, or of --save-dir. Without it: STEM-YYYYMMDD-HHMMSS.sdf.
    pub file: Option<PathBuf>,
    /// Whether a file that is there may be replaced.
    #[serde(default)]
    pub overwrite: bool,
}

/// Reply of `sim_save_world`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SaveReply {
    /// "saved".
    pub status: &'static str,
    /// The file.
    pub file: String,
    /// What could not be expressed, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Simulation {
    /// `sim_save_world`: the file is whole and on the disk when the reply comes.
    pub(super) fn save_world(&mut self, request: &Request) -> Answered {
        only_fields(request, &["file", "overwrite"])?;
        let SaveRequest { file, overwrite } = parse_request(&request.cmd, &request.json)?;
        if self.replaying {
            return Err("sim_save_world: a replay writes no files".into());
        }
        let path = self.save_path(file.as_deref()).map_err(|text| format!("sim_save_world: {text}"))?;
        let (text, notes) = self.saved_text().map_err(|text| format!("sim_save_world: {text}"))?;
        let existing = if overwrite { Existing::Replace } else { Existing::Keep };
        whole_file::write(&path, text.as_bytes(), existing).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => {
                format!("sim_save_world: {} is there already: \"overwrite\": true replaces it", path.display())
            }
            _ => format!("sim_save_world: {}: {error}", path.display()),
        })?;
        now(SaveReply { status: "saved", file: path.display().to_string(), notes })
    }

    /// The text of the world's file with what has become of the world in it, and what it does not say.
    fn saved_text(&self) -> Result<(String, Vec<String>), String> {
        let loaded = sdf::load_source(&self.source, &self.setup.sdf);
        let moved = self.world.moved();
        let structure = self.world.structure();
        let mut notes = Vec::new();
        let mut edits = Edits { models: moved.models, links: moved.links, ..Edits::default() };
        edits.joints = moved
            .joints
            .into_iter()
            .map(|(name, (positions, axes))| (name, JointPosition { positions, axes }))
            .collect();
        edits.removed.extend(structure.removed);
        for spawned in &self.spawned.0 {
            let Some(name) = spawned.spec.models.first().map(|model| model.name.as_str()) else { continue };
            let pose = self.world.find(kind::MODEL, name).and_then(|id| self.world.pose_of(id));
            let directory = self.world_dir();
            edits.added.push(Added { text: spawning::element(&spawned.source, name, pose.as_ref(), &directory)? });
            if spawned.spec.links.len() > 1 {
                notes.push(format!("'{name}' was added: its links are saved where its SDF has them in the model"));
            }
        }
        let saved = save(&loaded, &self.setup.sdf, &edits).map_err(|error| error.to_string())?;
        notes.extend(saved.notes);
        if moved.in_motion {
            notes.push("velocities are not in the file: what moves now will begin at rest".to_owned());
        }
        Ok((saved.text, notes))
    }

    /// Where to save: never outside of the directories that are meant for that.
    fn save_path(&self, file: Option<&Path>) -> Result<PathBuf, String> {
        let beside = self.world_dir();
        let base = self.setup.save_dir.clone().unwrap_or_else(|| beside.clone());
        let name = match file {
            Some(file) => file.to_owned(),
            None => {
                let stem = self.world_file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let t = TimeZone::system().to_datetime(Timestamp::now());
                let (date, time) = ((t.year(), t.month(), t.day()), (t.hour(), t.minute(), t.second()));
                PathBuf::from(format!(
                    "{stem}-{:04}{:02}{:02}-{:02}{:02}{:02}.sdf",
                    date.0, date.1, date.2, time.0, time.1, time.2
                ))
            }
        };
        if name.file_name().is_none() || name.components().any(|part| part == Component::ParentDir) {
            return Err(format!("file is {}, expected the name of a file, without ..", name.display()));
        }
        let path = base.join(&name);
        // Links may lead anywhere: where the file really is counts.
        let real = path.canonicalize().or_else(|_| {
            let parent = path.parent().unwrap_or(&base).canonicalize()?;
            Ok(parent.join(path.file_name().unwrap_or_default()))
        });
        let real = real.map_err(|error: std::io::Error| format!("{}: {error}", path.display()))?;
        let allowed = [Some(&beside), self.setup.save_dir.as_ref()];
        let inside =
            allowed.into_iter().flatten().filter_map(|dir| dir.canonicalize().ok()).any(|dir| real.starts_with(dir));
        if !inside || real.is_dir() {
            let dirs: Vec<String> = [Some(&beside), self.setup.save_dir.as_ref()]
                .into_iter()
                .flatten()
                .map(|dir| dir.display().to_string())
                .collect();
            return Err(format!("file is {}, but must be a file in {}", path.display(), dirs.join(" or ")));
        }
        Ok(real)
    }
}
