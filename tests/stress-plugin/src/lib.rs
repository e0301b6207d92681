//! A plugin that misbehaves on request: its parameters say in which slot, and how.
//!
//! ```xml
//! <plugin filename="stress" name="stress">
//!   <trouble slot="create" does="sleep" seconds="1"/>
//!   <trouble slot="on_tick" does="panic" after="3"/>
//! </plugin>
//! ```
//!
//! `does`: `sleep` (for `seconds`), `hang` (for ever), `wait` (until the file `path` is there), `fail` (returns an error where the slot can), `panic`, `abort`,
//! `garbage` (answers with what no host should trust), `thread_panic` (a thread of its own panics), `log`, `wake`,
//! `publish` (with a `text`). `after`: only from the n-th call of that slot on (default 0). `once`: only in that one call.
//! Its endpoints: `stress_echo` answers with the request, `stress_move` commands the robot with `control_input`,
//! `stress_calls` says how often each slot was called, `stress_order` in which order the first of them were, `stress_ray`
//! casts a ray.
#![forbid(unsafe_code)]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::Duration;
use tickworks_plugin_api::{
    Canvas, Command, Commands, Config, DefaultRobot, Element, Endpoint, EntityId, Error, Host, Manifest, Message,
    Operation, Outcome, Plugin, Ray, Response, RobotUse, World, export_plugin,
};

struct Stress {
    host: Host,
    troubles: Vec<Trouble>,
    calls: RefCell<BTreeMap<&'static str, u64>>,
    order: RefCell<Vec<&'static str>>,
    state: Vec<u8>,
}

struct Trouble {
    slot: String,
    does: String,
    seconds: f64,
    path: String,
    text: String,
    after: u64,
    once: bool,
}

/// What a slot's caller has to do itself.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    Nothing,
    Fail,
    Garbage,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Move {
    /// As the robot's type says; not checked.
    control_input: Vec<f64>,
}

#[derive(Serialize, JsonSchema)]
struct Moved {
    status: String,
    outcomes: Vec<String>,
}

impl Trouble {
    fn read(element: &Element) -> Result<Self, Error> {
        let text = |name: &str| {
            element
                .attribute(name)
                .map(str::to_owned)
                .ok_or_else(|| Error::new(format_args!("<{}> has no attribute {name}", element.name)))
        };
        Ok(Self {
            slot: text("slot")?,
            does: text("does")?,
            seconds: element.parse_attribute("seconds")?.unwrap_or(0.0),
            text: element.attribute("text").unwrap_or_default().to_owned(),
            path: element.attribute("path").unwrap_or_default().to_owned(),
            after: element.parse_attribute("after")?.unwrap_or(0),
            once: element.parse_attribute("once")?.unwrap_or(false),
        })
    }

    #[expect(clippy::panic, reason = "panicking is what it is for")]
    fn strike(&self, host: &Host) -> Then {
        match self.does.as_str() {
            "sleep" => thread::sleep(Duration::from_secs_f64(self.seconds)),
            "hang" => loop {
                thread::park();
            },
            "wait" => {
                while !Path::new(&self.path).exists() {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            "panic" => panic!("stress: asked to panic in {}", self.slot),
            "abort" => std::process::abort(),
            "thread_panic" => {
                let name = self.slot.clone();
                let thread = thread::Builder::new().name("stress-worker".into());
                let worker = thread.spawn(move || panic!("stress: a thread of {name} panics"));
                // Its panic is what is asked for; the result says it again.
                let _ = worker.map(thread::JoinHandle::join);
            }
            "log" => host.warn(format_args!("stress: {} was called", self.slot)),
            "wake" => host.wake(),
            "publish" => host.publish("stress", &BTreeMap::from([("slot", &self.slot), ("text", &self.text)])),
            "fail" => return Then::Fail,
            "garbage" => return Then::Garbage,
            other => host.error(format_args!("stress: no such trouble: {other}")),
        }
        Then::Nothing
    }
}

#[derive(Deserialize, JsonSchema)]
struct RayRequest {
    origin: [f64; 3],
    direction: [f64; 3],
}

#[derive(Serialize, JsonSchema)]
struct RayReply {
    /// m; null where nothing was hit.
    distance: Option<f64>,
    robot: Option<EntityId>,
}

#[derive(Serialize, JsonSchema)]
struct Order {
    /// The first calls, in their order, without those of `on_message`; `created` is the end of `create`.
    order: Vec<&'static str>,
}

/// So many calls are remembered in their order.
const NOTED: usize = 100;

impl Stress {
    fn note(&self, what: &'static str) {
        let mut order = self.order.borrow_mut();
        if order.len() < NOTED {
            order.push(what);
        }
    }

    fn ray(world: &World, message: &Message) -> Response {
        let RayRequest { origin, direction } = match message.parse() {
            Ok(request) => request,
            Err(response) => return response,
        };
        let hit = world.ray_cast(&Ray { origin, direction, max_distance: 1000.0, ignore: EntityId::NONE });
        Response::ok(RayReply { distance: hit.as_ref().map(|hit| hit.distance), robot: hit.and_then(|hit| hit.robot) })
    }

    fn enter(&self, slot: &'static str) -> Then {
        let call = {
            let mut calls = self.calls.borrow_mut();
            let count = calls.entry(slot).or_default();
            *count += 1;
            *count - 1
        };
        if slot != "on_message" {
            self.note(slot);
        }
        let due = |trouble: &&Trouble| {
            trouble.slot == slot && if trouble.once { call == trouble.after } else { call >= trouble.after }
        };
        let mut then = Then::Nothing;
        for trouble in self.troubles.iter().filter(due) {
            let next = trouble.strike(&self.host);
            if next != Then::Nothing {
                then = next;
            }
        }
        then
    }

    fn enter_or_fail(&self, slot: &'static str) -> Result<(), Error> {
        match self.enter(slot) {
            Then::Fail => Err(Error::new(format_args!("stress: asked to fail in {slot}"))),
            _ => Ok(()),
        }
    }

    fn garbage(commands: &mut Commands) {
        commands.control(EntityId(12345), &[0.0; 6]);
        commands.control(EntityId(0), &[f64::NAN; 6]);
        commands.control(EntityId(0), &[0.0; 3]);
        commands.push(Command::force(EntityId(0), [f64::INFINITY; 3], [0.0; 3]));
    }
}

impl Plugin for Stress {
    fn manifest() -> Manifest {
        Manifest::new("Misbehaves on request.")
            .endpoint(Endpoint::new::<(), ()>("stress_echo", "Answers with the request."))
            .endpoint(Endpoint::new::<(), BTreeMap<String, u64>>("stress_calls", "How often each slot was called."))
            .endpoint(
                Endpoint::new::<Move, Moved>("stress_move", "Commands a robot without any check.")
                    .robot(RobotUse::Control)
                    .default_robot(DefaultRobot::First),
            )
            .endpoint(Endpoint::new::<(), Order>("stress_order", "In which order slots were called.").reads_only())
            .endpoint(Endpoint::new::<RayRequest, RayReply>("stress_ray", "What a ray hits first.").reads_only())
            .topic("stress", "Each call with the trouble `publish`.")
    }

    fn create(host: Host, config: Config) -> Result<Self, Error> {
        let troubles: Vec<_> =
            config.parameters.children_named("trouble").map(Trouble::read).collect::<Result<_, _>>()?;
        let plugin = Self { host, troubles, calls: RefCell::default(), order: RefCell::default(), state: Vec::new() };
        plugin.enter_or_fail("create")?;
        plugin.note("created");
        Ok(plugin)
    }

    fn on_all_started(&mut self, _: &World) -> Result<(), Error> {
        self.enter_or_fail("on_all_started")
    }

    fn on_reset(&mut self, _: &World) -> Result<(), Error> {
        self.enter_or_fail("on_reset")
    }

    fn on_message(&mut self, world: &World, _: EntityId, message: &Message) -> Response {
        match self.enter("on_message") {
            Then::Fail => return Response::err("stress: asked to fail in on_message"),
            Then::Garbage => return Response::ok("no object"),
            Then::Nothing => {}
        }
        match message.cmd() {
            "stress_calls" => Response::ok(&*self.calls.borrow()),
            "stress_order" => Response::ok(Order { order: self.order.borrow().clone() }),
            "stress_ray" => Self::ray(world, message),
            "stress_move" => {
                let input: Move = match message.parse() {
                    Ok(input) => input,
                    Err(response) => return response,
                };
                Response::physics(Command::control(message.robot(), &input.control_input))
            }
            _ => Response::ok(message.value()),
        }
    }

    fn on_response(&mut self, _: &World, _: &Message, outcomes: &[Outcome]) -> Response {
        match self.enter("on_response") {
            Then::Fail => Response::err("stress: asked to fail in on_response"),
            Then::Garbage => Response::not_mine(),
            Then::Nothing => Response::ok(Moved {
                status: "moved".into(),
                outcomes: outcomes.iter().map(|outcome| format!("{:?} {}", outcome.status, outcome.why())).collect(),
            }),
        }
    }

    fn on_tick(&mut self, _: &World, commands: &mut Commands) {
        if self.enter("on_tick") == Then::Garbage {
            Self::garbage(commands);
        }
    }

    fn before_physics(&mut self, _: &World, commands: &mut Commands) {
        if self.enter("before_physics") == Then::Garbage {
            Self::garbage(commands);
        }
    }

    fn after_physics(&mut self, _: &World) {
        self.enter("after_physics");
    }

    fn draw(&self, _: &World, canvas: &mut Canvas) {
        if self.enter("draw") == Then::Garbage {
            canvas.sphere([f64::NAN; 3], f64::INFINITY);
        }
        canvas.sphere([0.0, 0.0, 1.0], 0.5);
    }

    fn save(&self) -> Result<Vec<u8>, Error> {
        self.enter_or_fail("save")?;
        Ok(self.state.clone())
    }

    fn load(&mut self, state: &[u8]) -> Result<(), Error> {
        self.enter_or_fail("load")?;
        self.state = state.to_vec();
        Ok(())
    }

    fn may(&self, operation: Operation) -> Result<(), String> {
        match self.enter("may") {
            Then::Fail => Err(format!("stress: no {operation} now")),
            _ => Ok(()),
        }
    }

    fn on_wake(&mut self, _: &World) {
        self.enter("on_wake");
    }
}

impl Drop for Stress {
    fn drop(&mut self) {
        self.enter("destroy");
    }
}

export_plugin!(Stress);
