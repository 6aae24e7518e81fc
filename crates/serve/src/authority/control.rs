//! Channel between the owner of a list and the program that serves it: a socket in its directory, one line of JSON each
//! way.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tacita_core::{Error, Result};
use tacita_node::base::folder::Folder;
use tacita_node::base::text::json;

const SOCKET: &str = "serve.sock";

/// Maximum length of a line in bytes.
const MAX_LINE_BYTES: u64 = 1 << 16;

/// Time for which one end waits for the other's line; a change of a large list takes its time.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Order of the owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ListOrder {
    /// The rows of a table are on the list from now on.
    Add(PathBuf),
    /// Removal of the rows of a table from the list.
    Remove(PathBuf),
    /// Rotation to another key at once.
    Rotate,
    /// Query of the status.
    Status,
}

/// Outcome for the owner, or the reason why there is none.
pub type OrderResult = std::result::Result<String, String>;

/// Listens in a directory that this process has locked.
pub(crate) fn listen(folder: &Folder) -> Result<UnixListener> {
    let path = folder.at(SOCKET);
    let failed = |error: std::io::Error| {
        Error::Input(format!(
            "{}: cannot make the socket: {error}: name a directory with a shorter path, on a local disk",
            path.display()
        ))
    };
    // Left behind by a process that was killed.
    folder.remove(SOCKET).map_err(failed)?;
    let listener = UnixListener::bind(&path).map_err(failed)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
    Ok(listener)
}

/// Reads one order, and says what came of it.
pub(crate) fn attend(stream: UnixStream, obey: impl FnOnce(ListOrder) -> OrderResult) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.set_write_timeout(Some(Duration::from_secs(10)))?;
    let mut line = String::new();
    BufReader::new((&stream).take(MAX_LINE_BYTES)).read_line(&mut line)?;
    let told = match serde_json::from_str(&line) {
        Ok(order) => obey(order),
        Err(_) => Err("this is not understood: are both programs of one version?".into()),
    };
    let mut answer = serde_json::to_vec(&told)?;
    answer.push(b'\n');
    (&stream).write_all(&answer)
}

/// Gives an order to the program that serves the list in a directory.
///
/// Errors ([`Error::Input`]): none does, or it cannot do what was wanted.
pub fn order(directory: &Path, order: &ListOrder) -> Result<String> {
    let path = directory.join(SOCKET);
    let failed = |error: std::io::Error| {
        Error::Input(format!(
            "{}: no `tacita serve` runs there ({error}): start it with this --state first",
            directory.display()
        ))
    };
    let stream = UnixStream::connect(&path).map_err(failed)?;
    stream.set_read_timeout(Some(TIMEOUT)).map_err(failed)?;
    let mut line = json(serde_json::to_vec(order))?;
    line.push(b'\n');
    (&stream).write_all(&line).map_err(failed)?;
    let mut answer = String::new();
    BufReader::new((&stream).take(MAX_LINE_BYTES)).read_line(&mut answer).map_err(failed)?;
    let told: OrderResult = serde_json::from_str(&answer)
        .map_err(|_| Error::Input(format!("{}: `tacita serve` ended: see its log", directory.display())))?;
    told.map_err(Error::Input)
}
