//! What SDF says may stand where: the element descriptions, and a document held against them.

mod check;

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::OnceLock;

pub(super) use check::{check, may_be_infinite, rotation_format, rule_of};

const ELEMENTS: &str = include_str!("elements.txt");

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// Any text.
    Text,
    /// `true`, `false`, `1`, `0`.
    Bool,
    /// A whole number.
    Int,
    /// A whole number from zero.
    Unsigned,
    /// A number.
    Number,
    /// Two numbers.
    Vector2,
    /// Three numbers.
    Vector3,
    /// Three or four numbers between 0 and 1.
    Color,
    /// A position and a rotation.
    Pose,
    /// Seconds, or seconds and nanoseconds.
    Time,
}

impl ValueType {
    fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "str" => Self::Text,
            "bool" => Self::Bool,
            "int" => Self::Int,
            "uint" => Self::Unsigned,
            "num" => Self::Number,
            "vec2" => Self::Vector2,
            "vec3" => Self::Vector3,
            "color" => Self::Color,
            "pose" => Self::Pose,
            "time" => Self::Time,
            _ => return None,
        })
    }

    /// What a message says would be right.
    pub fn expected(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Bool => "true or false",
            Self::Int => "a whole number",
            Self::Unsigned => "a whole number from 0",
            Self::Number => "a number",
            Self::Vector2 => "two numbers",
            Self::Vector3 => "three numbers \"x y z\"",
            Self::Color => "three or four numbers between 0 and 1, \"red green blue alpha\"",
            Self::Pose => "six numbers \"x y z roll pitch yaw\" (m, rad)",
            Self::Time => "seconds, or \"seconds nanoseconds\"",
        }
    }
}

/// How often an element may stand in its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Exactly once; where it is left out, its default counts.
    One,
    /// Once or not at all.
    Optional,
    /// At least once.
    Some,
    /// Any number of times.
    Any,
    /// Known, but not to be used any more.
    Deprecated,
}

/// An attribute of an element.
#[derive(Debug)]
pub struct AttributeRule {
    /// Its name.
    pub name: &'static str,
    /// Whether it must be there.
    pub required: bool,
    /// The kind of its value.
    pub value: ValueType,
}

/// An element in another one.
#[derive(Debug)]
pub struct ChildRule {
    /// How often it may stand there.
    pub count: Count,
    /// What it is.
    pub element: usize,
}

/// An element.
#[derive(Debug)]
pub struct ElementRule {
    /// Its name.
    pub name: &'static str,
    /// The kind of its value; `None` where it has only children.
    pub value: Option<ValueType>,
    /// The smallest and the largest number that it may hold.
    pub range: Option<RangeInclusive<f64>>,
    /// Whether elements of any name may stand in it.
    pub open: bool,
    /// Its attributes.
    pub attributes: Vec<AttributeRule>,
    /// The elements in it.
    pub children: Vec<ChildRule>,
}

/// All elements of SDF.
pub struct Schema {
    elements: Vec<ElementRule>,
    definitions: HashMap<&'static str, usize>,
}

impl Schema {
    /// The description of the current version.
    pub fn get() -> &'static Schema {
        static SCHEMA: OnceLock<Schema> = OnceLock::new();
        SCHEMA.get_or_init(|| Schema::parse(ELEMENTS))
    }

    /// An element by its index.
    pub fn element(&self, index: usize) -> &ElementRule {
        &self.elements[index]
    }

    /// The element that a `def` describes.
    pub fn definition(&self, name: &str) -> Option<usize> {
        self.definitions.get(name).copied()
    }

    /// The rule for elements called `name` in `parent`.
    pub fn child(&self, parent: usize, name: &str) -> Option<&ChildRule> {
        self.elements[parent].children.iter().find(|c| self.elements[c.element].name == name)
    }

    /// The names of all elements that may stand in `parent`.
    pub fn child_names(&self, parent: usize) -> impl Iterator<Item = &'static str> + '_ {
        self.elements[parent].children.iter().map(|c| self.elements[c.element].name)
    }

    /// Whether any element of SDF is called `name`.
    pub fn knows(&self, name: &str) -> bool {
        self.elements.iter().any(|e| e.name == name)
    }

    /// Reads the table. A line that is not of its form is skipped here and found by the test of the table.
    fn parse(text: &'static str) -> Schema {
        let mut schema = Schema { elements: Vec::new(), definitions: HashMap::new() };
        let mut references = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        let mut definition = "";
        for line in text.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty()) {
            let depth = (line.len() - line.trim_start().len()) / 2;
            let words: Vec<&'static str> = line.split_whitespace().collect();
            if let ["def", name] = words[..] {
                definition = name;
                open.clear();
                continue;
            }
            open.truncate(depth.saturating_sub(1));
            schema.line(&words, definition, &mut open, &mut references);
        }
        for (parent, count, name) in references {
            if let Some(element) = schema.definition(name) {
                schema.elements[parent].children.push(ChildRule { count, element });
            }
        }
        schema
    }

    fn line(
        &mut self,
        words: &[&'static str],
        definition: &'static str,
        open: &mut Vec<usize>,
        references: &mut Vec<(usize, Count, &'static str)>,
    ) {
        let parent = open.last().copied();
        match (words, parent) {
            (["anything"], Some(parent)) => self.elements[parent].open = true,
            (["@", how, name, kind, ..], Some(parent)) => {
                let Some(value) = ValueType::from_word(kind) else { return };
                self.elements[parent].attributes.push(AttributeRule { name, required: *how == "1", value });
            }
            ([how, _, ":", target], Some(parent)) => references.push((parent, count(how), target)),
            ([how, name, rest @ ..], _) => {
                let index = self.elements.len();
                self.elements.push(ElementRule {
                    name,
                    value: rest.first().and_then(|kind| ValueType::from_word(kind)),
                    range: range(rest),
                    open: false,
                    attributes: Vec::new(),
                    children: Vec::new(),
                });
                match parent {
                    Some(parent) => {
                        self.elements[parent].children.push(ChildRule { count: count(how), element: index })
                    }
                    None => {
                        self.definitions.insert(definition, index);
                    }
                }
                open.push(index);
            }
            _ => {}
        }
    }
}

fn count(word: &str) -> Count {
    match word {
        "1" => Count::One,
        "+" => Count::Some,
        "*" => Count::Any,
        "-" => Count::Deprecated,
        _ => Count::Optional,
    }
}

/// The range at the end of a line, such as `[0.0..1.0]` or `[0..]`.
fn range(words: &[&str]) -> Option<RangeInclusive<f64>> {
    let joined = words.join(" ");
    let inner = joined.split_once('[')?.1.trim_end_matches(']');
    let (least, most) = inner.split_once("..")?;
    let bound = |text: &str, open: f64| text.split_whitespace().next().and_then(|t| t.parse().ok()).unwrap_or(open);
    Some(bound(least, f64::NEG_INFINITY)..=bound(most, f64::INFINITY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_to_the_last_line() {
        let schema = Schema::get();
        let lines = ELEMENTS.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty());
        for line in lines {
            let words: Vec<_> = line.split_whitespace().collect();
            match words[..] {
                ["def", name] => assert!(schema.definition(name).is_some(), "{line}"),
                ["@", _, _, kind, ..] => assert!(ValueType::from_word(kind).is_some(), "{line}"),
                [_, _, ":", target] => assert!(schema.definition(target).is_some(), "{line}"),
                ["anything"] => {}
                [how, _, kind, ..] => assert!("1?+*-".contains(how) && ValueType::from_word(kind).is_some(), "{line}"),
                [how, _] => assert!("1?+*-".contains(how), "{line}"),
                _ => panic!("{line}"),
            }
        }
    }

    #[test]
    fn elements_are_found_where_they_belong() {
        let schema = Schema::get();
        let world = schema.child(schema.definition("root").unwrap(), "world").unwrap().element;
        let model = schema.child(world, "model").unwrap().element;
        assert_eq!(schema.child(model, "model").unwrap().element, model);
        let link = schema.child(model, "link").unwrap().element;
        assert!(schema.child(link, "gravity").is_some() && schema.child(link, "colision").is_none());
        let camera = schema.element(schema.definition("camera").unwrap());
        let fov =
            camera.children.iter().map(|c| schema.element(c.element)).find(|e| e.name == "horizontal_fov").unwrap();
        assert_eq!(fov.range, Some(0.1..=6.283186));
    }
}
