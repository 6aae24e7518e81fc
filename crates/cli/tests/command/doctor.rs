//! `tacita doctor`: what takes two parties, and what is on the own disk.

use std::net::TcpListener;
use std::time::{Duration, SystemTime};

use crate::common::{Home, NAMES, Pair, Running, tacita};
use tacita_node::identity::Identity;

const ROWS: &str = "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"hospital\"]\n[key]\ncolumns = [\"name\"]\n[limits]\nmax_rows = 100";

/// A party's doctor, who meets the other's.
fn doctor(pair: &Pair, name: &str, more: &[&str]) -> Running {
    let (job, identity) = (pair.home.at(&format!("{name}.toml")), pair.home.at(name));
    let timeout: &[&str] = if more.contains(&"--timeout") { &[] } else { &["--timeout", "10s"] };
    Running::start(&[&["doctor", &job, "--as", name, "--identity", &identity, "--meet"], timeout, more].concat())
}

#[test]
fn two_doctors_meet_and_find_nothing_to_mend() {
    let pair = Pair::new(ROWS);
    let both = NAMES.map(|name| doctor(&pair, name, &[]));
    for (ended, peer) in both.map(Running::end).into_iter().zip(["insurer", "hospital"]) {
        let said = ended.well().stdout;
        for words in [
            &format!("ok    meet       connected with {peer}, and each has proved its identity"),
            &format!("ok    clock      {peer}'s is "),
            &format!("ok    terms      as {peer}'s (agreement "),
            "Nothing to mend.",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
    }
}

#[test]
fn terms_that_differ_are_named_at_both() {
    let pair = Pair::new(ROWS);
    pair.home.file("insurer.toml", &pair.job(&ROWS.replace("max_rows = 100", "max_rows = 7")));
    let both = NAMES.map(|name| doctor(&pair, name, &[]));
    for ended in both.map(Running::end) {
        assert_eq!(ended.code, 2);
        for words in ["ok    meet", "MEND  terms", "limits.max_rows (ours", "the same job file", "1 thing to mend"] {
            assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
        }
    }
}

/// Somebody else's key, at either end.
#[test]
fn another_identity_is_told_at_both() {
    let pair = Pair::new(ROWS);
    tacita(&["identity", "new", &pair.home.at("other")]).well();
    let job = pair.home.at("insurer.toml");
    let start = ["doctor", &job, "--as", "insurer", "--identity", &pair.home.at("other"), "--meet", "--timeout", "2s"];
    let (hospital, insurer) = (doctor(&pair, "hospital", &["--timeout", "3s"]), Running::start(&start));
    let insurer = insurer.end();
    assert!(insurer.code == 2 && insurer.stdout.contains("it refused our identity"), "{}", insurer.stdout);
    let hospital = hospital.end();
    assert!(hospital.code == 2 && hospital.stdout.contains("tacita identity show"), "{}", hospital.stdout);
}

/// A run that is met is told, and goes on waiting; so is a run that meets a doctor.
#[test]
fn a_doctor_and_a_run_leave_each_other_alone() {
    let pair = Pair::new(ROWS);
    NAMES.iter().for_each(|name| pair.table(name, "name\nAnna\n"));
    // The run listens.
    let mut hospital = pair.start("hospital", &[]);
    hospital.until_it_says("waiting for insurer");
    let seen = doctor(&pair, "insurer", &[]).end().well();
    assert!(
        seen.stdout.contains("note  meet       hospital can be reached") && seen.took < Duration::from_secs(5),
        "{}",
        seen.stdout
    );
    hospital.until_it_says("insurer's doctor was here");
    pair.start("insurer", &[]).end().well();
    hospital.end().well();
    // The run dials: the doctor is done, and the run finds the other's run afterwards.
    let listening = doctor(&pair, "hospital", &[]);
    let mut insurer = pair.start("insurer", &[]);
    let seen = listening.end().well();
    assert!(seen.stdout.contains("note  meet       insurer can be reached"), "{}", seen.stdout);
    insurer.until_it_says("dialing");
    pair.start("hospital", &[]).end().well();
    insurer.end().well();
    // A run that meets nothing but a doctor's port says so.
    let pair = Pair::new(ROWS);
    pair.table("insurer", "name\nAnna\n");
    let alone = pair.start("insurer", &["--timeout", "1s"]).end();
    alone.failed(3, &["connection refused"]);
}

#[test]
fn nobody_there_is_told_in_time_with_what_to_look_at() {
    let pair = Pair::new(ROWS);
    for (name, words) in [
        ("insurer", ["did not answer", "connection refused", "is the address right?", "with --meet, too"]),
        ("hospital", ["did not connect to", "nobody did", "in the same order?", "with --meet, too"]),
    ] {
        let ended = doctor(&pair, name, &["--timeout", "1s"]).end();
        assert!(ended.code == 2 && ended.took < Duration::from_secs(5));
        words.iter().for_each(|word| assert!(ended.stdout.contains(word), "{word}: {}", ended.stdout));
    }
    // A port where something else answers.
    let listener = TcpListener::bind(&pair.address).unwrap();
    let other = std::thread::spawn(move || {
        use std::io::Write;
        listener.accept().unwrap().0.write_all(b"SSH-2.0-hello\r\n").unwrap();
    });
    let ended = doctor(&pair, "insurer", &["--timeout", "1s"]).end();
    assert!(ended.code == 2 && ended.stdout.contains("MEND  meet"), "{}", ended.stdout);
    other.join().unwrap();
    // A job without fingerprints.
    let job = ROWS.to_owned() + "\n[parties.hospital]\naddress = \"ADDRESS\"\n[parties.insurer]\n";
    pair.home.file("insurer.toml", &pair.job(&job));
    let ended = doctor(&pair, "insurer", &[]).end();
    assert!(ended.stdout.contains("no peer was met: parties.hospital.identity is missing"), "{}", ended.stdout);
}

/// A certificate whose dates are over is refused by the one, and explained to the other.
#[test]
fn a_certificate_that_has_expired_is_told() {
    let mut pair = Pair::new(ROWS);
    let day = Duration::from_secs(24 * 3600);
    let old = Identity::generate("x", SystemTime::now() - 9 * day, SystemTime::now() - 2 * day).unwrap();
    pair.identify("insurer", &old);
    let both = [doctor(&pair, "hospital", &["--timeout", "2s"]), doctor(&pair, "insurer", &["--timeout", "2s"])];
    let [hospital, insurer] = both.map(Running::end);
    assert!(hospital.stdout.contains("its certificate expired"), "{}", hospital.stdout);
    assert!(
        insurer.stdout.contains("our certificate's dates") && insurer.stdout.contains("tacita identity renew"),
        "{}",
        insurer.stdout
    );
}

#[test]
fn room_and_rights_are_looked_at() {
    let home = Home::new();
    let pair = Pair::new(ROWS);
    let table = home.file("in.csv", "name\nAnna\n");
    let look = |name: &str, more: &[&str]| {
        let (job, identity) = (pair.home.at(&format!("{name}.toml")), pair.home.at(name));
        tacita(&[&["doctor", &job, "--as", name, "--identity", &identity, "--input", &table], more].concat())
    };
    let good =
        look("hospital", &["--force", "--output", &home.at("out.csv"), "--work", &home.at("work")]).well().stdout;
    for words in ["ok    output", "out.csv can be written", "ok    work", " free"] {
        assert!(good.contains(words), "{words}: {good}");
    }
    assert!(!home.at("work").is_empty() && !std::path::Path::new(&home.at("work")).exists(), "nothing is made");
    let learns_nothing = look("insurer", &["--force", "--output", &home.at("out.csv")]).stdout;
    assert!(learns_nothing.contains("note  output     insurer learns nothing"), "{learns_nothing}");
    for (place, words) in [("none/out.csv", "there is no directory"), ("out.doc", "MEND  output")] {
        let bad = look("hospital", &["--force", "--output", &home.at(place)]);
        assert!(bad.code == 2 && bad.stdout.contains(words), "{}", bad.stdout);
    }
    let open = home.directory("open");
    std::fs::set_permissions(&open, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let bad = look("hospital", &["--work", &open]);
    assert!(bad.code == 2 && bad.stdout.contains("chmod 700"), "{}", bad.stdout);
    // The file system of the kernel's own files has no room at all.
    let full = look("hospital", &["--work", "/proc/self"]);
    assert!(full.code == 2 && full.stdout.contains("MEND  work"), "{}", full.stdout);
}

/// Rows that nobody finds are found before the run.
#[test]
fn rows_that_cannot_be_used_are_to_be_mended() {
    let terms = |limits: &str| {
        format!(
            "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"hospital\"]\n[key]\ncolumns = [\"born\"]\nnormalize = [\"date\"]\n{limits}"
        )
    };
    let rows = |bad: usize, missing: usize| {
        let good: String = (0..200 - bad - missing).map(|day| format!("{}-01-01\n", 1700 + day)).collect();
        format!("born\n{good}{}{}", "1/2/1980\n".repeat(bad), "\"\"\n".repeat(missing))
    };
    for (limits, bad, missing, code, words) in [
        ("", 2, 2, 0, "ok    input"),
        ("", 3, 0, 2, "MEND  input"),
        ("", 0, 3, 0, "note  input      3 of 200 rows have no key"),
        ("[limits]\nmax_unreadable = \"2%\"", 3, 0, 0, "note  input      3 of 200 rows have a key that cannot be read"),
        ("[limits]\nmax_unreadable = \"2%\"", 5, 0, 2, "hospital has 5 rows whose key cannot be read"),
        ("[limits]\nmax_null = 2", 0, 3, 2, "limits.max_null is 2"),
        ("[limits]\nmin_rows = 201", 0, 0, 2, "limits.min_rows is 201"),
    ] {
        let pair = Pair::new(&terms(limits));
        pair.table("hospital", &rows(bad, missing));
        let at = |name: &str| pair.home.at(name);
        let ended = tacita(&[
            "doctor",
            &at("hospital.toml"),
            "--as",
            "hospital",
            "--identity",
            &at("hospital"),
            "--input",
            &at("hospital.csv"),
        ]);
        assert_eq!(ended.code, code, "{limits}, {bad}, {missing}: {}", ended.stdout);
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
}
