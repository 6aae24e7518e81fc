//! The page in a real browser. With TACITA_PICTURES=write, the pictures of the documentation are made.

use rustix::process::Signal;

use crate::common::browser::{Browser, keep};
use crate::fly::{Desk, Fly, LIMITS, LIST, TERMS};

fn address(desk: &Desk) -> String {
    format!("http://127.0.0.1:{}/?token={}", desk.page, desk.token)
}

/// By keys alone: name, tab, date, tab, reference, enter.
fn check(browser: &Browser, name: &str, born: &str, reference: &str) {
    browser.type_into("input[name=field-name]", name);
    browser.keys("\u{e004}");
    browser.keys(born);
    browser.keys("\u{e004}");
    browser.keys(&format!("{reference}\u{e007}"));
}

#[test]
fn a_clerk_at_work() {
    let Some(browser) = Browser::start(1000, 900) else { return };
    let fly = Fly::new(TERMS, LIMITS, LIST);
    let mut authority = fly.serve();
    let desk = fly.desk("gate-1");
    browser.open(&address(&desk));
    browser.until_says("#standing", "Connected to authority");
    // The key is in no history, and the form is ready.
    assert_eq!(browser.script("return location.search"), "");
    assert_eq!(browser.script("return document.activeElement.name"), "field-name");
    check(&browser, "Corvin O'Tarrin", "17 Sep 2009", "TC101-4F");
    browser.until_says("#verdict", "On the list");
    keep(&browser, "desk-on-the-list");
    check(&browser, "Wystan Thornquay", "1982-12-25", "TC101-4A");
    browser.until_says("#verdict", "Not on the list");

    // The authority adds the passenger: the verdict is another one.
    fly.change("--add", "\"THORNQUAY, Wystan\",1982-12-25\n");
    browser.until_says("#standing", "1 change since");
    check(&browser, "Wystan Thornquay", "1982-12-25", "TC101-4A");
    browser.until_says("#verdict", "On the list");

    // A batch, from a file.
    let mut table = String::from("reference,name,dob\n");
    (0..150).for_each(|row| table += &format!("B{row:04},Nobody x{row},1990-01-01\n"));
    table += "B0150,o'tarrin CORVIN,20090917\nB0151,Zdenek Estervale,?\n";
    let file = fly.home.file("flight.csv", &table);
    browser.type_into("input[type=file]", &file);
    browser.click("form[action='/batch'] button");
    let said = browser.until_says("#result", "Done");
    assert!(said.contains("1 on the list, 150 not on the list, 1 not checked"), "{said}");
    keep(&browser, "desk-batch");
    browser.click("a[href='/']");
    browser.until_says("#listed", "3");

    // The authority dies: the page says so by itself, and recovers by itself.
    authority.signal(Signal::KILL);
    drop(authority);
    browser.until_says("#standing.gone", "nothing can be checked now");
    check(&browser, "Corvin O'Tarrin", "2009-09-17", "TC102-1A");
    browser.until_says("#verdict", "Not checked");
    keep(&browser, "desk-authority-gone");
    authority = fly.serve_with(&[]);
    authority.until_it_says("serving ");
    browser.until_says("#standing.there", "Connected to authority");
    check(&browser, "Corvin O'Tarrin", "2009-09-17", "TC102-1A");
    browser.until_says("#verdict", "On the list");
    assert_eq!(desk.standing()["fetched"], 1);
}

#[test]
fn the_page_on_a_phone() {
    let Some(browser) = Browser::start(390, 844) else { return };
    let fly = Fly::new(TERMS, LIMITS, LIST);
    let _authority = fly.serve();
    let desk = fly.desk("gate-1");
    browser.open(&address(&desk));
    check(&browser, "Beryn Bellquist", "1948-05-21", "TC103-9C");
    browser.until_says("#verdict", "On the list");
    // Nothing is wider than the screen, and every field has its label.
    assert_eq!(browser.script("return document.documentElement.scrollWidth <= window.innerWidth"), true);
    assert_eq!(browser.script("return [...document.querySelectorAll('input:not([type=hidden])')].every(input => input.labels.length === 1)"), true);
    keep(&browser, "desk-phone");
}
