//! Which topics a session wants, and how often.

use std::rc::Rc;
use std::time::{Duration, Instant};

use super::handle::Topic;
use super::message::PushKind;
use super::options::NetOptions;
use super::outbox::{Outbox, Push};

/// The topics of one session.
#[derive(Debug, Default)]
pub struct Subscriptions(Vec<Subscription>);

#[derive(Debug)]
struct Subscription {
    topic: Topic,
    /// The least time between two latest values.
    interval: Option<Duration>,
    /// Events that found no room since the last one that did.
    missed: u64,
    paced: Vec<Paced>,
}

/// The latest values of one key.
#[derive(Debug)]
struct Paced {
    key: u64,
    /// When the next one may go out.
    next: Instant,
    /// The one that waits for that.
    held: Option<Rc<Push>>,
}

impl Subscriptions {
    /// Adds a topic, or changes its rate. Says whether it is new.
    pub fn add(&mut self, topic: &Topic, rate_hz: Option<f64>) -> bool {
        let interval = rate_hz.and_then(|rate| Duration::try_from_secs_f64(1.0 / rate).ok());
        if let Some(known) = self.0.iter_mut().find(|known| known.topic.is(topic)) {
            known.interval = interval;
            return false;
        }
        self.0.push(Subscription { topic: topic.clone(), interval, missed: 0, paced: Vec::new() });
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

    /// Hands a push on, or keeps it until its rate lets it through, or counts it as missed.
    pub fn push(&mut self, push: &Rc<Push>, kind: PushKind, outbox: &mut Outbox, options: &NetOptions, now: Instant) {
        let Some(subscription) = self.0.iter_mut().find(|known| known.topic.is(&push.topic)) else { return };
        match kind {
            PushKind::Event => {
                if outbox.has_room_for(push, options.max_queued_events, options.max_queued_event_bytes) {
                    outbox.event(Rc::clone(push), std::mem::take(&mut subscription.missed));
                } else {
                    subscription.missed += 1;
                }
            }
            PushKind::Latest { key } => subscription.pace(key, push, outbox, now),
        }
    }

    /// Counts an event as missed.
    pub fn miss(&mut self, push: &Push) {
        if let Some(subscription) = self.0.iter_mut().find(|known| known.topic.is(&push.topic)) {
            subscription.missed += 1;
        }
    }

    /// Hands on what may go out by now.
    pub fn release(&mut self, outbox: &mut Outbox, now: Instant) {
        for subscription in &mut self.0 {
            let interval = subscription.interval.unwrap_or_default();
            for paced in subscription.paced.iter_mut().filter(|paced| paced.next <= now) {
                if let Some(push) = paced.held.take() {
                    paced.advance(interval, now);
                    outbox.latest(paced.key, push);
                }
            }
        }
    }

    /// When [`release`](Self::release) has something to do.
    pub fn next_release(&self) -> Option<Instant> {
        let held = self.0.iter().flat_map(|subscription| &subscription.paced).filter(|paced| paced.held.is_some());
        held.map(|paced| paced.next).min()
    }

    /// Drops the latest values that are held back.
    pub fn forget_latest(&mut self) {
        for paced in self.0.iter_mut().flat_map(|subscription| &mut subscription.paced) {
            paced.held = None;
        }
    }
}

impl Subscription {
    fn pace(&mut self, key: u64, push: &Rc<Push>, outbox: &mut Outbox, now: Instant) {
        let Some(interval) = self.interval else {
            // A value that was held for an earlier rate must not follow a newer one.
            self.paced.clear();
            outbox.latest(key, Rc::clone(push));
            return;
        };
        let at = self.paced.iter().position(|paced| paced.key == key).unwrap_or_else(|| {
            self.paced.push(Paced { key, next: now, held: None });
            self.paced.len() - 1
        });
        let paced = &mut self.paced[at];
        if paced.next <= now {
            paced.held = None;
            paced.advance(interval, now);
            outbox.latest(key, Rc::clone(push));
        } else {
            paced.held = Some(Rc::clone(push));
        }
    }
}

impl Paced {
    /// Keeps to the rate on average, also when each value comes a little late, but does not catch up on what was never sent.
    fn advance(&mut self, interval: Duration, now: Instant) {
        let due = self.next + interval;
        self.next = if due > now { due } else { now + interval };
    }
}

#[cfg(test)]
mod tests {
    use super::super::held::PushBytes;
    use super::*;
    use crate::net::{Body, Net};

    const LATEST: PushKind = PushKind::Latest { key: 0 };

    struct Rig {
        topic: Topic,
        options: NetOptions,
        subscriptions: Subscriptions,
        outbox: Outbox,
        start: Instant,
    }

    impl Rig {
        fn new(rate_hz: Option<f64>) -> Self {
            let options = NetOptions::new("127.0.0.1:0".parse().unwrap());
            let (net, _) = Net::start(options.clone()).unwrap();
            let topic = net.handle().topic("state");
            let mut subscriptions = Subscriptions::default();
            assert!(subscriptions.add(&topic, rate_hz));
            Self { topic, options, subscriptions, outbox: Outbox::default(), start: Instant::now() }
        }

        fn at(&self, millis: u64) -> Instant {
            self.start + Duration::from_millis(millis)
        }

        /// Pushes at this time. Says whether something goes out.
        fn push(&mut self, kind: PushKind, millis: u64) -> bool {
            let push = Rc::new(Push::new(self.topic.clone(), Body::Json(b"{}".to_vec()), PushBytes::default()));
            let now = self.at(millis);
            self.subscriptions.push(&push, kind, &mut self.outbox, &self.options, now);
            self.went_out()
        }

        fn release(&mut self, millis: u64) -> bool {
            let now = self.at(millis);
            self.subscriptions.release(&mut self.outbox, now);
            self.went_out()
        }

        fn went_out(&mut self) -> bool {
            !std::mem::take(&mut self.outbox).is_empty()
        }
    }

    #[test]
    fn latest_values_keep_to_their_rate() {
        let mut rig = Rig::new(Some(10.0));
        assert!(rig.push(LATEST, 0));
        assert!(!rig.push(LATEST, 50));
        assert!(!rig.release(99));
        assert_eq!(rig.subscriptions.next_release(), Some(rig.at(100)));
        assert!(rig.release(103));
        assert_eq!(rig.subscriptions.next_release(), None);
        // A little late does not add up.
        assert!(!rig.push(LATEST, 199));
        assert!(rig.push(LATEST, 202));
        assert!(!rig.release(300), "the newer one has taken the place of the held one");
        // After a pause there is no catching up.
        assert!(rig.push(LATEST, 5000));
        assert!(!rig.push(LATEST, 5099));
        assert!(rig.release(5100));
        // Another key has its own time.
        assert!(rig.push(PushKind::Latest { key: 1 }, 5101));
    }

    #[test]
    fn events_are_not_slowed_and_held_values_can_be_forgotten() {
        let mut rig = Rig::new(Some(1.0));
        assert!(rig.push(PushKind::Event, 0));
        assert!(rig.push(PushKind::Event, 1));
        assert!(rig.push(LATEST, 2));
        assert!(!rig.push(LATEST, 3));
        rig.subscriptions.forget_latest();
        assert_eq!(rig.subscriptions.next_release(), None);
        assert!(!rig.release(5000));
    }

    #[test]
    fn a_rate_that_makes_no_sense_is_none() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut rig = Rig::new(Some(rate));
            assert!(rig.push(LATEST, 0) && rig.push(LATEST, 0), "{rate}");
        }
    }
}
