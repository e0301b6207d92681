//! What one connection is going to be sent, in order, before it is turned into bytes.
//!
//! Replies and events keep their order. A latest value takes its place at the end, and when a newer one comes while
//! it still waits, the newer one takes a new place at the end: so nothing of after an event is read before it.

use std::cell::{Cell, OnceCell};
use std::collections::VecDeque;
use std::rc::Rc;

use super::fault::RawId;
use super::framing::Framing;
use super::handle::Topic;
use super::held::PushBytes;
use super::message::{Body, Unread};
use super::slots::SLOT_BYTES;
use super::stamp::Stamp;
use super::{json, msgpack};

/// The content of a push, which is turned into bytes once for all connections of a framing.
#[derive(Debug)]
pub struct Push {
    pub topic: Topic,
    body: Body,
    size: usize,
    json: OnceCell<Option<Vec<u8>>>,
    msgpack: OnceCell<Option<(Vec<u8>, u32)>>,
    /// What it takes of memory, and the sum that this is a part of.
    held: Cell<usize>,
    sum: PushBytes,
}

impl Drop for Push {
    fn drop(&mut self) {
        self.sum.remove(self.held.get());
    }
}

/// What the network side itself puts into a push.
const OWN: &[&str] = &["topic", "missed"];

impl Push {
    pub fn new(topic: Topic, body: Body, sum: PushBytes) -> Self {
        let size = body.size();
        let push = Self { topic, body, size, json: OnceCell::new(), msgpack: OnceCell::new(), held: Cell::new(0), sum };
        push.hold(size);
        push
    }

    fn hold(&self, bytes: usize) {
        self.held.set(self.held.get() + bytes);
        self.sum.add(bytes);
    }

    fn write(&self, framing: Framing, out: &mut Vec<u8>, missed: u64) {
        let topic = self.topic.name();
        let encode = |write: &dyn Fn(&mut Vec<u8>) -> Result<u32, json::BadBody>| {
            let mut fields = Vec::new();
            match write(&mut fields) {
                Ok(count) => {
                    self.hold(fields.len());
                    Some((fields, count))
                }
                Err(error) => {
                    tracing::error!("a push on topic {topic:?} cannot be sent: {error}");
                    None
                }
            }
        };
        match framing {
            Framing::JsonLines => {
                let write = |fields: &mut Vec<u8>| json::write_fields(fields, &self.body, OWN).map(|()| 0);
                if let Some(fields) = self.json.get_or_init(|| encode(&write).map(|(fields, _)| fields)) {
                    json::write_push(out, topic, missed, fields);
                }
            }
            Framing::MessagePack => {
                let write = |fields: &mut Vec<u8>| msgpack::write_fields(fields, &self.body, OWN);
                if let Some((fields, count)) = self.msgpack.get_or_init(|| encode(&write)) {
                    msgpack::write_push(out, topic, missed, fields, *count);
                }
            }
        }
    }
}

/// The queue.
#[derive(Debug, Default)]
pub struct Outbox {
    items: VecDeque<Item>,
    latest: Vec<Latest>,
    /// Places in `items` whose latest value has been replaced.
    stale: usize,
    places: u64,
    reply_bytes: usize,
    events: usize,
    event_bytes: usize,
}

#[derive(Debug)]
enum Item {
    Reply { id: Option<RawId>, body: Body, bytes: usize },
    Event { missed: u64, push: Rc<Push> },
    Latest { place: u64 },
}

/// A latest value that waits.
#[derive(Debug)]
struct Latest {
    key: u64,
    place: u64,
    push: Rc<Push>,
    /// Ends with it.
    unread: Option<Unread>,
}

impl Outbox {
    pub fn is_empty(&self) -> bool {
        self.items.len() == self.stale
    }

    /// Bytes of the replies in it.
    pub fn reply_bytes(&self) -> usize {
        self.reply_bytes
    }

    pub fn reply(&mut self, id: Option<RawId>, body: Body) {
        let bytes = body.size() + SLOT_BYTES;
        self.reply_bytes += bytes;
        self.items.push_back(Item::Reply { id, body, bytes });
    }

    /// Whether one more event stays within the limits. The first one always does.
    pub fn has_room_for(&self, push: &Push, events: usize, event_bytes: usize) -> bool {
        self.events == 0 || (self.events < events && self.event_bytes + push.size <= event_bytes)
    }

    pub fn event(&mut self, push: Rc<Push>, missed: u64) {
        self.events += 1;
        self.event_bytes += push.size;
        self.items.push_back(Item::Event { missed, push });
    }

    pub fn latest(&mut self, key: u64, push: Rc<Push>, unread: Option<Unread>) {
        self.places += 1;
        let place = self.places;
        let waiting = self.latest.iter_mut().find(|waiting| waiting.key == key && waiting.push.topic.is(&push.topic));
        if let Some(waiting) = waiting {
            (waiting.push, waiting.unread) = (push, unread);
            // Nothing has come since: the place is the end already.
            if matches!(self.items.back(), Some(Item::Latest { place }) if *place == waiting.place) {
                return;
            }
            waiting.place = place;
            self.stale += 1;
        } else {
            self.latest.push(Latest { key, place, push, unread });
        }
        self.items.push_back(Item::Latest { place });
        self.sweep();
    }

    /// Drops the latest values of one topic, or of all.
    pub fn forget_latest(&mut self, topic: Option<&Topic>) {
        let before = self.latest.len();
        self.latest.retain(|waiting| topic.is_some_and(|topic| !waiting.push.topic.is(topic)));
        self.stale += before - self.latest.len();
        self.sweep();
    }

    /// Removes stale places once they are the greater part, so that they cost a constant share.
    fn sweep(&mut self) {
        if self.stale > 16 && self.stale > self.items.len() / 2 {
            let latest = &self.latest;
            self.items.retain(|item| match item {
                Item::Latest { place } => latest.iter().any(|waiting| waiting.place == *place),
                _ => true,
            });
            self.stale = 0;
        }
    }

    /// Turns the next item into bytes. Nothing happens when there is none.
    pub fn write_next(&mut self, framing: Framing, out: &mut Vec<u8>, stamp: &mut Stamp) {
        match self.items.pop_front() {
            None => {}
            Some(Item::Reply { id, body, bytes }) => {
                self.reply_bytes -= bytes;
                framing.write_reply(out, &body, id.as_deref(), stamp.now());
            }
            Some(Item::Event { missed, push }) => {
                self.events -= 1;
                self.event_bytes -= push.size;
                push.write(framing, out, missed);
            }
            Some(Item::Latest { place }) => match self.latest.iter().position(|waiting| waiting.place == place) {
                Some(at) => self.latest.swap_remove(at).push.write(framing, out, 0),
                None => self.stale -= 1,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{Net, NetOptions};
    use jiff::tz::TimeZone;

    /// A topic that is like any other, but needs a handle to be made.
    fn topics(names: &[&str]) -> Vec<Topic> {
        let (net, _) = Net::start(NetOptions::new("127.0.0.1:0".parse().unwrap())).unwrap();
        names.iter().map(|name| net.handle().topic(name)).collect()
    }

    fn push(topic: &Topic, n: u64) -> Rc<Push> {
        Rc::new(Push::new(topic.clone(), Body::json(&serde_json::json!({ "n": n })).unwrap(), PushBytes::default()))
    }

    /// What is in it, as text, one after the other.
    fn drain(outbox: &mut Outbox) -> Vec<String> {
        let mut stamp = Stamp::new(TimeZone::UTC);
        let mut all = Vec::new();
        while !outbox.is_empty() {
            let mut out = Vec::new();
            outbox.write_next(Framing::JsonLines, &mut out, &mut stamp);
            let text = String::from_utf8(out).unwrap();
            let text = text.split(",\"timestamp\"").next().unwrap().trim_end().trim_end_matches('}');
            all.push(text.replace("{\"topic\":", "").replace('"', ""));
        }
        all.retain(|text| !text.is_empty());
        all
    }

    #[test]
    fn items_keep_their_order_and_latest_values_move_to_the_end() {
        let topics = topics(&["state", "sim"]);
        let (state, sim) = (&topics[0], &topics[1]);
        let mut outbox = Outbox::default();
        outbox.latest(0, push(state, 1), None);
        outbox.latest(1, push(state, 2), None);
        outbox.reply(None, Body::status("a"));
        outbox.event(push(sim, 3), 7);
        outbox.latest(0, push(state, 4), None);
        outbox.latest(0, push(state, 5), None);
        assert_eq!(outbox.reply_bytes(), Body::status("a").size() + SLOT_BYTES);
        assert_eq!(drain(&mut outbox), ["state,n:2", "{status:a", "sim,missed:7,n:3", "state,n:5"]);
        assert_eq!(outbox.reply_bytes(), 0);
    }

    #[test]
    fn latest_values_can_be_forgotten() {
        let topics = topics(&["state", "other", "sim"]);
        let mut outbox = Outbox::default();
        for topic in &topics[..2] {
            outbox.latest(0, push(topic, 1), None);
        }
        outbox.event(push(&topics[2], 2), 0);
        outbox.forget_latest(Some(&topics[0]));
        outbox.latest(0, push(&topics[0], 3), None);
        assert_eq!(drain(&mut outbox), ["other,n:1", "sim,n:2", "state,n:3"]);
        outbox.latest(0, push(&topics[0], 4), None);
        outbox.forget_latest(None);
        assert!(outbox.is_empty());
        assert!(drain(&mut outbox).is_empty());
    }

    #[test]
    fn values_that_nobody_reads_take_a_bounded_place() {
        let topics = topics(&["state"]);
        let mut outbox = Outbox::default();
        for n in 0..10_000 {
            outbox.latest(n % 3, push(&topics[0], n), None);
            assert!(outbox.items.len() < 64, "{} places for three values", outbox.items.len());
        }
        assert_eq!(drain(&mut outbox), ["state,n:9997", "state,n:9998", "state,n:9999"]);
    }

    #[test]
    fn events_are_limited_by_number_and_size_but_one_always_fits() {
        let topics = topics(&["race"]);
        let one = push(&topics[0], 1);
        let mut outbox = Outbox::default();
        assert!(outbox.has_room_for(&one, 1, 0));
        outbox.event(Rc::clone(&one), 0);
        assert!(!outbox.has_room_for(&one, 1, 1000));
        assert!(!outbox.has_room_for(&one, 2, one.size));
        assert!(outbox.has_room_for(&one, 2, 2 * one.size));
        drain(&mut outbox);
        assert!(outbox.has_room_for(&one, 1, 0));
    }
}
