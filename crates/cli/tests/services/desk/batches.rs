//! Tables that are uploaded: how they are written, and what was not checked.

use crate::desk::fly::{Fly, LIMITS, LIST, TERMS};

/// Checks that an unchecked row is never counted as checked, and that the remaining quota is used.
#[test]
fn a_batch_uses_the_quota_up_and_says_what_it_did_not_check() {
    let terms = TERMS.replace("columns = [\"name\", \"dob\"]", "any = [[\"name\", \"dob\"], [\"name\"]]");
    let fly = Fly::new(&terms, &LIMITS.replace("1000", "7"), LIST);
    let mut authority = fly.serve();
    let mut desk = fly.desk("gate-1");
    let rows: String = (0..5).map(|row| format!("Nobody x{row},2000-01-01\n")).collect();
    let (page, csv) = desk.batch(&format!("name,dob\n{rows}"));
    let why = "the quota is used up: 2 keys are needed, and 1 is left";
    for words in [
        "<strong>3 of 5 checked, 2 NOT checked</strong>",
        "max=\"5\" value=\"3\"",
        "<strong>2 of 5 NOT checked</strong>",
        "Done: 0 on the list, 3 not on the list, 2 not checked",
        why,
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert_eq!((csv.matches(",not on the list,").count(), csv.matches(",not checked,").count()), (3, 2), "{csv}");
    assert_eq!(desk.left(), 1);
    // The log says what the page does.
    desk.running.until_it_says(&format!("batch 1: 3 of 5 checked, 2 NOT checked: {why}"));
    authority.until_it_says("gate-1: its quota is used up: it asked for 10 keys, and may ask for 7 more");
    assert!(desk.check("Nobody", "2000-01-01", "").contains(why));
}

#[test]
fn a_table_in_another_form_is_uploaded_with_what_its_sender_says() {
    let fly = Fly::new(TERMS, LIMITS, LIST);
    let _authority = fly.serve();
    let desk = fly.desk("gate-1");
    // In latin1, with other headers, a delimiter that is none of the usual ones, and a value of two lines.
    let table =
        "Buchung:Fluggast:geboren\nB1:\"B\u{c9}RYN\nBELLQUIST\":1948-05-21\nB2:Nobody:?\nB3:Nobody:1999-09-09\n";
    let latin1: Vec<u8> = table.chars().map(|letter| letter as u8).collect();
    let refused = |choices: &[(&str, &str)], words: &[&str]| {
        let answer = desk.upload_as(&latin1, choices);
        assert_eq!(answer.status, 400, "{answer:?}");
        for word in words {
            assert!(answer.body.contains(word), "{word}: {}", answer.body);
        }
        assert!(!answer.body.contains("--") && !answer.body.contains("command line"), "{}", answer.body);
    };
    let (encoding, delimiter) = (("encoding", "windows-1252"), ("delimiter", ":"));
    let (name, dob) = (("column-name", "Fluggast"), ("column-dob", "geboren"));
    refused(&[], &["is not UTF-8; if the file is in another encoding, choose it as &quot;Encoding&quot;"]);
    refused(&[("encoding", "klingon")], &["is not known"]);
    refused(&[("delimiter", "xy"), encoding], &["Delimiter"]);
    let missing =
        "no column &quot;name&quot;; its columns are &quot;Buchung&quot;, &quot;Fluggast&quot;, &quot;geboren&quot;";
    refused(&[encoding, delimiter], &[missing, "&quot;Column with name&quot;"]);
    refused(&[encoding, delimiter, name], &["no column &quot;dob&quot;", "&quot;Column with dob&quot;"]);
    // References that are not there are missed, and not left out in silence.
    let columns = "no column &quot;PNR&quot; for references; its columns are &quot;Buchung&quot;";
    refused(&[encoding, delimiter, name, dob, ("reference", "PNR")], &[columns]);
    assert_eq!(desk.left(), 1000, "nothing was asked");

    let choices = [encoding, delimiter, name, dob, ("reference", "Buchung")];
    let (page, csv) = desk.ended(desk.upload_as(&latin1, &choices));
    assert!(page.contains("2 of 3 checked, 1 NOT checked"), "{page}");
    // Lines are those of the file.
    let expected = "row,reference,verdict,by,reason,line\n1,B1,on the list,name + dob,,2\n2,B2,not checked,,cannot be read: dob,4\n3,B3,not on \
                    the list,,,5\n";
    assert_eq!(csv, expected);
    assert!(page.contains("<td data-of=\"Line\">4</td>"), "{page}");
    // The next table is often written alike.
    let main = desk.get("/").body;
    for kept in [
        "<details open>",
        "value=\"Fluggast\"",
        "value=\"windows-1252\" selected",
        "value=\":\" selected",
        "value=\"Buchung\"",
    ] {
        assert!(main.contains(kept), "{kept}: {main}");
    }

    for (table, words) in [
        (&b"PAR1...."[..], "a Parquet file"),
        (b"PK\x03\x04....", "a spreadsheet"),
        (b"\x1f\x8b\x08....", "compressed with gzip"),
    ] {
        let answer = desk.upload_as(table, &[]);
        assert!(answer.status == 400 && answer.body.contains(words), "{answer:?}");
        assert!(answer.body.contains("save it as CSV, and upload that"), "{}", answer.body);
    }
}

/// The party's own words on how its files are written hold for the page, too.
#[test]
fn a_table_is_read_as_the_job_file_says() {
    let fly = Fly::new(TERMS, LIMITS, LIST);
    let job = crate::common::text(&fly.job);
    std::fs::write(&fly.job, job.replace("[parties.airline]\n", "[parties.airline]\nskip = 1\n")).unwrap();
    let _authority = fly.serve();
    let desk = fly.desk("gate-1");
    let (_, csv) = desk.batch("Flight TC101 of today\nreference,name,dob\nB1,beryn bellquist,1948-05-21\n");
    assert!(csv.contains("1,B1,on the list,name + dob,,3\n"), "{csv}");
}
