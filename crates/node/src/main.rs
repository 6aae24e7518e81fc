//! The `tacita` command.

fn main() {}
