//! What attacks on the silent protocols cost, for the parameters that they take: `lpn_estimate`.
//!
//! Costs are powers of two. `code` is the probability that a run's code is worse than its distance says; `lpn_estimate all`
//! computes it for the codes over GF(2) too, which takes minutes for each size. `nodes` is a guess of a tree's missing node.

use tacita_core::primitive::vole::estimator::{Costs, code_failure};
use tacita_core::primitive::vole::params::{Kind, LEAST_OUTPUTS, MOST_OUTPUTS, Parameters};

fn main() -> tacita_core::Result<()> {
    let all = std::env::args().any(|argument| argument == "all");
    println!(
        "{:<7} {:>9} {:>6} {:>6} {:>6} {:>8} {:>8} {:>8} {:>8} {:>10} {:>8} {:>8}",
        "kind", "outputs", "d", "trees", "leaves", "linear", "Gauss", "permute", "enum", "algebraic", "code", "nodes"
    );
    for kind in [Kind::Field, Kind::Binary] {
        for bits in LEAST_OUTPUTS.ilog2()..=MOST_OUTPUTS.ilog2() {
            let parameters = Parameters::new(kind, 1 << bits)?;
            let costs = Costs::new(&parameters);
            let code = (all || kind == Kind::Field).then(|| code_failure(&parameters));
            println!(
                "{:<7} {:>9} {:>6.3} {:>6} {:>6} {:>8.1} {:>8.1} {:>8.1} {:>8} {:>10.1} {:>8} {:>8.1}",
                format!("{kind:?}"),
                format!("2^{bits}"),
                f64::from(kind.distance(parameters.outputs)) / 1000.0,
                parameters.trees,
                parameters.leaves,
                costs.linear_test,
                costs.pooled_gauss,
                costs.permutation_decoding,
                costs.enumeration_decoding.map_or("-".into(), |cost| format!("{cost:.1}")),
                costs.algebraic,
                code.map_or("-".into(), |code| format!("{code:.1}")),
                costs.trees,
            );
        }
    }
    Ok(())
}
