//! The page in a real browser. With TACITA_PICTURES=write, the pictures of the documentation are made.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::time::Duration;

use rustix::process::Signal;

use crate::common::browser::{Browser, keep};
use crate::desk::fly::{Desk, Fly, LIMITS, LIST, TERMS};

fn address(desk: &Desk) -> String {
    format!("http://127.0.0.1:{}/?token={}", desk.page, desk.token)
}

/// Operates the page by keys alone: name, tab, date, tab, reference, enter.
fn check(browser: &Browser, name: &str, born: &str, reference: &str) {
    browser.type_into("input[name=field-name]", name);
    browser.keys("\u{e004}");
    browser.keys(born);
    browser.keys("\u{e004}");
    browser.keys(&format!("{reference}\u{e007}"));
}

/// One browser for all, as its start takes longer than what is done with it.
#[test]
fn a_clerk_at_work_on_a_screen_and_on_a_phone_and_beside_another_port() {
    let Some(browser) = Browser::start(1000, 900) else { return };
    a_clerk_at_work(&browser);
    another_port_gets_no_cookie(&browser);
    browser.resize(390, 844);
    the_page_on_a_phone(&browser);
}

fn a_clerk_at_work(browser: &Browser) {
    let fly = Fly::new(TERMS, LIMITS, LIST);
    let mut authority = fly.serve();
    let desk = fly.desk("gate-1");
    browser.open(&address(&desk));
    browser.until_says("#standing", "Connected to authority");
    // The key is in no history, and the form is ready.
    assert_eq!(browser.script("return location.search"), "");
    assert_eq!(browser.script("return document.activeElement.name"), "field-name");
    check(browser, "Corvin O'Tarrin", "17 Sep 2009", "TC101-4F");
    browser.until_says("#verdict", "On the list");
    keep(browser, "desk-on-the-list");
    check(browser, "Wystan Thornquay", "1982-12-25", "TC101-4A");
    browser.until_says("#verdict", "Not on the list");

    // The authority adds the passenger: the verdict is another one.
    fly.change("--add", "\"THORNQUAY, Wystan\",1982-12-25\n");
    browser.until_says("#standing", "1 change since");
    check(browser, "Wystan Thornquay", "1982-12-25", "TC101-4A");
    browser.until_says("#verdict", "On the list");

    // A batch, from a file.
    let mut table = String::from("reference,name,dob\n");
    (0..150).for_each(|row| table += &format!("B{row:04},Nobody x{row},1990-01-01\n"));
    table += "B0150,o'tarrin CORVIN,20090917\nB0151,Zdenek Estervale,?\n";
    let file = fly.home.file("flight.csv", &table);
    browser.type_into("input[type=file]", &file);
    browser.click("form[action='batch'] button");
    let said = browser.until_says("#result", "Done");
    assert!(said.contains("1 on the list, 150 not on the list, 1 not checked"), "{said}");
    keep(browser, "desk-batch");
    browser.click("a[href='./']");
    browser.until_says("#listed", "3");

    // The authority dies: the page says so by itself, and recovers by itself.
    authority.signal(Signal::KILL);
    drop(authority);
    browser.until_says("#standing.gone", "nothing can be checked now");
    check(browser, "Corvin O'Tarrin", "2009-09-17", "TC102-1A");
    browser.until_says("#verdict", "Not checked");
    keep(browser, "desk-authority-gone");
    assert_eq!(browser.script("return document.querySelector('#verdict button').textContent"), "Check again");
    authority = fly.serve_with(&[]);
    authority.until_it_says("serving ");
    browser.until_says("#standing.there", "Connected to authority");
    browser.click("#verdict button");
    browser.until_says("#verdict", "On the list");
    assert_eq!(desk.standing()["fetched"], 1);
}

/// Answers a request with a page that asks for more, and sets a cookie of its own; returns the request's head.
fn answer(mut stream: TcpStream) -> String {
    let page = "<p>well</p><img src=/batch/1><img src=/desk.css><img src=/last>";
    let (mut head, mut piece) = (Vec::new(), [0; 4096]);
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut piece) {
            Ok(count) if count > 0 => head.extend_from_slice(&piece[..count]),
            _ => break,
        }
    }
    let headers = "Content-Type: text/html\r\nSet-Cookie: own=1\r\nConnection: close";
    // It may have gone.
    let _ = write!(stream, "HTTP/1.1 200 OK\r\n{headers}\r\nContent-Length: {}\r\n\r\n{page}", page.len());
    String::from_utf8_lossy(&head).into_owned()
}

/// A server of another user, to which some site leads the browser, is not sent the cookie of the page.
fn another_port_gets_no_cookie(browser: &Browser) {
    let fly = Fly::new(TERMS, LIMITS, LIST);
    let desk = fly.desk_alone("gate-1");
    browser.open(&address(&desk));
    browser.until_says("h1", "Desk");
    let base = browser.script("return location.pathname");
    assert!(base.as_str().unwrap().len() > 22, "{base}");

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = format!("http://{}", listener.local_addr().unwrap());
    let (told, requests) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let told = told.clone();
            // Browsers open connections that they may not use.
            std::thread::spawn(move || told.send(answer(stream)));
        }
    });
    browser.open(&other);
    let mut heard = String::new();
    while !heard.contains("GET /last") {
        heard += &requests.recv_timeout(Duration::from_secs(30)).unwrap_or_else(|_| panic!("{heard}"));
    }
    assert!(heard.contains("own=1") && !heard.contains("tacita"), "{heard}");
    // The page is still open to its own browser.
    browser.open(&format!("http://127.0.0.1:{}{}", desk.page, base.as_str().unwrap()));
    browser.until_says("h1", "Desk");
}

fn the_page_on_a_phone(browser: &Browser) {
    let fly = Fly::new(TERMS, LIMITS, LIST);
    let _authority = fly.serve();
    let desk = fly.desk("gate-1");
    browser.open(&address(&desk));
    check(browser, "Beryn Bellquist", "1948-05-21", "TC103-9C");
    browser.until_says("#verdict", "On the list");
    // Nothing is wider than the screen, and every field has its label.
    assert_eq!(browser.script("return document.documentElement.scrollWidth <= window.innerWidth"), true);
    assert_eq!(browser.script("return [...document.querySelectorAll('input:not([type=hidden]), select')].every(input => input.labels.length === 1)"), true);
    keep(browser, "desk-phone");
    // Tables of verdicts are stacked, and what they hold is as wide as the screen.
    check(browser, "Beryn Bellquist", "1948", "TC103-9C");
    browser.until_says("#verdict", "cannot be read: dob");
    assert_eq!(browser.script("return document.querySelector('input[name=field-dob]').value"), "1948");
    let stacked = "return [...document.querySelectorAll('.verdicts td')].every(cell => getComputedStyle(cell).display !== 'table-cell')";
    assert_eq!(browser.script(stacked), true);
    let lines =
        "return [...document.querySelectorAll('.verdicts td[data-of=Verdict]')].every(cell => cell.clientHeight < 48)";
    assert_eq!(browser.script(lines), true, "a verdict is broken over several lines");
    let file =
        fly.home.file("flight.csv", "reference,name,dob\nTC103-9C,Beryn Bellquist,1948-05-21\nTC103-9D,Nobody,?\n");
    browser.type_into("input[type=file]", &file);
    browser.click("form[action='batch'] button");
    browser.until_says("#result", "Done");
    assert_eq!(browser.script(stacked), true);
    assert_eq!(browser.script("return document.documentElement.scrollWidth <= window.innerWidth"), true);
    keep(browser, "desk-phone-batch");
}
