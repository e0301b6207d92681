//! The slots of the table for a Rust plugin: from pointers to [`Plugin`]'s safe functions, and back.
//!
//! Each slot catches panics. After one the instance is failed: whatever the host calls then, except `destroy`, only says
//! so.

use crate::abi::{self, Bytes, PluginTable, out, rc};
use crate::panics::{guard, install_hook, watch};
use crate::raw::{self, HostLink, InstancePtr, Message, Out, World};
use crate::response::Answer;
use crate::{Canvas, Commands, Config, Host, Operation, Plugin, Response, words};
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

/// What the host's instance pointer points to.
struct Instance<P> {
    plugin: P,
    host: Arc<HostLink>,
    failed: bool,
    /// Kept between ticks, so that a tick allocates nothing.
    commands: Commands,
}

/// The table of a plugin.
pub(crate) const fn table<P: Plugin>(id: &'static str, version: &'static str) -> PluginTable {
    PluginTable {
        struct_size: raw::size_of::<PluginTable>(),
        abi_major: abi::ABI_MAJOR,
        abi_minor: abi::ABI_MINOR,
        id: Bytes::new(id.as_bytes()),
        version: Bytes::new(version.as_bytes()),
        describe: Some(describe::<P>),
        create: Some(create::<P>),
        destroy: Some(destroy::<P>),
        on_all_started: Some(on_all_started::<P>),
        on_reset: Some(on_reset::<P>),
        on_message: Some(on_message::<P>),
        on_response: Some(on_response::<P>),
        on_tick: Some(on_tick::<P>),
        before_physics: Some(before_physics::<P>),
        after_physics: Some(after_physics::<P>),
        draw: Some(draw::<P>),
        save: Some(save::<P>),
        load: Some(load::<P>),
        may: Some(may::<P>),
        on_wake: Some(on_wake::<P>),
        get_extension: None,
    }
}

/// `Ok` is 0; an error's text goes to the sink.
fn done(out: &Out<'_>, result: Result<(), impl fmt::Display>) -> i32 {
    match result {
        Ok(()) => rc::OK,
        Err(error) => fail(out, rc::ERR, error),
    }
}

fn fail(out: &Out<'_>, code: i32, text: impl fmt::Display) -> i32 {
    out.write(out::TEXT, text.to_string().as_bytes());
    code
}

fn respond(out: &Out<'_>, response: Response) -> i32 {
    match response.0 {
        Answer::Ok(json) => out.write(out::OK, &json),
        Answer::Err(json) => out.write(out::ERR, &json),
        Answer::Malformed(text) => fail(out, rc::ERR, text),
        Answer::Physics(commands) => out.commands(&commands),
        Answer::NotMine => rc::NOT_MINE,
    }
}

/// Calls into an instance.
///
/// # Safety
/// `instance` came from `create::<P>` and has not been destroyed; nobody else uses it during the call; `sink` is NULL or
/// the call's sink.
unsafe fn call<P: Plugin>(
    instance: InstancePtr,
    sink: *const abi::Sink,
    body: impl FnOnce(&mut P, &mut Commands, &Out<'_>) -> i32,
) -> i32 {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(sink) };
    // SAFETY: the caller's promise.
    let Some(instance) = (unsafe { instance.cast::<Instance<P>>().as_mut() }) else {
        return fail(&out, rc::ERR_BAD_ARG, "the instance is NULL");
    };
    if instance.failed {
        return fail(&out, rc::ERR_PANIC, "the instance has panicked before");
    }
    let Instance { plugin, host, failed, commands } = instance;
    let code = guard(Some(host), &out, || body(plugin, commands, &out));
    *failed = code == rc::ERR_PANIC;
    code
}

/// The same for slots that see the world.
///
/// # Safety
/// As [`call`]; `world` is NULL or the call's view.
unsafe fn call_with_world<P: Plugin>(
    instance: InstancePtr,
    world: *const abi::World,
    sink: *const abi::Sink,
    body: impl FnOnce(&mut P, &mut Commands, &World, &Out<'_>) -> i32,
) -> i32 {
    // SAFETY: the caller's promise.
    let world = unsafe { World::from_ptr(world) };
    // SAFETY: the caller's promise.
    unsafe {
        call::<P>(instance, sink, |plugin, commands, out| match world {
            Some(world) => body(plugin, commands, world, out),
            None => fail(out, rc::ERR_BAD_ARG, "the world is NULL"),
        })
    }
}

unsafe extern "C" fn describe<P: Plugin>(sink: *const abi::Sink) -> i32 {
    // SAFETY: the host's sink, valid for this call.
    let out = unsafe { Out::new(sink) };
    install_hook();
    guard(None, &out, || match serde_json::to_vec(&P::manifest()) {
        Ok(json) => out.write(out::MANIFEST, &json),
        Err(error) => fail(&out, rc::ERR, format_args!("the manifest cannot be written as JSON: {error}")),
    })
}

unsafe extern "C" fn create<P: Plugin>(
    host: *const abi::Host,
    config: Bytes,
    sink: *const abi::Sink,
    instance: *mut InstancePtr,
) -> i32 {
    // SAFETY: the host's sink, valid for this call.
    let out = unsafe { Out::new(sink) };
    // SAFETY: valid until `destroy`, or until this call has failed; `close` is called in both cases.
    let link = unsafe { HostLink::new(host) };
    if instance.is_null() {
        return fail(&out, rc::ERR_BAD_ARG, "there is no place for the instance: `out` is NULL");
    }
    watch(&link);
    let code = guard(Some(&link), &out, || {
        // SAFETY: the host's bytes, valid for this call.
        let config: Config = match serde_json::from_slice(unsafe { config.as_slice() }) {
            Ok(config) => config,
            Err(error) => {
                return fail(&out, rc::ERR_BAD_ARG, format_args!("its configuration: {}", words::at_place(&error)));
            }
        };
        match P::create(Host(Arc::clone(&link)), config) {
            Ok(plugin) => {
                let created = Box::new(Instance {
                    plugin,
                    host: Arc::clone(&link),
                    failed: false,
                    commands: Commands::default(),
                });
                // SAFETY: not NULL, and the host's place for the pointer.
                unsafe { instance.write(Box::into_raw(created).cast::<c_void>()) };
                rc::OK
            }
            Err(error) => fail(&out, rc::ERR, error),
        }
    });
    if code != rc::OK {
        link.close();
    }
    code
}

unsafe extern "C" fn destroy<P: Plugin>(instance: InstancePtr) {
    if instance.is_null() {
        return;
    }
    // SAFETY: made by `create::<P>` from a box, and destroyed once.
    let instance = unsafe { Box::from_raw(instance.cast::<Instance<P>>()) };
    let link = Arc::clone(&instance.host);
    // SAFETY: NULL is allowed: there is no sink here, so a panic's text goes to the log alone.
    let out = unsafe { Out::new(std::ptr::null()) };
    guard(Some(&link), &out, || {
        drop(instance);
        rc::OK
    });
    link.close();
}

unsafe extern "C" fn on_all_started<P: Plugin>(
    instance: InstancePtr,
    world: *const abi::World,
    sink: *const abi::Sink,
) -> i32 {
    // SAFETY: the host's pointers, by the table's contract.
    unsafe {
        call_with_world::<P>(instance, world, sink, |plugin, _, world, out| done(out, plugin.on_all_started(world)))
    }
}

unsafe extern "C" fn on_reset<P: Plugin>(
    instance: InstancePtr,
    world: *const abi::World,
    sink: *const abi::Sink,
) -> i32 {
    // SAFETY: the host's pointers, by the table's contract.
    unsafe { call_with_world::<P>(instance, world, sink, |plugin, _, world, out| done(out, plugin.on_reset(world))) }
}

unsafe extern "C" fn on_message<P: Plugin>(
    instance: InstancePtr,
    world: *const abi::World,
    message: *const abi::Message,
    sink: *const abi::Sink,
) -> i32 {
    // SAFETY: the host's pointer, by the table's contract.
    let message = unsafe { Message::from_ptr(message) };
    // SAFETY: the host's pointers, by the table's contract.
    unsafe {
        call_with_world::<P>(instance, world, sink, |plugin, _, world, out| match message {
            Some(message) => respond(out, plugin.on_message(world, message.from(), message)),
            None => fail(out, rc::ERR_BAD_ARG, "the message is NULL"),
        })
    }
}

unsafe extern "C" fn on_response<P: Plugin>(
    instance: InstancePtr,
    world: *const abi::World,
    message: *const abi::Message,
    outcomes: *const abi::Outcome,
    count: u32,
    sink: *const abi::Sink,
) -> i32 {
    // SAFETY: the host's pointer, by the table's contract.
    let message = unsafe { Message::from_ptr(message) };
    // SAFETY: the host's array, by the table's contract.
    let outcomes = unsafe { raw::outcomes(outcomes, count) };
    // SAFETY: the host's pointers, by the table's contract.
    unsafe {
        call_with_world::<P>(instance, world, sink, |plugin, _, world, out| {
            let Some(message) = message else { return fail(out, rc::ERR_BAD_ARG, "the message is NULL") };
            let response = plugin.on_response(world, message, &outcomes);
            if response.is_ok() || response.is_err() {
                respond(out, response)
            } else {
                fail(out, rc::ERR, "on_response must answer with ok or err")
            }
        })
    }
}

/// A slot that only collects commands.
///
/// # Safety
/// As [`call_with_world`].
unsafe fn collect<P: Plugin>(
    instance: InstancePtr,
    world: *const abi::World,
    sink: *const abi::Sink,
    body: impl FnOnce(&mut P, &World, &mut Commands),
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        call_with_world::<P>(instance, world, sink, |plugin, commands, world, out| {
            commands.0.clear();
            body(plugin, world, commands);
            if commands.0.is_empty() { rc::OK } else { out.commands(&commands.0) }
        })
    }
}

unsafe extern "C" fn on_tick<P: Plugin>(
    instance: InstancePtr,
    world: *const abi::World,
    sink: *const abi::Sink,
) -> i32 {
    // SAFETY: the host's pointers, by the table's contract.
    unsafe { collect::<P>(instance, world, sink, P::on_tick) }
}

unsafe extern "C" fn before_physics<P: Plugin>(
    instance: InstancePtr,
    world: *const abi::World,
    sink: *const abi::Sink,
) -> i32 {
    // SAFETY: the host's pointers, by the table's contract.
    unsafe { collect::<P>(instance, world, sink, P::before_physics) }
}

unsafe extern "C" fn after_physics<P: Plugin>(
    instance: InstancePtr,
    world: *const abi::World,
    sink: *const abi::Sink,
) -> i32 {
    // SAFETY: the host's pointers, by the table's contract.
    unsafe {
        call_with_world::<P>(instance, world, sink, |plugin, _, world, _| {
            plugin.after_physics(world);
            rc::OK
        })
    }
}

unsafe extern "C" fn draw<P: Plugin>(instance: InstancePtr, world: *const abi::World, sink: *const abi::Sink) -> i32 {
    // SAFETY: the host's pointers, by the table's contract.
    unsafe {
        call_with_world::<P>(instance, world, sink, |plugin, _, world, out| {
            let mut canvas = Canvas::new();
            plugin.draw(world, &mut canvas);
            if canvas.shapes.is_empty() { rc::OK } else { out.shapes(&canvas.shapes) }
        })
    }
}

unsafe extern "C" fn save<P: Plugin>(instance: InstancePtr, sink: *const abi::Sink) -> i32 {
    // SAFETY: the host's pointers, by the table's contract.
    unsafe {
        call::<P>(instance, sink, |plugin, _, out| match plugin.save() {
            Ok(state) if state.is_empty() => rc::OK,
            Ok(state) => out.write(out::STATE, &state),
            Err(error) => fail(out, rc::ERR, error),
        })
    }
}

unsafe extern "C" fn load<P: Plugin>(instance: InstancePtr, state: Bytes, sink: *const abi::Sink) -> i32 {
    // SAFETY: the host's bytes, valid for this call.
    let state = unsafe { state.as_slice() };
    // SAFETY: the host's pointers, by the table's contract.
    unsafe { call::<P>(instance, sink, |plugin, _, out| done(out, plugin.load(state))) }
}

unsafe extern "C" fn may<P: Plugin>(instance: InstancePtr, operation: u32, sink: *const abi::Sink) -> i32 {
    // SAFETY: the host's pointers, by the table's contract.
    unsafe {
        call::<P>(instance, sink, |plugin, _, out| match Operation::from_abi(operation) {
            Some(operation) => done(out, plugin.may(operation)),
            // One that this version does not know: nothing against it.
            None => rc::OK,
        })
    }
}

unsafe extern "C" fn on_wake<P: Plugin>(
    instance: InstancePtr,
    world: *const abi::World,
    sink: *const abi::Sink,
) -> i32 {
    // SAFETY: the host's pointers, by the table's contract.
    unsafe {
        call_with_world::<P>(instance, world, sink, |plugin, _, world, _| {
            plugin.on_wake(world);
            rc::OK
        })
    }
}
