//! The parameters and the costs of attacks against a second computation of them, which shares nothing with this one:
//! `scripts/lpn_parameters.py`.

use std::path::Path;
use std::process::Command;

use super::distance::Markers;
use super::*;

/// Line that the script prints for a size.
struct Line {
    kind: VoleKind,
    /// Outputs, trees, leaves of each, levels, positions of a region.
    shape: [usize; 5],
    /// Linear test, pooled Gauss, both kinds of decoding, algebraic; and how many rows of the code are light, at least
    /// and at most.
    costs: [Option<f64>; 7],
}

/// The script's lines, for these kinds and numbers of outputs, or for all of its own; nothing where there is no Python.
fn computed(sizes: &[&str]) -> Option<Vec<Line>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/lpn_parameters.py");
    let Ok(done) = Command::new("python3").arg(script).args(sizes).output() else {
        eprintln!("skipped: there is no python3 here to compute the parameters a second time");
        return None;
    };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8(done.stdout).unwrap();
    let lines = text.lines().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        Line {
            kind: if words[0] == "field" { VoleKind::Field } else { VoleKind::Binary },
            shape: std::array::from_fn(|index| words[1 + index].parse().unwrap()),
            costs: std::array::from_fn(|index| words[6 + index].parse().ok()),
        }
    });
    Some(lines.collect())
}

/// log2 of what the union bound says of all supports of one row.
fn bound_of_one_row(parameters: &Parameters) -> f64 {
    let (ensemble, cutoff) = (ensemble(parameters), cutoff(parameters));
    let bound = |step: i32| {
        let output = 1.1f64.powi(step) / ensemble.n() as f64;
        ensemble.exact(1, cutoff, Markers { output, equation: 0.0 })[0] / std::f64::consts::LN_2
    };
    (20..=80).map(bound).fold(f64::INFINITY, f64::min)
}

#[test]
fn a_second_computation_comes_to_the_same() {
    // 2^16 and 2^12.
    both_come_to_the_same(&["field", "65536", "binary", "4096"], 2);
}

#[test]
#[ignore = "slow: eight sizes"]
fn a_second_computation_comes_to_the_same_for_all_sizes() {
    both_come_to_the_same(&[], 8);
}

fn both_come_to_the_same(sizes: &[&str], expected: usize) {
    let Some(lines) = computed(sizes) else { return };
    assert_eq!(lines.len(), expected);
    for line in lines {
        let parameters = Parameters::new(line.kind, line.shape[0]).unwrap();
        let Parameters { kind, outputs, trees, leaves, depth, length } = parameters;
        assert_eq!(line.shape, [outputs, trees, leaves, depth, length], "{kind:?}");
        let costs = Costs::new(&parameters);
        let own = [
            Some(costs.linear_test),
            Some(costs.pooled_gauss),
            Some(costs.permutation_decoding),
            costs.enumeration_decoding,
            Some(costs.algebraic),
        ];
        // Searches for the best guesses of the algebraic attack may end beside each other.
        for ((own, other), tolerance) in own.into_iter().zip(line.costs).zip([0.01, 0.01, 0.01, 0.01, 0.5]) {
            assert_eq!(own.is_some(), other.is_some(), "{kind:?} {outputs}");
            let (own, other) = (own.unwrap_or_default(), other.unwrap_or_default());
            assert!((own - other).abs() < tolerance, "{kind:?} {outputs}: {own} and {other}");
        }
        // The page's bound for supports of one row is what a generating function of rows says, and no less than what is
        // counted.
        if let [Some(least), Some(most)] = line.costs[5..] {
            let bound = bound_of_one_row(&parameters);
            assert!((bound - most).abs() < 0.05 && bound > least, "{outputs}: {bound}, {most} and {least}");
        }
    }
}
