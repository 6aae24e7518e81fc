//! Keys of different strictness: somebody who is listed by a year alone is found, as a possible match.

use crate::common::{tacita, text};
use crate::desk::fly::{Fly, LIMITS};

const TERMS: &str = "job = \"intersect\"\nid = \"fly\"\nreveal = \"rows\"\nreveal_to = [\"airline\"]\n[key]\n\
    any = [[\"name\", \"dob\"], { columns = [\"name\", \"year\"], verdict = \"possible\" }]\n\
    normalize = { name = \"name\", dob = \"date\", year = \"year\" }\n[clients]\nallow = \"desks.txt\"\n";

const LIST: &str =
    "name,dob\n\"BELLQUIST, Béryn\",1948-05-21\n\"ESTERVALE, Zdeněk\",1939\n\"NODATE, Only\",\n\"ODD, Only\",spring\n";

fn fly() -> Fly {
    let fly = Fly::new(TERMS, LIMITS, LIST);
    let columns = "columns = { year = \"dob\" }\n";
    let job = text(&fly.job).replace("[parties.airline]\n", &format!("{columns}[parties.airline]\n{columns}"));
    std::fs::write(&fly.job, job).unwrap();
    fly
}

#[test]
fn who_is_listed_by_a_year_alone_is_found() {
    let fly = fly();
    let authority = fly.serve();
    // The owner hears who cannot be found, and who is by some keys alone.
    for said in [
        "list.csv: 2 of 4 rows CANNOT BE FOUND, as they have no key that can be read:",
        "list.csv, line 4: no value: dob",
        "list.csv, line 5: cannot be read: dob",
        "list.csv: 1 of 4 rows can be found by some of the keys alone, the first in line 3: by name + year",
        "name and year (a possible match)",
    ] {
        assert!(authority.said().contains(said) || said.starts_with("name"), "{said}: {}", authority.said());
    }
    let desk = fly.desk("gate-1");
    let main = desk.get("/").body;
    assert!(main.contains("(a possible match)") && main.contains("a year alone if no more is known"), "{main}");
    for (name, born, words) in [
        ("Beryn Bellquist", "21 May 1948", &["<strong>On the list</strong>", "; match by name + dob; name + year"][..]),
        ("Zdenek Estervale", "1939-03-16", &["<strong>Possible match</strong>", "; possible match by name + year"]),
        (
            "Zdenek Estervale",
            "1939",
            &["Possible match", "not asked, because a value cannot be read for it: name + dob"],
        ),
        ("Beryn Bellquist", "1948-05-22", &["<strong>Possible match</strong>"]),
        ("Zdenek Estervale", "1940-03-16", &["<strong>Not on the list</strong>"]),
        ("Only Nodate", "1950-01-01", &["<strong>Not on the list</strong>"]),
        ("Zdenek Estervale", "some day", &["<strong>Not checked</strong>", "cannot be read: dob"]),
    ] {
        let said = desk.check(name, born, "");
        for word in words {
            assert!(said.contains(word), "{name}, {born}: {word}: {said}");
        }
    }
    let (page, csv) = desk.batch(
        "ref,name,dob\nB1,beryn bellquist,19480521\nB2,zdenek estervale,1939-03-16\nB3,nobody,1939\nB4,zdenek estervale,\n",
    );
    assert!(page.contains("Done: 1 on the list, 1 a possible match, 1 not on the list, 1 not checked"), "{page}");
    assert!(page.contains("3 of 4 checked, 1 NOT checked"), "{page}");
    assert!(page.contains("1 of those not on the list were checked by some of the keys alone"), "{page}");
    for line in [
        "1,B1,on the list,name + dob; name + year,,2\n",
        "2,B2,possible match,name + year,,3\n",
        "4,B4,not checked,,no value: dob,5\n",
    ] {
        assert!(csv.contains(line), "{line}: {csv}");
    }
    assert_eq!(text(fly.home.at("gate-1.jsonl")).matches("\"verdict\":\"possible match\"").count(), 4);
    let standing = desk.standing();
    assert_eq!((&standing["possible"], &standing["counts"]), (&4.into(), &serde_json::json!([2, 3, 2])));
}

/// Verdicts are agreed on: a desk that takes a possible match for more is told.
#[test]
fn verdicts_are_a_part_of_the_terms() {
    let fly = fly();
    let _authority = fly.serve();
    let other = fly.home.file("other.toml", &text(&fly.job).replace("\"possible\"", "\"match\""));
    let fly = Fly { job: other, ..fly };
    let desk = fly.desk_alone("gate-2");
    desk.until(|standing| standing["text"].as_str().is_some_and(|text| text.contains("key.verdicts")));
}

/// Without a page, for scripts: verdicts on standard output, and an exit code that says whether all were checked.
#[test]
fn a_table_is_checked_by_a_command() {
    let fly = fly();
    let _authority = fly.serve();
    let (identity, verdicts) = (fly.home.at("gate-1"), fly.home.at("v.jsonl"));
    let check = |table: &str, more: &[&str]| {
        let file = fly.home.file("flight.csv", table);
        let fixed = ["desk", &fly.job, "--as", "airline", "--identity", &identity, "--verdicts", &verdicts];
        tacita(&[&fixed[..], &["--check", &file], more].concat())
    };
    let well = check("reference,name,dob\nB1,beryn bellquist,19480521\nB2,zdenek estervale,1939-03-16\n", &[]).well();
    assert_eq!(
        well.stdout,
        "row,reference,verdict,by,reason,line\n1,B1,on the list,name + dob; name + year,,2\n2,B2,possible match,name + year,,3\n"
    );
    assert!(well.stderr.contains("2 of 2 checked"), "{}", well.stderr);
    let odd = check("name,dob\nNobody,?\nNobody,1939\n", &[]);
    odd.failed(2, &["flight.csv: 1 row NOT checked"]);
    assert!(odd.stdout.contains("1,,not checked,,cannot be read: dob,2\n2,,not on the list,"), "{}", odd.stdout);
    check("name,dob\nNobody,1939-01-01\n", &["--reference", "pnr"]).failed(2, &["no column \"pnr\" for references"]);
    let many = format!("name,dob\n{}", "Nobody,1939-01-01\n".repeat(600));
    let spent = check(&many, &[]);
    spent.failed(75, &["the quota is used up: 2 keys are needed, and 0 are left"]);
    // 1,000 keys a day; six were used.
    assert_eq!(spent.stdout.matches(",not on the list,").count(), 497, "{}", spent.stderr);
    assert!(spent.stderr.contains("497 of 600 checked, 103 NOT checked"), "{}", spent.stderr);
}
