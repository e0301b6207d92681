//! Ids: how everything in the world is addressed.
#![forbid(unsafe_code)]

use crate::abi;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The id of a robot, a body or a model. Ids are never reused within a run; an id carries its kind.
///
/// Robots count 0, 1, 2… in the order of the world's document, and that small number is also a robot's id on the wire.
/// As JSON an id is an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(crate = "schemars")]
pub struct EntityId(pub u64);

/// What an [`EntityId`] stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A model that can be commanded.
    Robot,
    /// A link, which is a rigid body; named `model::link`.
    Body,
    /// A model; named `model`, or `outer::inner` where it is nested.
    Model,
}

impl EntityId {
    /// No entity: a message of a connection without a robot, for example.
    pub const NONE: Self = Self(abi::NO_ENTITY);

    /// Whether this is [`EntityId::NONE`].
    pub const fn is_none(self) -> bool {
        self.0 == abi::NO_ENTITY
    }

    /// `None` for [`EntityId::NONE`], so that `?` and `if let` work on it.
    pub fn some(self) -> Option<Self> {
        (!self.is_none()).then_some(self)
    }

    /// The id of the `n`th robot.
    pub const fn robot(n: u32) -> Self {
        Self(n as u64)
    }

    /// Its kind, which an id carries in its upper 32 bits; `None` for [`EntityId::NONE`] and for what is no id at all.
    pub const fn kind(self) -> Option<Kind> {
        match self.0 >> 32 {
            0 => Some(Kind::Robot),
            1 => Some(Kind::Body),
            2 => Some(Kind::Model),
            _ => None,
        }
    }
}

impl From<u64> for EntityId {
    fn from(id: u64) -> Self {
        Self(id)
    }
}

/// `robot 3`, `body 12`, `model 4`, `none`.
impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.0 & 0xffff_ffff;
        match self.kind() {
            Some(Kind::Robot) => write!(f, "robot {number}"),
            Some(Kind::Body) => write!(f, "body {number}"),
            Some(Kind::Model) => write!(f, "model {number}"),
            None if self.is_none() => f.write_str("none"),
            None => write!(f, "id {}", self.0),
        }
    }
}

impl Kind {
    pub(crate) const fn to_abi(self) -> u32 {
        match self {
            Self::Robot => abi::kind::ROBOT,
            Self::Body => abi::kind::BODY,
            Self::Model => abi::kind::MODEL,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_what_it_is() {
        assert_eq!(EntityId(3).to_string(), "robot 3");
        assert_eq!(EntityId(1 << 32 | 12).to_string(), "body 12");
        assert_eq!(EntityId(2 << 32 | 4).to_string(), "model 4");
        assert_eq!(EntityId::NONE.to_string(), "none");
        assert_eq!(EntityId::NONE.kind(), None);
        assert_eq!(EntityId::robot(7).kind(), Some(Kind::Robot));
    }

    #[test]
    fn an_id_is_an_integer_in_json() {
        assert_eq!(serde_json::to_string(&EntityId(5)).unwrap(), "5");
        assert_eq!(serde_json::from_str::<EntityId>("5").unwrap(), EntityId(5));
    }
}
