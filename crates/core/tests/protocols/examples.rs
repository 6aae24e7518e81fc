//! The examples, which check what they compute.

#[path = "../../examples/dot.rs"]
mod dot;
#[path = "../../examples/intersect.rs"]
mod intersect;
#[path = "../../examples/union.rs"]
mod union;

#[test]
fn they_run() {
    dot::main().unwrap();
    union::main().unwrap();
}

/// Both parties of the intersection over a socket, as its `main` runs them.
#[test]
fn an_intersection_between_two_sockets() {
    assert_eq!(intersect::on_this_machine().unwrap(), ["ada lovelace|1815-12-10", "emmy noether|1882-03-23"]);
}
