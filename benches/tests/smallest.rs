//! Everything that is measured, at its smallest size: it runs to its end, finds its own results right, and says what it
//! takes.
//!
//! Some of it runs `tacita`, which `cargo test --workspace` builds beside it.

use std::process::{Command, Output};

use tacita_bench::MISSED;

/// A test for each name, with the arguments of its runs, and all names.
macro_rules! measures {
    ($($name:ident $([$($argument:literal),*])+)*) => {
        const LISTED: &[&str] = &[$(stringify!($name)),*];
        $(#[test]
        fn $name() {
            check(stringify!($name), &[$(&[$($argument),*]),+]);
        })*
    };
}

measures! {
    aggregate_dh ["4", "--runs", "1"]
    aggregate_store ["2000", "--batch", "300"]
    align ["4", "--runs", "1"]
    crosstab ["40", "--categories", "2", "--hidden", "--runs", "1"]
    desk ["20", "--desks", "3", "--seconds", "1"]
    dot_lattice ["1000", "--runs", "1"]
    dot_ot ["3", "--runs", "1"]
    files ["4", "--runs", "1"]
    handshake ["2", "--runs", "1"]
    intersect_buckets ["8", "4", "--runs", "1"]
    intersect_disk ["10"]
    intersect_ecdh ["4", "--runs", "1"]
    intersect_star ["10", "--runs", "1"]
    intersect_vole ["10", "--runs", "1"]
    kernel ["10", "--runs", "1"]
    lpn_estimate ["12"]
    okvs ["10", "--runs", "1"]
    ot ["10", "--runs", "1"]
    outsourced ["4", "--runs", "1"] ["3", "--parties", "3", "--reveal", "counts", "--runs", "1"]
    overlap ["2", "--runs", "1"]
    paillier ["512", "--runs", "1"]
    plan ["4", "--runs", "1"]
    points ["3", "--runs", "1"]
    rules ["1000", "--runs", "1"] ["300", "--hidden", "--runs", "1"]
    threshold ["2", "--runs", "1"]
    timing ["--seconds", "0.001", "--bits", "512", "--runs", "1"]
    union ["8", "--runs", "1"]
    union_switching ["4", "--runs", "1"]
    vole ["10", "--runs", "1"]
    goldwasser_micali ["512", "--runs", "1"]
    intersect_bloom ["100", "--runs", "1"]
    intersect_polynomial ["3", "--runs", "1"]
    paper_dc ["--most", "100", "--runs", "1"] ["beside", "--most", "100"] ["slow-line", "--most", "100", "--runs", "1"]
    paper_kk ["--most", "4", "--bits", "512", "--runs", "1"]
    paper_mnn ["--least", "2", "--most", "2", "--parties", "3", "--budget", "5", "--runs", "1"]
        ["sound", "--least", "2", "--most", "3", "--step", "1", "--parties", "2,3", "--budget", "5", "--runs", "1"]
    paper_raf ["stages", "--keys", "3", "--runs", "1"] ["parts", "--keys", "3", "--runs", "1"] ["products"]
        ["clients", "--clients", "2", "--each", "3", "--protocols", "naor-reingold", "--runs", "1"]
        ["replicas", "--keys", "3", "--each", "3", "--protocols", "dh", "--runs", "1"]
        ["loads", "--protocols", "naor-reingold", "--scale", "0.01", "--most", "20", "--runs", "1"]
        ["marks", "--keys", "3", "--runs", "1"]
    paper_yws ["512:300", "--runs", "1"]
    polynomials ["2", "--runs", "1"]
}

#[test]
fn everything_is_listed() {
    let listed = String::from_utf8(run_with(&[]).stdout).unwrap();
    assert_eq!(listed.lines().collect::<Vec<_>>(), LISTED, "what is not listed here is not tested");
}

#[test]
#[ignore = "slow: a process for each role of many runs"]
fn paper_mnn_with_several_sizes_and_parties() {
    let several = ["--least", "2", "--most", "3", "--step", "1", "--parties", "2,3", "--budget", "5", "--runs", "1"];
    check("paper_mnn", &[&several]);
}

/// Replicas have 32 participants, who each make reports together with a proxy here.
#[test]
#[ignore = "slow: many participants of naor-reingold"]
fn paper_raf_with_replicas_by_the_published_protocol() {
    let all = ["--keys", "3", "--clients", "2", "--each", "3", "--protocols", "naor-reingold", "--scale", "0.01"];
    check("paper_raf", &[&[&all[..], &["--most", "20", "--runs", "1"]].concat()]);
}

#[test]
fn another_name_is_refused() {
    let refused = run_with(&["vola"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("vola is not measured"), "{refused:?}");
}

fn check(name: &str, runs: &[&[&str]]) {
    for arguments in runs {
        let output = run(name, arguments);
        let text = format!("{arguments:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
        // Targets are for larger sizes, and for a machine that is otherwise idle.
        assert!([Some(0), Some(i32::from(MISSED))].contains(&output.status.code()), "{text}");
        assert!(output.stdout.iter().filter(|byte| **byte == b'\n').count() >= 2, "a heading and a row: {text}");
    }
    let help = run(name, &["--help"]);
    let text = String::from_utf8(help.stdout).unwrap();
    assert!(help.status.success() && text.contains("Usage:") && text.contains("Options:"), "{text}");
    assert!(!text.trim_start().starts_with("Usage:"), "it does not say what it measures: {text}");
    assert_eq!(run(name, &["--no-such-option"]).status.code(), Some(2), "wrong arguments are refused");
}

fn run(name: &str, arguments: &[&str]) -> Output {
    run_with(&[&[name], arguments].concat())
}

/// Runs without other data, which it would measure, too.
fn run_with(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tacita-bench")).args(arguments).env_remove("TACITA_DATA").output().unwrap()
}
