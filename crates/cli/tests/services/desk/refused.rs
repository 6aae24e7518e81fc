//! Tests that errors are reported in one line, with the right exit code.

use crate::common::{Running, tacita, text};
use crate::desk::fly::{Fly, LIMITS, LIST, TERMS};

#[test]
fn job_files_that_make_no_sense() {
    let fly = Fly::new(TERMS, LIMITS, LIST);
    let job = text(&fly.job);
    let serve = |text: &str| {
        let file = fly.home.file("wrong.toml", text);
        let (identity, state, input) = (fly.home.at("authority"), fly.home.at("state"), fly.home.at("list.csv"));
        tacita(&["serve", &file, "--as", "authority", "--identity", &identity, "--state", &state, "--input", &input])
    };
    for (from, to, words) in [
        ("daily_queries = 1000\n", "", &["limits.daily_queries is missing"][..]),
        ("pad_to = 200\n", "", &["limits.pad_to is missing"]),
        ("[clients]\nallow = \"desks.txt\"\n", "", &["limits.daily_queries", "[clients]"]),
        ("allow = \"desks.txt\"", "allow = \"none.txt\"", &["none.txt", "cannot read the allow-list"]),
        ("allow = \"desks.txt\"", "allow = \"list.csv\"", &["list.csv, line 1"]),
        ("reveal = \"rows\"", "reveal = \"count\"", &["reveal = \"count\"", "rows"]),
        ("reveal_to = [\"airline\"]", "reveal_to = [\"airline\", \"authority\"]", &["reveal_to"]),
        ("reveal = \"rows\"", "protocol = \"vole\"", &["protocol = \"vole\"", "ecdh"]),
        ("reveal = \"rows\"", "security = \"malicious\"", &["security"]),
        ("[limits]\n", "[limits]\nrotate_within = \"1s\"\n", &["limits.rotate_within", "10s"]),
        ("[limits]\n", "[limits]\nrotate_within = \"soon\"\n", &["is no time", "24h"]),
        ("max_clients = 5", "max_clients = 50_000_000", &["which answers at most"]),
        (
            "[parties.airline]\n",
            "[parties.airline]\nidentity = \"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"\n",
            &["parties.airline.identity"],
        ),
    ] {
        assert!(job.contains(from), "{from}");
        serve(&job.replace(from, to)).failed(2, words);
    }
    // A job that is served is no run, and the other way round.
    let (identity, input) = (fly.home.at("authority"), fly.home.at("list.csv"));
    let run = ["run", &fly.job, "--as", "authority", "--identity", &identity, "--input", &input];
    tacita(&run).failed(2, &["tacita serve", "tacita desk"]);
    let both = [format!("authority={input}"), format!("airline={input}")];
    tacita(&["simulate", &fly.job, "--input", &both[0], "--input", &both[1]]).failed(2, &["tacita serve"]);
    // It is planned, though, without any table.
    let plan = tacita(&["plan", &fly.job]).well().stdout;
    for words in [
        "a table that begins with 200 entries",
        "fetches 2.0 kB once an epoch, and 10 B for each change",
        "every 1 day, whatever happens to the list",
        "authority does not learn whom airline asks for",
        "1,000 keys a day",
    ] {
        assert!(plan.contains(words), "{words}: {plan}");
    }
    assert_eq!(tacita(&["plan", &fly.job, "--json"]).well().stdout.matches("\"learned\"").count(), 1);
    tacita(&["plan", &fly.job, "--rows", "airline=5"]).failed(2, &["--rows airline", "omit --rows"]);
    let dot = fly.home.file("dot.toml", "job = \"dot\"\nid = \"t\"\nreveal_to = [\"a\"]\ncolumn = \"x\"\n[clients]\nallow = \"f\"\n[parties.a]\n[parties.b]\n");
    tacita(&["plan", &dot, "--rows", "a=1", "--rows", "b=1"]).failed(2, &["[clients] is for job = \"intersect\""]);
}

#[test]
fn parties_and_places_that_are_others() {
    let fly = Fly::new(TERMS, LIMITS, LIST);
    let at = |name: &str| fly.home.at(name);
    let (job, input) = (fly.job.as_str(), at("list.csv"));
    let serve = |me: &str, identity: &str, more: &[&str]| {
        let (identity, state) = (at(identity), at("state"));
        tacita(&[&["serve", job, "--as", me, "--identity", &identity, "--state", &state], more].concat())
    };
    serve("airline", "authority", &["--input", &input]).failed(2, &["authority holds the list"]);
    serve("nobody", "authority", &["--input", &input]).failed(2, &["nobody"]);
    serve("authority", "gate-1", &["--input", &input]).failed(2, &["parties.authority.identity"]);
    serve("authority", "authority", &[]).failed(2, &["there is no list there yet", "--input"]);
    serve("authority", "authority", &["--input", &at("none.csv")]).failed(2, &["none.csv"]);
    let long = fly.home.file(
        "long.csv",
        &format!("name,dob\n{}", (0..201).map(|row| format!("Row x{row},2000-01-01\n")).collect::<String>()),
    );
    serve("authority", "authority", &["--input", &long]).failed(2, &["201", "limits.pad_to"]);
    tacita(&["serve", "--state", &at("state"), "--status"]).failed(2, &["no `tacita serve` runs there"]);
    let order = ["serve", "--state", &at("state"), "--add", &at("none.csv")];
    tacita(&order).failed(2, &["none.csv"]);
    tacita(&["desk", job, "--as", "authority", "--identity", &at("gate-1")]).failed(2, &["authority holds the list"]);
    for page in ["0.0.0.0:0", "192.0.2.1:80"] {
        let desk =
            ["desk", job, "--as", "airline", "--identity", &at("gate-1"), "--page", page, "--verdicts", &at("v.jsonl")];
        tacita(&desk).failed(2, &["--page", "--allow-remote-page"]);
    }

    let authority = fly.serve();
    // Two authorities do not share a state; another job file is another list.
    fly.serve_with(&["--listen", "127.0.0.1:0"]).end().failed(2, &["another `tacita serve` uses it"]);
    // A change that cannot be made is told to whoever wanted it, and the list is as it was.
    let order = |order: &str, file: &str| tacita(&["serve", "--state", &at("state"), order, file]);
    order("--add", &long).failed(2, &["limits.pad_to is 200"]);
    order("--add", &fly.home.file("other.csv", "who,when\nx,y\n")).failed(2, &["name"]);
    assert!(fly.tell(&["--status"]).starts_with("3 rows on the list"));
    drop(authority);
    std::fs::write(job, text(job).replace("pad_to = 200", "pad_to = 300")).unwrap();
    serve("authority", "authority", &[]).failed(2, &["another job file"]);
    std::fs::write(job, text(job).replace("pad_to = 300", "pad_to = 200")).unwrap();
    std::fs::rename(at("state/quotas.sealed"), at("kept")).unwrap();
    serve("authority", "authority", &[]).failed(2, &["quotas.sealed"]);
    std::fs::rename(at("kept"), at("state/quotas.sealed")).unwrap();
    let mut list = std::fs::read(at("state/list.sealed")).unwrap();
    list[40] ^= 1;
    let cut = list.len() - 1;
    std::fs::write(at("state/list.sealed"), [&list[..cut], &[0; 100]].concat()).unwrap();
    serve("authority", "authority", &[]).failed(2, &["list.sealed", "damaged"]);
}

/// Whoever may not ask is turned away, before and while it is connected; whoever has other terms is told which.
#[test]
fn desks_that_may_not_ask() {
    let fly = Fly::new(TERMS, LIMITS, LIST);
    let mut authority = fly.serve();
    let one = fly.desk("gate-1");
    tacita(&["identity", "new", &fly.home.at("stranger")]).well();
    let stranger = fly.desk_alone("stranger");
    let own = tacita(&["identity", "show", &fly.home.at("stranger")]).well().stdout;
    let said = format!("this desk is not on the authority's list: ask authority to put its identity, {}", own.trim());
    let standing = stranger.until(|standing| standing["text"].as_str().is_some_and(|text| text.contains(&said)));
    assert_eq!(standing["connected"], false, "{standing}");
    // The log of the desk says what the page does, and that of the authority what to do.
    assert!(stranger.running.said().contains(&said), "{}", stranger.running.said());
    authority.until_it_says("refused a connection from 127.0.0.1");
    authority.until_it_says(&format!("it presents {}, expected", own.trim()));
    authority.until_it_says(&format!("if it is a desk, put that on a line of {}", fly.home.at("desks.txt")));
    // Taken off the list of desks, it is turned away within moments.
    let desks = text(fly.home.at("desks.txt"));
    std::fs::write(fly.home.at("desks.txt"), desks.lines().skip(1).collect::<String>() + "\n").unwrap();
    one.until(|standing| standing["connected"] == false);
    assert!(one.check("Nobody", "2000-01-01", "").contains("Not checked"));
    std::fs::write(fly.home.at("desks.txt"), "gate-1 nonsense\n").unwrap();
    authority.until_it_says("until it is mended");
    std::fs::write(fly.home.at("desks.txt"), desks).unwrap();
    one.until(|standing| standing["connected"] == true);
    // Other terms.
    let other = fly.home.file("other.toml", &text(&fly.job).replace("daily_queries = 1000", "daily_queries = 1001"));
    let fly = Fly { job: other, ..fly };
    let desk = fly.desk_alone("gate-2");
    let standing = desk.until(|standing| standing["text"].as_str().is_some_and(|text| text.contains("terms differ")));
    assert!(standing["text"].as_str().unwrap().contains("limits.daily_queries"), "{standing}");
    let _: &Running = &desk.running;
}

/// A list of desks that names none is told of, and so is who is refused by it.
#[test]
fn a_list_without_desks() {
    let fly = Fly::new(TERMS, LIMITS, LIST);
    fly.home.file("desks.txt", "# none yet\n");
    let mut authority = fly.serve();
    authority.until_it_says("desks.txt: no desk is listed: add a line");
    let desk = fly.desk_alone("gate-1");
    desk.until(|standing| standing["text"].as_str().is_some_and(|text| text.contains("not on the authority's list")));
    authority.until_it_says(", and nobody is admitted: if it is a desk, put that on a line of");
}
