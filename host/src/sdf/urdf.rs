//! URDF: a robot as ROS describes it, rewritten as a tree of SDF.
//!
//! The new elements point at the URDF that they were made from, so what is wrong with a value is said of the right
//! line. A link hangs on the joint that moves it, and the joint on its parent link; the frames do the rest. A link
//! without mass that is fixed to another one is a frame there, and its shapes are that link's.

use std::collections::{HashMap, HashSet};

use super::diagnostic::{Code, Diagnostic};
use super::tree::{Document, Node, NodeId};

/// The version of the format that the rewritten tree is in.
pub(super) const VERSION: (u32, u32) = (1, 11);

/// Rewrites a document whose root is `<robot>`.
pub(super) fn to_sdf(document: &mut Document) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let robot = document.root();
    if let Some(macro_use) = robot.children().find(|c| c.name().starts_with("xacro:")) {
        let message = format!("<{}> is no URDF: the file is the source of one", macro_use.name());
        let diagnostic = Diagnostic::error(Code::UrdfInvalid, message).at(macro_use.tag()).path(macro_use.path());
        found.push(diagnostic.help("run it through xacro first, and load what that writes"));
        document.retain_children(0, |_| false);
        document.clear_attributes(0);
        return found;
    }
    let name = robot.attribute_value("name").unwrap_or("robot").to_owned();
    let children: Vec<u32> = robot.children().map(|c| c.id().0).collect();
    let plan = Plan::of(robot, &mut found);
    document.clear_attributes(0);
    document.retain_children(0, |_| false);
    let model = document.add_child(0, "model", "");
    document.set_attribute(model, "name", &name);
    let mut writer = Writer { document, model, plan, made: HashMap::new(), found };
    for part in &children {
        writer.part(*part);
    }
    for part in &children {
        if writer.node(*part).name() == "gazebo" {
            writer.extension(*part);
        }
    }
    writer.found
}

/// How the links hang together.
struct Plan {
    /// For each link, the joint that moves it.
    moved_by: HashMap<String, JointPlan>,
    /// Links that become frames, and the link that they are part of.
    frames: HashMap<String, String>,
    /// The names of all links.
    links: HashSet<String>,
}

#[derive(Clone)]
struct JointPlan {
    name: String,
    parent: String,
    kind: String,
    origin: String,
}

impl Plan {
    fn of(robot: Node<'_>, found: &mut Vec<Diagnostic>) -> Self {
        let mut moved_by: HashMap<String, JointPlan> = HashMap::new();
        for joint in robot.children_named("joint") {
            let end = |name: &str| joint.child(name).and_then(|e| e.attribute_value("link")).unwrap_or("").to_owned();
            let (parent, child) = (end("parent"), end("child"));
            let plan = JointPlan {
                name: joint.attribute_value("name").unwrap_or("").to_owned(),
                parent,
                kind: joint.attribute_value("type").unwrap_or("").to_owned(),
                origin: origin(joint),
            };
            if let Some(other) = moved_by.get(&child) {
                let message = format!("link {child} is moved by joint {} and by joint {}", other.name, plan.name);
                let diagnostic = Diagnostic::error(Code::UrdfInvalid, message).at(joint.tag()).path(joint.path());
                found.push(diagnostic.help("a robot of URDF is a tree: each link has one parent"));
                continue;
            }
            moved_by.insert(child, plan);
        }
        let massless: HashSet<&str> = robot
            .children_named("link")
            .filter(|l| l.child("inertial").is_none())
            .filter_map(|l| l.attribute_value("name"))
            .collect();
        let mut frames = HashMap::new();
        for link in robot.children_named("link").filter_map(|l| l.attribute_value("name")) {
            if massless.contains(link)
                && let Some(body) = body_of(link, &moved_by, &massless)
            {
                frames.insert(link.to_owned(), body);
            }
        }
        // A root without mass, such as a footprint, is a frame of the link that is fixed to it.
        let mut children: HashMap<&str, usize> = HashMap::new();
        for joint in moved_by.values() {
            *children.entry(&joint.parent).or_default() += 1;
        }
        for (child, joint) in &moved_by {
            let root = joint.parent.as_str();
            let footprint = massless.contains(root) && !moved_by.contains_key(root) && children.get(root) == Some(&1);
            if joint.kind == "fixed" && footprint && root != "world" && !massless.contains(child.as_str()) {
                frames.insert(root.to_owned(), child.clone());
            }
        }
        let links = robot.children_named("link").filter_map(|l| l.attribute_value("name")).map(str::to_owned).collect();
        Self { moved_by, frames, links }
    }
}

/// The link with mass that a link is fixed to.
fn body_of(link: &str, moved_by: &HashMap<String, JointPlan>, massless: &HashSet<&str>) -> Option<String> {
    let mut at = link;
    // Longer than any chain that is not a circle.
    for _ in 0..1000 {
        let joint = moved_by.get(at).filter(|j| j.kind == "fixed")?;
        at = &joint.parent;
        if at == "world" {
            return None;
        }
        if !massless.contains(at) {
            return Some(at.to_owned());
        }
    }
    None
}

/// The text of a pose from `<origin xyz= rpy=>`.
fn origin(node: Node<'_>) -> String {
    let part = |name: &str| node.child("origin").and_then(|o| o.attribute_value(name)).unwrap_or("0 0 0");
    format!("{} {}", part("xyz").trim(), part("rpy").trim())
}

struct Writer<'a> {
    document: &'a mut Document,
    model: u32,
    plan: Plan,
    /// The elements that were made of links and joints, by kind and name.
    made: HashMap<(&'static str, String), u32>,
    found: Vec<Diagnostic>,
}

impl Writer<'_> {
    fn node(&self, id: u32) -> Node<'_> {
        self.document.node(NodeId(id))
    }

    fn attribute(&self, id: u32, name: &str) -> Option<String> {
        self.node(id).attribute_value(name).map(str::to_owned)
    }

    /// Adds an element that stands where `place` stands.
    fn add(&mut self, parent: u32, name: &str, text: &str, place: u32) -> u32 {
        let id = self.document.add_child(parent, name, text);
        self.document.take_place_of(id, place);
        id
    }

    fn children(&self, id: u32, name: &str) -> Vec<u32> {
        self.node(id).children_named(name).map(|c| c.id().0).collect()
    }

    fn child(&self, id: u32, name: &str) -> Option<u32> {
        self.document.child_id(id, name)
    }

    fn warn(&mut self, place: u32, message: String) {
        let diagnostic = Diagnostic::warning(Code::UrdfInvalid, message).at(self.node(place).tag());
        self.found.push(diagnostic);
    }

    fn part(&mut self, id: u32) {
        match self.node(id).name() {
            "link" => self.link(id),
            "joint" => self.joint(id),
            "gazebo" | "material" | "transmission" => {}
            other if other.contains(':') => {}
            other => {
                let message = format!("unknown element <{other}> in <robot>");
                self.warn(id, message);
            }
        }
    }

    fn link(&mut self, id: u32) {
        let name = self.attribute(id, "name").unwrap_or_default();
        let joint = self.plan.moved_by.get(&name).cloned();
        if let Some(body) = self.plan.frames.get(&name).cloned() {
            let frame = self.add(self.model, "frame", "", id);
            self.document.set_attribute(frame, "name", &name);
            self.document.set_attribute(frame, "attached_to", &body);
            let (relative_to, pose) = match &joint {
                Some(joint) => (joint.parent.as_str(), joint.origin.as_str()),
                None => ("__model__", "0 0 0 0 0 0"),
            };
            let relative_to = if relative_to == "world" { "__model__" } else { relative_to };
            self.pose(frame, pose, relative_to, id);
            self.made.insert(("link", name.clone()), frame);
            let target = match self.made.get(&("link", body.clone())) {
                Some(target) => *target,
                // It comes later in the file; the shapes go where it will be.
                None => self.body(&body, id),
            };
            self.shapes(id, target, &name, true);
            return;
        }
        if name == "world" && joint.is_none() {
            return;
        }
        let link = self.body(&name, id);
        match &joint {
            // Where no joint is written, the link hangs on the one before it.
            Some(joint)
                if matches!(joint.kind.as_str(), "floating" | "planar") || self.body_name(&joint.parent) == name =>
            {
                let parent = if joint.parent == "world" { "__model__" } else { &joint.parent };
                self.pose(link, &joint.origin, parent, id);
            }
            Some(joint) => self.pose(link, "0 0 0 0 0 0", &joint.name, id),
            None => {}
        }
        self.inertial(id, link, &name);
        self.shapes(id, link, &name, false);
    }

    /// The element of a link with mass; made when it is first needed.
    fn body(&mut self, name: &str, place: u32) -> u32 {
        if let Some(known) = self.made.get(&("link", name.to_owned())) {
            let known = *known;
            self.document.take_place_of(known, place);
            return known;
        }
        let link = self.add(self.model, "link", "", place);
        self.document.set_attribute(link, "name", name);
        self.made.insert(("link", name.to_owned()), link);
        link
    }

    /// The link with mass that a link is part of; itself for most.
    fn body_name<'n>(&'n self, link: &'n str) -> &'n str {
        self.plan.frames.get(link).map_or(link, String::as_str)
    }

    fn pose(&mut self, parent: u32, text: &str, relative_to: &str, place: u32) {
        let place = self.child(place, "origin").unwrap_or(place);
        let pose = self.add(parent, "pose", text, place);
        if !relative_to.is_empty() {
            self.document.set_attribute(pose, "relative_to", relative_to);
        }
    }

    fn inertial(&mut self, id: u32, link: u32, name: &str) {
        let Some(given) = self.child(id, "inertial") else {
            let inertial = self.add(link, "inertial", "", id);
            if self.child(id, "collision").is_some() {
                self.document.set_attribute(inertial, "auto", "true");
                self.warn(
                    id,
                    format!(
                        "link {name} has no <inertial>: its mass follows from its shapes, with the density of water"
                    ),
                );
            } else {
                self.add(inertial, "mass", "0.001", id);
                let inertia = self.add(inertial, "inertia", "", id);
                for moment in ["ixx", "iyy", "izz"] {
                    self.add(inertia, moment, "1e-6", id);
                }
                self.warn(id, format!("link {name} has no <inertial> and moves: it is taken as a gram"));
            }
            return;
        };
        let inertial = self.add(link, "inertial", "", given);
        let pose = origin(self.node(given));
        self.pose(inertial, &pose, "", given);
        if let Some(mass) = self.child(given, "mass") {
            let value = self.attribute(mass, "value").unwrap_or_default();
            self.add(inertial, "mass", &value, mass);
        }
        if let Some(moments) = self.child(given, "inertia") {
            let inertia = self.add(inertial, "inertia", "", moments);
            for name in ["ixx", "ixy", "ixz", "iyy", "iyz", "izz"] {
                if let Some(value) = self.attribute(moments, name) {
                    self.add(inertia, name, &value, moments);
                }
            }
        }
    }

    /// Collisions and visuals of a link. `lumped`: the link is a frame, and they become parts of another link.
    fn shapes(&mut self, id: u32, link: u32, name: &str, lumped: bool) {
        for kind in ["collision", "visual"] {
            for (index, shape) in self.children(id, kind).into_iter().enumerate() {
                let default = if index == 0 { format!("{name}_{kind}") } else { format!("{name}_{kind}_{index}") };
                let own = self.attribute(shape, "name").filter(|n| !n.is_empty() && !lumped).unwrap_or(default);
                let made = self.add(link, kind, "", shape);
                self.document.set_attribute(made, "name", &own);
                let pose = origin(self.node(shape));
                self.pose(made, &pose, if lumped { name } else { "" }, shape);
                let geometry = self.add(made, "geometry", "", shape);
                if let Some(given) = self.child(shape, "geometry") {
                    self.geometry(given, geometry);
                }
            }
        }
    }

    fn geometry(&mut self, given: u32, geometry: u32) {
        let Some(shape) = self.node(given).children().next().map(|c| c.id().0) else { return };
        let kind = self.node(shape).name().to_owned();
        let made = self.add(geometry, &kind, "", shape);
        let values: &[(&str, &str)] = match kind.as_str() {
            "box" => &[("size", "size")],
            "cylinder" | "capsule" => &[("radius", "radius"), ("length", "length")],
            "sphere" => &[("radius", "radius")],
            "mesh" => &[("filename", "uri"), ("scale", "scale")],
            _ => &[],
        };
        for (from, to) in values {
            if let Some(value) = self.attribute(shape, from) {
                self.add(made, to, &value, shape);
            }
        }
    }

    fn joint(&mut self, id: u32) {
        let name = self.attribute(id, "name").unwrap_or_default();
        let kind = self.attribute(id, "type").unwrap_or_default();
        let end = |w: &Self, end: &str| w.child(id, end).and_then(|e| w.attribute(e, "link")).unwrap_or_default();
        let (parent, child) = (end(self, "parent"), end(self, "child"));
        for (what, link) in [("parent", &parent), ("child", &child)] {
            let known = link == "world" || self.plan.links.contains(link);
            if !known {
                let message = format!("the {what} of joint {name} is \"{link}\", which the robot does not have");
                let diagnostic = Diagnostic::error(Code::UrdfInvalid, message).at(self.node(id).tag());
                self.found.push(diagnostic.help(format!("write <{what} link=\"…\"/> with the name of a link")));
                return;
            }
        }
        if kind == "floating" {
            return;
        }
        if kind == "planar" {
            self.warn(id, format!("joint {name} is planar, which is not simulated: its child moves freely"));
            return;
        }
        // A joint between parts of one body joins nothing.
        if self.body_name(&parent) == self.body_name(&child) {
            return;
        }
        let joint = self.add(self.model, "joint", "", id);
        self.document.set_attribute(joint, "name", &name);
        self.document.set_attribute(joint, "type", &kind);
        let pose = origin(self.node(id));
        let relative_to = if parent == "world" { "__model__" } else { &parent };
        self.pose(joint, &pose, relative_to, id);
        self.add(joint, "parent", &parent, id);
        self.add(joint, "child", &child, id);
        self.made.insert(("joint", name), joint);
        if kind == "fixed" {
            return;
        }
        let axis = self.add(joint, "axis", "", id);
        let given = self.child(id, "axis");
        let xyz = given.and_then(|a| self.attribute(a, "xyz")).unwrap_or_else(|| "1 0 0".to_owned());
        self.add(axis, "xyz", &xyz, given.unwrap_or(id));
        let limit = self.add(axis, "limit", "", self.child(id, "limit").unwrap_or(id));
        self.copy(
            id,
            "limit",
            limit,
            &[("lower", "lower"), ("upper", "upper"), ("effort", "effort"), ("velocity", "velocity")],
        );
        if let Some(given) = self.child(id, "dynamics") {
            let dynamics = self.add(axis, "dynamics", "", given);
            self.copy(id, "dynamics", dynamics, &[("damping", "damping"), ("friction", "friction")]);
        }
        if let Some(given) = self.child(id, "mimic") {
            let mimic = self.add(axis, "mimic", "", given);
            let leader = self.attribute(given, "joint").unwrap_or_default();
            self.document.set_attribute(mimic, "joint", &leader);
            self.copy(id, "mimic", mimic, &[("multiplier", "multiplier"), ("offset", "offset")]);
        }
    }

    /// Copies attributes of a child of `id` to elements in `to`.
    fn copy(&mut self, id: u32, child: &str, to: u32, names: &[(&str, &str)]) {
        let Some(given) = self.child(id, child) else { return };
        for (from, name) in names {
            if let Some(value) = self.attribute(given, from) {
                self.add(to, name, &value, given);
            }
        }
    }

    /// `<gazebo reference=…>`: SDF for a link or joint, or for the model.
    fn extension(&mut self, id: u32) {
        let target = match self.attribute(id, "reference").filter(|r| !r.is_empty()) {
            None => self.model,
            Some(name) => {
                let link = self.made.get(&("link", name.clone())).copied();
                let joint = self.made.get(&("joint", name.clone())).copied();
                let Some(found) = link.or(joint) else {
                    self.warn(id, format!("<gazebo reference=\"{name}\"> names no link or joint of the robot"));
                    return;
                };
                if self.node(found).name() == "frame" {
                    self.warn(
                        id,
                        format!("link {name} is a frame of another link: what <gazebo> says of it is not read"),
                    );
                    return;
                }
                found
            }
        };
        let parts: Vec<u32> = self.node(id).children().map(|c| c.id().0).collect();
        for part in parts {
            let text = self.node(part).text().to_owned();
            match self.node(part).name() {
                "mu1" | "mu" => self.surface(target, &["friction", "ode"], "mu", &text, part),
                "mu2" => self.surface(target, &["friction", "ode"], "mu2", &text, part),
                "kp" => self.surface(target, &["contact", "ode"], "kp", &text, part),
                "kd" => self.surface(target, &["contact", "ode"], "kd", &text, part),
                "maxVel" | "max_vel" => self.surface(target, &["contact", "ode"], "max_vel", &text, part),
                "minDepth" | "min_depth" => self.surface(target, &["contact", "ode"], "min_depth", &text, part),
                "selfCollide" | "self_collide" => _ = self.add(target, "self_collide", &text, part),
                "turnGravityOff" => {
                    let on = if matches!(text.as_str(), "true" | "1") { "false" } else { "true" };
                    self.add(target, "gravity", on, part);
                }
                // Colours, and switches of programs that are not this one.
                "material"
                | "disableFixedJointLumping"
                | "preserveFixedJoint"
                | "implicitSpringDamper"
                | "provideFeedback"
                | "fudgeFactor"
                | "stopCfm"
                | "stopErp"
                | "dampingFactor"
                | "maxContacts" => {}
                _ => {
                    self.document.detach(part);
                    self.document.append(target, part);
                }
            }
        }
    }

    /// Sets a value of the surface of each collision of a link.
    fn surface(&mut self, link: u32, path: &[&str], name: &str, value: &str, place: u32) {
        for collision in self.children(link, "collision") {
            let mut at = collision;
            for step in std::iter::once(&"surface").chain(path) {
                at = match self.child(at, step) {
                    Some(known) => known,
                    None => self.add(at, step, "", place),
                };
            }
            self.add(at, name, value, place);
        }
    }
}
