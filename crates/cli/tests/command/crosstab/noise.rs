//! Noise on the counts of cross tables.

use super::*;

/// Counts with noise are compared and opened with the same noise; with epsilon = 20 it is 0 but for one in 22,000
/// cells.
#[test]
fn counts_with_noise() {
    let lists = "categories = { x = [\"p\", \"q\"], y = [\"u\", \"v\"] }\n";
    for (epsilon, least, learners) in
        [("20", 3, "[\"a\", \"b\"]"), ("20", 0, "[\"b\"]"), ("0.05", 0, "[\"a\"]"), ("0.05", 2, "[\"a\"]")]
    {
        let home = Home::new();
        let rows = [
            ("p", "u"),
            ("p", "u"),
            ("p", "u"),
            ("p", "u"),
            ("q", "v"),
            ("q", "v"),
            ("q", "v"),
            ("q", "v"),
            ("p", "v"),
        ];
        let a = home.file("a.csv", &csv("x", rows.iter().map(|(x, _)| (*x).into())));
        let b = home.file("b.csv", &csv("y", rows.iter().map(|(_, y)| (*y).into())));
        let terms = job(&format!("{lists}noise = {{ epsilon = {epsilon} }}\nlimits = {{ min_cell = {least} }}"))
            .replace("[\"a\", \"b\"]\nrows", &format!("{learners}\nrows"));
        attempt(&home, &terms, [&a, &b], &[]).well();
        let report = json(home.at("report.json"));
        // Both hear which cells close, if any can.
        let both = least > 0 || learners.contains(',');
        let expected = if both { json!(["a", "b"]) } else { json!([if learners.contains('a') { "b" } else { "a" }]) };
        for name in ["a", "b"] {
            let report = &report["parties"][name];
            assert_eq!((&report["noise"]["added_by"], &report["protocol"]), (&expected, &json!("ot")), "{learners}");
            if !learners.contains(name) {
                continue;
            }
            assert_eq!(report["result"]["within"], report["noise"]["within"]);
            let counts: Vec<Option<i64>> = cells(&home.at(&format!("out/{name}.csv")))
                .into_iter()
                .map(|(_, row)| row["count"].parse().ok())
                .collect();
            if epsilon == "20" {
                // The first and the last are open; the others are small, or exact where all are open.
                let near = |at: usize, count: i64| counts[at].is_none_or(|found| (found - count).abs() <= 1);
                assert!(near(0, 4) && near(1, 1) && near(2, 0) && near(3, 4), "{counts:?}");
                assert!(
                    least == 0 || counts.iter().all(|count| count.is_none_or(|count| count >= least)),
                    "{counts:?}"
                );
                assert_eq!(least == 0, counts.iter().all(Option::is_some), "{counts:?}");
            }
        }
    }
}

#[test]
fn noise_that_would_protect_nothing_is_refused() {
    let home = Home::new();
    let a = home.file("a.csv", "x\np\n");
    let b = home.file("b.csv", "y\nu\n");
    let lists = "categories = { x = [\"p\"], y = [\"u\"] }";
    for (keys, words) in [
        ("noise = { epsilon = 1 }", "categories.x"),
        ("noise = { epsilon = 1 }\ncategories = { x = [\"p\"] }", "categories.y"),
        (&format!("noise = {{ epsilon = 1 }}\n{lists}\nmeasure = \"sum:n\""), "measure = \"count\""),
        (&format!("noise = {{ epsilon = 1 }}\n{lists}\nprotocol = \"lattice\""), "\"ot\""),
        (&format!("noise = {{ epsilon = 1, bounds = [0, 1] }}\n{lists}"), "noise.bounds"),
        (&format!("noise = {{ epsilon = 1 }}\n{lists}\nquality = \"told\""), "quality"),
    ] {
        attempt(&home, &job(keys), [&a, &b], &[]).failed(2, &[words]);
    }
}
