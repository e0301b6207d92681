//! Races in a world whose robots are put where the test wants them.

use crate::RacePlugin;
use serde_json::{Value, json};
use tickworks_plugin_api::{
    Canvas, Commands, Element, EntityId, Plugin, RobotType,
    testing::{TestHost, TestMessage, TestWorld, config},
};

const DT: f64 = 1.0 / TestWorld::RATE_HZ;

struct Stage {
    plugin: RacePlugin,
    world: TestWorld,
    host: TestHost,
}

fn gate(name: &str, pose: &str) -> Element {
    Element::new("gate")
        .with_attribute("name", name)
        .with_child(Element::new("pose").with_text(pose))
        .with_child(Element::new("size").with_text("2 2"))
}

/// Two laps over x = 1, x = 2, and back over y = 1 with forward along -x.
fn parameters() -> Element {
    Element::new("plugin")
        .with_child(Element::new("laps").with_text("2"))
        .with_child(gate("one", "1 0 0 0 0 0"))
        .with_child(gate("two", "2 0 0 0 0 0"))
        .with_child(gate("back", "1.5 5 0 0 0 3.141592653589793"))
}

impl Stage {
    fn with(robots: usize, parameters: Element) -> Self {
        let (mut world, host) = (TestWorld::new(), TestHost::new());
        for i in 0..robots {
            world.add_robot(&format!("uav{i}"), RobotType::UavLevel1, at(0.0, 0.0));
        }
        let mut plugin = RacePlugin::create(host.host(), config("race", parameters)).unwrap();
        plugin.on_all_started(&world.view()).unwrap();
        Self { plugin, world, host }
    }

    fn new(robots: usize) -> Self {
        Self::with(robots, parameters())
    }

    fn ask(&mut self, cmd: &str, request: Value) -> Result<Value, String> {
        let message = TestMessage::new(cmd, request.to_string());
        let response = self.plugin.on_message(&self.world.view(), EntityId::NONE, &message);
        match response.error() {
            Some(error) => Err(error),
            None => Ok(response.value().unwrap()),
        }
    }

    fn state(&mut self) -> Value {
        self.ask("race_get_state", json!({})).unwrap()
    }

    /// One tick in which these robots get to these places.
    fn tick(&mut self, moves: &[(u64, f64, f64)]) {
        self.plugin.on_tick(&self.world.view(), &mut Commands::default());
        for (robot, x, y) in moves {
            self.world.set_pose(EntityId(*robot), at(*x, *y));
        }
        self.plugin.after_physics(&self.world.view());
    }

    /// One lap of robot 0 in four ticks.
    fn lap(&mut self) {
        for (x, y) in [(2.5, 0.0), (2.5, 5.0), (0.5, 5.0), (0.5, 0.0)] {
            self.tick(&[(0, x, y)]);
        }
    }

    fn events(&self) -> Vec<String> {
        self.host.published().iter().map(|(_, event)| event["event"].as_str().unwrap().to_owned()).collect()
    }

    fn event(&self, n: usize) -> Value {
        self.host.published()[n].1.clone()
    }
}

fn at(x: f64, y: f64) -> [f64; 7] {
    [x, y, 0.0, 0.0, 0.0, 0.0, 1.0]
}

fn near(value: &Value, expected: f64) -> bool {
    (value.as_f64().unwrap() - expected).abs() < 1e-12
}

#[test]
fn a_race_from_start_to_finish() {
    let mut stage = Stage::new(1);
    assert_eq!(stage.state()["state"], "idle");
    let started = stage.ask("race_start", json!({})).unwrap();
    assert_eq!(started, json!({"status": "race_started", "laps": 2, "robots": [0]}));
    stage.lap();
    let state = stage.state();
    let robot = &state["robots"][0];
    assert_eq!((&state["state"], &robot["lap"], &robot["next_gate"]), (&json!("running"), &json!(1), &json!(0)));
    // From x = 0 to 2.5 in the first tick: two gates in one tick, at 0.4 and 0.8 of it.
    assert!(near(&robot["gate_times"][0][0], 0.4 * DT) && near(&robot["gate_times"][0][1], 0.8 * DT), "{robot}");
    assert!(near(&robot["gate_times"][0][2], 2.5 * DT) && near(&robot["lap_times"][0], 2.5 * DT), "{robot}");
    stage.lap();
    let state = stage.state();
    let robot = &state["robots"][0];
    assert_eq!((&state["state"], &robot["lap"], &robot["next_gate"]), (&json!("finished"), &json!(2), &Value::Null));
    assert_eq!((&robot["finished"], &robot["wrong_gates"], &robot["place"]), (&json!(true), &json!(0), &json!(1)));
    assert!(near(&robot["total_time"], 6.5 * DT) && near(&robot["lap_times"][1], 4.0 * DT), "{robot}");
    assert!(near(&robot["best_lap"], 2.5 * DT));
    let lap = ["gate", "gate", "gate", "lap"];
    assert_eq!(stage.events(), [&["start"], &lap[..], &lap[..], &["finish", "end"]].concat());
    let event = stage.event(2);
    assert_eq!((&event["gate"], &event["gate_name"], &event["lap"]), (&json!(1), &json!("two"), &json!(0)));
    assert!(near(&event["time"], 0.8 * DT));
    assert!(near(&stage.event(4)["lap_time"], 2.5 * DT));
    assert_eq!(stage.host.published()[0].0, "race");
}

#[test]
fn wrong_gates_are_counted_and_do_not_help() {
    let mut stage = Stage::new(1);
    stage.world.set_pose(EntityId(0), at(1.5, 0.0));
    stage.ask("race_start", json!({})).unwrap();
    stage.tick(&[(0, 2.5, 0.0)]);
    assert_eq!(stage.state()["robots"][0]["wrong_gates"], 1, "two before one");
    stage.tick(&[(0, 0.5, 0.0)]);
    assert_eq!(stage.state()["robots"][0]["wrong_gates"], 3, "both backwards");
    assert_eq!(stage.state()["robots"][0]["next_gate"], 0);
    stage.tick(&[(0, 1.5, 0.0)]);
    assert_eq!(stage.state()["robots"][0]["next_gate"], 1);
    assert_eq!(stage.events(), ["start", "wrong_gate", "wrong_gate", "wrong_gate", "gate"]);
    assert_eq!(stage.event(2)["gate_name"], "two", "in order of time");
}

#[test]
fn crossings_before_the_start_do_not_count() {
    let mut stage = Stage::new(1);
    // 2.5 ticks: rounded up.
    stage.ask("race_start", json!({"countdown": 2.5 * DT})).unwrap();
    assert_eq!(stage.state()["state"], "countdown");
    assert!(near(&stage.state()["time"], -3.0 * DT));
    stage.tick(&[(0, 1.5, 0.0)]);
    stage.tick(&[(0, 0.5, 0.0)]);
    assert_eq!(stage.events(), ["countdown"]);
    stage.tick(&[(0, 0.0, 0.0)]);
    assert_eq!(
        (stage.state()["state"].clone(), stage.events()),
        (json!("running"), vec!["countdown".into(), "start".into()])
    );
    stage.tick(&[(0, 2.0, 0.0)]);
    let robot = stage.state()["robots"][0].clone();
    assert_eq!(robot["next_gate"], 2);
    assert!(near(&robot["gate_times"][0][0], 0.5 * DT) && near(&robot["gate_times"][0][1], DT), "{robot}");
}

#[test]
fn a_countdown_of_whole_ticks_is_not_rounded_up() {
    let mut stage = Stage::new(1);
    stage.ask("race_start", json!({"countdown": 3})).unwrap();
    assert!(near(&stage.state()["time"], -3.0));
    assert_eq!(stage.event(0)["seconds"], 3.0);
}

#[test]
fn places_go_by_laps_then_gates_then_time() {
    let mut stage = Stage::new(4);
    stage.ask("race_start", json!({})).unwrap();
    // 1 and 2 cross gate one in the same tick, 2 sooner; 3 crosses two gates; 0 stays.
    stage.tick(&[(1, 1.2, 0.0), (2, 1.9, 0.0), (3, 2.5, 0.0)]);
    let order = |state: &Value| -> Vec<u64> {
        state["robots"].as_array().unwrap().iter().map(|robot| robot["id"].as_u64().unwrap()).collect()
    };
    let state = stage.state();
    assert_eq!(order(&state), [3, 2, 1, 0]);
    assert_eq!(state["robots"][1]["place"], 2);
    let gates: Vec<_> = stage.host.published()[1..].iter().map(|(_, e)| e["robot"].as_u64().unwrap()).collect();
    assert_eq!(gates, [3, 2, 3, 1], "events in order of time");
}

#[test]
fn only_the_named_robots_race() {
    let mut stage = Stage::new(3);
    assert_eq!(stage.ask("race_start", json!({"robots": [2, 0], "laps": 1})).unwrap()["robots"], json!([0, 2]));
    stage.tick(&[(0, 2.5, 0.0), (1, 2.5, 0.0)]);
    assert_eq!(stage.state()["robots"].as_array().unwrap().len(), 2);
    assert_eq!(stage.events(), ["start", "gate", "gate"]);
    stage.tick(&[(0, 2.5, 5.0)]);
    stage.tick(&[(0, 0.5, 5.0)]);
    let robot = stage.state()["robots"][0].clone();
    assert_eq!((&robot["id"], &robot["finished"]), (&json!(0), &json!(true)));
    assert_eq!(stage.state()["state"], "running", "robot 2 is still on the way");
}

#[test]
fn a_gate_that_comes_twice_is_crossed_once_at_a_time() {
    let twice = Element::new("plugin").with_child(gate("in", "1 0 0 0 0 0")).with_child(gate("again", "1 0 0 0 0 0"));
    let mut stage = Stage::with(1, twice);
    stage.ask("race_start", json!({})).unwrap();
    stage.tick(&[(0, 1.5, 0.0)]);
    assert_eq!((&stage.state()["robots"][0]["next_gate"], stage.events().len()), (&json!(1), 2));
    stage.tick(&[(0, 1.5, 5.0)]);
    stage.tick(&[(0, 0.5, 5.0)]);
    stage.tick(&[(0, 0.5, 0.0)]);
    stage.tick(&[(0, 1.5, 0.0)]);
    assert_eq!(stage.state()["state"], "finished");
    assert_eq!(stage.state()["robots"][0]["wrong_gates"], 0);
}

#[test]
fn of_two_gates_in_one_place_the_due_one_is_crossed_first() {
    let mut wide = gate("wide", "1 0 0 0 0 0");
    wide.children[1].text = "4 4".into();
    let plugin = Element::new("plugin").with_child(gate("narrow", "1 0 0 0 0 0")).with_child(wide.clone());
    for course in [plugin, Element::new("plugin").with_child(wide).with_child(gate("narrow", "1 0 0 0 0 0"))] {
        let mut stage = Stage::with(1, course);
        stage.ask("race_start", json!({})).unwrap();
        stage.tick(&[(0, 1.5, 0.0)]);
        assert_eq!(stage.events(), ["start", "gate", "gate", "lap", "finish", "end"]);
    }
}

#[test]
fn a_teleport_between_ticks_crosses_nothing() {
    let mut stage = Stage::new(1);
    stage.ask("race_start", json!({})).unwrap();
    stage.tick(&[]);
    stage.world.set_pose(EntityId(0), at(3.0, 0.0));
    stage.tick(&[(0, 3.1, 0.0)]);
    assert_eq!(stage.events(), ["start"]);
}

#[test]
fn bad_requests_are_refused_by_name() {
    let mut stage = Stage::new(2);
    for (request, expected) in [
        (json!({"countdown": -1}), "countdown is -1, expected 0 to 3600 s"),
        (json!({"countdown": 1e9}), "countdown is 1000000000, expected"),
        (json!({"countdown": "soon"}), "race_start: field countdown is \"soon\", expected a number"),
        (json!({"laps": 0}), "laps is 0, expected 1 to 1000"),
        (json!({"robots": []}), "nobody takes part"),
        (json!({"robots": [0, 0]}), "robots names a robot more than once"),
        (json!({"robots": [0, 7]}), "robots names 7, and no robot has that id"),
    ] {
        let error = stage.ask("race_start", request).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
        assert_eq!(stage.state()["state"], "idle");
    }
    assert_eq!(stage.ask("race_stop", json!({})).unwrap_err(), "no race is on; race_start starts one");
    stage.ask("race_start", json!({})).unwrap();
    assert_eq!(stage.ask("race_start", json!({})).unwrap_err(), "a race is on already; race_stop ends it");
}

#[test]
fn without_gates_it_says_how_to_define_them() {
    let mut stage = Stage::with(1, Element::new("plugin"));
    let error = stage.ask("race_start", json!({})).unwrap_err();
    assert!(
        error.starts_with("the world has no gates for a race; they are written as <plugin filename=\"race\""),
        "{error}"
    );
    assert_eq!(stage.state()["gates"], json!([]));
    assert!(stage.plugin.save().is_ok());
}

#[test]
fn an_unknown_model_stops_the_start() {
    let missing =
        Element::new("gate").with_attribute("model", "arch").with_child(Element::new("size").with_text("1 1"));
    let host = TestHost::new();
    let mut plugin =
        RacePlugin::create(host.host(), config("race", Element::new("plugin").with_child(missing))).unwrap();
    let error = plugin.on_all_started(&TestWorld::new().view()).unwrap_err().to_string();
    assert_eq!(error, "<gate model=\"arch\">: the world has no model of that name");
}

#[test]
fn stop_keeps_the_standings_and_reset_does_not() {
    let mut stage = Stage::new(1);
    stage.ask("race_start", json!({})).unwrap();
    stage.tick(&[(0, 1.5, 0.0)]);
    stage.ask("race_stop", json!({})).unwrap();
    let state = stage.state();
    assert_eq!((&state["state"], &state["robots"][0]["next_gate"]), (&json!("idle"), &json!(1)));
    stage.tick(&[(0, 2.5, 0.0)]);
    assert_eq!(stage.events(), ["start", "gate", "stop"]);
    stage.ask("race_start", json!({})).unwrap();
    stage.plugin.on_reset(&stage.world.view()).unwrap();
    assert_eq!((stage.state()["state"].clone(), stage.state()["robots"].clone()), (json!("idle"), json!([])));
    assert_eq!(stage.events()[3..], ["start", "stop"]);
}

#[test]
fn a_loaded_race_goes_on_bit_for_bit() {
    let mut stage = Stage::new(2);
    stage.ask("race_start", json!({"countdown": 1.5 * DT})).unwrap();
    let mut again = Stage::new(2);
    for step in 0..30 {
        let saved = stage.plugin.save().unwrap();
        again.plugin.load(&saved).unwrap();
        assert_eq!(again.plugin.save().unwrap(), saved);
        for robot in 0..2 {
            let pose = *stage.world.view().robot(EntityId(robot)).unwrap().pose;
            again.world.set_pose(EntityId(robot), pose);
        }
        let x = 0.37 * f64::from(step % 9);
        let moves = [(0, x, 0.0), (1, 3.0 - x, if step % 2 == 0 { 5.0 } else { 0.0 })];
        let before = (stage.host.published().len(), again.host.published().len());
        stage.tick(&moves);
        again.tick(&moves);
        assert_eq!(stage.host.published()[before.0..], again.host.published()[before.1..]);
        assert_eq!(stage.state(), again.state());
    }
    assert!(stage.state()["robots"][0]["lap"] != json!(0) || stage.events().len() > 5);
}

#[test]
fn a_bad_state_changes_nothing() {
    let mut stage = Stage::new(1);
    stage.ask("race_start", json!({})).unwrap();
    stage.tick(&[(0, 2.5, 0.0)]);
    let saved = stage.plugin.save().unwrap();
    let mut short = Stage::with(1, Element::new("plugin").with_child(gate("one", "1 0 0 0 0 0")));
    let before = short.plugin.save().unwrap();
    for (state, expected) in [
        (saved.as_slice(), "\"uav0\" is on the way to gate 2, but the course has 1 gates"),
        (b"{\"version\": 4}", "the saved race is of version 4, expected 1"),
        (b"[]", ""),
        (b"{\"version\": 1}", "the field race is missing"),
    ] {
        let error = short.plugin.load(state).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
        assert_eq!(short.plugin.save().unwrap(), before);
    }
}

#[test]
fn the_due_gates_stand_out() {
    let mut stage = Stage::new(2);
    let shapes = |stage: &Stage| {
        let mut canvas = Canvas::new();
        stage.plugin.draw(&stage.world.view(), &mut canvas);
        canvas.shapes().to_vec()
    };
    assert_eq!(shapes(&stage).len(), 3 * 3, "rectangle, arrow and name of each gate");
    stage.ask("race_start", json!({})).unwrap();
    let drawn = shapes(&stage);
    assert_eq!(drawn.len(), 3 * 3 + 2 * 4);
    assert!(drawn[9].width > drawn[0].width && drawn[9].rgba != drawn[13].rgba);
}

#[test]
fn the_manifest_has_the_schemas() {
    let manifest = RacePlugin::manifest();
    assert_eq!(manifest.parameters[1].schema["required"], json!(["size"]));
    let [start, state, stop] = manifest.endpoints.as_slice() else { panic!("three commands") };
    assert_eq!(start.request["properties"]["countdown"]["type"], "number");
    assert!(state.reads_only && !start.reads_only && !stop.reads_only);
    assert_eq!(manifest.topics[0].name, "race");
}
