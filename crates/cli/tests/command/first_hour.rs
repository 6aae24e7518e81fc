//! The commands of docs/start.md, each as it stands there, one after the other in one directory.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::common::{Home, examples, free_port, text};

/// The commands of a page, each with the line of text before its block.
fn blocks(page: &str) -> Vec<(String, String)> {
    let (mut blocks, mut before, mut open) = (Vec::new(), String::new(), None);
    for line in page.lines() {
        match (&mut open, line) {
            (None, "```") => open = Some(String::new()),
            // What a command prints.
            (None, line) if line.starts_with("```") => open = Some("#".into()),
            (None, "") => (),
            (None, line) => before = line.to_owned(),
            (Some(block), "```") => {
                blocks.push((before.clone(), std::mem::take(block)));
                open = None;
            }
            (Some(block), line) => *block += &format!("{line}\n"),
        }
    }
    blocks.retain(|(_, block)| !block.starts_with('#'));
    blocks
}

fn start(script: &str, home: &Home) -> Child {
    let program = Path::new(env!("CARGO_BIN_EXE_tacita")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", script]).current_dir(home.at("")).env("PATH", path);
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[track_caller]
fn end(child: Child, script: &str) -> String {
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success(), "{script}\n{said}{}", String::from_utf8_lossy(&ended.stderr));
    said
}

#[test]
fn every_command_does_what_the_page_says() {
    let home = Home::new();
    symlink(examples(), home.at("examples")).unwrap();
    let page = text(examples().join("../docs/start.md"));
    let page = page.replace("127.0.0.1:7400", &format!("127.0.0.1:{}", free_port()));
    let mut waiting: Option<(Child, String)> = None;
    let (mut run, mut said) = (0, String::new());
    for (before, script) in blocks(&page) {
        // The program is there already.
        if script.contains("cargo install") {
            continue;
        }
        run += 1;
        let child = start(&script, &home);
        if before.contains("first terminal") {
            waiting = Some((child, script));
            continue;
        }
        said += &end(child, &script);
        if let Some((child, script)) = waiting.take() {
            said += &end(child, &script);
        }
    }
    assert!(run >= 13 && waiting.is_none(), "{run}");
    for promised in page.split("```text\n").skip(1).flat_map(|block| block.split("```").next().unwrap().lines()) {
        assert!(said.contains(promised), "{promised}\n{said}");
    }
    for name in ["hospital", "insurer"] {
        let expected = text(examples().join(format!("patients/expected/job/{name}.csv")));
        for file in [format!("out/{name}.csv"), format!("tried/{name}.csv"), format!("{name}-common.csv")] {
            assert_eq!(text(home.at(&file)), expected, "{file}");
        }
    }
}
