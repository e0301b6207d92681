//! What an instance is created with: its parameters and its place in the world.
#![forbid(unsafe_code)]

use crate::{EntityId, Error};
use serde::{Deserialize, Serialize, Serializer};
use std::path::PathBuf;
use std::str::FromStr;

/// What [`Plugin::create`](crate::Plugin::create) gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// The instance's name: the plugin's id, or the `name` of the `<plugin>` element that asked for it.
    pub instance: String,
    /// The parameters: the `<plugin>` element with its children, in document order. Empty without one.
    pub parameters: Element,
    /// The model that the `<plugin>` element stands in; `None` for one of the world or of the command line.
    pub model: Option<ModelRef>,
    /// The world.
    pub world: WorldRef,
    /// Ticks a second, Hz.
    pub rate_hz: f64,
    /// The run's seed: derive every random generator from it, so that the run can be repeated.
    pub seed: u64,
}

/// A model, by id and by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRef {
    /// Its id.
    pub id: EntityId,
    /// Its scoped name.
    pub name: String,
}

/// The world that an instance lives in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorldRef {
    /// Its name.
    pub name: String,
    /// The file that it was read from; `None` when it came as text. Where the path is not UTF-8, what is not is replaced
    /// (U+FFFD): it is to be shown, and to be read from only if it is there.
    #[serde(serialize_with = "lossily")]
    pub file: Option<PathBuf>,
}

/// Any path has a JSON form: one that is not UTF-8 is no reason not to start.
#[expect(clippy::ref_option, reason = "the signature that serde calls")]
fn lossily<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(serializer)
}

/// An XML element: attributes, text and children in document order.
///
/// ```
/// use tickworks_plugin_api::Element;
/// # use tickworks_plugin_api::Error;
/// # fn main() -> Result<(), Error> {
/// // <plugin><laps>3</laps><gate model="gate_0"/><gate model="gate_1"/></plugin>
/// let parameters = Element::new("plugin")
///     .with_child(Element::new("laps").with_text("3"))
///     .with_child(Element::new("gate").with_attribute("model", "gate_0"))
///     .with_child(Element::new("gate").with_attribute("model", "gate_1"));
///
/// let laps: u32 = parameters.child_or("laps", 1)?;
/// assert_eq!(laps, 3);
/// let gates: Vec<_> = parameters.children_named("gate").filter_map(|gate| gate.attribute("model")).collect();
/// assert_eq!(gates, ["gate_0", "gate_1"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Element {
    /// The tag's name.
    pub name: String,
    /// Names and values, in document order.
    #[serde(default)]
    pub attributes: Vec<(String, String)>,
    /// The text directly inside, without white space around it.
    #[serde(default)]
    pub text: String,
    /// The elements inside, in document order.
    #[serde(default)]
    pub children: Vec<Element>,
}

impl Element {
    /// An empty element.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The same with this text.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// The same with one more attribute.
    #[must_use]
    pub fn with_attribute(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.attributes.push((name.into(), value.into()));
        self
    }

    /// The same with one more child.
    #[must_use]
    pub fn with_child(mut self, child: Self) -> Self {
        self.children.push(child);
        self
    }

    /// The first child of this name.
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// All children of this name.
    pub fn children_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> + 'a {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The text as a value: a number, a `bool` (`true` and `false`; use [`Element::parse_bool`] for `1` and `0`), text.
    ///
    /// # Errors
    /// Names the element and the text.
    pub fn parse<T: FromStr>(&self) -> Result<T, Error> {
        self.text
            .trim()
            .parse()
            .map_err(|_| Error::new(format!("<{}> is \"{}\", which is no {}", self.name, self.text, type_name::<T>())))
    }

    /// The text as SDF's boolean: `true`, `1`, `false`, `0`.
    ///
    /// # Errors
    /// Names the element and the text.
    pub fn parse_bool(&self) -> Result<bool, Error> {
        match self.text.trim() {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            other => Err(Error::new(format!("<{}> is \"{other}\", expected true or false", self.name))),
        }
    }

    /// The text as `N` finite numbers with white space between them, such as SDF's `x y z` and `x y z roll pitch yaw`.
    ///
    /// # Errors
    /// Names the element, how many numbers were expected, and the one that is wrong.
    pub fn parse_numbers<const N: usize>(&self) -> Result<[f64; N], Error> {
        numbers(&self.text).map_err(|what| Error::new(format!("<{}> {what}", self.name)))
    }

    /// The value of the child `name`, or `default` without one.
    ///
    /// # Errors
    /// The child's text is no such value; the error names both.
    pub fn child_or<T: FromStr>(&self, name: &str, default: T) -> Result<T, Error> {
        self.child(name).map_or(Ok(default), Self::parse)
    }

    /// The value of the child `name`.
    ///
    /// # Errors
    /// There is none, or its text is no such value; the error names both.
    pub fn required<T: FromStr>(&self, name: &str) -> Result<T, Error> {
        self.child(name).ok_or_else(|| Error::new(format!("<{}> has no <{name}>", self.name)))?.parse()
    }

    /// An attribute as a value, `None` without it.
    ///
    /// # Errors
    /// It is no such value; the error names element and attribute.
    pub fn parse_attribute<T: FromStr>(&self, name: &str) -> Result<Option<T>, Error> {
        self.attribute(name)
            .map(|text| {
                text.trim()
                    .parse()
                    .map_err(|_| Error::new(format!("{name}=\"{text}\" of <{}> is no {}", self.name, type_name::<T>())))
            })
            .transpose()
    }
}

fn numbers<const N: usize>(text: &str) -> Result<[f64; N], String> {
    let mut values = [0.0; N];
    let mut count = 0;
    for word in text.split_whitespace() {
        let value: f64 = word
            .parse()
            .ok()
            .filter(|value: &f64| value.is_finite())
            .ok_or(format!("holds \"{word}\", which is no finite number"))?;
        if let Some(slot) = values.get_mut(count) {
            *slot = value;
        }
        count += 1;
    }
    if count == N { Ok(values) } else { Err(format!("is \"{text}\" with {count} numbers, expected {N}")) }
}

/// A word for people: `number` for the float types, else the type's own name without its path.
fn type_name<T>() -> &'static str {
    let name = std::any::type_name::<T>();
    match name.rsplit("::").next().unwrap_or(name) {
        "f64" | "f32" => "number",
        "u8" | "u16" | "u32" | "u64" | "usize" => "whole number from 0",
        "i8" | "i16" | "i32" | "i64" | "isize" => "whole number",
        short => short,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_element() {
        let plugin = Element::new("plugin")
            .with_child(Element::new("laps").with_text("three"))
            .with_child(Element::new("size").with_text("1 2"))
            .with_child(Element::new("pose").with_text("0 0 nan 0 0 0").with_attribute("degrees", "yes"));
        assert_eq!(
            plugin.required::<u32>("laps").unwrap_err().to_string(),
            "<laps> is \"three\", which is no whole number from 0"
        );
        assert_eq!(plugin.required::<u32>("lap").unwrap_err().to_string(), "<plugin> has no <lap>");
        assert_eq!(
            plugin.child("size").unwrap().parse_numbers::<3>().unwrap_err().to_string(),
            "<size> is \"1 2\" with 2 numbers, expected 3"
        );
        let pose = plugin.child("pose").unwrap();
        assert_eq!(
            pose.parse_numbers::<6>().unwrap_err().to_string(),
            "<pose> holds \"nan\", which is no finite number"
        );
        assert_eq!(
            pose.parse_attribute::<bool>("degrees").unwrap_err().to_string(),
            "degrees=\"yes\" of <pose> is no bool"
        );
        assert_eq!(plugin.child_or("none", 2.5).unwrap(), 2.5);
    }

    #[cfg(unix)]
    #[test]
    fn a_path_that_is_not_utf8_is_written_all_the_same() {
        use std::os::unix::ffi::OsStringExt;
        let file = PathBuf::from(std::ffi::OsString::from_vec(b"w\xff.sdf".to_vec()));
        let world = WorldRef { name: "w".into(), file: Some(file) };
        assert_eq!(serde_json::to_string(&world).unwrap(), "{\"name\":\"w\",\"file\":\"w\u{fffd}.sdf\"}");
    }

    #[test]
    fn config_reads_the_host_s_json() {
        let text = r#"{"instance":"race","parameters":{"name":"plugin","attributes":[["filename","race"]],"text":"",
            "children":[{"name":"laps","attributes":[],"text":"2","children":[]}]},"model":null,
            "world":{"name":"arena","file":"worlds/arena.sdf"},"rate_hz":60.0,"seed":7}"#;
        let config: Config = serde_json::from_str(text).unwrap();
        assert_eq!(config.parameters.required::<u32>("laps").unwrap(), 2);
        assert_eq!(config.parameters.attribute("filename"), Some("race"));
        assert_eq!(serde_json::from_str::<Config>(&serde_json::to_string(&config).unwrap()).unwrap(), config);
    }
}
