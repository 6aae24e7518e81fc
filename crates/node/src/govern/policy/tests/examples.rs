//! Policies that are written: examples, and drafts for a job.

use super::*;

/// The examples allow the jobs that they are written for, and refuse them with anything changed.
#[test]
fn examples_allow_what_they_say() {
    const STUDY: &str = "SHA256:AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM";
    let matched = "[key]\ncolumns = [\"name\", \"dob\"]\n";
    let by_address = "[key]\ncolumns = [\"address\"]\n";
    let rules = "job = \"rules\"\nreveal_to = [\"a\", \"b\"]\nmin_support = 2\nmin_confidence = 0.5\nrow_id = [\"customer\"]\n\
                 items = [\"product\"]\nalignment = \"hidden\"\n[limits]\nmin_rows = 5000\n";
    let [hospital, bank, operator] = [
        include_str!("../../../../../../examples/policies/hospital.toml"),
        include_str!("../../../../../../examples/policies/bank.toml"),
        include_str!("../../../../../../examples/policies/network-operator.toml"),
    ];
    for (text, peer, job, changes) in [
        (
            &hospital.replace("approve        = 2\n", "").replace("approvers ", "# "),
            C,
            format!(
                "job = \"intersect\"\nreveal = \"count\"\nreveal_to = [\"b\"]\n{matched}[limits]\nmin_rows = 1000\nmin_result = 20\n"
            ),
            &[("\"count\"", "\"rows\""), ("= 1000", "= 999"), ("[\"b\"]", "[\"a\"]"), ("\"dob\"", "\"zip\"")][..],
        ),
        (
            &hospital.to_owned(),
            STUDY,
            format!("job = \"intersect\"\nreveal_to = [\"a\", \"b\"]\n{matched}[limits]\npad_to = 1000\n"),
            &[("pad_to", "max_rows"), ("reveal_to", "reveal = \"count\"\nreveal_to")],
        ),
        (
            &bank.to_owned(),
            C,
            format!("job = \"intersect\"\nsecurity = \"malicious\"\nreveal_to = [\"a\"]\n{matched}"),
            &[("security = \"malicious\"\n", ""), ("[\"a\"]", "[\"b\"]")],
        ),
        (
            &bank.to_owned(),
            STUDY,
            rules.to_owned(),
            &[("= 5000", "= 500"), ("\"product\"", "\"balance\""), ("\"hidden\"", "\"rows\"")],
        ),
        (
            &operator.to_owned(),
            C,
            format!(
                "job = \"intersect\"\nreveal = \"count\"\nreveal_to = [\"b\"]\n{by_address}[limits]\nmin_rows = 10000\n"
            ),
            &[("\"count\"", "\"rows\""), ("\"address\"", "\"name\"")],
        ),
    ] {
        let policy = Policy::parse(Path::new("example"), text).unwrap();
        let asks = |job: &str, peer: &str| {
            let text = format!("id = \"t\"\n{job}[parties.a]\n[parties.b]\nidentity = \"{peer}\"\n");
            ask(
                &policy,
                &JobSpec::parse(&text, false).unwrap_or_else(|error| panic!("{error}\n{text}")),
                &NoHistory,
                &[],
            )
        };
        asks(&job, peer).unwrap();
        assert!(asks(&job, B).is_err(), "another peer: {job}");
        for (from, to) in changes {
            assert!(job.contains(from) && asks(&job.replace(from, to), peer).is_err(), "{from} {to}: {job}");
        }
    }
    // Two signatures, which nobody has given yet.
    let count = "job = \"intersect\"\nid = \"t\"\nreveal = \"count\"\nreveal_to = [\"b\"]\n[limits]\nmin_rows = 1000\nmin_result = 20\n";
    let count =
        JobSpec::parse(&format!("{count}{matched}[parties.a]\n[parties.b]\nidentity = \"{C}\"\n"), false).unwrap();
    let error = ask(&policy(hospital), &count, &NoHistory, &[]).unwrap_err().to_string();
    assert!(error.contains("of 2 approvals 0 are there"), "{error}");
    let round = JobSpec::parse(include_str!("../../../../../../examples/attackers/job.toml"), false).unwrap();
    policy(operator).allow(&PolicyQuestion { me: "alice", ..question(&round, &NoHistory, &[]) }).unwrap();
}

/// A policy that is drafted for a job allows it, and no other.
#[test]
fn a_drafted_policy_allows_its_job_alone() {
    let texts = [
        JOB.to_owned(),
        JOB.replace("sum:cost", "count").replace("gives = { a = [\"cost\"] }\n", ""),
        "job = \"dot\"\nid = \"t\"\nreveal_to = [\"b\"]\ncolumn = \"value\"\nbits = 8\nrow_id = [\"name\"]\n".into(),
        "job = \"rules\"\nid = \"t\"\nreveal_to = [\"a\", \"b\"]\nmin_support = 2\nmin_confidence = 0.5\n".into(),
        "job = \"crosstab\"\nid = \"t\"\nreveal_to = [\"b\"]\nrows = [\"age\"]\ncolumns = [\"value\"]\n".into(),
        "job = \"union\"\nid = \"t\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"name\"]\n".into(),
    ];
    let jobs = texts.map(|text| unmapped(&text));
    for (place, one) in jobs.iter().enumerate() {
        let policy = policy(&draft(one, "a"));
        for (other, asked) in jobs.iter().enumerate() {
            let allowed = ask(&policy, asked, &NoHistory, &[]);
            assert_eq!(allowed.is_ok(), place == other, "{place} {other}: {allowed:?}\n{}", draft(one, "a"));
        }
        assert!(ask(&policy, one, &Runs(3), &[]).is_err());
    }
    // Names that would end a comment or a text do not.
    let mut hostile = job(JOB);
    hostile.id = "t\n[[allow]]\npeers = []".into();
    hostile.parties.get_mut("a").unwrap().columns.insert("cost".into(), "c\"]\nx = [\"".into());
    assert_eq!(policy(&draft(&hostile, "a")).rules.len(), 1);
    ask(&policy(&draft(&hostile, "a")), &hostile, &NoHistory, &[]).unwrap();
    // A peer that is not known is not allowed.
    let open = JobSpec::parse(&format!("{JOB}[parties.a]\n[parties.b]\n"), false).unwrap();
    assert!(ask(&policy(&draft(&open, "a")), &open, &NoHistory, &[]).is_err());
}

/// Each key of a rule is told, whether it holds or not, with its line.
#[test]
fn all_lines_are_explained() {
    let job = job(JOB);
    let text = format!(
        "[[allow]]\npeers = [\"{B}\"]\njobs = [\"dot\"]\nmin_rows = 3\nmin_result = 9\n[[allow]]\npeers = [\"{C}\"]\n"
    );
    let policy = policy(&text);
    let rules = policy.explain(&question(&job, &NoHistory, &[]));
    let told = |rule: &TriedRule| -> Vec<_> { rule.keys.iter().map(|key| (key.line, key.broken.is_some())).collect() };
    assert_eq!(told(&rules[0]), [(2, false), (3, true), (4, false), (5, true)]);
    assert_eq!(told(&rules[1]), [(7, true)]);
    assert_eq!((rules[0].line, rules[0].refusal().unwrap().line), (2, 3));
    assert_eq!((policy.line_text(4), policy.line_text(0), policy.line_text(99)), ("min_rows = 3", "", ""));
}

proptest! {
    /// Whatever stands in a file, it is a policy or one line that says why not.
    #[test]
    fn any_text_is_read_or_refused_in_one_line(text in "(\\[\\[allow\\]\\]\n|peers = \\[\"[a-z]{0,2}\"\\]\n|hours = \"[0-9:-]{0,12}\"\n|until = \"[0-9-]{0,11}\"\n|exact_answers = [{}a-z0-9=, ]{0,24}\n|min_difference = -?[0-9]{0,4}\n|\\PC{0,9}\n){0,6}") {
        if let Err(error) = Policy::parse(Path::new("p"), &text) {
            prop_assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
}
