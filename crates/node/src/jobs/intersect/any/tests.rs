use tacita_core::protocol::intersect::vole::overfitted_items;
use tacita_core::security::STATISTICAL_BITS;
use tacita_core::{Chance, Role};

use crate::agreement::{JobSpec, MAX_ALTERNATIVES, Protocol, Sizes, Work};
use crate::jobs::intersect::{disk, params};

fn job(keys: &str, reveal: &str) -> JobSpec {
    let text = format!(
        "job = \"intersect\"\nid = \"t\"\nreveal = \"{reveal}\"\nreveal_to = [\"a\"]\n{}\n[key]\n{keys}\n[parties.a]\n[parties.b]\n",
        if reveal == "payload" { "gives = { b = [\"z\"] }" } else { "" }
    );
    JobSpec::parse(&text, false).unwrap()
}

/// All that may go wrong by chance in a job with as many keys as there can be: what is not counted for all runs together happens
/// that many times.
#[test]
fn chances_of_several_keys_stay_below_the_whole() {
    let chance = |bits: u32| 2f64.powi(-(bits as i32));
    // Codes are the same in all runs; all else is counted for all runs together.
    let counted: f64 = [Chance::Store, Chance::Tag, Chance::Bucket, Chance::Code, Chance::Fit]
        .map(|chance| chance.bits())
        .map(chance)
        .iter()
        .sum();
    assert!(counted < chance(STATISTICAL_BITS));
    // What a malicious receiver may fit: somewhat more in each of several runs, so that no more fits in any but with the same probability.
    let fit = |runs: usize| overfitted_items(1000, Chance::Store.bits(), runs).unwrap();
    assert!(fit(MAX_ALTERNATIVES) >= fit(1) && fit(1 << 40) > fit(1) && fit(1 << 40) < fit(1) + 10);

    let all =
        "any = [[\"x\"], [\"y\"], [\"x\", \"y\"], [\"v\"], [\"w\"], [\"v\", \"w\"], [\"x\", \"w\"], [\"y\", \"v\"]]";
    let sizes = Sizes { items: 1 << 20, entries: 1 << 20, ..Sizes::default() };
    for reveal in ["rows", "payload"] {
        let one = params(&job("columns = [\"x\"]", reveal), "a", &sizes, &sizes);
        for several in job(all, reveal).alternatives() {
            let several = params(&several, "a", &sizes, &sizes);
            assert_eq!(several.store_bits, one.store_bits + 3);
            assert!(8 * (several.tag_bytes as u32) >= Chance::Tag.bits() + 3 + 40, "{reveal}");
        }
    }
    let on_disk = Sizes { work: Some(Work { memory: 1 << 24, kept: None }), entries: 0, ..sizes };
    let buckets = |job: &JobSpec| disk::params(job, "a", Protocol::named("vole"), &on_disk, &on_disk).unwrap();
    let (one, several) = (buckets(&job("columns = [\"x\"]", "rows")), buckets(&job(all, "rows").alternatives()[0]));
    assert!(several.bound(Role::Receiver) > one.bound(Role::Receiver));
    assert_eq!(several.bucket().store_bits, one.bucket().store_bits + 3);
}

/// The intersections of one job are those of no other.
#[test]
fn alternatives_have_terms_of_their_own() {
    use crate::agreement::Terms;
    let several = job("any = [[\"x\"], [\"y\"]]", "rows");
    let mut all: Vec<_> = several.alternatives().iter().map(|job| Terms::of(job).agreement()).collect();
    all.extend(["x", "y"].map(|column| Terms::of(&job(&format!("columns = [\"{column}\"]"), "rows")).agreement()));
    all.push(Terms::of(&several).agreement());
    all.push(Terms::of(&job("any = [[\"y\"], [\"x\"]]", "rows")).agreement());
    all.push(Terms::of(&job("columns = [\"x\", \"y\"]", "rows")).agreement());
    let count = all.len();
    assert_eq!(all.into_iter().collect::<std::collections::BTreeSet<_>>().len(), count);
}
