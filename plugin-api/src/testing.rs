//! A world, messages and a host for a plugin's own unit tests.
//!
//! ```
//! use tickworks_plugin_api::testing::{TestHost, TestMessage, TestWorld, config};
//! use tickworks_plugin_api::{Command, Config, Element, EntityId, Error, Host, Manifest, Message, Plugin, Response, RobotType, World};
//!
//! struct Forward;
//! impl Plugin for Forward {
//!     fn manifest() -> Manifest {
//!         Manifest::new("Moves a robot forward.")
//!     }
//!     fn create(_: Host, _: Config) -> Result<Self, Error> {
//!         Ok(Self)
//!     }
//!     fn on_message(&mut self, _: &World, _: EntityId, message: &Message) -> Response {
//!         Response::physics(Command::control(message.robot(), &[0.0, 0.0, 0.1, 0.0, 0.0, 0.0]))
//!     }
//! }
//!
//! let mut world = TestWorld::new();
//! let robot = world.add_robot("uav0", RobotType::UavLevel1, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
//! let host = TestHost::new();
//! let mut plugin = Forward::create(host.host(), config("forward", Element::new("plugin"))).unwrap();
//! let message = TestMessage::new("forward", r#"{"cmd": "forward"}"#).about(robot);
//! let response = plugin.on_message(&world.view(), EntityId::NONE, &message);
//! assert_eq!(response.commands().unwrap()[0].entity(), robot);
//! ```

use crate::abi::{self, Bytes, rc};
use crate::raw::{self, HostLink, Message, World};
use crate::{Axes, Config, Element, EntityId, Host, Kind, RayHit, RobotType, WorldRef};
use std::ffi::c_void;
use std::ops::Deref;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

/// A configuration: world "test", 60 Hz, seed 0.
pub fn config(instance: impl Into<String>, parameters: Element) -> Config {
    Config {
        instance: instance.into(),
        parameters,
        model: None,
        world: WorldRef { name: "test".into(), file: None },
        rate_hz: 60.0,
        seed: 0,
    }
}

/// A world in memory: nothing moves unless the test moves it. dt is 1/60 s.
#[derive(Default)]
pub struct TestWorld {
    tick: u64,
    paused: bool,
    robots: Vec<TestRobot>,
    robot_arrays: Columns,
    bodies: Vec<String>,
    body_arrays: Columns,
    models: Vec<(String, [f64; 7])>,
    ray_hit: Option<RayHit>,
}

#[derive(Default)]
struct Columns {
    ids: Vec<u64>,
    poses: Vec<[f64; 7]>,
    velocities: Vec<[f64; 6]>,
    flags: Vec<u32>,
}

struct TestRobot {
    name: String,
    kind: RobotType,
    axes: Axes,
    limits: [f64; 6],
    drag: f64,
}

impl TestWorld {
    /// Ticks a second.
    pub const RATE_HZ: f64 = 60.0;

    /// An empty world at tick 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a robot and a model of the same name. Its limits are 0.1 m and 0.05 rad a tick (UAVLevel1), 5 m/s² and
    /// rad/s² (UAVLevel2, drag 0.5), 1 m/s and rad/s (DiffDrive); its axes are left, up, forward.
    pub fn add_robot(&mut self, name: &str, kind: RobotType, pose: [f64; 7]) -> EntityId {
        let id = self.robots.len() as u64;
        let (limits, drag) = match kind {
            RobotType::UavLevel1 => ([0.1, 0.1, 0.1, 0.05, 0.05, 0.05], 0.0),
            RobotType::UavLevel2 => ([5.0; 6], 0.5),
            RobotType::DiffDrive => ([1.0, 1.0, 0.0, 0.0, 0.0, 0.0], 0.0),
        };
        self.robots.push(TestRobot { name: name.into(), kind, axes: Axes::Luf, limits, drag });
        self.robot_arrays.push(id, pose);
        self.models.push((name.into(), pose));
        EntityId(id)
    }

    /// Adds a body, named `model::link`.
    pub fn add_body(&mut self, name: &str, pose: [f64; 7]) -> EntityId {
        let id = 1 << 32 | self.bodies.len() as u64;
        self.bodies.push(name.into());
        self.body_arrays.push(id, pose);
        EntityId(id)
    }

    /// Adds a model without a robot.
    pub fn add_model(&mut self, name: &str, pose: [f64; 7]) -> EntityId {
        self.models.push((name.into(), pose));
        EntityId(2 << 32 | (self.models.len() as u64 - 1))
    }

    /// Changes a robot's limits.
    pub fn set_limits(&mut self, robot: EntityId, limits: [f64; 6]) {
        if let Some(robot) = usize::try_from(robot.0).ok().and_then(|row| self.robots.get_mut(row)) {
            robot.limits = limits;
        }
    }

    /// Changes a robot's axes.
    pub fn set_axes(&mut self, robot: EntityId, axes: Axes) {
        if let Some(robot) = usize::try_from(robot.0).ok().and_then(|row| self.robots.get_mut(row)) {
            robot.axes = axes;
        }
    }

    /// Moves a robot or body: x y z (m), qx qy qz qw.
    pub fn set_pose(&mut self, id: EntityId, pose: [f64; 7]) {
        if let Some((columns, row)) = self.columns(id) {
            columns.poses[row] = pose;
        }
    }

    /// Changes a robot's (own axes) or body's (world axes) velocity, m/s and rad/s.
    pub fn set_velocity(&mut self, id: EntityId, velocity: [f64; 6]) {
        if let Some((columns, row)) = self.columns(id) {
            columns.velocities[row] = velocity;
        }
    }

    /// Whether a robot touches something.
    pub fn set_colliding(&mut self, robot: EntityId, colliding: bool) {
        if let Some((columns, row)) = self.columns(robot) {
            columns.flags[row] =
                columns.flags[row] & !abi::flag::COLLIDING | if colliding { abi::flag::COLLIDING } else { 0 };
        }
    }

    /// Sets the tick, and with it the time.
    pub fn set_tick(&mut self, tick: u64) {
        self.tick = tick;
    }

    /// Pauses or resumes.
    pub fn set_paused(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// What every ray hits from now on.
    pub fn set_ray_hit(&mut self, hit: Option<RayHit>) {
        self.ray_hit = hit;
    }

    /// The world as a plugin sees it.
    pub fn view(&self) -> TestView<'_> {
        let dt = 1.0 / Self::RATE_HZ;
        #[expect(clippy::cast_precision_loss, reason = "a test runs fewer than 2^53 ticks")]
        let time = self.tick as f64 * dt;
        TestView {
            raw: abi::World {
                struct_size: raw::size_of::<abi::World>(),
                paused: self.paused.into(),
                tick: self.tick,
                time,
                dt,
                ctx: ptr::from_ref(self).cast_mut().cast(),
                robots: Some(robots),
                bodies: Some(bodies),
                robot_info: Some(robot_info),
                find: Some(find),
                name: Some(name),
                pose: Some(pose),
                ray_cast: Some(ray_cast),
            },
            world: self,
        }
    }

    fn columns(&mut self, id: EntityId) -> Option<(&mut Columns, usize)> {
        let columns = match id.kind()? {
            Kind::Robot => &mut self.robot_arrays,
            Kind::Body => &mut self.body_arrays,
            Kind::Model => return None,
        };
        let row = columns.ids.iter().position(|other| *other == id.0)?;
        Some((columns, row))
    }

    fn name_of(&self, id: u64) -> Option<&str> {
        let row = usize::try_from(id & 0xffff_ffff).ok()?;
        match EntityId(id).kind()? {
            Kind::Robot => self.robots.get(row).map(|robot| robot.name.as_str()),
            Kind::Body => self.bodies.get(row).map(String::as_str),
            Kind::Model => self.models.get(row).map(|(name, _)| name.as_str()),
        }
    }
}

impl Columns {
    fn push(&mut self, id: u64, pose: [f64; 7]) {
        self.ids.push(id);
        self.poses.push(pose);
        self.velocities.push([0.0; 6]);
        self.flags.push(0);
    }
}

/// A [`TestWorld`] as a plugin sees it: dereferences to [`World`].
pub struct TestView<'a> {
    raw: abi::World,
    // Keeps the world, which `raw.ctx` points to, as it is.
    world: &'a TestWorld,
}

impl Deref for TestView<'_> {
    type Target = World;

    fn deref(&self) -> &World {
        debug_assert!(ptr::eq(self.raw.ctx.cast_const().cast(), self.world));
        // SAFETY: `raw` is valid as long as `self`, and not NULL.
        match unsafe { World::from_ptr(&raw const self.raw) } {
            Some(world) => world,
            None => unreachable!("a reference is not NULL"),
        }
    }
}

/// # Safety
/// `ctx` is the one of a [`TestView`] that lives.
unsafe fn world<'a>(ctx: *mut c_void) -> &'a TestWorld {
    // SAFETY: see above.
    unsafe { &*ctx.cast_const().cast::<TestWorld>() }
}

fn count(ids: &[u64]) -> u32 {
    u32::try_from(ids.len()).unwrap_or(u32::MAX)
}

unsafe extern "C" fn robots(ctx: *mut c_void, out: *mut abi::Robots) -> i32 {
    // SAFETY: called through a view.
    let columns = &unsafe { world(ctx) }.robot_arrays;
    // SAFETY: the caller's place for the answer.
    unsafe {
        out.write(abi::Robots {
            struct_size: raw::size_of::<abi::Robots>(),
            count: count(&columns.ids),
            ids: columns.ids.as_ptr(),
            poses: columns.poses.as_ptr().cast(),
            velocities: columns.velocities.as_ptr().cast(),
            flags: columns.flags.as_ptr(),
        });
    }
    rc::OK
}

unsafe extern "C" fn bodies(ctx: *mut c_void, out: *mut abi::Bodies) -> i32 {
    // SAFETY: called through a view.
    let columns = &unsafe { world(ctx) }.body_arrays;
    // SAFETY: the caller's place for the answer.
    unsafe {
        out.write(abi::Bodies {
            struct_size: raw::size_of::<abi::Bodies>(),
            count: count(&columns.ids),
            ids: columns.ids.as_ptr(),
            poses: columns.poses.as_ptr().cast(),
            velocities: columns.velocities.as_ptr().cast(),
        });
    }
    rc::OK
}

unsafe extern "C" fn robot_info(ctx: *mut c_void, id: u64, out: *mut abi::RobotInfo) -> i32 {
    // SAFETY: called through a view.
    let world = unsafe { world(ctx) };
    let Some((row, robot)) = usize::try_from(id).ok().and_then(|row| Some((row, world.robots.get(row)?))) else {
        return rc::ERR_BAD_ARG;
    };
    let model = world.models.iter().position(|(name, _)| *name == robot.name).unwrap_or(row);
    // SAFETY: the caller's place for the answer.
    unsafe {
        out.write(abi::RobotInfo {
            struct_size: raw::size_of::<abi::RobotInfo>(),
            type_: match robot.kind {
                RobotType::UavLevel1 => abi::robot_type::UAV_LEVEL1,
                RobotType::UavLevel2 => abi::robot_type::UAV_LEVEL2,
                RobotType::DiffDrive => abi::robot_type::DIFF_DRIVE,
            },
            axes: match robot.axes {
                Axes::Luf => abi::axes::LUF,
                Axes::Flu => abi::axes::FLU,
            },
            control_len: if robot.kind == RobotType::DiffDrive { 2 } else { 6 },
            id,
            model: 2 << 32 | model as u64,
            name: Bytes::new(robot.name.as_bytes()),
            limits: robot.limits,
            drag: robot.drag,
        });
    }
    rc::OK
}

unsafe extern "C" fn find(ctx: *mut c_void, kind: u32, name: Bytes) -> u64 {
    // SAFETY: called through a view.
    let world = unsafe { world(ctx) };
    // SAFETY: the caller's bytes.
    let name = unsafe { name.as_slice() };
    let (base, row) = match kind {
        abi::kind::ROBOT => (0, world.robots.iter().position(|robot| robot.name.as_bytes() == name)),
        abi::kind::BODY => (1 << 32, world.bodies.iter().position(|body| body.as_bytes() == name)),
        _ => (2 << 32, world.models.iter().position(|(model, _)| model.as_bytes() == name)),
    };
    row.map_or(abi::NO_ENTITY, |row| base | row as u64)
}

unsafe extern "C" fn name(ctx: *mut c_void, id: u64, out: *mut Bytes) -> i32 {
    // SAFETY: called through a view.
    let Some(name) = unsafe { world(ctx) }.name_of(id) else { return rc::ERR_BAD_ARG };
    // SAFETY: the caller's place for the answer.
    unsafe { out.write(Bytes::new(name.as_bytes())) };
    rc::OK
}

unsafe extern "C" fn pose(ctx: *mut c_void, id: u64, out: *mut f64) -> i32 {
    // SAFETY: called through a view.
    let world = unsafe { world(ctx) };
    let row = usize::try_from(id & 0xffff_ffff).unwrap_or(usize::MAX);
    let pose = match EntityId(id).kind() {
        Some(Kind::Robot) => world.robot_arrays.poses.get(row),
        Some(Kind::Body) => world.body_arrays.poses.get(row),
        Some(Kind::Model) => world.models.get(row).map(|(_, pose)| pose),
        None => None,
    };
    let Some(pose) = pose else { return rc::ERR_BAD_ARG };
    // SAFETY: the caller's place for 7 numbers.
    unsafe { out.copy_from_nonoverlapping(pose.as_ptr(), pose.len()) };
    rc::OK
}

unsafe extern "C" fn ray_cast(ctx: *mut c_void, _ray: *const abi::Ray, out: *mut abi::RayHit) -> i32 {
    // SAFETY: called through a view.
    let Some(hit) = unsafe { world(ctx) }.ray_hit else { return 0 };
    // SAFETY: the caller's place for the answer.
    unsafe {
        out.write(abi::RayHit {
            body: hit.body.0,
            robot: hit.robot.unwrap_or(EntityId::NONE).0,
            distance: hit.distance,
            point: hit.point,
            normal: hit.normal,
        });
    }
    1
}

/// A message: dereferences to [`Message`].
pub struct TestMessage {
    raw: abi::Message,
    // What `raw` points to.
    _cmd: Box<str>,
    _json: Box<[u8]>,
}

impl TestMessage {
    /// A message of session 1, which has claimed no robot. `json` is the whole request.
    pub fn new(cmd: &str, json: impl Into<Vec<u8>>) -> Self {
        let cmd: Box<str> = cmd.into();
        let json: Box<[u8]> = json.into().into();
        let raw = abi::Message {
            struct_size: raw::size_of::<abi::Message>(),
            reserved: 0,
            id: 1,
            session: 1,
            from: abi::NO_ENTITY,
            target: abi::NO_ENTITY,
            cmd: Bytes::new(cmd.as_bytes()),
            json: Bytes::new(&json),
        };
        Self { raw, _cmd: cmd, _json: json }
    }

    /// The same from a connection that has claimed this robot.
    #[must_use]
    pub fn from_robot(mut self, robot: EntityId) -> Self {
        self.raw.from = robot.0;
        self
    }

    /// The same about this robot.
    #[must_use]
    pub fn about(mut self, robot: EntityId) -> Self {
        self.raw.target = robot.0;
        self
    }

    /// The same from this session.
    #[must_use]
    pub fn of_session(mut self, session: u64) -> Self {
        self.raw.session = session;
        self
    }
}

impl Deref for TestMessage {
    type Target = Message;

    fn deref(&self) -> &Message {
        // SAFETY: `raw` is valid as long as `self`, and not NULL.
        match unsafe { Message::from_ptr(&raw const self.raw) } {
            Some(message) => message,
            None => unreachable!("a reference is not NULL"),
        }
    }
}

/// A host that remembers what it was told.
pub struct TestHost {
    told: Arc<Mutex<Told>>,
    link: Arc<HostLink>,
    // What `link` points to.
    _raw: Box<abi::Host>,
}

#[derive(Default)]
struct Told {
    log: Vec<(u32, String)>,
    wakes: usize,
    published: Vec<(String, serde_json::Value)>,
}

impl Default for TestHost {
    fn default() -> Self {
        Self::new()
    }
}

impl TestHost {
    /// A host that has been told nothing.
    pub fn new() -> Self {
        let told = Arc::new(Mutex::new(Told::default()));
        let raw = Box::new(abi::Host {
            struct_size: raw::size_of::<abi::Host>(),
            abi_major: abi::ABI_MAJOR,
            abi_minor: abi::ABI_MINOR,
            ctx: Arc::as_ptr(&told).cast_mut().cast(),
            log: Some(host_log),
            wake: Some(host_wake),
            publish: Some(host_publish),
            get_extension: None,
        });
        // SAFETY: both `raw` and what its `ctx` points to live until after `drop`, which closes the link.
        let link = unsafe { HostLink::new(&raw const *raw) };
        Self { told, link, _raw: raw }
    }

    /// The host, as an instance gets it.
    pub fn host(&self) -> Host {
        Host(Arc::clone(&self.link))
    }

    /// The lines that were logged: level (see [`abi::level`]) and text.
    pub fn log(&self) -> Vec<(u32, String)> {
        self.told(|told| told.log.clone())
    }

    /// How often `wake` was called.
    pub fn wakes(&self) -> usize {
        self.told(|told| told.wakes)
    }

    /// What was published: topic and object.
    pub fn published(&self) -> Vec<(String, serde_json::Value)> {
        self.told(|told| told.published.clone())
    }

    fn told<R>(&self, read: impl FnOnce(&Told) -> R) -> R {
        read(&self.told.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for TestHost {
    fn drop(&mut self) {
        self.link.close();
    }
}

/// # Safety
/// `host` is the one of a [`TestHost`] that lives.
unsafe fn tell(host: *const abi::Host, what: impl FnOnce(&mut Told)) {
    // SAFETY: `ctx` points into the host's `Arc`.
    let told = unsafe { &*(*host).ctx.cast_const().cast::<Mutex<Told>>() };
    what(&mut told.lock().unwrap_or_else(PoisonError::into_inner));
}

unsafe extern "C" fn host_log(host: *const abi::Host, level: u32, text: Bytes) {
    // SAFETY: the caller's bytes.
    let text = String::from_utf8_lossy(unsafe { text.as_slice() }).into_owned();
    // SAFETY: called through the link.
    unsafe { tell(host, |told| told.log.push((level, text))) };
}

unsafe extern "C" fn host_wake(host: *const abi::Host) {
    // SAFETY: called through the link.
    unsafe { tell(host, |told| told.wakes += 1) };
}

unsafe extern "C" fn host_publish(host: *const abi::Host, topic: Bytes, json: Bytes) -> i32 {
    // SAFETY: the caller's bytes.
    let (topic, json) = unsafe { (topic.as_slice(), json.as_slice()) };
    let Ok(value) = serde_json::from_slice(json) else { return rc::ERR_BAD_ARG };
    let topic = String::from_utf8_lossy(topic).into_owned();
    // SAFETY: called through the link.
    unsafe { tell(host, |told| told.published.push((topic, value))) };
    rc::OK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_is_gone_is_not_called() {
        let host = TestHost::new();
        let kept = host.host();
        kept.info("a line");
        kept.wake();
        kept.publish("race", &serde_json::json!({"lap": 1}));
        kept.publish("race", &5);
        assert_eq!(host.log()[0], (abi::level::INFO, "a line".to_owned()));
        assert_eq!(host.log()[1].1, "a push to topic \"race\" must be a JSON object, this is 5");
        assert_eq!(host.wakes(), 1);
        assert_eq!(host.published(), [("race".to_owned(), serde_json::json!({"lap": 1}))]);
        drop(host);
        kept.info("nobody hears this");
    }
}
