//! Pages of this machine.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::aggregate::world::World;
use crate::common::Running;
use crate::common::site::Site;
use crate::common::stranger::Listener;
use crate::desk::fly::{Fly, LIMITS, LIST, TERMS};

/// The status of a page, asked for under a name, or none.
fn ask(address: &str, path: &str, host: Option<&str>) -> u16 {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let head =
        host.map_or("HTTP/1.0\r\n".to_owned(), |host| format!("HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n"));
    write!(stream, "GET {path} {head}\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer[9..12].parse().unwrap()
}

/// Returns the address at which a role says that it has its pages.
fn said(running: &Running, words: &str) -> String {
    let said = running.said();
    said.split_once(words).unwrap_or_else(|| panic!("{said}")).1.split('/').next().unwrap().to_owned()
}

#[test]
fn status_and_dashboard() {
    let mut world = World::new(&["a", "b"], json!({}), json!({}));
    world.start_with("database", &["--status", "127.0.0.1:0", "--dashboard", "127.0.0.1:0"]);
    let database = world.role("database");
    let link = database.until_it_prints("token=").trim().to_owned();
    database.until_it_says("status at http://");
    let status = said(database, "status at http://");
    Listener::of_pages(&status).withstands(database.id(), || assert_eq!(ask(&status, "/healthz", Some(&status)), 200));

    // Another site's name that leads here, as after DNS rebinding; and the names of this machine.
    let port = status.rsplit_once(':').unwrap().1;
    for path in ["/metrics", "/health", "/healthz", "/readyz"] {
        assert_eq!(ask(&status, path, Some(&format!("evil.example:{port}"))), 403, "{path}");
        assert_eq!(ask(&status, path, Some("127.0.0.1:1")), 403, "{path}");
        assert_ne!(ask(&status, path, Some(&format!("localhost:{port}"))), 403, "{path}");
    }
    assert_eq!(ask(&status, "/healthz", None), 200);

    let (address, token) = link.strip_prefix("http://").unwrap().split_once("/?token=").unwrap();
    let site = Site::enter(address.rsplit_once(':').unwrap().1.parse().unwrap(), token);
    Listener::of_pages(address).withstands(database.id(), || assert_eq!(site.get("/nothing").status, 404));
}

#[test]
fn desk() {
    let fly = Fly::new(TERMS, LIMITS, LIST);
    let authority = fly.serve();
    let desk = fly.desk("gate-1");
    let address = format!("127.0.0.1:{}", desk.page);
    Listener::of_pages(&address).withstands(desk.running.id(), || assert_eq!(desk.get("/nothing").status, 404));
    assert!(desk.check("Corvin O'Tarrin", "2009-09-17", "").contains("On the list"));
    drop(authority);
}

/// Connections that say nothing do not stay.
#[test]
fn a_head_has_its_time() {
    let fly = Fly::new(TERMS, LIMITS, LIST);
    let desk = fly.desk_alone("gate-1");
    let mut idle = TcpStream::connect(("127.0.0.1", desk.page)).unwrap();
    let mut begun = TcpStream::connect(("127.0.0.1", desk.page)).unwrap();
    begun.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
    for stream in [&mut idle, &mut begun] {
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let ended = stream.read_to_end(&mut Vec::new());
        assert!(!ended.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock), "it stays");
    }
}
