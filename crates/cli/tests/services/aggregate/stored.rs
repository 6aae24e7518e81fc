//! A round whose rows are kept in a PostgreSQL server, which ends in between.

use serde_json::json;

#[allow(dead_code, reason = "the storage's own tests need more of it")]
#[path = "../../../../aggregate/src/store/postgres/server.rs"]
pub mod server;

use self::server::PostgresServer;
use super::world::{ROUND, World, made, over};
use crate::common::{Running, free_port, tacita};

fn submit(world: &World, items: &[Vec<String>], places: std::ops::Range<usize>) {
    for place in places {
        let items: Vec<&str> = items[place].iter().map(String::as_str).collect();
        world.submit_with(&world.names[place].clone(), &items, &["--batch", "9"]).well();
    }
}

#[test]
fn a_round_in_postgresql_has_the_result_of_one_in_a_directory() {
    let Some(mut server) = PostgresServer::start() else { return };
    let names = ["a", "b", "c", "d"];
    let (items, counts) = made(names.len(), 40);
    let world = || World::new(&names, json!({ "min_participants": 2 }), json!({}));
    let mut embedded = world();
    ["database", "proxy", "oracle"].iter().for_each(|role| embedded.start(role));
    submit(&embedded, &items, 0..4);

    let mut stored = world();
    let url = stored.home.file("url", &format!("{}\n", server.socket_url("")));
    std::fs::set_permissions(&url, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let storage = format!("file:{url}");
    stored.start_with("database", &["--storage", &storage]);
    stored.role("database").until_it_says("rows are kept in PostgreSQL at /");
    ["proxy", "oracle"].iter().for_each(|role| stored.start(role));
    submit(&stored, &items, 0..2);
    // The database's machine fails, and so does the server.
    stored.kill("database");
    server.end_at_once();
    server.start_again();
    stored.start_with("database", &["--storage", &storage]);
    submit(&stored, &items, 2..4);
    // While it is away the round cannot be closed; it is waited for.
    server.kill();
    // Its operator is told why, and no number that nobody knows.
    stored.operate("close", ROUND, &[]).failed(75, &["PostgreSQL at /", "does not answer"]);
    assert!(stored.status(ROUND).get("numbers").is_none());
    stored.role("database").until_it_says("waiting for it; until then, clients are asked to try again");
    server.start_again();
    let expected = over(&counts, 2);
    assert_eq!(embedded.result("a"), expected);
    assert_eq!(stored.result("a"), expected);
    stored.role("database").until_it_says("answers again");
    assert!(!std::path::Path::new(&stored.home.at("state-database/rows")).exists());
    stored.operate("remove", ROUND, &[]).well();
    // Its name is left, and an empty table.
    assert_eq!(
        server.ask("SELECT coalesce(sum(pg_relation_size(oid)), 0) FROM pg_class WHERE relname LIKE 'reports%'"),
        "0"
    );
    assert_eq!(server.ask("SELECT count(*) FROM tacita.batches"), "0");
}

#[test]
fn a_server_that_is_not_there_at_the_start_is_named_once() {
    let world = World::new(&["a"], json!({}), json!({}));
    let (job, id, state) = (world.job(), world.home.at("id-database"), world.home.at("state"));
    let url = format!("postgresql://me@127.0.0.1:{}/rounds", free_port());
    let arguments =
        ["database", &job, "--identity", &id, "--state", &state, "--listen", "127.0.0.1:0", "--storage", &url];
    let told = tacita(&arguments).failed(3, &["PostgreSQL at 127.0.0.1:", "does not answer", "start it"]);
    assert!(!told.contains("waiting for it") && told.trim().lines().count() == 1, "{told}");
}

#[test]
fn a_password_on_the_command_line_is_refused() {
    let world = World::new(&["a"], json!({}), json!({}));
    let (job, id, state) = (world.job(), world.home.at("id-database"), world.home.at("state"));
    let url = "postgresql://me:secret@localhost/rounds";
    let arguments =
        ["database", &job, "--identity", &id, "--state", &state, "--listen", "127.0.0.1:0", "--storage", url];
    let ended = Running::start(&arguments).end();
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.contains("file:PATH") && !ended.stderr.contains("secret"), "{}", ended.stderr);
}
