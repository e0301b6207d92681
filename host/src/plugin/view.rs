//! The world as plugins see it: a trait for the host's side, and its way through the table.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use tickworks_plugin_api::abi::{self, Bytes, rc};
use tickworks_plugin_api::{Axes, EntityId, Kind, Ray, RayHit, RobotType};

/// What plugins may know of the world. The host implements it over its own world.
///
/// All functions but the first four are called only when a plugin asks, so a tick in which nobody asks costs nothing.
pub trait WorldView {
    /// Ticks done since the start or the last reset. In `after_physics` and `on_response` the present one counts.
    fn tick(&self) -> u64;
    /// Simulated time, s.
    fn time(&self) -> f64;
    /// Length of one tick, s.
    fn dt(&self) -> f64;
    /// Whether the simulation is paused.
    fn paused(&self) -> bool;
    /// All robots. The arrays must stay as they are as long as the view is borrowed.
    fn robots(&self) -> RobotArrays<'_>;
    /// All bodies. The arrays must stay as they are as long as the view is borrowed.
    fn bodies(&self) -> BodyArrays<'_>;
    /// What a robot is.
    fn robot_info(&self, id: EntityId) -> Option<RobotInfoView<'_>>;
    /// The entity of this kind and scoped name.
    fn find(&self, kind: Kind, name: &str) -> Option<EntityId>;
    /// The scoped name of an entity.
    fn name(&self, id: EntityId) -> Option<&str>;
    /// The pose of any entity in the world: x y z (m), qx qy qz qw.
    fn pose(&self, id: EntityId) -> Option<[f64; 7]>;
    /// Casts a ray, which is finite and not zero.
    fn ray_cast(&self, ray: &Ray) -> Option<RayHit>;
}

/// All robots, as arrays of one length, ids ascending.
#[derive(Clone, Copy, Debug, Default)]
pub struct RobotArrays<'a> {
    /// Ids.
    pub ids: &'a [u64],
    /// x y z (m), qx qy qz qw, of the body frame (x forward, y left, z up) in the world.
    pub poses: &'a [[f64; 7]],
    /// Linear (m/s) and angular (rad/s), along the body's own axes.
    pub velocities: &'a [[f64; 6]],
    /// Bits of [`abi::flag`].
    pub flags: &'a [u32],
}

/// All bodies (links that are not static), as arrays of one length, ids ascending.
#[derive(Clone, Copy, Debug, Default)]
pub struct BodyArrays<'a> {
    /// Ids.
    pub ids: &'a [u64],
    /// x y z (m), qx qy qz qw, of the link's frame in the world.
    pub poses: &'a [[f64; 7]],
    /// Linear of the centre of mass (m/s), angular (rad/s), world frame.
    pub velocities: &'a [[f64; 6]],
}

/// What a robot is.
#[derive(Clone, Copy, Debug)]
pub struct RobotInfoView<'a> {
    /// Its id.
    pub id: EntityId,
    /// Its model.
    pub model: EntityId,
    /// Its name.
    pub name: &'a str,
    /// How it moves.
    pub kind: RobotType,
    /// The axes of its control frame.
    pub axes: Axes,
    /// Largest absolute control input, as in [`abi::RobotInfo::limits`].
    pub limits: [f64; 6],
    /// UAVLevel2: drag, 1/s. Else 0.
    pub drag: f64,
}

/// What `ctx` of the table's world points to.
struct Context<'a> {
    view: &'a dyn WorldView,
    #[cfg(debug_assertions)]
    thread: std::thread::ThreadId,
}

/// Makes the table's world out of a view, for one or more calls into plugins.
pub(super) fn with_world<R>(view: &dyn WorldView, calls: impl FnOnce(&abi::World) -> R) -> R {
    let context = Context {
        view,
        #[cfg(debug_assertions)]
        thread: std::thread::current().id(),
    };
    calls(&abi::World {
        struct_size: super::struct_size::<abi::World>(),
        paused: view.paused().into(),
        tick: view.tick(),
        time: view.time(),
        dt: view.dt(),
        ctx: ptr::from_ref(&context).cast_mut().cast(),
        robots: Some(robots),
        bodies: Some(bodies),
        robot_info: Some(robot_info),
        find: Some(find),
        name: Some(name),
        pose: Some(pose),
        ray_cast: Some(ray_cast),
    })
}

/// Runs the body of a world function for a plugin: on the right thread, with a panic of ours kept on our side.
///
/// # Safety
/// `ctx` is the one of a world whose call still runs.
unsafe fn answer<R>(ctx: *mut c_void, refused: impl Fn(i32) -> R, body: impl FnOnce(&dyn WorldView) -> R) -> R {
    // SAFETY: the caller's promise; `with_world` keeps the context alive during the call.
    let Some(context) = (unsafe { ctx.cast_const().cast::<Context<'_>>().as_ref() }) else {
        return refused(rc::ERR_BAD_ARG);
    };
    #[cfg(debug_assertions)]
    if context.thread != std::thread::current().id() {
        return refused(rc::ERR_WRONG_THREAD);
    }
    catch_unwind(AssertUnwindSafe(|| body(context.view))).unwrap_or_else(|_| refused(rc::ERR_PANIC))
}

/// Stores an answer where the plugin wants it; NULL is its mistake.
///
/// # Safety
/// `out` is NULL or room for a `T`.
unsafe fn store<T>(out: *mut T, value: T) -> i32 {
    if out.is_null() {
        return rc::ERR_BAD_ARG;
    }
    // SAFETY: the caller's promise.
    unsafe { out.write(value) };
    rc::OK
}

/// The same for a struct that begins with its size, which must have been set: a smaller one would be written beyond.
///
/// # Safety
/// `out` is NULL, or room for as many bytes as its first field says.
unsafe fn store_sized<T>(out: *mut T, value: T) -> i32 {
    if out.is_null() {
        return rc::ERR_BAD_ARG;
    }
    // SAFETY: not NULL, and by the table's contract a struct that begins with a `u32`.
    if unsafe { out.cast::<u32>().read() } < super::struct_size::<T>() {
        return rc::ERR_BAD_ARG;
    }
    // SAFETY: the caller's promise.
    unsafe { store(out, value) }
}

/// The rows that all arrays have: a view with arrays of different lengths must not lead a plugin past an end.
fn rows(lengths: &[usize]) -> u32 {
    u32::try_from(lengths.iter().copied().min().unwrap_or(0)).unwrap_or(u32::MAX)
}

unsafe extern "C" fn robots(ctx: *mut c_void, out: *mut abi::Robots) -> i32 {
    // SAFETY: by the table's contract.
    unsafe {
        answer(
            ctx,
            |code| code,
            |view| {
                let arrays = view.robots();
                let count = rows(&[arrays.ids.len(), arrays.poses.len(), arrays.velocities.len(), arrays.flags.len()]);
                store_sized(
                    out,
                    abi::Robots {
                        struct_size: super::struct_size::<abi::Robots>(),
                        count,
                        ids: arrays.ids.as_ptr(),
                        poses: arrays.poses.as_ptr().cast(),
                        velocities: arrays.velocities.as_ptr().cast(),
                        flags: arrays.flags.as_ptr(),
                    },
                )
            },
        )
    }
}

unsafe extern "C" fn bodies(ctx: *mut c_void, out: *mut abi::Bodies) -> i32 {
    // SAFETY: by the table's contract.
    unsafe {
        answer(
            ctx,
            |code| code,
            |view| {
                let arrays = view.bodies();
                let count = rows(&[arrays.ids.len(), arrays.poses.len(), arrays.velocities.len()]);
                store_sized(
                    out,
                    abi::Bodies {
                        struct_size: super::struct_size::<abi::Bodies>(),
                        count,
                        ids: arrays.ids.as_ptr(),
                        poses: arrays.poses.as_ptr().cast(),
                        velocities: arrays.velocities.as_ptr().cast(),
                    },
                )
            },
        )
    }
}

unsafe extern "C" fn robot_info(ctx: *mut c_void, id: u64, out: *mut abi::RobotInfo) -> i32 {
    // SAFETY: by the table's contract.
    unsafe {
        answer(
            ctx,
            |code| code,
            |view| {
                let Some(info) = view.robot_info(EntityId(id)) else { return rc::ERR_BAD_ARG };
                store_sized(
                    out,
                    abi::RobotInfo {
                        struct_size: super::struct_size::<abi::RobotInfo>(),
                        type_: match info.kind {
                            RobotType::UavLevel1 => abi::robot_type::UAV_LEVEL1,
                            RobotType::UavLevel2 => abi::robot_type::UAV_LEVEL2,
                            RobotType::DiffDrive => abi::robot_type::DIFF_DRIVE,
                        },
                        axes: match info.axes {
                            Axes::Luf => abi::axes::LUF,
                            Axes::Flu => abi::axes::FLU,
                        },
                        control_len: if info.kind == RobotType::DiffDrive { 2 } else { 6 },
                        id: info.id.0,
                        model: info.model.0,
                        name: Bytes::new(info.name.as_bytes()),
                        limits: info.limits,
                        drag: info.drag,
                    },
                )
            },
        )
    }
}

unsafe extern "C" fn find(ctx: *mut c_void, kind: u32, name: Bytes) -> u64 {
    let kind = match kind {
        abi::kind::ROBOT => Kind::Robot,
        abi::kind::BODY => Kind::Body,
        abi::kind::MODEL => Kind::Model,
        _ => return abi::NO_ENTITY,
    };
    // SAFETY: by the table's contract.
    unsafe {
        answer(
            ctx,
            |_| abi::NO_ENTITY,
            |view| {
                let name = std::str::from_utf8(name.as_slice()).ok();
                name.and_then(|name| view.find(kind, name)).unwrap_or(EntityId::NONE).0
            },
        )
    }
}

unsafe extern "C" fn name(ctx: *mut c_void, id: u64, out: *mut Bytes) -> i32 {
    // SAFETY: by the table's contract.
    unsafe {
        answer(
            ctx,
            |code| code,
            |view| match view.name(EntityId(id)) {
                Some(name) => store(out, Bytes::new(name.as_bytes())),
                None => rc::ERR_BAD_ARG,
            },
        )
    }
}

unsafe extern "C" fn pose(ctx: *mut c_void, id: u64, out: *mut f64) -> i32 {
    // SAFETY: by the table's contract.
    unsafe {
        answer(
            ctx,
            |code| code,
            |view| match view.pose(EntityId(id)) {
                Some(pose) => store(out.cast::<[f64; 7]>(), pose),
                None => rc::ERR_BAD_ARG,
            },
        )
    }
}

unsafe extern "C" fn ray_cast(ctx: *mut c_void, ray: *const abi::Ray, out: *mut abi::RayHit) -> i32 {
    // SAFETY: by the table's contract, NULL or a ray.
    let Some(ray) = (unsafe { ray.as_ref() }) else { return rc::ERR_BAD_ARG };
    let finite = ray.origin.iter().chain(&ray.direction).all(|x| x.is_finite());
    // An infinite distance is fine: "as far as it goes".
    let sensible = ray.direction.iter().any(|x| *x != 0.0) && ray.max_distance >= 0.0;
    if !finite || !sensible {
        return rc::ERR_BAD_ARG;
    }
    let ray = Ray {
        origin: ray.origin,
        direction: ray.direction,
        max_distance: ray.max_distance,
        ignore: EntityId(ray.ignore),
    };
    // SAFETY: by the table's contract.
    unsafe {
        answer(
            ctx,
            |code| code,
            |view| match view.ray_cast(&ray) {
                None => 0,
                Some(hit) => {
                    let stored = store(
                        out,
                        abi::RayHit {
                            body: hit.body.0,
                            robot: hit.robot.unwrap_or(EntityId::NONE).0,
                            distance: hit.distance,
                            point: hit.point,
                            normal: hit.normal,
                        },
                    );
                    if stored == rc::OK { 1 } else { stored }
                }
            },
        )
    }
}
