//! What a control input does to a robot in one tick, where nothing is in its way.
//!
//! `UAVLevel1` (kinematic): the control input u is the twist of one tick, pose' = pose · exp(u): [`crate::se3::moved`].
//! `UAVLevel2` (dynamic, linear drag): [`UavLevel2`]. `DiffDrive` (two driven wheels): [`DiffDrive`].

use glamx::{DPose3, DVec3};

use crate::se3::{self, Twist};

/// A body with linear drag: v' = v + dt (a − k v), pose' = pose · exp(v dt). Twists are the body's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UavLevel2 {
    /// k, 1/s.
    pub drag: f64,
}

/// What one tick does to a `UAVLevel2`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level2Tick {
    /// The displacement of this tick (m, rad), as a twist of the body: pose' = pose · exp(displacement).
    pub displacement: Twist,
    /// The velocity at the end of the tick (m/s, rad/s): v'.
    pub velocity: Twist,
}

impl UavLevel2 {
    /// One tick of `dt` seconds from velocity v (`velocity`) under the acceleration a (`acceleration`; zero without a
    /// control input). The displacement is that of v, the velocity *before* this tick's acceleration, as the equation says.
    pub fn tick(&self, velocity: Twist, acceleration: Twist, dt: f64) -> Level2Tick {
        Level2Tick { displacement: velocity * dt, velocity: velocity + (acceleration - velocity * self.drag) * dt }
    }

    /// One tick applied to a pose: (pose', v').
    pub fn step(&self, pose: &DPose3, velocity: Twist, acceleration: Twist, dt: f64) -> (DPose3, Twist) {
        let tick = self.tick(velocity, acceleration, dt);
        (se3::moved(pose, tick.displacement), tick.velocity)
    }
}

/// Two driven wheels on one axle, origin between them, x forward.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiffDrive {
    /// Distance between the wheels' contact points, m.
    pub wheel_separation: f64,
    /// m.
    pub wheel_radius: f64,
}

impl DiffDrive {
    /// Speeds `[left, right]` (rad/s, forward positive) of wheels that roll, for speed v (m/s) and turn rate w (rad/s).
    pub fn wheel_speeds(&self, [v, w]: [f64; 2]) -> [f64; 2] {
        let half = w * self.wheel_separation / 2.0;
        [(v - half) / self.wheel_radius, (v + half) / self.wheel_radius]
    }

    /// Speed v (m/s) and turn rate w (rad/s) of the base, from the wheels' speeds `[left, right]` (rad/s).
    pub fn base_velocity(&self, [left, right]: [f64; 2]) -> [f64; 2] {
        [(left + right) / 2.0 * self.wheel_radius, (right - left) * self.wheel_radius / self.wheel_separation]
    }

    /// The displacement (a twist of the body) in `dt` seconds of [v, w], on flat ground without slip.
    pub fn displacement([v, w]: [f64; 2], dt: f64) -> Twist {
        Twist { linear: DVec3::X * (v * dt), angular: DVec3::Z * (w * dt) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_2_follows_its_equation() {
        let robot = UavLevel2 { drag: 0.5 };
        let (dt, a) = (0.1, Twist::from_array([1.0, 0.0, 0.0, 0.0, 0.0, 2.0]));
        // From rest the first tick changes the velocity only.
        let (pose, v) = robot.step(&DPose3::IDENTITY, Twist::ZERO, a, dt);
        assert_eq!(pose, DPose3::IDENTITY);
        assert_eq!(v.to_array(), [0.1, 0.0, 0.0, 0.0, 0.0, 0.2]);
        // The second one moves by v dt, and v' = 0.1 + 0.1 (1 - 0.5 * 0.1).
        let (pose, next) = robot.step(&pose, v, a, dt);
        let (d, angle) = se3::distance(&pose, &se3::exp(v * dt));
        assert!(d < 1e-15 && angle < 1e-15);
        assert!((next.linear.x - 0.195).abs() < 1e-15);
    }

    #[test]
    fn drag_alone_ends_the_motion() {
        let robot = UavLevel2 { drag: 2.0 };
        let mut v = Twist::from_array([1.0, -1.0, 0.5, 0.1, 0.2, 0.3]);
        for _ in 0..2000 {
            v = robot.tick(v, Twist::ZERO, 1.0 / 60.0).velocity;
        }
        assert!(v.linear.length() < 1e-12 && v.angular.length() < 1e-12);
    }

    #[test]
    fn wheel_speeds_and_base_velocity_are_inverse() {
        let base = DiffDrive { wheel_separation: 0.4, wheel_radius: 0.1 };
        assert_eq!(base.wheel_speeds([1.0, 0.0]), [10.0, 10.0]);
        // Turning left: the right wheel is the faster one.
        let [left, right] = base.wheel_speeds([0.0, 1.0]);
        assert!(left < 0.0 && right > 0.0);
        let [v, w] = base.base_velocity(base.wheel_speeds([0.7, -0.3]));
        assert!((v - 0.7).abs() < 1e-15 && (w + 0.3).abs() < 1e-15);
    }
}
