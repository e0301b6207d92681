//! Frames: from poses relative to one another to poses in the world, and from frames to the links they move with.
//!
//! Every model and world is a scope of names. A pose hangs on one frame of its own scope, or of a scope within
//! it, so the poses in a scope are resolved without what is around it, and each frame once.

mod fill;
mod graph;
mod joints;
mod pinned;
mod poses;

use glamx::DPose3;

use super::diagnostic::Diagnostic;
use super::typed::{Model, Root};
use graph::Graph;
pub(super) use pinned::Pinned;

/// Resolves all frames of a file in place. Returns what cannot be resolved.
pub(super) fn resolve(root: &mut Root) -> Vec<Diagnostic> {
    let (answers, found) = Graph::of_root(root).solve();
    fill::fill(root, &answers);
    found
}

/// The pose of a frame of `model` in the model's own frame, where it can be resolved.
pub(super) fn pose_in_model(model: &Model, frame: &str) -> Option<DPose3> {
    Graph::of_model(model).pose_of_name(frame)
}

/// The link that the frame of `model` is fixed to, by its name in the model.
pub(super) fn canonical_link(model: &Model) -> Option<String> {
    Graph::of_model(model).canonical_of_first()
}
