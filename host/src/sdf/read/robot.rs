//! Elements of our own namespace.

use super::Reader;
use crate::sdf::diagnostic::{Code, Diagnostic};
use crate::sdf::tree::{Attribute, Node};
use crate::sdf::typed::{Axes, Element, Model, Robot, RobotKind};
use crate::sdf::value;
use crate::sdf::write::NAMESPACE;
use crate::suggest::nearest;

/// The prefix that our namespace has by custom, and has where a file forgets to declare it.
const PREFIX: &str = "tw";

/// Types of robots, and the attributes that each may have beside `type` and `axes`.
const TYPES: [(&str, &[&str]); 3] = [
    ("UAVLevel1", &["max_velocities"]),
    ("UAVLevel2", &["max_accelerations", "drag_coefficient"]),
    ("DiffDrive", &["max_velocities", "wheel_separation", "wheel_radius", "left_joint", "right_joint"]),
];

/// The limits of a robot that names none: 10 cm and about 3 degrees in each tick.
const MAX_STEP: [f64; 6] = [0.1, 0.1, 0.1, 0.05, 0.05, 0.05];
/// m/s² and rad/s².
const MAX_ACCELERATIONS: [f64; 6] = [5.0, 5.0, 5.0, 2.0, 2.0, 2.0];
/// 1/s.
const DRAG: f64 = 0.5;
/// m/s and rad/s.
const MAX_DRIVE: [f64; 2] = [1.0, 2.0];

impl Reader<'_> {
    /// Reads what stands in our namespace in `node`; `model` is `None` where robots cannot be.
    pub(super) fn own_elements(&mut self, node: Node<'_>, mut model: Option<&mut Model>) {
        for child in node.children() {
            let Some((prefix, name)) = child.name().split_once(':') else { continue };
            if !self.is_own(child, prefix) {
                continue;
            }
            if name != "robot" {
                let message = format!("unknown element <{}> in <{}>", child.name(), node.name());
                let help = match nearest(name, ["robot"]) {
                    Some(_) => "did you mean <tw:robot>?",
                    None => "the namespace tw has <tw:robot>",
                };
                self.report(
                    Diagnostic::warning(Code::ElementUnknown, message).at(child.tag()).path(child.path()).help(help),
                );
            } else if let Some(model) = model.as_deref_mut() {
                if model.robot.is_some() {
                    self.error(Code::RobotInvalid, child, format!("model {} has two <tw:robot>", model.name));
                }
                model.robot = self.robot(child, model);
            } else {
                let diagnostic = Diagnostic::error(Code::RobotInvalid, format!("<tw:robot> in <{}>", node.name()));
                self.report(diagnostic.at(child.tag()).path(child.path()).help("it belongs into a <model>"));
            }
        }
    }

    /// Whether an element with this prefix is of our namespace.
    fn is_own(&mut self, node: Node<'_>, prefix: &str) -> bool {
        let declaration = format!("xmlns:{prefix}");
        let around = std::iter::successors(Some(node), |node| node.parent());
        match around.into_iter().find_map(|node| node.attribute_value(&declaration)) {
            Some(NAMESPACE) => true,
            Some(other) if prefix == PREFIX => {
                let message =
                    format!("<{}> is of the namespace \"{}\", and is skipped", node.name(), value::shorten(other));
                let diagnostic = Diagnostic::warning(Code::ElementUnknown, message).at(node.tag()).path(node.path());
                self.report(diagnostic.help(format!("declare xmlns:tw=\"{NAMESPACE}\"")));
                false
            }
            None if prefix == PREFIX => {
                // Once is enough, however many robots there are.
                if !std::mem::replace(&mut self.undeclared, true) {
                    let message = format!("the prefix of <{}> is not declared", node.name());
                    let diagnostic =
                        Diagnostic::warning(Code::ElementUnknown, message).at(node.tag()).path(node.path());
                    self.report(diagnostic.help(format!("write xmlns:tw=\"{NAMESPACE}\" into <sdf>")));
                }
                true
            }
            _ => false,
        }
    }

    fn robot(&mut self, node: Node<'_>, model: &Model) -> Option<Robot> {
        let names = TYPES.map(|(name, _)| name);
        let Some(kind) = node.attribute("type") else {
            let diagnostic = Diagnostic::error(Code::RobotInvalid, "<tw:robot> has no attribute type");
            self.report(
                diagnostic.at(node.tag()).path(node.path()).help(format!("write type=\"{}\"", names.join("|"))),
            );
            return None;
        };
        let Some((_, own)) = TYPES.iter().find(|(name, _)| *name == kind.value()) else {
            let message = format!("\"{}\" is no type of robot", value::shorten(kind.value()));
            let help = match nearest(kind.value(), names) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("the types are {}", names.join(", ")),
            };
            self.robot_error(node, kind, message, &help);
            return None;
        };
        self.robot_attributes(node, kind.value(), own);
        let axes = match node.attribute("axes") {
            None => Axes::Luf,
            Some(axes) => match axes.value() {
                "luf" => Axes::Luf,
                "flu" => Axes::Flu,
                other => {
                    let message = format!("axes \"{}\" are not known", value::shorten(other));
                    self.robot_error(node, axes, message, "write luf (left, up, forward) or flu (forward, left, up)");
                    Axes::Luf
                }
            },
        };
        let kind = match kind.value() {
            "UAVLevel1" => RobotKind::UavLevel1 { max_velocities: self.robot_limits(node, "max_velocities", MAX_STEP) },
            "UAVLevel2" => RobotKind::UavLevel2 {
                max_accelerations: self.robot_limits(node, "max_accelerations", MAX_ACCELERATIONS),
                drag_coefficient: self.robot_number(node, "drag_coefficient", 0.0).unwrap_or(DRAG),
            },
            _ => self.diff_drive(node, model)?,
        };
        let mut element = Element::from_node(node);
        // Written out it has the prefix that the file written declares.
        element.name = format!("{PREFIX}:robot");
        Some(Robot { kind, axes, element, span: node.span() })
    }

    fn diff_drive(&mut self, node: Node<'_>, model: &Model) -> Option<RobotKind> {
        let left_joint = self.robot_joint(node, "left_joint", model);
        let right_joint = self.robot_joint(node, "right_joint", model);
        Some(RobotKind::DiffDrive {
            max_velocities: self.robot_limits(node, "max_velocities", MAX_DRIVE),
            wheel_separation: self.robot_number(node, "wheel_separation", f64::MIN_POSITIVE),
            wheel_radius: self.robot_number(node, "wheel_radius", f64::MIN_POSITIVE),
            left_joint: left_joint?,
            right_joint: right_joint?,
        })
    }

    fn robot_error(&mut self, node: Node<'_>, at: Attribute<'_>, message: String, help: &str) {
        let message = format!("<tw:robot>: {message}");
        self.report(Diagnostic::error(Code::RobotInvalid, message).at(at.value_span()).path(node.path()).help(help));
    }

    fn robot_attributes(&mut self, node: Node<'_>, kind: &str, own: &[&str]) {
        let known = || own.iter().copied().chain(["type", "axes"]);
        for attribute in node.attributes() {
            let name = attribute.name();
            if known().any(|k| k == name) || name.contains(':') || name == "xmlns" {
                continue;
            }
            let elsewhere = TYPES.iter().find(|(_, own)| own.contains(&name)).map(|(kind, _)| kind);
            let help = match (nearest(name, known()), elsewhere) {
                (Some(near), _) => format!("did you mean {near}?"),
                (None, Some(other)) => format!("{name} belongs to type {other}, this is a {kind}"),
                (None, None) => format!("a {kind} has {}", known().collect::<Vec<_>>().join(", ")),
            };
            let message = format!("unknown attribute {name} on <tw:robot>");
            let diagnostic = Diagnostic::warning(Code::AttributeUnknown, message);
            self.report(diagnostic.at(attribute.span()).path(node.path()).help(help));
        }
    }

    /// Limits along each axis: finite, not negative; one number stands for all of them.
    fn robot_limits<const N: usize>(&mut self, node: Node<'_>, name: &str, default: [f64; N]) -> [f64; N] {
        let Some(attribute) = node.attribute(name) else { return default };
        let text = attribute.value();
        let values = if text.split_ascii_whitespace().count() == 1 {
            value::number(text).map(|n| [n; N])
        } else {
            value::numbers::<N>(text)
        };
        match values {
            Ok(values) if values.iter().all(|v| v.is_finite() && *v >= 0.0) => values,
            Ok(_) => {
                let message = format!("{name}=\"{}\" has a limit that is negative or not finite", value::shorten(text));
                self.robot_error(node, attribute, message, "limits are numbers from 0");
                default
            }
            Err(wrong) => {
                self.robot_error(node, attribute, format!("{name}: {wrong}"), &format!("write {N} numbers from 0"));
                default
            }
        }
    }

    fn robot_number(&mut self, node: Node<'_>, name: &str, least: f64) -> Option<f64> {
        let attribute = node.attribute(name)?;
        match value::number(attribute.value()) {
            Ok(number) if number.is_finite() && number >= least => Some(number),
            Ok(number) => {
                let right = if least > 0.0 { "a number above 0" } else { "a number from 0" };
                self.robot_error(node, attribute, format!("{name} is {number}"), &format!("write {right}"));
                None
            }
            Err(wrong) => {
                self.robot_error(node, attribute, format!("{name}: {wrong}"), "write a number");
                None
            }
        }
    }

    /// A joint of the model that the robot is. Where the file names none, the one that is called so.
    fn robot_joint(&mut self, node: Node<'_>, name: &str, model: &Model) -> Option<String> {
        let joints = || model.joints.iter().map(|j| j.name.as_str());
        match node.attribute(name) {
            Some(attribute) if joints().any(|j| j == attribute.value()) || attribute.value().contains("::") => {
                Some(attribute.value().to_owned())
            }
            Some(attribute) => {
                let message = format!("{name}=\"{}\": model {} has no such joint", attribute.value(), model.name);
                let help = match nearest(attribute.value(), joints()) {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("its joints are {}", list(joints())),
                };
                self.robot_error(node, attribute, message, &help);
                None
            }
            None if joints().any(|j| j == name) => Some(name.to_owned()),
            None => {
                let diagnostic = Diagnostic::error(Code::RobotInvalid, format!("<tw:robot> has no attribute {name}"));
                let help = format!("name the joint of the wheel; the joints of {} are {}", model.name, list(joints()));
                self.report(diagnostic.at(node.tag()).path(node.path()).help(help));
                None
            }
        }
    }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.take(20).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
