//! Who is shown latest values, and when: each is built when somebody is due, once for all who want the same.
//!
//! Due times are wall time. A viewer whose last value still waits for it to read what is before is left out while ticks
//! run, so that one who does not read costs nothing; it gets what is built for others, and the last state before time stands.

use serde::Serialize;
use std::time::{Duration, Instant};
use tickworks_plugin_api::abi::kind;

use super::commands::body;
use super::simulation::{Simulation, Stage};
use crate::net::{Body, Receipt, SessionId, Unread};
use crate::world::World;

/// A rate that is so low shows a value every thirty years.
const LONGEST_INTERVAL: f64 = 1e9;

/// What is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// What plugins draw.
    Overlays,
    /// Models: these, or all at the top that something can move.
    State(Option<Vec<String>>),
}

/// All viewers.
#[derive(Debug, Default)]
pub(super) struct Viewers(Vec<Shown>);

/// A subject with those who look at it.
#[derive(Debug)]
struct Shown {
    subject: Subject,
    /// Ids of its models, looked up by name when they are first needed after models have come or gone.
    models: Option<Vec<u64>>,
    viewers: Vec<Viewer>,
}

#[derive(Debug)]
struct Viewer {
    session: SessionId,
    /// The least time between two values.
    interval: Duration,
    /// When it may be shown the next one.
    next: Instant,
    /// There is something that it has not been shown.
    news: bool,
    /// Follows the last value.
    last: Receipt,
}

impl Subject {
    /// The name of its topic.
    pub fn topic(&self) -> &'static str {
        match self {
            Self::Overlays => "overlays",
            Self::State(_) => "state",
        }
    }
}

impl Viewers {
    /// Lets a session look at a subject, and no more at another one of that topic. `news`: it is to be shown at once.
    pub fn add(&mut self, session: SessionId, subject: Subject, rate_hz: Option<f64>, news: bool, now: Instant) {
        self.remove(session, subject.topic());
        let interval = rate_hz.map_or(0.0, |rate| (1.0 / rate).min(LONGEST_INTERVAL));
        let interval = Duration::from_secs_f64(interval);
        let viewer = Viewer { session, interval, next: now, news, last: Receipt::default() };
        match self.0.iter_mut().find(|shown| shown.subject == subject) {
            Some(shown) => shown.viewers.push(viewer),
            None => self.0.push(Shown { subject, models: None, viewers: vec![viewer] }),
        }
    }

    /// Lets a session look at nothing of a topic any more.
    pub fn remove(&mut self, session: SessionId, topic: &str) {
        self.drop_viewers(|shown, viewer| viewer.session == session && shown.topic() == topic);
    }

    /// A session has gone.
    pub fn forget(&mut self, session: SessionId) {
        self.drop_viewers(|_, viewer| viewer.session == session);
    }

    fn drop_viewers(&mut self, which: impl Fn(&Subject, &Viewer) -> bool) {
        for shown in &mut self.0 {
            let subject = &shown.subject;
            shown.viewers.retain(|viewer| !which(subject, viewer));
        }
        self.0.retain(|shown| !shown.viewers.is_empty());
    }

    /// A tick has run: there is something new for everybody.
    pub fn ticked(&mut self) {
        self.0.iter_mut().flat_map(|shown| &mut shown.viewers).for_each(|viewer| viewer.news = true);
    }

    /// Something has changed between two ticks. Plugins draw after ticks only: what they have drawn stays true, or,
    /// after a jump in time, is not shown any more.
    pub fn changed(&mut self, jumped: bool) {
        for shown in &mut self.0 {
            let drawn = shown.subject == Subject::Overlays;
            for viewer in &mut shown.viewers {
                viewer.news = if drawn { viewer.news && !jumped } else { true };
            }
        }
    }

    /// Models have come or gone: names are to be looked up again.
    pub fn structure_changed(&mut self) {
        self.0.iter_mut().for_each(|shown| shown.models = None);
    }

    /// When somebody is due next. `standing`: no tick is going to run by itself.
    pub fn next_due(&self, standing: bool) -> Option<Instant> {
        let viewers = self.0.iter().flat_map(|shown| &shown.viewers);
        viewers.filter(|viewer| viewer.wants(standing)).map(|viewer| viewer.next).min()
    }
}

impl Shown {
    fn is_due(&self, now: Instant, standing: bool) -> bool {
        self.viewers.iter().any(|viewer| viewer.next <= now && viewer.wants(standing))
    }

    /// Takes all whose time has come.
    fn take_due(&mut self, now: Instant) -> Vec<(SessionId, Unread)> {
        let mut due = Vec::new();
        for at in 0..self.viewers.len() {
            if !self.viewers[at].news || self.viewers[at].next > now {
                continue;
            }
            let new = !self.viewers[at].last.was_given();
            // One who is new falls in with another one of its rate, so that both are shown the same from then on.
            let pattern = new.then(|| self.pattern(at, now)).flatten();
            let viewer = &mut self.viewers[at];
            viewer.advance(now);
            viewer.next = pattern.unwrap_or(viewer.next);
            viewer.news = false;
            let (unread, receipt) = Unread::with_receipt();
            viewer.last = receipt;
            due.push((viewer.session, unread));
        }
        due
    }

    /// When another viewer with the interval of this one is next shown a value, an interval from now at the earliest.
    fn pattern(&self, at: usize, now: Instant) -> Option<Instant> {
        let interval = self.viewers[at].interval;
        let mut others = self.viewers.iter().enumerate().filter(|(other, viewer)| {
            *other != at && viewer.interval == interval && viewer.last.was_given() && viewer.next > now
        });
        let (_, other) = others.next()?;
        Some(if other.next >= now + interval { other.next } else { other.next + interval })
    }
}

impl Viewer {
    /// Whether it is shown something as soon as its time has come.
    fn wants(&self, standing: bool) -> bool {
        self.news && (standing || !self.last.is_open())
    }

    /// Keeps to the rate on average, also when each value comes a little late, but does not catch up on what was never
    /// shown.
    fn advance(&mut self, now: Instant) {
        let due = self.next + self.interval;
        self.next = if due > now { due } else { now + self.interval };
    }
}

/// A push of `state`.
#[derive(Serialize)]
struct StatePush<'a> {
    tick: u64,
    sim_time: f64,
    epoch: u64,
    models: Vec<ModelRow<'a>>,
}

/// A model in it.
#[derive(Serialize)]
struct ModelRow<'a> {
    name: &'a str,
    pose: [f64; 7],
    velocity: [f64; 6],
}

/// Ids of the models of these names that are there, or of all at the top that something can move.
fn find(world: &World, names: Option<&Vec<String>>) -> Vec<u64> {
    let id = |name: &str| world.find(kind::MODEL, name);
    match names {
        Some(names) => names.iter().filter_map(|name| id(name)).collect(),
        None => {
            let top = world.names(kind::MODEL).filter(|name| !name.contains("::")).filter_map(id);
            top.filter(|&id| !world.is_static(id)).collect()
        }
    }
}

impl Simulation {
    /// Shows latest values to all who are due.
    pub(super) fn show_due(&mut self) {
        if self.viewers.0.is_empty() {
            return;
        }
        let (now, standing) = (Instant::now(), self.stands());
        let mut viewers = std::mem::take(&mut self.viewers);
        for shown in viewers.0.iter_mut().filter(|shown| shown.is_due(now, standing)) {
            let due = shown.take_due(now);
            let topic = match &shown.subject {
                Subject::Overlays => self.topics.overlays.clone(),
                Subject::State(_) => self.topics.state.clone(),
            };
            // All may have gone without the simulation having heard of it, or be sessions of a recording.
            if !topic.has_subscribers() {
                continue;
            }
            let body = match &shown.subject {
                Subject::Overlays => self.overlays(),
                Subject::State(names) => {
                    let models = shown.models.get_or_insert_with(|| find(&self.world, names.as_ref()));
                    self.state_push(models)
                }
            };
            self.net.show(due, &topic, body);
        }
        self.viewers = viewers;
    }

    /// When [`Simulation::show_due`] has something to do without a tick.
    pub(super) fn next_show(&self) -> Option<Instant> {
        self.viewers.next_due(self.stands())
    }

    fn stands(&self) -> bool {
        self.stage == Stage::Starting || self.clock.standing()
    }

    fn state_push(&self, models: &[u64]) -> Body {
        let moment = self.moment();
        let rows = self.world.motions(models);
        let models = rows.map(|(name, motion)| ModelRow { name, pose: motion.pose, velocity: motion.velocity });
        body(&StatePush { tick: moment.tick, sim_time: moment.time(), epoch: self.epoch, models: models.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATE: Subject = Subject::State(None);

    struct Rig {
        viewers: Viewers,
        start: Instant,
    }

    impl Rig {
        fn new() -> Self {
            Self { viewers: Viewers::default(), start: Instant::now() }
        }

        fn at(&self, millis: u64) -> Instant {
            self.start + Duration::from_millis(millis)
        }

        fn add(&mut self, session: u64, subject: Subject, rate_hz: Option<f64>, millis: u64) {
            self.viewers.add(SessionId(session), subject, rate_hz, true, self.at(millis));
        }

        /// Whom a tick at this time shows something, and what they do not read.
        fn tick(&mut self, millis: u64) -> (Vec<u64>, Vec<Unread>) {
            self.viewers.ticked();
            self.show(millis, false)
        }

        fn show(&mut self, millis: u64, standing: bool) -> (Vec<u64>, Vec<Unread>) {
            let now = self.at(millis);
            let due = self.viewers.0.iter_mut().filter(|shown| shown.is_due(now, standing));
            due.flat_map(|shown| shown.take_due(now)).map(|(session, unread)| (session.0, unread)).unzip()
        }
    }

    #[test]
    fn values_keep_to_their_rate() {
        let mut rig = Rig::new();
        rig.add(1, STATE, Some(10.0), 0);
        assert_eq!(rig.show(0, true).0, [1], "what is there, at once");
        assert_eq!(rig.viewers.next_due(true), None, "and not again");
        assert!(rig.tick(50).0.is_empty());
        assert_eq!(rig.viewers.next_due(false), Some(rig.at(100)));
        assert_eq!(rig.show(103, false).0, [1]);
        // A little late does not add up.
        assert!(rig.tick(199).0.is_empty());
        assert_eq!(rig.tick(202).0, [1]);
        assert!(rig.show(300, true).0.is_empty(), "it has been shown that tick");
        // After a pause there is no catching up.
        assert_eq!(rig.tick(5000).0, [1]);
        assert!(rig.tick(5099).0.is_empty());
        assert_eq!(rig.show(5100, false).0, [1]);
    }

    #[test]
    fn without_a_rate_there_is_one_for_each_tick_and_an_absurd_one_is_no_overflow() {
        let mut rig = Rig::new();
        rig.add(1, STATE, None, 0);
        for millis in [0, 0, 1] {
            assert_eq!(rig.tick(millis).0, [1]);
        }
        rig.add(1, STATE, Some(1e-300), 2);
        assert_eq!(rig.tick(2).0, [1]);
        assert!(rig.tick(100_000).0.is_empty());
    }

    #[test]
    fn viewers_of_the_same_are_shown_the_same_and_keep_to_their_rate() {
        let mut rig = Rig::new();
        rig.add(1, STATE, Some(10.0), 0);
        assert_eq!(rig.show(0, false).0, [1]);
        rig.add(2, STATE, Some(10.0), 70);
        assert_eq!(rig.show(70, false).0, [2]);
        assert_eq!(rig.viewers.0.len(), 1);
        assert_eq!(rig.tick(100).0, [1], "for the second one it is too soon");
        for millis in [200, 300] {
            assert_eq!(rig.tick(millis).0, [1, 2]);
        }
        rig.add(3, Subject::State(Some(vec!["box".into()])), Some(10.0), 310);
        assert_eq!(rig.viewers.0.len(), 2, "another list is another subject");
        rig.add(3, STATE, Some(10.0), 310);
        assert_eq!(rig.viewers.0.len(), 1, "and takes the place of the one before");
        rig.viewers.forget(SessionId(1));
        rig.viewers.remove(SessionId(2), "overlays");
        rig.viewers.remove(SessionId(3), "state");
        assert_eq!(rig.tick(400).0, [2]);
    }

    #[test]
    fn who_does_not_read_costs_nothing_until_time_stands() {
        let mut rig = Rig::new();
        rig.add(1, STATE, None, 0);
        let (_, unread) = rig.tick(0);
        assert!(rig.tick(1).0.is_empty());
        assert_eq!(rig.viewers.next_due(false), None, "nobody is woken for it");
        rig.add(2, STATE, None, 2);
        assert_eq!(rig.tick(2).0, [1, 2], "what is built for another one is for it as well");
        drop(unread);
        let (_, unread) = rig.tick(3);
        assert!(rig.tick(4).0.is_empty());
        assert_eq!(rig.show(5, true).0, [1, 2], "the last one is for all");
        drop(unread);
    }

    #[test]
    fn drawings_are_of_ticks_and_those_of_before_a_jump_are_not_shown() {
        let mut rig = Rig::new();
        rig.viewers.add(SessionId(1), Subject::Overlays, Some(10.0), false, rig.at(0));
        rig.viewers.changed(false);
        assert!(rig.show(0, true).0.is_empty());
        assert_eq!(rig.tick(0).0, [1]);
        assert!(rig.tick(50).0.is_empty());
        rig.viewers.changed(false);
        assert_eq!(rig.viewers.next_due(true), Some(rig.at(100)));
        rig.viewers.changed(true);
        assert!(rig.show(200, true).0.is_empty());
    }
}
