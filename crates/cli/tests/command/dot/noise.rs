//! Products with noise: near the exact ones, with their error bars, and what one run more tells.

use super::*;

/// The value that `name` learns of zeros and ones, under these terms.
fn value(home: &Home, rest: &str, a: &[i64], b: &[i64], name: &str) -> Value {
    let inputs = [table(home, "a.csv", a), table(home, "b.csv", b)];
    simulate(home, &job(rest), [&inputs[0], &inputs[1]], "out", &[])["parties"][name].clone()
}

/// With epsilon = 20, noise on one count is 0 but with a probability of 4 in 10^9.
#[test]
fn values_have_their_error_bars() {
    let home = Home::new();
    for learners in ["[\"a\"]", "[\"b\"]", "[\"a\", \"b\"]"] {
        let terms = job("noise = { epsilon = 20 }").replace("[\"a\", \"b\"]", learners);
        let inputs = [table(&home, "a.csv", [1, 0, 1, 1]), table(&home, "b.csv", [1, 1, 0, 1])];
        let report = simulate(&home, &terms, [&inputs[0], &inputs[1]], "out", &[]);
        for name in ["a", "b"] {
            let (report, learns) = (&report["parties"][name], learners.contains(name));
            let expected = if learns { json!({ "value": 2, "within": 0 }) } else { Value::Null };
            assert_eq!(report["result"], expected, "{learners} {name}");
            let added_by: Vec<&str> = ["a", "b"]
                .into_iter()
                .filter(|name| learners.replace(&format!("\"{name}\""), "").contains('"'))
                .collect();
            assert_eq!(report["noise"]["added_by"], json!(added_by), "{learners}");
            assert_eq!((&report["noise"]["epsilon"], &report["protocol"]), (&json!("20"), &json!("ot")));
            assert_eq!(report["learned"].to_string().contains("20-differential privacy"), learns);
            if learns {
                assert_eq!(text(home.at(&format!("out/{name}.csv"))), "value,within\n2,0\n");
            }
        }
    }
}

/// Numbers beyond bounds are clipped, and decimals are placed in error bars as in values.
#[test]
fn numbers_are_clipped_to_their_bounds() {
    let home = Home::new();
    let terms = "bits = 8\nscale = 1\nnoise = { epsilon = 20, bounds = { a = [0, 0.1], b = [0.5, 0.5] } }";
    let report = value(&home, terms, &[0, 9, 1, 0], &[1, 2, 3, 4], "a");
    // Three times 0.1 x 0.5, but one number is 0.
    let value = report["result"]["value"].as_f64().unwrap();
    assert!((value - 0.10).abs() <= 0.1, "{report}");
    assert_eq!(report["result"]["within"], 0.01, "{report}");
}

/// Values can be negative, and never wrap around at the modulus.
#[test]
fn noise_on_nothing_is_around_nothing() {
    let home = Home::new();
    let columns = ["p", "q", "r", "s", "t", "u", "v", "w"];
    let row = |number: &str| format!("{}\n", [number; 8].join(","));
    let input = home.file("zeros.csv", &format!("{}\n{}", columns.join(","), row("0").repeat(3)));
    for delta in ["", ", delta = 1e-6"] {
        let terms = job(&format!("noise = {{ epsilon = 0.5{delta} }}")).replace("\"x\"", &format!("{columns:?}"));
        let report = simulate(&home, &terms, [&input, &input], "out", &[]);
        let numbers: Vec<i64> = report["parties"]["a"]["result"]["value"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|row| row.as_array().unwrap().iter().map(|number| number.as_i64().unwrap()))
            .collect();
        assert!(numbers.iter().any(|number| *number < 0) && numbers.iter().any(|number| *number > 0), "{numbers:?}");
        assert!(numbers.iter().all(|number| number.abs() < 100_000), "{numbers:?}");
    }
}

/// Two exact products whose own columns differ in one row are the other's number in that row; under noise they are near
/// it no more than noise is.
#[test]
fn two_exact_products_read_a_number() {
    let home = Home::new();
    let (all, without) = ([1; 6], [1, 1, 1, 0, 1, 1]);
    for number in [0, 1] {
        let theirs = [1, 0, 1, number, 0, 1];
        let read = |rest: &str| {
            let each =
                [&all, &without].map(|own| value(&home, rest, own, &theirs, "a")["result"]["value"].as_i64().unwrap());
            each[0] - each[1]
        };
        assert_eq!(read(""), number);
        // They are all the number with a probability of 2 in 10^9 at most.
        let tries: Vec<i64> = (0..3).map(|_| read("noise = { epsilon = 0.005 }")).collect();
        assert!(tries.iter().any(|read| *read != number), "{tries:?}");
    }
}

/// A count and a sum over hidden rows, of which neither is told exactly, nor how many rows are common.
#[test]
fn counts_and_sums_over_hidden_rows_are_blurred_and_noised() {
    let home = Home::new();
    let rows = |ids: std::ops::Range<u64>, spent: u64| -> String {
        ids.map(|id| format!("{id},1,{}\n", id % spent)).collect()
    };
    let a = home.file("a.csv", &format!("id,present,spent\n{}", rows(0..300, 1)));
    let b = home.file("b.csv", &format!("id,present,spent\n{}", rows(100..500, 8)));
    let terms = job("row_id = \"id\"\nbits = 3\nlimits = { blur = 128 }\n\
                     noise = { epsilon = 20, bounds = { a = [0, 1], b = [0, 7] } }")
    .replace("\"x\"", "{ a = \"present\", b = [\"present\", \"spent\"] }");
    let report = simulate(&home, &terms, [&a, &b], "out", &[]);
    for name in ["a", "b"] {
        let report = &report["parties"][name];
        let numbers: Vec<i64> =
            report["result"]["value"][0].as_array().unwrap().iter().map(|number| number.as_i64().unwrap()).collect();
        let spent: i64 = (100..300).map(|id| id % 8).sum();
        // Noise of 14 / 20, twice: more than 30 is less probable than 10^-15.
        assert!((numbers[0] - 200).abs() <= 30 && (numbers[1] - spent).abs() <= 30, "{numbers:?}");
        assert_eq!(report["noise"]["in_all"], json!({ "epsilon": "21", "delta": "0.000000003" }));
        assert!(report["rows"]["common"].as_u64().unwrap().abs_diff(200) <= 57, "{report}");
        let learned = report["learned"].to_string();
        assert!(learned.contains("whether") && learned.contains("(21, 3e-9)-differential privacy in all"), "{learned}");
        assert!(!learned.contains("does not hide which rows there are"), "{learned}");
    }
    // Without blur, how many rows are common is told, and said to be.
    let shown = simulate(&home, &terms.replace("limits = { blur = 128 }\n", ""), [&a, &b], "out", &[]);
    let learned = shown["parties"]["a"]["learned"].to_string();
    assert!(learned.contains("does not hide which rows there are") && !learned.contains("in all"), "{learned}");
    assert_eq!(shown["parties"]["a"]["noise"]["in_all"], Value::Null);
}

/// Shares have the noise of both; what is compared and what is opened has it.
#[test]
fn shares_are_compared_and_opened_with_their_noise() {
    let home = Home::new();
    let (a, b) = ([1, 0, 1, 1], [1, 1, 0, 1]);
    let noise = |epsilon: &str| format!("noise = {{ epsilon = {epsilon} }}");
    let both = "[\"a\", \"b\"]";
    let run = |name: &str, epsilon: &str, operation: &str, agreed: &str| {
        let shares = shared(&home, name, &noise(epsilon), &a, &b);
        let opening = opening(operation, both).replace("[parties.a]", &format!("{agreed}\n[parties.a]"));
        open(&home, &opening, &[("a", &shares[0]), ("b", &shares[1])])
    };
    let result = |name: &str| json(home.at("report.json"))["parties"][name].clone();
    // With epsilon = 20, the noise is 0 but with a probability of 8 in 10^9.
    for (threshold, answer) in [(2, true), (3, false)] {
        run(&format!("at{threshold}"), "20", &format!("at_least:{threshold}"), &noise("20")).well();
        for name in ["a", "b"] {
            assert_eq!(result(name)["result"], json!({ "at_least": answer }));
            let learned = result(name)["learned"].to_string();
            assert!(
                learned.contains("Noise of both parties is in each number")
                    && learned.contains("20-differential privacy"),
                "{learned}"
            );
            assert!(!learned.contains("single row"), "{learned}");
        }
    }
    run("opened", "20", "open", &noise("20.0")).well();
    assert_eq!(result("a")["result"], json!({ "value": 2, "within": 0 }));
    run("sum", "20", "sum", &noise("20")).well();
    assert_eq!(result("a")["result"], json!({ "value": 2 }));
    // Under much noise, the number is another and can be negative, whoever made the shares.
    let opened: Vec<i64> = (0..3)
        .map(|time| {
            run(&format!("much{time}"), "0.001", "open", &noise("0.001")).well();
            result("b")["result"]["value"].as_i64().unwrap()
        })
        .collect();
    assert!(opened.iter().any(|number| number.abs_diff(2) > 20), "{opened:?}");
    assert!(opened.iter().all(|number| number.abs_diff(2) < 200_000), "{opened:?}");

    for (name, epsilon, agreed, words) in [
        ("unsaid", "20", String::new(), ["this share has noise", "epsilon = 20 }"]),
        ("other", "20", noise("19"), ["this share has noise", "epsilon = 20 }"]),
        ("bounds", "20", "noise = { epsilon = 20, bounds = [0, 1] }".into(), ["noise.bounds", "leave them out"]),
    ] {
        run(name, epsilon, "open", &agreed).failed(2, &words);
    }
    let exact = shared(&home, "exact", "", &a, &b);
    let job = opening("open", both).replace("[parties.a]", &format!("{}\n[parties.a]", noise("1")));
    open(&home, &job, &[("a", &exact[0]), ("b", &exact[1])]).failed(2, &["has no noise", "leave `noise` out"]);
    // Noise that was edited out of the file.
    let path = home.at("unsaid/a.json");
    let mut edited = json(path.clone());
    edited.as_object_mut().unwrap().remove("noise");
    std::fs::write(&path, edited.to_string()).unwrap();
    let second = home.at("unsaid/b.json");
    open(&home, &opening("open", both), &[("a", &path), ("b", &second)]).failed(2, &["edited or damaged"]);
}
