//! Losses that are charged besides those of values: of a blurred number of common rows, and of shares when they are
//! made.

use super::*;

#[test]
fn blurred_numbers_and_shares_are_charged() {
    let rule = |keys: &str| policy(&format!("[[allow]]\npeers = [\"{B}\"]\n{keys}\n"));
    // Rows by ids: how many are common is exact, or blurred and charged, to both.
    let by_ids = |to: &str, limits: &str| {
        unmapped(&format!(
            "job = \"dot\"\nid = \"t\"\nreveal_to = [\"{to}\"]\nrow_id = \"id\"\nnoise = {{ epsilon = 0.5 }}\n{limits}\n"
        ))
    };
    let error = ask(&rule("epsilon = 9"), &by_ids("b", ""), &NoHistory, &[]).unwrap_err().to_string();
    assert!(error.contains("alignment: noise does not hide") && error.contains("limits.blur"), "{error}");
    ask(&rule("epsilon = 0.5\nalignment = [\"hidden\"]"), &by_ids("b", ""), &NoHistory, &[]).unwrap();
    let blurred = by_ids("b", "limits = { blur = 128 }");
    ask(&rule("epsilon = 1.5\ndelta = 3e-9"), &blurred, &NoHistory, &[]).unwrap();
    for (keys, job) in [
        ("epsilon = 1.4\ndelta = 3e-9", &blurred),
        ("epsilon = 1.5\ndelta = 2e-9", &blurred),
        ("epsilon = 0.9\ndelta = 3e-9", &by_ids("a", "limits = { blur = 128 }")),
    ] {
        let error = ask(&rule(keys), job, &NoHistory, &[]).unwrap_err().to_string();
        assert!(error.contains("epsilon: with this run"), "{keys}: {error}");
    }
    ask(&rule("epsilon = 1\ndelta = 3e-9"), &by_ids("a", "limits = { blur = 128 }"), &NoHistory, &[]).unwrap();
    // Shares are charged to both when they are made, whoever is named, and not when they are opened.
    for to in ["a", "b"] {
        let shares = unmapped(&format!(
            "job = \"dot\"\nid = \"t\"\nreveal = \"shares\"\nreveal_to = [\"{to}\"]\nnoise = {{ epsilon = 0.5 }}\n"
        ));
        ask(&rule("epsilon = 0.4"), &shares, &NoHistory, &[]).unwrap_err();
        ask(&rule("epsilon = 0.5"), &shares, &NoHistory, &[]).unwrap();
    }
    let opened = |noise: &str| {
        unmapped(&format!(
            "job = \"shares\"\nid = \"t\"\noperation = \"at_least:9\"\nreveal_to = [\"a\", \"b\"]\n{noise}\n"
        ))
    };
    ask(&rule("epsilon = 0"), &opened("noise = { epsilon = 0.5 }"), &NoHistory, &[]).unwrap();
    let error = ask(&rule("epsilon = 9"), &opened(""), &NoHistory, &[]).unwrap_err().to_string();
    assert!(error.contains("numbers without noise"), "{error}");
}

/// A round of an aggregation is charged to the budget of all peers: whom it serves is not known.
#[test]
fn rounds_with_noise_are_charged() {
    let round = |noise: &str| {
        let role = |(role, pin)| format!("[[{role}]]\nidentity = \"{pin}\"\n");
        let roles: String = [("proxy", B), ("oracle", B), ("database", C)].map(role).concat();
        JobSpec::parse(
            &format!(
                "job = \"aggregate\"\nid = \"t\"\nreveal = \"keys\"\nreveal_to = \"participants\"\n{noise}\n[key]\ncolumns = [\"x\"]\n[round]\n\
                 reveal_when = \"distinct >= 30\"\n{roles}[parties.a]\n"
            ),
            false,
        )
        .unwrap()
    };
    let noisy = round("noise = { epsilon = 1, delta = 1e-6, unit = \"report\" }");
    let rule = |keys: &str| policy(&format!("[[allow]]\npeers = [\"participants\", \"{B}\", \"{C}\"]\n{keys}\n"));
    ask(&rule("epsilon_in_all = 1\ndelta = 1e-6"), &noisy, &NoHistory, &[]).unwrap();
    for (keys, job, words) in [
        ("epsilon_in_all = 0.9\ndelta = 1e-6", &noisy, "would have used epsilon 1"),
        ("epsilon_in_all = 1\ndelta = 1e-7", &noisy, "epsilon_in_all: with this run"),
        ("epsilon = 5\ndelta = 1e-3", &noisy, "use epsilon_in_all"),
        ("epsilon_in_all = 9\ndelta = 1e-3", &round(""), "numbers without noise"),
    ] {
        let error = ask(&rule(keys), job, &NoHistory, &[]).unwrap_err().to_string();
        assert!(error.contains(words), "{keys}: {error}");
    }
    assert!(informed(&noisy, "a").is_empty() && !informed(&round(""), "a").is_empty());
}
