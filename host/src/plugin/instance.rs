//! One instance of a plugin: every call into it goes through here, and what it answers is checked here.

use super::crash;
use super::host_table::{HostTable, Outbox};
use super::library::Library;
use super::reply::{check_err, check_ok};
use super::response::{MessageIn, PluginFailure, PluginResponse};
use super::sink::{Outputs, Slot, code_name};
use std::ffi::c_void;
use std::mem;
use std::ptr;
use std::sync::Arc;
use tickworks_plugin_api::abi::{self, Bytes, out, rc};
use tickworks_plugin_api::{Config, Operation, Outcome, Response, Status};

/// A created instance. Calls come from one thread; it may have been created on another.
pub(super) struct Instance {
    pointer: *mut c_void,
    library: Arc<Library>,
    host: Box<HostTable>,
    failed: bool,
    destroyed: bool,
    /// Kept between ticks, so that a tick allocates nothing.
    spare: Vec<abi::Command>,
    #[cfg(debug_assertions)]
    thread: Option<std::thread::ThreadId>,
}

// SAFETY: by the header's contract an instance is created on one thread and used on another, one call at a time; `&mut
// self` on all calls keeps them from overlapping.
unsafe impl Send for Instance {}

impl Instance {
    /// Calls `create`, on the thread that is to be its start thread.
    ///
    /// # Errors
    /// Why it did not start.
    pub fn create(library: Arc<Library>, name: &str, config: &Config, outbox: &Arc<Outbox>) -> Result<Self, String> {
        let config =
            serde_json::to_vec(config).map_err(|error| format!("its configuration cannot be written: {error}"))?;
        let host = HostTable::new(name, &library.manifest().topics, outbox);
        let Some(create) = library.table().create else { return Err("it has no create".into()) };
        let mut outputs = Outputs::new(Slot::Create);
        let sink = outputs.sink();
        let mut pointer = ptr::null_mut();
        let code = {
            let _call = crash::enter(name, Slot::Create.name());
            // SAFETY: the table has been checked; `host` stays where it is until after `destroy`, or until this has
            // failed; all else lives as long as the call.
            unsafe { create(host.raw(), Bytes::new(&config), &raw const sink, &raw mut pointer) }
        };
        if code < rc::OK {
            return Err(if outputs.text.is_empty() {
                format!("create returned {} and no reason", code_name(code))
            } else {
                outputs.text
            });
        }
        if pointer.is_null() {
            return Err(format!("create returned {code} (success) and no instance"));
        }
        Ok(Self {
            pointer,
            library,
            host,
            failed: false,
            destroyed: false,
            spare: Vec::new(),
            #[cfg(debug_assertions)]
            thread: None,
        })
    }

    pub fn name(&self) -> &str {
        self.host.name()
    }

    pub fn take_wanted(&self) -> bool {
        self.host.take_wanted()
    }

    /// Makes one call. `Err` only for what is a failure of the plugin: a code below 0, a panic, a broken contract.
    fn call(
        &mut self,
        slot: Slot,
        mut outputs: Outputs,
        call: impl FnOnce(*mut c_void, *const abi::Sink) -> i32,
    ) -> Result<(i32, Outputs), PluginFailure> {
        if let Some(text) = self.not_callable() {
            return Err(self.failure(slot, text, false));
        }
        let sink = outputs.sink();
        let code = {
            let _call = crash::enter(self.host.name(), slot.name());
            call(self.pointer, &raw const sink)
        };
        if code >= rc::OK && outputs.breach.is_none() {
            return Ok((code, outputs));
        }
        let panicked = code == rc::ERR_PANIC;
        self.failed |= panicked;
        let text = match (outputs.breach, outputs.text) {
            (Some(breach), _) => format!("it {breach}"),
            (None, text) if !text.is_empty() => text,
            (None, _) => format!("it returned {} and no reason", code_name(code)),
        };
        Err(self.failure(slot, text, panicked))
    }

    /// Why it must not be called now.
    fn not_callable(&mut self) -> Option<String> {
        if self.failed || self.destroyed {
            return Some("it has failed before".into());
        }
        #[cfg(debug_assertions)]
        {
            let now = std::thread::current().id();
            if *self.thread.get_or_insert(now) != now {
                return Some("it was called from another thread than before".into());
            }
        }
        None
    }

    fn failure(&self, slot: Slot, text: impl Into<String>, fatal: bool) -> PluginFailure {
        PluginFailure { instance: self.name().to_owned(), slot: slot.name(), text: text.into(), fatal }
    }

    /// A failure that is not a code: the plugin answered against the contract.
    fn breach(&self, slot: Slot, text: impl Into<String>) -> PluginFailure {
        self.failure(slot, text, false)
    }

    pub fn on_all_started(&mut self, world: &abi::World) -> Result<(), PluginFailure> {
        let Some(on_all_started) = self.library.table().on_all_started else { return Ok(()) };
        let slot = Slot::OnAllStarted;
        // SAFETY: a live instance of this table; world and sink live as long as the call. So for all slots below.
        self.call(slot, Outputs::new(slot), |this, sink| unsafe { on_all_started(this, world, sink) }).map(drop)
    }

    pub fn on_reset(&mut self, world: &abi::World) -> Result<(), PluginFailure> {
        let Some(on_reset) = self.library.table().on_reset else { return Ok(()) };
        let slot = Slot::OnReset;
        // SAFETY: see `on_all_started`.
        self.call(slot, Outputs::new(slot), |this, sink| unsafe { on_reset(this, world, sink) }).map(drop)
    }

    pub fn on_message(&mut self, world: &abi::World, message: &MessageIn<'_>) -> Result<PluginResponse, PluginFailure> {
        let slot = Slot::OnMessage;
        let Some(on_message) = self.library.table().on_message else {
            return Err(self.breach(slot, "it has no on_message"));
        };
        let message = raw_message(message);
        let (code, outputs) =
            // SAFETY: see `on_all_started`; so does the message.
            self.call(slot, Outputs::new(slot), |this, sink| unsafe { on_message(this, world, &raw const message, sink) })?;
        match (code, outputs.single, outputs.wrote_commands) {
            (rc::NOT_MINE, None, false) => Ok(PluginResponse::NotMine),
            (rc::NOT_MINE, ..) => Err(self.breach(slot, "it answered and said that the message is not its own")),
            (_, None, true) => Ok(PluginResponse::Physics(outputs.commands)),
            (_, Some(_), true) => Err(self.breach(slot, "it wrote a reply and commands: expected one of them")),
            (_, None, false) => Err(self.breach(slot, "it gave no answer")),
            (_, Some(reply), false) => self.reply(slot, reply),
        }
    }

    pub fn on_response(
        &mut self,
        world: &abi::World,
        message: &MessageIn<'_>,
        outcomes: &[Outcome],
    ) -> Result<PluginResponse, PluginFailure> {
        let slot = Slot::OnResponse;
        let Some(on_response) = self.library.table().on_response else { return Ok(plain_reply(outcomes)) };
        let message = raw_message(message);
        let raw: Vec<_> = outcomes.iter().map(raw_outcome).collect();
        let count = u32::try_from(raw.len()).unwrap_or(u32::MAX);
        let (_, outputs) = self.call(slot, Outputs::new(slot), |this, sink| {
            // SAFETY: see `on_all_started`; so do the message and the outcomes, whose texts are borrowed.
            unsafe { on_response(this, world, &raw const message, raw.as_ptr(), count, sink) }
        })?;
        match outputs.single {
            Some(reply) => self.reply(slot, reply),
            None => Err(self.breach(slot, "it gave no answer")),
        }
    }

    /// A reply, checked.
    fn reply(&self, slot: Slot, (kind, bytes): (u32, Vec<u8>)) -> Result<PluginResponse, PluginFailure> {
        let checked = if kind == out::ERR {
            check_err(&bytes).map(PluginResponse::Err)
        } else {
            check_ok(&bytes).map(|()| PluginResponse::Ok(bytes))
        };
        checked.map_err(|what| self.breach(slot, what))
    }

    /// Calls `on_tick` and hands its commands on.
    pub fn on_tick(&mut self, world: &abi::World, take: impl FnMut(abi::Command)) -> Result<(), PluginFailure> {
        let Some(on_tick) = self.library.table().on_tick else { return Ok(()) };
        // SAFETY: see `on_all_started`.
        self.collect(Slot::OnTick, take, |this, sink| unsafe { on_tick(this, world, sink) })
    }

    /// Calls `before_physics` and hands its commands on.
    pub fn before_physics(&mut self, world: &abi::World, take: impl FnMut(abi::Command)) -> Result<(), PluginFailure> {
        let Some(before_physics) = self.library.table().before_physics else { return Ok(()) };
        // SAFETY: see `on_all_started`.
        self.collect(Slot::BeforePhysics, take, |this, sink| unsafe { before_physics(this, world, sink) })
    }

    fn collect(
        &mut self,
        slot: Slot,
        take: impl FnMut(abi::Command),
        call: impl FnOnce(*mut c_void, *const abi::Sink) -> i32,
    ) -> Result<(), PluginFailure> {
        let mut outputs = Outputs::new(slot);
        outputs.commands = mem::take(&mut self.spare);
        let (_, mut outputs) = self.call(slot, outputs, call)?;
        outputs.commands.drain(..).for_each(take);
        self.spare = outputs.commands;
        Ok(())
    }

    pub fn after_physics(&mut self, world: &abi::World) -> Result<(), PluginFailure> {
        let Some(after_physics) = self.library.table().after_physics else { return Ok(()) };
        let slot = Slot::AfterPhysics;
        // SAFETY: see `on_all_started`.
        self.call(slot, Outputs::new(slot), |this, sink| unsafe { after_physics(this, world, sink) }).map(drop)
    }

    pub fn on_wake(&mut self, world: &abi::World) -> Result<(), PluginFailure> {
        let Some(on_wake) = self.library.table().on_wake else { return Ok(()) };
        let slot = Slot::OnWake;
        // SAFETY: see `on_all_started`.
        self.call(slot, Outputs::new(slot), |this, sink| unsafe { on_wake(this, world, sink) }).map(drop)
    }

    /// The shapes that it draws; those with numbers that are not finite are left out.
    pub fn draw(&mut self, world: &abi::World) -> Result<Vec<abi::Shape>, PluginFailure> {
        let Some(draw) = self.library.table().draw else { return Ok(Vec::new()) };
        let slot = Slot::Draw;
        let (_, mut outputs) =
            // SAFETY: see `on_all_started`.
            self.call(slot, Outputs::new(slot), |this, sink| unsafe { draw(this, world, sink) })?;
        outputs
            .shapes
            .retain(|shape| shape.width.is_finite() && shape.pose.iter().chain(&shape.size).all(|x| x.is_finite()));
        Ok(outputs.shapes)
    }

    /// Its durable state; empty where it has none.
    pub fn save(&mut self) -> Result<Vec<u8>, PluginFailure> {
        let Some(save) = self.library.table().save else { return Ok(Vec::new()) };
        let slot = Slot::Save;
        // SAFETY: see `on_all_started`.
        let (_, outputs) = self.call(slot, Outputs::new(slot), |this, sink| unsafe { save(this, sink) })?;
        Ok(outputs.single.map(|(_, state)| state).unwrap_or_default())
    }

    pub fn load(&mut self, state: &[u8]) -> Result<(), PluginFailure> {
        let slot = Slot::Load;
        let Some(load) = self.library.table().load else {
            return if state.is_empty() {
                Ok(())
            } else {
                Err(self.breach(slot, "it keeps no state, and there is one for it"))
            };
        };
        // SAFETY: see `on_all_started`; so does the state.
        self.call(slot, Outputs::new(slot), |this, sink| unsafe { load(this, Bytes::new(state), sink) }).map(drop)
    }

    pub fn may(&mut self, operation: Operation) -> Result<(), PluginFailure> {
        let Some(may) = self.library.table().may else { return Ok(()) };
        let slot = Slot::May;
        // SAFETY: see `on_all_started`.
        self.call(slot, Outputs::new(slot), |this, sink| unsafe { may(this, operation.to_abi(), sink) }).map(drop)
    }

    /// Ends it. On the sim thread.
    pub fn destroy(mut self) {
        self.destroy_once();
    }

    /// Leaves it as it is, never to be called again: for one that arrives when nobody is there to end it in order.
    pub fn abandon(self) {
        mem::forget(self);
    }

    fn destroy_once(&mut self) {
        if mem::replace(&mut self.destroyed, true) {
            return;
        }
        if let Some(destroy) = self.library.table().destroy {
            let _call = crash::enter(self.host.name(), Slot::Destroy.name());
            // SAFETY: a live instance of this table, which nobody calls afterwards; `host` lives on until this returns.
            unsafe { destroy(self.pointer) };
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.destroy_once();
    }
}

fn raw_message(message: &MessageIn<'_>) -> abi::Message {
    abi::Message {
        struct_size: super::struct_size::<abi::Message>(),
        reserved: 0,
        id: message.id,
        session: message.session,
        from: message.from.0,
        target: message.target.0,
        cmd: Bytes::new(message.cmd.as_bytes()),
        json: Bytes::new(message.json),
    }
}

fn raw_outcome(outcome: &Outcome) -> abi::Outcome {
    abi::Outcome {
        entity: outcome.entity.0,
        op: outcome.op,
        status: match outcome.status {
            Status::Applied => abi::status::APPLIED,
            Status::Overridden => abi::status::OVERRIDDEN,
            Status::Replaced => abi::status::REPLACED,
            Status::Refused => abi::status::REFUSED,
        },
        flags: if outcome.colliding { abi::flag::COLLIDING } else { 0 },
        reserved: 0,
        by: Bytes::new(outcome.by.as_bytes()),
        reason: Bytes::new(outcome.reason.as_bytes()),
    }
}

/// For a plugin without `on_response`: the same as the Rust face's default.
fn plain_reply(outcomes: &[Outcome]) -> PluginResponse {
    let reply = Response::plain(outcomes).value().unwrap_or_default();
    PluginResponse::Ok(reply.to_string().into_bytes())
}
