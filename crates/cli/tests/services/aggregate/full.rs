//! Full disks: what was acknowledged is there, whoever comes is told to come again, and all goes on when there is room.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use super::world::{ROUND, World, over};

/// A disk of its own, as large as that, where this process may make one.
struct Disk(String);

impl Disk {
    fn mount(at: String, kibibytes: u32) -> Option<Disk> {
        std::fs::create_dir_all(&at).unwrap();
        let size = format!("size={kibibytes}k,mode=700");
        let made = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs", &at]).output();
        if made.is_ok_and(|made| made.status.success()) {
            Some(Disk(at))
        } else {
            eprintln!("skipped: no disk can be mounted here");
            None
        }
    }

    fn resize(&self, kibibytes: u32) {
        let options = format!("remount,size={kibibytes}k");
        assert!(Command::new("mount").args(["-o", &options, &self.0]).status().unwrap().success());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["-l", &self.0]).status();
    }
}

/// Makes so many items of each of two participants, a third of them in common.
fn items(each: usize) -> [Vec<String>; 2] {
    let range = |from: usize| (from..from + each).map(|number| format!("item-{number:06}")).collect();
    [range(0), range(each / 3 * 2)]
}

fn expected(both: &[Vec<String>; 2]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    both.iter().flatten().for_each(|item| *counts.entry(item.clone()).or_insert(0) += 1);
    over(&counts, 2)
}

#[test]
fn a_proxy_whose_disk_is_full_loses_nothing() {
    let mut world = World::new(&["a", "b"], json!({}), json!({}));
    let Some(disk) = Disk::mount(world.home.at("state-proxy"), 384) else { return };
    ["database", "proxy", "oracle"].iter().for_each(|role| world.start(role));
    // More than it has room for.
    let both = items(2400);
    let of = |place: usize| -> Vec<&str> { both[place].iter().map(String::as_str).collect() };
    world.submit_with("a", &of(0), &["--batch", "200", "--patience", "2s"]).failed(75, &["operator", "--resume"]);
    world.role("proxy").until_it_says("No space left");
    // Also if it ends like that.
    world.kill("proxy");
    disk.resize(32 << 10);
    world.start("proxy");
    let again = world.submit_with("a", &of(0), &["--batch", "200", "--resume"]).well();
    assert!(again.stderr.contains("had been there before"), "{}", again.stderr);
    world.submit("b", &of(1)).well();
    assert_eq!(world.result("a"), expected(&both));
}

#[test]
fn a_database_whose_disk_is_full_loses_nothing() {
    let mut world = World::new(&["a", "b"], json!({}), json!({}));
    let Some(disk) = Disk::mount(world.home.at("state-database"), 600 << 10) else { return };
    ["database", "proxy", "oracle"].iter().for_each(|role| world.start(role));
    let both = items(900);
    for (place, name) in ["a", "b"].into_iter().enumerate() {
        world.submit(name, &both[place].iter().map(String::as_str).collect::<Vec<_>>()).well();
    }
    // It sends nothing before the disk is as it should be.
    world.kill("proxy");
    let filled = format!("{}/filled", disk.0);
    // To the brim: what could not be written has not happened.
    assert!(std::fs::write(&filled, vec![1; 600 << 20]).is_err());
    world.operate("close", ROUND, &[]).failed(2, &["the disk is full", "nothing is lost"]);
    assert_eq!(world.status(ROUND)["state"], "open");
    std::fs::remove_file(&filled).unwrap();
    std::fs::write(&filled, vec![1; 400 << 20]).unwrap();
    // With little room a round can be closed, though no report is taken. The system may take a moment to give the room
    // back.
    let until = Instant::now() + Duration::from_secs(10);
    while world.operate("close", ROUND, &[]).code != 0 {
        assert!(Instant::now() < until);
    }
    world.start("proxy");
    world.role("database").until_it_says("the disk is full");
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(world.status(ROUND)["state"], "closed");
    std::fs::remove_file(&filled).unwrap();
    world.until(ROUND, &["revealed"]);
    assert_eq!(world.collected("b", ROUND), expected(&both));
}
