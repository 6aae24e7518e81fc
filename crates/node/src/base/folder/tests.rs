//! Tests of the reasons for refusing a directory, and of the paths through which its files are not opened.

use std::fs::Permissions;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

impl Folder {
    /// A directory in which files can be made and renamed, but that cannot be flushed.
    pub fn unflushable(path: &Path) -> Folder {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Folder { path: path.to_owned(), handle: rustix::fs::open(path, flags, Mode::empty()).unwrap() }
    }
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_is_made_is_private_from_the_start() {
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::make(&home.path().join("a/b")).unwrap();
    assert_eq!((mode(&home.path().join("a")), mode(folder.path())), (0o700, 0o700));
    folder.create("file").unwrap();
    folder.write("whole", b"bytes").unwrap();
    drop(folder.lock("lock").unwrap());
    for name in ["file", "whole", "lock"] {
        assert_eq!(mode(&folder.at(name)), 0o600, "{name}");
    }
    // One that is there stays as it is: others may look, and see sealed files of this user alone.
    set_mode(folder.path(), 0o755);
    Folder::make(folder.path()).unwrap();
    assert_eq!(mode(folder.path()), 0o755);
    assert!(Folder::make(&folder.at("file")).unwrap_err().to_string().contains("is no directory"));
}

#[test]
fn directories_that_others_can_write_to_are_refused_in_one_line() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("work");
    Folder::make(&path).unwrap();
    for bits in [0o770, 0o707, 0o777, 0o720, 0o702] {
        set_mode(&path, bits);
        for opened in [Folder::make(&path), Folder::open(&path)] {
            let error = opened.unwrap_err().to_string();
            let expected = format!(
                "{0}: others can write to this directory (mode {bits:03o}): remove their files and run `chmod 700 {0}`, or name \
                 another directory",
                path.display()
            );
            assert_eq!(error, expected);
        }
        assert!(others_replace(&path).is_some(), "{bits:o}");
    }
    // As /tmp: to change its mode would be no good advice.
    set_mode(&path, 0o1777);
    let error = Folder::open(&path).unwrap_err().to_string();
    assert!(error.contains("a private directory inside it") && !error.contains("chmod"), "{error}");
    assert_eq!(others_replace(&path), None);
    for bits in [0o700, 0o750, 0o755, 0o500, 0o1700] {
        set_mode(&path, bits);
        Folder::open(&path).unwrap();
        assert_eq!(others_replace(&path), None);
    }
    set_mode(&path, 0o700);
}

#[test]
fn what_belongs_to_somebody_else_is_refused() {
    let (me, other) = (geteuid().as_raw(), geteuid().as_raw() + 1);
    assert!(check_owner(me).is_ok() && check_owner(0).is_ok());
    assert!(check_owner(other).unwrap_err().contains(&other.to_string()));
    // Only the administrator can give something away.
    if me == 0 {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::make(&home.path().join("work")).unwrap();
        folder.write("file", b"").unwrap();
        std::os::unix::fs::chown(folder.at("file"), Some(other), None).unwrap();
        assert!(folder.read("file").unwrap_err().to_string().contains("another user"));
        std::os::unix::fs::chown(folder.path(), Some(other), None).unwrap();
        let error = Folder::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("another user") && error.contains("a directory of your own"), "{error}");
        assert!(others_replace(folder.path()).is_some());
    }
}

#[test]
fn links_and_pipes_in_the_place_of_files_are_refused_and_what_they_lead_to_stays() {
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::make(&home.path().join("work")).unwrap();
    let precious = home.path().join("precious");
    std::fs::write(&precious, "precious").unwrap();
    symlink(&precious, folder.at("link")).unwrap();
    symlink(home.path().join("nothing"), folder.at("dangling")).unwrap();
    for name in ["link", "dangling"] {
        for opened in [folder.read(name), folder.change(name)] {
            let error = opened.unwrap_err().to_string();
            assert!(error.contains("is a link") && error.contains("remove it"), "{error}");
        }
        assert!(folder.lock(name).unwrap_err().to_string().contains("is a link"));
        assert!(folder.try_lock(name).unwrap_err().to_string().contains("is a link"));
        assert!(folder.has(name));
    }
    assert!(!home.path().join("nothing").exists());
    // A new file takes the link's place.
    folder.create("link").unwrap().write_all(b"new").unwrap();
    folder.write("dangling", b"new").unwrap();
    for name in ["link", "dangling"] {
        assert!(folder.at(name).symlink_metadata().unwrap().is_file());
    }
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
    // The same for a second name of a file.
    std::fs::hard_link(&precious, folder.at("second")).unwrap();
    folder.create("second").unwrap().write_all(b"new").unwrap();
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");

    std::fs::hard_link(&precious, folder.at("third")).unwrap();
    let (read, change) = (folder.read("third").map(drop), folder.change("third").map(drop));
    let (lock, try_lock) = (folder.lock("third").map(drop), folder.try_lock("third").map(drop));
    let errors = [read.unwrap_err().to_string(), change.unwrap_err().to_string()];
    for error in errors.into_iter().chain([lock.unwrap_err().to_string(), try_lock.unwrap_err().to_string()]) {
        assert!(error.contains("hard link") && error.contains("remove") && !error.contains('\n'), "{error}");
    }
    std::fs::remove_file(&precious).unwrap();
    folder.read("third").unwrap();

    assert!(std::process::Command::new("mkfifo").arg(folder.at("pipe")).status().unwrap().success());
    assert!(folder.read("pipe").unwrap_err().to_string().contains("no regular file"));
    assert!(folder.lock("pipe").unwrap_err().to_string().contains("no regular file"));
}

#[test]
fn files_stay_in_the_directory_that_was_looked_at() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    std::fs::create_dir(at("one")).unwrap();
    std::fs::create_dir(at("other")).unwrap();
    [at("one"), at("other")].iter().for_each(|path| set_mode(path, 0o700));
    symlink(at("one"), at("work")).unwrap();
    let folder = Folder::make(&at("work")).unwrap();
    folder.write("before", b"1").unwrap();
    std::fs::remove_file(at("work")).unwrap();
    symlink(at("other"), at("work")).unwrap();
    folder.write("after", b"2").unwrap();
    folder.rename("before", "renamed").unwrap();
    let mut names = folder.names().unwrap();
    names.sort();
    assert_eq!(names, ["after", "renamed"]);
    assert_eq!(std::fs::read_dir(at("other")).unwrap().count(), 0);
    let mut text = String::new();
    folder.read("after").unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "2");
}

#[test]
fn a_failed_write_leaves_the_old_file_and_nothing_else() {
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::open(home.path()).unwrap();
    folder.write("file", b"old").unwrap();
    let failed = folder.write_streamed("file", |file| {
        file.write_all(b"new").unwrap();
        Err(Error::Input("the table is no good".into()))
    });
    assert!(failed.is_err());
    assert_eq!(std::fs::read(folder.at("file")).unwrap(), b"old");
    assert_eq!(folder.names().unwrap(), ["file"]);
}

#[test]
fn a_name_that_does_not_last_is_an_error_unless_the_file_system_knows_no_better() {
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::unflushable(home.path());
    let error = folder.write("file", b"new").unwrap_err().to_string();
    assert!(error.contains("/file: cannot be written") && !error.contains('\n'), "{error}");
    assert_eq!(std::fs::read(folder.at("file")).unwrap(), b"new");
    for errno in [Errno::INVAL, Errno::NOTSUP] {
        assert_eq!(unless_unsupported(Err(errno)), Ok(()));
    }
    for errno in [Errno::IO, Errno::NOSPC, Errno::DQUOT, Errno::BADF] {
        assert_eq!(unless_unsupported(Err(errno)), Err(errno));
    }
}

#[test]
fn a_lock_is_for_one_process_and_its_file_may_go() {
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::open(home.path()).unwrap();
    let held = folder.lock("lock").unwrap();
    assert!(folder.try_lock("lock").unwrap().is_none());
    folder.remove("lock").unwrap();
    folder.remove("lock").unwrap();
    assert!(folder.try_lock("lock").unwrap().is_some());
    drop(held);
}
