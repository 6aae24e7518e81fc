//! A minimum of a function of a few numbers (Nelder and Mead 1965).
//!
//! Bounds by positive markers hold for every value of the markers, so that a poor minimum makes a bound weak, never
//! wrong.

/// The least value found, and where, starting at `start` with steps of `step`.
pub(super) fn minimize(f: impl Fn(&[f64]) -> f64, start: &[f64], step: f64, rounds: usize) -> (f64, Vec<f64>) {
    let dimensions = start.len();
    let mut simplex = vec![(f(start), start.to_vec())];
    for axis in 0..dimensions {
        let mut point = start.to_vec();
        point[axis] += step;
        simplex.push((f(&point), point));
    }
    for _ in 0..rounds {
        simplex.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (best, worst) = (simplex[0].0, simplex[dimensions].0);
        if best.is_finite() && (worst - best).abs() < 1e-4 {
            break;
        }
        let centre: Vec<f64> = (0..dimensions)
            .map(|axis| simplex[..dimensions].iter().map(|(_, point)| point[axis]).sum::<f64>() / dimensions as f64)
            .collect();
        let along = |factor: f64| {
            let away = &simplex[dimensions].1;
            let point: Vec<f64> = (0..dimensions).map(|a| centre[a] + factor * (away[a] - centre[a])).collect();
            (f(&point), point)
        };
        let reflected = along(-1.0);
        if reflected.0 < best {
            let expanded = along(-2.0);
            simplex[dimensions] = if expanded.0 < reflected.0 { expanded } else { reflected };
        } else if reflected.0 < simplex[dimensions - 1].0 {
            simplex[dimensions] = reflected;
        } else {
            let inside = along(0.5);
            if inside.0 < worst {
                simplex[dimensions] = inside;
            } else {
                let corner = simplex[0].1.clone();
                for (value, point) in &mut simplex[1..] {
                    point.iter_mut().zip(&corner).for_each(|(x, c)| *x = c + 0.5 * (*x - c));
                    *value = f(point);
                }
            }
        }
    }
    simplex.into_iter().min_by(|one, other| one.0.total_cmp(&other.0)).expect("a simplex has points")
}
