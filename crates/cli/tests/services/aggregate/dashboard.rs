//! The dashboard of the database's operator: who gets in, and what can be done there. (The pictures of the
//! documentation are taken in `soak/`.)

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::world::{ROUND, World};
use crate::common::browser::Browser;
use crate::common::site::Site;
use crate::common::tacita;

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// A name that a participant reports as an item.
const EVIL: &str = "<b>x</b>\u{202e}'&";

/// Starts all roles, with a dashboard, and returns its link.
fn started(reveal_to: &Value, more: &[&str]) -> (World, String) {
    let round = json!({ "tighten": true, "key_bytes": 32 });
    let mut world = World::new(&NAMES, round, json!({ "reveal_to": reveal_to }));
    world.start_with("database", &[&["--dashboard", "127.0.0.1:0"], more].concat());
    world.start("proxy");
    world.start("oracle");
    let link = match more {
        [] => world.role("database").until_it_prints("token=").trim().to_owned(),
        _ => String::new(),
    };
    (world, link)
}

fn site(link: &str) -> Site {
    let (address, token) = link.split_once("/?token=").unwrap();
    Site::enter(address.rsplit_once(':').unwrap().1.parse().unwrap(), token)
}

/// x of six, the evil one of five, z of two, others of one.
fn submit(world: &World) {
    for (place, name) in NAMES.iter().enumerate() {
        let mut items = vec!["x"];
        items.extend((place < 5).then_some(EVIL));
        items.extend((place < 2).then_some("z"));
        let own = format!("own-{name}");
        items.push(&own);
        world.submit(name, &items).well();
    }
}

/// One browser for both: its start takes longer than what is done with it.
#[test]
fn an_operator_at_work_and_pages_on_a_screen_and_on_a_phone() {
    let Some(browser) = Browser::start(1000, 900) else { return };
    an_operator_at_work(&browser);
    on_a_screen_and_on_a_phone(&browser);
}

fn an_operator_at_work(browser: &Browser) {
    let (world, link) = started(&json!(["participants", "database"]), &[]);
    submit(&world);
    browser.open(&link);
    browser.until_says("h1", "Aggregation world");
    assert_eq!(browser.script("return location.search"), "", "the key is in no history");
    browser.until_says("tbody", "It takes reports");
    browser.until_says("#rate", "reports a second");
    browser.click("tbody a");
    browser.until_says(".badge", "open");
    browser.click("a[href$='/confirm/close']");
    browser.until_says("h1", "Close the round?");
    browser.click("form button");
    // The page loads itself until there is something to decide.
    browser.until_says(".badge", "counted");
    browser.until_says("#advice", "9 rows, of which 3 pass");
    browser.until_says("svg.histogram text.mark", "at least 2");
    let round = browser.script("return location.href");
    // Below what holds, a threshold is not raised: the page says why.
    browser.script("document.querySelector('input[name=to]').min = 0");
    browser.type_into("input[name=to]", "\u{e009}a\u{e000}1");
    browser.click("form[action$='/confirm/tighten'] button");
    browser.until_says("h1", "Raise a threshold?");
    browser.click("form button");
    browser.until_says("[role=alert]", "would lower it");
    browser.open(round.as_str().unwrap());
    browser.until_says("h1", "Round one");
    browser.click("a[href*='gap']");
    browser.until_says("main p", "2 of 9 rows have 4 distinct reporters or more");
    browser.click("form button");
    browser.until_says("#advice", "of which 2 pass");
    browser.until_says("main", "agreed on was distinct >= 2");
    browser.click("a[href$='/confirm/reveal']");
    browser.until_says("main p", "the keys of 2 rows");
    browser.click("form button");
    // The page loads itself, as above, though not at once.
    world.until(ROUND, &["revealed"]);
    browser.open(round.as_str().unwrap());
    browser.until_says(".badge", "revealed");
    browser.click("a[href$='/keys']");
    let keys = browser.until_says("tbody", "x");
    assert!(keys.contains("<b>x</b>\u{fffd}'&") && !keys.contains("own-"), "{keys}");
    let site = site(&link);
    let csv = site.get("/rounds/one/result/one.csv");
    assert!(csv.headers.contains("attachment; filename=\"one.csv\""), "{}", csv.headers);
    assert!(csv.body.contains("x,6") && csv.body.contains(",5") && csv.body.lines().count() == 3, "{}", csv.body);
    for ending in ["json", "txt"] {
        assert_eq!(site.get(&format!("/rounds/one/result/one.{ending}")).status, 200, "{ending}");
    }
    for other in ["one.exe", "two.csv", "..%2Fone.csv"] {
        assert_eq!(site.get(&format!("/rounds/one/result/{other}")).status, 404, "{other}");
    }
    // What was made to be sent is gone.
    let left = std::fs::read_dir(world.home.at("state-database")).unwrap();
    assert!(left.flatten().all(|file| !file.file_name().to_string_lossy().contains("result")));
    // The same as with `tacita round`.
    assert_eq!(world.status(ROUND)["numbers"]["keys"], 2);
    assert_eq!(world.collected("a", ROUND).len(), 2);
    browser.script("history.go(-1)");
    browser.click("a[href$='/confirm/remove']");
    browser.click("form button");
    browser.until_says(".badge", "removed");
    assert_eq!(world.status(ROUND)["state"], "removed");
}

#[test]
fn only_the_operator_gets_in_and_only_by_its_own_forms() {
    let (world, link) = started(&json!("participants"), &[]);
    let site = site(&link);
    let own = site.origin();
    let kind = ("Content-Type", "application/x-www-form-urlencoded");
    let refused = |method: &str, path: &str, headers: &[(&str, &str)]| {
        let body = format!("form={}&round=two", site.form);
        let answer = site.request(method, path, &[headers, &[kind]].concat(), body.as_bytes());
        assert_eq!(answer.status, 403, "{method} {path} {headers:?}: {answer:?}");
        assert!(!answer.body.contains(&site.form) && !answer.headers.contains("set-cookie"), "{answer:?}");
    };
    let cookie = ("Cookie", site.cookie.as_str());
    for path in ["/", "/dashboard.css", "/rounds/one", "/rounds/one/keys", "/?token=", "/?token=wrong", "/nothing"] {
        refused("GET", path, &[]);
    }
    for path in ["/open", "/rounds/one/close", "/rounds/one/remove"] {
        refused("POST", path, &[]);
        refused("POST", path, &[cookie]);
        refused("POST", path, &[cookie, ("Origin", "http://evil.example")]);
        refused("POST", path, &[cookie, ("Origin", "null")]);
        refused("POST", path, &[cookie, ("Origin", &own), ("Sec-Fetch-Site", "cross-site")]);
        refused("POST", path, &[cookie, ("Origin", &own), ("Host", "evil.example")]);
        // A form without the page's own word.
        assert_eq!(site.post(path, kind.1, b"form=x&round=two").status, 403, "{path}");
    }
    refused("GET", "/", &[cookie, ("Host", &format!("evil.example:{}", site.page))]);
    refused("DELETE", "/rounds/one", &[cookie, ("Origin", &own)]);
    // Where a server of somebody else could be asked for the same, there is nothing.
    for path in ["/", "/rounds/one", "/dashboard.css", "/?token=wrong"] {
        assert_eq!(site.elsewhere().request("GET", path, &[cookie], b"").status, 403, "{path}");
    }
    assert_eq!(site.post("/open", kind.1, &vec![b'a'; 100_000]).status, 413);
    assert_eq!(world.status(ROUND)["state"], "open", "nothing was done");

    let post = |path: &str, more: &str| site.post(path, kind.1, format!("form={}{more}", site.form).as_bytes());
    assert_eq!(post("/open", "&round=%3Cscript%3E").status, 400);
    assert_eq!(post("/open", "&round=two").status, 303);
    assert_eq!(world.status("two")["state"], "open");
    for path in ["/rounds/one/destroy", "/rounds/three/close", "/rounds/%3Cscript%3E/close"] {
        assert_eq!(post(path, "").status, 404, "{path}");
    }
    assert_eq!(post("/rounds/two/tighten", "&measure=distinct&to=5").status, 410);
    assert_eq!(post("/rounds/two/tighten", "&measure=x&to=5").status, 400);
    assert_eq!(post("/rounds/two/tighten", "&measure=distinct&to=999999999999999999999999").status, 400);
    assert_eq!(post("/rounds/two/reveal", "").status, 410);
    for path in ["/rounds/one/confirm/tighten", "/rounds/one/confirm/tighten?measure=distinct&gap"] {
        assert!((400..=503).contains(&site.get(path).status), "{path}");
    }
    let main = site.get("/");
    assert_eq!(main.status, 200);
    for header in ["content-security-policy: default-src 'none'", "cache-control: no-store", "frame-ancestors 'none'"] {
        assert!(main.headers.contains(header), "{}", main.headers);
    }
    assert!(!main.body.contains("<script") && !main.body.contains("http://"), "{}", main.body);
    // reveal_to names no database: keys are not shown, only their number.
    submit(&world);
    world.operate("close", ROUND, &[]).well();
    world.until(ROUND, &["counted"]);
    world.operate("reveal", ROUND, &[]).well();
    world.until(ROUND, &["revealed"]);
    for path in ["/rounds/one/keys", "/rounds/one/result/one.csv"] {
        assert_eq!(site.get(path).status, 403, "{path}");
    }
    let page = site.get("/rounds/one").body;
    assert!(page.contains("3 keys were revealed, to participants") && !page.contains("rounds/one/keys"), "{page}");
}

#[test]
fn a_token_is_kept_in_a_file_and_an_address_is_of_this_machine() {
    let world = World::new(&["a", "b"], json!({}), json!({}));
    let (job, id) = (world.job(), world.home.at("id-database"));
    let start = |more: &[&str]| {
        let state = world.home.at("state-other");
        let arguments = ["database", &job, "--identity", &id, "--state", &state, "--listen", "127.0.0.1:0"];
        tacita(&[&arguments[..], more].concat())
    };
    for address in ["0.0.0.0:0", "192.0.2.1:80", "nonsense"] {
        start(&["--dashboard", address]).failed(2, &["--dashboard", "127.0.0.1:7501"]);
    }
    let weak = world.home.file("weak", "secret\n");
    start(&["--dashboard", ":0", "--dashboard-token-file", &weak]).failed(2, &["others on this machine can read it"]);
    std::fs::set_permissions(&weak, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    start(&["--dashboard", ":0", "--dashboard-token-file", &weak]).failed(2, &["holds no token"]);

    let file = world.home.at("token");
    let (mut world, _) = started(&json!("participants"), &["--dashboard-token-file", &file]);
    let token = std::fs::read_to_string(&file).unwrap().trim().to_owned();
    let said = world.role("database").until_it_logs("dashboard at http://127.0.0.1:");
    assert!(!said.contains(&token), "a key is in no log");
    let port = said.split("dashboard at http://127.0.0.1:").nth(1).unwrap().split('/').next().unwrap();
    Site::enter(port.parse().unwrap(), &token);
}

/// Behind something that encrypts: forms are of that origin, and the cookie goes over nothing else.
#[test]
fn a_dashboard_has_the_origin_that_it_is_told() {
    let origin = "https://rounds.example";
    let (mut world, _) = started(&json!("participants"), &["--dashboard-origin", origin]);
    let database = world.role("database");
    let link = database.until_it_prints("token=").trim().to_owned();
    let said = database.until_it_logs("dashboard listens on 127.0.0.1:");
    let port =
        said.split("dashboard listens on 127.0.0.1:").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    let site = Site::enter_at(port, link.strip_prefix("https://rounds.example/?token=").unwrap(), Some(origin));
    let (kind, body) = ("application/x-www-form-urlencoded", format!("form={}&round=two", site.form));
    let local = format!("http://127.0.0.1:{port}");
    for foreign in [local.as_str(), "http://rounds.example", "https://evil.example"] {
        let headers = [("Cookie", site.cookie.as_str()), ("Origin", foreign), ("Content-Type", kind)];
        assert_eq!(site.request("POST", "/open", &headers, body.as_bytes()).status, 403, "{foreign}");
    }
    let opened = site.post("/open", kind, body.as_bytes());
    assert_eq!((opened.status, opened.header("location")), (303, &*site.at("/rounds/two")));
    assert_eq!(world.status("two")["state"], "open");
}

/// A proxy that is gone is named, with what to do.
#[test]
fn who_is_silent_is_named() {
    let (mut world, link) = started(&json!("participants"), &[]);
    let site = site(&link);
    world.submit("a", &["x"]).well();
    world.kill("proxy");
    world.operate("close", ROUND, &[]).well();
    let until = Instant::now() + Duration::from_secs(40);
    loop {
        let page = site.get("/rounds/one").body;
        if page.contains("It waits for the proxy, silent for ") && page.contains("What to do:") {
            break;
        }
        assert!(Instant::now() < until, "{page}");
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(site.get("/").body.contains("class=\"stuck\">It waits for the proxy"));
}

/// Hundreds of reports, of which few keys have many.
fn on_a_screen_and_on_a_phone(browser: &Browser) {
    let (world, link) = started(&json!(["participants", "database"]), &[]);
    for (place, name) in NAMES.iter().enumerate() {
        let items = (0..300).filter(|item| (item * 7 + place * item / 5) % (2 + item % 5) == 0 || item % 90 == 0);
        let items: Vec<String> = items.map(|item| format!("198.51.{}.{}", item / 256, item % 256)).collect();
        world.submit(name, &items.iter().map(String::as_str).collect::<Vec<_>>()).well();
    }
    world.operate("close", ROUND, &[]).well();
    world.until(ROUND, &["counted"]);
    world.operate("tighten", ROUND, &["--measure", "distinct", "--to", "4"]).well();
    world.operate("open", "two", &[]).well();
    look_at(browser, &link, ROUND, |_| ());
}

/// Looks at the main page and at a round's, on a screen and on a phone, by day and by night; `keep` takes a picture
/// under a name.
pub fn look_at(browser: &Browser, link: &str, round: &str, keep: impl Fn(&str)) {
    browser.open(link);
    browser.until_says("#rate", "most");
    let (place, base) = (link.split_once("/?").unwrap().0, browser.script("return location.pathname"));
    let address = format!("{place}{}", base.as_str().unwrap().trim_end_matches('/'));
    for width in [390, 1000] {
        for (path, name) in [("/?still", "dashboard"), (&format!("/rounds/{round}"), "dashboard-round")] {
            browser.open(&format!("{address}{path}"));
            browser.until_says("h1", " ");
            browser.fit(width);
            assert_eq!(browser.script("return document.documentElement.scrollWidth <= window.innerWidth"), true);
            let labelled = "return [...document.querySelectorAll('input:not([type=hidden])')].every(input => input.labels.length === 1)";
            assert_eq!(browser.script(labelled), true);
            assert_eq!(
                browser.script("return [...document.querySelectorAll('table')].every(table => table.caption)"),
                true
            );
            match (width, name) {
                (390, "dashboard") => keep("dashboard-phone"),
                (1000, _) => keep(name),
                _ => (),
            }
            if width == 1000 {
                browser.prefer("dark");
                let (ink, paper) =
                    ("getComputedStyle(document.body).color", "getComputedStyle(document.body).backgroundColor");
                assert_eq!(browser.script(&format!("return {paper}")), "rgb(18, 22, 28)");
                assert_eq!(browser.script(&format!("return {ink}")), "rgb(231, 235, 240)");
                if name == "dashboard-round" {
                    keep("dashboard-round-dark");
                }
                browser.prefer("light");
            }
        }
    }
}
