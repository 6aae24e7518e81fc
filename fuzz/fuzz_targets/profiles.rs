//! Every normalisation profile on any text: a canonical form is its own canonical form.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tacita_node::table::Profile;
use tacita_node::table::normalize::Reading;

const PROFILES: [&str; 21] = [
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
    "phone:US",
    "phone:AR",
    "phone:IM",
    "ip",
    "integer",
    "decimal",
];

fuzz_target!(|text: &str| {
    for word in PROFILES {
        let profile: Profile = word.parse().unwrap();
        let mut once = String::new();
        if profile.canonical(text, &mut once) == Reading::Value {
            let mut twice = String::new();
            assert_eq!(profile.canonical(&once, &mut twice), Reading::Value, "{word}: {text:?} is {once:?}");
            assert_eq!(once, twice, "{word}: {text:?}");
        } else {
            assert_eq!(once, "", "{word}: {text:?}");
        }
    }
});
