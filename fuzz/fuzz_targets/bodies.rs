//! Bodies of requests of an aggregation beside reports: questions to an oracle, its answers, rows of a result, and
//! answers to claims. Each is written as it was read.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tacita_aggregate::wire::claims::{decode_answers, encode_answers};
use tacita_aggregate::wire::questions::{
    RowQuestion, decode_questions, decode_replies, encode_questions, encode_replies,
};
use tacita_aggregate::wire::rows::{decode_rows, encode_rows};
use tacita_core::protocol::aggregate::Params;
use tacita_core::session::{Session, Transcript};

/// Rounds in which reporters are told apart, and in which they are not.
static ROUNDS: LazyLock<[Params; 2]> = LazyLock::new(|| {
    [true, false].map(|distinct| Params::new(Session::new(Transcript::new("fuzz")), 16, 0, distinct).unwrap())
});

fuzz_target!(|bytes: &[u8]| {
    for params in ROUNDS.iter() {
        if let Some(questions) = decode_questions(bytes, params) {
            assert_eq!(encode_questions(&questions), bytes);
        }
        let asked: Vec<RowQuestion> = (1..4)
            .map(|entries| RowQuestion {
                row: [entries as u8; 32],
                sealed: vec![0; entries * params.sealed_bytes()],
                reporters: vec![0; if params.distinct() { entries } else { 0 }],
            })
            .collect();
        for asked in [&asked[..1], &asked] {
            if let Ok(replies) = decode_replies(bytes, asked, params) {
                assert_eq!(replies.len(), asked.len());
                assert_eq!(encode_replies(&replies), bytes);
            }
        }
    }
    if let Some(rows) = decode_rows(bytes, 16) {
        assert_eq!(encode_rows(&rows), bytes);
    }
    for claims in [8 * bytes.len(), (8 * bytes.len()).saturating_sub(3)] {
        if let Some(answers) = decode_answers(bytes, claims) {
            assert_eq!(encode_answers(&answers), bytes);
        }
    }
});
