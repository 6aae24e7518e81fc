//! Roles that find each other by an etcd, which ends in between; and participants who know one address.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

#[allow(dead_code, reason = "the registry's own tests need more of it")]
#[path = "../../../../aggregate/src/registry/server.rs"]
pub mod server;

use self::server::RegistryServer;
use super::watched::{page, pages};
use super::world::{World, made, over};
use crate::common::{Running, free_port, tacita, text};

/// Names such that each of two proxies is the first for two of them: as many as a shuffle needs.
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// A job whose file says of one service where it listens, with as many proxies.
fn world(server: &RegistryServer, proxies: usize, seed: &str) -> World {
    let mut world = World::of_several(&[("proxy", proxies)], &NAMES, json!({ "min_participants": 2 }), json!({}));
    world.registry = Some(server.url());
    world.home.file("bare.json", &text(world.job()));
    let address = format!("127.0.0.1:{}", free_port());
    world.home.file("seed", &address);
    seeded(&world, seed);
    world
}

/// Has the job file say where this service listens, and no other.
fn seeded(world: &World, seed: &str) {
    let mut job: Value = serde_json::from_str(&text(world.home.at("bare.json"))).unwrap();
    let (role, place) = seed.split_once('-').unwrap_or((seed, "0"));
    job[role][place.parse::<usize>().unwrap()]["address"] = text(world.home.at("seed")).into();
    world.home.file("job.json", &job.to_string());
}

/// Starts roles; the seed where the job file says.
fn start(world: &mut World, roles: &[&'static str], seed: &str) {
    let address = text(world.home.at("seed"));
    for role in roles {
        let listen = ["--listen", &address];
        world.start_with(role, if *role == seed { &listen } else { &[] });
    }
}

/// Submits the items of participants at these places.
fn submit(world: &World, items: &[Vec<String>], places: std::ops::Range<usize>) {
    for place in places {
        let items: Vec<&str> = items[place].iter().map(String::as_str).collect();
        world.submit_with(NAMES[place], &items, &["--batch", "9"]).well();
    }
}

/// Waits until so many entries are there, and returns them.
#[track_caller]
fn until(server: &RegistryServer, number: usize) -> Vec<(String, String)> {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let all = server.all();
        if all.len() == number {
            return all;
        }
        assert!(Instant::now() < until, "{all:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn one_address_is_enough_for_participants_and_none_for_roles() {
    let Some(server) = RegistryServer::start() else { return };
    let (items, counts) = made(NAMES.len(), 40);
    let mut world = world(&server, 2, "database");
    world.start_with("oracle", &["--status", "127.0.0.1:0"]);
    start(&mut world, &["proxy-1", "proxy", "database"], "database");
    let entries = until(&server, 4);
    let oracle = pages(&mut world, "oracle");
    assert!(page(&oracle, "/metrics").1.contains("\ntacita_registry_last_contact_timestamp_seconds "));
    let ends: Vec<&str> = entries.iter().map(|(key, _)| key.rsplit('/').next().unwrap()).collect();
    assert_eq!(ends, ["database-1", "oracle-1", "proxy-1", "proxy-2"]);
    let value: Value = serde_json::from_str(&entries[0].1).unwrap();
    assert_eq!(value, json!({ "address": text(world.home.at("seed")) }));
    submit(&world, &items, 0..4);
    let id = world.home.at("id-a");
    let ended = tacita(&["doctor", &world.job(), "--as", "a", "--identity", &id]).well();
    assert_eq!(ended.stdout.matches("(named by another service), and each has proved").count(), 2, "{}", ended.stdout);
    // A service that is to be started finds the others where they registered.
    let (job, id) = (world.job(), world.home.at("id-proxy"));
    let doctor = |registry: &str| {
        tacita(&["doctor", &job, "--as", "proxy", "--identity", &id, "--listen", "127.0.0.1:0", "--registry", registry])
    };
    let ended = doctor(&server.url()).well();
    assert_eq!(ended.stdout.matches("(named by the registry), and each has proved").count(), 1, "{}", ended.stdout);
    let ended = doctor(&format!("http://127.0.0.1:{}", free_port()));
    assert!(ended.code == 2 && ended.stdout.contains("the registry: "), "{}", ended.stdout);
    // A participant whose file leads to nobody has nobody to ask.
    let led = text(world.home.at("seed"));
    world.home.file("seed", &format!("127.0.0.1:{}", free_port()));
    seeded(&world, "database");
    let refused = world.submit_with("a", &["x"], &["--timeout", "1s"]);
    refused.failed(3, &["neither the job file nor another service says where it listens"]);
    world.home.file("seed", &led);
    seeded(&world, "database");
    assert_eq!(world.result("b"), over(&counts, 2));
    // Who ends in order is taken out.
    world.take("proxy-1").stop();
    assert!(!server.all().iter().any(|(key, _)| key.ends_with("proxy-2")));
}

#[test]
fn what_runs_goes_on_where_the_registry_does_not() {
    let Some(mut server) = RegistryServer::start() else { return };
    let (items, counts) = made(NAMES.len(), 40);
    let mut world = world(&server, 1, "database");
    let roles = ["database", "proxy", "oracle"];
    start(&mut world, &roles, "database");
    submit(&world, &items, 0..1);
    server.kill();
    roles.iter().for_each(|role| world.role(role).until_it_says("the registry does not answer"));
    submit(&world, &items, 1..2);
    // A role that comes back elsewhere meanwhile is found when the registry is back, with all that it had.
    world.kill("proxy");
    start(&mut world, &["proxy"], "database");
    server.start_again();
    roles.iter().for_each(|role| world.role(role).until_it_says("registered as"));
    world.role("oracle").until_it_says("the registry answers again");
    submit(&world, &items, 2..4);
    // Or with nothing.
    server.kill();
    server.start_empty();
    until(&server, 3);
    world.kill("oracle");
    start(&mut world, &["oracle"], "database");
    assert_eq!(world.result("a"), over(&counts, 2));
}

#[test]
fn a_registry_misdirects_and_cannot_impersonate() {
    let Some(server) = RegistryServer::start() else { return };
    let (items, counts) = made(NAMES.len(), 40);
    let mut world = world(&server, 1, "proxy");
    start(&mut world, &["oracle"], "proxy");
    let entries = until(&server, 1);
    let (key, value) = &entries[0];
    let prefix = key.strip_suffix("oracle-1").unwrap();
    // The oracle is no database, whatever is said of it.
    server.put(&format!("{prefix}database-1"), value.as_bytes());
    for (name, garbage) in [("proxy-1", "nonsense"), ("proxy-7", value.as_str()), ("x\n", "")] {
        server.put(&format!("{prefix}{name}"), garbage.as_bytes());
    }
    world.role("oracle").until_it_says("registry: 3 entries are no address of a service of this job");
    start(&mut world, &["proxy"], "proxy");
    let oracle = serde_json::from_str::<Value>(value).unwrap()["address"].as_str().unwrap().to_owned();
    let named = format!("at {oracle} (named by the registry) it presents");
    world.role("proxy").until_it_says(&named);
    let named = format!("at {oracle} (named by another service) it presents");
    world.as_participant("results", "a", &["--timeout", "1s"]).end().failed(3, &["the database", &named]);
    // Nobody has ended, and all is well as soon as the registry is right.
    start(&mut world, &["database"], "proxy");
    // Who is told to come again waits for longer each time.
    world.role("proxy").until_it_says("round one takes reports");
    submit(&world, &items, 0..4);
    // The operator is none of those whom a proxy lets in: its file says where the database is.
    let entries = server.all();
    let (_, value) = entries.iter().find(|(key, _)| key.ends_with("database-1")).unwrap();
    let database = serde_json::from_str::<Value>(value).unwrap()["address"].as_str().unwrap().to_owned();
    world.home.file("seed", &database);
    seeded(&world, "database");
    assert_eq!(world.result("a"), over(&counts, 2));
}

#[test]
fn what_cannot_be_a_registry_is_refused() {
    let world = World::new(&["a"], json!({}), json!({}));
    let (job, id, state) = (world.job(), world.home.at("id-proxy"), world.home.at("state"));
    for (options, words) in [
        (&["--listen", "127.0.0.1:0", "--registry", "localhost"][..], "write http://HOST:PORT"),
        (&["--listen", "127.0.0.1:0", "--registry", "https://localhost:2379"], "--registry-ca FILE"),
        (&["--listen", ":0", "--registry", "http://localhost:2379"], "--advertise HOST:PORT"),
        (&["--listen", "127.0.0.1:0", "--registry", "http://localhost:2379", "--advertise", "x"], "--advertise x"),
        (&["--registry", "http://localhost:2379"], "or with --listen"),
    ] {
        let arguments = [&["proxy", &job, "--identity", &id, "--state", &state][..], options].concat();
        tacita(&arguments).failed(2, &[words]);
    }
}

/// Checks that several jobs under one identity stay apart: an address of another job leads to no service.
#[test]
fn the_address_of_another_job_of_the_same_identity_is_none() {
    let Some(server) = RegistryServer::start() else { return };
    let (items, counts) = made(NAMES.len(), 40);
    let mut world = world(&server, 1, "proxy");
    let mut other: Value = serde_json::from_str(&text(world.job())).unwrap();
    other["id"] = "another".into();
    let (job, addresses) = (world.home.file("other.json", &other.to_string()), world.home.directory("others"));
    let (id, state) = (world.home.at("id-database"), world.home.at("state-other"));
    let arguments = ["database", &job, "--identity", &id, "--state", &state, "--listen", "127.0.0.1:0"];
    let mut database = Running::start(&[&arguments[..], &["--announce", &addresses]].concat());
    database.until_it_says("listens on");
    let address = text(world.home.at("others/database-1"));
    start(&mut world, &["oracle"], "proxy");
    let (key, _) = until(&server, 1).remove(0);
    let prefix = key.strip_suffix("oracle-1").unwrap();
    server.put(&format!("{prefix}database-1"), json!({ "address": address }).to_string().as_bytes());
    start(&mut world, &["proxy"], "proxy");
    let named = format!("at {address} (named by the registry): this is not the database of this job");
    world.role("proxy").until_it_says(&named);
    start(&mut world, &["database"], "proxy");
    // Who is told to come again waits for longer each time.
    world.role("proxy").until_it_says("round one takes reports");
    submit(&world, &items, 0..4);
    let database = server.all().into_iter().find(|(key, _)| key.ends_with("database-1")).unwrap().1;
    let database: Value = serde_json::from_str(&database).unwrap();
    world.home.file("seed", database["address"].as_str().unwrap());
    seeded(&world, "database");
    assert_eq!(world.result("a"), over(&counts, 2));
}
