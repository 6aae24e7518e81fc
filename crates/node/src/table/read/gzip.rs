//! Files that are packed by gzip.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// First bytes of a file that is packed by gzip.
pub(super) const GZIP: [u8; 2] = [0x1F, 0x8B];

/// Contents of one packed file, or of several concatenated ones. Zero bytes may stand behind the end, as tapes
/// leave them.
pub(super) struct Gunzip<R> {
    /// None at the end.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Gunzip<R> {
    /// Creates a reader of bytes that begin with [`GZIP`].
    pub fn new(packed: R) -> Gunzip<R> {
        Gunzip { member: Some(GzDecoder::new(packed)) }
    }
}

impl<R: BufRead> Read for Gunzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let n = member.read(buffer)?;
            if n > 0 || buffer.is_empty() {
                return Ok(n);
            }
            self.member = self.member.take().map(|member| next_member(member.into_inner())).transpose()?.flatten();
        }
        Ok(0)
    }
}

/// Returns the next member behind the end of one; none if nothing follows.
fn next_member<R: BufRead>(mut packed: R) -> io::Result<Option<GzDecoder<R>>> {
    let mut padded = false;
    loop {
        let ahead = match packed.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            ahead => ahead?,
        };
        let zeros = ahead.iter().take_while(|&&byte| byte == 0).count();
        match ahead.get(zeros) {
            None if zeros == 0 => return Ok(None),
            None => {
                packed.consume(zeros);
                padded = true;
            }
            Some(byte) if zeros == 0 && !padded && *byte == GZIP[0] => return Ok(Some(GzDecoder::new(packed))),
            Some(_) => {
                let what =
                    "uncompressed data follows the end of the compressed data: cut it off, or compress the file again";
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn unpacked(bytes: &[u8], buffered: usize) -> io::Result<String> {
        let mut text = String::new();
        Gunzip::new(io::BufReader::with_capacity(buffered, bytes)).read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn members_follow_each_other_and_zeros_end_them() {
        for buffered in [1, 7, 4096] {
            let all = [packed("a,b\n"), packed(""), packed("1,2\n"), vec![0; 600]].concat();
            assert_eq!(unpacked(&all, buffered).unwrap(), "a,b\n1,2\n");
            for behind in [&b"trailing"[..], b"\0\0x", b"\x1fx", &[vec![0; 7], packed("b")].concat()] {
                let error = unpacked(&[&packed("a"), behind].concat(), buffered).unwrap_err().to_string();
                assert!(
                    ["follows the end", "header", "end of file"].iter().any(|words| error.contains(words)),
                    "{error}"
                );
            }
            let cut = packed("a,b\n");
            assert!(unpacked(&cut[..cut.len() - 3], buffered).is_err());
        }
    }
}
