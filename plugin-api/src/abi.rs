//! The table and its companions: what crosses the border between host and plugin, and nothing else.
//!
//! Everything here is `repr(C)`, equal to `include/tickworks.h` field by field (a test compares sizes and offsets), and
//! frozen: after 1.0 no field is added, moved or retyped. What is new comes by string id through `get_extension`.
//! Plugins in Rust use [`crate::Plugin`] instead and never see this module.

use abi_stable::StableAbi;
use std::ffi::c_void;

/// The ABI's major version. Host and plugin must agree on it.
pub const ABI_MAJOR: u16 = 1;
/// The ABI's minor version: which optional extensions the header that a plugin was built with knew.
pub const ABI_MINOR: u16 = 0;

/// "No entity": a message from a connection without a robot, a ray that hit nothing that has an id.
pub const NO_ENTITY: u64 = u64::MAX;

/// What a slot or a host function returns: 0 or more is success.
pub mod rc {
    /// Done.
    pub const OK: i32 = 0;
    /// `on_message` only: this instance does not answer this message; the next owner's response counts.
    pub const NOT_MINE: i32 = 1;
    /// Failed; the text went to the sink as [`super::out::TEXT`].
    pub const ERR: i32 = -1;
    /// The plugin panicked or threw. The instance is failed: only `destroy` is called afterwards.
    pub const ERR_PANIC: i32 = -2;
    /// An argument is not what the function takes (NULL, bad UTF-8, a wrong length, an unknown id).
    pub const ERR_BAD_ARG: i32 = -3;
    /// Not offered: an unknown operation, a state of a version that this plugin does not read.
    pub const ERR_UNSUPPORTED: i32 = -4;
    /// Not possible in the present state.
    pub const ERR_STATE: i32 = -5;
    /// Called from a thread that the function's tag forbids.
    pub const ERR_WRONG_THREAD: i32 = -6;
}

/// What a plugin writes to a sink, `kind` of [`Sink::write`].
pub mod out {
    /// An `ok` reply: a JSON object. At most one of OK and ERR for a message.
    pub const OK: u32 = 0;
    /// An `err` reply: a JSON object with `error` (text), or plain text that becomes one.
    pub const ERR: u32 = 1;
    /// A packed array of [`super::Command`]. From `on_message` it makes the response a `physics` one.
    pub const COMMANDS: u32 = 2;
    /// Text for people: why a call failed.
    pub const TEXT: u32 = 3;
    /// The manifest (`describe`): a JSON object.
    pub const MANIFEST: u32 = 4;
    /// The saved state (`save`): any bytes, the plugin's own format. JSON is shown as JSON to clients.
    pub const STATE: u32 = 5;
    /// A packed array of [`super::Shape`] (`draw`).
    pub const SHAPES: u32 = 6;
}

/// Levels of [`Host::log`].
pub mod level {
    /// Something failed.
    pub const ERROR: u32 = 1;
    /// Something is odd, the work goes on.
    pub const WARN: u32 = 2;
    /// Worth knowing.
    pub const INFO: u32 = 3;
    /// For the plugin's author.
    pub const DEBUG: u32 = 4;
    /// Everything.
    pub const TRACE: u32 = 5;
}

/// Operations of [`Command`].
pub mod op {
    /// Motion of a robot for one tick: `v` is its control input in its control frame. UAVLevel1: twist of one tick
    /// (m, rad); UAVLevel2: acceleration (m/s², rad/s²); both `[linear x3, angular x3]` along the axes of the control
    /// frame, `count` 6. DiffDrive: `[v, w]` (m/s, rad/s), `count` 2, held until the next one.
    pub const CONTROL: u32 = 0;
    /// Sets a body's velocity: `v` = linear (m/s) of its centre of mass, angular (rad/s), world frame; `count` 6.
    pub const VELOCITY: u32 = 1;
    /// Adds a force (N) at the centre of mass and a torque (N·m), world frame, for this tick; `count` 6.
    pub const FORCE: u32 = 2;
    /// Adds an impulse (N·s) at the centre of mass and an angular impulse (N·m·s), world frame; `count` 6.
    pub const IMPULSE: u32 = 3;
}

/// What became of a command, `status` of [`Outcome`].
pub mod status {
    /// It took effect in this tick.
    pub const APPLIED: u32 = 0;
    /// A stronger plugin commanded the same robot in this tick; `by` is its id.
    pub const OVERRIDDEN: u32 = 1;
    /// A later command of the same plugin for the same robot in this tick took its place.
    pub const REPLACED: u32 = 2;
    /// The host did not take it; `reason` says why (paused, unknown entity, wrong count, not finite).
    pub const REFUSED: u32 = 3;
}

/// Kinds of entities, for [`World::find`]; an id carries its kind in its upper 32 bits.
pub mod kind {
    /// A robot: ids count from 0 in document order.
    pub const ROBOT: u32 = 0;
    /// A link, which is a rigid body: named `model::link`.
    pub const BODY: u32 = 1;
    /// A model: named `model` or `outer::inner`.
    pub const MODEL: u32 = 2;
}

/// `type_` of [`RobotInfo`].
pub mod robot_type {
    /// Kinematic: the control input is a twist of one tick.
    pub const UAV_LEVEL1: u32 = 1;
    /// Dynamic with linear drag: the control input is an acceleration.
    pub const UAV_LEVEL2: u32 = 2;
    /// Two driven wheels.
    pub const DIFF_DRIVE: u32 = 3;
}

/// `axes` of [`RobotInfo`]: the order of the control frame's axes.
pub mod axes {
    /// Left, up, forward.
    pub const LUF: u32 = 0;
    /// Forward, left, up: the body frame of ROS REP-103.
    pub const FLU: u32 = 1;
}

/// Bits of `flags` in [`Robots`] and [`Outcome`].
pub mod flag {
    /// The robot touched something in its last tick.
    pub const COLLIDING: u32 = 1;
    /// The robot is claimed by a connection.
    pub const CLAIMED: u32 = 2;
}

/// Lifecycle operations that a plugin may veto, `operation` of [`PluginTable::may`].
pub mod operation {
    /// `sim_reset`.
    pub const RESET: u32 = 1;
    /// `sim_load_state`.
    pub const LOAD_STATE: u32 = 2;
    /// `sim_reload_world`.
    pub const RELOAD: u32 = 3;
    /// `plugin_unload` of this plugin.
    pub const UNLOAD: u32 = 4;
}

/// Kinds of [`Shape`].
pub mod shape {
    /// A segment: `pose[0..3]` is its start, `size` its end, world frame.
    pub const LINE: u32 = 0;
    /// An arrow: as a segment, with a head at its end.
    pub const ARROW: u32 = 1;
    /// A box of edge lengths `size`, centred in `pose`.
    pub const BOX: u32 = 2;
    /// A sphere of radius `size[0]`.
    pub const SPHERE: u32 = 3;
    /// A cylinder of radius `size[0]` and length `size[1]` along z.
    pub const CYLINDER: u32 = 4;
    /// A rectangle in the y-z plane of `pose`, `size[0]` wide (y) and `size[1]` high (z): a gate, seen along x.
    pub const RECTANGLE: u32 = 5;
    /// The three axes of `pose`, each `size[0]` long.
    pub const FRAME: u32 = 6;
    /// `text` at `pose`, `size[0]` high.
    pub const TEXT: u32 = 7;
}

/// Borrowed bytes, valid for the call. Text is UTF-8, not NUL-terminated.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct Bytes {
    /// First byte; may be NULL when `len` is 0.
    pub ptr: *const u8,
    /// How many bytes.
    pub len: usize,
}

/// Where a plugin puts what it returns. The host copies before `write` returns.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct Sink {
    /// `sizeof(tw_sink)` of the host.
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// The host's own.
    pub ctx: *mut c_void,
    /// `[same thread as the call that got the sink]` Copies `bytes`; `kind` is one of [`out`].
    pub write: Option<unsafe extern "C" fn(ctx: *mut c_void, kind: u32, bytes: Bytes) -> i32>,
}

/// A command to the world: plain data, 80 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, StableAbi)]
pub struct Command {
    /// One of [`op`].
    pub op: u32,
    /// How many numbers of `v` are meant.
    pub count: u32,
    /// The robot (CONTROL) or body (all others).
    pub entity: u64,
    /// The numbers; see [`op`].
    pub v: [f64; 8],
}

/// What became of a command of an `on_message`, in the order in which they were written.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct Outcome {
    /// The command's entity.
    pub entity: u64,
    /// The command's operation.
    pub op: u32,
    /// One of [`status`].
    pub status: u32,
    /// Bits of [`flag`].
    pub flags: u32,
    /// 0.
    pub reserved: u32,
    /// OVERRIDDEN: id of the plugin that won. Else empty.
    pub by: Bytes,
    /// Not applied: why, as one sentence. Else empty.
    pub reason: Bytes,
}

/// One request of a client.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct Message {
    /// `sizeof(tw_message)` of the host.
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// Unique within a run.
    pub id: u64,
    /// The connection that it came from: unique within a run.
    pub session: u64,
    /// The robot that the connection has claimed, or [`NO_ENTITY`].
    pub from: u64,
    /// The robot that the request is about: `robot_id`, else what the endpoint's manifest entry says, else [`NO_ENTITY`].
    /// The host has checked that it exists and that the sender may control it, where the endpoint controls.
    pub target: u64,
    /// The command's name.
    pub cmd: Bytes,
    /// The whole request: a JSON object.
    pub json: Bytes,
}

/// All robots, in order of their ids. Arrays belong to the host and are valid for the call.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct Robots {
    /// The caller sets it to its own `sizeof(tw_robots)`.
    pub struct_size: u32,
    /// How many.
    pub count: u32,
    /// `count` ids, ascending.
    pub ids: *const u64,
    /// `count` x 7: position x y z (m), rotation qx qy qz qw, of the model's frame (x forward, y left, z up) in the world.
    pub poses: *const f64,
    /// `count` x 6: linear (m/s) and angular (rad/s) velocity in the robot's own frame (x forward, y left, z up).
    pub velocities: *const f64,
    /// `count` x bits of [`flag`].
    pub flags: *const u32,
}

/// All bodies (links that are not static), in order of their ids. Arrays belong to the host and are valid for the call.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct Bodies {
    /// The caller sets it to its own `sizeof(tw_bodies)`.
    pub struct_size: u32,
    /// How many.
    pub count: u32,
    /// `count` ids, ascending.
    pub ids: *const u64,
    /// `count` x 7: position x y z (m), rotation qx qy qz qw, of the link's frame in the world.
    pub poses: *const f64,
    /// `count` x 6: linear velocity of the centre of mass (m/s), angular velocity (rad/s), world frame.
    pub velocities: *const f64,
}

/// What a robot is.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct RobotInfo {
    /// The caller sets it to its own `sizeof(tw_robot_info)`.
    pub struct_size: u32,
    /// One of [`robot_type`].
    pub type_: u32,
    /// One of [`axes`].
    pub axes: u32,
    /// How many numbers its control input has: 6 or 2.
    pub control_len: u32,
    /// Its id.
    pub id: u64,
    /// Its model's id.
    pub model: u64,
    /// Its name. Valid for the call.
    pub name: Bytes,
    /// Largest absolute control input, per axis: UAVLevel1 m and rad a tick, UAVLevel2 m/s² and rad/s², DiffDrive m/s, rad/s.
    pub limits: [f64; 6],
    /// UAVLevel2: k in v' = v + dt (a - k v), 1/s. Else 0.
    pub drag: f64,
}

/// A ray.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct Ray {
    /// Start, m, world frame.
    pub origin: [f64; 3],
    /// Direction; need not be of unit length, must not be zero.
    pub direction: [f64; 3],
    /// How far it looks, m.
    pub max_distance: f64,
    /// An entity (robot, body or model) that it passes through, or [`NO_ENTITY`].
    pub ignore: u64,
}

/// What a ray hit.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct RayHit {
    /// The body that was hit (also static links have ids).
    pub body: u64,
    /// The robot that it belongs to, or [`NO_ENTITY`].
    pub robot: u64,
    /// From the origin, m.
    pub distance: f64,
    /// Where, m, world frame.
    pub point: [f64; 3],
    /// The surface's normal there, unit, world frame.
    pub normal: [f64; 3],
}

/// The read view of the world, valid for the call. All functions: `[sim-thread]`.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct World {
    /// `sizeof(tw_world)` of the host.
    pub struct_size: u32,
    /// 1 while the simulation is paused.
    pub paused: u32,
    /// Ticks done since the start or the last reset. In `after_physics` and `on_response` the present one counts.
    pub tick: u64,
    /// `tick` times `dt`, s.
    pub time: f64,
    /// Length of one tick, s.
    pub dt: f64,
    /// The host's own.
    pub ctx: *mut c_void,
    /// Fills `out` with all robots.
    pub robots: Option<unsafe extern "C" fn(ctx: *mut c_void, out: *mut Robots) -> i32>,
    /// Fills `out` with all bodies.
    pub bodies: Option<unsafe extern "C" fn(ctx: *mut c_void, out: *mut Bodies) -> i32>,
    /// What robot `id` is. `ERR_BAD_ARG`: there is none.
    pub robot_info: Option<unsafe extern "C" fn(ctx: *mut c_void, id: u64, out: *mut RobotInfo) -> i32>,
    /// The id of the entity of a [`kind`] with this (scoped) name, or [`NO_ENTITY`].
    pub find: Option<unsafe extern "C" fn(ctx: *mut c_void, kind: u32, name: Bytes) -> u64>,
    /// The scoped name of an entity. Valid for the call. `ERR_BAD_ARG`: there is none.
    pub name: Option<unsafe extern "C" fn(ctx: *mut c_void, id: u64, out: *mut Bytes) -> i32>,
    /// The pose of any entity in the world: 7 numbers as in [`Robots`]. `ERR_BAD_ARG`: there is none.
    pub pose: Option<unsafe extern "C" fn(ctx: *mut c_void, id: u64, out: *mut f64) -> i32>,
    /// Casts a ray: 1 and `out` filled on a hit, 0 on none, `ERR_BAD_ARG` for a zero or not finite ray.
    pub ray_cast: Option<unsafe extern "C" fn(ctx: *mut c_void, ray: *const Ray, out: *mut RayHit) -> i32>,
}

/// One thing to show over the world: plain data, 128 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct Shape {
    /// One of [`shape`].
    pub kind: u32,
    /// Colour, 0xRRGGBBAA.
    pub rgba: u32,
    /// Width of lines, in pixels; 0: filled.
    pub width: f32,
    /// 0.
    pub reserved: u32,
    /// Position x y z (m), rotation qx qy qz qw, world frame.
    pub pose: [f64; 7],
    /// See [`shape`].
    pub size: [f64; 3],
    /// UTF-8, padded with NUL.
    pub text: [u8; 32],
}

/// What the host offers to an instance, from `create` to `destroy`.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct Host {
    /// `sizeof(tw_host)` of the host.
    pub struct_size: u32,
    /// [`ABI_MAJOR`] of the host.
    pub abi_major: u16,
    /// [`ABI_MINOR`] of the host.
    pub abi_minor: u16,
    /// The host's own.
    pub ctx: *mut c_void,
    /// `[thread-safe]` Writes a line to the host's log, under the plugin's name. `level` is one of [`level`].
    pub log: Option<unsafe extern "C" fn(host: *const Host, level: u32, text: Bytes)>,
    /// `[thread-safe]` Asks for a call of `on_wake` on the sim thread. Several before that are one.
    pub wake: Option<unsafe extern "C" fn(host: *const Host)>,
    /// `[thread-safe]` Pushes a JSON object to the subscribers of `topic`, which the manifest declares, after the replies
    /// of this tick.
    pub publish: Option<unsafe extern "C" fn(host: *const Host, topic: Bytes, json: Bytes) -> i32>,
    /// `[thread-safe]` A table by id, such as `tw.camera/1`, or NULL. Valid until `destroy`.
    pub get_extension: Option<unsafe extern "C" fn(host: *const Host, id: Bytes) -> *const c_void>,
}

/// The table: one for each plugin, static, immutable. Slots marked *optional* may be NULL.
///
/// After `ERR_PANIC` from any slot nothing but `destroy` is called on that instance.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct PluginTable {
    /// `sizeof(tw_plugin)`.
    pub struct_size: u32,
    /// [`ABI_MAJOR`] that the plugin was built for.
    pub abi_major: u16,
    /// [`ABI_MINOR`] that the plugin was built for.
    pub abi_minor: u16,
    /// Its name: `[a-z0-9._-]+`, unique in a host.
    pub id: Bytes,
    /// Its own version, such as `1.2.0`.
    pub version: Bytes,
    /// `[any thread]` Writes the manifest (`out::MANIFEST`). Needs no instance.
    pub describe: Option<unsafe extern "C" fn(sink: *const Sink) -> i32>,
    /// `[start-thread]` Makes an instance; may be slow, may do I/O. `config` is a JSON object. On failure: `out::TEXT`.
    pub create:
        Option<unsafe extern "C" fn(host: *const Host, config: Bytes, sink: *const Sink, out: *mut *mut c_void) -> i32>,
    /// `[sim-thread]` Ends an instance; join your threads first. Also called on an instance that failed. Called exactly once.
    pub destroy: Option<unsafe extern "C" fn(instance: *mut c_void)>,
    /// `[sim-thread]` *optional* Once, when every plugin has started and the world is loaded, before the first tick.
    pub on_all_started:
        Option<unsafe extern "C" fn(instance: *mut c_void, world: *const World, sink: *const Sink) -> i32>,
    /// `[sim-thread]` *optional* The world has been reset. On failure: `out::TEXT`.
    pub on_reset: Option<unsafe extern "C" fn(instance: *mut c_void, world: *const World, sink: *const Sink) -> i32>,
    /// `[sim-thread]` Answers a message: `out::OK`, `out::ERR`, or `out::COMMANDS` (then `on_response` makes the reply).
    pub on_message: Option<
        unsafe extern "C" fn(
            instance: *mut c_void,
            world: *const World,
            message: *const Message,
            sink: *const Sink,
        ) -> i32,
    >,
    /// `[sim-thread]` *optional* After physics, for a message that was answered with commands: what came of them. Writes
    /// `out::OK` or `out::ERR`. NULL: the host writes a plain reply.
    pub on_response: Option<
        unsafe extern "C" fn(
            instance: *mut c_void,
            world: *const World,
            message: *const Message,
            outcomes: *const Outcome,
            count: u32,
            sink: *const Sink,
        ) -> i32,
    >,
    /// `[sim-thread]` *optional* Once a tick, after the messages. Writes `out::COMMANDS`.
    pub on_tick: Option<unsafe extern "C" fn(instance: *mut c_void, world: *const World, sink: *const Sink) -> i32>,
    /// `[sim-thread]` *optional* Right before physics. Writes `out::COMMANDS` (all but CONTROL).
    pub before_physics:
        Option<unsafe extern "C" fn(instance: *mut c_void, world: *const World, sink: *const Sink) -> i32>,
    /// `[sim-thread]` *optional* Right after physics: the world as it is at the end of this tick.
    pub after_physics:
        Option<unsafe extern "C" fn(instance: *mut c_void, world: *const World, sink: *const Sink) -> i32>,
    /// `[sim-thread]` *optional* Writes `out::SHAPES`. Called only while somebody looks.
    pub draw: Option<unsafe extern "C" fn(instance: *mut c_void, world: *const World, sink: *const Sink) -> i32>,
    /// `[sim-thread]` *optional* Writes all durable state (`out::STATE`). Must not change anything.
    pub save: Option<unsafe extern "C" fn(instance: *mut c_void, sink: *const Sink) -> i32>,
    /// `[sim-thread]` *optional* Takes back what `save` wrote. On failure the state is as before, and `out::TEXT` says why.
    /// A plugin with `save` has `load`.
    pub load: Option<unsafe extern "C" fn(instance: *mut c_void, state: Bytes, sink: *const Sink) -> i32>,
    /// `[sim-thread]` *optional* `OK`: go on; anything below 0 refuses `operation` (one of [`operation`]), `out::TEXT` says
    /// why. Must not change anything.
    pub may: Option<unsafe extern "C" fn(instance: *mut c_void, operation: u32, sink: *const Sink) -> i32>,
    /// `[sim-thread]` *optional* Answers `wake`.
    pub on_wake: Option<unsafe extern "C" fn(instance: *mut c_void, world: *const World, sink: *const Sink) -> i32>,
    /// `[sim-thread]` *optional* A table by id, or NULL. Where all growth goes.
    pub get_extension: Option<unsafe extern "C" fn(instance: *mut c_void, id: Bytes) -> *const c_void>,
}

// SAFETY: a table is immutable, its `Bytes` point to static data, and its functions carry their own thread rules.
unsafe impl Sync for PluginTable {}
// SAFETY: as above.
unsafe impl Send for PluginTable {}
