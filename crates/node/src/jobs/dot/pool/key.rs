//! The key of a pool: Paillier's secret key, and a key that seals encryptions on disk. One PEM file, for its owner's
//! eyes only.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rand_core::CryptoRng;
use tacita_core::primitive::paillier::{KeySize, PaillierSecretKey};
use tacita_core::{Error, Result};
use zeroize::Zeroizing;

use super::fault;
use crate::base::text::pasted;
use crate::identity::{Fingerprint, to_pem, write_beside};

const LABEL: &str = "TACITA POOL KEY";
const VERSION: u8 = 1;
const SEAL_BYTES: usize = 32;

/// Version, bits of N, the sealing key.
const HEAD_BYTES: usize = 1 + 4 + SEAL_BYTES;

/// Context for deriving each segment's key from the sealing key.
const SEGMENT_CONTEXT: &str = "tacita 1 pool segment";

/// A key that was read from its file.
pub struct PoolKey {
    path: PathBuf,
    secret: PaillierSecretKey,
    seal: Zeroizing<[u8; SEAL_BYTES]>,
    fingerprint: Fingerprint,
}

impl PoolKey {
    /// Makes a key, and the file for it. One that is there stays, and is an error.
    pub fn create(path: &Path, size: KeySize, rng: &mut impl CryptoRng) -> Result<PoolKey> {
        let secret = PaillierSecretKey::generate(size, rng);
        let mut bytes = Zeroizing::new(Vec::with_capacity(HEAD_BYTES + size.secret_key_bytes()));
        let mut seal = Zeroizing::new([0; SEAL_BYTES]);
        rng.fill_bytes(&mut *seal);
        bytes.push(VERSION);
        bytes.extend_from_slice(&(size.bits() as u32).to_le_bytes());
        bytes.extend_from_slice(&*seal);
        bytes.extend_from_slice(&secret.to_bytes());
        let pem = Zeroizing::new(to_pem(LABEL, &bytes));
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let failed = |error: std::io::Error| fault(path, &format!("cannot be written: {error}"));
        let file = write_beside(directory, pem.as_bytes(), 0o600)?;
        file.persist_noclobber(path).map_err(|error| failed(error.error))?;
        std::fs::File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed)?;
        PoolKey::load(path)
    }

    /// Reads a key. A file that others than its owner can read is refused.
    pub fn load(path: &Path) -> Result<PoolKey> {
        let file = std::fs::File::open(path).map_err(|error| {
            fault(path, &format!("cannot read the pool's key: {error}: name its file with --pool-key"))
        })?;
        let mode = file.metadata().map_err(|error| fault(path, &error.to_string()))?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(fault(
                path,
                &format!("others can read or change this key (mode {mode:03o}): chmod 600 {}", pasted(path.display())),
            ));
        }
        let text = std::io::read_to_string(file).map_err(|error| fault(path, &format!("no key of a pool: {error}")));
        let bytes = body(&Zeroizing::new(text?)).ok_or_else(|| fault(path, "no key of a pool, or a damaged one"))?;
        let (head, secret) = bytes.split_at_checked(HEAD_BYTES).ok_or_else(|| fault(path, "a key that is cut off"))?;
        if head[0] != VERSION {
            return Err(fault(path, "a key of another version of this program"));
        }
        let bits = head[1..5].iter().rev().fold(0, |bits, byte| bits << 8 | usize::from(*byte));
        let size = KeySize::new(bits).map_err(|_| fault(path, "damaged: no key has such a length"))?;
        let secret = PaillierSecretKey::from_bytes(size, secret)
            .map_err(|invalid| fault(path, &format!("damaged: the file holds {invalid}")))?;
        let mut seal = Zeroizing::new([0; SEAL_BYTES]);
        seal.copy_from_slice(&head[5..]);
        let fingerprint = Fingerprint::of(&secret.public().to_bytes());
        Ok(PoolKey { path: path.to_owned(), secret, seal, fingerprint })
    }

    /// Returns the path from which the key was read.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns Paillier's secret key.
    pub fn secret(&self) -> &PaillierSecretKey {
        &self.secret
    }

    /// SHA-256 of the public key as it travels.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The key of one segment, for which `id` is a random name.
    pub fn of_segment(&self, id: &[u8]) -> Zeroizing<[u8; 32]> {
        let mut hasher = blake3::Hasher::new_derive_key(SEGMENT_CONTEXT);
        hasher.update(&*self.seal).update(id);
        Zeroizing::new(hasher.finalize().into())
    }
}

/// Formats the fingerprint only.
impl std::fmt::Debug for PoolKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Key({})", self.fingerprint)
    }
}

/// Decodes the contents of a PEM file (RFC 7468), if it has our label and nothing else is in the file.
fn body(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let inner = text.trim().strip_prefix(&format!("-----BEGIN {LABEL}-----"))?;
    let inner = inner.strip_suffix(&format!("-----END {LABEL}-----"))?;
    let mut digits = Zeroizing::new(Vec::with_capacity(inner.len()));
    digits.extend(inner.bytes().filter(|byte| !byte.is_ascii_whitespace()));
    data_encoding::BASE64.decode(&digits).ok().map(Zeroizing::new)
}

/// Refuses a key of another length than was asked for.
pub fn check_level(path: &Path, key: &PoolKey, size: KeySize) -> Result<()> {
    let bits = key.secret().public().size().bits();
    if bits == size.bits() {
        Ok(())
    } else {
        Err(Error::Input(format!(
            "--level: it has keys of {} bits, and {} holds one of {bits}: leave it out, or name another file",
            size.bits(),
            path.display()
        )))
    }
}
