//! Protocols as they were published, which are here to be measured and compared: for each there is one of the same job
//! beside this room that is to be used. Nothing outside names them but what registers a protocol by its word.

pub(crate) mod labels;

/// Published protocols of private set intersection.
pub mod intersect {
    pub mod bloom;
    pub mod kissner_song;
    pub mod outsourced_bloom;
    pub mod polynomial;
}

/// Union of two sets.
pub mod union {
    pub mod polynomial;
    pub mod polynomial_ot;
}

/// Published protocols of private scalar products.
pub mod dot {
    pub mod gm_bloom;
}

/// Published protocols of over-threshold aggregation.
pub mod aggregate {
    pub mod naor_reingold;
}
