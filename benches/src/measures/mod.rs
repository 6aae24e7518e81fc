//! A module for each thing that is measured, with the `main` of its own.

use std::process::{ExitCode, Termination};

/// The modules, and what runs one of them by its name.
macro_rules! measures {
    ($($name:ident)*) => {
        $(mod $name;)*

        /// All names, in the order of the alphabet.
        pub const NAMES: &[&str] = &[$(stringify!($name)),*];

        /// Runs what has this name.
        pub fn run(name: &str) -> Option<ExitCode> {
            match name {
                $(stringify!($name) => Some($name::main().report()),)*
                _ => None,
            }
        }
    };
}

measures! {
    aggregate_dh
    aggregate_store
    desk
    dot_lattice
    dot_ot
    files
    goldwasser_micali
    intersect_bloom
    intersect_buckets
    intersect_disk
    intersect_ecdh
    intersect_polynomial
    intersect_star
    intersect_vole
    kernel
    lpn_estimate
    okvs
    ot
    outsourced
    overlap
    paillier
    paper_dc
    paper_kk
    paper_mnn
    paper_raf
    paper_yws
    plan
    points
    polynomials
    rules
    threshold
    timing
    union
    vole
}
