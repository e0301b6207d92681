//! The trait that a plugin in Rust implements.
#![forbid(unsafe_code)]

use crate::{Canvas, Commands, Config, EntityId, Error, Host, Manifest, Message, Outcome, Response, World, abi};
use std::fmt;

/// A plugin. [`export_plugin!`](crate::export_plugin) makes a shared object of it.
///
/// [`Plugin::create`] runs on a thread of its own and may be slow. Everything else runs on the host's sim thread, one
/// call at a time, and holds up the tick: keep it short. A panic in any function is caught; the instance has then failed
/// and is only dropped.
///
/// All durable state belongs into what [`Plugin::save`] writes: after `save`, and `load` in a fresh process, the future
/// must be the same to the bit. So nothing here may depend on wall-clock time or on an unseeded random generator.
pub trait Plugin: Sized + Send + 'static {
    /// What the plugin is and which commands it answers. Called without an instance, on any thread.
    fn manifest() -> Manifest;

    /// Makes an instance. Runs on the plugin's own thread `plugin:<id>`; may do I/O, may take seconds.
    ///
    /// # Errors
    /// The reason is shown to the user as why the plugin did not start.
    fn create(host: Host, config: Config) -> Result<Self, Error>;

    /// Once, when every plugin has started and the world is loaded, before the first tick.
    ///
    /// # Errors
    /// The instance has failed and is dropped; the reason is shown.
    fn on_all_started(&mut self, world: &World) -> Result<(), Error> {
        let _ = world;
        Ok(())
    }

    /// The world has been reset: poses, velocities and time are back where they started.
    ///
    /// # Errors
    /// The other plugins are still reset, and the reply to the reset names the reason.
    fn on_reset(&mut self, world: &World) -> Result<(), Error> {
        let _ = world;
        Ok(())
    }

    /// Answers a message. `from` is the robot that the sender has claimed, or [`EntityId::NONE`].
    fn on_message(&mut self, world: &World, from: EntityId, message: &Message) -> Response;

    /// After physics, for a message that was answered with [`Response::physics`]: what came of its commands, in their
    /// order. Answers with [`Response::ok`] or [`Response::err`]; by default with [`Response::plain`].
    fn on_response(&mut self, world: &World, message: &Message, outcomes: &[Outcome]) -> Response {
        let _ = (world, message);
        Response::plain(outcomes)
    }

    /// Once a tick, after the messages.
    fn on_tick(&mut self, world: &World, commands: &mut Commands) {
        let _ = (world, commands);
    }

    /// Right before physics: forces, impulses and velocities of bodies. [`Command::control`](crate::Command::control)
    /// comes too late here and is refused.
    fn before_physics(&mut self, world: &World, commands: &mut Commands) {
        let _ = (world, commands);
    }

    /// Right after physics: the world as it is at the end of this tick.
    fn after_physics(&mut self, world: &World) {
        let _ = world;
    }

    /// Shows something over the world. Called only while somebody looks.
    fn draw(&self, world: &World, canvas: &mut Canvas) {
        let _ = (world, canvas);
    }

    /// All durable state, in the plugin's own format. JSON is shown as JSON to clients. Empty: nothing to save.
    ///
    /// # Errors
    /// The whole save is refused with this reason.
    fn save(&self) -> Result<Vec<u8>, Error> {
        Ok(Vec::new())
    }

    /// Takes back what [`Plugin::save`] wrote.
    ///
    /// # Errors
    /// The state must be as before; the whole load is refused with this reason.
    fn load(&mut self, state: &[u8]) -> Result<(), Error> {
        let _ = state;
        Ok(())
    }

    /// May this happen now?
    ///
    /// # Errors
    /// The reason why not, which is the error that the client gets.
    fn may(&self, operation: Operation) -> Result<(), String> {
        let _ = operation;
        Ok(())
    }

    /// Answers [`Host::wake`].
    fn on_wake(&mut self, world: &World) {
        let _ = world;
    }
}

/// A lifecycle operation that a plugin may refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `sim_reset`.
    Reset,
    /// `sim_load_state`.
    LoadState,
    /// `sim_reload_world`.
    Reload,
    /// `plugin_unload` of this plugin.
    Unload,
}

impl Operation {
    pub(crate) fn from_abi(value: u32) -> Option<Self> {
        match value {
            abi::operation::RESET => Some(Self::Reset),
            abi::operation::LOAD_STATE => Some(Self::LoadState),
            abi::operation::RELOAD => Some(Self::Reload),
            abi::operation::UNLOAD => Some(Self::Unload),
            _ => None,
        }
    }

    /// The number that crosses the border, one of [`abi::operation`].
    pub const fn to_abi(self) -> u32 {
        match self {
            Self::Reset => abi::operation::RESET,
            Self::LoadState => abi::operation::LOAD_STATE,
            Self::Reload => abi::operation::RELOAD,
            Self::Unload => abi::operation::UNLOAD,
        }
    }
}

/// The command that it is: `sim_reset` and so on.
impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reset => "sim_reset",
            Self::LoadState => "sim_load_state",
            Self::Reload => "sim_reload_world",
            Self::Unload => "plugin_unload",
        })
    }
}
