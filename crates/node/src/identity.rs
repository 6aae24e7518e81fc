//! Identity of a party: a key, known to others by its fingerprint, and a certificate that carries it through TLS.
//!
//! An identity is a directory with `identity.key` (PKCS#8 in PEM, for its owner's eyes only) and `identity.crt`
//! (X.509 in PEM). The key is Ed25519 and is never overwritten; the certificate can be renewed.

mod certificate;
mod fingerprint;
mod signature;

use std::fmt;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ED25519, PublicKeyData};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tacita_core::{Error, Result};
use zeroize::Zeroizing;

use crate::base::folder::{Replaceable, check_owner, others_replace};
use crate::base::text::pasted;

pub use certificate::{CLOCK_SLACK_SECONDS, Certificate};
pub use fingerprint::{FINGERPRINT_BYTES, Fingerprint};
pub use signature::{ED25519_KEY_BYTES, SIGNATURE_BYTES, SigningKey, ed25519_fingerprint, verify};

/// The file that holds the secret key.
pub const KEY_FILE: &str = "identity.key";

/// The file that holds the certificate.
pub const CERTIFICATE_FILE: &str = "identity.crt";

/// Validity of a new certificate: ten years.
pub const VALIDITY: Duration = Duration::from_secs(3652 * 24 * 3600);

/// The longest name, in characters: X.520's bound on a common name.
const MAX_NAME_CHARACTERS: usize = 64;

/// A key and its certificate.
#[derive(Clone)]
pub struct Identity {
    certificate: Certificate,
    /// Private key as PKCS#8 in DER.
    key: Zeroizing<Vec<u8>>,
}

impl Identity {
    /// A secret that stays the same as long as the identity's key, and that its other uses tell nothing of.
    pub fn lasting_secret(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(blake3::derive_key("tacita 1 lasting secret", &self.key))
    }

    /// Makes a new identity in `directory`, which is created if need be. A key that is already there stays.
    pub fn create(directory: &Path, name: &str) -> Result<Identity> {
        let now = SystemTime::now();
        let identity = Identity::generate(name, now, now + VALIDITY)?;
        identity.save(directory)?;
        Ok(identity)
    }

    /// A new identity with a certificate that is valid from one moment to another, in memory only.
    pub fn generate(name: &str, not_before: SystemTime, not_after: SystemTime) -> Result<Identity> {
        let pair = KeyPair::generate_for(&PKCS_ED25519).map_err(|e| Error::Internal(format!("no new key: {e}")))?;
        Identity::certify(pair, name, not_before, not_after)
    }

    /// Writes the identity into `directory`. A key that is already there stays, and is an error.
    pub fn save(&self, directory: &Path) -> Result<()> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(directory).map_err(|e| cannot_write(directory, &e))?;
        check_directory(directory)?;
        let path = directory.join(KEY_FILE);
        let pem = Zeroizing::new(self.pair()?.serialize_pem());
        let file = write_beside(directory, pem.as_bytes(), 0o600)?;
        file.persist_noclobber(&path).map_err(|e| match e.error.kind() {
            std::io::ErrorKind::AlreadyExists => Error::Input(format!(
                "{} exists, and a key is never overwritten: choose another directory",
                path.display()
            )),
            _ => cannot_write(&path, &e.error),
        })?;
        self.save_certificate(directory)
    }

    /// Reads the identity in `directory`. A key file that others than its owner can read is refused, and one that they
    /// can replace by another.
    pub fn load(directory: &Path) -> Result<Identity> {
        let key = Identity::load_key(directory)?;
        let certificate = Certificate::read(directory)?;
        if Fingerprint::of(&key.subject_public_key_info()) != certificate.fingerprint() {
            return Err(Error::Input(format!(
                "{}: {CERTIFICATE_FILE} does not belong to the key in {KEY_FILE}: restore both from the same copy, or make a new \
                 identity",
                directory.display()
            )));
        }
        Ok(Identity { certificate, key: Zeroizing::new(key.serialize_der()) })
    }

    /// Replaces the certificate in `directory` by one that is valid from now on; key and fingerprint stay. The name
    /// stays too, unless another is given.
    pub fn renew(directory: &Path, name: Option<&str>) -> Result<Identity> {
        let key = Identity::load_key(directory)?;
        let name = match name {
            Some(name) => name.to_owned(),
            None => Certificate::read(directory)?.name().to_owned(),
        };
        let now = SystemTime::now();
        let identity = Identity::certify(key, &name, now, now + VALIDITY)?;
        identity.save_certificate(directory)?;
        Ok(identity)
    }

    /// The name that the identity was made for.
    pub fn name(&self) -> &str {
        self.certificate.name()
    }

    /// Returns the fingerprint by which others know this identity.
    pub fn fingerprint(&self) -> Fingerprint {
        self.certificate.fingerprint()
    }

    /// Returns the certificate of this identity.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// A key of 32 bytes for a purpose, which whoever has the private key can derive again.
    pub fn derive(&self, purpose: &str, salt: &[u8]) -> Zeroizing<[u8; 32]> {
        let mut hasher = blake3::Hasher::new_derive_key(&format!("tacita 1 identity {purpose}"));
        hasher.update(&(salt.len() as u64).to_le_bytes()).update(salt).update(&self.key);
        Zeroizing::new(hasher.finalize().into())
    }

    /// The key as TLS wants it.
    pub(crate) fn private_key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.to_vec()))
    }

    fn certify(pair: KeyPair, name: &str, not_before: SystemTime, not_after: SystemTime) -> Result<Identity> {
        if name.is_empty() || name.chars().count() > MAX_NAME_CHARACTERS || name.chars().any(char::is_control) {
            let shown: String = name.chars().take(MAX_NAME_CHARACTERS).flat_map(char::escape_debug).collect();
            return Err(Error::Input(format!(
                "`{shown}` is no name for an identity: use 1 to {MAX_NAME_CHARACTERS} printable characters"
            )));
        }
        let failed = |e: rcgen::Error| Error::Internal(format!("no certificate for `{name}`: {e}"));
        let mut params = CertificateParams::new(Vec::new()).map_err(failed)?;
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.not_before = not_before.into();
        params.not_after = not_after.into();
        let signed = params.self_signed(&pair).map_err(failed)?;
        let certificate =
            Certificate::parse(signed.der()).map_err(|e| Error::Internal(format!("our certificate {e}")))?;
        Ok(Identity { certificate, key: Zeroizing::new(pair.serialize_der()) })
    }

    fn load_key(directory: &Path) -> Result<KeyPair> {
        let path = directory.join(KEY_FILE);
        let at = |what: &dyn fmt::Display| Error::Input(format!("{}: {what}", path.display()));
        let file = std::fs::File::open(&path).map_err(|e| at(&unopened(directory, &e)))?;
        check_directory(directory)?;
        // The file may be behind a link, as secrets are that are mounted: what counts is the one that was opened.
        let facts = file.metadata().map_err(|e| at(&e))?;
        check_owner(facts.uid()).map_err(|what| {
            at(&format_args!("{what}, who can read and change this key: use an identity that no other user has held"))
        })?;
        let mode = facts.permissions().mode() & 0o777;
        let others = if is_credential(directory, facts.uid()) { 0o037 } else { 0o077 };
        if mode & others != 0 {
            return Err(at(&format_args!(
                "others can read or change this key (mode {mode:03o}): chmod 600 {}",
                pasted(path.display())
            )));
        }
        let pem = Zeroizing::new(std::io::read_to_string(file).map_err(|e| at(&e))?);
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes())
            .map_err(|e| at(&format_args!("no PKCS#8 key in PEM ({e})")))?;
        KeyPair::try_from(&der).map_err(|e| at(&format_args!("not a key that this program reads ({e})")))
    }

    fn save_certificate(&self, directory: &Path) -> Result<()> {
        let path = directory.join(CERTIFICATE_FILE);
        let pem = to_pem("CERTIFICATE", &self.certificate.der);
        let file = write_beside(directory, pem.as_bytes(), 0o644)?;
        file.persist(&path).map_err(|e| cannot_write(&path, &e.error))?;
        // The names must last as well as the files.
        std::fs::File::open(directory).and_then(|d| d.sync_all()).map_err(|e| cannot_write(directory, &e))
    }

    fn pair(&self) -> Result<KeyPair> {
        KeyPair::try_from(self.key.as_slice()).map_err(|e| Error::Internal(format!("our own key: {e}")))
    }
}

/// Returns why a file of an identity cannot be opened, and what to do.
fn unopened(directory: &Path, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => format!("{error}: run as the user that it belongs to"),
        _ => format!("{error}; `tacita identity new {}` makes an identity", pasted(directory.display())),
    }
}

/// Whether a key of this owner is a credential that systemd has handed to this service. It may let the service's user
/// read it by an access list, and shows that where the group's bits are.
fn is_credential(directory: &Path, owner: u32) -> bool {
    let same = |given| Some(std::fs::canonicalize(directory).ok()? == std::fs::canonicalize(given).ok()?);
    owner == 0 && std::env::var_os("CREDENTIALS_DIRECTORY").and_then(same) == Some(true)
}

/// Refuses a directory in which others can put another key in the place of this one: what is sealed under it would be
/// open to them.
fn check_directory(directory: &Path) -> Result<()> {
    match others_replace(directory) {
        Some(Replaceable { what, mine }) => Err(Error::Input(format!(
            "{}: {what}, and an identity's key could be replaced: {}name a directory of your own",
            directory.display(),
            if mine { format!("chmod 700 {}, or ", pasted(directory.display())) } else { String::new() }
        ))),
        None => Ok(()),
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({}, {}, key withheld)", self.name(), self.fingerprint())
    }
}

/// A nameless file with `contents`, safe on the disk, ready to be given its name.
pub(crate) fn write_beside(directory: &Path, contents: &[u8], mode: u32) -> Result<tempfile::NamedTempFile> {
    let write = || {
        let mut file = tempfile::Builder::new()
            .permissions(std::fs::Permissions::from_mode(mode))
            .prefix(".identity-")
            .tempfile_in(directory)?;
        file.write_all(contents)?;
        file.as_file().sync_all()?;
        Ok(file)
    };
    write().map_err(|e: std::io::Error| cannot_write(directory, &e))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Error {
    Error::Input(format!("{}: {error}; choose a directory that can be written to", path.display()))
}

/// Encodes DER bytes in PEM (RFC 7468).
pub(crate) fn to_pem(label: &str, der: &[u8]) -> String {
    let encoded = data_encoding::BASE64.encode(der);
    let mut pem = format!("-----BEGIN {label}-----\n");
    for start in (0..encoded.len()).step_by(64) {
        pem.push_str(&encoded[start..encoded.len().min(start + 64)]);
        pem.push('\n');
    }
    pem + &format!("-----END {label}-----\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_survives_its_directory() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("new/id");
        let made = Identity::create(&directory, "Hôpital").unwrap();
        let mode = |file| std::fs::metadata(directory.join(file)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(KEY_FILE), 0o600);
        assert_eq!(mode(CERTIFICATE_FILE) & 0o444, 0o444);
        let read = Identity::load(&directory).unwrap();
        assert_eq!((read.name(), read.fingerprint()), ("Hôpital", made.fingerprint()));
        assert_eq!(*read.key, *made.key);
        assert_eq!(Certificate::read(&directory).unwrap().fingerprint(), made.fingerprint());
        assert!(!format!("{read:?}").contains(&data_encoding::BASE64.encode(&read.key[20..30])));
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 2);
    }

    #[test]
    fn a_key_is_never_overwritten() {
        let home = tempfile::tempdir().unwrap();
        let made = Identity::create(home.path(), "a").unwrap();
        let error = Identity::create(home.path(), "a").unwrap_err();
        assert!(matches!(&error, Error::Input(text) if text.contains("never overwritten")), "{error}");
        assert_eq!(Identity::load(home.path()).unwrap().fingerprint(), made.fingerprint());
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        let home = tempfile::tempdir().unwrap();
        Identity::create(home.path(), "a").unwrap();
        let path = home.path().join(KEY_FILE);
        for mode in [0o640, 0o604, 0o602, 0o666] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let error = Identity::load(home.path()).unwrap_err().to_string();
            assert!(error.contains("chmod 600") && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn a_key_may_be_behind_a_link_but_not_belong_to_another_user() {
        let home = tempfile::tempdir().unwrap();
        let made = Identity::create(home.path(), "a").unwrap();
        let (path, mounted) = (home.path().join(KEY_FILE), home.path().join("mounted"));
        std::fs::rename(&path, &mounted).unwrap();
        std::os::unix::fs::symlink(&mounted, &path).unwrap();
        assert_eq!(Identity::load(home.path()).unwrap().fingerprint(), made.fingerprint());
        // Only the administrator can give something away.
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&mounted, Some(12345), None).unwrap();
            for refused in [Identity::load(home.path()), Identity::renew(home.path(), None)] {
                let error = refused.unwrap_err().to_string();
                let words = ["/identity.key: it belongs to another user (number 12345)", "use an identity"];
                assert!(words.iter().all(|word| error.contains(word)) && !error.contains('\n'), "{error}");
            }
        }
    }

    #[test]
    fn a_directory_where_others_can_replace_the_key_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("id");
        Identity::create(&directory, "a").unwrap();
        let set_mode = |mode| std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(std::fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
        for mode in [0o770, 0o707, 0o775] {
            set_mode(mode);
            for refused in
                [Identity::load(&directory), Identity::renew(&directory, None), Identity::create(&directory, "a")]
            {
                let error = refused.unwrap_err().to_string();
                assert!(error.contains("others can write") && error.contains("chmod 700"), "{error}");
            }
        }
        // Others can look, or make files of other names.
        for mode in [0o755, 0o1777] {
            set_mode(mode);
            Identity::load(&directory).unwrap();
        }
    }

    #[test]
    fn renewing_keeps_the_key() {
        let home = tempfile::tempdir().unwrap();
        let old = Identity::generate("a", SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH + VALIDITY).unwrap();
        old.save(home.path()).unwrap();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() as i64;
        assert!(Identity::load(home.path()).unwrap().certificate().check_dates(now).unwrap_err().contains("expired"));
        let new = Identity::renew(home.path(), None).unwrap();
        assert_eq!((new.name(), new.fingerprint()), ("a", old.fingerprint()));
        let certificate = Identity::load(home.path()).unwrap().certificate().clone();
        certificate.check_dates(now).unwrap();
        certificate.check_dates(certificate.not_before() - CLOCK_SLACK_SECONDS).unwrap();
        certificate.check_dates(certificate.not_after() + CLOCK_SLACK_SECONDS).unwrap();
        assert!(certificate.check_dates(certificate.not_before() - CLOCK_SLACK_SECONDS - 1).is_err());
        assert!(certificate.check_dates(certificate.not_after() + CLOCK_SLACK_SECONDS + 1).is_err());
    }

    #[test]
    fn a_foreign_certificate_damaged_files_and_bad_names_are_refused() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        Identity::create(one.path(), "a").unwrap();
        Identity::create(other.path(), "b").unwrap();
        std::fs::copy(other.path().join(CERTIFICATE_FILE), one.path().join(CERTIFICATE_FILE)).unwrap();
        assert!(Identity::load(one.path()).unwrap_err().to_string().contains("does not belong to the key"));
        for damage in ["", "garbage", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            std::fs::write(other.path().join(CERTIFICATE_FILE), damage).unwrap();
            assert!(matches!(Identity::load(other.path()), Err(Error::Input(_))));
        }
        std::fs::write(other.path().join(KEY_FILE), "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
            .unwrap();
        assert!(matches!(Identity::load(other.path()), Err(Error::Input(_))));
        for name in ["", "a\nb", &"x".repeat(65)] {
            let now = SystemTime::now();
            assert!(matches!(Identity::generate(name, now, now + VALIDITY), Err(Error::Input(_))));
        }
    }

    /// Keys follow from the secret, and each from its purpose and salt.
    #[test]
    fn derived_keys_are_of_the_secret_and_for_one_purpose() {
        let now = SystemTime::now();
        let [one, other] = ["a", "a"].map(|name| Identity::generate(name, now, now + VALIDITY).unwrap());
        let key = *one.derive("work", b"salt");
        assert_eq!(*one.clone().derive("work", b"salt"), key);
        for another in [other.derive("work", b"salt"), one.derive("pool", b"salt"), one.derive("work", b"pepper")] {
            assert_ne!(*another, key);
        }
    }

    #[test]
    fn nothing_follows_a_certificate() {
        let now = SystemTime::now();
        let der = Identity::generate("a", now, now + VALIDITY).unwrap().certificate.der.to_vec();
        assert!(Certificate::parse(&der).is_ok());
        let longer = [&der[..], &[0]].concat();
        assert!(Certificate::parse(&longer).is_err_and(|what| what.contains("followed by")));
    }
}
