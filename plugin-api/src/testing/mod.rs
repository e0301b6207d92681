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

mod host;
mod world;

pub use host::TestHost;
pub use world::{TestView, TestWorld};

use crate::abi::{self, Bytes};
use crate::raw::{self, Message};
use crate::{Config, Element, EntityId, WorldRef};
use std::ops::Deref;

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
