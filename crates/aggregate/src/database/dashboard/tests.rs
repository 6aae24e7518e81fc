//! Pages as text: what they say, and that nothing on them is other than text.

use std::collections::BTreeMap;
use std::time::Duration;

use tacita_core::{Error, ErrorKind};
use tacita_node::jobs::aggregate::Measure;
use tacita_serve::page::Guard;

use super::change::{Action, Raise, asked};
use super::keys::Keys;
use super::view::{Oracle, Proxy, RoundView, Threshold, Trouble, View};
use super::{advice, keys, overview, parts, round};
use crate::store::Totals;
use crate::wire::rounds::{Completion, Numbers, ReportCounts, RoundFailure, RoundState};

const EVIL: &str = "\"><script>alert(1)</script>\u{202e}'&<b>";

fn guard() -> Guard {
    Guard::new("dashboard", "tacita database", "127.0.0.1:7622".parse().unwrap(), None).unwrap()
}

fn proxy(name: &str, silent: u64) -> Proxy {
    Proxy {
        name: name.into(),
        silent: Duration::from_secs(silent),
        heard: true,
        complete: None,
        strange: false,
        other_keys: None,
        without: false,
    }
}

fn complete(name: &str, entries: u64, unshufflable: Option<&str>) -> Proxy {
    let complete = Completion { entries, discarded: 0, unshufflable: unshufflable.map(str::to_owned) };
    Proxy { complete: Some(complete), ..proxy(name, 1) }
}

/// A round of two proxies in a state.
fn round_in(state: RoundState) -> RoundView {
    RoundView {
        name: "one".into(),
        state,
        opened: 1_800_000_000,
        closed: (state != RoundState::Open).then_some(1_800_003_600),
        since: None,
        close_at: None,
        batch_size: None,
        keyed: true,
        proxies: vec![proxy("proxy 1", 1), proxy("proxy 2", 1)],
        trouble: None,
        failure: None,
        again: false,
        numbers: Numbers { rows: Some(9), passing: Some(3), keys: Some(3), ..Numbers::default() },
        totals: Totals { batches: 4, reports: 1234, dropped: 0 },
        revealed: 3,
        agreed_when: "distinct >= 2".into(),
        reveal_when: "distinct >= 4".into(),
        thresholds: vec![Threshold { measure: Measure::Distinct, agreed: 2, now: 4, bound: 4 }],
        tighten: true,
        counts: Some(ReportCounts {
            count: BTreeMap::from([(1, 6), (6, 3)]),
            distinct: BTreeMap::from([(1, 6), (6, 3)]),
            noisy: vec![],
        }),
        reveal_to: "alice".into(),
        reads: false,
    }
}

fn said(round: &RoundView) -> (bool, String) {
    let said = advice::advice(round);
    (said.stuck, format!("{} {}", said.now, said.todo.unwrap_or_default()))
}

#[test]
fn what_is_stuck_is_said_with_what_to_do() {
    let mut open = round_in(RoundState::Open);
    assert!(!said(&open).0);
    open.proxies = vec![proxy("proxy 1", 1), proxy("proxy 2", 41)];
    let (stuck, words) = said(&open);
    assert!(stuck && words.contains("proxy 2, silent for 41 s") && words.contains("tacita proxy"), "{words}");
    assert!(!words.contains("proxy 1") && !words.contains("Nobody can report"), "{words}");

    let mut closed = round_in(RoundState::Closed);
    closed.proxies = vec![complete("proxy 1", 7, None), Proxy { heard: false, ..proxy("proxy 2", 300) }];
    let (stuck, words) = said(&closed);
    assert!(stuck && words.contains("waits for proxy 2, which was not heard of") && words.contains("5 min"), "{words}");
    closed.proxies = vec![complete("proxy 1", 7, None), complete("proxy 2", 7, None)];
    assert!(said(&closed).1.contains("rows are counted"));

    let mut revealing = round_in(RoundState::Revealing);
    revealing.trouble = Some(Trouble { what: "the oracle: nobody answers".into(), left: Duration::from_secs(500) });
    let (stuck, words) = said(&revealing);
    assert!(stuck && words.contains("nobody answers") && words.contains("another 8 min"), "{words}");

    for state in [RoundState::Open, RoundState::Closed] {
        let mut other = round_in(state);
        other.proxies[1].other_keys = Some("0123456789abcdef".into());
        let (stuck, words) = said(&other);
        assert!(stuck && words.contains("proxy 2, which has the round under the keys 0123456789abcdef"), "{words}");
        assert!(words.contains("has lost its state of the round"), "{words}");
    }

    let mut failed = round_in(RoundState::Failed);
    let fails = |failed: &mut RoundView, error: Error| failed.failure = Some(RoundFailure::of(&error));
    fails(&mut failed, Error::Terms("proxy 1 could not shuffle its reports: too few".into()));
    assert!(said(&failed).1.contains("too few. No report was sent"));
    fails(&mut failed, Error::Protocol { peer: "the oracle".into(), check: "it lies".into() });
    assert!(said(&failed).1.contains("the operator of the oracle"));
    fails(&mut failed, Error::Network { peer: "the oracle".into(), what: "gone".into() });
    assert_eq!(failed.failure.as_ref().unwrap().kind, ErrorKind::Network.code());
    failed.again = true;
    assert!(said(&failed).1.contains("reveal it again"));
    assert!(round::page(&guard(), &failed, false).contains("rounds/one/confirm/reveal"));
}

/// Only actions that are possible in a state are offered in it.
#[test]
fn actions_are_those_of_the_state() {
    let offers =
        |round: &RoundView, action: &str| round::page(&guard(), round, false).contains(&format!("/confirm/{action}\""));
    for state in [
        RoundState::Open,
        RoundState::Closed,
        RoundState::Counted,
        RoundState::Revealing,
        RoundState::Revealed,
        RoundState::Failed,
    ] {
        let view = round_in(state);
        assert_eq!(offers(&view, "close"), state == RoundState::Open, "{state:?}");
        assert_eq!(offers(&view, "tighten"), state == RoundState::Counted, "{state:?}");
        assert_eq!(offers(&view, "reveal"), state == RoundState::Counted, "{state:?}");
        assert!(offers(&view, "remove"));
    }
    assert!(!offers(&round_in(RoundState::Removed), "remove"));
    let mut fixed = round_in(RoundState::Counted);
    fixed.tighten = false;
    assert!(!offers(&fixed, "tighten") && round::page(&guard(), &fixed, false).contains("its thresholds stay"));
}

#[test]
fn keys_are_shown_to_an_operator_that_reveal_to_names_alone() {
    let mut view = round_in(RoundState::Revealed);
    let page = round::page(&guard(), &view, false);
    assert!(page.contains("3 keys were revealed, to alice") && !page.contains("rounds/one/keys"), "{page}");
    view.reads = true;
    assert!(round::page(&guard(), &view, false).contains("rounds/one/keys"));
}

#[test]
fn the_histogram_marks_what_was_agreed_and_what_holds_now() {
    let page = round::page(&guard(), &round_in(RoundState::Counted), false);
    for words in [
        "The condition has no threshold of this",
        "at least 4",
        "agreed 2",
        "distinct &gt;= 4",
        "agreed on was <code>distinct &gt;= 2",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(!page.contains("http-equiv"), "nothing is typed into a page that loads itself again");
    assert!(round::page(&guard(), &round_in(RoundState::Closed), false).contains("http-equiv"));
    assert!(!round::page(&guard(), &round_in(RoundState::Closed), true).contains("http-equiv"));
    let (guard, raise) = (guard(), Raise { measure: Measure::Distinct, to: 6 });
    let page = asked(&guard, &round_in(RoundState::Counted), Action::Tighten, Some(&raise));
    assert!(page.contains("3 of 9 rows have 6 distinct reporters or more"), "{page}");
    assert!(
        page.contains("name=\"to\" value=\"6\"") && page.contains(&format!("name=\"form\" value=\"{}\"", guard.form())),
        "{page}"
    );
}

/// Whatever text comes from elsewhere is text on the page.
#[test]
fn nothing_from_elsewhere_is_html() {
    let mut evil = round_in(RoundState::Failed);
    evil.name = EVIL.into();
    evil.close_at = Some(EVIL.into());
    evil.reveal_when = EVIL.into();
    evil.agreed_when = EVIL.into();
    evil.reveal_to = EVIL.into();
    evil.proxies = vec![proxy(EVIL, 100), complete(EVIL, 1, Some(EVIL))];
    let kind = ErrorKind::Protocol.code();
    evil.failure = Some(RoundFailure { culprit: Some(EVIL.into()), kind, reason: EVIL.into(), told: None });
    evil.trouble = Some(Trouble { what: EVIL.into(), left: Duration::ZERO });
    let raise = Raise { measure: Measure::Distinct, to: 6 };
    let mut pages = Vec::new();
    for state in [
        RoundState::Open,
        RoundState::Closed,
        RoundState::Counted,
        RoundState::Revealing,
        RoundState::Revealed,
        RoundState::Failed,
    ] {
        evil.state = state;
        pages.push(round::page(&guard(), &evil, false));
        evil.trouble = None;
    }
    for action in [Action::Close, Action::Tighten, Action::Reveal, Action::Remove] {
        pages.push(asked(&guard(), &evil, action, Some(&raise)));
    }
    pages.push(keys::shown(
        &guard(),
        &Keys {
            round: EVIL,
            total: 2,
            columns: vec![EVIL.into(), EVIL.into()],
            values: true,
            numbers: "reports",
            rows: vec![
                (vec![EVIL.into(), EVIL.into()], 3, EVIL.into()),
                (vec!["\u{2066}\u{202e}\u{0}\n".into()], 1, "w".repeat(5000)),
            ],
            endings: vec!["csv"],
            next: Some((1, 0)),
            first: false,
        },
    ));
    pages.push(parts::problem(&guard(), EVIL));
    pages.push(parts::problem(&guard(), "\u{df}\u{e9}"));
    let view = View {
        job: EVIL.into(),
        rounds: vec![evil],
        up: Duration::from_secs(5),
        listed: None,
        proxies: vec![proxy(EVIL, 1)],
        oracles: vec![Oracle { name: EVIL.into(), silent: None, problem: Some(EVIL.into()) }],
        rates: vec![1.0, 2.5],
        totals: Totals::default(),
        free: None,
        learned: vec![EVIL.into()],
    };
    pages.push(overview::page(&guard(), &view, false));
    for page in pages {
        assert!(!page.contains("<script") && !page.contains("<b>"), "{page}");
        assert!(!page.contains('\u{202e}') && !page.contains('\u{2066}') && !page.contains('\u{0}'), "{page}");
        assert_eq!(page.matches("<html").count(), 1);
    }
}

#[test]
fn the_token_of_a_file_is_long_and_for_no_eyes_of_others() {
    use std::os::unix::fs::PermissionsExt;

    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("token");
    let allow = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    let made = super::token(&path).unwrap();
    assert!(made.len() >= 22 && super::token(&path).unwrap() == made);
    for mode in [0o640, 0o604] {
        allow(mode);
        assert!(super::token(&path).unwrap_err().to_string().contains("others on this machine can read it"));
    }
    allow(0o600);
    for short in ["", "a", &made[..21], &format!("{}/", &made[..21])] {
        std::fs::write(&path, short).unwrap();
        assert!(super::token(&path).unwrap_err().to_string().contains("holds no token"), "{short}");
    }
}
