//! Files of older versions brought to the current form of the format.
//!
//! What is done for each version follows the conversion rules that the format publishes with each release;
//! new parts of the tree point at the part of the source that they were made from.

use super::tree::{AttributeData, Document, NONE, NodeData, NodeId, Piece};

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

impl Document {
    /// Every node that is still in the tree or was once.
    fn ids(&self) -> std::ops::Range<u32> {
        0..self.nodes.len() as u32
    }

    fn child_id(&self, parent: u32, name: &str) -> Option<u32> {
        self.node(NodeId(parent)).child(name).map(|c| c.id().0)
    }

    /// The nodes at a path of names from the root.
    fn all_named(&self, path: &[&str]) -> Vec<u32> {
        let Some((root, rest)) = path.split_first() else { return Vec::new() };
        let mut at: Vec<u32> = if self.root().name() == *root { vec![0] } else { Vec::new() };
        for name in rest {
            at = at
                .iter()
                .flat_map(|id| self.node(NodeId(*id)).children_named(name).map(|c| c.id().0).collect::<Vec<_>>())
                .collect();
        }
        at
    }

    fn rename_child(&mut self, parent: u32, path: &[&str], name: &str) {
        if let Some((_, child)) = self.descend(parent, path) {
            self.nodes[child as usize].name = Piece::Made(name.into());
        }
    }

    /// The node at a path below `parent`, and its own parent.
    fn descend(&self, parent: u32, path: &[&str]) -> Option<(u32, u32)> {
        let mut at = (NONE, parent);
        for name in path {
            at = (at.1, self.child_id(at.1, name)?);
        }
        Some(at)
    }

    /// Moves the node at a path below `from` into `to` under a new name, unless there is one already.
    fn move_child(&mut self, from: u32, path: &[&str], to: u32, name: &str) {
        let Some((parent, child)) = self.descend(from, path) else { return };
        self.remove(parent, child);
        self.nodes[child as usize].name = Piece::Made(name.into());
        if let Some(old) = self.child_id(to, name) {
            self.remove(to, old);
        }
        self.append(to, child);
    }

    pub(super) fn remove(&mut self, parent: u32, child: u32) {
        let next = self.nodes[child as usize].next;
        let (mut before, mut at) = (NONE, self.nodes[parent as usize].first_child);
        while at != NONE && at != child {
            (before, at) = (at, self.nodes[at as usize].next);
        }
        if at == NONE {
            return;
        }
        if before == NONE {
            self.nodes[parent as usize].first_child = next;
        } else {
            self.nodes[before as usize].next = next;
        }
        if next == NONE {
            self.nodes[parent as usize].last_child = before;
        }
        self.nodes[child as usize].next = NONE;
        self.nodes[child as usize].parent = NONE;
    }

    /// Adds an element; it stands where its parent's open tag stands.
    pub(super) fn add_child(&mut self, parent: u32, name: &str, text: &str) -> u32 {
        let id = self.nodes.len() as u32;
        let at = &self.nodes[parent as usize];
        let (range, tag_end) = ((at.range.0, at.tag_end), at.tag_end);
        self.nodes.push(NodeData {
            name: Piece::Made(name.into()),
            text: Piece::Made(text.into()),
            attributes: (0, 0),
            parent,
            first_child: NONE,
            last_child: NONE,
            next: NONE,
            range,
            tag_end,
            text_range: (tag_end, tag_end),
        });
        self.append(parent, id);
        id
    }

    /// Sets an attribute; one that is new stands where the open tag stands.
    pub(super) fn set_attribute(&mut self, node: u32, name: &str, value: &str) {
        let (start, count) = self.nodes[node as usize].attributes;
        let data = &self.nodes[node as usize];
        let place = (data.range.0, data.tag_end);
        let found = (start..start + count).find(|i| self.attribute_name(*i) == name);
        if let Some(index) = found {
            self.attributes[index as usize].value = Piece::Made(value.into());
            return;
        }
        // The attributes of a node are one range of the list: move it to the end, where there is room.
        let first = self.attributes.len() as u32;
        for index in start..start + count {
            let moved = self.attributes[index as usize].clone();
            self.attributes.push(moved);
        }
        self.attributes.push(AttributeData {
            name: Piece::Made(name.into()),
            value: Piece::Made(value.into()),
            range: place,
            value_range: place,
        });
        self.nodes[node as usize].attributes = (first, count + 1);
    }

    fn attribute_name(&self, index: u32) -> &str {
        match &self.attributes[index as usize].name {
            Piece::Empty => "",
            Piece::Source(start, end) => self.source.text().get(*start as usize..*end as usize).unwrap_or(""),
            Piece::Made(text) => text,
        }
    }

    fn rename_attribute(&mut self, node: u32, from: &str, to: &str) {
        let (start, count) = self.nodes[node as usize].attributes;
        let named = |name: &str| (start..start + count).find(|i| self.attribute_name(*i) == name);
        if let (Some(index), None) = (named(from), named(to)) {
            self.attributes[index as usize].name = Piece::Made(to.into());
        }
    }
}
