//! Statements to parties on what each of them learns. A disclosure of a form is stated where it occurs, and nowhere
//! else.

use tacita_node::agreement::{JobSpec, KnownSizes};

use super::{changed, intersection, two};

fn learned(text: &str, party: &str, known: KnownSizes<'_>) -> String {
    let job = JobSpec::parse(text, false).unwrap_or_else(|error| panic!("{error}\n{text}"));
    job.job.learned(&job, party, known).join(" ")
}

#[test]
fn what_a_form_gives_away_is_said() {
    let plain = KnownSizes::default();
    let rows = changed(&intersection("", ""), "[\"a\", \"b\"]", "[\"a\"]");
    let count = changed(&rows, "id = \"t\"", "id = \"t\"\nreveal = \"count\"");
    let small = changed(&count, "max_rows = 100", "max_rows = 100\nmin_result = 5");
    let dot = two("dot", "reveal = \"shares\"");
    let telling = changed(&dot, "id = \"t\"", "id = \"t\"\nprotocol = \"gm-bloom\"");
    let sparse = changed(&telling, "id = \"t\"", "id = \"t\"\ndensity = 0.5");
    let hidden = two("dot", "row_id = \"id\"");
    let shown = changed(&hidden, "row_id", "alignment = \"rows\"\nrow_id");
    let blurred = changed(&hidden, "row_id = \"id\"", "row_id = \"id\"\nlimits = { blur = 128 }");
    let union = changed(&two("union", "[key]\ncolumns = [\"x\"]"), "[\"a\", \"b\"]", "[\"a\"]");
    let outsourced = changed(&intersection("protocol = \"outsourced\"", "pad_to = 50"), "[\"a\", \"b\"]", "[\"a\"]");
    let helped = changed(&outsourced, "[parties.a]", "[helper]\naddress = \"h:1\"\n[parties.a]");
    let (prepared, on_disk) = (KnownSizes { prepared: true, ..plain }, KnownSizes { on_disk: true, ..plain });
    for (words, [text, party], known, [other, another], less) in [
        ("answers from a prepared part", [&rows, "a"], prepared, [&rows, "a"], plain),
        ("answers from a prepared part", [&rows, "a"], prepared, [&rows, "b"], prepared),
        ("works on disk", [&rows, "a"], on_disk, [&rows, "a"], plain),
        ("a filter on the output", [&small, "a"], plain, [&count, "a"], plain),
        ("not uniformly random shares", [&telling, "a"], plain, [&dot, "a"], plain),
        ("the agreed density", [&sparse, "b"], plain, [&telling, "b"], plain),
        // Programs of `tacita_core`'s tests do it.
        ("leaves its own rows out of the common order", [&hidden, "a"], plain, [&shown, "a"], plain),
        ("leaves its own rows out of the common order", [&blurred, "b"], plain, [&shown, "b"], plain),
        ("common if none or all of them are", [&hidden, "b"], plain, [&blurred, "b"], plain),
        ("is common if its number is 0 in all others", [&hidden, "a"], plain, [&shown, "a"], plain),
        ("(1, 3e-9)-differentially private", [&blurred, "a"], plain, [&hidden, "a"], plain),
        ("which of its own rows have an id", [&shown, "a"], plain, [&hidden, "a"], plain),
        ("if b brings nothing", [&changed(&union, "[\"a\"]", "[\"b\"]"), "a"], plain, [&union, "a"], plain),
        ("is in the helper's place", [&outsourced, "a"], plain, [&helped, "a"], plain),
    ] {
        assert!(learned(text, party, known).contains(words), "{words}: {}", learned(text, party, known));
        let without = learned(other, another, less);
        assert!(!without.contains(words), "{words}: {without}");
    }
}

/// A party that does not learn is told that it does not; a party that learns is told what.
#[test]
fn who_learns_and_who_does_not_is_said_of_each() {
    for (job, learns, not) in [
        ("reveal = \"rows\"", "which of its own rows have a key that b has too", "does not learn which keys"),
        ("reveal = \"count\"", "how many distinct keys the two have in common", "does not learn which keys"),
    ] {
        let text = changed(&intersection(job, ""), "[\"a\", \"b\"]", "[\"a\"]");
        let [a, b] = ["a", "b"].map(|party| learned(&text, party, KnownSizes::default()));
        assert!(a.contains(learns) && !a.contains(not), "{a}");
        assert!(b.contains(not) && !b.contains(learns), "{b}");
    }
}

/// Several sums, and means, are said column by column; of one sum, nothing of means or of several.
#[test]
fn sums_and_means_are_said_with_what_they_tell_together() {
    const TOGETHER: &str = "together they tell more than each by itself";
    for (reveal, learns, not, together) in [
        ("sum:v", "It learns the sum of b's `v` over all rows", "nor the sum of `v`", false),
        ("sum:w, v", "It learns the sums of b's `w` and `v` over all rows", "nor the sums of `w` and `v`", true),
        ("mean:v", "how many of these rows have a value there", "nor the sum or the mean of `v`", true),
        ("mean:v,w", "the means of b's `v` and `w`", "nor the sums or the means of `v` and `w`", true),
    ] {
        let head = format!("reveal = \"{reveal}\"\ngives = {{ b = [\"v\", \"w\"] }}");
        let both = intersection(&head, "min_result = 5");
        let text = changed(&both, "[\"a\", \"b\"]", "[\"a\"]");
        let [a, b] = ["a", "b"].map(|party| learned(&text, party, KnownSizes::default()));
        assert!(a.contains(learns) && !a.contains(not) && a.contains(TOGETHER) == together, "{a}");
        assert!(b.contains(not) && !b.contains(learns) && !b.contains(TOGETHER), "{b}");
        assert_eq!(a.contains("mean"), reveal.starts_with("mean"), "{a}");
        let own = learned(&both, "b", KnownSizes::default());
        assert!(own.contains(&learns.replace("b's", "its own")), "{own}");
    }
}

/// Columns that are given through a helper: who learns what, and who opens more of them if two do not follow the
/// protocol. A giver in the helper's place has nothing of its own to fear of itself.
#[test]
fn columns_through_a_helper_are_said_to_all() {
    let job = |parties: &str| {
        format!(
            "job = \"intersect\"\nid = \"t\"\nprotocol = \"outsourced\"\nreveal = \"payload\"\nreveal_to = [\"b\"]\ngives = {{ a = [\"v\"], c = [\"w\"] }}\n\
             [key]\ncolumns = [\"x\"]\n[limits]\npad_to = 50\nmax_text = 9\n{parties}"
        )
    };
    let said = |text: &str, party: &str| learned(text, party, KnownSizes::default());
    let helped = job("[helper]\n[parties.a]\n[parties.b]\n[parties.c]");
    let b = said(&helped, "b");
    for words in [
        "b learns a's `v` for those keys, and how many rows a has",
        "the types of c's given columns, whatever is common",
        "b does not learn given columns of keys that not all have",
        "b can learn them for keys that it can guess, together with the helper, if neither follows the protocol",
        "b can learn whether a and c both have a key that it can guess, if it does not follow the protocol",
        "b need not have that key, and can then open the given columns for it, too",
    ] {
        assert!(b.contains(words), "{words}: {b}");
    }
    const OPEN: &str =
        "b and the helper together can open a's given columns for keys that they can guess, whoever else has them";
    let a = said(&helped, "a");
    assert!(a.contains(OPEN) && a.contains("a does not learn which keys all have"), "{a}");
    // The first party is in the helper's place: a giver, or the one that learns.
    let first = job("[parties.a]\naddress = \"a:1\"\n[parties.b]\n[parties.c]");
    assert!(said(&first, "c").contains("b and a together can open c's given columns"), "{}", said(&first, "c"));
    assert!(!said(&first, "a").contains("together can open"), "{}", said(&first, "a"));
    let leader = job("[parties.b]\naddress = \"b:1\"\n[parties.a]\n[parties.c]");
    assert!(said(&leader, "a").contains("b can then open a's given columns for those keys, too"));
    assert!(said(&leader, "b").contains("b can then open given columns for those keys, too"));
    assert!(said(&leader, "a").contains("b can test keys that it can guess for being a's"));
    assert!(said(&leader, "b").contains("b can test keys that it can guess for each other party alone"));
    for (text, party) in
        [&helped, &first, &leader].into_iter().flat_map(|text| ["a", "b", "c"].map(|party| (text, party)))
    {
        assert!(!said(text, party).contains("up to 50 keys"), "{}", said(text, party));
    }
    // Between two, all others are the giver.
    let two = job("[helper]\n[parties.a]\n[parties.b]").replace(", c = [\"w\"]", "");
    assert!(
        said(&two, "b")
            .contains("b can learn whether a has a key that it can guess, if it does not follow the protocol")
    );
    assert!(!said(&two, "b").contains("neither follows") && !said(&two, "a").contains("together can open"));
}
