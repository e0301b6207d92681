//! The course: its gates in the order in which they count, read from the plugin's parameters.

use tickworks_motion::{DPose3, DQuat, DVec3};
use tickworks_plugin_api::{Element, Error, World};

use crate::gate::Gate;

/// More laps than this are refused.
pub const MAX_LAPS: u32 = 1000;

/// How a course is written, for error texts.
pub const EXAMPLE: &str = "<plugin filename=\"race\" name=\"race\"><gate><pose>x y z roll pitch yaw</pose>\
                           <size>width height</size></gate></plugin>, or <gate model=\"NAME\"> instead of <pose>";

/// The parameters, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// How many laps a race has when nobody says otherwise.
    pub laps: u32,
    gates: Vec<GateElement>,
}

#[derive(Clone, Debug, PartialEq)]
struct GateElement {
    name: String,
    place: Place,
    width: f64,
    height: f64,
}

#[derive(Clone, Debug, PartialEq)]
enum Place {
    World(DPose3),
    /// Where the model of this name is.
    Model(String),
}

impl Parameters {
    /// Reads `<laps>` and each `<gate>`.
    ///
    /// # Errors
    /// Names the element that is wrong, its value, and what would be right.
    pub fn read(plugin: &Element) -> Result<Self, Error> {
        let known = |child: &&Element| !matches!(child.name.as_str(), "laps" | "gate") && !child.name.contains(':');
        if let Some(unknown) = plugin.children.iter().find(known) {
            return Err(Error::new(format_args!("unknown element <{}>: a race has <laps> and <gate>", unknown.name)));
        }
        let laps = plugin.child_or("laps", 1)?;
        if !(1..=MAX_LAPS).contains(&laps) {
            return Err(Error::new(format_args!("<laps> is {laps}, expected 1 to {MAX_LAPS}")));
        }
        let gates = plugin.children_named("gate").enumerate().map(|(i, gate)| GateElement::read(gate, i + 1));
        Ok(Self { laps, gates: gates.collect::<Result<_, _>>()? })
    }

    /// Puts the gates where they are in the world.
    ///
    /// # Errors
    /// Names the models that do not exist.
    pub fn resolve(&self, world: &World) -> Result<Course, Error> {
        let mut course = Course { gates: Vec::new(), openings: Vec::new() };
        let mut missing = Vec::new();
        for gate in &self.gates {
            let pose = match &gate.place {
                Place::World(pose) => Some(*pose),
                Place::Model(model) => world.find_model(model).and_then(|id| world.pose(id)).map(pose),
            };
            match (pose, &gate.place) {
                (Some(pose), _) => {
                    course.add(gate.name.clone(), Gate { pose, width: gate.width, height: gate.height });
                }
                (None, Place::Model(model)) => missing.push(format!("<gate model=\"{model}\">")),
                (None, Place::World(_)) => {}
            }
        }
        if missing.is_empty() {
            Ok(course)
        } else {
            Err(Error::new(format_args!("{}: the world has no model of that name", missing.join(", "))))
        }
    }
}

fn pose([x, y, z, qx, qy, qz, qw]: [f64; 7]) -> DPose3 {
    DPose3 { rotation: DQuat::from_xyzw(qx, qy, qz, qw), translation: DVec3::new(x, y, z) }
}

impl GateElement {
    fn read(gate: &Element, number: usize) -> Result<Self, Error> {
        let in_gate = |error: Error| error.context(format_args!("<gate> number {number}"));
        let size = gate.child("size").ok_or_else(|| in_gate("it has no <size>width height</size>".into()))?;
        let [width, height] = size.parse_numbers().map_err(in_gate)?;
        if width <= 0.0 || height <= 0.0 {
            return Err(in_gate(Error::new(format_args!(
                "<size> is \"{}\", expected a width and a height over 0 m",
                size.text
            ))));
        }
        let model = gate.attribute("model");
        let place = match (model, gate.child("pose")) {
            (Some(model), None) => Place::Model(model.to_owned()),
            (None, Some(pose)) => Place::World(read_pose(pose).map_err(in_gate)?),
            (Some(model), Some(_)) => {
                return Err(in_gate(Error::new(format_args!(
                    "it has model=\"{model}\" and a <pose>, expected one of them"
                ))));
            }
            (None, None) => return Err(in_gate("it has neither a <pose> nor an attribute model".into())),
        };
        let name = gate.attribute("name").or(model).map_or_else(|| number.to_string(), str::to_owned);
        Ok(Self { name, place, width, height })
    }
}

/// SDF's pose: x y z roll pitch yaw, m and rad (or degrees), rotations about the fixed axes.
fn read_pose(element: &Element) -> Result<DPose3, Error> {
    if let Some((name, value)) = element.attributes.iter().find(|(name, _)| name != "degrees") {
        return Err(Error::new(format_args!(
            "{name}=\"{value}\" of <pose> is not read: a gate's pose is x y z roll pitch yaw in the world"
        )));
    }
    let [x, y, z, mut roll, mut pitch, mut yaw] = element.parse_numbers()?;
    match element.attribute("degrees") {
        None | Some("false" | "0") => {}
        Some("true" | "1") => [roll, pitch, yaw] = [roll, pitch, yaw].map(f64::to_radians),
        Some(other) => {
            return Err(Error::new(format_args!("degrees=\"{other}\" of <pose>, expected true or false")));
        }
    }
    let rotation = DQuat::from_rotation_z(yaw) * DQuat::from_rotation_y(pitch) * DQuat::from_rotation_x(roll);
    Ok(DPose3 { rotation, translation: DVec3::new(x, y, z) })
}

/// The gates in the world.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    /// In the order in which they count: name, and which opening it is.
    gates: Vec<(String, usize)>,
    /// Each rectangle once: a course may lead through the same one twice.
    openings: Vec<Gate>,
}

impl Course {
    /// Appends a gate.
    pub fn add(&mut self, name: String, gate: Gate) {
        let opening = self.openings.iter().position(|other| *other == gate).unwrap_or_else(|| {
            self.openings.push(gate);
            self.openings.len() - 1
        });
        self.gates.push((name, opening));
    }

    /// How many gates a lap has.
    pub fn len(&self) -> usize {
        self.gates.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.gates.is_empty()
    }

    /// The name of a gate; empty for one that is not there.
    pub fn name(&self, gate: usize) -> &str {
        self.gates.get(gate).map_or("", |(name, _)| name)
    }

    /// The names of all gates, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.gates.iter().map(|(name, _)| name.as_str())
    }

    /// A gate's rectangle.
    pub fn gate(&self, gate: usize) -> Option<&Gate> {
        self.openings.get(self.opening(gate)?)
    }

    /// Which opening a gate is.
    pub fn opening(&self, gate: usize) -> Option<usize> {
        self.gates.get(gate).map(|(_, opening)| *opening)
    }

    /// Each rectangle once.
    pub fn openings(&self) -> &[Gate] {
        &self.openings
    }

    /// How many gates after gate `next` this opening is due, from 0.
    pub fn gates_ahead(&self, next: usize, opening: usize) -> usize {
        let lap = self.gates.iter().cycle().skip(next).take(self.gates.len());
        lap.into_iter().position(|(_, other)| *other == opening).unwrap_or(self.gates.len())
    }

    /// The first gate that is this opening.
    pub fn gate_of_opening(&self, opening: usize) -> Option<usize> {
        self.gates.iter().position(|(_, other)| *other == opening)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickworks_plugin_api::testing::TestWorld;

    fn gate(pose: &str, size: &str) -> Element {
        Element::new("gate")
            .with_child(Element::new("pose").with_text(pose))
            .with_child(Element::new("size").with_text(size))
    }

    fn plugin(gates: impl IntoIterator<Item = Element>) -> Element {
        gates.into_iter().fold(Element::new("plugin"), Element::with_child)
    }

    #[test]
    fn gates_stand_where_the_world_says() {
        let mut world = TestWorld::new();
        let half = std::f64::consts::FRAC_1_SQRT_2;
        world.add_model("arch", [5.0, 0.0, 2.0, 0.0, 0.0, half, half]);
        let by_model =
            Element::new("gate").with_attribute("model", "arch").with_child(Element::new("size").with_text("3 2"));
        let named = gate("1 2 3 0 0 1.5", "2 1").with_attribute("name", "first");
        let parameters =
            Parameters::read(&plugin([named, by_model]).with_child(Element::new("laps").with_text("5"))).unwrap();
        assert_eq!(parameters.laps, 5);
        let course = parameters.resolve(&world.view()).unwrap();
        assert_eq!(course.names().collect::<Vec<_>>(), ["first", "arch"]);
        let arch = course.gate(1).unwrap();
        assert!(((arch.pose.rotation * DVec3::X) - DVec3::Y).length() < 1e-12, "forward is the model's x");
        assert_eq!((arch.width, arch.height), (3.0, 2.0));
    }

    #[test]
    fn rotations_are_about_fixed_axes() {
        let parameters = Parameters::read(&plugin([gate("0 0 0 0.1 0.2 0.3", "1 1")])).unwrap();
        let Place::World(pose) = parameters.gates[0].place else { panic!("a pose") };
        // Forward after roll, pitch, yaw: (cos p cos y, cos p sin y, -sin p).
        let expected = DVec3::new(0.2f64.cos() * 0.3f64.cos(), 0.2f64.cos() * 0.3f64.sin(), -(0.2f64.sin()));
        assert!((pose.rotation * DVec3::X - expected).length() < 1e-12);
        let mut degrees = gate("0 0 0 0 0 90", "1 1");
        degrees.children[0] = degrees.children[0].clone().with_attribute("degrees", "true");
        let parameters = Parameters::read(&plugin([degrees])).unwrap();
        let Place::World(pose) = parameters.gates[0].place else { panic!("a pose") };
        assert!((pose.rotation * DVec3::X - DVec3::Y).length() < 1e-12);
    }

    #[test]
    fn errors_name_the_element_and_the_value() {
        let bare = Element::new("gate");
        let sized = |gate: Element| gate.with_child(Element::new("size").with_text("1 1"));
        let mut relative = gate("0 0 0 0 0 0", "1 1");
        relative.children[0] = relative.children[0].clone().with_attribute("relative_to", "a");
        for (gates, expected) in [
            (vec![bare.clone()], "<gate> number 1: it has no <size>width height</size>"),
            (vec![sized(bare.clone())], "<gate> number 1: it has neither a <pose> nor an attribute model"),
            (
                vec![gate("0 0 0 0 0 0", "1 1"), gate("0 0 0 0 0 0", "1 0")],
                "<gate> number 2: <size> is \"1 0\", expected a width and a height over 0 m",
            ),
            (vec![gate("0 0 0", "1 1")], "<gate> number 1: <pose> is \"0 0 0\" with 3 numbers, expected 6"),
            (
                vec![gate("0 0 0 0 0 0", "1 1").with_attribute("model", "arch")],
                "<gate> number 1: it has model=\"arch\" and a <pose>, expected one of them",
            ),
            (vec![relative], "<gate> number 1: relative_to=\"a\" of <pose> is not read"),
            (vec![Element::new("gates")], "unknown element <gates>: a race has <laps> and <gate>"),
            (vec![Element::new("laps").with_text("0")], "<laps> is 0, expected 1 to 1000"),
            (vec![Element::new("laps").with_text("many")], "<laps> is \"many\""),
        ] {
            let error = Parameters::read(&plugin(gates)).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn an_unknown_model_is_named() {
        let gates = ["arch", "tower"].map(|model| {
            Element::new("gate").with_attribute("model", model).with_child(Element::new("size").with_text("1 1"))
        });
        let parameters = Parameters::read(&plugin(gates)).unwrap();
        assert_eq!(
            parameters.resolve(&TestWorld::new().view()).unwrap_err().to_string(),
            "<gate model=\"arch\">, <gate model=\"tower\">: the world has no model of that name"
        );
    }
}
