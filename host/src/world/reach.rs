//! Which of many balls meet: a grid of cells as wide as the largest ball, hashed.

use glamx::DVec3;

/// A ball that holds all that a robot can reach in a tick.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ball {
    pub(super) center: DVec3,
    pub(super) radius: f64,
}

impl Ball {
    fn meets(&self, other: &Self) -> bool {
        let reach = self.radius + other.radius;
        self.center.distance_squared(other.center) <= reach * reach
    }
}

/// Memory that is used again in each tick.
#[derive(Default)]
pub(super) struct Grid {
    cells: Vec<[i64; 3]>,
    /// For each bucket, where its balls start in `sorted`; one more at the end.
    starts: Vec<u32>,
    sorted: Vec<u32>,
    /// Pairs of balls that meet, the smaller index first, ascending.
    pub(super) pairs: Vec<(u32, u32)>,
}

/// Half of the cells around one, itself excepted: with the other half as their mirror each pair is seen once.
const HALF: [[i64; 3]; 13] = [
    [1, 0, 0],
    [-1, 1, 0],
    [0, 1, 0],
    [1, 1, 0],
    [-1, -1, 1],
    [0, -1, 1],
    [1, -1, 1],
    [-1, 0, 1],
    [0, 0, 1],
    [1, 0, 1],
    [-1, 1, 1],
    [0, 1, 1],
    [1, 1, 1],
];

impl Grid {
    /// Finds all pairs of `balls` that meet.
    pub(super) fn find_pairs(&mut self, balls: &[Ball]) {
        self.pairs.clear();
        let largest = balls.iter().map(|b| b.radius).fold(0.0, f64::max);
        if balls.len() < 2 || largest <= 0.0 {
            return;
        }
        let size = largest * 2.0;
        self.cells.clear();
        // What is far off shares the outermost cell.
        let outermost = |x: f64| x.clamp(-1e15, 1e15) as i64;
        self.cells.extend(balls.iter().map(|b| (b.center / size).floor().to_array().map(outermost)));
        let buckets = (balls.len() * 2).next_power_of_two();
        let bucket = |cell: &[i64; 3]| hash(cell) as usize & (buckets - 1);
        self.starts.clear();
        self.starts.resize(buckets + 1, 0);
        for cell in &self.cells {
            self.starts[bucket(cell) + 1] += 1;
        }
        for n in 0..buckets {
            self.starts[n + 1] += self.starts[n];
        }
        self.sorted.clear();
        self.sorted.resize(balls.len(), 0);
        // Filled from the back, so that each bucket keeps the order of the balls and `starts` ends as it was.
        let mut ends = self.starts.clone();
        for (n, cell) in self.cells.iter().enumerate().rev() {
            let end = &mut ends[bucket(cell) + 1];
            *end -= 1;
            self.sorted[*end as usize] = n as u32;
        }
        for (n, cell) in self.cells.iter().enumerate() {
            let mut look = |other: [i64; 3], itself: bool| {
                let at = bucket(&other);
                for candidate in &self.sorted[self.starts[at] as usize..self.starts[at + 1] as usize] {
                    let m = *candidate as usize;
                    if self.cells[m] == other && (!itself || m > n) && balls[n].meets(&balls[m]) {
                        self.pairs.push((n.min(m) as u32, n.max(m) as u32));
                    }
                }
            };
            look(*cell, true);
            for step in HALF {
                look(std::array::from_fn(|k| cell[k] + step[k]), false);
            }
        }
        self.pairs.sort_unstable();
        self.pairs.dedup();
    }
}

/// Mixes a cell's numbers (the finaliser of MurmurHash3, A. Appleby).
fn hash(cell: &[i64; 3]) -> u64 {
    let mut h = 0_u64;
    for x in cell {
        h = (h ^ *x as u64).wrapping_mul(0xff51_afd7_ed55_8ccd);
        h ^= h >> 33;
    }
    h
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_a_look_at_all_pairs_finds() {
        // A small generator of our own: the numbers need only be scattered.
        let mut x = 7_u64;
        let mut random = || {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 11) as f64 / (1_u64 << 53) as f64
        };
        for count in [0, 1, 2, 50, 600] {
            let balls: Vec<Ball> = (0..count)
                .map(|_| Ball {
                    center: DVec3::new(random() * 10.0 - 5.0, random() * 10.0 - 5.0, random() * 4.0 - 2.0),
                    radius: 0.05 + random() * 0.4,
                })
                .collect();
            let mut expected = Vec::new();
            for a in 0..count {
                for b in a + 1..count {
                    if balls[a].meets(&balls[b]) {
                        expected.push((a as u32, b as u32));
                    }
                }
            }
            let mut grid = Grid::default();
            grid.find_pairs(&balls);
            assert_eq!(grid.pairs, expected, "{count} balls");
        }
    }

    #[test]
    fn balls_far_outside_are_no_trouble() {
        let far = Ball { center: DVec3::splat(1e300), radius: 1.0 };
        let mut grid = Grid::default();
        grid.find_pairs(&[far, far, Ball { center: DVec3::ZERO, radius: 1.0 }]);
        assert_eq!(grid.pairs, [(0, 1)]);
    }
}
