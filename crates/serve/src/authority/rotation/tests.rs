use std::path::Path;
use std::sync::Arc;

use tacita_core::protocol::intersect::live::MAX_TURNS;
use tacita_node::agreement::JobSpec;
use tacita_node::base::folder::Folder;
use tacita_node::identity::Identity;
use tacita_node::jobs::intersect::live::Live;
use tacita_node::table::ReadOptions;

use super::*;
use crate::allow_list::AllowList;
use crate::authority::{AuthorityConfig, allow_file, read_rows};
use crate::clock;
use crate::journal::{Journal, Key};

/// The time between two keys in these tests: none of them is as long.
const PERIOD: u64 = 24 * 3600;

/// An authority's directory, and what it serves.
struct Home {
    directory: tempfile::TempDir,
    identity: Identity,
    live: Live,
}

impl Home {
    fn new() -> Home {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let identity = Identity::create(&at("authority"), "authority").unwrap();
        std::fs::write(at("desks.txt"), "").unwrap();
        let job = format!(
            "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"airline\"]\n[key]\ncolumns = [\"name\"]\n[clients]\nallow = \"desks.txt\"\n[limits]\n\
             pad_to = 8\ndaily_queries = 100\n[parties.authority]\naddress = \"127.0.0.1:1\"\nidentity = \"{}\"\n[parties.airline]\n",
            identity.fingerprint()
        );
        std::fs::write(at("job.toml"), job).unwrap();
        let live = Live::of(JobSpec::load(&at("job.toml")).unwrap(), "authority").unwrap();
        assert_eq!(live.rotate_within(), PERIOD);
        Home { directory, identity, live }
    }

    fn rows(&self, names: &str) -> Vec<EncodedRow> {
        let file = self.directory.path().join("rows.csv");
        std::fs::write(&file, format!("name\n{names}")).unwrap();
        read_rows(&self.live, &file, &ReadOptions::default(), false).unwrap().0
    }

    /// The authority as it starts, with the list that is there or a new one.
    fn open(&self) -> Result<Authority> {
        self.rows("Anna\nBerta\n");
        let state = self.directory.path().join("state");
        let serving = AuthorityConfig {
            live: self.live.clone(),
            input: Some(self.directory.path().join("rows.csv")),
            reading: ReadOptions::default(),
            allow_unreadable: false,
            identity: self.identity.clone(),
            state: state.clone(),
            listen: String::new(),
            account: None,
            cancel: ConnectCancel::default(),
        };
        let desks = AllowList::read(&allow_file(&self.live)?)?;
        Authority::open(&serving, folder(&state), desks)
    }
}

fn folder(state: &Path) -> Arc<Folder> {
    Arc::new(Folder::make(state).unwrap())
}

/// Returns the time of the next key, and the identifier of the current epoch.
fn standing(authority: &Authority) -> (u64, [u8; 32]) {
    (authority.keeper().schedule().due(), authority.epoch().id)
}

/// Changes the key as if it were time and the clock showed `wall`, so that the next time is a period from there on.
fn rotate_at(authority: &Authority, wall: u64) {
    let next = authority.prepare().unwrap();
    let steady = Instant::now() + Duration::from_secs(2 * PERIOD);
    authority.keeper().rotate(next, Moment { wall, steady }).unwrap();
    assert_eq!(authority.keeper().schedule().due(), wall + PERIOD);
}

/// Neither additions nor removals, a change of the key by hand, a restart: nothing moves the time.
#[test]
fn nothing_that_happens_to_a_list_moves_the_next_key() {
    let home = Home::new();
    let authority = home.open().unwrap();
    let (due, first) = standing(&authority);
    for (names, added) in [("Carla\nDora\n", true), ("Anna\n", false), ("Anna\n", true), ("Berta\nCarla\n", false)] {
        authority.change(&home.rows(names), added).unwrap();
        assert_eq!(standing(&authority), (due, first));
    }
    let lasts = authority.epoch().table().0.lasts;
    assert!(lasts <= PERIOD);
    authority.rotate().unwrap();
    let (after, second) = standing(&authority);
    assert_eq!(after, due);
    assert_ne!(second, first);
    drop(authority);
    let again = home.open().unwrap();
    assert_eq!(standing(&again), (due, second));
    assert!(again.catch_up().unwrap().is_none());
}

/// A list that changes while its next key is prepared: desks that come after the change of the key find it as it is, in
/// a table that is as long as any.
#[test]
fn another_key_comes_at_its_time_with_the_list_as_it_is_then() {
    let home = Home::new();
    let authority = home.open().unwrap();
    let (due, first) = standing(&authority);
    let mut next = Some(authority.prepare().unwrap());
    authority.change(&home.rows("Anna\nCarla\n"), true).unwrap();
    authority.change(&home.rows("Berta\n"), false).unwrap();
    // It is not time yet: nothing happens, and what is prepared stays.
    authority.follow(&mut next, &ConnectCancel::default()).unwrap();
    assert!(next.is_some());
    assert_eq!(standing(&authority), (due, first));
    authority.keeper().rotate(next.unwrap(), Moment { wall: due, steady: Instant::now() }).unwrap();
    assert_eq!(standing(&authority).0, due + PERIOD);
    let keeper = authority.keeper();
    let epoch = keeper.epoch();
    let list = epoch.list.read().unwrap();
    assert_eq!((list.items(), keeper.rows(), list.state().version), (2, 2, 0));
    assert_eq!(list.table().len(), home.live.params.table_bytes());
}

/// Work whose duration grows with the list is done before the time. At the time desks are only shown what is there
/// already.
#[test]
fn another_key_is_kept_before_its_time_and_shown_at_it() {
    let home = Home::new();
    let authority = home.open().unwrap();
    let (due, first) = standing(&authority);
    let (next, stopped) = (authority.prepare().unwrap(), ConnectCancel::default());
    stopped.cancel();
    authority.switch_on_time(next, &stopped).unwrap();
    // It was stopped before the time.
    assert_eq!(standing(&authority), (due + PERIOD, first));
    let kept = authority.keeper().epoch().id;
    assert_ne!(kept, first);
    drop(authority);
    assert_eq!(standing(&home.open().unwrap()).1, kept);
    // Its time has come.
    rotate_at(&home.open().unwrap(), clock::now() - PERIOD);
    let authority = home.open().unwrap();
    let (_, before) = standing(&authority);
    authority.switch_on_time(authority.prepare().unwrap(), &ConnectCancel::default()).unwrap();
    assert_eq!(standing(&authority).1, authority.keeper().epoch().id);
    assert_ne!(standing(&authority).1, before);
}

/// A clock that shows a time before the key began says nothing of how long ago that was.
#[test]
fn a_clock_before_the_key_began_brings_another_key() {
    let home = Home::new();
    let authority = home.open().unwrap();
    let (_, first) = standing(&authority);
    authority.keeper().begun_at(clock::now() + 2 * PERIOD);
    drop(authority);
    let again = home.open().unwrap();
    assert!(again.is_due());
    again.catch_up().unwrap();
    assert_ne!(standing(&again).1, first);
}

#[test]
fn a_list_that_was_not_served_at_its_time_has_another_key_before_it_is_served() {
    let home = Home::new();
    rotate_at(&home.open().unwrap(), 0);
    let authority = home.open().unwrap();
    let (due, before) = standing(&authority);
    assert_eq!(due, PERIOD);
    authority.catch_up().unwrap();
    let (due, after) = standing(&authority);
    assert_ne!(after, before);
    // The times are those that they were, a period apart.
    assert_eq!(due % PERIOD, 0);
    assert!(due + 60 > clock::now());
}

#[test]
fn a_list_that_starts_near_its_time_prepares_before_it_is_served() {
    let home = Home::new();
    rotate_at(&home.open().unwrap(), clock::now() - PERIOD * 3 / 4);
    let authority = home.open().unwrap();
    let before = standing(&authority);
    assert!(authority.catch_up().unwrap().is_some());
    assert_eq!(standing(&authority), before);
}

#[test]
fn changes_that_a_key_has_no_room_for_bring_another_key_first() {
    let home = Home::new();
    let authority = home.open().unwrap();
    let (due, first) = standing(&authority);
    // A row that comes and goes nearly as often as it may.
    let row = home.rows("Anna\n");
    {
        let keeper = authority.keeper();
        let item_keys = home.live.item_keys(&home.live.epoch(&first));
        let items = keeper.next().1.items(&home.live, &row, false, &item_keys).unwrap();
        let epoch = keeper.epoch();
        let mut list = epoch.list.write().unwrap();
        for _ in 1..MAX_TURNS / 2 {
            let steps = list.plan(&items, &items).unwrap().unwrap();
            list.apply(&steps).unwrap();
        }
    }
    authority.change(&row, false).unwrap();
    assert_eq!(standing(&authority), (due, first));
    assert_eq!(authority.change(&row, true).unwrap().rows, 2);
    let (after, second) = standing(&authority);
    assert_eq!(after, due);
    assert_ne!(second, first);
}

#[test]
fn a_list_of_an_earlier_version_is_refused_with_advice() {
    let home = Home::new();
    drop(home.open().unwrap());
    let key = Key::new(home.identity.derive("live list", b""));
    let state = folder(&home.directory.path().join("state"));
    Journal::begin(&state, "list.sealed", &key, &[1, 0, 0, 0]).unwrap();
    let error = home.open().err().unwrap().to_string();
    assert!(error.contains("list.sealed") && error.contains("earlier version") && error.contains("--input"), "{error}");
}

/// A list is what it was after a start, with what was changed, and no longer than its table; under the job and with the
/// quotas that it was begun with.
#[test]
fn a_list_goes_on_as_it_was_left() {
    let mut home = Home::new();
    let authority = home.open().unwrap();
    authority.change(&home.rows("Clara\nDora\n"), true).unwrap();
    authority.change(&home.rows("Berta\n"), false).unwrap();
    let long = home.rows("Emil\nFritz\nGerda\nHans\nIda\nJan\n");
    assert!(authority.change(&long, true).unwrap_err().to_string().contains("limits.pad_to is 8"));
    drop(authority);
    let authority = home.open().unwrap();
    let outcome = authority.change(&home.rows("Anna\nBerta\nClara\n"), true).unwrap();
    assert_eq!((outcome.changed, outcome.left_out, outcome.rows), (1, 2, 4));
    drop(authority);
    let job = home.directory.path().join("job.toml");
    let text = std::fs::read_to_string(&job).unwrap();
    std::fs::write(&job, text.replace("id = \"t\"", "id = \"u\"")).unwrap();
    let own = home.live.clone();
    home.live = Live::of(JobSpec::load(&job).unwrap(), "authority").unwrap();
    assert!(home.open().err().unwrap().to_string().contains("was begun with another job file"));
    home.live = own;
    std::fs::remove_file(home.directory.path().join("state").join("quotas.sealed")).unwrap();
    assert!(home.open().err().unwrap().to_string().contains("the record of the desks' quotas"));
}
