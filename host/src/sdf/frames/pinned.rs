//! Frames of a world whose models were put elsewhere.

use std::collections::HashMap;

use glamx::DPose3;

use super::graph::{Graph, Kind, Solved};
use crate::sdf::typed::Root;

/// The frames of a file's first world, or of its model, with models and frames of the world at given places.
pub(in crate::sdf) struct Pinned<'a> {
    graph: Graph<'a>,
    /// The scope of each model by its scoped name; the outermost one has the empty name.
    scopes: HashMap<String, u32>,
}

impl<'a> Pinned<'a> {
    /// `models` has, by scoped name, the poses of models in what is around them, `frames` those of frames of the world.
    pub(in crate::sdf) fn new(
        root: &'a Root,
        models: &HashMap<String, DPose3>,
        frames: &HashMap<String, DPose3>,
    ) -> Self {
        let mut pinned = Self { graph: Graph::of_root(root), scopes: HashMap::from([(String::new(), 0)]) };
        for node in &mut pinned.graph.nodes {
            match node.kind {
                Kind::Model(model, scope) => {
                    // A second world has no part in it; its models may have the same names.
                    if let Some(pose) = models.get(&model.scoped_name)
                        && !pinned.scopes.contains_key(&model.scoped_name)
                    {
                        node.pose = Solved::Done(*pose);
                        pinned.scopes.insert(model.scoped_name.clone(), scope);
                    }
                }
                Kind::Frame(frame) if node.scope == 0 => {
                    if let Some(pose) = frames.get(&frame.name) {
                        node.pose = Solved::Done(*pose);
                    }
                }
                _ => {}
            }
        }
        pinned
    }

    /// Where the frame called `name` in the model of a scoped name, or in the world, is in that model or world.
    pub(in crate::sdf) fn pose_of(&mut self, model: &str, name: &str) -> Option<DPose3> {
        let scope = *self.scopes.get(model)?;
        self.graph.pose_in_scope(scope, name)
    }
}
