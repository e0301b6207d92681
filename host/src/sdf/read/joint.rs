//! Joints.

use glamx::DVec3;

use super::Reader;
use crate::sdf::diagnostic::{Code, Diagnostic};
use crate::sdf::tree::Node;
use crate::sdf::typed::{Dynamics, Joint, JointAxis, JointKind, Limits, LinkRef, Mimic};
use crate::suggest::nearest;

/// From here on a limit is none: the format writes ±1e16 for it.
const NO_LIMIT: f64 = 1e15;
/// What the format writes for no limit.
const WRITTEN: [f64; 2] = [-1e16, 1e16];

impl Reader<'_> {
    /// Reads a joint; `None` where its type is not known.
    pub(super) fn joint(&mut self, node: Node<'_>) -> Option<Joint> {
        let kind = self.joint_kind(node)?;
        let name = self.name(node);
        let mut axes = Vec::new();
        for (index, axis_name) in ["axis", "axis2"].into_iter().enumerate() {
            match node.child(axis_name) {
                Some(axis) if axes.len() == index => axes.push(self.axis(axis, kind)),
                None if index < kind.axes() && axes.len() == index => {
                    let diagnostic = Diagnostic::warning(
                        Code::ElementMissing,
                        format!("joint {name} is {} and has no <{axis_name}>", kind.name()),
                    );
                    self.report(diagnostic.at(node.tag()).path(node.path()).help("the axis is taken as 0 0 1"));
                    axes.push(JointAxis {
                        xyz: DVec3::Z,
                        expressed_in: String::new(),
                        xyz_in_joint: DVec3::Z,
                        xyz_in_model: DVec3::Z,
                        limits: Limits::default(),
                        limits_written: WRITTEN,
                        dynamics: Dynamics::default(),
                        position: 0.0,
                        mimic: None,
                        span: node.span(),
                    });
                }
                _ => {}
            }
        }
        let (parent, parent_span) = self.end(node, "parent");
        let (child, child_span) = self.end(node, "child");
        let thread_pitch = match (node.child("screw_thread_pitch"), node.child("thread_pitch")) {
            (Some(_), _) => self.number(node, "screw_thread_pitch", 1.0),
            // The older element counts radians for each metre, with the sign turned.
            (None, Some(_)) => match self.number(node, "thread_pitch", 1.0) {
                0.0 => 0.0,
                old => -std::f64::consts::TAU / old,
            },
            (None, None) => 1.0,
        };
        let feedback = node.child("physics").is_some_and(|p| self.flag(p, "provide_feedback", false));
        Some(Joint {
            name,
            kind,
            pose: self.pose(node),
            parent,
            child,
            parent_link: LinkRef::Unresolved,
            child_link: LinkRef::Unresolved,
            pose_in_model: Default::default(),
            pose_in_child: Default::default(),
            world_pose: Default::default(),
            axes,
            thread_pitch,
            gearbox_ratio: self.number(node, "gearbox_ratio", 1.0),
            gearbox_reference_body: self.text(node, "gearbox_reference_body", ""),
            provide_feedback: feedback,
            sensors: node.children_named("sensor").map(|s| self.sensor(s)).collect(),
            span: node.span(),
            parent_span,
            child_span,
        })
    }

    fn joint_kind(&mut self, node: Node<'_>) -> Option<JointKind> {
        let attribute = node.attribute("type")?;
        let text = attribute.value();
        if let Some((kind, _)) = JointKind::ALL.iter().find(|(_, name)| name.eq_ignore_ascii_case(text)) {
            return Some(*kind);
        }
        let names = JointKind::ALL.map(|(_, name)| name);
        let help = match nearest(text, names) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("the types are {}", names.join(", ")),
        };
        let diagnostic = Diagnostic::error(Code::AttributeInvalid, format!("\"{text}\" is no type of joint"));
        self.report(diagnostic.at(attribute.value_span()).path(node.path()).help(help));
        None
    }

    fn end(&mut self, node: Node<'_>, name: &str) -> (String, crate::sdf::source::Span) {
        match node.child(name) {
            Some(child) => {
                let frame = child.text();
                if super::is_reserved(frame) && frame != "__model__" && frame != "world" {
                    let message =
                        format!("the {name} of a joint is {frame}, a name that only the format itself may use");
                    self.report(
                        Diagnostic::error(Code::ReservedName, message).at(child.value_span()).path(child.path()),
                    );
                }
                (frame.to_owned(), child.value_span())
            }
            None => (String::new(), node.tag()),
        }
    }

    fn axis(&mut self, node: Node<'_>, kind: JointKind) -> JointAxis {
        let xyz = self.vector(node, "xyz", DVec3::Z);
        let unit = xyz.try_normalize().filter(|unit| unit.is_finite()).unwrap_or_else(|| {
            let at = node.child("xyz").unwrap_or(node);
            let diagnostic = Diagnostic::error(Code::ElementInvalid, "the axis of a joint has no direction");
            self.report(diagnostic.at(at.value_span()).path(at.path()).help("write a vector such as 0 0 1"));
            DVec3::Z
        });
        let mut dynamics = Dynamics::default();
        if let Some(d) = node.child("dynamics") {
            dynamics = Dynamics {
                damping: self.number(d, "damping", 0.0),
                friction: self.number(d, "friction", 0.0),
                spring_reference: self.number(d, "spring_reference", 0.0),
                spring_stiffness: self.number(d, "spring_stiffness", 0.0),
            };
        }
        JointAxis {
            xyz: unit,
            expressed_in: node.child("xyz").map(|xyz| self.frame_name(xyz, "expressed_in")).unwrap_or_default(),
            xyz_in_joint: unit,
            xyz_in_model: unit,
            limits: self.limits(node, kind),
            limits_written: node.child("limit").map_or(WRITTEN, |limit| {
                [self.number(limit, "lower", WRITTEN[0]), self.number(limit, "upper", WRITTEN[1])]
            }),
            dynamics,
            position: 0.0,
            mimic: node.child("mimic").map(|mimic| self.mimic(mimic)),
            span: node.span(),
        }
    }

    fn limits(&mut self, node: Node<'_>, kind: JointKind) -> Limits {
        let mut limits = Limits::default();
        let Some(limit) = node.child("limit") else { return limits };
        let lower = self.number(limit, "lower", f64::NEG_INFINITY);
        let upper = self.number(limit, "upper", f64::INFINITY);
        if kind != JointKind::Continuous {
            limits.lower = if lower <= -NO_LIMIT { f64::NEG_INFINITY } else { lower };
            limits.upper = if upper >= NO_LIMIT { f64::INFINITY } else { upper };
        }
        if limits.lower > limits.upper {
            let message = format!("the lower limit {lower} is above the upper limit {upper}: the joint is locked");
            self.warn(Code::ElementInvalid, limit, message);
        }
        // Below zero stands for none.
        let bound = |value: f64| if (0.0..NO_LIMIT).contains(&value) { value } else { f64::INFINITY };
        limits.effort = bound(self.number(limit, "effort", -1.0));
        limits.velocity = bound(self.number(limit, "velocity", -1.0));
        limits.stiffness = self.number(limit, "stiffness", limits.stiffness);
        limits.dissipation = self.number(limit, "dissipation", limits.dissipation);
        limits
    }

    fn mimic(&mut self, node: Node<'_>) -> Mimic {
        Mimic {
            joint: node.attribute_value("joint").unwrap_or("").to_owned(),
            axis: node.attribute_value("axis").unwrap_or("axis").to_owned(),
            multiplier: self.number(node, "multiplier", 1.0),
            offset: self.number(node, "offset", 0.0),
            reference: self.number(node, "reference", 0.0),
            span: node.span(),
        }
    }
}
