//! Moves robots by hand: the command `move`.
//!
//! The weakest of the plugins that ship: in a tick in which another one commands the same robot, that one wins, and the
//! reply of `move` says so.
#![forbid(unsafe_code)]

mod messages;

use messages::{MoveReply, MoveRequest, WithRobot, numbers};
use tickworks_plugin_api::{
    Command, Config, DefaultRobot, Endpoint, EntityId, Error, Host, Manifest, Message, Outcome, Plugin, Response,
    RobotUse, Status, World, export_plugin,
};

/// The plugin. It remembers nothing: a command is for one tick.
#[derive(Debug)]
pub struct ManualMove;

impl Plugin for ManualMove {
    fn manifest() -> Manifest {
        Manifest::new("Moves robots by hand, one tick at a time.").endpoint(
            Endpoint::new::<MoveRequest, MoveReply>("move", "Commands a robot for one tick, and answers at its end.")
                .robot(RobotUse::Control)
                .default_robot(DefaultRobot::Own),
        )
    }

    fn create(_host: Host, _config: Config) -> Result<Self, Error> {
        Ok(Self)
    }

    fn on_message(&mut self, world: &World, _from: EntityId, message: &Message) -> Response {
        let robot = message.robot();
        let Some(info) = world.robot_info(robot) else {
            return Response::err(format_args!("move: there is no robot with this id: {robot}"));
        };
        let request: MoveRequest = match message.parse() {
            Ok(request) => request,
            Err(response) => return response,
        };
        let checked = numbers(&request.control_input)
            .and_then(|input| info.check_control(&input).map(|()| Response::physics(Command::control(robot, &input))));
        // Clients take the robot's limits from an error reply and try again within them.
        checked.unwrap_or_else(|error| Response::err_with(error, WithRobot { robot: world.robot_state(robot) }))
    }

    fn on_response(&mut self, world: &World, message: &Message, outcomes: &[Outcome]) -> Response {
        let refused = outcomes.iter().find(|outcome| outcome.status != Status::Applied).map(reason);
        let reply = match (refused, world.robot_state(message.robot())) {
            (Some(reason), _) => MoveReply::MoveNotApplied { reason },
            (None, Some(new_state)) => MoveReply::MoveApplied { new_state: Box::new(new_state) },
            (None, None) => {
                MoveReply::MoveNotApplied { reason: format!("{} left the world in this tick", message.robot()) }
            }
        };
        Response::ok(reply)
    }
}

/// Why a command was not applied, as a sentence.
fn reason(outcome: &Outcome) -> String {
    match outcome.status {
        Status::Overridden => {
            format!("{} commanded {} in the same tick, and goes before move", outcome.by, outcome.entity)
        }
        Status::Replaced => format!("a later move of the same tick for {} took its place", outcome.entity),
        Status::Applied | Status::Refused => outcome.why(),
    }
}

export_plugin!(ManualMove);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use tickworks_plugin_api::{
        Element, RobotType,
        testing::{TestHost, TestMessage, TestWorld, config},
    };

    const POSE: [f64; 7] = [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0];

    fn plugin() -> ManualMove {
        ManualMove::create(TestHost::new().host(), config("manual_move", Element::new("plugin"))).unwrap()
    }

    fn answer(kind: RobotType, request: &Value) -> Response {
        let mut world = TestWorld::new();
        let robot = world.add_robot("uav0", kind, POSE);
        let message = TestMessage::new("move", request.to_string()).about(robot);
        plugin().on_message(&world.view(), robot, &message)
    }

    fn outcome(status: Status, by: &str, reason: &str) -> Outcome {
        Outcome { entity: EntityId(0), op: 0, status, colliding: false, by: by.into(), reason: reason.into() }
    }

    fn reply(world: &TestWorld, outcome: Outcome) -> Value {
        let message = TestMessage::new("move", "{}").about(EntityId(0));
        plugin().on_response(&world.view(), &message, &[outcome]).value().unwrap()
    }

    #[test]
    fn a_good_input_becomes_a_command() {
        let response =
            answer(RobotType::UavLevel1, &json!({"cmd": "move", "control_input": [0.1, 0, -0.1, 0.05, 0, 0]}));
        let [command] = response.commands().unwrap() else { panic!("one command") };
        assert_eq!(command.entity(), EntityId(0));
        assert_eq!(command.numbers(), [0.1, 0.0, -0.1, 0.05, 0.0, 0.0]);
        let response = answer(RobotType::DiffDrive, &json!({"control_input": [1, -0.5]}));
        assert_eq!(response.commands().unwrap()[0].numbers(), [1.0, -0.5]);
    }

    #[test]
    fn a_limit_that_went_through_float32_is_within() {
        let limit = f64::from(0.1_f32);
        let response = answer(RobotType::UavLevel1, &json!({"control_input": [limit, -limit, 0, 0, 0, 0]}));
        assert!(response.commands().is_some());
    }

    #[test]
    fn a_bad_input_is_named_and_the_robot_comes_along() {
        for (input, expected) in [
            (json!({}), "control_input not provided"),
            (json!({"control_input": null}), "control_input not provided"),
            (json!({"control_input": "up"}), "control_input is \"up\", expected a list of numbers"),
            (json!({"control_input": [0, 0, true, 0, 0, 0]}), "control_input[2] is true, expected a number"),
            (json!({"control_input": [0, 0, 0]}), "control_input has 3 numbers, but UAVLevel1 \"uav0\" takes 6"),
            (json!({"control_input": []}), "control_input has 0 numbers, but"),
            (json!({"control_input": [0, 0.2, 0, 0, 0, 0]}), "control_input[1] (up) is 0.2, over the limit of 0.1"),
            (json!({"control_input": [0, 0, 0, 0, 0, -1]}), "control_input[5] (roll) is -1, over the limit of 0.05"),
        ] {
            let response = answer(RobotType::UavLevel1, &input);
            let error = response.error().unwrap();
            assert!(error.starts_with(expected), "{error}");
            let reply = response.value().unwrap();
            assert_eq!(reply["robot"]["max_velocities"][0], 0.1);
            assert_eq!(reply.as_object().unwrap().len(), 2, "{reply}");
        }
    }

    #[test]
    fn a_long_wrong_value_is_cut() {
        let response = answer(RobotType::UavLevel1, &json!({"control_input": "é".repeat(10_000)}));
        assert!(response.error().unwrap().len() < 250);
    }

    #[test]
    fn an_unknown_robot_is_an_error() {
        let world = TestWorld::new();
        let message = TestMessage::new("move", r#"{"control_input": [0, 0]}"#).about(EntityId(7));
        let response = plugin().on_message(&world.view(), EntityId::NONE, &message);
        assert_eq!(response.error().unwrap(), "move: there is no robot with this id: robot 7");
    }

    #[test]
    fn the_reply_says_what_came_of_it() {
        let mut world = TestWorld::new();
        let robot = world.add_robot("uav0", RobotType::UavLevel2, POSE);
        world.set_colliding(robot, true);
        let applied = reply(&world, outcome(Status::Applied, "", ""));
        assert_eq!(applied["status"], "move_applied");
        assert_eq!(applied["new_state"]["colliding"], true);
        assert_eq!(applied["new_state"]["pose"][0][3], 1.0);
        assert_eq!(applied.as_object().unwrap().len(), 2);

        let reason = |outcome| {
            let reply = reply(&world, outcome);
            assert_eq!(reply["status"], "move_not_applied");
            assert_eq!(reply.as_object().unwrap().len(), 2, "{reply}");
            reply["reason"].as_str().unwrap().to_owned()
        };
        assert_eq!(
            reason(outcome(Status::Overridden, "trajectory_mission", "")),
            "trajectory_mission commanded robot 0 in the same tick, and goes before move"
        );
        assert_eq!(
            reason(outcome(Status::Replaced, "", "")),
            "a later move of the same tick for robot 0 took its place"
        );
        assert_eq!(reason(outcome(Status::Refused, "", "the simulation is paused")), "the simulation is paused");
    }

    #[test]
    fn the_manifest_has_the_schemas() {
        let endpoint = &ManualMove::manifest().endpoints[0];
        assert_eq!(endpoint.request["properties"]["control_input"]["type"], "array");
        assert_eq!(endpoint.reply["oneOf"].as_array().unwrap().len(), 2, "{}", endpoint.reply);
    }
}
