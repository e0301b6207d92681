//! The durable state of all plugins: saved together, taken back together or not at all.
#![forbid(unsafe_code)]

use super::manager::Entry;
use super::response::PluginFailure;
use super::tracker::InstanceKey;
use serde::{Deserialize, Serialize};

/// What one instance saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedPlugin {
    /// The instance's name.
    pub instance: String,
    /// Its plugin's id.
    pub id: String,
    /// Its plugin's version.
    pub version: String,
    /// What it wrote, in its own format; empty where it keeps none.
    pub state: Vec<u8>,
}

type Failed = (InstanceKey, PluginFailure);

pub(super) fn save(entries: &mut [Entry]) -> Result<Vec<SavedPlugin>, Failed> {
    let mut saved = Vec::new();
    for entry in entries {
        let key = entry.key;
        let Some(instance) = entry.instance() else { continue };
        let state = instance.save().map_err(|failure| (key, failure))?;
        saved.push(SavedPlugin {
            instance: entry.name.clone(),
            id: entry.library.id().to_owned(),
            version: entry.library.version().to_owned(),
            state,
        });
    }
    Ok(saved)
}

pub(super) fn load(entries: &mut [Entry], saved: &[SavedPlugin]) -> Result<Vec<String>, Failed> {
    let mut warnings: Vec<_> = saved
        .iter()
        .filter(|saved| !entries.iter().any(|entry| entry.name == saved.instance))
        .map(|saved| format!("there is a state for plugin \"{}\", which does not run", saved.instance))
        .collect();
    // All are asked before any is changed.
    let mut changes = Vec::new();
    for (place, entry) in entries.iter_mut().enumerate() {
        let (key, name, id) = (entry.key, entry.name.clone(), entry.library.id().to_owned());
        let Some(instance) = entry.instance() else { continue };
        let Some(new) = saved.iter().find(|saved| saved.instance == name) else {
            warnings.push(format!("there is no state for plugin \"{name}\", which keeps its own"));
            continue;
        };
        if new.id != id {
            let text = format!("the state is one of \"{}\", expected one of \"{id}\"", new.id);
            return Err((key, PluginFailure { instance: name, slot: "load", text, fatal: false }));
        }
        let old = instance.save().map_err(|failure| (key, failure))?;
        changes.push((place, new, old));
    }
    for (done, (place, new, _)) in changes.iter().enumerate() {
        let entry = &mut entries[*place];
        let key = entry.key;
        let Some(Err(failure)) = entry.instance().map(|instance| instance.load(&new.state)) else { continue };
        for (place, _, old) in changes[..done].iter().rev() {
            let Some(Err(again)) = entries[*place].instance().map(|instance| instance.load(old)) else { continue };
            tracing::error!("{again}; it did not take its own state back, and has neither");
        }
        return Err((key, failure));
    }
    Ok(warnings)
}
