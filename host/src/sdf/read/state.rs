//! Saved states of worlds.

use glamx::DVec3;

use super::Reader;
use crate::sdf::tree::Node;
use crate::sdf::typed::{Element, JointState, LightState, LinkState, ModelState, State};
use crate::sdf::value;

impl Reader<'_> {
    pub(super) fn state(&mut self, node: Node<'_>) -> State {
        let lights = node.children_named("light_state").map(|light| LightState {
            name: light.attribute_value("name").unwrap_or("").to_owned(),
            pose: light.child("pose").map(|p| self.pose_element(p).value),
        });
        let lights = lights.collect();
        let names = |n: Node<'_>| n.children_named("name").map(|n| n.text().to_owned()).collect();
        State {
            world_name: node.attribute_value("world_name").unwrap_or("").to_owned(),
            sim_time: self.child_value(node, "sim_time", 0.0, value::time),
            models: node.children_named("model_state").map(|m| self.model_state(m)).collect(),
            lights,
            insertions: node
                .child("insertions")
                .map_or_else(Vec::new, |i| i.children().map(Element::from_node).collect()),
            deletions: node.child("deletions").map_or_else(Vec::new, names),
            span: node.span(),
        }
    }

    pub(super) fn model_state(&mut self, node: Node<'_>) -> ModelState {
        let joints = node.children_named("joint_state").map(|joint| self.joint_state(joint)).collect();
        let links = node.children_named("link_state").map(|link| LinkState {
            name: link.attribute_value("name").unwrap_or("").to_owned(),
            pose: link.child("pose").map(|p| self.pose_element(p).value),
            velocity: self.child_value(link, "velocity", [0.0; 6], value::lenient::numbers::<6>),
        });
        let links = links.collect();
        ModelState {
            name: node.attribute_value("name").unwrap_or("").to_owned(),
            pose: node.child("pose").map(|p| self.pose_element(p).value),
            scale: self.vector(node, "scale", DVec3::ONE),
            joints,
            links,
            models: node.children_named("model_state").map(|m| self.model_state(m)).collect(),
            span: node.span(),
        }
    }

    fn joint_state(&mut self, node: Node<'_>) -> JointState {
        let mut state = JointState {
            name: node.attribute_value("name").unwrap_or("").to_owned(),
            positions: [None; 2],
            velocities: [None; 2],
        };
        for angle in node.children_named("angle") {
            let axis = angle.attribute_value("axis").and_then(|a| value::unsigned(a).ok()).unwrap_or(0);
            if let Some(position) = state.positions.get_mut(axis as usize) {
                *position = Some(self.value(angle, 0.0, value::lenient::number));
            }
        }
        for (index, name) in ["axis_state", "axis2_state"].into_iter().enumerate() {
            let Some(axis) = node.child(name) else { continue };
            state.positions[index] = self.in_radians(axis, "position").or(state.positions[index]);
            state.velocities[index] = self.in_radians(axis, "velocity");
        }
        state
    }

    fn in_radians(&mut self, node: Node<'_>, name: &str) -> Option<f64> {
        let child = node.child(name)?;
        let value = self.value(child, 0.0, value::lenient::number);
        Some(if self.attribute_flag(child, "degrees") { value.to_radians() } else { value })
    }
}
