//! Messages that wait, in the order in which they arrived, and what each connection waits for.
//!
//! A connection sees its own effects in order: nothing of it overtakes. A read waits behind a move until physics has run;
//! what changes the run (reset, pause, …) waits until the tick ends; behind a `sim_step` only messages that need a tick
//! go on, since its ticks are what they need; behind a command that waits for plugins to start nothing goes on.

use std::collections::{HashMap, VecDeque};

use crate::net::{Request, SessionId};

/// What has arrived from a connection.
#[derive(Debug)]
pub enum Item {
    /// A request, to be answered in its slot.
    Request {
        /// Its place in the connection's order.
        slot: u64,
        /// What it says.
        request: Request,
    },
    /// The connection's end.
    Closed,
}

/// When an item can be handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At any time: it changes nothing of the world.
    Anytime,
    /// Between two ticks: it changes the run.
    BetweenTicks,
    /// In a tick; between ticks only while time stands.
    InTick,
}

/// What is going on while the queue is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Messages of a tick are being taken.
    Tick,
    /// No tick runs.
    Between {
        /// And none is going to: time stands, or the run has not begun.
        standing: bool,
    },
}

#[derive(Debug, Default)]
struct Session {
    /// How many of its items wait.
    waiting: usize,
    /// A command of it waits for physics in this tick.
    awaits_physics: bool,
    /// A `sim_step` of it has not come to its end.
    stepping: bool,
    /// A command of it waits for plugins to start.
    loading: bool,
    /// The pass in which one of its items had to wait: those behind it wait as well.
    blocked_in: u64,
}

/// The queue.
#[derive(Debug, Default)]
pub struct Queue {
    items: VecDeque<(SessionId, When, Item)>,
    sessions: HashMap<SessionId, Session>,
    pass: u64,
    /// How many items of this pass have not been looked at.
    left: usize,
}

impl Queue {
    /// Takes what has arrived. It comes straight back when it can be handled now.
    pub fn arrived(&mut self, session: SessionId, when: When, item: Item, phase: Phase) -> Option<Item> {
        let state = self.sessions.entry(session).or_default();
        if state.waiting == 0 && state.can(when, phase) {
            return Some(item);
        }
        state.waiting += 1;
        self.items.push_back((session, when, item));
        None
    }

    /// Begins to look at all that waits.
    pub fn begin_pass(&mut self) {
        self.pass += 1;
        self.left = self.items.len();
    }

    /// The next item that can be handled in this pass; `None` at its end.
    pub fn next(&mut self, phase: Phase) -> Option<(SessionId, Item)> {
        while self.left > 0 {
            self.left -= 1;
            let (session, when, item) = self.items.pop_front()?;
            let state = self.sessions.entry(session).or_default();
            if state.blocked_in != self.pass && state.can(when, phase) {
                state.waiting = state.waiting.saturating_sub(1);
                return Some((session, item));
            }
            state.blocked_in = self.pass;
            self.items.push_back((session, when, item));
        }
        None
    }

    /// A command of this connection waits for physics now.
    pub fn awaits_physics(&mut self, session: SessionId) {
        self.sessions.entry(session).or_default().awaits_physics = true;
    }

    /// Physics has run: nobody waits for it.
    pub fn physics_done(&mut self, sessions: impl Iterator<Item = SessionId>) {
        for session in sessions {
            if let Some(state) = self.sessions.get_mut(&session) {
                state.awaits_physics = false;
            }
        }
    }

    /// A `sim_step` of this connection runs, or has ended.
    pub fn set_stepping(&mut self, session: SessionId, stepping: bool) {
        if let Some(state) = self.sessions.get_mut(&session) {
            state.stepping = stepping;
        }
    }

    /// A command of this connection waits for plugins to start, or has its reply.
    pub fn set_loading(&mut self, session: SessionId, loading: bool) {
        if let Some(state) = self.sessions.get_mut(&session) {
            state.loading = loading;
        }
    }

    /// A connection is there.
    pub fn opened(&mut self, session: SessionId) {
        self.sessions.entry(session).or_default();
    }

    /// A connection has gone and nothing of it waits.
    pub fn forget(&mut self, session: SessionId) {
        self.sessions.remove(&session);
    }

    /// How many items wait.
    pub fn waiting(&self) -> usize {
        self.items.len()
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.sessions.len()
    }
}

impl Session {
    fn can(&self, when: When, phase: Phase) -> bool {
        if self.loading {
            return false;
        }
        match (when, phase) {
            (When::Anytime, Phase::Tick) => !self.awaits_physics && !self.stepping,
            (When::Anytime | When::BetweenTicks, Phase::Between { .. }) => !self.stepping,
            (When::BetweenTicks, Phase::Tick) => false,
            (When::InTick, Phase::Tick) => true,
            (When::InTick, Phase::Between { standing }) => standing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::RobotIdField;

    const RUNS: Phase = Phase::Between { standing: false };
    const STANDS: Phase = Phase::Between { standing: true };

    fn item(slot: u64) -> Item {
        Item::Request {
            slot,
            request: Request {
                cmd: String::new(),
                robot_id: RobotIdField::Absent,
                has_id: false,
                json: Vec::new(),
                unfit: None,
            },
        }
    }

    fn slot(item: &Item) -> u64 {
        match item {
            Item::Request { slot, .. } => *slot,
            Item::Closed => u64::MAX,
        }
    }

    fn pass(queue: &mut Queue, phase: Phase) -> Vec<u64> {
        queue.begin_pass();
        std::iter::from_fn(|| queue.next(phase).map(|(_, item)| slot(&item))).collect()
    }

    #[test]
    fn a_read_is_answered_at_once_when_nothing_waits_before_it() {
        let mut queue = Queue::default();
        let (a, b) = (SessionId(1), SessionId(2));
        assert!(queue.arrived(a, When::InTick, item(0), RUNS).is_none());
        assert!(queue.arrived(a, When::Anytime, item(1), RUNS).is_none(), "it waits behind the move");
        assert!(queue.arrived(b, When::Anytime, item(0), RUNS).is_some(), "another connection's read does not");
    }

    #[test]
    fn a_connection_sees_its_own_effects_in_order() {
        let mut queue = Queue::default();
        let a = SessionId(1);
        for (slot, when) in [When::InTick, When::Anytime, When::InTick, When::BetweenTicks].into_iter().enumerate() {
            assert!(queue.arrived(a, when, item(slot as u64), RUNS).is_none());
        }
        queue.begin_pass();
        assert_eq!(queue.next(Phase::Tick).map(|(_, i)| slot(&i)), Some(0));
        queue.awaits_physics(a);
        assert!(queue.next(Phase::Tick).is_none(), "the read waits for physics, and what is behind it for the read");
        queue.physics_done([a].into_iter());
        assert_eq!(pass(&mut queue, RUNS), [1]);
        assert_eq!(pass(&mut queue, Phase::Tick), [2]);
        assert_eq!(pass(&mut queue, RUNS), [3]);
    }

    #[test]
    fn commands_without_physics_do_not_hold_reads_up() {
        let mut queue = Queue::default();
        let a = SessionId(1);
        for slot in 0..4 {
            let when = if slot % 2 == 0 { When::InTick } else { When::Anytime };
            assert!(queue.arrived(a, when, item(slot), RUNS).is_none());
        }
        assert_eq!(pass(&mut queue, Phase::Tick), [0, 1, 2, 3]);
    }

    #[test]
    fn behind_a_step_only_what_needs_its_ticks_goes_on() {
        let mut queue = Queue::default();
        let a = SessionId(1);
        assert!(queue.arrived(a, When::BetweenTicks, item(0), STANDS).is_some());
        queue.set_stepping(a, true);
        assert!(queue.arrived(a, When::InTick, item(1), RUNS).is_none());
        assert!(queue.arrived(a, When::Anytime, item(2), RUNS).is_none());
        assert!(queue.arrived(a, When::InTick, item(3), RUNS).is_none());
        assert_eq!(pass(&mut queue, Phase::Tick), [1]);
        queue.set_stepping(a, false);
        assert_eq!(pass(&mut queue, STANDS), [2, 3]);
    }

    #[test]
    fn behind_a_command_that_waits_for_plugins_nothing_goes_on() {
        let mut queue = Queue::default();
        let (a, b) = (SessionId(1), SessionId(2));
        assert!(queue.arrived(a, When::BetweenTicks, item(0), STANDS).is_some());
        queue.set_loading(a, true);
        for (slot, when) in [When::InTick, When::Anytime, When::BetweenTicks].into_iter().enumerate() {
            assert!(queue.arrived(a, when, item(slot as u64 + 1), STANDS).is_none());
        }
        assert!(queue.arrived(b, When::Anytime, item(0), STANDS).is_some(), "another connection's goes on");
        assert_eq!(pass(&mut queue, Phase::Tick), [0; 0]);
        queue.set_loading(a, false);
        assert_eq!(pass(&mut queue, STANDS), [1, 2, 3]);
    }

    #[test]
    fn while_time_stands_everything_is_handled_at_once() {
        let mut queue = Queue::default();
        assert!(queue.arrived(SessionId(1), When::InTick, item(0), STANDS).is_some());
    }

    #[test]
    fn the_order_of_arrival_is_kept_over_many_passes() {
        let mut queue = Queue::default();
        for slot in 0..3 {
            for session in 1..4 {
                queue.arrived(SessionId(session), When::InTick, item(session * 10 + slot), RUNS);
            }
        }
        assert_eq!(pass(&mut queue, RUNS), [0; 0]);
        assert_eq!(pass(&mut queue, Phase::Tick), [10, 20, 30, 11, 21, 31, 12, 22, 32]);
    }
}
