//! Tables as multisets among three.

use super::*;

/// Number of rows that the party at this place has with a key: all combinations of 0 to 3 among three, for keys below 64.
fn times(key: u32, place: usize) -> u32 {
    (key >> (2 * place)) % 4
}

/// Checks that a key of multisets is common as often as the party has it that has it least often, and that this is what
/// they are told.
#[test]
fn multisets_have_a_key_as_often_as_all_do() {
    let home = Home::new();
    for (place, name) in NAMES.iter().enumerate() {
        let of_key = |key| (0..times(key, place)).map(move |row| format!("key {key},{name} {key} {row}\n"));
        home.file(&format!("{name}.csv"), &format!("k,v\n{}", (0..64).flat_map(of_key).collect::<String>()));
    }
    let work = ["--work", &home.at("work")];
    for (protocol, more) in [("star", &[][..]), ("star", &work), ("polynomial", &[])] {
        let text = job(&format!("protocol = \"{protocol}\"\nreveal_to = [\"a\", \"c\"]"), &NAMES, |_| String::new());
        let text = text.replace("[\"k\"]", "[\"k\"]\nduplicates = \"multiset\"");
        simulate(&home, &text, &NAMES, more).well();
        let report = json(home.at("report.json"));
        for (name, learns) in [("a", true), ("b", false), ("c", true)] {
            let told = report["parties"][name]["learned"].to_string();
            let smallest = format!("{name} learns, for each of its own keys, the smallest of the numbers of rows");
            assert_eq!(told.contains(&smallest), learns, "{protocol} {told}");
            assert!(told.contains("rows with a key") && !told.contains("distinct keys"), "{protocol} {told}");
            if learns {
                let common = |key| (0..3).map(|place| times(key, place)).min().unwrap();
                let rows = (0..64).flat_map(|key| (0..common(key)).map(move |row| (key, row)));
                let mut rows: Vec<_> = rows.map(|(key, row)| format!("key {key},{name} {key} {row}")).collect();
                rows.sort_by_key(|line| line.split(',').next().unwrap().to_owned());
                assert_eq!(lines(home.at(&format!("out/{name}.csv"))), rows, "{protocol} {more:?}");
            }
        }
    }
}
