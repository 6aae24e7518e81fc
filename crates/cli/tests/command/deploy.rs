//! Tests that the files in deploy/ fit this program: its commands, its options, and the ports.

use std::path::Path;
use std::process::Command;

#[test]
fn units_and_containers_start_the_program_as_it_is() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/check_deploy.py");
    let done = Command::new("python3").arg(script).env("TACITA", env!("CARGO_BIN_EXE_tacita")).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && !said.contains("there is no program"), "{said}");
}
