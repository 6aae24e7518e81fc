//! ZIP archives with one member, which are read as that.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use tacita_core::{Error, Result};
use zip::{CompressionMethod, ZipArchive};

use super::unreadable;
use crate::table::budget::{Budget, too_large};

/// The header in front of a member: its length but for the name and the extra field, and where it has their lengths.
const HEADER_BYTES: u64 = 30;
const LENGTHS_AT: u64 = 26;

/// Maximum number of members that a message names.
const MAX_NAMED: usize = 8;

/// Files that systems put beside those of the user.
const OF_SYSTEMS: [&str; 3] = [".DS_Store", "Thumbs.db", "desktop.ini"];

/// The one member of an archive.
#[derive(Debug)]
pub(super) struct Member {
    name: String,
    deflated: bool,
    /// Position at which the member's header begins, and its packed size in bytes.
    header_at: u64,
    packed: u64,
    /// Size of the member once unpacked, and the checksum of the unpacked content.
    bytes: u64,
    crc: u32,
}

impl Member {
    /// Finds it. What systems add, as macOS does, is none.
    ///
    /// Errors: the file is no archive; it has several members or none; the member is encrypted, or packed in another
    /// way than is usual.
    pub fn of(file: &File, name: &str) -> Result<Member> {
        let archive = ZipArchive::new(BufReader::new(file)).map_err(|error| unreadable(name, error))?;
        let (mut members, mut names) = (Vec::new(), Vec::new());
        for index in 0..archive.len() {
            let entry = archive.by_index_data(index).map_err(|error| unreadable(name, error))?;
            let own_name = String::from_utf8_lossy(entry.name_raw()).into_owned();
            let last = own_name.rsplit('/').next().unwrap_or_default();
            if last.is_empty() || own_name.starts_with("__MACOSX/") || OF_SYSTEMS.contains(&last) {
                continue;
            }
            names.push(format!("{own_name:?}"));
            members.push((entry, own_name));
        }
        let [(entry, _)] = &members[..] else {
            names.sort();
            let more = names.len().saturating_sub(MAX_NAMED);
            names.truncate(MAX_NAMED);
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            return Err(Error::Input(if names.is_empty() {
                format!("{name}: is a ZIP archive with no file in it")
            } else {
                format!(
                    "{name}: is a ZIP archive with several files, {}{more}: unpack it, and name the one that is meant",
                    names.join(", ")
                )
            }));
        };
        let refused = |what: &str| Error::Input(format!("{name}: its file {} {what}", names[0]));
        let deflated = match entry.compression() {
            _ if entry.encrypted() => {
                return Err(refused("is locked with a password: unpack it first, as with `unzip`"));
            }
            CompressionMethod::Stored => false,
            CompressionMethod::Deflated => true,
            other => return Err(refused(&format!("is packed by {other}, and only deflate is read: unpack it first"))),
        };
        let (header_at, packed) = (entry.header_start(), entry.compressed_size());
        let (bytes, crc) = (entry.size(), entry.crc32());
        let own_name = members.into_iter().map(|(_, name)| name).next().unwrap_or_default();
        Ok(Member { name: own_name, deflated, header_at, packed, bytes, crc })
    }

    /// Returns the name of the member in the archive.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Opens the content of the member, from the archive in which it was found. Reading its end fails if the length or
    /// the checksum differs from what the archive says.
    pub fn unpack(self, mut file: File, name: &str) -> Result<Box<dyn Read + Send>> {
        let mut lengths = [0; 4];
        file.read_exact_at(&mut lengths, self.header_at.saturating_add(LENGTHS_AT))
            .map_err(|error| unreadable(name, error))?;
        let [a, b, c, d] = lengths;
        let inside = HEADER_BYTES + u64::from(u16::from_le_bytes([a, b])) + u64::from(u16::from_le_bytes([c, d]));
        file.seek(SeekFrom::Start(self.header_at.saturating_add(inside))).map_err(|error| unreadable(name, error))?;
        let packed = BufReader::with_capacity(1 << 16, file.take(self.packed));
        let (left, crc) = (self.bytes, self.crc);
        Ok(if self.deflated {
            Box::new(Checked { input: DeflateDecoder::new(packed), sum: Crc::new(), left, crc })
        } else {
            Box::new(Checked { input: packed, sum: Crc::new(), left, crc })
        })
    }

    /// Unpacks the member to an unnamed file, for content that is not read from beginning to end. The file is in the
    /// directory of the archive, where the same data lies anyway.
    ///
    /// Errors: as of [`Member::unpack`]; it takes more than the budget; the directory cannot be written to.
    pub fn unpack_beside(self, file: File, archive: &Path, name: &str, budget: &Budget) -> Result<File> {
        let most = budget.bytes();
        if self.bytes > most {
            return Err(too_large(name, most));
        }
        let directory = archive.parent().filter(|directory| !directory.as_os_str().is_empty());
        let mut unpacked = tempfile::tempfile_in(directory.unwrap_or(Path::new("."))).map_err(|error| {
            Error::Input(format!(
                "{name}: cannot be unpacked beside itself ({error}): unpack it first, as with `unzip`"
            ))
        })?;
        io::copy(&mut self.unpack(file, name)?, &mut unpacked).map_err(|error| unreadable(name, error))?;
        unpacked.rewind().map_err(|error| unreadable(name, error))?;
        Ok(unpacked)
    }
}

/// Content whose length and checksum are known.
struct Checked<R> {
    input: R,
    sum: Crc,
    /// Number of bytes still to come.
    left: u64,
    crc: u32,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(buffer)?;
        self.sum.update(&buffer[..n]);
        let left = self.left.checked_sub(n as u64);
        let at_end = n == 0 && !buffer.is_empty();
        match left {
            Some(left) if !at_end || left == 0 && self.sum.sum() == self.crc => self.left = left,
            _ => {
                let what = "the file in the archive does not match its checksum: it was cut off or changed";
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
        }
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn archive(members: &[(&str, &[u8])], method: CompressionMethod) -> File {
        let mut writer = ZipWriter::new(tempfile::tempfile().unwrap());
        for (name, content) in members {
            writer.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
            writer.write_all(content).unwrap();
        }
        writer.finish().unwrap()
    }

    fn unpacked(file: File) -> io::Result<String> {
        let mut text = String::new();
        let mut content = Member::of(&file, "a.zip").unwrap().unpack(file, "a.zip").unwrap();
        content.read_to_string(&mut text).map(|_| text)
    }

    fn refusal(members: &[(&str, &[u8])]) -> String {
        Member::of(&archive(members, CompressionMethod::Stored), "a.zip").unwrap_err().to_string()
    }

    #[test]
    fn the_one_member_is_unpacked_whatever_systems_put_beside_it() {
        let rows = "id\n1\n".repeat(50_000);
        let members: [(&str, &[u8]); 4] =
            [("__MACOSX/._t.csv", b"x"), ("d/t.csv", rows.as_bytes()), ("d/.DS_Store", b"x"), ("Thumbs.db", b"x")];
        for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
            let file = archive(&members, method);
            assert_eq!(Member::of(&file, "a.zip").unwrap().name(), "d/t.csv");
            assert_eq!(unpacked(file).unwrap(), rows);
        }
    }

    #[test]
    fn several_members_are_named_and_none_is_said() {
        assert!(
            refusal(&[("b.csv", b""), ("a\u{1b}.csv", b"")])
                .contains(r#"several files, "a\u{1b}.csv", "b.csv": unpack it"#)
        );
        let many: Vec<_> = (0..10).map(|n| format!("{n}.csv")).collect();
        let many: Vec<(&str, &[u8])> = many.iter().map(|name| (name.as_str(), &b""[..])).collect();
        assert!(refusal(&many).contains("\"7.csv\" and 2 more"), "{}", refusal(&many));
        assert!(refusal(&[(".DS_Store", b"")]).contains("no file in it"));
    }

    #[test]
    fn what_is_changed_cut_off_or_longer_than_it_says_is_an_error() {
        let mut bytes = Vec::new();
        let mut file = archive(&[("t.csv", b"id\n1\n2\n")], CompressionMethod::Stored);
        file.rewind().unwrap();
        file.read_to_end(&mut bytes).unwrap();
        let with = |bytes: &[u8]| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(bytes).unwrap();
            unpacked(file)
        };
        assert_eq!(with(&bytes).unwrap(), "id\n1\n2\n");
        let at = bytes.windows(2).position(|two| two == b"1\n").unwrap();
        let mut changed = bytes.clone();
        changed[at] = b'3';
        assert!(with(&changed).unwrap_err().to_string().contains("checksum"));
        // The length that the list of members claims, at its 24th byte.
        let listed = bytes.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
        for length in [6, 8] {
            let mut wrong = bytes.clone();
            wrong[listed + 24] = length;
            assert!(with(&wrong).unwrap_err().to_string().contains("checksum"), "{length}");
        }
    }
}
