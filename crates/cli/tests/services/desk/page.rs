//! The page lets in whoever has its key, and no other site.

use crate::common::tacita;
use crate::desk::fly::{Fly, LIMITS, LIST, TERMS};

#[test]
fn only_the_clerk_gets_in() {
    let fly = Fly::new(TERMS, LIMITS, LIST);
    let _authority = fly.serve();
    let desk = fly.desk("gate-1");
    let own = format!("http://127.0.0.1:{}", desk.page);
    let refused = |method: &str, path: &str, headers: &[(&str, &str)]| {
        let body = format!("form={}&field-name=a&field-dob=2000-01-01", desk.form);
        let form = [headers, &[("Content-Type", "application/x-www-form-urlencoded")]].concat();
        let answer = desk.request(method, path, &form, body.as_bytes());
        assert_eq!(answer.status, 403, "{method} {path} {headers:?}: {answer:?}");
        assert!(!answer.body.contains(&desk.form) && !answer.headers.contains("set-cookie"), "{answer:?}");
    };
    let cookie = ("Cookie", desk.cookie.as_str());
    for path in ["/", "/standing", "/desk.js", "/batch/1", "/?token=", "/?token=wrong", "/batch/1?token=wrong"] {
        refused("GET", path, &[]);
    }
    refused("GET", "/", &[("Cookie", "tacita-desk-1=x")]);
    // Where a server of somebody else could be asked for the same, there is nothing.
    let elsewhere = desk.elsewhere();
    for path in ["/", "/standing", "/batch/1", "//standing", "/?token=wrong"] {
        let answer = elsewhere.request("GET", path, &[cookie], b"");
        assert_eq!(answer.status, 403, "{path}: {answer:?}");
    }
    // Another name of this machine, as after DNS rebinding.
    refused("GET", "/", &[cookie, ("Host", "evil.example")]);
    refused("POST", "/check", &[cookie, ("Host", &format!("evil.example:{}", desk.page)), ("Origin", &own)]);
    // Another site, by a form or by a script.
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1"] {
        refused("POST", "/check", &[cookie, ("Origin", origin)]);
        refused("GET", "/standing", &[cookie, ("Origin", origin)]);
    }
    refused("POST", "/check", &[cookie]);
    refused("POST", "/check", &[cookie, ("Origin", &own), ("Sec-Fetch-Site", "cross-site")]);
    refused("DELETE", "/", &[cookie, ("Origin", &own)]);
    // A form without the page's own word.
    for (path, kind, body) in [
        ("/check", "application/x-www-form-urlencoded", "form=x&field-name=a&field-dob=2000-01-01"),
        (
            "/batch",
            "multipart/form-data; boundary=b",
            "--b\r\nContent-Disposition: form-data; name=\"table\"\r\n\r\nname,dob\r\n--b--\r\n",
        ),
    ] {
        assert_eq!(desk.post(path, kind, body.as_bytes()).status, 403, "{path}");
    }
    assert_eq!(desk.left(), 1000, "nothing was asked");

    let main = desk.get("/");
    assert_eq!(main.status, 200);
    for header in [
        "content-security-policy: default-src 'none'",
        "x-content-type-options: nosniff",
        "cache-control: no-store",
        "frame-ancestors 'none'",
    ] {
        assert!(main.headers.contains(header), "{}", main.headers);
    }
    // Nothing from elsewhere, and nothing that runs in the page itself.
    assert!(!main.body.contains("http://") && !main.body.contains("https://") && !main.body.contains("onclick"));
    assert!(main.body.contains("keys may be asked today") && main.body.contains("1,000"), "{}", main.body);
    assert!(main.body.contains("authority does not learn whom airline asks for"), "{}", main.body);
    assert_eq!(desk.get("/batch/99").status, 404);
    assert_eq!(desk.get("/nothing").status, 404);
}

/// Behind something that encrypts: the browser's name for it, or that of this machine, may be passed on.
#[test]
fn a_page_has_the_origin_that_it_is_told() {
    let fly = Fly::new(TERMS, LIMITS, LIST);
    let _authority = fly.serve();
    let desk = fly.desk_at("gate-1", Some("https://desk.example"));
    desk.until(|standing| standing["connected"] == true);
    assert!(desk.check("Corvin O'Tarrin", "2009-09-17", "").contains("On the list"));
    let (cookie, local) = (("Cookie", desk.cookie.as_str()), format!("127.0.0.1:{}", desk.page));
    for host in ["desk.example", "desk.example:443", &local] {
        assert_eq!(desk.request("GET", "/", &[cookie, ("Host", host)], b"").status, 200, "{host}");
    }
    let kind = ("Content-Type", "application/x-www-form-urlencoded");
    let body = format!("form={}&field-name=a&field-dob=2000-01-01", desk.form);
    for origin in
        ["http://desk.example", "https://evil.example", "https://desk.example:8443", &format!("http://{local}")]
    {
        let answer = desk.request("POST", "/check", &[cookie, kind, ("Origin", origin)], body.as_bytes());
        assert_eq!(answer.status, 403, "{origin}: {answer:?}");
    }
    assert_eq!(desk.request("GET", "/", &[cookie, ("Host", "evil.example")], b"").status, 403);
    for bad in ["http://desk.example", "desk.example", "https://desk.example/page"] {
        let job = ["desk", &fly.job, "--as", "airline", "--identity", &fly.home.at("gate-2"), "--origin", bad];
        let ended = tacita(&job);
        assert!(ended.code == 2 && ended.stderr.contains("https://HOST"), "{ended:?}");
    }
}

#[test]
fn what_is_typed_is_text() {
    let fly = Fly::new(TERMS, LIMITS, LIST);
    let _authority = fly.serve();
    let desk = fly.desk("gate-1");
    let shown = desk.check("<script>alert(1)</script>", "2000-01-01", "\"><img src=x>");
    assert!(shown.contains("&lt;script&gt;") && !shown.contains("<script>") && !shown.contains("<img"), "{shown}");
    let (page, csv) = desk.batch("ref,name,dob\n=1+1,\"O'Tarrin, Corvin\",2009-09-17\n<b>,Nobody,x\n");
    assert!(page.contains("&lt;b&gt;") && !page.contains("<b>"), "{page}");
    assert!(
        csv.contains("1,'=1+1,on the list,name + dob,") && csv.contains("2,<b>,not checked,,cannot be read: dob"),
        "{csv}"
    );
    for (table, words) in [("", "No table was chosen"), ("who\nx\n", "name"), ("name,dob\n\"x", "the uploaded table")] {
        let answer = desk.upload(table);
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(answer.body.contains(words), "{}", answer.body);
    }
    let large = desk.post("/check", "application/x-www-form-urlencoded", &vec![b'a'; 100_000]);
    assert_eq!(large.status, 413);
}
