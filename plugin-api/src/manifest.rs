//! What a plugin says of itself without an instance.
#![forbid(unsafe_code)]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a plugin is: what `tickworks plugin info` prints, and what the host routes messages by.
///
/// ```
/// use tickworks_plugin_api::{DefaultRobot, Endpoint, Manifest, RobotUse, schemars::JsonSchema, serde::Deserialize};
///
/// #[derive(Deserialize, JsonSchema)]
/// # #[serde(crate = "tickworks_plugin_api::serde")]
/// # #[schemars(crate = "tickworks_plugin_api::schemars")]
/// struct Move {
///     /// Left, up, forward (m), pitch, yaw, roll (rad), of one tick.
///     control_input: [f64; 6],
/// }
///
/// let manifest = Manifest::new("Moves robots by hand.").endpoint(
///     Endpoint::new::<Move, ()>("move", "Moves a robot for one tick.")
///         .robot(RobotUse::Control)
///         .default_robot(DefaultRobot::Own),
/// );
/// assert_eq!(manifest.endpoints[0].request["properties"]["control_input"]["maxItems"], 6);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// One sentence.
    pub summary: String,
    /// The children of the `<plugin>` element that it reads.
    #[serde(default)]
    pub parameters: Vec<Parameter>,
    /// The commands that it answers.
    #[serde(default)]
    pub endpoints: Vec<Endpoint>,
    /// The topics that it publishes.
    #[serde(default)]
    pub topics: Vec<Topic>,
}

/// A parameter: a child of the `<plugin>` element.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// The child's name.
    pub name: String,
    /// One sentence, with unit and default.
    pub summary: String,
    /// JSON Schema of its value.
    #[serde(default)]
    pub schema: Value,
}

/// A topic that clients can subscribe to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topic {
    /// Its name.
    pub name: String,
    /// One sentence: what is pushed, and when.
    pub summary: String,
}

/// A command that a plugin answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Endpoint {
    /// The command: `cmd` of the request.
    pub name: String,
    /// One sentence.
    pub summary: String,
    /// JSON Schema of the request's own fields.
    #[serde(default)]
    pub request: Value,
    /// JSON Schema of the reply.
    #[serde(default)]
    pub reply: Value,
    /// It changes nothing, so the host may let it be answered between two ticks.
    #[serde(default)]
    pub reads_only: bool,
    /// What it does to the robot that the request names.
    #[serde(default)]
    pub robot: RobotUse,
    /// Which robot is meant when the request names none.
    #[serde(default)]
    pub default_robot: DefaultRobot,
}

/// What a command does to its robot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RobotUse {
    /// It is about no robot.
    #[default]
    None,
    /// It looks at it: open to every connection.
    Read,
    /// It moves it: the host refuses when another connection has claimed that robot.
    Control,
}

/// Which robot a command is about when its request has no `robot_id`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DefaultRobot {
    /// The connection's own; the host answers an error when it has none.
    Own,
    /// The connection's own, else robot 0.
    First,
    /// None: [`Message::robot`](crate::Message::robot) is [`EntityId::NONE`](crate::EntityId::NONE).
    #[default]
    None,
}

impl Manifest {
    /// A manifest with this summary, one sentence.
    pub fn new(summary: impl Into<String>) -> Self {
        Self { summary: summary.into(), ..Self::default() }
    }

    /// Adds a parameter. `schema` is a JSON Schema, such as [`schema_of`] gives.
    #[must_use]
    pub fn parameter(mut self, name: impl Into<String>, summary: impl Into<String>, schema: impl Into<Value>) -> Self {
        self.parameters.push(Parameter { name: name.into(), summary: summary.into(), schema: schema.into() });
        self
    }

    /// Adds a command.
    #[must_use]
    pub fn endpoint(mut self, endpoint: Endpoint) -> Self {
        self.endpoints.push(endpoint);
        self
    }

    /// Adds a topic.
    #[must_use]
    pub fn topic(mut self, name: impl Into<String>, summary: impl Into<String>) -> Self {
        self.topics.push(Topic { name: name.into(), summary: summary.into() });
        self
    }
}

impl Endpoint {
    /// A command whose request and reply have the fields of these types. Without fields of its own: `()`.
    pub fn new<Request: JsonSchema, Reply: JsonSchema>(name: impl Into<String>, summary: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            summary: summary.into(),
            request: object_schema_of::<Request>(),
            reply: object_schema_of::<Reply>(),
            reads_only: false,
            robot: RobotUse::None,
            default_robot: DefaultRobot::None,
        }
    }

    /// It changes nothing: the host may let it be answered between two ticks.
    #[must_use]
    pub fn reads_only(mut self) -> Self {
        self.reads_only = true;
        self
    }

    /// What it does to its robot.
    #[must_use]
    pub fn robot(mut self, robot: RobotUse) -> Self {
        self.robot = robot;
        self
    }

    /// Which robot is meant when the request names none.
    #[must_use]
    pub fn default_robot(mut self, robot: DefaultRobot) -> Self {
        self.default_robot = robot;
        self
    }
}

/// The JSON Schema of a type, as a value.
pub fn schema_of<T: JsonSchema>() -> Value {
    schemars::schema_for!(T).to_value()
}

/// Requests and replies are objects; `()` is one without fields of its own, and not `null`.
fn object_schema_of<T: JsonSchema>() -> Value {
    let mut schema = schema_of::<T>();
    if schema["type"] == "null" {
        schema["type"] = "object".into();
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_has_the_form_that_the_host_reads() {
        let manifest = Manifest::new("Test.")
            .parameter("laps", "How many laps (default 1).", schema_of::<u32>())
            .endpoint(
                Endpoint::new::<(), ()>("look", "Looks.")
                    .reads_only()
                    .robot(RobotUse::Read)
                    .default_robot(DefaultRobot::First),
            )
            .topic("race", "Each crossing.");
        let json = serde_json::to_value(&manifest).unwrap();
        assert_eq!(json["endpoints"][0]["robot"], "read");
        assert_eq!(json["endpoints"][0]["default_robot"], "first");
        assert_eq!(json["endpoints"][0]["reads_only"], true);
        assert_eq!(json["endpoints"][0]["request"]["type"], "object", "what has no fields is an object all the same");
        assert_eq!(json["endpoints"][0]["reply"]["type"], "object");
        assert_eq!(serde_json::from_value::<Manifest>(json).unwrap(), manifest);
    }

    #[test]
    fn a_short_manifest_is_enough() {
        let manifest: Manifest =
            serde_json::from_str(r#"{"summary":"C.","endpoints":[{"name":"count","summary":"Counts."}]}"#).unwrap();
        assert_eq!(manifest.endpoints[0].robot, RobotUse::None);
        assert_eq!(manifest.endpoints[0].default_robot, DefaultRobot::None);
    }
}
