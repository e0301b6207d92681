//! Models and frames.

use std::collections::{HashMap, HashSet};

use super::Reader;
use crate::sdf::diagnostic::{Code, Diagnostic, Severity};
use crate::sdf::source::Span;
use crate::sdf::tree::Node;
use crate::sdf::typed::{Element, Frame, Joint, Model};

impl Reader<'_> {
    pub(super) fn model(&mut self, node: Node<'_>) -> Model {
        let mut model = Model {
            name: self.name(node),
            scoped_name: String::new(),
            is_static: self.flag(node, "static", false),
            self_collide: self.flag(node, "self_collide", false),
            allow_auto_disable: self.flag(node, "allow_auto_disable", true),
            enable_wind: self.flag(node, "enable_wind", false),
            pose: self.pose(node),
            placement_frame: self.frame_name(node, "placement_frame"),
            pose_in_parent: Default::default(),
            world_pose: Default::default(),
            canonical_link: node.attribute_value("canonical_link").unwrap_or("").to_owned(),
            resolved_canonical_link: String::new(),
            links: Vec::new(),
            joints: Vec::new(),
            frames: Vec::new(),
            models: Vec::new(),
            plugins: self.plugins(node),
            grippers: Vec::new(),
            robot: None,
            span: node.span(),
            include: None,
            incomplete: false,
            version: self.version,
        };
        for child in node.children() {
            match child.name() {
                "link" => {
                    let mut link = self.link(child);
                    link.enable_wind |= model.enable_wind;
                    model.links.push(link);
                }
                "joint" => match self.joint(child) {
                    Some(joint) => model.joints.push(joint),
                    None => model.incomplete = true,
                },
                "frame" => {
                    let frame = self.frame(child);
                    model.frames.push(frame);
                }
                "model" => {
                    let nested = self.model(child);
                    model.models.push(nested);
                }
                "include" => self.include_in_model(child, &mut model),
                "gripper" => {
                    self.unread(child);
                    model.grippers.push(Element::from_node(child));
                }
                _ => {}
            }
        }
        if self.version < (1, 7) {
            let taken = model.links.iter().map(|l| l.name.clone()).chain(model.models.iter().map(|m| m.name.clone()));
            rename_collisions(taken.collect(), &mut model.joints, &mut model.frames);
        }
        self.own_elements(node, Some(&mut model));
        self.unique_in_model(node, &model);
        model
    }

    /// Links, joints, frames and models share the scope of their model.
    fn unique_in_model(&mut self, node: Node<'_>, model: &Model) {
        let place = |m: &Model| m.include.as_ref().map_or(&m.span, |i| &i.span).clone();
        let names = model
            .links
            .iter()
            .map(|l| ("link", l.name.as_str(), l.span.clone()))
            .chain(model.joints.iter().map(|j| ("joint", j.name.as_str(), j.span.clone())))
            .chain(model.frames.iter().map(|f| ("frame", f.name.as_str(), f.span.clone())))
            .chain(model.models.iter().map(|m| ("model", m.name.as_str(), place(m))));
        self.unique_in_scope(node, names);
    }

    /// Two parts of one name are an error. Before 1.7 parts of different kinds could share one: what has not got
    /// another name by now is told apart by its kind.
    pub(super) fn unique_in_scope<'a>(
        &mut self,
        scope: Node<'_>,
        names: impl Iterator<Item = (&'static str, &'a str, Span)>,
    ) {
        let mut kinds: HashMap<&str, &'static str> = HashMap::new();
        let mut seen: HashSet<(&str, &str)> = HashSet::new();
        for (what, name, span) in names {
            let first = *kinds.entry(name).or_insert(what);
            if !seen.insert((what, name)) {
                self.duplicate_at(scope, what, name, span);
            } else if first != what {
                let message = format!("the {what} \"{name}\" in {} has the name of a {first}", describe(scope));
                let mut diagnostic = Diagnostic::error(Code::DuplicateName, message).at(first_tag(&span));
                if self.version < (1, 7) {
                    diagnostic.severity = Severity::Warning;
                }
                let path = format!("{}/{what}[@name=\"{name}\"]", scope.path());
                self.report(
                    diagnostic.path(path).help(format!("\"{name}\" means the {first} here; rename one of them")),
                );
            }
        }
    }

    /// Two parts of one name, of which only the place is known.
    pub(super) fn duplicate_at(&mut self, scope: Node<'_>, what: &str, name: &str, span: Span) {
        let message = format!("there are two {what}s called \"{name}\" in {}", describe(scope));
        let diagnostic = Diagnostic::error(Code::DuplicateName, message).at(first_tag(&span));
        self.report(
            diagnostic.path(format!("{}/{what}[@name=\"{name}\"]", scope.path())).help("give each a name of its own"),
        );
    }

    pub(super) fn frame(&mut self, node: Node<'_>) -> Frame {
        Frame {
            name: self.name(node),
            attached_to: self.frame_name(node, "attached_to"),
            pose: self.pose(node),
            pose_in_parent: Default::default(),
            in_world: node.parent().is_some_and(|p| p.name() == "world"),
            attached_link: String::new(),
            span: node.span(),
        }
    }
}

/// Before 1.7 a joint or frame could have the name of a link or model. It gets a name of its own, as later readers
/// do it. Two parts of one kind and name stay what they are: an error.
pub(super) fn rename_collisions(mut taken: HashSet<String>, joints: &mut [Joint], frames: &mut [Frame]) {
    let rename = |name: &mut String, suffix: &str, taken: &HashSet<String>| {
        if taken.contains(name.as_str()) {
            let mut free = format!("{name}{suffix}");
            while taken.contains(&free) {
                free.push_str(suffix);
            }
            *name = free;
        }
    };
    joints.iter_mut().for_each(|joint| rename(&mut joint.name, "_joint", &taken));
    taken.extend(joints.iter().map(|joint| joint.name.clone()));
    frames.iter_mut().for_each(|frame| rename(&mut frame.name, "_frame", &taken));
}

fn describe(node: Node<'_>) -> String {
    format!("{} {}", node.name(), node.attribute_value("name").unwrap_or(""))
}

/// The open tag of an element whose whole span is known.
pub(in crate::sdf) fn first_tag(span: &Span) -> Span {
    let range = span.range();
    let end = span.text().find('>').map_or(range.end, |at| range.start + at + 1);
    span.source().span(range.start..end)
}
