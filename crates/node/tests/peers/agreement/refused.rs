//! Job files that would promise what is not kept, or make two parties one: refused, with the key to be changed.

use tacita_core::Error;
use tacita_node::agreement::JobSpec;

use super::{A, B, changed, intersection, live, two};

fn aggregate(round: &str, members: &str) -> String {
    format!(
        "job = \"aggregate\"\nid = \"t\"\nreveal = \"keys\"\nreveal_to = \"participants\"\n[key]\ncolumns = [\"x\"]\n[round]\nreveal_when = \
         \"distinct >= 3\"\n{round}\n{members}"
    )
}

/// Returns the message about a job file, if it is not read.
fn said(text: &str) -> Option<String> {
    match JobSpec::parse(text, false) {
        Ok(_) => None,
        Err(Error::Input(text)) => Some(text),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn what_cannot_be_kept_is_not_agreed_on() {
    let rows = intersection("", "");
    let to_a = changed(&rows, "[\"a\", \"b\"]", "[\"a\"]");
    let given =
        changed(&intersection("reveal = \"sum:cost\"\ngives = { b = [\"cost\"] }", ""), "[\"a\", \"b\"]", "[\"a\"]");
    let several = changed(&changed(&given, "sum:cost", "sum:cost,fee"), "[\"cost\"]", "[\"cost\", \"fee\"]");
    let many = |word: &str, count: usize| {
        let columns = |count: usize| (0..count).map(|place| format!("c{place}")).collect::<Vec<_>>();
        let reveal = format!("{word}:{}", columns(count).join(","));
        changed(&changed(&given, "sum:cost", &reveal), "[\"cost\"]", &format!("{:?}", columns(count + 1)))
    };
    let helped_sum = intersection(
        "protocol = \"outsourced\"\nreveal = \"sum:cost\"\ngives = { b = [\"cost\", \"fee\"] }",
        "pad_to = 50\n[helper]\naddress = \"h:1\"",
    );
    let helped = intersection("protocol = \"outsourced\"", "pad_to = 50\n[helper]\naddress = \"h:1\"");
    let relayed = intersection("", "[relay]\naddress = \"r:1\"");
    let union = two("union", "[key]\ncolumns = [\"x\"]").replace("[\"a\", \"b\"]", "[\"a\"]");
    let rules = two("rules", "min_support = 2");
    let served = live("daily_queries = 10");
    let round = aggregate("min_participants = 3", "[[proxy]]\naddress = \"p:1\"\n[[database]]\naddress = \"d:1\"");
    let mine = |address: &str| format!("address = \"{address}\"\nidentity = \"{A}\"");
    for (text, old, new, words) in [
        (&rows, B, A, "has the same identity as another"),
        (&relayed, "address = \"r:1\"", &mine("r:1"), "relay.identity is also a's"),
        (&helped, "address = \"h:1\"", &mine("h:1"), "helper.identity is also a's"),
        (&given, "[\"a\"]", "[\"b\"]", "a has to be in reveal_to"),
        (&given, "sum:cost", "sum:cost,fee", "gives = { NAME = [\"cost\", \"fee\"] }"),
        (&given, "sum:cost", "sum:cost,cost", "is empty or listed twice"),
        (&given, "sum:cost", "sum:cost,", "is unknown"),
        (&given, "sum:cost", "mean:", "is unknown"),
        (&several, "b = [\"cost\", \"fee\"]", "b = [\"cost\"], a = [\"fee\"]", "columns of one party"),
        (
            &several,
            "b = [\"cost\", \"fee\"]",
            "b = [\"cost\", \"fee\"], a = [\"fee\"]",
            "two parties give a column called",
        ),
        (&many("sum", 16), "sum:c0", "mean:c0", "at most 8 columns"),
        (&many("sum", 16), "sum:c0", "sum:c16,c0", "at most 16 columns"),
        (&helped_sum, "sum:cost", "sum:cost,fee", "one column at a time is added up"),
        (&helped_sum, "sum:cost", "mean:cost", "\"mean:COLUMN\" is not available with"),
        (&helped_sum, "sum:cost", "counts:cost,fee", "one column at a time"),
        (&rows, "[parties.b]", "[parties.b]\nnormalize = [\"email\", \"none\"]", "are of different kinds"),
        (&rows, "max_rows = 100", "max_rows = 0", "limits.max_rows: use 1 to"),
        (&rows, "max_rows = 100", "min_rows = 5000000000", "limits.min_rows: use 0"),
        (&rows, "max_rows = 100", "max_null = 1.0", "neither a number of rows (such as 20) nor a fraction of them"),
        (&rows, "max_rows = 100", "max_unreadable = \"some\"", "neither a number of rows"),
        (&rows, "id = \"t\"", "id = \"t\"\nquality = \"loud\"", "quality = \"loud\" is unknown"),
        (&helped, "id = \"t\"", "id = \"t\"\nquality = \"told\"", "not available through a helper"),
        (&served, "daily_queries = 10", "daily_queries = 10\nmax_null = 1", "limits.max_null is for jobs that are run"),
        (&served, "id = \"t\"", "id = \"t\"\nquality = \"told\"", "not available for standing services"),
        (&round, "id = \"t\"", "id = \"t\"\nquality = \"told\"", "not available for standing services"),
        (&rules, "[parties.b]", "[parties.b]\nnulls = [\"-\"]", "it needs a [key] or row_id"),
        (&to_a, "id = \"t\"", "id = \"t\"\ngives = { b = [\"z\"] }", "nobody gets these columns"),
        (&rows, "id = \"t\"", "id = \"t\"\nsecurity = \"malicious\"", "one learner only"),
        (
            &to_a,
            "id = \"t\"",
            "id = \"t\"\nreveal = \"count\"\nsecurity = \"malicious\"",
            "malicious\" is not available with",
        ),
        (
            &rules,
            "id = \"t\"",
            "id = \"t\"\nsecurity = \"malicious\"",
            "malicious\" is not available for job = \"rules\"",
        ),
        (&union, "id = \"t\"", "id = \"t\"\nreveal = \"count\"\nlimits = { pad_to = 10 }", "pad_to is not available"),
        (&served, "id = \"t\"", "id = \"t\"\nreveal = \"count\"", "is not available for a live list"),
        (&served, "daily_queries = 10", "", "limits.daily_queries is missing"),
        (
            &rows,
            "columns = [\"x\", \"y\"]\nnormalize = [\"name\", \"none\"]",
            "any = [[\"x\"], { columns = [\"y\"], verdict = \"possible\" }]",
            "verdict = \"possible\" is for standing services",
        ),
        (&served, "daily_queries = 10", "daily_queries = 4294967295", "which answers at most"),
        (&round, "min_participants = 3", "min_participants = 1", "nothing is shuffled"),
    ] {
        assert_eq!(said(text), None, "{text}");
        let found = said(&changed(text, old, new)).unwrap_or_else(|| panic!("{new} is taken"));
        assert!(found.contains(words), "{new}: {found}");
    }
    let both = round.replace("address = \"p:1\"", &mine("p:1")).replace("address = \"d:1\"", &mine("d:1"));
    assert!(said(&both).unwrap().contains("together could read every report"));
    // Names stand in files' names.
    for name in ["../b", "b/c", "b c", "", "b.c", "b:c"] {
        let text = changed(&to_a, "[parties.b]", &format!("[parties.{name:?}]"));
        assert!(said(&text).is_some_and(|text| text.contains("is no name")), "{name:?}");
    }
}

/// A protocol that can be broken, or that shows more than its purpose, runs only where the user permits it. It is
/// reported beforehand.
#[test]
fn what_protects_nothing_needs_leave() {
    let union =
        two("union", "protocol = \"polynomial\"\n[key]\ncolumns = [\"x\"]").replace("[\"a\", \"b\"]", "[\"a\"]");
    let weak = changed(&intersection("protocol = \"bloom\"\nlevel = \"bits112\"", ""), "[\"a\", \"b\"]", "[\"a\"]");
    for text in [union, weak] {
        let job = JobSpec::parse(&text, false).unwrap();
        assert!(matches!(job.check_secure(false), Err(Error::Input(text)) if text.contains("--allow-insecure")));
        job.check_secure(true).unwrap();
        assert!(job.insecure().is_some_and(|text| text.contains("--allow-insecure")));
    }
    let job = JobSpec::parse(&intersection("", ""), false).unwrap();
    job.check_secure(false).unwrap();
    assert_eq!(job.insecure(), None);
}
