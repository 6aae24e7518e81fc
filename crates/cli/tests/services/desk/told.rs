//! Tests of the messages to people: the owner who adds rows, and the clerk who types.

use serde_json::{Value, json};

use crate::common::{Running, tacita};
use crate::desk::fly::{Fly, LIMITS, LIST, TERMS};

/// Whoever adds rows hears which of them nobody would find.
#[test]
fn the_owner_hears_which_rows_cannot_be_found() {
    let fly = Fly::new(TERMS, LIMITS, LIST);
    let mut authority = fly.serve();
    let told = fly.change("--add", "\"THORNQUAY, Wystan\",1982-12-25\n\"MARROWGATE, Ysolde\",25 Dezember 82\n\"NAMELESS, Only\",\nA,2000-01-01\nB,2000-01-01\n");
    let lines: Vec<_> = told.lines().collect();
    assert_eq!(lines[0], "added 3 rows; 0 there already; 6 on the list");
    assert!(
        lines[1].ends_with("change.csv: 2 of 5 rows CANNOT BE FOUND, as they have no key that can be read:"),
        "{told}"
    );
    assert!(lines[2].ends_with("change.csv, line 3: cannot be read: dob"), "{told}");
    assert!(lines[3].ends_with("change.csv, line 4: no value: dob"), "{told}");
    // No value is among it, and the log says the same.
    assert!(!told.contains("MARROWGATE") && !told.contains("Dezember"), "{told}");
    lines.iter().for_each(|line| authority.until_it_says(line));
    assert_eq!(fly.change("--add", "C,2000-01-01\n"), "added 1 row; 0 there already; 7 on the list\n");
    assert_eq!(fly.tell(&["--rotate"]), "Key rotated.\n");
    // The ledger has what was ordered, while the list is served.
    let shown = tacita(&["ledger", "show", "1", "--identity", &fly.home.at("authority")]).well().stdout;
    let entry: Value = serde_json::from_str(&shown).unwrap();
    let changes: Vec<_> =
        entry["changes"].as_array().unwrap().iter().map(|change| (&change["what"], &change["rows"])).collect();
    assert_eq!(changes, [(&json!("add"), &json!(3)), (&json!("add"), &json!(1)), (&json!("rotate"), &Value::Null)]);
    assert_eq!(entry["ended"], Value::Null);
}

/// Checks that typed text stays as long as it was not checked, and that the hint says what to do.
#[test]
fn what_was_typed_stays_until_it_was_checked() {
    let fly = Fly::new(TERMS, LIMITS, LIST);
    let _authority = fly.serve();
    let desk = fly.desk("gate-1");
    let page = desk.page_after("Beryn Bellquist", "21 Mai 48", "r<3>");
    for kept in [
        "name=\"field-name\" value=\"Beryn Bellquist\"",
        "name=\"field-dob\" value=\"21 Mai 48\"",
        "value=\"r&lt;3&gt;\"",
    ] {
        assert!(page.contains(kept), "{kept}: {page}");
    }
    let page = desk.page_after("Beryn Bellquist", " ", "");
    assert!(page.contains("enter a name and a date of birth") && page.contains("value=\"Beryn Bellquist\""), "{page}");
    // The next one begins with empty fields.
    let page = desk.page_after("Beryn Bellquist", "1948-05-21", "r1");
    assert!(page.contains("On the list") && page.contains("name=\"field-name\" value=\"\""), "{page}");
    assert!(page.contains("name=\"reference\" value=\"\" maxlength=\"64\""), "{page}");
    // Browsers ask for an icon.
    assert!(page.contains("href=\"icon.svg\""));
    let icon = desk.get("/icon.svg");
    assert!(icon.status == 200 && icon.headers.contains("image/svg+xml"), "{icon:?}");
}

/// One rule for all that stands: a signal ends it, and well.
#[test]
fn a_signal_ends_what_stands_and_a_second_one_at_once() {
    let fly = Fly::new(TERMS, LIMITS, LIST);
    let authority = fly.serve();
    let desk = fly.desk("gate-1");
    let _: &Running = &desk.running;
    desk.running.stop().well();
    authority.stop().well();
    tacita(&["serve", "--state", &fly.home.at("state"), "--status"]).failed(2, &["no `tacita serve` runs there"]);
}
