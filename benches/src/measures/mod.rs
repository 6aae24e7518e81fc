//! A module for each thing that is measured, with the `main` of its own; in `published` those of protocols that are
//! here to be compared, and of what papers have measured.

use std::process::{ExitCode, Termination};

/// The modules, and what runs one of them by its name.
macro_rules! measures {
    (today { $($name:ident)* } published { $($compared:ident)* }) => {
        $(mod $name;)*

        mod published {
            $(pub mod $compared;)*
        }

        /// Names of all measures.
        pub const NAMES: &[&str] = &[$(stringify!($name),)* $(stringify!($compared)),*];

        /// Runs what has this name.
        pub fn run(name: &str) -> Option<ExitCode> {
            match name {
                $(stringify!($name) => Some($name::main().report()),)*
                $(stringify!($compared) => Some(published::$compared::main().report()),)*
                _ => None,
            }
        }
    };
}

measures! {
    today {
        aggregate_dh
        aggregate_store
        align
        crosstab
        desk
        dot_lattice
        dot_ot
        files
        handshake
        intersect_buckets
        intersect_disk
        intersect_ecdh
        intersect_star
        intersect_vole
        kernel
        lpn_estimate
        okvs
        ot
        outsourced
        overlap
        paillier
        plan
        points
        rules
        threshold
        timing
        union
        union_switching
        vole
    }
    published {
        goldwasser_micali
        intersect_bloom
        intersect_polynomial
        paper_dc
        paper_kk
        paper_mnn
        paper_raf
        paper_yws
        polynomials
    }
}
