//! The normalisation profiles: every example of their document, and what must hold for all values.

use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};
use tacita_node::table::Profile;
use tacita_node::table::normalize::Reading;

fn read(profile: Profile, value: &str) -> Option<String> {
    let mut out = String::from("before");
    match profile.canonical(value, &mut out) {
        Reading::Value => Some(out.strip_prefix("before").expect("canonical forms are appended").to_string()),
        _ => {
            assert_eq!(out, "before", "nothing is appended where there is no canonical form");
            None
        }
    }
}

/// The text of a table cell: between backticks, with \t and \u{...}.
fn cell(text: &str) -> String {
    let inner = text.trim().strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    let mut rest = inner.unwrap_or_else(|| panic!("{text:?} is not in backticks"));
    let mut out = String::new();
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(tail) = rest.strip_prefix("u{") {
            let (code, tail) = tail.split_once('}').expect("the escape ends");
            out.push(char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap());
            rest = tail;
        } else {
            out.push('\t');
            rest = rest.strip_prefix('t').expect("the only other escape is \\t");
        }
    }
    out + rest
}

#[test]
fn every_example_of_the_document_holds() {
    let document = include_str!("../../../../docs/normalization.md");
    let mut vectors = Vec::new();
    for line in document.lines() {
        let cells: Vec<_> = line.trim_matches('|').split('|').collect();
        let Some(profile) = cells[0].trim().strip_prefix('`').and_then(|rest| rest.strip_suffix('`')) else { continue };
        let (3, Ok(profile)) = (cells.len(), profile.parse::<Profile>()) else { continue };
        let (value, expected) = (cell(cells[1]), cells[2].trim());
        let (name, mut out) = (profile.to_string(), String::new());
        let reading = profile.canonical(&value, &mut out);
        match expected {
            "*null*" => assert_eq!(reading, Reading::Null, "{line}"),
            "*unreadable*" => assert_eq!((reading, out.as_str()), (Reading::Unreadable, ""), "{line}"),
            _ => {
                assert_eq!((reading, out.as_str()), (Reading::Value, cell(cells[2]).as_str()), "{line}");
                assert_eq!(read(profile, &out), Some(out.clone()), "{line}: the canonical form is canonical");
            }
        }
        vectors.push(match reading {
            Reading::Value => json!({ "profile": name, "value": value, "canonical": out }),
            Reading::Null => json!({ "profile": name, "value": value, "reading": "null" }),
            Reading::Unreadable => json!({ "profile": name, "value": value, "reading": "unreadable" }),
        });
    }
    assert!(vectors.len() > 120, "only {} examples were found", vectors.len());
    in_vectors(json!({ "specification": "docs/normalization.md", "readings": vectors }));
}

/// Checks that the vectors for other implementations are the examples of the document. `TACITA_GOLDENS=write` writes
/// them.
fn in_vectors(examples: Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/normalization.json");
    if std::env::var("TACITA_GOLDENS").is_ok_and(|what| what == "write") {
        std::fs::write(&path, serde_json::to_string_pretty(&examples).unwrap() + "\n").unwrap();
    }
    let file: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert!(file == examples, "vectors/normalization.json says something else: TACITA_GOLDENS=write");
    for vector in file["readings"].as_array().unwrap() {
        let text = |key: &str| vector[key].as_str().map(str::to_owned);
        let (profile, value) = (text("profile").unwrap().parse().unwrap(), text("value").unwrap());
        assert_eq!(read(profile, &value), text("canonical"), "{vector}");
    }
}

#[test]
fn names_of_profiles() {
    for name in [
        "none",
        "text",
        "name",
        "latin",
        "initials",
        "date",
        "date:DMY",
        "date:MDY",
        "year",
        "timestamp",
        "timestamp:Europe/Vienna",
        "email",
        "domain",
        "phone",
        "phone:DE",
        "ip",
        "integer",
        "decimal",
    ] {
        let profile: Profile = name.parse().unwrap();
        assert_eq!(profile.to_string(), name);
        assert_eq!(Some(profile.kind()), name.split(':').next());
    }
    for name in ["", "Name", "date:YMD", "phone:", "phone:de", "phone:XX", "name:x", "timestamp:", "timestamp:Vienna"] {
        assert!(name.parse::<Profile>().is_err(), "{name}");
    }
}

fn profiles() -> impl Strategy<Value = Profile> {
    let names = [
        "none",
        "text",
        "name",
        "latin",
        "initials",
        "date",
        "date:DMY",
        "date:MDY",
        "year",
        "timestamp",
        "timestamp:America/New_York",
        "email",
        "domain",
        "phone",
        "ip",
        "integer",
        "decimal",
    ];
    let others = prop::sample::select(names.to_vec()).prop_map(|name| name.parse().unwrap());
    prop_oneof![5 => others, 1 => prop::sample::select(phones())]
}

/// `phone`, and `phone:CC` for every country.
fn phones() -> Vec<Profile> {
    let letters = || 'A'..='Z';
    let countries = letters().flat_map(|one| letters().map(move |other| format!("phone:{one}{other}")));
    let phones: Vec<Profile> = countries.filter_map(|name| name.parse().ok()).chain([Profile::Phone(None)]).collect();
    assert!(phones.len() > 240, "{}", phones.len());
    phones
}

/// Digits as they are dialled: with what announces a country code, or a number of the same country.
fn dialled() -> impl Strategy<Value = String> {
    ("(\\+|00|011|810|0{1,5}|8|1)?", "[0-9]{1,4}", "[0-9]{1,14}").prop_map(|(front, code, rest)| front + &code + &rest)
}

/// Text that comes near to what the profiles read.
fn values() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[0-9./ -]{0,12}",
        "[+0-9() .x/-]{0,24}",
        "[0-9a-fA-F:.]{0,24}",
        "[a-zA-Z.@ ÄßéİΣ\u{301}\u{345}ﬁ]{0,16}",
        // Marks, Greek with breathings, ligatures and presentation forms, jamo, squares, half-width kana, dots and
        // signs.
        "[\u{300}-\u{36f}\u{1dc0}-\u{1dff}\u{1f00}-\u{1fff}\u{fb00}-\u{fdff}\u{fe70}-\u{fefc}\u{1100}-\u{11ff}@.a ]{1,8}",
        "[\u{a8}-\u{b8}\u{130}\u{149}\u{1f0}\u{2024}-\u{2026}\u{2100}-\u{215f}\u{3300}-\u{33ff}\u{ff00}-\u{ff9f}@.b ]{1,8}",
        dialled(),
        "\\PC{0,12}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn canonical_forms_are_canonical(profile in profiles(), value in values()) {
        if let Some(canonical) = read(profile, &value) {
            prop_assert!(!canonical.is_empty());
            prop_assert_eq!(read(profile, &canonical), Some(canonical.clone()), "{:?}", value);
        }
    }

    #[test]
    fn a_number_in_its_canonical_form_is_the_same_to_every_reader(
        profile in prop::sample::select(phones()),
        others in prop::collection::vec(prop::sample::select(phones()), 16),
        value in dialled(),
    ) {
        if let Some(canonical) = read(profile, &value) {
            for reader in others.into_iter().chain([profile, Profile::Phone(None)]) {
                prop_assert_eq!(read(reader, &canonical), Some(canonical.clone()), "{} by {}, {}", value, profile, reader);
            }
        }
    }

    #[test]
    fn case_and_blanks_do_not_matter(value in "[a-zA-Zéñü]{1,6}( [a-zA-Zéñü]{1,6}){0,4}") {
        for profile in [Profile::Text, Profile::Name] {
            let noisy = format!("  {} ", value.to_uppercase().replace(' ', "   "));
            prop_assert_eq!(read(profile, &value), read(profile, &noisy));
        }
    }

    #[test]
    fn words_of_a_name_may_change_places(words in prop::collection::vec("[a-zé]{1,4}", 1..12), seed in any::<u64>()) {
        let mut mixed = words.clone();
        let n = mixed.len();
        for i in 0..n {
            mixed.swap(i, (seed.rotate_left(i as u32 * 5) % n as u64) as usize);
        }
        prop_assert_eq!(read(Profile::Name, &words.join(" ")), read(Profile::Name, &mixed.join(", ")));
    }

    #[test]
    fn dates_have_the_same_form_however_written(year in 1u32..=9999, month in 1u32..=12, day in 1u32..=28) {
        let iso = format!("{year:04}-{month:02}-{day:02}");
        let forms = [
            ("date", iso.clone()),
            ("date", format!("{year:04}{month:02}{day:02}")),
            ("date:DMY", format!("{day}/{month}/{year:04}")),
            ("date:DMY", format!("{day:02}.{month:02}.{year:04}")),
            ("date:MDY", format!("{month}/{day}/{year:04}")),
        ];
        for (profile, text) in forms {
            prop_assert_eq!(read(profile.parse().unwrap(), &text), Some(iso.clone()), "{}", text);
        }
    }
}
