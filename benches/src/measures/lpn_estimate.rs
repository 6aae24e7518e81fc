//! Cost of attacks on the silent protocols, for the parameters that they take.
//!
//! Costs are powers of two. `code` is the probability that a run's code is worse than its distance says, `nodes` a
//! guess of a tree's missing node.

use clap::Parser;
use tacita_bench::about;
use tacita_core::primitive::vole::estimator::{Costs, code_failure};
use tacita_core::primitive::vole::params::{MAX_OUTPUTS, MIN_OUTPUTS, Parameters, VoleKind};

#[derive(Parser)]
#[command(about = about(include_str!("lpn_estimate.rs")))]
struct Arguments {
    /// Outputs of a run, as powers of two; by default all that are possible
    #[arg(value_parser = clap::value_parser!(u32)
        .range(i64::from(MIN_OUTPUTS.ilog2())..=i64::from(MAX_OUTPUTS.ilog2()))
    )]
    log2_outputs: Vec<u32>,
    /// Compute `code` for the codes over GF(2), too, which takes minutes for each size
    #[arg(long)]
    all: bool,
}

pub fn main() -> tacita_core::Result<()> {
    let Arguments { mut log2_outputs, all } = Arguments::parse_from(tacita_bench::arguments());
    if log2_outputs.is_empty() {
        log2_outputs = (MIN_OUTPUTS.ilog2()..=MAX_OUTPUTS.ilog2()).collect();
    }
    println!(
        "{:<7} {:>9} {:>6} {:>6} {:>6} {:>8} {:>8} {:>8} {:>8} {:>10} {:>8} {:>8}",
        "kind", "outputs", "d", "trees", "leaves", "linear", "Gauss", "permute", "enum", "algebraic", "code", "nodes"
    );
    for kind in [VoleKind::Field, VoleKind::Binary] {
        for &bits in &log2_outputs {
            let parameters = Parameters::new(kind, 1 << bits)?;
            let costs = Costs::new(&parameters);
            let code = (all || kind == VoleKind::Field).then(|| code_failure(&parameters));
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
