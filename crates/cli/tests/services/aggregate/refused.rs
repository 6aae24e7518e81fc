//! Tests that nonsensical input is refused in one line that names what would make sense.

use serde_json::json;

use super::world::World;
use crate::common::{examples, tacita};

#[test]
fn commands_are_for_their_jobs() {
    let patients = examples().join("patients/job.toml");
    let patients = patients.to_str().unwrap();
    let world = World::new(&["a", "b"], json!({}), json!({}));
    let (id, input, state) = (world.home.at("id-a"), world.home.file("x.csv", "item\nx\n"), world.home.at("state"));
    tacita(&["submit", patients, "--as", "hospital", "--identity", &id, "--input", &input, "--round", "one"])
        .failed(2, &["job = \"intersect\"", "tacita run"]);
    tacita(&["results", patients, "--as", "hospital", "--identity", &id, "--round", "one"])
        .failed(2, &["job = \"intersect\"", "tacita run"]);
    for role in ["proxy", "oracle", "database"] {
        tacita(&[role, patients, "--listen", "127.0.0.1:0", "--identity", &id, "--state", &state])
            .failed(2, &["job = \"intersect\"", "tacita run"]);
    }
    tacita(&["run", &world.job(), "--as", "a", "--identity", &id, "--input", &input]).failed(2, &["tacita submit"]);
    tacita(&["aggregate"]).failed(2, &["`aggregate` is a job, not a command", "tacita submit"]);
}

#[test]
fn roles_are_for_their_identities() {
    let world = World::new(&["a", "b"], json!({}), json!({}));
    let (job, id, state) = (world.job(), world.home.at("id-a"), world.home.at("state"));
    for role in ["proxy", "oracle", "database"] {
        tacita(&[role, &job, "--listen", "127.0.0.1:0", "--identity", &id, "--state", &state])
            .failed(2, &["SHA256:", &format!("[[{role}]]")]);
    }
    tacita(&["round", "close", &job, "--round", "one", "--identity", &id]).failed(2, &["[[database]]"]);
    let input = world.home.file("x.csv", "item\nx\n");
    for round in ["a/b", "..", ""] {
        tacita(&["submit", &job, "--as", "a", "--identity", &id, "--input", &input, "--round", round])
            .failed(2, &["letters, digits"]);
    }
    tacita(&["submit", &job, "--as", "a", "--identity", &id, "--input", &input, "--round", "one"])
        .failed(2, &["address is missing in [[proxy]] 1"]);
}

#[test]
fn a_simulation_that_could_reveal_nothing_is_refused() {
    let world = World::new(&["a"], json!({ "reveal_when": "distinct >= 3" }), json!({}));
    let input = world.home.file("x.csv", "item\nx\n");
    tacita(&["simulate", &world.job(), "--input", &format!("a={input}"), "--input", &format!("b={input}")])
        .failed(2, &["no key is reported by 3 of 2 participants"]);
}
