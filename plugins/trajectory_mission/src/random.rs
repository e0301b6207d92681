//! Random numbers for tests: the same ones in each run.

use tickworks_motion::{DPose3, DQuat, DVec3, Twist};

/// SplitMix64 (Steele, Lea, Flood 2014).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Even over `low..high`.
    pub fn range(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.next() >> 11) as f64 / (1u64 << 53) as f64)
    }

    /// Even over the orders of magnitude of `low..high`.
    pub fn log_range(&mut self, low: f64, high: f64) -> f64 {
        self.range(low.ln(), high.ln()).exp()
    }

    pub fn vector(&mut self, size: f64) -> DVec3 {
        DVec3::new(self.range(-size, size), self.range(-size, size), self.range(-size, size))
    }

    pub fn twist(&mut self, linear: f64, angular: f64) -> Twist {
        Twist::new(self.vector(linear), self.vector(angular))
    }

    /// Within a cube of half edge `size`, any rotation.
    pub fn pose(&mut self, size: f64) -> DPose3 {
        let q = loop {
            let q: [f64; 4] = std::array::from_fn(|_| self.range(-1.0, 1.0));
            let q = DQuat::from_array(q);
            if (0.01..=1.0).contains(&q.length_squared()) {
                break q.normalize();
            }
        };
        DPose3 { rotation: q, translation: self.vector(size) }
    }
}
