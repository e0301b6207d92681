//! Elements with indentation, one in a line.

use std::fmt::Write as _;

use glamx::{DPose3, DVec3};
use quick_xml::escape::escape;

use crate::sdf::typed::{Actor, Element, Plugin};
use crate::sdf::value::roll_pitch_yaw;

/// A file that is being written.
pub(super) struct Out {
    text: String,
    depth: usize,
}

impl Out {
    pub(super) fn new() -> Self {
        Self { text: String::from("<?xml version=\"1.0\"?>\n"), depth: 0 }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    fn begin(&mut self, name: &str, attributes: &[(&str, &str)]) {
        let _ = write!(self.text, "{:indent$}<{name}", "", indent = self.depth * 2);
        for (key, value) in attributes {
            let _ = write!(self.text, " {key}=\"{}\"", escaped(value));
        }
    }

    pub(super) fn open(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.begin(name, attributes);
        self.text.push_str(">\n");
        self.depth += 1;
    }

    pub(super) fn close(&mut self, name: &str) {
        self.depth = self.depth.saturating_sub(1);
        let _ = writeln!(self.text, "{:indent$}</{name}>", "", indent = self.depth * 2);
    }

    fn leaf(&mut self, name: &str, attributes: &[(&str, &str)], text: &str) {
        self.begin(name, attributes);
        if text.is_empty() {
            self.text.push_str("/>\n");
        } else {
            let _ = writeln!(self.text, ">{}</{name}>", escaped(text));
        }
    }

    pub(super) fn text(&mut self, name: &str, text: &str) {
        self.leaf(name, &[], text);
    }

    pub(super) fn flag(&mut self, name: &str, on: bool) {
        self.leaf(name, &[], if on { "true" } else { "false" });
    }

    pub(super) fn number(&mut self, name: &str, number: f64) {
        self.numbers(name, &[number]);
    }

    pub(super) fn number_with(&mut self, name: &str, attributes: &[(&str, &str)], number: f64) {
        self.leaf(name, attributes, &join(&[number]));
    }

    pub(super) fn numbers(&mut self, name: &str, numbers: &[f64]) {
        self.leaf(name, &[], &join(numbers));
    }

    pub(super) fn vector(&mut self, name: &str, vector: DVec3) {
        self.numbers(name, &vector.to_array());
    }

    /// A pose in the default frame of its element; none where it is the identity.
    pub(super) fn pose(&mut self, pose: &DPose3) {
        if *pose != DPose3::IDENTITY {
            self.pose_in(pose, "");
        }
    }

    pub(super) fn pose_in(&mut self, pose: &DPose3, relative_to: &str) {
        let attributes: &[(&str, &str)] = if relative_to.is_empty() { &[] } else { &[("relative_to", relative_to)] };
        let [x, y, z] = pose.translation.to_array();
        let [roll, pitch, yaw] = roll_pitch_yaw(pose.rotation);
        self.leaf("pose", attributes, &join(&[x, y, z, roll, pitch, yaw]));
    }

    /// An element as it stood in its file.
    pub(super) fn element(&mut self, element: &Element) {
        let attributes: Vec<_> = element.attributes.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        if element.children.is_empty() {
            self.leaf(&element.name, &attributes, &element.text);
            return;
        }
        self.open(&element.name, &attributes);
        if !element.text.is_empty() {
            let _ = writeln!(self.text, "{:indent$}{}", "", escaped(&element.text), indent = self.depth * 2);
        }
        element.children.iter().for_each(|child| self.element(child));
        self.close(&element.name);
    }

    /// An element as it stood in its file, but for its pose.
    pub(super) fn element_at(&mut self, element: &Element, pose: &DPose3) {
        self.element_as(element, element.attribute("name"), pose, &[]);
    }

    /// An actor as it stood in its file, but for its pose and what an include changes of it.
    pub(super) fn actor(&mut self, actor: &Actor) {
        let own = actor.element.children.iter().filter(|c| c.name == "plugin").count();
        self.element_as(
            &actor.element,
            Some(&actor.name),
            &actor.world_pose,
            actor.plugins.get(own..).unwrap_or_default(),
        );
    }

    fn element_as(&mut self, element: &Element, name: Option<&str>, pose: &DPose3, plugins: &[Plugin]) {
        let value = |key: &str, value| if key == "name" { name.unwrap_or(value) } else { value };
        let attributes: Vec<_> =
            element.attributes.iter().map(|(k, v)| (k.as_str(), value(k.as_str(), v.as_str()))).collect();
        self.open(&element.name, &attributes);
        self.pose(pose);
        element.children.iter().filter(|c| c.name != "pose").for_each(|child| self.element(child));
        plugins.iter().for_each(|plugin| self.element(&plugin.element));
        self.close(&element.name);
    }
}

/// A text as XML. White space other than blanks is written as references: readers make blanks of it in attributes.
fn escaped(text: &str) -> String {
    let text = escape(text);
    text.replace('\r', "&#13;").replace('\n', "&#10;").replace('\t', "&#9;")
}

/// Numbers in their shortest exact form.
fn join(numbers: &[f64]) -> String {
    // Adding zero makes one of the two zeros.
    numbers.iter().map(|n| format!("{}", n + 0.0)).collect::<Vec<_>>().join(" ")
}
