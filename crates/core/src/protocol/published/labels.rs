//! The labels of their messages: no two of these and of [`channel::labels`](crate::channel::labels) have one code or
//! one name.

use crate::channel::labels::labels;

labels! {
    /// Labels of [`crate::protocol::published::intersect::bloom`].
    bloom {
        /// Sender to receiver: a piece of the garbled filter, each slot hidden by a hash of its OT.
        SLOTS = 45, "masked slots", answers;
    }

    /// Labels of [`crate::protocol::published::intersect::polynomial`], and of the unions by polynomials, which send
    /// the same.
    polynomial {
        /// Receiver to sender: its public key.
        PUBLIC_KEY = 56, "polynomials' public key";
        /// Receiver to sender: the polynomials of its items in some bins, encrypted.
        POLYNOMIALS = 57, "encrypted polynomials";
        /// Sender to receiver: the polynomials of what is common in some bins, encrypted, or of the union; or, for a
        /// count and for `polynomial-ot`, values.
        ANSWERS = 58, "polynomials' answers", answers;
    }

    /// Labels of [`crate::protocol::published::intersect::kissner_song`].
    kissner_song {
        /// Every party, simultaneously: its key, and a proof that it knows the share behind it.
        KEY = 100, "share's key";
        /// Every party, simultaneously: the polynomial of its items, encrypted.
        POLYNOMIAL = 101, "encrypted polynomial";
        /// Each party to the next: the sum of the products so far, encrypted.
        SUM = 102, "sum of products";
        /// Last party to all others: the sum of all, encrypted.
        WHOLE = 103, "whole sum";
        /// Partial decryption, to those who learn and to the next in a line: a proof, and the sum with the party's
        /// contribution to the decryption.
        PARTIAL = 104, "partial decryption";
    }

    /// Labels of [`crate::protocol::published::dot::gm_bloom`].
    gm_bloom {
        /// Counter to labeller: its public key.
        PUBLIC_KEY = 48, "Goldwasser-Micali public key";
        /// Counter to labeller: a column, encrypted.
        BITS = 49, "encrypted bits";
        /// Labeller to counter: labels, and the column's ciphertexts made new, in random order.
        LABELLED = 50, "labelled bits";
    }

    /// Labels of [`crate::protocol::published::aggregate::naor_reingold`].
    naor_reingold {
        /// Proxy to participant: one point for each key of a stage, with which what its transfers give is one of the
        /// function.
        BLINDS = 105, "function's blinds";
        /// Participant to proxy: the reports of a stage.
        REPORTS = 106, "reports";
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::channel;

    #[test]
    fn no_two_labels_have_one_code_or_one_name() {
        let all = [channel::labels::ALL, ALL].concat();
        let codes: BTreeSet<u8> = all.iter().map(|label| label.code).collect();
        let names: BTreeSet<&str> = all.iter().map(|label| label.name).collect();
        assert_eq!((codes.len(), names.len()), (all.len(), all.len()));
    }
}
