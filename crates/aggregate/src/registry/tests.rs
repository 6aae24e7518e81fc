//! Etcd as it is, by its own program, and as it is not: silent, too long, or nonsense.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use super::etcd::Etcd;
use super::server::RegistryServer;

fn runtime() -> Runtime {
    Runtime::new().unwrap()
}

/// Reads entries at an address; how it fails.
fn refused(at: &str) -> String {
    runtime().block_on(Etcd::new(at, None, None).unwrap().range("tacita/")).unwrap_err()
}

/// Somebody who answers every question with these bytes, and then says nothing more.
fn answering(runtime: &Runtime, answer: Vec<u8>) -> SocketAddr {
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let here = listener.local_addr().unwrap();
    runtime.spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move {
                let mut said = [0; 4096];
                let _ = socket.read(&mut said).await;
                let _ = socket.write_all(&answer).await;
                while socket.read(&mut said).await.is_ok_and(|read| read > 0) {}
            });
        }
    });
    here
}

#[test]
fn urls_are_read() {
    for url in ["http://a:1", "http://a:1/", "http://a:1, http://[::1]:2"] {
        assert!(Etcd::new(url, None, None).is_ok(), "{url}");
    }
    let many = ["http://a:1"; 17].join(",");
    for (url, words) in [
        ("", "is no address"),
        ("a:1", "is no address"),
        ("http://a", "is no address"),
        ("http://a:1,", "is no address"),
        ("http://a:1/v3", "is no address"),
        ("ftp://a:1", "is no address"),
        ("http://me:secret@a:1", "no password"),
        ("https://a:1", "--registry-ca"),
        (&many, "at most 16"),
    ] {
        let error = Etcd::new(url, None, None).err().unwrap().to_string();
        assert!(error.contains(words) && !error.contains("secret") && !error.contains('\n'), "{url}: {error}");
    }
    let home = tempfile::tempdir().unwrap();
    let empty = home.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    for url in ["https://a:1", "http://a:1"] {
        let error = Etcd::new(url, Some(&empty), None).err().unwrap().to_string();
        assert!(error.contains("--registry-ca") && error.contains("empty.pem"), "{error}");
    }
}

#[test]
fn leases_live_and_end_with_their_entries() {
    let Some(mut server) = RegistryServer::start() else { return };
    let runtime = runtime();
    let mut etcd = Etcd::new(&server.url(), None, None).unwrap();
    runtime.block_on(async {
        assert_eq!(etcd.range("tacita/").await, Ok(vec![]));
        let (one, other) = (etcd.grant(60).await.unwrap(), etcd.grant(60).await.unwrap());
        etcd.put("tacita/a", b"1", &one).await.unwrap();
        etcd.put("tacita/b", b"", &other).await.unwrap();
        etcd.put("tacitb/a", b"3", &other).await.unwrap();
        let entry = |key: &str, value: &str| (key.as_bytes().to_vec(), value.as_bytes().to_vec());
        assert_eq!(etcd.range("tacita/").await, Ok(vec![entry("tacita/a", "1"), entry("tacita/b", "")]));
        assert_eq!(etcd.renew(&one).await, Ok(true));
        etcd.revoke(&one).await.unwrap();
        assert_eq!(etcd.renew(&one).await, Ok(false));
        assert_eq!(etcd.range("tacita/").await, Ok(vec![entry("tacita/b", "")]));
        let refused = etcd.put("tacita/a", b"1", &one).await.unwrap_err();
        assert!(refused.contains("lease not found"), "{refused}");
        // Who has lost the connection makes another one.
        server.kill();
        let refused = etcd.renew(&other).await.unwrap_err();
        assert!(refused.contains("127.0.0.1:"), "{refused}");
        server.start_again();
        assert_eq!(etcd.renew(&other).await, Ok(true));
        server.kill();
        server.start_empty();
        assert_eq!(etcd.renew(&other).await, Ok(false));
        assert_eq!(etcd.range("tacita/").await, Ok(vec![]));
    });
}

#[test]
fn the_next_member_is_asked_where_one_is_away() {
    let Some(server) = RegistryServer::start() else { return };
    let away = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut etcd = Etcd::new(&format!("http://{away},{}", server.url()), None, None).unwrap();
    let runtime = runtime();
    assert_eq!(runtime.block_on(etcd.range("tacita/")), Ok(vec![]));
}

/// A certificate in files, for this machine.
fn certificate(home: &std::path::Path, name: &str, ca: &CertifiedIssuer<'_, KeyPair>) -> [String; 2] {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().signed_by(&key, ca).unwrap();
    [("crt", certificate.pem()), ("key", key.serialize_pem())].map(|(ending, text)| {
        let path = home.join(format!("{name}.{ending}"));
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    })
}

#[test]
fn private_connections_are_to_whom_they_should_be() {
    let authority = || {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    };
    let (ca, stranger) = (authority(), authority());
    let server = RegistryServer::start_with(|home| {
        let [certificate, key] = certificate(home, "server", &ca);
        let authority = home.join("ca.crt");
        std::fs::write(&authority, ca.pem()).unwrap();
        let authority = authority.to_str().unwrap().to_owned();
        vec![
            format!("--cert-file={certificate}"),
            format!("--key-file={key}"),
            format!("--trusted-ca-file={authority}"),
            "--client-cert-auth".into(),
        ]
    });
    let Some(server) = server else { return };
    let at = |name: &str| server.home().join(name);
    let [shown, key] = certificate(server.home(), "client", &ca);
    let pair = Some((std::path::Path::new(&shown), std::path::Path::new(&key)));
    std::fs::write(at("stranger.crt"), stranger.pem()).unwrap();
    let runtime = runtime();
    let range = |ca: &str, pair| runtime.block_on(Etcd::new(&server.url(), Some(&at(ca)), pair).unwrap().range("x"));
    // It has said that it listens before it is a member.
    let until = Instant::now() + Duration::from_secs(20);
    while range("ca.crt", pair).is_err() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(range("ca.crt", pair), Ok(vec![]));
    assert!(range("ca.crt", None).is_err());
    let refused = range("stranger.crt", pair).unwrap_err();
    assert!(refused.contains("certificate"), "{refused}");
}

#[test]
fn whatever_answers_takes_neither_time_nor_memory_beyond_its_bounds() {
    let runtime = runtime();
    let ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
    let json = |body: &str| format!("{ok}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes();
    let most = 1 << 20;
    for (answer, words) in [
        (json(&format!("{{\"x\":\"{}\"}}", "x".repeat(most))), "longer than 1048576 bytes"),
        (format!("{ok}Content-Length: 1000000000000\r\n\r\n{}", "x".repeat(2 * most)).into_bytes(), "longer than"),
        (format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(most)).into_bytes(), ""),
        (json("no JSON"), "not JSON"),
        (json(&"[".repeat(100_000)), "not JSON"),
        (json("{\"kvs\":7}"), "cannot be read"),
        (json("{\"kvs\":[{\"key\":\"%\"}]}"), "cannot be read"),
        (json("{\"error\":\"x\\n\",\"message\":\"y\\n\",\"code\":3}"), "y\\n"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nNot Found".to_vec(), "status 404"),
        (b"nonsense\r\n\r\n".to_vec(), ""),
        (Vec::new(), "no answer in time"),
        (ok.as_bytes().to_vec(), "no answer in time"),
    ] {
        let what = refused(&format!("http://{}", answering(&runtime, answer)));
        assert!(what.contains(words) && !what.contains('\n') && what.len() < 400, "{words}: {what}");
    }
    for garbage in ["{\"ID\":7}", "{\"ID\":\"\\\"\"}", "{}"] {
        let at = format!("http://{}", answering(&runtime, json(garbage)));
        assert!(runtime.block_on(Etcd::new(&at, None, None).unwrap().grant(10)).is_err(), "{garbage}");
    }
}
