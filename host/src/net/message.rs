//! What crosses between the network thread and the simulation thread.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use serde::Serialize;

use super::handle::Topic;

/// One connection, from its acceptance to its end. Numbers begin at 1 and are never used twice in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// From the network to the simulation.
#[derive(Debug)]
pub enum ToSim {
    /// A session's first word: it is connected, and has authenticated where that is asked for.
    Opened {
        /// The new session.
        session: SessionId,
        /// The other end.
        peer: SocketAddr,
    },
    /// A request, which must be given exactly one reply.
    Request {
        /// The session that asked.
        session: SessionId,
        /// The request's place among those of its session. The reply names it.
        slot: u64,
        /// What was asked.
        request: Request,
    },
    /// A session's last word. Replies to it are dropped from here on.
    Closed {
        /// The session that ended.
        session: SessionId,
    },
}

/// A well-formed request.
#[derive(Debug, PartialEq)]
pub struct Request {
    /// The field `cmd`.
    pub cmd: String,
    /// The field `robot_id`.
    pub robot_id: RobotIdField,
    /// Whether there is a field `id`, which the reply carries back in the place of its own.
    pub has_id: bool,
    /// The whole request as the text of one JSON object, whose keys at the top are unique, whose numbers are finite,
    /// and which nests at most 64 deep.
    ///
    /// From a connection that speaks JSON these are the client's own bytes from `{` to `}`, with `id` where it sent one.
    /// From one that speaks MessagePack it is written anew without `id`, with binary values as base64 text.
    pub json: Vec<u8>,
    /// A field has a value without a JSON form (NaN, say), and is null in `json`. This is the sentence that the request is
    /// to be refused with, by the simulation, which knows what else belongs into the refusal of its command.
    pub unfit: Option<String>,
}

/// The field `robot_id` of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RobotIdField {
    /// Left out, or null.
    Absent,
    /// A whole number, also one that came as a float.
    Integer(u64),
    /// Anything else, as text to show: `-1`, `1.5`, `"a"`.
    Other(String),
}

impl RobotIdField {
    /// Reads a number that came as a float; `None` when it is not a whole, positive one that a float holds exactly.
    pub(super) fn from_float(value: f64) -> Option<Self> {
        const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
        (value.fract() == 0.0 && (0.0..=EXACT).contains(&value)).then_some(Self::Integer(value as u64))
    }
}

/// The content of a reply or push, without what the network side adds.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// The text of one JSON object. It is trusted to be one: on a connection that speaks JSON it is passed on unread.
    Json(Vec<u8>),
    /// A map with text keys. For what JSON cannot hold well: `Binary` is sent as it is in MessagePack, and as base64
    /// text in JSON.
    Value(rmpv::Value),
}

impl Body {
    /// The body that `value` serializes to, which must be an object.
    ///
    /// # Errors
    /// What serde_json says of a value that has no JSON form.
    pub fn json(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        serde_json::to_vec(value).map(Self::Json)
    }

    /// `{"error": text}`.
    #[must_use]
    pub fn error(text: impl fmt::Display) -> Self {
        Self::one("error", &text.to_string())
    }

    /// `{"status": text}`.
    #[must_use]
    pub fn status(text: &str) -> Self {
        Self::one("status", text)
    }

    fn one(key: &str, text: &str) -> Self {
        Self::Json(serde_json::json!({ key: text }).to_string().into_bytes())
    }

    /// About how many bytes it holds.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Json(text) => text.len(),
            Self::Value(value) => value_size(value),
        }
    }
}

fn value_size(value: &rmpv::Value) -> usize {
    use rmpv::Value;
    let inner = match value {
        Value::String(text) => text.as_bytes().len(),
        Value::Binary(bytes) | Value::Ext(_, bytes) => bytes.len(),
        Value::Array(items) => items.iter().map(value_size).sum(),
        Value::Map(entries) => entries.iter().map(|(key, value)| value_size(key) + value_size(value)).sum(),
        _ => 0,
    };
    inner + 16
}

/// How a push treats a client that reads slowly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushKind {
    /// Each one matters: they queue up to a limit, and beyond it are counted, which the topic's next event tells in
    /// its field `missed`.
    Event,
    /// Only the newest matters: it replaces the unsent one of the same topic and key.
    Latest {
        /// Tells apart several values of one topic; 0 where there is one.
        key: u64,
    },
}

/// Goes with a latest value to one session, and is dropped when that value has left the host's memory for the session's
/// socket, or never will.
#[derive(Debug)]
pub struct Unread(#[expect(dead_code, reason = "held for its end alone")] Arc<()>);

impl Unread {
    /// One, and what is left here to follow it by.
    #[must_use]
    pub fn with_receipt() -> (Self, Receipt) {
        let held = Arc::new(());
        let receipt = Receipt(Some(Arc::downgrade(&held)));
        (Self(held), receipt)
    }
}

/// Follows a latest value on its way to a session.
#[derive(Debug, Default)]
pub struct Receipt(Option<Weak<()>>);

impl Receipt {
    /// Whether the value still waits for its client to read what is before it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.0.as_ref().is_some_and(|held| held.strong_count() > 0)
    }

    /// Whether there has been a value at all: not for a default one.
    #[must_use]
    pub fn was_given(&self) -> bool {
        self.0.is_some()
    }
}

/// Which of a topic's subscribers a push is for.
#[derive(Debug)]
pub(super) enum To {
    All,
    One(SessionId),
    These(Vec<(SessionId, Unread)>),
}

/// From the simulation to the network.
#[derive(Debug)]
pub(super) enum FromSim {
    Reply { session: SessionId, slot: u64, body: Body },
    Push { topic: Topic, to: To, body: Body, kind: PushKind },
    Missed { topic: Topic, count: u64 },
    Subscribe { session: SessionId, topic: Topic },
    Unsubscribe { session: SessionId, topic: Topic },
    ForgetLatest,
    Close { session: SessionId, reason: String },
    Stop,
}
