//! A document held against the descriptions: names, counts and the form of every value, once per file.

use super::{Count, ElementRule, Schema, ValueType};
use crate::sdf::diagnostic::{Code, Diagnostic, Severity};
use crate::sdf::read::MAX_FINDINGS;
use crate::sdf::tree::{Attribute, Node};
use crate::sdf::value::{self, RotationFormat};
use crate::suggest::nearest;

/// What is wrong with the elements below `root`, which the definition `definition` describes, in a file that was
/// written for `version`; and how many warnings and errors there are beyond those that are listed.
pub fn check(root: Node<'_>, definition: &str, version: (u32, u32)) -> (Vec<Diagnostic>, [usize; 2]) {
    let schema = Schema::get();
    let mut check = Check { schema, version, found: Vec::new(), counts: [0; 2] };
    if let Some(rule) = schema.definition(definition) {
        check.element(root, rule);
    }
    (check.found, check.counts.map(|count| count.saturating_sub(MAX_FINDINGS)))
}

/// The rule that an element of a document falls under.
pub fn rule_of(node: Node<'_>) -> Option<usize> {
    let schema = Schema::get();
    match node.parent() {
        None => schema.definition("root"),
        Some(parent) => schema.child(rule_of(parent)?, node.name()).map(|rule| rule.element),
    }
}

struct Check {
    schema: &'static Schema,
    /// The version that the file was written for.
    version: (u32, u32),
    found: Vec<Diagnostic>,
    /// How many warnings and errors there were, listed or not.
    counts: [usize; 2],
}

/// Whether a name belongs to somebody else than SDF: other readers skip it, and so do we.
fn foreign(name: &str) -> bool {
    name.contains(':') || name == "xmlns"
}

impl Check {
    fn report(&mut self, diagnostic: Diagnostic) {
        let severity = diagnostic.severity as usize;
        self.counts[severity] += 1;
        if self.counts[severity] <= MAX_FINDINGS {
            self.found.push(diagnostic);
        }
    }

    /// Whether there are more warnings than anybody reads. The rest is counted only: each costs a search for what may
    /// have been meant.
    fn is_full(&self) -> bool {
        self.counts[Severity::Warning as usize] >= MAX_FINDINGS
    }

    fn element(&mut self, node: Node<'_>, index: usize) {
        let rule = self.schema.element(index);
        self.attributes(node, rule);
        self.value(node, rule);
        if rule.open {
            return;
        }
        self.children(node, index);
        self.missing(node, rule);
    }

    fn children(&mut self, node: Node<'_>, index: usize) {
        // The rule of the child before: elements of one kind mostly stand together.
        let mut seen: Vec<&'static str> = Vec::new();
        for child in node.children() {
            let name = child.name();
            let Some(rule) = self.schema.child(index, name) else {
                if !foreign(name) {
                    self.unknown(child, node, index);
                }
                continue;
            };
            match rule.count {
                Count::One | Count::Optional => {
                    let name = self.schema.element(rule.element).name;
                    if seen.contains(&name) {
                        self.repeated(child, node);
                    } else {
                        seen.push(name);
                    }
                }
                Count::Deprecated => {
                    let message = format!("<{name}> in <{}> is deprecated", node.name());
                    self.report(
                        Diagnostic::warning(Code::ElementDeprecated, message).at(child.tag()).path(child.path()),
                    );
                }
                Count::Some | Count::Any => {}
            }
            self.element(child, rule.element);
        }
    }

    fn unknown(&mut self, child: Node<'_>, parent: Node<'_>, index: usize) {
        if self.is_full() {
            self.counts[Severity::Warning as usize] += 1;
            return;
        }
        let name = child.name();
        let near = nearest(name, self.schema.child_names(index));
        let help = match near {
            Some(near) => format!("did you mean <{near}>?"),
            None if self.schema.knows(name) => format!("<{name}> is an element of SDF, but not in <{}>", parent.name()),
            None => "an element of your own needs a namespace prefix, such as <my:name>".to_owned(),
        };
        let message = format!("unknown element <{name}> in <{}>", parent.name());
        self.report(Diagnostic::warning(Code::ElementUnknown, message).at(child.tag()).path(child.path()).help(help));
    }

    fn repeated(&mut self, child: Node<'_>, parent: Node<'_>) {
        let message = format!("a second <{}> in <{}>: only the first one counts", child.name(), parent.name());
        self.report(Diagnostic::warning(Code::ElementRepeated, message).at(child.tag()).path(child.path()));
    }

    /// Elements that the format wants and that have no sensible default.
    fn missing(&mut self, node: Node<'_>, rule: &ElementRule) {
        // A joint must say what it joins; elsewhere the format's defaults stand in, as its readers do it.
        if rule.name != "joint" || node.attribute_value("type") == Some("ball") || rule.children.is_empty() {
            return;
        }
        for child in &rule.children {
            let wanted = self.schema.element(child.element).name;
            if matches!(child.count, Count::One | Count::Some) && node.child(wanted).is_none() {
                let message = format!("<{wanted}> is missing in <{}>", node.name());
                self.report(
                    Diagnostic::error(Code::ElementMissing, message)
                        .at(node.tag())
                        .path(node.path())
                        .help(format!("add <{wanted}>NAME</{wanted}>")),
                );
            }
        }
    }

    fn attributes(&mut self, node: Node<'_>, rule: &ElementRule) {
        for attribute in node.attributes() {
            let name = attribute.name();
            match rule.attributes.iter().find(|r| r.name == name) {
                Some(known) => self.attribute(node, attribute, known.value),
                None if foreign(name) || rule.open => {}
                None if self.is_full() => self.counts[Severity::Warning as usize] += 1,
                None => {
                    let near = nearest(name, rule.attributes.iter().map(|r| r.name));
                    let message = format!("unknown attribute {name} on <{}>", node.name());
                    self.report(
                        Diagnostic::warning(Code::AttributeUnknown, message)
                            .at(attribute.span())
                            .path(node.path())
                            .help_if(near.map(|near| format!("did you mean {near}?"))),
                    );
                }
            }
        }
        if self.version >= (1, 8)
            && rule.name != "plugin"
            && let Some(name) = node.attribute("name").filter(|name| name.value().contains("::"))
        {
            let message = format!("the name \"{}\" holds ::, which tells a model from its parts", name.value());
            self.report(
                Diagnostic::error(Code::ReservedName, message)
                    .at(name.value_span())
                    .path(node.path())
                    .help("nest the part in a <model> of its own, or choose another name"),
            );
        }
        for wanted in rule.attributes.iter().filter(|r| r.required) {
            // What a missing version means was said when the root was looked at.
            let defaulted = rule.name == "sdf";
            if !defaulted && node.attribute(wanted.name).is_none() {
                let message = format!("<{}> has no attribute {}", node.name(), wanted.name);
                self.report(
                    Diagnostic::error(Code::AttributeMissing, message).at(node.tag()).path(node.path()).help(format!(
                        "write <{} {}=\"…\">",
                        node.name(),
                        wanted.name
                    )),
                );
            }
        }
    }

    fn attribute(&mut self, node: Node<'_>, attribute: Attribute<'_>, kind: ValueType) {
        let text = attribute.value();
        if text.is_empty() && kind != ValueType::Text {
            return;
        }
        if let Err(wrong) = form(text, kind, RotationFormat::Radians).and_then(|form| form.bounded(text, false)) {
            let message = format!("{} of <{}>: {wrong}", attribute.name(), node.name());
            self.report(
                Diagnostic::error(Code::AttributeInvalid, message)
                    .at(attribute.value_span())
                    .path(node.path())
                    .help(format!("{} is {}", attribute.name(), kind.expected())),
            );
        }
    }

    fn value(&mut self, node: Node<'_>, rule: &ElementRule) {
        let Some(kind) = rule.value else { return };
        let text = node.text();
        // An empty element stands for its default.
        if text.is_empty() || kind == ValueType::Text {
            return;
        }
        let wrong =
            match form(text, kind, rotation_format(node)).and_then(|form| form.bounded(text, may_be_infinite(node))) {
                Ok(Form { number, rest, .. }) => {
                    if !rest.is_empty() {
                        let message =
                            format!("<{}>: \"{}\" behind the value is not read", node.name(), value::shorten(rest));
                        let diagnostic = Diagnostic::warning(Code::ElementInvalid, message).at(node.value_span());
                        let help = format!("<{}> holds {}", node.name(), expected(node, kind));
                        self.report(diagnostic.path(node.path()).help(help));
                    }
                    match (&rule.range, number) {
                        (Some(range), Some(number)) if !range.contains(&number) => {
                            let (least, most) = (range.start(), range.end());
                            format!("{number} is not between {least} and {most}")
                        }
                        _ => return,
                    }
                }
                Err(wrong) => wrong,
            };
        let message = format!("<{}>: {wrong}", node.name());
        self.report(
            Diagnostic::error(Code::ElementInvalid, message).at(node.value_span()).path(node.path()).help(format!(
                "<{}> holds {}{}",
                node.name(),
                expected(node, kind),
                bounds(rule)
            )),
        );
    }
}

/// The bounds of a number, for a sentence.
fn bounds(rule: &ElementRule) -> String {
    match rule.range.as_ref().map(|r| (*r.start(), *r.end())) {
        Some((least, most)) if most.is_finite() => format!(" from {least} to {most}"),
        Some((least, _)) => format!(" from {least}"),
        None => String::new(),
    }
}

fn expected(node: Node<'_>, kind: ValueType) -> &'static str {
    match (kind, rotation_format(node)) {
        (ValueType::Pose, RotationFormat::Quaternion) => "seven numbers \"x y z qx qy qz qw\" (m)",
        (ValueType::Pose, RotationFormat::Degrees) => "six numbers \"x y z roll pitch yaw\" (m, degrees)",
        _ => kind.expected(),
    }
}

/// How a pose element writes its rotation.
pub fn rotation_format(node: Node<'_>) -> RotationFormat {
    if node.attribute_value("rotation_format") == Some("quat_xyzw") {
        RotationFormat::Quaternion
    } else if node.attribute_value("degrees").is_some_and(|v| value::boolean(v) == Ok(true)) {
        RotationFormat::Degrees
    } else {
        RotationFormat::Radians
    }
}

/// Whether the format gives an infinite number in this element a meaning: bounds that are none.
pub fn may_be_infinite(node: Node<'_>) -> bool {
    match node.name() {
        "lower" | "upper" | "effort" | "velocity" => node.parent().is_some_and(|p| p.name() == "limit"),
        "min" | "max" => true,
        // Read with a warning that says what counts instead.
        "real_time_factor" => true,
        _ => false,
    }
}

/// A value that has the form of its kind.
struct Form<'a> {
    /// The number where it is one.
    number: Option<f64>,
    /// Whether all of its numbers are finite.
    finite: bool,
    /// What stands behind the value.
    rest: &'a str,
}

impl<'a> Form<'a> {
    /// The numbers of a list.
    fn list<const N: usize>((numbers, rest): ([f64; N], &'a str)) -> Self {
        Self { number: None, finite: numbers.iter().all(|n| n.is_finite()), rest }
    }

    /// The form, where its numbers are finite or may be infinite.
    fn bounded(self, text: &str, may_be_infinite: bool) -> Result<Self, String> {
        if self.finite || may_be_infinite { Ok(self) } else { Err(value::not_finite(text)) }
    }
}

/// Holds a text against the form of its kind.
fn form(text: &str, kind: ValueType, rotation: RotationFormat) -> Result<Form<'_>, String> {
    let whole = Form { number: None, finite: true, rest: "" };
    match kind {
        ValueType::Text => Ok(whole),
        ValueType::Bool => value::boolean(text).map(|_| whole),
        ValueType::Int | ValueType::Unsigned => {
            let (number, rest) = value::leading_integer(text)?;
            if kind == ValueType::Unsigned {
                value::not_negative(number, text)?;
            }
            Ok(Form { number: Some(number as f64), finite: true, rest })
        }
        ValueType::Number => {
            let ([number], rest) = value::leading_numbers::<1>(text)?;
            Ok(Form { number: Some(number), finite: number.is_finite(), rest })
        }
        ValueType::Vector2 => value::leading_numbers::<2>(text).map(Form::list),
        ValueType::Vector3 => value::leading_numbers::<3>(text).map(Form::list),
        ValueType::Color => value::color(text).map(|_| whole),
        ValueType::Pose => value::pose(text, rotation).map(|_| whole),
        ValueType::Time => value::time(text).map(|time| Form { finite: time.is_finite(), ..whole }),
    }
}
