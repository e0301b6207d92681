//! A gate: an upright rectangle that is flown through in one direction.

use tickworks_motion::{DPose3, DVec3};

/// A rectangle in the y-z plane of its pose, centred; forward is +x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gate {
    /// In the world.
    pub pose: DPose3,
    /// Along y, m.
    pub width: f64,
    /// Along z, m.
    pub height: f64,
}

/// How a straight way went through a gate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// Which part of the way lies before the gate: over 0, up to 1.
    pub fraction: f64,
    /// Along +x.
    pub forward: bool,
}

impl Gate {
    /// Where the way from `from` to `to` goes through the rectangle, edges included; `None` where it does not.
    ///
    /// The plane itself belongs to the side ahead, so a way that ends in it has crossed and the next one that starts in it
    /// has not: of two ways in a row exactly one crosses.
    pub fn crossing(&self, from: DVec3, to: DVec3) -> Option<Crossing> {
        let (a, b) = (self.pose.inverse_transform_point(from), self.pose.inverse_transform_point(to));
        let (before, after) = (a.x >= 0.0, b.x >= 0.0);
        if before == after {
            return None;
        }
        let fraction = a.x / (a.x - b.x);
        let hit = a + (b - a) * fraction;
        let inside = hit.y.abs() <= self.width / 2.0 && hit.z.abs() <= self.height / 2.0;
        inside.then_some(Crossing { fraction, forward: after })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickworks_motion::DQuat;

    fn gate() -> Gate {
        Gate { pose: DPose3::from_translation(DVec3::new(10.0, 0.0, 2.0)), width: 4.0, height: 2.0 }
    }

    fn at(x: f64, y: f64, z: f64) -> DVec3 {
        DVec3::new(x, y, z)
    }

    #[test]
    fn a_way_through_counts_with_its_direction_and_place() {
        let crossing = gate().crossing(at(9.0, 0.0, 2.0), at(13.0, 1.0, 2.0)).unwrap();
        assert_eq!(crossing, Crossing { fraction: 0.25, forward: true });
        let crossing = gate().crossing(at(11.0, 0.0, 2.0), at(9.0, 0.0, 2.0)).unwrap();
        assert_eq!(crossing, Crossing { fraction: 0.5, forward: false });
    }

    #[test]
    fn a_way_past_the_rectangle_does_not_count() {
        for (y, z) in [(2.01, 2.0), (-2.01, 2.0), (0.0, 3.01), (0.0, 0.99)] {
            assert_eq!(gate().crossing(at(9.0, y, z), at(11.0, y, z)), None, "{y} {z}");
        }
        for (y, z) in [(2.0, 2.0), (-2.0, 2.0), (0.0, 3.0), (0.0, 1.0)] {
            assert!(gate().crossing(at(9.0, y, z), at(11.0, y, z)).is_some(), "{y} {z}");
        }
        assert_eq!(gate().crossing(at(8.0, 0.0, 2.0), at(9.9, 0.0, 2.0)), None);
        assert_eq!(gate().crossing(at(10.0, -1.0, 2.0), at(10.0, 1.0, 2.0)), None, "along the plane");
    }

    #[test]
    fn a_stop_in_the_plane_is_crossed_once() {
        let stops = [at(9.0, 0.0, 2.0), at(10.0, 0.0, 2.0), at(10.0, 0.0, 2.0), at(11.0, 0.0, 2.0)];
        let crossings: Vec<_> = stops.windows(2).filter_map(|w| gate().crossing(w[0], w[1])).collect();
        assert_eq!(crossings, [Crossing { fraction: 1.0, forward: true }]);
        let touched = [at(9.0, 0.0, 2.0), at(10.0, 0.0, 2.0), at(9.0, 0.0, 2.0)];
        let crossings: Vec<_> = touched.windows(2).filter_map(|w| gate().crossing(w[0], w[1])).collect();
        assert_eq!(crossings.len(), 2, "through, and back");
        assert!(!crossings[1].forward);
    }

    #[test]
    fn a_gate_can_look_anywhere() {
        // Forward is down: a dive.
        let pose = DPose3 {
            rotation: DQuat::from_rotation_y(std::f64::consts::FRAC_PI_2),
            translation: DVec3::new(0.0, 0.0, 3.0),
        };
        let dive = Gate { pose, width: 2.0, height: 2.0 };
        assert!(dive.crossing(at(0.5, 0.5, 4.0), at(0.5, 0.5, 2.0)).unwrap().forward);
        assert!(!dive.crossing(at(0.5, 0.5, 2.0), at(0.5, 0.5, 4.0)).unwrap().forward);
        assert_eq!(dive.crossing(at(1.5, 0.5, 4.0), at(1.5, 0.5, 2.0)), None);
    }
}
