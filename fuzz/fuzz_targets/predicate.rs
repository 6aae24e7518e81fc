//! Predicates over any text: what is read has a canonical form that is read as the same, and a higher threshold lets no
//! further row pass.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tacita_node::jobs::aggregate::{Domain, Predicate, Summary};

fuzz_target!(|text: &str| {
    let grades = Domain::Grades(["A", "B", "C"].map(str::to_owned).to_vec());
    for domain in [Domain::Nothing, Domain::Range { min: -3, max: 9 }, grades] {
        let Ok(predicate) = Predicate::parse(text, &domain) else { continue };
        let again = Predicate::parse(&predicate.to_string(), &domain).unwrap();
        assert_eq!(again, predicate);
        let mut row = Summary::new(&domain);
        for report in 0..4u8 {
            row.add(u32::from(report % 3), &[report / 2; 32]);
            let (holds, least) = (predicate.holds(&row), predicate.least());
            assert!(!holds || (row.count() >= least.count && row.distinct() >= least.distinct));
            for threshold in predicate.thresholds() {
                if let Ok(raised) = predicate.tighten(threshold.place, threshold.bound + 1) {
                    assert!(holds || !raised.holds(&row));
                }
            }
        }
    }
});
