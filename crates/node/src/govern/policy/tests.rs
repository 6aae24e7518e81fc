mod charged;
mod examples;

use jiff::Timestamp;
use proptest::prelude::*;
use tacita_core::primitive::noise::{Privacy, PrivacyLoss};

use super::super::approval::Approval;
use super::super::time::Day;
use super::*;
use crate::agreement::JobSpec;
use crate::identity::{Identity, VALIDITY};

const A: &str = "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
const B: &str = "SHA256:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
const C: &str = "SHA256:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE";

/// A job of a and b, at a, in whose table columns have other names.
const JOB: &str = "job = \"intersect\"\nid = \"t\"\nreveal = \"sum:cost\"\nreveal_to = [\"b\"]\nprotocol = \"ecdh\"\ngives = { a = [\"cost\"] }\n\
                   [key]\ncolumns = [\"name\"]\n[limits]\nmin_rows = 10\nmin_result = 5\n";

fn job(text: &str) -> JobSpec {
    let parties = format!(
        "[parties.a]\nidentity = \"{A}\"\ncolumns = {{ name = \"insured\" }}\n[parties.b]\nidentity = \"{B}\"\n"
    );
    JobSpec::parse(&format!("{text}{parties}"), false).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The same without own headers.
fn unmapped(text: &str) -> JobSpec {
    JobSpec::parse(&format!("{text}[parties.a]\n[parties.b]\nidentity = \"{B}\"\n"), false).unwrap()
}

fn policy(text: &str) -> Policy {
    Policy::parse(Path::new("policy.toml"), text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn noon() -> Timestamp {
    "2026-11-23T12:00:00Z".parse().unwrap()
}

/// A history of so many runs, on any day.
struct Runs(u64);

impl History for Runs {
    fn runs_with(&self, peer: &Fingerprint, _: Day) -> u64 {
        if peer.to_string() == B { self.0 } else { 0 }
    }

    fn refusals_of(&self, peer: &Fingerprint, day: Day) -> u64 {
        self.runs_with(peer, day)
    }

    fn runs_approved_by(&self, _: &str) -> u64 {
        self.0
    }

    /// Each run has cost epsilon 0.5, half of them with B.
    fn loss(&self, peer: Option<&Fingerprint>, since: Option<Day>) -> PrivacyLoss {
        let one: PrivacyLoss = Privacy::new("0.5", None).unwrap().into();
        let counted = match (peer, since) {
            (_, Some(day)) if day > Day::of(noon()).before(1) => 0,
            (Some(peer), _) if peer.to_string() != B => 0,
            (Some(_), _) => self.0 / 2,
            (None, _) => self.0,
        };
        (0..counted).fold(PrivacyLoss::default(), |sum, _| sum.and(one))
    }
}

/// A budget counts earlier runs and this one, of one peer or of all, at its delta and within its days.
#[test]
fn budgets_bound_the_loss_of_all_runs_together() {
    let noisy = unmapped("job = \"dot\"\nid = \"t\"\nreveal_to = [\"b\"]\nnoise = { epsilon = 0.5 }\n");
    let rule = |keys: &str| policy(&format!("[[allow]]\npeers = [\"{B}\"]\n{keys}\n"));
    for (keys, runs, why) in [
        ("epsilon = 0.5", 0, None),
        (
            "epsilon = 0.499999",
            0,
            Some("epsilon: with this run, runs with b would have used epsilon 0.5, and 0.499999"),
        ),
        ("epsilon = 1.5", 4, None),
        ("epsilon = 1.4", 4, Some("runs with b would have used epsilon 1.5, and 1.4 is allowed")),
        ("epsilon_in_all = 2.5", 4, None),
        (
            "epsilon_in_all = 2.4",
            4,
            Some("epsilon_in_all: with this run, runs with all peers would have used epsilon 2.5"),
        ),
        ("epsilon = 1.5\nepsilon_in_all = 2.4", 4, Some("epsilon_in_all")),
        ("epsilon = 0.5\ndays = 1", 4, None),
        ("epsilon = 0.5\ndays = 2", 4, Some("since 2026-11-22, and 0.5 is allowed")),
        // 501 runs of rho = 0.125 are 62.625 + 2 sqrt(62.625 ln(10^6)) = 121.5.
        ("epsilon = 122\ndelta = 1e-6", 1000, None),
        ("epsilon = 121\ndelta = 1e-6", 1000, Some("would have used epsilon 121.")),
        ("epsilon = 122", 1000, Some("would have used epsilon 250.5, and 122 is allowed")),
    ] {
        match (ask(&rule(keys), &noisy, &Runs(runs), &[]), why) {
            (Ok(_), None) => {}
            (Err(Error::Policy(text)), Some(why)) => assert!(text.contains(why), "{keys}: {text}"),
            (found, _) => panic!("{keys}: {found:?}"),
        }
    }
    // Exact numbers have no epsilon; who alone learns loses nothing.
    let error = ask(&rule("epsilon = 100"), &job(JOB), &NoHistory, &[]).unwrap_err().to_string();
    assert!(error.contains("epsilon: the job reveals numbers without noise"), "{error}");
    let own = unmapped("job = \"dot\"\nid = \"t\"\nreveal_to = [\"a\"]\nnoise = { epsilon = 0.5 }\n");
    ask(&rule("epsilon = 0"), &own, &NoHistory, &[]).unwrap();
    let gaussian =
        unmapped("job = \"dot\"\nid = \"t\"\nreveal_to = [\"b\"]\nnoise = { epsilon = 0.5, delta = 1e-6 }\n");
    let error = ask(&rule("epsilon = 1"), &gaussian, &NoHistory, &[]).unwrap_err().to_string();
    assert!(error.contains("a larger delta than allowed"), "{error}");
    ask(&rule("epsilon = 0.5\ndelta = 1e-6"), &gaussian, &NoHistory, &[]).unwrap();
    for (keys, words) in [
        ("epsilon = -1", "epsilon: use a decimal"),
        ("epsilon = 1\ndelta = 0.5", "delta: use a decimal up to 0.001"),
        ("delta = 1e-6", "delta: it goes with epsilon"),
        ("days = 3", "days: it goes with epsilon"),
        ("epsilon = 1\ndays = 0", "days: use 1 or more"),
    ] {
        let text = format!("[[allow]]\npeers = [\"{B}\"]\n{keys}\n");
        let error = Policy::parse(Path::new("policy.toml"), &text).unwrap_err().to_string();
        assert!(error.contains(words), "{keys}: {error}");
    }
}

fn question<'a>(job: &'a JobSpec, history: &'a dyn History, approvals: &'a [Approval]) -> PolicyQuestion<'a> {
    PolicyQuestion { job, me: "a", now: noon(), history, approvals, answers: &NotCounted }
}

fn ask(policy: &Policy, job: &JobSpec, history: &dyn History, approvals: &[Approval]) -> Result<Allowed> {
    policy.allow(&question(job, history, approvals))
}

/// Each key, with a value that allows the job and one that refuses it.
#[test]
fn each_key_allows_and_refuses() {
    let job = job(JOB);
    let cases = [
        ("jobs", "[\"intersect\"]", "[\"dot\"]"),
        ("reveal", "[\"sum\"]", "[\"count\"]"),
        ("reveal", "[\"sum:cost\"]", "[\"sum:age\"]"),
        ("reveal_to", "[\"peers\"]", "[\"self\"]"),
        ("protocols", "[\"auto\", \"ecdh\"]", "[\"auto\"]"),
        ("security", "[\"semi-honest\"]", "[\"malicious\"]"),
        ("levels", "[\"bits128\"]", "[\"bits192\"]"),
        ("keys", "[\"insured\"]", "[\"name\"]"),
        ("gives", "[\"cost\"]", "[]"),
        ("computes", "[]", ""),
        ("min_rows", "10", "11"),
        ("min_result", "5", "6"),
        ("min_cell", "", "1"),
        ("padded", "false", "true"),
        ("hours", "\"08:00-12:01\"", "\"08:00-12:00\""),
        ("hours", "\"12:00-08:00\"", "\"12:01-11:59\""),
        ("until", "\"2026-11-23\"", "\"2026-11-22\""),
        ("runs_per_day", "3", "2"),
        ("exact_answers", "1", "0"),
        ("exact_answers", "{ peer = 1, group = 0 }", "{ peer = 0 }"),
        ("exact_answers", "{ group = 0 }", "{ all = 0 }"),
        ("min_difference", "250", ""),
        ("refusals_per_day", "3", "2"),
    ];
    for (key, good, bad) in cases {
        let rule = |value: &str| format!("\n[[allow]]\npeers = [\"{B}\"]\n{key} = {value}\n");
        if !good.is_empty() {
            let allowed = ask(&policy(&rule(good)), &job, &Runs(2), &[]);
            assert_eq!(allowed.unwrap().rule, "policy.toml, line 3", "{key} = {good}");
        }
        if !bad.is_empty() {
            let error = ask(&policy(&rule(bad)), &job, &Runs(2), &[]).unwrap_err();
            assert!(matches!(error, Error::Policy(_)), "{key} = {bad}");
            let (error, beginning) = (error.to_string(), format!("policy.toml, line 4: refused by policy: {key}: "));
            assert!(error.starts_with(&beginning) && !error.contains('\n'), "{error}");
        }
    }
}

#[test]
fn peers_are_named_by_their_keys_alone_or_in_groups() {
    let both = job(JOB);
    let allows = |text: &str| ask(&policy(text), &both, &NoHistory, &[]);
    allows(&format!("[groups]\ninsurers = [\"{C}\", \"{B}\"]\n[[allow]]\npeers = [\"insurers\"]\n")).unwrap();
    for text in [
        format!("[[allow]]\npeers = [\"{C}\"]\n"),
        "[[allow]]\npeers = []\n".into(),
        String::new(),
        format!("[groups]\nb = [\"{C}\"]\n[[allow]]\npeers = [\"b\"]\n"),
    ] {
        assert!(matches!(allows(&text), Err(Error::Policy(_))), "{text}");
    }
    // All of them, and the helper; and one whose identity the job leaves open is nobody's.
    let third = job(&format!(
        "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"a\", \"b\"]\nprotocol = \"outsourced\"\n[key]\ncolumns = [\"name\"]\n\
         [limits]\npad_to = 100\n[helper]\naddress = \"h:1\"\nidentity = \"{C}\"\n"
    ));
    let rule = |peers: &str| policy(&format!("[[allow]]\npeers = [{peers}]\n"));
    let error = ask(&rule(&format!("\"{B}\"")), &third, &NoHistory, &[]).unwrap_err().to_string();
    assert!(error.contains("the helper (SHA256:AQEB"), "{error}");
    ask(&rule(&format!("\"{B}\", \"{C}\"")), &third, &NoHistory, &[]).unwrap();
    let open = JobSpec::parse(&format!("{JOB}[parties.a]\n[parties.b]\n"), false).unwrap();
    let error = ask(&rule(&format!("\"{B}\"")), &open, &NoHistory, &[]).unwrap_err().to_string();
    assert!(error.contains("does not say the identity of b"), "{error}");
}

/// One rule has to allow all of it; the refusal is that of the rule which comes nearest.
#[test]
fn rules_are_not_put_together() {
    let rules = format!(
        "[[allow]]\npeers = [\"{C}\"]\n[[allow]]\npeers = [\"{B}\"]\njobs = [\"dot\"]\n[[allow]]\npeers = [\"{B}\"]\nreveal = [\"rows\"]\n"
    );
    let error = ask(&policy(&rules), &job(JOB), &NoHistory, &[]).unwrap_err().to_string();
    assert_eq!(error, "policy.toml, line 8: refused by policy: reveal: the job reveals \"sum:cost\"");
    let allowed = ask(&policy(&format!("{rules}[[allow]]\npeers = [\"{B}\"]\n")), &job(JOB), &NoHistory, &[]);
    assert_eq!(allowed.unwrap().rule, "policy.toml, line 10");
}

/// Columns that a job does not name could be any.
#[test]
fn columns_are_those_of_the_own_table() {
    let dot = "job = \"dot\"\nid = \"t\"\nreveal_to = [\"b\"]\ncolumn = \"value\"\nbits = 8\nrow_id = [\"name\"]\n";
    let rule = |key: &str, columns: &str| policy(&format!("[[allow]]\npeers = [\"{B}\"]\n{key} = [{columns}]\n"));
    let dot = job(dot);
    ask(&rule("computes", "\"value\""), &dot, &NoHistory, &[]).unwrap();
    ask(&rule("keys", "\"insured\""), &dot, &NoHistory, &[]).unwrap();
    ask(&rule("computes", "\"insured\""), &dot, &NoHistory, &[]).unwrap_err();
    // An id that is multiplied, too.
    let both = unmapped(
        "job = \"dot\"\nid = \"t\"\nreveal_to = [\"b\"]\ncolumn = \"value\"\nbits = 8\nrow_id = [\"value\"]\n",
    );
    ask(&rule("computes", "\"insured\""), &both, &NoHistory, &[]).unwrap_err();
    ask(&rule("computes", "\"value\""), &both, &NoHistory, &[]).unwrap();
    // The other learns names of categories and sums.
    let crosstab =
        unmapped("job = \"crosstab\"\nid = \"t\"\nreveal_to = [\"b\"]\nrows = [\"age\"]\ncolumns = [\"value\"]\n");
    ask(&rule("gives", "\"age\", \"value\""), &crosstab, &NoHistory, &[]).unwrap();
    ask(&rule("gives", "\"age\""), &crosstab, &NoHistory, &[]).unwrap_err();
    let rules = "job = \"rules\"\nid = \"t\"\nreveal_to = [\"a\", \"b\"]\nmin_support = 2\nmin_confidence = 0.5\nrow_id = [\"name\"]\n";
    let rules = |items: &str| job(&format!("{rules}items = {items}\n"));
    ask(&rule("computes", "\"item\""), &rules("[\"item\"]"), &NoHistory, &[]).unwrap();
    let error = ask(&rule("computes", "\"item\""), &rules("\"*\""), &NoHistory, &[]).unwrap_err().to_string();
    assert!(error.contains("columns that the job does not name"), "{error}");
    // Names of items are told, keys of a union are shown as they are written.
    ask(&rule("gives", "\"item\""), &rules("[\"item\"]"), &NoHistory, &[]).unwrap();
    ask(&rule("gives", ""), &rules("[\"item\"]"), &NoHistory, &[]).unwrap_err();
    let union = |reveal: &str| {
        job(&format!(
            "job = \"union\"\nid = \"t\"\nreveal = \"{reveal}\"\nreveal_to = [\"b\"]\n[key]\ncolumns = [\"name\"]\n"
        ))
    };
    ask(&rule("gives", ""), &union("rows"), &NoHistory, &[]).unwrap_err();
    ask(&rule("gives", "\"insured\""), &union("rows"), &NoHistory, &[]).unwrap();
    ask(&rule("gives", ""), &union("count"), &NoHistory, &[]).unwrap();
    // A sum is that of a header, whatever the job calls it.
    let mapped = format!("{JOB}[parties.a]\ncolumns = {{ cost = \"salary\" }}\n[parties.b]\nidentity = \"{B}\"\n");
    let mapped = JobSpec::parse(&mapped, false).unwrap();
    ask(&rule("reveal", "\"sum:cost\""), &mapped, &NoHistory, &[]).unwrap_err();
    ask(&rule("reveal", "\"sum:salary\""), &mapped, &NoHistory, &[]).unwrap();
}

/// A rule for results has to allow common rows, too.
#[test]
fn common_rows_are_shown_only_where_a_rule_says_so() {
    let dot = |more: &str| {
        unmapped(&format!("job = \"dot\"\nid = \"t\"\nreveal_to = [\"b\"]\ncolumn = \"value\"\nbits = 8\n{more}\n"))
    };
    let rule = |keys: &str| policy(&format!("[[allow]]\npeers = [\"{B}\"]\n{keys}\n"));
    let (hidden, shown, by_position) =
        (dot("row_id = [\"name\"]"), dot("row_id = [\"name\"]\nalignment = \"rows\""), dot(""));
    for (keys, allows_shown) in [
        ("", true),
        ("reveal = [\"value\"]", false),
        ("reveal_to = [\"peers\"]", false),
        ("reveal = [\"value\"]\nalignment = [\"hidden\"]", false),
        ("reveal = [\"value\"]\nalignment = [\"hidden\", \"rows\"]", true),
        ("alignment = [\"hidden\"]", false),
    ] {
        ask(&rule(keys), &hidden, &NoHistory, &[]).unwrap();
        ask(&rule(keys), &by_position, &NoHistory, &[]).unwrap();
        assert_eq!(ask(&rule(keys), &shown, &NoHistory, &[]).is_ok(), allows_shown, "{keys}");
    }
}

/// Desks of a list are named by a word, services of an aggregation by their identities.
#[test]
fn whoever_a_job_serves_or_is_served_by_is_named() {
    let rule = |peers: &str| policy(&format!("[[allow]]\npeers = [{peers}]\n"));
    let list = "job = \"intersect\"\nid = \"t\"\nreveal = \"rows\"\nreveal_to = [\"desk\"]\n[key]\ncolumns = [\"name\"]\n\
                [limits]\npad_to = 100\ndaily_queries = 5\n[clients]\nallow = \"desks.txt\"\n";
    let list = JobSpec::parse(&format!("{list}[parties.desk]\n[parties.a]\nidentity = \"{A}\"\n"), false).unwrap();
    let at = |me, policy: &Policy| policy.allow(&PolicyQuestion { me, ..question(&list, &NoHistory, &[]) }).is_ok();
    for (peers, serves, asks) in [
        ("", false, false),
        (&*format!("\"{A}\""), false, true),
        (&*format!("\"{B}\""), false, false),
        ("\"clients\"", true, false),
    ] {
        assert_eq!((at("a", &rule(peers)), at("desk", &rule(peers))), (serves, asks), "{peers}");
    }
    let round = |roles: &str| {
        let text = format!(
            "job = \"aggregate\"\nid = \"t\"\nreveal = \"keys\"\nreveal_to = \"participants\"\n[key]\ncolumns = [\"name\"]\n\
             [round]\nreveal_when = \"distinct >= 5\"\n[parties.a]\n{roles}"
        );
        JobSpec::parse(&text, false).unwrap()
    };
    let members = |database: &str| {
        round(&format!(
            "[[proxy]]\naddress = \"p:1\"\nidentity = \"{B}\"\n[[database]]\naddress = \"d:1\"\n{database}\n"
        ))
    };
    let identified = members(&format!("identity = \"{C}\""));
    ask(&rule(&format!("\"participants\", \"{B}\", \"{C}\"")), &identified, &NoHistory, &[]).unwrap();
    for (job, peers) in [
        (&identified, format!("\"participants\", \"{B}\"")),
        (&identified, format!("\"{B}\", \"{C}\"")),
        (&members(""), format!("\"participants\", \"{B}\", \"{C}\"")),
    ] {
        ask(&rule(&peers), job, &NoHistory, &[]).unwrap_err();
    }
}

#[test]
fn a_new_policy_refuses_all_until_a_peer_is_named() {
    let job = job(JOB);
    assert!(ask(&policy(&Policy::template(&[])), &job, &NoHistory, &[]).is_err());
    ask(&policy(&Policy::template(&[C.parse().unwrap(), B.parse().unwrap()])), &job, &NoHistory, &[]).unwrap();
    // Each line of it is a key with a value that is read.
    let all: Vec<_> = Policy::template(&[])
        .lines()
        .filter(|line| line.starts_with('[') || line.starts_with("# [") || line.contains(" = "))
        .map(|line| {
            line.trim_start_matches("# ").replace("SHA256:...", B).replacen(
                &format!("\"{B}\", \"{B}\""),
                &format!("\"{B}\""),
                1,
            )
        })
        .collect();
    let text = all.join("\n").replace("approve      = 2", "approve = 1");
    let read = policy(&text);
    assert!(read.keeps_results() && read.rules[0].approvers.is_some() && read.groups.len() == 1, "{text}");
}

#[test]
fn faults_are_told_with_their_line() {
    let rule = format!("[[allow]]\npeers = [\"{B}\"]\n");
    for (text, words) in [
        ("[[allow]]\n".to_owned(), "peers"),
        (format!("{rule}peer = 3\n"), "line 3, column 1"),
        (format!("{rule}jobs = [\"intersekt\"]\n"), "line 3: jobs: `intersekt` is unknown"),
        (format!("{rule}reveal_to = [\"hospital\"]\n"), "line 3: reveal_to: `hospital`"),
        (format!("{rule}security = [\"none\"]\n"), "line 3: security"),
        (format!("{rule}levels = [\"bits1\"]\n"), "line 3: levels"),
        (format!("{rule}hours = \"8-18\"\n"), "are no hours"),
        (format!("{rule}hours = \"08:00-08:00\"\n"), "are no hours"),
        (format!("{rule}hours = \"08:00-24:00\"\n"), "are no hours"),
        (format!("{rule}until = \"2026-13-01\"\n"), "is no day"),
        (format!("{rule}runs_per_day = -1\n"), "line 3"),
        (format!("{rule}min_difference = 0\n"), "line 3: min_difference: it is a number from 1 to 250"),
        (format!("{rule}min_difference = 251\n"), "line 3: min_difference"),
        (format!("{rule}exact_answers = {{}}\n"), "line 3: exact_answers: name at least one"),
        (format!("{rule}exact_answers = {{ peers = 3 }}\n"), "write a number, or { peer = N"),
        (format!("{rule}approve = 1\n"), "line 3: approve: approvers lists 0 keys"),
        (format!("{rule}approve = 2\napprovers = [\"{A}\", \"{A}\"]\n"), "line 3: approve: approvers lists 1 keys"),
        ("[[allow]]\npeers = [\"nobody\"]\n".into(), "[groups] has no `nobody`"),
        ("[allow]\n".into(), "line 1"),
        ("[more]\n".into(), "line 1"),
    ] {
        let error = Policy::parse(Path::new("policy.toml"), &text).err().unwrap_or_else(|| panic!("{text}"));
        assert!(matches!(error, Error::Input(_)));
        let error = error.to_string();
        assert!(error.starts_with("policy.toml: ") && error.contains(words) && !error.contains('\n'), "{error}");
    }
}

/// Approvals hold for as many keys as are asked for, each for this job, this party and its columns, now, and not used
/// up.
#[test]
fn approvals_are_of_different_listed_keys_and_for_this_run() {
    let now = std::time::SystemTime::now();
    let [one, two, other] = ["1", "2", "3"].map(|name| Identity::generate(name, now, now + VALIDITY).unwrap());
    let job = job(JOB);
    let keys = format!("\"{}\", \"{}\"", one.fingerprint(), two.fingerprint());
    let policy = policy(&format!("[[allow]]\npeers = [\"{B}\"]\napprove = 2\napprovers = [{keys}]\n"));
    let day: Day = "2026-11-23".parse().unwrap();
    let sign = |job: &JobSpec, me: &str, until: Day, by: &Identity| {
        Approval::parse(&Approval::sign(job, me, 3, until, by).unwrap()).unwrap()
    };
    let [first, second] = [&one, &two].map(|by| sign(&job, "a", day, by));
    let allowed = ask(&policy, &job, &Runs(2), &[first.clone(), second.clone()]).unwrap();
    assert_eq!(allowed.approvals, [first.id(), second.id()]);
    let mut mapped = job.clone();
    mapped.parties.get_mut("a").unwrap().columns.insert("cost".into(), "diagnosis".into());
    let mut another = job.clone();
    another.id = "u".into();
    let yesterday: Day = "2026-11-22".parse().unwrap();
    for second in [
        sign(&job, "a", day, &one),
        sign(&job, "a", day, &other),
        sign(&job, "b", day, &two),
        sign(&another, "a", day, &two),
        sign(&mapped, "a", day, &two),
        sign(&job, "a", yesterday, &two),
    ] {
        let error = ask(&policy, &job, &NoHistory, &[first.clone(), second]).unwrap_err().to_string();
        assert!(
            error.starts_with("policy.toml, line 3: refused by policy: approve: of 2 approvals 1 are there"),
            "{error}"
        );
    }
    ask(&policy, &job, &Runs(3), &[first.clone(), second]).unwrap_err();
    // The terms of rules leave each party its items: an approval covers them all the same.
    let rules = |items: &str| {
        let text = "job = \"rules\"\nid = \"t\"\nreveal_to = [\"a\", \"b\"]\nmin_support = 2\nmin_confidence = 0.5\n";
        unmapped(&format!("{text}items = [\"{items}\"]\n"))
    };
    let approvals = [&one, &two].map(|by| sign(&rules("drug"), "a", day, by));
    ask(&policy, &rules("drug"), &NoHistory, &approvals).unwrap();
    ask(&policy, &rules("diagnosis"), &NoHistory, &approvals).unwrap_err();
    // What was changed in the file is no approval any more.
    let text = Approval::sign(&job, "a", 3, day, &one).unwrap();
    let changes =
        [("\"runs\": 3", "\"runs\": 30"), ("\"party\": \"a\"", "\"party\": \"b\""), ("2026-11-23", "2026-11-24")];
    for (from, to) in changes {
        assert!(text.contains(from));
        assert!(Approval::parse(&text.replace(from, to)).unwrap_err().contains("it was changed"), "{from}");
    }
}
