//! The plugin: requests in, one control input a tick out.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use tickworks_plugin_api::{
    Canvas, Commands, Config, DefaultRobot, Endpoint, EntityId, Error, Host, Manifest, Message, Operation, Plugin,
    Response, RobotInfo, RobotUse, World, parse_json,
};

use crate::{
    machine::{Machine, Measured},
    messages::{AddViaPoint, Cleared, Nothing, Start, Started, State, Stopped, ViaPointAdded, matrix, trajectory},
    mission::Mission,
};

/// Version of the saved state.
const VERSION: u32 = 1;

/// The plugin.
pub struct TrajectoryMission {
    host: Host,
    /// By robot. In order of their ids, so that each run does the same.
    missions: BTreeMap<EntityId, Mission>,
}

/// What is saved: everything, since a mission in flight must go on bit for bit.
#[derive(Serialize, Deserialize)]
struct Saved<M> {
    version: u32,
    missions: Vec<(EntityId, M)>,
}

impl Plugin for TrajectoryMission {
    fn manifest() -> Manifest {
        let control = |endpoint: Endpoint| endpoint.robot(RobotUse::Control).default_robot(DefaultRobot::First);
        Manifest::new("Flies robots along trajectories, or through via points on ways that it plans.")
            .endpoint(control(Endpoint::new::<AddViaPoint, ViaPointAdded>(
                "mission_add_via_point",
                "Adds a pose that the robot is to pass through.",
            )))
            .endpoint(control(Endpoint::new::<Nothing, Cleared>(
                "mission_clear_via_points",
                "Forgets the robot's via points.",
            )))
            .endpoint(
                Endpoint::new::<Nothing, State>("mission_get_state", "What the robot's mission is up to.")
                    .reads_only()
                    .robot(RobotUse::Read)
                    .default_robot(DefaultRobot::First),
            )
            .endpoint(control(Endpoint::new::<Start, Started>(
                "mission_start",
                "Starts a mission: along a trajectory, or through the via points.",
            )))
            .endpoint(control(Endpoint::new::<Nothing, Stopped>("mission_stop", "Ends the robot's mission.")))
    }

    fn create(host: Host, _config: Config) -> Result<Self, Error> {
        Ok(Self { host, missions: BTreeMap::new() })
    }

    fn on_reset(&mut self, _world: &World) -> Result<(), Error> {
        self.missions.values_mut().for_each(Mission::reset);
        Ok(())
    }

    fn on_message(&mut self, world: &World, _from: EntityId, message: &Message) -> Response {
        let id = message.robot();
        let Some(info) = world.robot_info(id) else {
            return Response::err(format_args!("{}: there is no robot with this id: {id}", message.cmd()));
        };
        match message.cmd() {
            "mission_add_via_point" => self.add_via_point(world, &info, message),
            "mission_clear_via_points" => {
                answer(self.mission(&info).clear().map(|()| Cleared { status: "via_points_cleared" }))
            }
            "mission_get_state" => {
                let state = |mission: &Mission| Response::ok(mission.state(id.0));
                self.missions.get(&id).map_or_else(|| state(&Mission::new(String::new())), state)
            }
            "mission_start" => self.start(world, &info, message),
            "mission_stop" => {
                answer(self.mission(&info).stop().map(|step| Stopped { status: "mission_stopped", step }))
            }
            _ => Response::not_mine(),
        }
    }

    fn on_tick(&mut self, world: &World, commands: &mut Commands) {
        for (id, mission) in &mut self.missions {
            let was_running = mission.is_running();
            match (world.robot(*id), world.robot_info(*id)) {
                (Some(robot), Some(info)) => {
                    let machine = Machine::new(&info, world.dt());
                    mission.tick(&Measured::new(&robot), &machine, |input| commands.control(*id, input));
                }
                _ => mission.lose_robot(),
            }
            if was_running && let Some(reason) = mission.state(id.0).reason {
                self.host.warn(format_args!("the mission of {} failed: {reason}", mission.robot));
            }
        }
    }

    fn draw(&self, world: &World, canvas: &mut Canvas) {
        for (id, mission) in &self.missions {
            let Some(robot) = world.robot(*id) else { continue };
            let [x, y, z, ..] = *robot.pose;
            let mut from = [x, y, z];
            let next = mission.next_via_point().unwrap_or(0);
            for (i, matrix) in mission.via_points().iter().enumerate().skip(next) {
                let to = [matrix[0][3], matrix[1][3], matrix[2][3]];
                let color = if i == next && mission.is_running() { 0xffd0_40ff } else { 0x60a0_ffff };
                canvas.color(color).width(2.0).line(from, to).sphere(to, 0.06);
                from = to;
            }
        }
    }

    fn save(&self) -> Result<Vec<u8>, Error> {
        // One that says nothing is as good as none: what led to it is no part of the future.
        let missions = self.missions.iter().filter(|(_, mission)| !mission.is_new());
        let missions = missions.map(|(id, mission)| (*id, mission)).collect();
        Ok(serde_json::to_vec(&Saved { version: VERSION, missions })?)
    }

    fn load(&mut self, state: &[u8]) -> Result<(), Error> {
        // The version alone first, since another one may look different.
        let version = parse_json::<Value>(state)?["version"].clone();
        if version != VERSION {
            return Err(Error::new(format_args!("the saved missions are of version {version}, expected {VERSION}")));
        }
        let saved: Saved<Mission> = parse_json(state)?;
        self.missions = saved.missions.into_iter().collect();
        Ok(())
    }

    fn may(&self, _: Operation) -> Result<(), String> {
        // Each of them would end it.
        match self.missions.values().find(|mission| mission.is_running()) {
            Some(mission) => Err(mission.in_the_way()),
            None => Ok(()),
        }
    }
}

impl TrajectoryMission {
    fn mission(&mut self, info: &RobotInfo) -> &mut Mission {
        self.missions.entry(info.id).or_insert_with(|| Mission::new(format!("{} \"{}\"", info.id, info.name)))
    }

    fn add_via_point(&mut self, world: &World, info: &RobotInfo, message: &Message) -> Response {
        let request: AddViaPoint = match message.parse() {
            Ok(request) => request,
            Err(response) => return response,
        };
        let pose = match &request.pose {
            Value::Null => world
                .robot(info.id)
                .map(|robot| info.axes.matrix(robot.pose))
                .ok_or_else(|| format!("{} has no pose now", info.id)),
            pose => matrix(pose).and_then(|matrix| Machine::new(info, world.dt()).axes.pose(&matrix).map(|_| matrix)),
        };
        answer(
            pose.and_then(|pose| self.mission(info).add(pose))
                .map(|count| ViaPointAdded { status: "via_point_added", count }),
        )
    }

    fn start(&mut self, world: &World, info: &RobotInfo, message: &Message) -> Response {
        let request: Start = match message.parse() {
            Ok(request) => request,
            Err(response) => return response,
        };
        let Some(robot) = world.robot(info.id) else {
            return Response::err(format_args!("{} has no pose now", info.id));
        };
        let steps = trajectory(&request.trajectory, |input| info.check_control(input)).and_then(|trajectory| {
            let mission = self.mission(info);
            match trajectory {
                Some(trajectory) => mission.play(trajectory),
                None => mission.fly(&Measured::new(&robot), &Machine::new(info, world.dt())),
            }
        });
        answer(steps.map(|steps| Started { status: "mission_started", steps }))
    }
}

fn answer(result: Result<impl Serialize, String>) -> Response {
    result.map_or_else(Response::err, Response::ok)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Motion;
    use serde_json::json;
    use tickworks_motion::{DPose3, DVec3, Twist, se3};
    use tickworks_plugin_api::{
        Element, RobotType,
        testing::{TestHost, TestMessage, TestWorld, config},
    };

    /// The plugin in a world whose robots do what they are told, as nothing is in their way.
    struct Stage {
        plugin: TrajectoryMission,
        world: TestWorld,
        tick: u64,
        host: TestHost,
    }

    fn plugin(host: &TestHost) -> TrajectoryMission {
        TrajectoryMission::create(host.host(), config("trajectory_mission", Element::new("plugin"))).unwrap()
    }

    impl Stage {
        fn new(kinds: &[RobotType]) -> Self {
            let (mut world, host) = (TestWorld::new(), TestHost::new());
            for (i, kind) in kinds.iter().enumerate() {
                world.add_robot(&format!("uav{i}"), *kind, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
            }
            Self { plugin: plugin(&host), world, tick: 0, host }
        }

        fn ask(&mut self, cmd: &str, robot: u64, request: Value) -> Result<Value, String> {
            let message = TestMessage::new(cmd, request.to_string()).about(EntityId(robot));
            let response = self.plugin.on_message(&self.world.view(), EntityId::NONE, &message);
            match response.error() {
                Some(error) => Err(error),
                None => Ok(response.value().unwrap()),
            }
        }

        fn state(&mut self, robot: u64) -> Value {
            self.ask("mission_get_state", robot, json!({})).unwrap()
        }

        /// One tick; the commands of it.
        fn step(&mut self) -> Vec<(u64, Vec<f64>)> {
            let mut commands = Commands::default();
            self.plugin.on_tick(&self.world.view(), &mut commands);
            let given: Vec<_> = commands.as_slice().iter().map(|c| (c.entity().0, c.numbers().to_vec())).collect();
            for (id, input) in &given {
                let id = EntityId(*id);
                let (machine, now) = {
                    let view = self.world.view();
                    let machine = Machine::new(&view.robot_info(id).unwrap(), view.dt());
                    (machine, Measured::new(&view.robot(id).unwrap()))
                };
                let body = match machine.motion {
                    Motion::DiffDrive { .. } => Twist::new(DVec3::X * input[0], DVec3::Z * input[1]),
                    _ => machine.axes.to_body(input.as_slice().try_into().unwrap()),
                };
                let Measured { pose, velocity } = machine.predict(&now, body);
                let (p, q) = (pose.translation, pose.rotation);
                self.world.set_pose(id, [p.x, p.y, p.z, q.x, q.y, q.z, q.w]);
                self.world.set_velocity(id, velocity.to_array());
            }
            self.tick += 1;
            self.world.set_tick(self.tick);
            given
        }

        fn pose(&self, robot: u64) -> DPose3 {
            Measured::new(&self.world.view().robot(EntityId(robot)).unwrap()).pose
        }
    }

    /// Forward 2, left 1, up 3 with a yaw of 90 degrees, in left-up-forward columns.
    fn via_point() -> Value {
        json!([[-1.0, 0.0, 0.0, 2.0], [0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 3.0], [0.0, 0.0, 0.0, 1.0]])
    }

    #[test]
    fn a_planned_mission_from_start_to_end() {
        for kind in [RobotType::UavLevel1, RobotType::UavLevel2, RobotType::DiffDrive] {
            let mut stage = Stage::new(&[kind]);
            assert_eq!(stage.state(0)["mission_state"], "idle");
            assert_eq!(stage.ask("mission_add_via_point", 0, json!({})).unwrap()["count"], 1);
            assert_eq!(stage.ask("mission_add_via_point", 0, json!({"pose": via_point()})).unwrap()["count"], 2);
            let steps = stage.ask("mission_start", 0, json!({})).unwrap()["steps"].as_u64().unwrap();
            assert!(steps > 10);
            for _ in 0..steps {
                assert_eq!(stage.state(0)["mission_state"], "running");
                assert_eq!(stage.step().len(), 1, "a command in each tick");
            }
            assert_eq!(stage.state(0)["step"], steps);
            stage.step();
            let state = stage.state(0);
            assert_eq!(state["mission_state"], "finished", "{state}");
            assert_eq!(state["via_points"][1], via_point());
            assert_eq!(
                (&state["step"], &state["steps"], &state["reason"]),
                (&json!(steps), &json!(steps), &Value::Null)
            );
            assert!(stage.step().is_empty());
            let pose = stage.pose(0);
            let (dx, dy) = (pose.translation.x - 2.0, pose.translation.y - 1.0);
            assert!(dx.hypot(dy) < 0.01, "{pose:?}");
            if kind != RobotType::DiffDrive {
                assert!((pose.translation.z - 3.0).abs() < 0.01);
            }
        }
    }

    #[test]
    fn a_trajectory_is_played_one_entry_a_tick() {
        let mut stage = Stage::new(&[RobotType::UavLevel1]);
        let entries = json!([[0.1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, -0.1, 0, 0.05, 0]]);
        let reply = stage.ask("mission_start", 0, json!({"trajectory": entries})).unwrap();
        assert_eq!(reply, json!({"status": "mission_started", "steps": 3}));
        assert_eq!(stage.step(), [(0, vec![0.1, 0.0, 0.0, 0.0, 0.0, 0.0])]);
        assert_eq!(stage.step(), [(0, vec![0.0; 6])], "an entry of zeros is a command too");
        assert_eq!(stage.state(0)["mission_state"], "running");
        assert_eq!(stage.step(), [(0, vec![0.0, 0.0, -0.1, 0.0, 0.05, 0.0])]);
        assert_eq!(stage.state(0)["mission_state"], "finished", "with its last entry");
        assert!(stage.step().is_empty());
    }

    #[test]
    fn wheels_are_stopped_once_at_the_end() {
        let mut stage = Stage::new(&[RobotType::DiffDrive]);
        stage.ask("mission_start", 0, json!({"trajectory": [[1, 0.5], [1, 0]]})).unwrap();
        let inputs: Vec<_> = (0..4).flat_map(|_| stage.step()).collect();
        assert_eq!(inputs, [(0, vec![1.0, 0.5]), (0, vec![1.0, 0.0]), (0, vec![0.0, 0.0])]);
        stage.ask("mission_start", 0, json!({"trajectory": [[1, 0], [1, 0]]})).unwrap();
        stage.step();
        assert_eq!(stage.ask("mission_stop", 0, json!({})).unwrap(), json!({"status": "mission_stopped", "step": 1}));
        assert_eq!(stage.step(), [(0, vec![0.0, 0.0])]);
        assert!(stage.step().is_empty());
    }

    #[test]
    fn bad_requests_are_refused_by_name() {
        let mut stage = Stage::new(&[RobotType::UavLevel1]);
        let mut ask = |cmd: &str, request| stage.ask(cmd, 0, request).unwrap_err();
        let error = ask("mission_start", json!({}));
        assert_eq!(
            error,
            "robot 0 \"uav0\" has nothing to fly: give a trajectory, or add via points with mission_add_via_point"
        );
        let error = ask("mission_start", json!({"trajectory": [[0, 0, 0, 0, 0, 0], [0, 9, 0, 0, 0, 0]]}));
        assert!(error.starts_with("trajectory[1]: control_input[1] (up) is 9, over the limit of 0.1"), "{error}");
        let error = ask("mission_start", json!({"trajectory": [[0, 0]]}));
        assert!(error.starts_with("trajectory[0]: control_input has 2 numbers"), "{error}");
        let mut mirrored = via_point();
        mirrored[0][0] = json!(1.0);
        let error = ask("mission_add_via_point", json!({"pose": mirrored}));
        assert!(error.contains("reflection"), "{error}");
        assert_eq!(ask("mission_stop", json!({})), "no mission runs on robot 0 \"uav0\"");
        assert_eq!(
            stage.ask("mission_get_state", 5, json!({})).unwrap_err(),
            "mission_get_state: there is no robot with this id: robot 5"
        );
    }

    #[test]
    fn a_running_mission_refuses_what_would_change_it() {
        let mut stage = Stage::new(&[RobotType::UavLevel1, RobotType::UavLevel1]);
        stage.ask("mission_add_via_point", 1, json!({"pose": via_point()})).unwrap();
        assert_eq!(stage.plugin.may(Operation::Reset), Ok(()));
        stage.ask("mission_start", 1, json!({})).unwrap();
        stage.step();
        let steps = &stage.state(1)["steps"];
        let runs = format!("a mission runs on robot 1 \"uav1\" (step 1 of {steps}); mission_stop ends it");
        for operation in [Operation::Reset, Operation::LoadState, Operation::Reload, Operation::Unload] {
            assert_eq!(stage.plugin.may(operation), Err(runs.clone()));
        }
        for (cmd, what) in [
            ("mission_start", "start another one"),
            ("mission_add_via_point", "add a via point"),
            ("mission_clear_via_points", "clear the via points"),
        ] {
            assert_eq!(stage.ask(cmd, 1, json!({})).unwrap_err(), format!("cannot {what}: {runs}"));
        }
        // The other robot is free.
        stage.ask("mission_start", 0, json!({"trajectory": [[0, 0, 0.1, 0, 0, 0]]})).unwrap();
        assert_eq!(stage.step().len(), 2);
        stage.ask("mission_stop", 1, json!({})).unwrap();
        assert_eq!(stage.state(1)["mission_state"], "stopped");
        assert_eq!(stage.plugin.may(Operation::Reset), Ok(()));
        stage.ask("mission_clear_via_points", 1, json!({})).unwrap();
        assert_eq!(stage.state(1)["via_points"], json!([]));
    }

    #[test]
    fn via_points_survive_a_reset() {
        let mut stage = Stage::new(&[RobotType::UavLevel1]);
        stage.ask("mission_add_via_point", 0, json!({"pose": via_point()})).unwrap();
        stage.ask("mission_start", 0, json!({})).unwrap();
        stage.plugin.on_reset(&stage.world.view()).unwrap();
        let state = stage.state(0);
        assert_eq!((&state["mission_state"], &state["step"], &state["steps"]), (&json!("idle"), &json!(0), &json!(0)));
        assert_eq!(state["via_points"], json!([via_point()]));
        assert!(stage.step().is_empty());
    }

    #[test]
    fn a_loaded_mission_goes_on_bit_for_bit() {
        let mut stage = Stage::new(&[RobotType::UavLevel1, RobotType::UavLevel2, RobotType::DiffDrive]);
        for robot in 0..3 {
            stage.ask("mission_add_via_point", robot, json!({"pose": via_point()})).unwrap();
            stage.ask("mission_start", robot, json!({})).unwrap();
        }
        (0..20).for_each(|_| drop(stage.step()));
        let saved = stage.plugin.save().unwrap();
        let mut again = Stage::new(&[RobotType::UavLevel1, RobotType::UavLevel2, RobotType::DiffDrive]);
        again.plugin.load(&saved).unwrap();
        assert_eq!(again.plugin.save().unwrap(), saved);
        for robot in 0..3 {
            let view = stage.world.view();
            let robot = view.robot(EntityId(robot)).unwrap();
            again.world.set_pose(robot.id, *robot.pose);
            again.world.set_velocity(robot.id, *robot.velocity);
        }
        for _ in 0..600 {
            assert_eq!(again.step(), stage.step());
            assert_eq!(again.plugin.save().unwrap(), stage.plugin.save().unwrap());
        }
        assert_eq!(stage.state(0)["mission_state"], "finished");
    }

    #[test]
    fn a_bad_state_changes_nothing() {
        let mut stage = Stage::new(&[RobotType::UavLevel1]);
        stage.ask("mission_add_via_point", 0, json!({})).unwrap();
        let before = stage.plugin.save().unwrap();
        for (state, expected) in [
            ("{", "EOF"),
            ("{\"version\":9}", "the saved missions are of version 9, expected 1"),
            ("{\"version\":1}", "the field missions is missing"),
        ] {
            let error = stage.plugin.load(state.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            assert_eq!(stage.plugin.save().unwrap(), before);
        }
    }

    #[test]
    fn a_blocked_mission_fails_and_is_logged() {
        let mut stage = Stage::new(&[RobotType::UavLevel1]);
        stage.ask("mission_add_via_point", 0, json!({"pose": via_point()})).unwrap();
        stage.ask("mission_start", 0, json!({})).unwrap();
        for _ in 0..1000 {
            stage.step();
            stage.world.set_pose(EntityId(0), [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
        }
        let state = stage.state(0);
        assert_eq!(state["mission_state"], "failed");
        assert!(state["reason"].as_str().unwrap().contains("something is in its way"), "{state}");
        assert!(stage.host.log()[0].1.starts_with("the mission of robot 0 \"uav0\" failed: via point 0"));
        assert_eq!(stage.host.log().len(), 1);
        // It can be tried again.
        stage.ask("mission_start", 0, json!({})).unwrap();
    }

    #[test]
    fn other_axes_are_followed() {
        let mut stage = Stage::new(&[RobotType::UavLevel1]);
        stage.world.set_axes(EntityId(0), tickworks_plugin_api::Axes::Flu);
        let pose = json!([[1, 0, 0, 0], [0, 1, 0, 0.05], [0, 0, 1, 1], [0, 0, 0, 1]]);
        stage.ask("mission_add_via_point", 0, json!({"pose": pose})).unwrap();
        stage.ask("mission_start", 0, json!({})).unwrap();
        assert!(stage.step()[0].1[1] > 0.0, "left is the second number");
        stage.step();
        let target = DPose3::from_translation(DVec3::new(0.0, 0.05, 1.0));
        let (d, angle) = se3::distance(&stage.pose(0), &target);
        assert!(d < 1e-12 && angle < 1e-12);
    }

    #[test]
    fn the_way_is_drawn() {
        let mut stage = Stage::new(&[RobotType::UavLevel1]);
        stage.ask("mission_add_via_point", 0, json!({"pose": via_point()})).unwrap();
        let mut canvas = Canvas::new();
        stage.plugin.draw(&stage.world.view(), &mut canvas);
        assert_eq!(canvas.shapes().len(), 2);
    }

    #[test]
    fn the_manifest_has_the_schemas() {
        let manifest = TrajectoryMission::manifest();
        assert_eq!(manifest.endpoints.len(), 5);
        for endpoint in &manifest.endpoints {
            assert_eq!(endpoint.default_robot, DefaultRobot::First, "{}", endpoint.name);
            assert_eq!(endpoint.reads_only, endpoint.name == "mission_get_state");
            assert_eq!(endpoint.robot == RobotUse::Control, !endpoint.reads_only);
            assert!(endpoint.reply["properties"].is_object(), "{}", endpoint.name);
        }
        assert!(manifest.endpoints[3].request["properties"]["trajectory"].is_object());
    }
}
