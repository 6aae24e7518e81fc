//! Everything on which parties must agree is in the terms. A party that changes it alone is thus found out before any
//! data moves.

use serde_json::json;
use tacita_node::agreement::{JobSpec, Terms};
use tacita_node::jobs::intersect::live::Live;

use super::{A, B, C, changed, intersection, live, two};

fn job(text: &str) -> JobSpec {
    JobSpec::parse(text, false).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn agreement(text: &str) -> String {
    Terms::of(&job(text)).agreement()
}

/// A sum of `b`'s column, which `a` learns.
fn sum() -> String {
    let text = intersection("reveal = \"sum:cost\"\ngives = { b = [\"cost\"] }\nscale = 2", "");
    changed(&text, "[\"a\", \"b\"]", "[\"a\"]")
}

/// The same of two columns.
fn sums() -> String {
    changed(&changed(&sum(), "sum:cost", "sum:cost,fee"), "[\"cost\"]", "[\"cost\", \"fee\"]")
}

/// A job through a helper.
fn outsourced() -> String {
    intersection("protocol = \"outsourced\"", &format!("pad_to = 50\n[helper]\nidentity = \"{C}\""))
}

/// A product of a server's rows and those of two clients.
fn clients() -> String {
    let party = |name: &str, keys: &str| format!("[parties.{name}]\n{keys}\n");
    let all = [
        party("a", "role = \"client\"\nslice = 1"),
        party("b", "role = \"client\"\nslice = 2"),
        party("s", "role = \"server\""),
    ];
    format!("job = \"dot\"\nid = \"t\"\nreveal_to = [\"a\", \"b\"]\n{}", all.concat())
}

#[test]
fn whoever_changes_something_alone_has_another_agreement() {
    let rows = intersection("", "pad_to = 50\nmin_result = 5");
    let prepared = intersection("", "max_queries = 10\nmax_clients = 3");
    let given = intersection("reveal = \"payload\"\ngives = { b = [\"z\"] }", "max_text = 30");
    let rules = two("rules", "min_support = 2\nrow_id = \"id\"\n[limits]\nmin_rows = 10");
    let dot = two("dot", "column = { a = \"x\", b = \"y\" }\nbits = 8");
    let shares = two("shares", "operation = \"open\"");
    let union = two("union", "[key]\ncolumns = [\"x\"]\n[limits]\nmax_rows = 9");
    let several = "columns = [\"x\"]";
    let any = "any = [[\"x\"], { columns = [\"y\"], verdict = \"possible\" }]";
    let softer = changed(&live("daily_queries = 10"), several, any);
    for (text, old, new) in [
        (&softer, "possible", "match"),
        (&softer, "[\"x\"], { columns = [\"y\"]", "[\"y\"], { columns = [\"x\"]"),
        (&rows, "id = \"t\"", "id = \"u\""),
        (&rows, "[\"a\", \"b\"]", "[\"a\"]"),
        (&rows, "id = \"t\"", "id = \"t\"\nprotocol = \"ecdh\""),
        (&rows, "id = \"t\"", "id = \"t\"\nlevel = \"bits192\""),
        (&rows, "id = \"t\"", "id = \"t\"\nreveal = \"count\""),
        (&rows, "[\"x\", \"y\"]", "[\"y\", \"x\"]"),
        (&rows, "[\"name\", \"none\"]", "[\"text\", \"none\"]"),
        (&rows, "duplicates = \"all\"", "duplicates = \"first\""),
        (&rows, "nulls = \"skip\"", "nulls = \"error\""),
        (&rows, "max_rows = 100", "max_rows = 101"),
        (&rows, "pad_to = 50", "pad_to = 51"),
        (&rows, "pad_to = 50", ""),
        (&rows, "min_result = 5", "min_result = 6"),
        (&rows, "min_result = 5", ""),
        (&rows, B, C),
        (&prepared, "max_queries = 10", "max_queries = 11"),
        (&prepared, "max_clients = 3", "max_clients = 4"),
        (&given, "b = [\"z\"]", "b = [\"x\"]"),
        (&given, "max_text = 30", "max_text = 31"),
        (&sum(), "scale = 2", "scale = 3"),
        (&sums(), "sum:cost,fee", "sum:cost"),
        (&sums(), "cost,fee", "fee,cost"),
        (&sums(), "sum:", "mean:"),
        (&outsourced(), C, "SHA256:AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI"),
        (&rows, "max_rows = 100", "max_rows = 100\nmax_null = 3"),
        (&rows, "max_rows = 100", "max_rows = 100\nmax_unreadable = \"1%\""),
        (&rows, "max_rows = 100", "max_rows = 100\nmin_rows = 1"),
        (&rows, "id = \"t\"", "id = \"t\"\nquality = \"told\""),
        (&union, "max_rows = 9", "max_rows = 9\nmin_rows = 0"),
        (&rules, "row_id = \"id\"", "row_id = \"id\"\nalignment = \"rows\""),
        (&rules, "min_rows = 10", "min_rows = 11"),
        (&rules, "min_rows = 10", ""),
        (&rules, "min_support = 2", "min_support = 3"),
        (&dot, "a = \"x\"", "a = \"z\""),
        (&dot, "bits = 8", "bits = 9"),
        (&shares, "\"open\"", "\"sum\""),
        (&shares, "\"open\"", "\"at_least:3\""),
    ] {
        assert_ne!(agreement(text), agreement(&changed(text, old, new)), "{old} and {new}");
    }
    // Each in one thing alone, so that the other's slice, or part, is another one.
    let slices = clients().replace("slice = 1", "slice = 0").replace("slice = 2", "slice = 1").replace("= 0", "= 2");
    assert_ne!(agreement(&clients()), agreement(&slices));
    let part = |place: usize| Terms::of(&job(&clients())).json()["parties"][["a", "s"][place]]["role"].clone();
    assert_eq!([part(0), part(1)], [json!("client"), json!("server")]);
    let swapped = changed(
        &changed(&changed(&rows, "parties.a", "parties.c"), "parties.b", "parties.a"),
        "parties.c",
        "parties.b",
    );
    let order = |text: &str| Terms::of(&job(text)).json()["order"].clone();
    assert_ne!(order(&rows), order(&swapped));
}

/// Local settings of a party, such as its input format and its listening address, concern nobody else.
#[test]
fn own_matters_are_no_terms() {
    let rows = intersection("", "");
    for (old, new) in [
        ("[\"a\", \"b\"]", "[\"b\", \"a\"]"),
        ("[parties.b]", "[parties.b]\naddress = \"b.example:7400\""),
        ("[parties.b]", "[parties.b]\ncolumns = { x = \"Name\" }"),
        ("[parties.b]", "[parties.b]\nnulls = [\"-\"]"),
        ("max_rows = 100", "max_rows = 100\nmin_rows = 0"),
    ] {
        assert_eq!(agreement(&rows), agreement(&changed(&rows, old, new)), "{new}");
    }
    assert_eq!(agreement(&sums()), agreement(&changed(&sums(), "cost,fee", "cost , fee")));
}

/// A key that is `null` on one side and absent on the other is a difference, although nothing of it can be shown.
#[test]
fn terms_that_look_alike_and_are_not_the_same_differ() {
    let [one, other] = [json!({"id": "t", "more": null}), json!({"id": "t"})].map(|terms| Terms::from_peer(&terms));
    assert_eq!(one.differences(&one), [""; 0]);
    assert_eq!((one.differences(&other).len(), other.differences(&one).len()), (1, 1));
}

/// Answers of one authority's list are no answers of another's.
#[test]
fn an_epoch_of_a_live_list_is_bound_to_the_terms() {
    let text = live("daily_queries = 10");
    let epoch = |text: &str| Live::of(job(text), "b").unwrap().epoch(&[1; 32]);
    assert_eq!(epoch(&text), epoch(&text));
    assert_ne!(epoch(&text), epoch(&changed(&text, B, A)));
    assert_ne!(Live::of(job(&text), "b").unwrap().epoch(&[2; 32]), epoch(&text));
}
