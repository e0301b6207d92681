//! The plugin: start, stop, and a look at each tick's motion.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tickworks_motion::DVec3;
use tickworks_plugin_api::{
    Canvas, Commands, Config, Endpoint, EntityId, Error, Host, Manifest, Message, Plugin, Response, World, parse_json,
    schema_of,
};

use crate::{
    course::{Course, EXAMPLE, MAX_LAPS, Parameters},
    messages::{Event, Nothing, StartRequest, Started, StateReply, StopReply},
    race::Race,
};

/// Version of the saved state.
const VERSION: u32 = 1;
/// No countdown is longer, s.
const MAX_COUNTDOWN: f64 = 3600.0;
/// The topic of all events.
const TOPIC: &str = "race";

/// Of gates, and of the gates that are due: one colour for each robot in turn.
const PLAIN: u32 = 0xd0d0_d080;
const DUE: [u32; 6] = [0xff50_40ff, 0x40a0_ffff, 0x50d0_50ff, 0xffc0_30ff, 0xd060_ffff, 0x40e0_d0ff];

/// The plugin.
pub struct RacePlugin {
    host: Host,
    parameters: Parameters,
    /// Known once all have started.
    course: Course,
    race: Race,
}

/// What is saved. The course is the world's.
#[derive(Serialize, Deserialize)]
struct Saved<R> {
    version: u32,
    race: R,
}

impl Plugin for RacePlugin {
    fn manifest() -> Manifest {
        Manifest::new("Races robots through gates, lap after lap.")
            .parameter("laps", "How many laps a race has (default 1).", schema_of::<u32>())
            .parameter(
                "gate",
                "A gate, in the order in which they count; forward is its +x. <pose>x y z roll pitch yaw</pose> in the \
                 world (m, rad) or an attribute model, whose pose it takes; <size>width height</size> (m); an attribute name.",
                json!({
                    "type": "object",
                    "properties": {
                        "name": {"type": "string"},
                        "model": {"type": "string"},
                        "pose": {"type": "array", "items": {"type": "number"}, "minItems": 6, "maxItems": 6},
                        "size": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
                    },
                    "required": ["size"],
                }),
            )
            .endpoint(Endpoint::new::<StartRequest, Started>("race_start", "Starts a race, after a countdown."))
            .endpoint(
                Endpoint::new::<Nothing, StateReply>("race_get_state", "Standings, and how the race is going.").reads_only(),
            )
            .endpoint(Endpoint::new::<Nothing, StopReply>("race_stop", "Ends the race; its standings stay."))
            .topic(TOPIC, "Countdown, start, each gate, wrong gate, lap and finish, and the end of a race.")
    }

    fn create(host: Host, config: Config) -> Result<Self, Error> {
        let parameters = Parameters::read(&config.parameters)?;
        Ok(Self { host, parameters, course: Course::default(), race: Race::default() })
    }

    fn on_all_started(&mut self, world: &World) -> Result<(), Error> {
        self.course = self.parameters.resolve(world)?;
        Ok(())
    }

    fn on_reset(&mut self, world: &World) -> Result<(), Error> {
        if self.race.is_on() {
            self.publish(&[Event::Stop { time: self.race.time(world.dt()) }]);
        }
        self.race = Race::default();
        Ok(())
    }

    fn on_message(&mut self, world: &World, _from: EntityId, message: &Message) -> Response {
        match message.cmd() {
            "race_start" => self.start(world, message).unwrap_or_else(|refusal| refusal),
            "race_get_state" => Response::ok(self.state(world)),
            "race_stop" => self.stop(world),
            _ => Response::not_mine(),
        }
    }

    fn on_tick(&mut self, world: &World, _commands: &mut Commands) {
        self.race.begin_tick(|robot| position(world, robot));
    }

    fn after_physics(&mut self, world: &World) {
        let events = self.race.end_tick(&self.course, world.dt(), |robot| position(world, robot));
        self.publish(&events);
    }

    fn draw(&self, world: &World, canvas: &mut Canvas) {
        for gate in 0..self.course.len() {
            self.draw_gate(canvas, gate, PLAIN, 1.0);
        }
        for (row, (robot, gate)) in self.race.due().enumerate() {
            let color = DUE[row % DUE.len()];
            self.draw_gate(canvas, gate, color, 4.0);
            if let (Some(from), Some(gate)) = (position(world, robot), self.course.gate(gate)) {
                canvas.width(1.0).line(from.to_array(), gate.pose.translation.to_array());
            }
        }
    }

    fn save(&self) -> Result<Vec<u8>, Error> {
        Ok(serde_json::to_vec(&Saved { version: VERSION, race: &self.race })?)
    }

    fn load(&mut self, state: &[u8]) -> Result<(), Error> {
        // The version alone first, since another one may look different.
        let version = parse_json::<Value>(state)?["version"].clone();
        if version != VERSION {
            return Err(Error::new(format_args!("the saved race is of version {version}, expected {VERSION}")));
        }
        let saved: Saved<Race> = parse_json(state)?;
        saved.race.check(self.course.len())?;
        self.race = saved.race;
        Ok(())
    }
}

impl RacePlugin {
    fn start(&mut self, world: &World, message: &Message) -> Result<Response, Response> {
        let request: StartRequest = message.parse()?;
        if self.course.is_empty() {
            return Err(Response::err(format_args!(
                "the world has no gates for a race; they are written as {EXAMPLE}"
            )));
        }
        if self.race.is_on() {
            return Err(Response::err("a race is on already; race_stop ends it"));
        }
        let laps = request.laps.unwrap_or(self.parameters.laps);
        if !(1..=MAX_LAPS).contains(&laps) {
            return Err(Response::err(format_args!("laps is {laps}, expected 1 to {MAX_LAPS}")));
        }
        if !(0.0..=MAX_COUNTDOWN).contains(&request.countdown) {
            return Err(Response::err(format_args!(
                "countdown is {}, expected 0 to {MAX_COUNTDOWN} s",
                request.countdown
            )));
        }
        let robots = racers(world, request.robots)?;
        // A countdown of whole ticks, give or take rounding, is not rounded up by one.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to MAX_COUNTDOWN over dt")]
        let countdown = (request.countdown / world.dt() - 1e-9).ceil().max(0.0) as u64;

        self.race = Race::start(laps, countdown, robots);
        let robots = self.race.robots();
        self.publish(&[if countdown == 0 {
            Event::Start { laps, robots: robots.clone() }
        } else {
            Event::Countdown { seconds: -self.race.time(world.dt()), laps, robots: robots.clone() }
        }]);
        Ok(Response::ok(Started { status: "race_started", laps, robots }))
    }

    fn stop(&mut self, world: &World) -> Response {
        if !self.race.is_on() {
            return Response::err("no race is on; race_start starts one");
        }
        self.publish(&[Event::Stop { time: self.race.time(world.dt()) }]);
        self.race.stop();
        Response::ok(StopReply { status: "race_stopped" })
    }

    fn state(&self, world: &World) -> StateReply {
        let robots = self.race.replies();
        StateReply {
            state: self.race.state(),
            // Before the first race: what the next one has.
            laps: if robots.is_empty() { self.parameters.laps } else { self.race.laps() },
            gates: self.course.names().map(str::to_owned).collect(),
            time: self.race.time(world.dt()),
            robots,
        }
    }

    fn publish(&self, events: &[Event]) {
        for event in events {
            self.host.publish(TOPIC, event);
        }
    }

    fn draw_gate(&self, canvas: &mut Canvas, gate: usize, color: u32, width: f32) {
        let Some(rectangle) = self.course.gate(gate) else { return };
        let (p, q) = (rectangle.pose.translation, rectangle.pose.rotation);
        let pose = [p.x, p.y, p.z, q.x, q.y, q.z, q.w];
        let ahead = p + q * DVec3::X * (rectangle.height / 2.0);
        let above = p + q * DVec3::Z * (rectangle.height / 2.0 + 0.2);
        canvas
            .color(color)
            .width(width)
            .rectangle(pose, rectangle.width, rectangle.height)
            .arrow(p.to_array(), ahead.to_array())
            .text(above.to_array(), 0.3, self.course.name(gate));
    }
}

fn position(world: &World, robot: EntityId) -> Option<DVec3> {
    world.robot(robot).map(|robot| DVec3::new(robot.pose[0], robot.pose[1], robot.pose[2]))
}

/// Who takes part: id and name.
fn racers(world: &World, wanted: Option<Vec<EntityId>>) -> Result<Vec<(EntityId, String)>, Response> {
    let mut ids = wanted.unwrap_or_else(|| world.robots().iter().map(|robot| robot.id).collect());
    if ids.is_empty() {
        return Err(Response::err("nobody takes part: there are no robots to race"));
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    if ids.len() < count {
        return Err(Response::err("robots names a robot more than once"));
    }
    let named = |id: EntityId| match world.robot_info(id) {
        Some(info) => Ok((id, info.name)),
        None => Err(Response::err(format_args!("robots names {}, and no robot has that id", id.0))),
    };
    ids.into_iter().map(named).collect()
}
