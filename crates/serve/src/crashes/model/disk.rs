//! A disk that keeps what was waited for, and of everything else what it likes.

use std::collections::{BTreeMap, HashMap};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use super::recording::Event;

/// Bytes that a disk writes whole or not at all.
const BLOCK_BYTES: u64 = 512;

/// The directory that all else is in.
const TOP: Inode = 0;

type Inode = usize;

/// Target of a directory entry, and whether it is a directory.
type Target = (Inode, bool);

/// Length of a file, and its bytes as far as they were written: behind them there are zeros.
#[derive(Clone, Default)]
struct File {
    bytes: Vec<u8>,
    length: u64,
}

/// Files and directories as they are found.
#[derive(Clone, Default)]
pub(super) struct Tree {
    files: BTreeMap<Inode, Arc<File>>,
    directories: BTreeMap<Inode, BTreeMap<String, Target>>,
}

/// Change that was made in one go.
#[derive(Clone)]
enum Change {
    Data {
        file: Inode,
        at: u64,
        bytes: Arc<[u8]>,
        length: u64,
    },
    Cut {
        file: Inode,
        length: u64,
    },
    /// Entries of directories, each with what is there from now on.
    Entries(Vec<(Inode, String, Option<Target>)>),
}

/// Changes that were made, and the part of them that is on disk.
pub(super) struct Disk<'a> {
    /// Path whose subtree, itself included, reaches the disk with delay; all else is on disk at once.
    volatile: &'a str,
    kept: Tree,
    /// Changes after the first that is not on disk, each with whether it is on disk.
    pending: Vec<(Change, bool)>,
    /// Tree as the process sees it.
    live: Tree,
    inodes: HashMap<u64, Inode>,
    /// Whether each is volatile.
    are_volatile: Vec<bool>,
}

impl Tree {
    fn apply(&mut self, change: &Change) {
        match change {
            Change::Data { file, at, bytes, length } => {
                let file = Arc::make_mut(self.files.entry(*file).or_default());
                let (from, to) = (*at as usize, *at as usize + bytes.len());
                if !bytes.is_empty() {
                    file.bytes.resize(file.bytes.len().max(to), 0);
                    file.bytes[from..to].copy_from_slice(bytes);
                }
                file.length = file.length.max(at + length);
            }
            Change::Cut { file, length } => {
                let file = Arc::make_mut(self.files.entry(*file).or_default());
                file.bytes.truncate(*length as usize);
                file.length = *length;
            }
            Change::Entries(entries) => {
                for (directory, name, to) in entries {
                    let directory = self.directories.entry(*directory).or_default();
                    match to {
                        Some(to) => drop(directory.insert(name.clone(), *to)),
                        None => drop(directory.remove(name)),
                    }
                }
            }
        }
    }

    fn find(&self, path: &str) -> Option<Inode> {
        let mut at = TOP;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            at = self.directories.get(&at)?.get(name)?.0;
        }
        Some(at)
    }

    /// The directory that a path is in, and its name there.
    fn entry(&self, path: &str) -> (Inode, String) {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        (self.find(parent).unwrap_or_else(|| panic!("{path} is in no directory that is known")), name.to_owned())
    }

    /// Equal for trees that nobody can tell apart.
    pub(super) fn fingerprint(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        self.each(TOP, "", &mut |path, file| {
            hasher.update(&(path.len() as u64).to_le_bytes()).update(path.as_bytes());
            if let Some(File { bytes, length }) = file {
                let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                hasher.update(&[1]).update(&length.to_le_bytes()).update(&(used as u64).to_le_bytes());
                hasher.update(&bytes[..used]);
            }
        });
        *hasher.finalize().as_bytes()
    }

    fn each(&self, directory: Inode, path: &str, each: &mut dyn FnMut(&str, Option<&File>)) {
        for (name, (inode, is_directory)) in self.directories.get(&directory).into_iter().flatten() {
            let path = format!("{path}/{name}");
            if *is_directory {
                each(&path, None);
                self.each(*inode, &path, each);
            } else {
                let empty = File::default();
                each(&path, Some(self.files.get(inode).map_or(&empty, |file| file)));
            }
        }
    }

    /// Makes these files and directories in a directory.
    pub(super) fn put(&self, home: &Path) {
        self.each(TOP, "", &mut |path, file| {
            let path = home.join(&path[1..]);
            let Some(File { bytes, length }) = file else {
                return std::fs::DirBuilder::new().mode(0o700).create(path).unwrap();
            };
            let mut made = std::fs::File::options().write(true).create_new(true).mode(0o600).open(path).unwrap();
            std::io::Write::write_all(&mut made, bytes).unwrap();
            made.set_len(*length).unwrap();
        });
    }
}

impl<'a> Disk<'a> {
    pub(super) fn new(volatile: &'a str) -> Disk<'a> {
        Disk {
            volatile,
            kept: Tree::default(),
            pending: Vec::new(),
            live: Tree::default(),
            inodes: HashMap::new(),
            are_volatile: Vec::new(),
        }
    }

    fn is_volatile(&self, path: &str) -> bool {
        path.strip_prefix(self.volatile).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    fn known(&self, inode: u64) -> Inode {
        *self.inodes.get(&inode).expect("a file that was made meanwhile")
    }

    fn make(&mut self, inode: u64, path: &str, is_directory: bool) {
        let new = self.are_volatile.len();
        self.are_volatile.push(self.is_volatile(path));
        self.inodes.insert(inode, new);
        if new != TOP {
            let (directory, name) = self.live.entry(path);
            self.change(Change::Entries(vec![(directory, name, Some((new, is_directory)))]), self.is_volatile(path));
        }
    }

    fn change(&mut self, change: Change, is_volatile: bool) {
        self.live.apply(&change);
        self.pending.push((change, !is_volatile));
        self.keep();
    }

    /// Applies the leading changes that are on disk: they need not be told apart any more.
    fn keep(&mut self) {
        let kept = self.pending.iter().take_while(|(_, is_kept)| *is_kept).count();
        self.pending.drain(..kept).for_each(|(change, _)| self.kept.apply(&change));
    }

    /// Does what a process did. Whether something changed that is volatile.
    pub(super) fn follow(&mut self, event: &Event) -> bool {
        let before = self.pending.len();
        match event {
            Event::Opened { inode, is_cut, path } => match self.live.find(path) {
                None => self.make(*inode, path, false),
                Some(file) if *is_cut => self.change(Change::Cut { file, length: 0 }, self.are_volatile[file]),
                Some(_) => (),
            },
            Event::Written { inode, at, bytes } => {
                let (file, length) = (self.known(*inode), bytes.len() as u64);
                let change = Change::Data { file, at: *at, bytes: bytes.as_slice().into(), length };
                self.change(change, self.are_volatile[file]);
            }
            Event::Cut { inode, length } => {
                let file = self.known(*inode);
                self.change(Change::Cut { file, length: *length }, self.are_volatile[file]);
            }
            Event::Directory { inode, path } => self.make(*inode, path, true),
            Event::Removed { path } => {
                let (directory, name) = self.live.entry(path);
                self.change(Change::Entries(vec![(directory, name, None)]), self.is_volatile(path));
            }
            Event::Renamed { from, to } => {
                let (one, two) = (self.live.entry(from), self.live.entry(to));
                let moved = self.live.directories.get(&one.0).and_then(|entries| entries.get(&one.1)).copied();
                assert!(moved.is_some(), "{from} is not known");
                let change = Change::Entries(vec![(one.0, one.1, None), (two.0, two.1, moved)]);
                self.change(change, self.is_volatile(from) || self.is_volatile(to));
            }
            Event::Synced { inode } => {
                let inode = self.known(*inode);
                for (change, is_kept) in &mut self.pending {
                    *is_kept |= match change {
                        Change::Data { file, .. } | Change::Cut { file, .. } => *file == inode,
                        Change::Entries(entries) => entries.last().is_some_and(|(directory, ..)| *directory == inode),
                    };
                }
                self.keep();
            }
        }
        self.pending.len() > before
    }

    /// Whether this is a directory of the process.
    pub(super) fn is_directory(&self, inode: u64) -> bool {
        self.inodes.get(&inode).is_some_and(|inode| *inode == TOP || self.live.directories.contains_key(inode))
    }

    /// Finds the states that may be left after a cut now, and how each comes about: in all ways, or in a few.
    pub(super) fn cuts(&self, in_all_ways: bool, found: &mut dyn FnMut(String, Tree)) {
        let open: Vec<usize> = (0..self.pending.len()).filter(|place| !self.pending[*place].1).collect();
        let mut give = |how: String, change: &dyn Fn(usize, &Change) -> Vec<Change>| {
            let mut tree = self.kept.clone();
            for (place, (done, is_kept)) in self.pending.iter().enumerate() {
                if *is_kept { tree.apply(done) } else { change(place, done).iter().for_each(|done| tree.apply(done)) }
            }
            found(how, tree);
        };
        let some = |wanted: bool, change: &Change| wanted.then(|| change.clone()).into_iter().collect();
        let is_name = |change: &Change| matches!(change, Change::Entries(_));
        give("nothing".into(), &|_, _| Vec::new());
        give("everything".into(), &|_, change| some(true, change));
        give("names alone".into(), &|_, change| some(is_name(change), change));
        give("data alone".into(), &|_, change| some(!is_name(change), change));
        give("names and lengths".into(), &|_, change| vec![without_bytes(change)]);
        if !in_all_ways {
            return;
        }
        for chosen in &open {
            give(format!("all but change {chosen}"), &|place, change| some(place != *chosen, change));
            give(format!("change {chosen} alone"), &|place, change| some(place == *chosen, change));
        }
        let last = open.iter().rev().find(|place| matches!(self.pending[**place].0, Change::Data { .. }));
        for (how, pieces) in last.map(|last| torn(&self.pending[*last].0)).unwrap_or_default() {
            for others in [true, false] {
                give(format!("the last write {how}, others: {others}"), &|place, change| {
                    if Some(&place) == last { pieces.clone() } else { some(others, change) }
                });
            }
        }
    }
}

/// A file that is as long as it was to be, and has not what was to be in it.
fn without_bytes(change: &Change) -> Change {
    match change {
        Change::Data { file, at, length, .. } => {
            Change::Data { file: *file, at: *at, bytes: Arc::default(), length: *length }
        }
        other => other.clone(),
    }
}

/// Returns one write with only some of its blocks: those at its beginning, and all but some.
fn torn(change: &Change) -> Vec<(&'static str, Vec<Change>)> {
    let Change::Data { file, at, bytes, length } = change else { return Vec::new() };
    let piece = |from: u64, to: u64| Change::Data {
        file: *file,
        at: at + from,
        bytes: bytes[from as usize..to as usize].into(),
        length: to - from,
    };
    let whole = *length;
    // Where the first block of the file ends that this is in, and where the last one begins.
    let first = (BLOCK_BYTES - at % BLOCK_BYTES).min(whole);
    let last = ((at + whole - 1) / BLOCK_BYTES * BLOCK_BYTES).saturating_sub(*at);
    let mut all = vec![
        ("cut off in its middle", vec![piece(0, whole / 2)]),
        ("without its last byte", vec![piece(0, whole - 1)]),
        ("cut off behind its first block", vec![piece(0, first)]),
        ("cut off, and as long as it was to be", vec![piece(0, first), without_bytes(change)]),
    ];
    if first < whole {
        all.push(("without its first block", vec![piece(first, whole)]));
        all.push(("without what is between its ends", vec![piece(0, first), piece(last, whole)]));
    }
    all
}
