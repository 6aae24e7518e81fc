//! The quality of rows as a term: limits that end a job at all parties before data moves, and what learners hear.

use super::*;
use crate::common::{Ended, Home};

/// Dates of which two in ten cannot be read, and one is missing.
const BAD: &str = "born\n1980-01-01\n1981-01-01\n1982-01-01\n1983-01-01\n1984-01-01\n1985-01-01\n1986-01-01\n31/31/1987\n32/32/1988\n\"\"\n";
const GOOD: &str = "born\n1980-01-01\n1981-01-01\n1990-01-01\n";

fn terms(limits: &str) -> String {
    format!(
        "quality = \"QUALITY\"\njob = \"intersect\"\nid = \"t\"\nreveal_to = [\"hospital\"]\n[key]\ncolumns = [\"born\"]\nnormalize = [\"date\"]\n\
         [limits]\n{limits}\n"
    )
}

/// Returns how both parties end; the one at `first` waits for the other before that begins.
fn run(pair: &Pair, first: &str) -> [Ended; 2] {
    let mut waits = pair.start(first, &[]);
    waits.until_it_says(if first == "hospital" { "waiting for" } else { "dialing" });
    let other = NAMES.into_iter().find(|name| *name != first).unwrap();
    let other = pair.start(other, &[]).end();
    let waits = waits.end();
    if first == "hospital" { [waits, other] } else { [other, waits] }
}

/// Returns how both parties end: the hospital, which learns and has good rows, and the insurer.
fn both(limits: &str, quality: &str) -> (Pair, [Ended; 2]) {
    let pair = Pair::new(&terms(limits).replace("QUALITY", quality));
    pair.table("hospital", GOOD);
    pair.table("insurer", BAD);
    let ended = run(&pair, "hospital");
    (pair, ended)
}

/// The party whose rows they are says how many; the other hears which limit it was, and no number.
#[test]
fn rows_that_do_not_keep_to_a_limit_end_the_run_at_both_with_the_reason() {
    for (limits, name, own) in [
        (
            "max_unreadable = \"19%\"",
            "limits.max_unreadable",
            "insurer has 2 rows whose key cannot be read, of 10 rows",
        ),
        ("max_unreadable = 1", "limits.max_unreadable", "and limits.max_unreadable is 1"),
        ("max_null = 0", "limits.max_null", "insurer has 1 row without a key, of 10 rows"),
        ("min_rows = 8", "limits.min_rows", "insurer has 7 keys"),
    ] {
        // The hospital has three keys only.
        let pair = Pair::new(&terms(limits).replace("QUALITY", "hidden"));
        pair.table(
            "hospital",
            &if name == "limits.min_rows" {
                BAD.replace("31/31/1987", "1987-01-01").replace("32/32/1988", "1988-01-01")
            } else {
                GOOD.into()
            },
        );
        pair.table("insurer", BAD);
        let [hospital, insurer] = run(&pair, "hospital");
        insurer.failed(2, &[name, own]);
        let heard = hospital.failed(5, &["insurer stopped", name]);
        assert!(!heard.contains(char::is_numeric), "{heard}");
        assert_nothing_written(&pair);
    }
    // As many as are allowed.
    let (pair, [hospital, insurer]) = both("max_unreadable = \"20%\"\nmax_null = \"10%\"\nmin_rows = 3", "hidden");
    insurer.well();
    hospital.well();
    assert_eq!(text(pair.out("hospital", "rows.csv")), "born\n1980-01-01\n1981-01-01\n");
    let report = json(pair.out("hospital", "report.json"));
    assert!(report.get("quality").is_none(), "{report}");
    let learned = report["learned"].to_string();
    assert!(
        learned.contains("hospital learns whether the rows of insurer keep to limits.max_null, limits.max_unreadable, limits.min_rows"),
        "{learned}"
    );
}

/// Checks that a limit above half of the rows is agreed on, too.
#[test]
fn an_agreed_limit_takes_the_place_of_the_half_that_is_usual() {
    let mostly_bad = "born\n1980-01-01\nx\ny\nz\n";
    for (limits, code) in [("", 2), ("max_unreadable = 3", 0)] {
        let pair = Pair::new(&terms(limits).replace("QUALITY", "hidden"));
        pair.table("hospital", GOOD);
        pair.table("insurer", mostly_bad);
        let [_, insurer] = run(&pair, "hospital");
        assert_eq!(insurer.code, code, "{limits}: {}", insurer.stderr);
    }
}

/// Checks that the learners, and nobody else, hear the numbers of unusable rows where the terms say so; the plan says
/// it before.
#[test]
fn learners_hear_how_many_rows_the_others_could_not_use() {
    let (pair, [hospital, insurer]) = both("max_rows = 100", "told");
    insurer.well();
    let hospital = hospital.well();
    assert!(hospital.stderr.contains("insurer left out 1 row without a key and 2 rows"), "{}", hospital.stderr);
    let reports = NAMES.map(|name| json(pair.out(name, "report.json")));
    assert_eq!(reports[0]["quality"], json!({ "insurer": { "nulls": 1, "unreadable": 2 } }));
    assert!(reports[1].get("quality").is_none(), "{}", reports[1]);
    let sentence = "hospital learns how many rows of insurer are without a key";
    assert!(reports[0]["learned"].to_string().contains(sentence), "{}", reports[0]);
    assert!(!reports[1]["learned"].to_string().contains("without a key"), "{}", reports[1]);
    let job = pair.home.at("hospital.toml");
    let plan = tacita(&["plan", &job, "--rows", "hospital=3", "--rows", "insurer=7"]).well().stdout;
    assert!(plan.contains(sentence), "{plan}");
    // Without the word nothing is said.
    let (pair, ended) = both("max_rows = 100", "hidden");
    ended.into_iter().for_each(|ended| drop(ended.well()));
    assert!(json(pair.out("hospital", "report.json")).get("quality").is_none());
}

/// Checks that the traffic equals the plan's, with the quality of rows as without.
#[test]
fn the_plan_counts_what_is_told() {
    let plan = |quality: &str| {
        let home = Home::new();
        let job = home.file(
            "job.toml",
            &format!("{}[parties.hospital]\n[parties.insurer]\n", terms("").replace("QUALITY", quality)),
        );
        let ended = tacita(&["plan", &job, "--rows", "hospital=3", "--rows", "insurer=7", "--json"]).well();
        serde_json::from_str::<Value>(&ended.stdout).unwrap()
    };
    let (told, hidden) = (plan("told"), plan("hidden"));
    let bytes = |plan: &Value, name: &str| plan["parties"][name]["bytes_sent"].as_u64().unwrap();
    assert_eq!(told["rounds"].as_u64().unwrap(), hidden["rounds"].as_u64().unwrap() + 1);
    // The terms are longer, too.
    let more = |name| bytes(&told, name) - bytes(&hidden, name);
    assert_eq!(more("insurer") - more("hospital"), 16 + 10, "{told}\n{hidden}");
}

/// A party of each job whose rows do not keep to a limit, in a simulation: the party, and the limit.
#[test]
fn every_job_has_the_limits() {
    let key = "[key]\ncolumns = [\"id\"]\nnormalize = [\"integer\"]";
    let aligned = "row_id = \"id\"";
    let good = "id,x,items\n1,1,a\n2,0,b\n3,1,a\n";
    let bad = "id,x,items\n1,1,c\nb,0,c\n3,1,d\n";
    for (terms, parties) in [
        (format!("job = \"union\"\n{key}"), 2),
        (format!("job = \"intersect\"\n{key}"), 3),
        (format!("job = \"intersect\"\nprotocol = \"outsourced\"\n{key}"), 3),
        (format!("job = \"dot\"\ncolumn = \"x\"\n{aligned}\n{key}"), 2),
        (format!("job = \"rules\"\nmin_support = 1\n{aligned}\n{key}"), 2),
    ] {
        let home = Home::new();
        let names: Vec<String> = ["a", "b", "c"].into_iter().take(parties).map(str::to_owned).collect();
        let own = |name: &String| format!("[parties.{name}]\n");
        let padded = if terms.contains("outsourced") { "pad_to = 10\n" } else { "" };
        let text = |limit: &str| {
            format!(
                "id = \"t\"\nreveal_to = [\"a\"]\n{terms}\n[limits]\n{padded}{limit}\n{}",
                names.iter().map(own).collect::<String>()
            )
            .replace(
                "reveal_to = [\"a\"]",
                if terms.contains("rules") { "reveal_to = [\"a\", \"b\"]" } else { "reveal_to = [\"a\"]" },
            )
        };
        let inputs: Vec<String> = names
            .iter()
            .map(|name| format!("{name}={}", home.file(&format!("{name}.csv"), if name == "b" { bad } else { good })))
            .collect();
        let simulate = |limit: &str| {
            let job = home.file("job.toml", &text(limit));
            let out = home.at(&format!("out of {limit}"));
            let mut arguments = vec!["simulate", &job, "--output", &out];
            inputs.iter().for_each(|input| arguments.extend(["--input", input.as_str()]));
            tacita(&arguments)
        };
        simulate("max_unreadable = 1").well();
        simulate("max_unreadable = 0")
            .failed(2, &["b has 1 row whose key cannot be read", "limits.max_unreadable is 0"]);
        simulate("min_rows = 3").failed(2, &["b has 2", "limits.min_rows is 3"]);
    }
}

/// Checks the case of a party that brings nothing, which would get all that the other has.
#[test]
fn an_empty_peer_of_a_union_is_refused_unless_that_is_agreed_on() {
    let terms = "job = \"union\"\nid = \"t\"\nreveal_to = [\"hospital\"]\n[key]\ncolumns = [\"born\"]\n[limits]\nmax_rows = 100\n";
    for (more, codes) in [("", [2, 5]), ("min_rows = 0\n", [0, 0])] {
        let pair = Pair::new(&format!("{terms}{more}"));
        pair.table("hospital", "born\n");
        pair.table("insurer", GOOD);
        let ended = run(&pair, "insurer");
        assert_eq!(ended.each_ref().map(|ended| ended.code), codes, "{ended:?}");
        if codes[0] == 2 {
            ended[0].failed(2, &["hospital has no key to bring", "limits.min_rows is 1"]);
            ended[1].failed(5, &["hospital stopped", "limits.min_rows"]);
            assert_nothing_written(&pair);
        }
    }
}
