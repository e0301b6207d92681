//! When the next tick is due: real time, a multiple of it, or as fast as possible; paused, or stepping.

use std::time::{Duration, Instant};

/// How far the clock may run late before it gives up catching up, so that a stall is not followed by a burst of ticks.
const MAX_LAG: Duration = Duration::from_millis(250);

/// Over what stretch of wall time the real-time factor is measured.
const FACTOR_WINDOW: Duration = Duration::from_secs(1);

/// How simulated time follows the wall clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Simulated seconds per wall second; finite and above 0.
    RealTime(f64),
    /// A tick starts when the one before has ended.
    Fast,
}

/// What the clock wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Run a tick now.
    Now,
    /// Run one at this time.
    At(Instant),
    /// No tick until something changes: paused.
    Never,
}

/// Decides when ticks run. Knows nothing of what a tick does.
#[derive(Debug)]
pub struct Clock {
    /// Simulated length of one tick, s.
    dt: f64,
    pace: Pace,
    paused: bool,
    /// Ticks still to run although paused.
    steps: u64,
    /// When the next tick is due; `None` after a pause or at the start: at once.
    next: Option<Instant>,
    window_start: Instant,
    window_ticks: u64,
    factor: f64,
}

impl Clock {
    /// `dt`: simulated length of a tick in seconds, above 0.
    pub fn new(dt: f64, pace: Pace, paused: bool) -> Self {
        Self { dt, pace, paused, steps: 0, next: None, window_start: Instant::now(), window_ticks: 0, factor: 0.0 }
    }

    /// Whether simulated time stands, steps that are still to run aside.
    pub fn paused(&self) -> bool {
        self.paused
    }

    /// Whether no tick is going to run by itself: paused, and no steps left.
    pub fn standing(&self) -> bool {
        self.paused && self.steps == 0
    }

    /// How simulated time follows the wall clock.
    pub fn pace(&self) -> Pace {
        self.pace
    }

    /// Another world, whose ticks have this length, is to go on at this pace. A pause stays.
    pub fn go_on(&mut self, dt: f64, pace: Pace) {
        (self.dt, self.pace) = (dt, pace);
        self.restart();
    }

    /// Goes on at another pace. A pause stays. What was behind at the old pace is not caught up at the new one, and the
    /// next tick comes no earlier for it than either pace says.
    pub fn set_pace(&mut self, pace: Pace, now: Instant) {
        self.pace = pace;
        if let (Pace::RealTime(factor), Some(next)) = (pace, self.next) {
            self.next = Some(next.clamp(now, now + Duration::from_secs_f64(self.dt / factor)));
        }
        (self.window_start, self.window_ticks) = (now, 0);
    }

    /// Stops or continues.
    pub fn set_paused(&mut self, paused: bool) {
        if self.paused != paused {
            self.paused = paused;
            self.restart();
        }
    }

    /// How many ticks run from here although paused.
    pub fn set_steps(&mut self, ticks: u64) {
        if self.standing() && ticks > 0 {
            self.restart();
        }
        self.steps = ticks;
    }

    /// Simulated seconds per wall second, measured over about the last second.
    pub fn real_time_factor(&self) -> f64 {
        if self.standing() { 0.0 } else { self.factor }
    }

    /// When the next tick is due.
    pub fn due(&self, now: Instant) -> Due {
        if self.standing() {
            return Due::Never;
        }
        match (self.pace, self.next) {
            (Pace::Fast, _) | (_, None) => Due::Now,
            (Pace::RealTime(_), Some(at)) if at <= now => Due::Now,
            (Pace::RealTime(_), Some(at)) => Due::At(at),
        }
    }

    /// A tick starts: plans the one after it.
    pub fn tick_starts(&mut self, now: Instant) {
        self.steps = self.steps.saturating_sub(1);
        if let Pace::RealTime(factor) = self.pace {
            let period = Duration::from_secs_f64(self.dt / factor);
            let planned = self.next.unwrap_or(now) + period;
            self.next = Some(if planned + MAX_LAG < now { now } else { planned });
        }
        self.window_ticks += 1;
        let window = now.duration_since(self.window_start);
        if window >= FACTOR_WINDOW {
            self.factor = self.window_ticks as f64 * self.dt / window.as_secs_f64();
            self.window_start = now;
            self.window_ticks = 0;
        }
    }

    /// The past is no measure for what comes: after a pause, and at the start.
    fn restart(&mut self) {
        self.next = None;
        self.window_start = Instant::now();
        self.window_ticks = 0;
        self.factor = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_time_ticks_are_a_period_apart_however_long_they_take() {
        let mut clock = Clock::new(0.01, Pace::RealTime(1.0), false);
        let start = Instant::now();
        assert_eq!(clock.due(start), Due::Now);
        clock.tick_starts(start);
        assert_eq!(clock.due(start + Duration::from_millis(4)), Due::At(start + Duration::from_millis(10)));
        clock.tick_starts(start + Duration::from_millis(13));
        assert_eq!(
            clock.due(start + Duration::from_millis(14)),
            Due::At(start + Duration::from_millis(20)),
            "a late tick does not shift the ones after it"
        );
    }

    #[test]
    fn a_stall_is_not_followed_by_a_burst() {
        let mut clock = Clock::new(0.01, Pace::RealTime(1.0), false);
        let start = Instant::now();
        clock.tick_starts(start);
        let late = start + Duration::from_secs(5);
        clock.tick_starts(late);
        clock.tick_starts(late);
        assert_eq!(clock.due(late), Due::At(late + Duration::from_millis(10)));
    }

    #[test]
    fn factor_two_halves_the_period() {
        let mut clock = Clock::new(0.01, Pace::RealTime(2.0), false);
        let start = Instant::now();
        clock.tick_starts(start);
        assert_eq!(clock.due(start), Due::At(start + Duration::from_millis(5)));
    }

    #[test]
    fn another_pace_holds_from_the_next_tick_on_without_catching_up() {
        let mut clock = Clock::new(0.01, Pace::RealTime(0.01), false);
        let start = Instant::now();
        clock.tick_starts(start);
        assert_eq!(clock.due(start), Due::At(start + Duration::from_secs(1)));
        let at = |millis| start + Duration::from_millis(millis);
        clock.set_pace(Pace::RealTime(1.0), at(500));
        assert_eq!(clock.due(at(500)), Due::At(at(510)));
        // Slower again: the tick that was planned stays.
        clock.set_pace(Pace::RealTime(0.1), at(505));
        assert_eq!(clock.due(at(505)), Due::At(at(510)));
        // Late by 200 ms, which the faster pace would make many ticks of.
        clock.set_pace(Pace::RealTime(10.0), at(710));
        assert_eq!(clock.due(at(710)), Due::Now);
        clock.tick_starts(at(710));
        assert_eq!(clock.due(at(710)), Due::At(at(711)));
        clock.set_pace(Pace::Fast, at(710));
        assert_eq!(clock.due(at(710)), Due::Now);
        // Hours at full speed are nothing to catch up on.
        clock.set_pace(Pace::RealTime(1.0), at(5_000_000));
        clock.tick_starts(at(5_000_000));
        assert_eq!(clock.due(at(5_000_000)), Due::At(at(5_000_010)));
        clock.set_paused(true);
        clock.set_pace(Pace::RealTime(2.0), at(5_000_000));
        assert!(clock.standing());
    }

    #[test]
    fn steps_run_while_paused_and_then_it_stands_again() {
        let mut clock = Clock::new(0.01, Pace::Fast, true);
        let now = Instant::now();
        assert_eq!(clock.due(now), Due::Never);
        clock.set_steps(2);
        assert!(clock.paused() && !clock.standing());
        clock.tick_starts(now);
        assert_eq!(clock.due(now), Due::Now);
        clock.tick_starts(now);
        assert_eq!(clock.due(now), Due::Never);
    }
}
