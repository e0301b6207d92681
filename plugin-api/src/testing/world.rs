//! A world in memory, which answers through the table's functions.

use crate::abi::{self, Bytes, rc};
use crate::raw::{self, World};
use crate::{Axes, EntityId, Kind, RayHit, RobotType};
use std::ffi::c_void;
use std::ops::Deref;
use std::ptr;

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
