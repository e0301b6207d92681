//! How fast one may go towards a stop.

/// The largest speed of the next tick from which braking in whole ticks of `dt` stops within `distance`, that tick
/// included.
///
/// In units of the speed lost in one tick, c = braking·dt²: braking from m steps' worth of speed covers c·m(m+1)/2; solved
/// for m. Under one step (distance ≤ c) the way is done in one tick.
pub fn stopping_speed(distance: f64, braking: f64, dt: f64) -> f64 {
    let c = braking * dt * dt;
    if distance <= c { distance / dt } else { c * ((1.0 + 8.0 * distance / c).sqrt() - 1.0) / (2.0 * dt) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_at_the_end_of_the_way_and_not_before() {
        for (distance, braking, dt) in [(1.0, 2.0, 0.01), (100.0, 0.3, 1.0 / 60.0), (0.001, 5.0, 0.02), (3.0, 1e4, 0.1)]
        {
            let (mut left, mut speed) = (distance, stopping_speed(distance, braking, dt));
            let mut ticks = 0;
            while left > 1e-12 {
                left -= speed * dt;
                let next = stopping_speed(left.max(0.0), braking, dt);
                assert!(speed - next <= braking * dt * 1.125 + 1e-12, "brakes with {}", (speed - next) / dt);
                speed = next;
                ticks += 1;
                assert!(ticks < 100_000);
            }
            assert!(left > -1e-12, "overshoots by {}", -left);
        }
    }
}
