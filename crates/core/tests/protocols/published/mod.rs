//! Protocols that are here to be measured and compared.

mod intersect {
    mod bloom;
    mod kissner_song;
    mod outsourced_bloom;
    mod polynomial;
}

mod union {
    mod polynomial;
    mod polynomial_ot;
}

mod dot {
    mod gm_bloom;
}

mod aggregate {
    mod adversary;
    mod naor_reingold;
}
