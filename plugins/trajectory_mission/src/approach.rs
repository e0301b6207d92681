//! Level 2: a feedback law that brings a robot with acceleration inputs to a pose, at rest.
//!
//! Each tick it looks at the measured pose and velocity and answers with an acceleration; it remembers nothing. The model
//! is v' = v + dt (a - k v), pose' = pose·exp(v dt), so the pose after this tick is settled already, and the acceleration
//! decides over the way of the next one. With e = log(pose'⁻¹·target), a body twist along e keeps the robot on the screw
//! to the target, where e only shrinks: the problem has one dimension. In it the law is the fastest one that still stops
//! in time: the speed from which braking, in whole ticks, ends at the target.

use tickworks_motion::{DPose3, Twist, se3};

use crate::{machine::Measured, profile::stopping_speed};

/// Part of the acceleration limits that braking plans with. The rest is for corrections and for the last step, in which
/// a speed that is no whole number of braking steps asks for up to 1/8 more.
const BRAKING: f64 = 0.8;

/// Part of the top speed (where drag eats the whole acceleration) that is used.
const CRUISE: f64 = 0.9;

/// Below this, a part of an error or a velocity is float noise.
const NOISE: f64 = 1e-9;

/// The acceleration of this tick, along the body's axes and within `limits`.
pub fn acceleration(now: &Measured, target: &DPose3, limits: &[f64; 6], drag: f64, dt: f64) -> Twist {
    let next = se3::moved(&now.pose, now.velocity * dt);
    let error = se3::between(&next, target).to_array();
    // What is left of the velocity without any acceleration, and what can be made of it.
    let coasting = now.velocity.to_array().map(|v| v * (1.0 - drag * dt));
    let wanted = rate(&error, limits, drag, dt);
    let rate = follow(&error, &coasting, limits, dt, wanted).unwrap_or(wanted);

    let mut a = [0.0; 6];
    for axis in 0..6 {
        a[axis] = ((rate * error[axis] - coasting[axis]) / dt).clamp(-limits[axis], limits[axis]);
    }
    Twist::from_array(a)
}

/// How fast the error should shrink, as a part of itself, 1/s: the velocity wanted next is this times the error.
fn rate(error: &[f64; 6], limits: &[f64; 6], drag: f64, dt: f64) -> f64 {
    // As a part of the way: the weakest axis's deceleration and top speed.
    let (mut braking, mut top) = (f64::INFINITY, f64::INFINITY);
    for (part, limit) in error.iter().zip(limits) {
        if part.abs() > NOISE {
            braking = braking.min(BRAKING * limit / part.abs());
            top = top.min(CRUISE * limit / (drag * part.abs()));
        }
    }
    if braking.is_finite() { stopping_speed(1.0, braking, dt).min(top) } else { 1.0 / dt }
}

/// The rate nearest to `wanted` for which the velocity becomes exactly parallel to the error within the limits; `None` when
/// there is none, because the robot moves across its way too fast.
fn follow(error: &[f64; 6], coasting: &[f64; 6], limits: &[f64; 6], dt: f64, wanted: f64) -> Option<f64> {
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    for axis in 0..6 {
        let (from, to) = (coasting[axis] - limits[axis] * dt, coasting[axis] + limits[axis] * dt);
        if error[axis].abs() <= NOISE {
            if from > NOISE || to < -NOISE {
                return None;
            }
        } else {
            let (a, b) = (from / error[axis], to / error[axis]);
            low = low.max(a.min(b));
            high = high.min(a.max(b));
        }
    }
    (low <= high).then(|| wanted.clamp(low, high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use tickworks_motion::UavLevel2;

    /// Flies until settled: the ticks that it took.
    fn fly(start: Measured, target: &DPose3, limits: &[f64; 6], drag: f64, dt: f64, most: u64) -> Option<u64> {
        let model = UavLevel2 { drag };
        let mut now = start;
        for tick in 0..most {
            let (d, angle) = se3::distance(&now.pose, target);
            if d < 1e-6 && angle < 1e-6 && now.velocity.linear.length() < 1e-6 && now.velocity.angular.length() < 1e-6 {
                return Some(tick);
            }
            let a = acceleration(&now, target, limits, drag, dt);
            for (value, limit) in a.to_array().iter().zip(limits) {
                assert!(value.abs() <= *limit, "{value} is over {limit}");
            }
            let (pose, velocity) = model.step(&now.pose, now.velocity, a, dt);
            now = Measured { pose, velocity };
        }
        None
    }

    #[test]
    fn settles_within_the_limits_wherever_it_starts() {
        let mut random = Random::new(2);
        for (size, speed) in [(10.0, 0.0), (10.0, 5.0), (0.1, 2.0), (300.0, 10.0)] {
            for (low, high) in [(5.0, 8.0), (1.0, 20.0), (0.1, 100.0)] {
                for drag in [0.0, 0.5, 2.0] {
                    // Weak and heavily braked robots need hours for far targets, and no law changes that.
                    if size * drag / low > 1000.0 {
                        continue;
                    }
                    for _ in 0..5 {
                        let limits: [f64; 6] = std::array::from_fn(|_| random.log_range(low, high));
                        let start = Measured { pose: random.pose(size), velocity: random.twist(speed, speed / 2.0) };
                        let target = random.pose(size);
                        let ticks = fly(start, &target, &limits, drag, 1.0 / 60.0, 200_000);
                        assert!(ticks.is_some(), "{start:?} to {target:?}, limits {limits:?}, drag {drag}");
                    }
                }
            }
        }
    }

    #[test]
    fn settles_at_any_drag_and_rate() {
        let mut random = Random::new(3);
        // The last drag makes the model itself swing: 1 - k dt is -0.83 at 60 Hz.
        for (drag, rate) in [(0.0, 20.0), (0.0, 1000.0), (5.0, 60.0), (50.0, 60.0), (110.0, 60.0)] {
            let start = Measured { pose: random.pose(0.5), velocity: Twist::ZERO };
            let target = random.pose(0.5);
            assert!(fly(start, &target, &[6.0; 6], drag, 1.0 / rate, 200_000).is_some(), "drag {drag}, {rate} Hz");
        }
    }

    #[test]
    fn is_about_as_fast_as_can_be() {
        // 10 m ahead at 8 m/s²: 2·sqrt(10/8) s without drag is the least there is.
        let target = DPose3::from_translation(tickworks_motion::DVec3::X * 10.0);
        let start = Measured { pose: DPose3::IDENTITY, velocity: Twist::ZERO };
        let ticks = fly(start, &target, &[8.0; 6], 0.0, 1.0 / 60.0, 1000).unwrap();
        assert!((134..150).contains(&ticks), "{ticks}");
    }

    #[test]
    fn corrects_what_pushes_it_off_its_way() {
        let mut random = Random::new(4);
        let (drag, limits, dt) = (0.5, [6.0; 6], 1.0 / 60.0);
        let target = random.pose(10.0);
        let mut now = Measured { pose: random.pose(10.0), velocity: Twist::ZERO };
        for tick in 0..1200 {
            // The law believes in a drag that is a fifth too large, and gusts blow for the first ten seconds.
            let a = acceleration(&now, &target, &limits, drag * 1.2, dt);
            let (pose, mut velocity) = UavLevel2 { drag }.step(&now.pose, now.velocity, a, dt);
            if tick < 600 && tick % 40 == 0 {
                velocity = velocity + random.twist(1.0, 1.0);
            }
            now = Measured { pose, velocity };
        }
        let (d, angle) = se3::distance(&now.pose, &target);
        assert!(d < 0.01 && angle < 0.0174 && now.velocity.linear.length() < 0.01, "{d} m, {angle} rad");
    }

    #[test]
    fn an_axis_without_limit_is_left_alone() {
        let limits = [5.0, 5.0, 5.0, 0.0, 0.0, 5.0];
        let start = Measured { pose: DPose3::IDENTITY, velocity: Twist::ZERO };
        let target = se3::exp(Twist::from_array([1.0, 2.0, 3.0, 0.0, 0.0, 2.0]));
        assert!(fly(start, &target, &limits, 0.5, 1.0 / 60.0, 2000).is_some());
    }
}
