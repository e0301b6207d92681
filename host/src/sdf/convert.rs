//! Files of older versions brought to the current form of the format.
//!
//! What is done for each version follows the conversion rules that the format publishes with each release;
//! new parts of the tree point at the part of the source that they were made from.

use std::collections::{HashMap, HashSet};

use super::tree::{Document, NodeId};

/// Brings a document of `version` to the current form.
pub(super) fn to_current(document: &mut Document, version: (u32, u32)) {
    if version < (1, 4) {
        physics_of_1_3(document);
    }
    if version < (1, 5) {
        joints_of_1_4(document);
    }
    if version < (1, 6) {
        world_of_1_5(document);
        imu_of_1_5(document);
    }
    if version < (1, 7) {
        poses_of_1_6(document);
        axes_of_1_6(document);
    }
    if version < (1, 8) {
        models_of_1_7(document);
    }
    if version < (1, 12) {
        states_of_1_11(document);
    }
}

/// 1.3 to 1.4: step sizes and rates of the physics.
fn physics_of_1_3(document: &mut Document) {
    for physics in document.all_named(&["sdf", "world", "physics"]) {
        document.rename_child(physics, &["update_rate"], "real_time_update_rate");
        document.move_child(physics, &["ode", "solver", "dt"], physics, "max_step_size");
        document.move_child(physics, &["bullet", "dt"], physics, "max_step_size");
    }
}

/// 1.4 to 1.5: the axes of joints were in the model's frame.
fn joints_of_1_4(document: &mut Document) {
    for path in [&["sdf", "world", "model", "joint"][..], &["sdf", "model", "joint"]] {
        for joint in document.all_named(path) {
            for axis in ["axis", "axis2"].iter().filter_map(|name| document.child_id(joint, name)).collect::<Vec<_>>() {
                if document.child_id(axis, "use_parent_model_frame").is_none() {
                    document.add_child(axis, "use_parent_model_frame", "true");
                }
            }
        }
    }
}

/// 1.5 to 1.6: gravity and magnetic field belong to the world.
fn world_of_1_5(document: &mut Document) {
    for world in document.all_named(&["sdf", "world"]) {
        document.move_child(world, &["physics", "gravity"], world, "gravity");
        document.move_child(world, &["physics", "magnetic_field"], world, "magnetic_field");
    }
}

/// 1.5 to 1.6: the noise of an IMU belongs to each of its axes.
fn imu_of_1_5(document: &mut Document) {
    for path in [&["sdf", "world", "model", "link", "sensor", "imu"][..], &["sdf", "model", "link", "sensor", "imu"]] {
        for imu in document.all_named(path) {
            let Some(noise) = document.child_id(imu, "noise") else { continue };
            let kind = document.child_id(noise, "type").map(|n| document.node(NodeId(n)).text().to_owned());
            for (old, new) in [("rate", "angular_velocity"), ("accel", "linear_acceleration")] {
                let target = match document.child_id(imu, new) {
                    Some(target) => target,
                    None => document.add_child(imu, new, ""),
                };
                let values: Vec<(&str, String)> = ["mean", "stddev", "bias_mean", "bias_stddev"]
                    .into_iter()
                    .filter_map(|name| {
                        let value = document.child_id(document.child_id(noise, old)?, name)?;
                        Some((name, document.node(NodeId(value)).text().to_owned()))
                    })
                    .collect();
                if values.is_empty() && kind.is_none() {
                    continue;
                }
                for axis in ["x", "y", "z"] {
                    let axis = document.add_child(target, axis, "");
                    let made = document.add_child(axis, "noise", "");
                    document.set_attribute(made, "type", kind.as_deref().unwrap_or("none"));
                    for (name, value) in &values {
                        document.add_child(made, name, value);
                    }
                }
            }
            document.remove(imu, noise);
        }
    }
}

/// 1.6 to 1.7: `frame` on a pose is `relative_to`.
fn poses_of_1_6(document: &mut Document) {
    for id in document.ids().collect::<Vec<_>>() {
        if document.node(NodeId(id)).name() == "pose" {
            document.rename_attribute(id, "frame", "relative_to");
        }
    }
}

/// 1.6 to 1.7: an axis says which frame it is in.
fn axes_of_1_6(document: &mut Document) {
    for id in document.ids().collect::<Vec<_>>() {
        let node = document.node(NodeId(id));
        let is_axis = matches!(node.name(), "axis" | "axis2") && node.parent().is_some_and(|p| p.name() == "joint");
        if !is_axis {
            continue;
        }
        let Some(flag) = document.child_id(id, "use_parent_model_frame") else { continue };
        let on = matches!(document.node(NodeId(flag)).text(), "true" | "True" | "TRUE" | "1");
        if on {
            let xyz = match document.child_id(id, "xyz") {
                Some(xyz) => xyz,
                None => document.add_child(id, "xyz", "0 0 1"),
            };
            document.set_attribute(xyz, "expressed_in", "__model__");
        }
        document.remove(id, flag);
    }
}

/// 1.11 to 1.12: what tells the state of a thing is not called like the thing.
fn states_of_1_11(document: &mut Document) {
    let mut open = document.all_named(&["sdf", "world", "state"]);
    while let Some(element) = open.pop() {
        let children: Vec<u32> = document.node(NodeId(element)).children().map(|c| c.id().0).collect();
        for child in children {
            let name = match document.node(NodeId(child)).name() {
                "model" => "model_state",
                "link" => "link_state",
                "light" => "light_state",
                "joint" => "joint_state",
                "collision" => "collision_state",
                _ => continue,
            };
            document.rename(child, name);
            open.push(child);
        }
    }
}

/// 1.7 to 1.8: models in models were written as one, their parts called `model::part`.
fn models_of_1_7(document: &mut Document) {
    let mut open = document.all_named(&["sdf", "world", "model"]);
    while let Some(model) = open.pop() {
        open.extend(unflatten(document, model));
    }
}

/// Parts that a model may have and that have names.
const PARTS: [&str; 5] = ["link", "joint", "frame", "model", "gripper"];

/// Takes the parts called `NAME::…` into models of their own. Where a frame `NAME::__model__` stands for the model.
fn unflatten(document: &mut Document, model: u32) -> Vec<u32> {
    let parts: Vec<(u32, String)> = document
        .node(NodeId(model))
        .children()
        .filter(|c| PARTS.contains(&c.name()))
        .filter_map(|c| Some((c.id().0, c.attribute_value("name").filter(|n| n.contains("::"))?.to_owned())))
        .collect();
    let mut made: HashMap<&str, u32> = HashMap::new();
    let mut moved = HashSet::new();
    for (frame, name) in &parts {
        let is_frame = document.node(NodeId(*frame)).name() == "frame";
        let Some(inner) = name.strip_suffix("::__model__").filter(|inner| is_frame && !inner.contains("::")) else {
            continue;
        };
        if made.contains_key(inner) {
            continue;
        }
        let nested = document.add_child(model, "model", "");
        document.take_place_of(nested, *frame);
        document.set_attribute(nested, "name", inner);
        let attached = document.node(NodeId(*frame)).attribute_value("attached_to").map(str::to_owned);
        let link = attached.as_deref().and_then(|a| a.strip_prefix(inner)).and_then(|a| a.strip_prefix("::"));
        if let Some(link) = link {
            document.set_attribute(nested, "canonical_link", link);
        }
        if let Some(pose) = document.child_id(*frame, "pose") {
            document.remove(*frame, pose);
            document.append(nested, pose);
        }
        made.insert(inner, nested);
        moved.insert(*frame);
    }
    let taken: Vec<(u32, u32, &str, &str)> = parts
        .iter()
        .filter(|(part, _)| !moved.contains(part))
        .filter_map(|(part, name)| {
            let (inner, rest) = name.split_once("::")?;
            Some((*part, *made.get(inner)?, inner, rest))
        })
        .collect();
    moved.extend(taken.iter().map(|(part, ..)| *part));
    document.retain_children(model, |child| !moved.contains(&child));
    for (part, nested, inner, rest) in taken {
        document.append(nested, part);
        document.set_attribute(part, "name", rest);
        strip_references(document, part, &format!("{inner}::"));
    }
    made.into_values().collect()
}

/// Takes a prefix off every reference to a frame in an element.
fn strip_references(document: &mut Document, element: u32, prefix: &str) {
    for attribute in ["relative_to", "attached_to", "expressed_in", "canonical_link"] {
        let value = document.node(NodeId(element)).attribute_value(attribute);
        if let Some(rest) = value.and_then(|v| v.strip_prefix(prefix)).map(str::to_owned) {
            document.set_attribute(element, attribute, &rest);
        }
    }
    let node = document.node(NodeId(element));
    if matches!(node.name(), "parent" | "child" | "gripper_link" | "palm_link")
        && let Some(rest) = node.text().strip_prefix(prefix).map(str::to_owned)
    {
        document.set_text(element, &rest);
    }
    let children: Vec<u32> = document.node(NodeId(element)).children().map(|c| c.id().0).collect();
    for child in children {
        // The frames in a model within are names of its own scope.
        if document.node(NodeId(child)).name() != "model" {
            strip_references(document, child, prefix);
        }
    }
}
