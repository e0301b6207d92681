//! DiffDrive: turn, drive, turn, on the measured pose.
//!
//! A robot on two wheels cannot move sideways, so it faces the target, drives up to it and turns to the target's heading.
//! Only position on the ground and heading count: height and tilt are the ground's affair.

use serde::{Deserialize, Serialize};
use std::f64::consts::{FRAC_PI_2, PI};
use tickworks_motion::{DPose3, DVec3, Twist};

use crate::{machine::Measured, profile::stopping_speed};

/// From standing to full speed, s: gentle enough for wheels that must not slip.
const SPEED_UP_SECONDS: f64 = 0.6;
/// From standing to full yaw rate, s.
const TURN_UP_SECONDS: f64 = 0.4;
/// Wheels follow their set-points with a lag; near the target speed is at most this times the distance, 1/s, or the lag
/// would make it swing.
const GAIN: f64 = 8.0;
/// Nearer than this the direction to the target says little about the way, and the heading is kept, m.
const KEEP_HEADING: f64 = 0.15;
/// A target behind the robot and nearer than this is reached backwards, m.
const BACK_UP: f64 = 0.4;
/// Good enough to drive on, rad.
const FACING: f64 = 0.01;
/// So far off the heading it stops and turns, rad.
const LOST: f64 = 0.5;
/// Position counts as reached, m. Turning may still shift it a little: what is promised is [`NEAR`].
const THERE: f64 = 0.005;
/// The promise for the position, m.
const NEAR: f64 = 0.01;
/// The promise for the heading, rad.
const ALIGNED: f64 = 0.01;
/// The promise for speed (m/s) and yaw rate (rad/s).
const STILL: f64 = 0.01;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Phase {
    /// On the spot, towards the target (or away from it, to back up).
    Face,
    /// Along the heading.
    Go,
    /// On the spot, to the target's heading.
    Turn,
}

/// Where in its way a robot is, and what it was told last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drive {
    phase: Phase,
    /// 1 forwards, -1 backwards.
    direction: f64,
    /// The heading to hold, rad.
    heading: f64,
    speed: f64,
    yaw_rate: f64,
}

impl Drive {
    /// At the start of a way.
    pub fn new() -> Self {
        Self { phase: Phase::Face, direction: 0.0, heading: 0.0, speed: 0.0, yaw_rate: 0.0 }
    }

    /// This tick's `[v, w]` as `linear.x` and `angular.z`; `None` when the robot stands at the target.
    pub fn command(&mut self, now: &Measured, target: &DPose3, limits: &[f64; 2], dt: f64) -> Option<Twist> {
        let [top_speed, top_rate] = *limits;
        let yaw = heading_of(now.pose.rotation * DVec3::X);
        let way = target.translation - now.pose.translation;
        let distance = way.truncate().length();

        if self.phase == Phase::Face && self.direction == 0.0 {
            // A new attempt.
            if distance < THERE {
                self.phase = Phase::Turn;
            } else {
                let ahead = wrap(heading_of(way) - yaw).abs() < FRAC_PI_2;
                self.direction = if ahead || distance > BACK_UP { 1.0 } else { -1.0 };
                self.heading = self.towards(way);
            }
        }
        if self.phase != Phase::Turn && distance > KEEP_HEADING {
            self.heading = self.towards(way);
        }
        if self.phase == Phase::Face && wrap(self.heading - yaw).abs() < FACING && now.velocity.angular.z.abs() < 0.1 {
            self.phase = Phase::Go;
        }
        let along = way.dot(DVec3::new(self.heading.cos(), self.heading.sin(), 0.0)) * self.direction;
        if self.phase == Phase::Go {
            if along < THERE / 5.0 && now.velocity.linear.x.abs() < STILL {
                self.phase = if distance < THERE { Phase::Turn } else { Phase::Face };
                self.direction = 0.0;
            } else if wrap(self.heading - yaw).abs() > LOST {
                self.phase = Phase::Face;
            }
        }
        let error = match self.phase {
            Phase::Turn => wrap(heading_of(target.rotation * DVec3::X) - yaw),
            Phase::Face if self.direction == 0.0 => 0.0,
            Phase::Face | Phase::Go => wrap(self.heading - yaw),
        };
        if self.phase == Phase::Turn {
            let still = now.velocity.angular.z.abs() < STILL && now.velocity.linear.x.abs() < STILL;
            if error.abs() < ALIGNED && still {
                if distance < NEAR {
                    return None;
                }
                self.phase = Phase::Face;
                self.direction = 0.0;
            }
        }

        let speed = if self.phase == Phase::Go {
            let sign = self.direction * along.signum();
            // A robot that looks elsewhere goes slowly.
            sign * self.direction.abs() * toward(along.abs(), top_speed, SPEED_UP_SECONDS, dt) * error.cos().max(0.0)
        } else {
            0.0
        };
        let yaw_rate = error.signum() * toward(error.abs(), top_rate, TURN_UP_SECONDS, dt);
        self.speed = rise(self.speed, speed, top_speed / SPEED_UP_SECONDS * dt);
        self.yaw_rate = rise(self.yaw_rate, yaw_rate, top_rate / TURN_UP_SECONDS * dt);
        Some(Twist::new(DVec3::X * self.speed, DVec3::Z * self.yaw_rate))
    }

    /// The heading with which the robot gets along `way` in its direction.
    fn towards(&self, way: DVec3) -> f64 {
        if self.direction < 0.0 { wrap(heading_of(way) + PI) } else { heading_of(way) }
    }
}

/// The heading of a direction, seen from above, rad.
fn heading_of(direction: DVec3) -> f64 {
    direction.y.atan2(direction.x)
}

/// An angle in -π..π.
fn wrap(angle: f64) -> f64 {
    angle.sin().atan2(angle.cos())
}

/// The speed towards a stop that is `distance` away.
fn toward(distance: f64, top: f64, speed_up_seconds: f64, dt: f64) -> f64 {
    stopping_speed(distance, top / speed_up_seconds, dt).min(distance * GAIN.min(0.25 / dt)).min(top)
}

/// `wanted`, but no more than `step` faster than `before`; slower at once.
fn rise(before: f64, wanted: f64, step: f64) -> f64 {
    if wanted.abs() <= before.abs() && wanted * before >= 0.0 {
        wanted
    } else {
        wanted.clamp(before.min(0.0) - step, before.max(0.0) + step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use tickworks_motion::{DQuat, model::DiffDrive, se3};

    /// A cart whose wheels follow their set-points with `lag` (s), and which loses `slip` of its motion.
    fn drive(start: DPose3, target: &DPose3, limits: [f64; 2], lag: f64, slip: f64, dt: f64) -> Option<(u64, DPose3)> {
        let mut now = Measured { pose: start, velocity: Twist::ZERO };
        let mut way = Drive::new();
        let follow = if lag > 0.0 { 1.0 - (-dt / lag).exp() } else { 1.0 };
        for tick in 0..100_000 {
            let Some(input) = way.command(&now, target, &limits, dt) else {
                return Some((tick, now.pose));
            };
            assert!(input.linear.x.abs() <= limits[0] && input.angular.z.abs() <= limits[1], "{input:?}");
            let velocity = now.velocity + (input * (1.0 - slip) - now.velocity) * follow;
            let moved = se3::moved(&now.pose, DiffDrive::displacement([velocity.linear.x, velocity.angular.z], dt));
            now = Measured { pose: moved, velocity };
        }
        None
    }

    fn on_ground(random: &mut Random, size: f64) -> DPose3 {
        let yaw = random.range(-PI, PI);
        let p = random.vector(size);
        DPose3 { rotation: DQuat::from_rotation_z(yaw), translation: DVec3::new(p.x, p.y, 0.0) }
    }

    #[test]
    fn reaches_targets_on_the_ground() {
        let mut random = Random::new(5);
        for (lag, slip) in [(0.0, 0.0), (0.02, 0.0), (0.05, 0.1)] {
            for size in [0.02, 0.3, 5.0, 50.0] {
                for _ in 0..25 {
                    let limits = [random.log_range(0.1, 3.0), random.log_range(0.3, 4.0)];
                    let (start, target) = (on_ground(&mut random, size), on_ground(&mut random, size));
                    let (_, end) = drive(start, &target, limits, lag, slip, 1.0 / 60.0)
                        .unwrap_or_else(|| panic!("{start:?} to {target:?}, limits {limits:?}, lag {lag}"));
                    let (d, angle) = se3::distance(&end, &target);
                    assert!(d < 0.01 && angle < 0.0174, "{d} m, {angle} rad");
                }
            }
        }
    }

    #[test]
    fn a_target_right_behind_is_reached_backwards() {
        let target = DPose3::from_translation(DVec3::new(-0.3, 0.0, 0.0));
        let (ticks, end) = drive(DPose3::IDENTITY, &target, [1.0, 2.0], 0.02, 0.0, 1.0 / 60.0).unwrap();
        assert!(ticks < 120, "{ticks}");
        assert!(end.translation.distance(target.translation) < 0.01);
    }

    #[test]
    fn height_and_tilt_do_not_count() {
        let tilt = DQuat::from_rotation_y(-0.2);
        let start = DPose3 { rotation: tilt, translation: DVec3::new(0.0, 0.0, 0.5) };
        let target = DPose3::from_translation(DVec3::new(0.004, 0.0, 9.0));
        assert_eq!(drive(start, &target, [1.0, 1.0], 0.0, 0.0, 0.1).unwrap().0, 0);
    }
}
