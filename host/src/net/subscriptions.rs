//! Which topics a session wants.

use std::rc::Rc;

use super::handle::Topic;
use super::message::{PushKind, Unread};
use super::options::NetOptions;
use super::outbox::{Outbox, Push};

/// The topics of one session.
#[derive(Debug, Default)]
pub struct Subscriptions(Vec<Subscription>);

#[derive(Debug)]
struct Subscription {
    topic: Topic,
    /// Events that found no room since the last one that did.
    missed: u64,
}

impl Subscriptions {
    /// Adds a topic. Says whether it is new.
    pub fn add(&mut self, topic: &Topic) -> bool {
        if self.0.iter().any(|known| known.topic.is(topic)) {
            return false;
        }
        self.0.push(Subscription { topic: topic.clone(), missed: 0 });
        true
    }

    /// Removes a topic. Says whether it was there.
    pub fn remove(&mut self, topic: &Topic) -> bool {
        let before = self.0.len();
        self.0.retain(|known| !known.topic.is(topic));
        self.0.len() < before
    }

    /// Takes all topics out.
    pub fn take(&mut self) -> Vec<Topic> {
        std::mem::take(&mut self.0).into_iter().map(|subscription| subscription.topic).collect()
    }

    /// Hands a push on, or counts it as missed. `unread` goes with a latest value.
    pub fn push(
        &mut self,
        push: &Rc<Push>,
        kind: PushKind,
        unread: Option<Unread>,
        outbox: &mut Outbox,
        options: &NetOptions,
    ) {
        let Some(subscription) = self.0.iter_mut().find(|known| known.topic.is(&push.topic)) else { return };
        match kind {
            PushKind::Event => {
                if outbox.has_room_for(push, options.max_queued_events, options.max_queued_event_bytes) {
                    outbox.event(Rc::clone(push), std::mem::take(&mut subscription.missed));
                } else {
                    subscription.missed += 1;
                }
            }
            PushKind::Latest { key } => outbox.latest(key, Rc::clone(push), unread),
        }
    }

    /// Counts events of a topic as missed.
    pub fn miss(&mut self, topic: &Topic, count: u64) {
        if let Some(subscription) = self.0.iter_mut().find(|known| known.topic.is(topic)) {
            subscription.missed += count;
        }
    }
}
