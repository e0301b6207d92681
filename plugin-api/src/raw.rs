//! The border as seen from a plugin: wrappers whose private insides are the host's pointers.
//!
//! Everything unsafe about reading from and writing to the host is here; [`crate::shim`] calls in from the other side.

use crate::abi::{self, Bytes, rc};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;
use std::sync::{Arc, PoisonError, RwLock};

impl Bytes {
    /// Borrows a slice: valid as long as the slice is.
    pub const fn new(bytes: &[u8]) -> Self {
        Self { ptr: bytes.as_ptr(), len: bytes.len() }
    }

    /// No bytes.
    pub const EMPTY: Self = Self { ptr: ptr::null(), len: 0 };

    /// The bytes; a NULL pointer is an empty slice.
    ///
    /// # Safety
    /// `ptr` is NULL or points to `len` initialised bytes that nobody changes for `'a`.
    pub unsafe fn as_slice<'a>(&self) -> &'a [u8] {
        // SAFETY: the caller's promise is this function's.
        unsafe { slice(self.ptr, self.len) }
    }
}

/// A slice from parts that may be NULL.
///
/// # Safety
/// `ptr` is NULL or points to `len` initialised, aligned values that nobody changes for `'a`.
unsafe fn slice<'a, T>(ptr: *const T, len: usize) -> &'a [T] {
    if ptr.is_null() || len == 0 {
        return &[];
    }
    // SAFETY: not NULL; the rest is the caller's promise.
    unsafe { std::slice::from_raw_parts(ptr, len) }
}

/// The size of a border struct as its `struct_size` field says it.
#[expect(clippy::cast_possible_truncation, reason = "all border structs are a few hundred bytes")]
pub(crate) const fn size_of<T>() -> u32 {
    std::mem::size_of::<T>() as u32
}

/// The read view of the world, during one call.
///
/// ```
/// # use tickworks_plugin_api::{EntityId, World};
/// fn nearest_robot(world: &World, point: [f64; 3]) -> Option<EntityId> {
///     let distance = |pose: &[f64; 7]| (0..3).map(|i| (pose[i] - point[i]).powi(2)).sum::<f64>();
///     world.robots().iter().min_by(|a, b| distance(a.pose).total_cmp(&distance(b.pose))).map(|robot| robot.id)
/// }
/// ```
#[repr(transparent)]
pub struct World(abi::World);

/// Arrays of all robots or bodies.
#[derive(Clone, Copy, Default)]
pub(crate) struct Arrays<'a> {
    pub ids: &'a [u64],
    pub poses: &'a [[f64; 7]],
    pub velocities: &'a [[f64; 6]],
    pub flags: &'a [u32],
}

impl World {
    /// The view behind a slot's argument; `None` for NULL.
    ///
    /// # Safety
    /// `world` is NULL or what the host gave to the call that lasts for `'a`.
    pub(crate) unsafe fn from_ptr<'a>(world: *const abi::World) -> Option<&'a Self> {
        // SAFETY: `World` is `repr(transparent)`; validity is the caller's promise.
        unsafe { world.cast::<Self>().as_ref() }
    }

    pub(crate) fn fields(&self) -> &abi::World {
        &self.0
    }

    pub(crate) fn raw_robots(&self) -> Option<Arrays<'_>> {
        let mut out = abi::Robots {
            struct_size: size_of::<abi::Robots>(),
            count: 0,
            ids: ptr::null(),
            poses: ptr::null(),
            velocities: ptr::null(),
            flags: ptr::null(),
        };
        // SAFETY: the function and `ctx` are the host's, valid for the call that `self` is borrowed from.
        let code = unsafe { self.0.robots?(self.0.ctx, &raw mut out) };
        let count = out.count as usize;
        // SAFETY: the host fills `out` with arrays of `count` rows that stay valid and unchanged during the call.
        (code >= rc::OK).then(|| unsafe {
            Arrays {
                ids: slice(out.ids, count),
                poses: slice(out.poses.cast(), count),
                velocities: slice(out.velocities.cast(), count),
                flags: slice(out.flags, count),
            }
        })
    }

    pub(crate) fn raw_bodies(&self) -> Option<Arrays<'_>> {
        let mut out = abi::Bodies {
            struct_size: size_of::<abi::Bodies>(),
            count: 0,
            ids: ptr::null(),
            poses: ptr::null(),
            velocities: ptr::null(),
        };
        // SAFETY: as in `raw_robots`.
        let code = unsafe { self.0.bodies?(self.0.ctx, &raw mut out) };
        let count = out.count as usize;
        // SAFETY: as in `raw_robots`.
        (code >= rc::OK).then(|| unsafe {
            Arrays {
                ids: slice(out.ids, count),
                poses: slice(out.poses.cast(), count),
                velocities: slice(out.velocities.cast(), count),
                flags: &[],
            }
        })
    }

    /// What robot `id` is, and its name.
    pub(crate) fn raw_robot_info(&self, id: u64) -> Option<(abi::RobotInfo, &str)> {
        let mut out = abi::RobotInfo {
            struct_size: size_of::<abi::RobotInfo>(),
            type_: 0,
            axes: 0,
            control_len: 0,
            id: 0,
            model: 0,
            name: Bytes::EMPTY,
            limits: [0.0; 6],
            drag: 0.0,
        };
        // SAFETY: as in `raw_robots`.
        let code = unsafe { self.0.robot_info?(self.0.ctx, id, &raw mut out) };
        if code < rc::OK {
            return None;
        }
        // SAFETY: the host's name is valid for the call.
        let name = unsafe { out.name.as_slice() };
        Some((out, std::str::from_utf8(name).ok()?))
    }

    pub(crate) fn raw_find(&self, kind: u32, name: &str) -> Option<u64> {
        // SAFETY: as in `raw_robots`; the name outlives the call.
        let id = unsafe { self.0.find?(self.0.ctx, kind, Bytes::new(name.as_bytes())) };
        (id != abi::NO_ENTITY).then_some(id)
    }

    pub(crate) fn raw_name(&self, id: u64) -> Option<&str> {
        let mut out = Bytes::EMPTY;
        // SAFETY: as in `raw_robots`.
        let code = unsafe { self.0.name?(self.0.ctx, id, &raw mut out) };
        // SAFETY: the host's name is valid for the call.
        let name = (code >= rc::OK).then(|| unsafe { out.as_slice() })?;
        std::str::from_utf8(name).ok()
    }

    pub(crate) fn raw_pose(&self, id: u64) -> Option<[f64; 7]> {
        let mut out = [0.0; 7];
        // SAFETY: as in `raw_robots`; `out` has room for the 7 numbers.
        let code = unsafe { self.0.pose?(self.0.ctx, id, out.as_mut_ptr()) };
        (code >= rc::OK).then_some(out)
    }

    pub(crate) fn raw_ray_cast(&self, ray: &abi::Ray) -> Option<abi::RayHit> {
        let mut out = abi::RayHit {
            body: abi::NO_ENTITY,
            robot: abi::NO_ENTITY,
            distance: 0.0,
            point: [0.0; 3],
            normal: [0.0; 3],
        };
        // SAFETY: as in `raw_robots`.
        let code = unsafe { self.0.ray_cast?(self.0.ctx, ray, &raw mut out) };
        (code == 1).then_some(out)
    }
}

/// One request of a client.
#[repr(transparent)]
pub struct Message(abi::Message);

impl Message {
    /// The message behind a slot's argument; `None` for NULL.
    ///
    /// # Safety
    /// `message` is NULL or what the host gave to the call that lasts for `'a`.
    pub(crate) unsafe fn from_ptr<'a>(message: *const abi::Message) -> Option<&'a Self> {
        // SAFETY: `Message` is `repr(transparent)`; validity is the caller's promise.
        unsafe { message.cast::<Self>().as_ref() }
    }

    pub(crate) fn fields(&self) -> &abi::Message {
        &self.0
    }

    pub(crate) fn raw_cmd(&self) -> &[u8] {
        // SAFETY: the host's bytes are valid for the call that `self` is borrowed from.
        unsafe { self.0.cmd.as_slice() }
    }

    pub(crate) fn raw_json(&self) -> &[u8] {
        // SAFETY: as above.
        unsafe { self.0.json.as_slice() }
    }
}

/// What became of a physics message's commands, copied out of the host's arrays.
///
/// # Safety
/// `outcomes` is NULL or points to `count` outcomes whose texts are valid, as `on_response` gets them.
pub(crate) unsafe fn outcomes(outcomes: *const abi::Outcome, count: u32) -> Vec<crate::Outcome> {
    let text = |bytes: &Bytes| {
        // SAFETY: the host's texts are valid for the call.
        String::from_utf8_lossy(unsafe { bytes.as_slice() }).into_owned()
    };
    // SAFETY: the caller's promise.
    let outcomes = unsafe { slice(outcomes, count as usize) };
    outcomes.iter().map(|raw| crate::Outcome::from_abi(raw, text(&raw.by), text(&raw.reason))).collect()
}

/// Where a call puts its outputs.
pub(crate) struct Out<'a> {
    sink: *const abi::Sink,
    call: PhantomData<&'a abi::Sink>,
}

impl Out<'_> {
    /// # Safety
    /// `sink` is NULL or the sink of the call that lasts as long as the value.
    pub(crate) unsafe fn new(sink: *const abi::Sink) -> Self {
        Self { sink, call: PhantomData }
    }

    pub(crate) fn write(&self, kind: u32, bytes: &[u8]) -> i32 {
        // SAFETY: see `new`.
        let Some(sink) = (unsafe { self.sink.as_ref() }) else { return rc::ERR_BAD_ARG };
        let Some(write) = sink.write else { return rc::ERR_BAD_ARG };
        // SAFETY: the function and `ctx` are the host's; it copies the bytes before it returns.
        unsafe { write(sink.ctx, kind, Bytes::new(bytes)) }
    }

    pub(crate) fn commands(&self, commands: &[crate::Command]) -> i32 {
        // SAFETY: `Command` is `repr(transparent)` over a `repr(C)` struct without padding or pointers.
        let bytes = unsafe {
            std::slice::from_raw_parts(
                commands.as_ptr().cast::<u8>(),
                std::mem::size_of_val::<[crate::Command]>(commands),
            )
        };
        self.write(abi::out::COMMANDS, bytes)
    }

    pub(crate) fn shapes(&self, shapes: &[abi::Shape]) -> i32 {
        // SAFETY: `Shape` is a `repr(C)` struct without padding or pointers.
        let bytes = unsafe {
            std::slice::from_raw_parts(shapes.as_ptr().cast::<u8>(), std::mem::size_of_val::<[abi::Shape]>(shapes))
        };
        self.write(abi::out::SHAPES, bytes)
    }
}

/// An instance's way to the host, which may outlive the instance in a thread that was not joined: then it is closed.
pub(crate) struct HostLink {
    host: *const abi::Host,
    open: RwLock<bool>,
}

// SAFETY: the host's functions are all `[thread-safe]`, and `open` keeps the pointer from being used after its end.
unsafe impl Send for HostLink {}
// SAFETY: as above.
unsafe impl Sync for HostLink {}

impl HostLink {
    /// # Safety
    /// `host` is NULL or valid until [`HostLink::close`] has returned.
    pub(crate) unsafe fn new(host: *const abi::Host) -> Arc<Self> {
        Arc::new(Self { host, open: RwLock::new(!host.is_null()) })
    }

    /// After this no call reaches the host.
    pub(crate) fn close(&self) {
        *self.open.write().unwrap_or_else(PoisonError::into_inner) = false;
    }

    fn with<R>(&self, call: impl FnOnce(&abi::Host) -> R) -> Option<R> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: not closed, so the pointer is valid, and `close` waits for the lock that is held here.
        open.then(|| call(unsafe { &*self.host }))
    }

    /// Whether the line reached the host.
    pub(crate) fn log(&self, level: u32, text: &str) -> bool {
        self.with(|host| {
            // SAFETY: a valid host, called with a text that outlives the call.
            host.log.map(|log| unsafe { log(host, level, Bytes::new(text.as_bytes())) })
        })
        .flatten()
        .is_some()
    }

    pub(crate) fn wake(&self) {
        self.with(|host| {
            // SAFETY: a valid host.
            host.wake.map(|wake| unsafe { wake(host) })
        });
    }

    pub(crate) fn publish(&self, topic: &str, json: &[u8]) -> Option<i32> {
        self.with(|host| {
            let publish = host.publish?;
            // SAFETY: a valid host, called with bytes that outlive the call.
            Some(unsafe { publish(host, Bytes::new(topic.as_bytes()), Bytes::new(json)) })
        })
        .flatten()
    }
}

/// An instance's pointer as the host keeps it.
pub(crate) type InstancePtr = *mut c_void;
