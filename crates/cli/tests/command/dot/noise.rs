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
        let tries: Vec<i64> = (0..4).map(|_| read("noise = { epsilon = 0.05 }")).collect();
        assert!(tries.iter().any(|read| *read != number), "{tries:?}");
    }
}
