//! What is elsewhere than where the document has it.

use std::collections::{BTreeMap, BTreeSet};

use glamx::DPose3;
use specs::WorldExt;
use tickworks_motion::se3;

use super::World;
use super::components::{Flight, Link, Model};

/// What of a document's models is elsewhere than where it started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moved {
    /// Frames of models, by scoped name, in the world: of those that moved, or moved against the model that they are in.
    pub models: BTreeMap<String, DPose3>,
    /// Links that moved against their model's frame, by scoped name, in the world.
    pub links: BTreeMap<String, DPose3>,
    /// Joints of models in which links moved, by scoped name: positions (rad, m) and how many of them count.
    pub joints: BTreeMap<String, ([f64; 2], usize)>,
    /// Whether anything moves: poses do not say that.
    pub in_motion: bool,
}

/// What physics puts where it is already may come back changed by this, m and rad: its numbers have 24 bits.
const ROUNDING: f64 = 1e-6;

impl World {
    /// What of the document's models is elsewhere than where it started. Those that were added since are not in it.
    pub fn moved(&self) -> Moved {
        let mut moved = Moved::default();
        let mut jointed: BTreeSet<&str> = BTreeSet::new();
        let models = self.ecs.read_storage::<Model>();
        let flights = self.ecs.read_storage::<Flight>();
        // Of a model: where it is, where it started.
        let mut frames: BTreeMap<&str, (DPose3, DPose3)> = BTreeMap::new();
        for (number, entity) in self.index.models.iter().filter(|(number, _)| self.is_of_document(*number)) {
            let id = super::index::id(tickworks_plugin_api::abi::kind::MODEL, number);
            let (Some(name), Some(now), Some(model)) = (self.name(id), self.model_pose(*entity), models.get(*entity))
            else {
                continue;
            };
            frames.insert(name, (now, model.initial));
        }
        for (name, (now, initial)) in &frames {
            let exact = self.index.find(tickworks_plugin_api::abi::kind::MODEL, name);
            let exact = exact.and_then(|id| self.index.entity(id)).is_some_and(|entity| flights.get(entity).is_some());
            let around = name.rsplit_once("::").and_then(|(outer, _)| frames.get(outer));
            let is_elsewhere = match around {
                Some((outer_now, outer_initial)) => {
                    differ(&outer_now.inv_mul(now), &outer_initial.inv_mul(initial), exact)
                }
                None => differ(now, initial, exact),
            };
            if is_elsewhere {
                moved.models.insert((*name).to_owned(), *now);
            }
        }
        for (number, entity) in self.index.bodies.iter() {
            let id = super::index::id(tickworks_plugin_api::abi::kind::BODY, number);
            let Some((name, link)) = self.name(id).zip(self.get::<Link>(*entity)).filter(|(_, link)| !link.fixed)
            else {
                continue;
            };
            let Some((model, frame)) = name.rsplit_once("::").and_then(|(model, _)| Some((model, frames.get(model)?)))
            else {
                continue;
            };
            let (Some(state), Some(body)) = (self.link_state(*entity), self.bodies.get(link.body)) else { continue };
            let speed = state.linear.length() + state.angular.length();
            moved.in_motion |= speed > 1e-3;
            let initial = body.start.pose * link.in_body;
            if differ(&frame.0.inv_mul(&state.pose), &frame.1.inv_mul(&initial), false) {
                moved.links.insert(name.to_owned(), state.pose);
                jointed.insert(model.split("::").next().unwrap_or(model));
            }
        }
        for joint in self.joints().filter(|joint| joint.axes > 0 && jointed.contains(root(joint.name))) {
            moved.joints.insert(joint.name.to_owned(), (joint.positions, joint.axes));
        }
        moved
    }
}

fn root(name: &str) -> &str {
    name.split("::").next().unwrap_or(name)
}

/// Whether two poses are not the same. `exact`: neither has been through physics' numbers.
fn differ(a: &DPose3, b: &DPose3, exact: bool) -> bool {
    if exact {
        return a != b;
    }
    let (distance, angle) = se3::distance(a, b);
    distance > ROUNDING + 5e-7 * b.translation.length() || angle > ROUNDING
}
