//! Share files, and the marks of those that have been opened.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tacita_core::primitive::noise::{Privacy, decimal};
use tacita_core::protocol::dot::{Modulus, ProductRange, Shares};
use tacita_core::{Error, Result, Session};
use zeroize::{ZeroizeOnDrop, Zeroizing};

use crate::agreement::{JobSpec, Terms};
use crate::base::folder::{Replaceable, others_replace};
use crate::base::hex::hex;
use crate::base::text::json;
use crate::base::text::{self, pasted};
use crate::jobs::dot::DotJob;
use crate::jobs::dot::mesh::MAX_PARTIES;
use crate::jobs::numbers::{Cells, Value};

/// Share files are read up to this size: each of the most numbers that one file holds in the longest form.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Suffix of the name of the mark that a share has been opened.
const SPENT: &str = ".spent";

/// Digits of the run in that name.
const RUN_DIGITS: usize = 16;

/// One party's shares of the products of one run. The first seven keys are a contract. Secret: zeroized when dropped,
/// never printed.
#[derive(Serialize, Deserialize, ZeroizeOnDrop)]
#[serde(deny_unknown_fields)]
pub struct ShareFile {
    tacita_share: u32,
    /// The parties' name for the job.
    pub job: String,
    /// Fingerprint of its terms.
    pub agreement: String,
    /// Party that the share belongs to.
    pub party: String,
    /// Modulus of the sum of shares, as a decimal number.
    pub modulus: String,
    /// The shares, as decimal numbers.
    values: Vec<String>,
    /// The run: the same at both parties, and another one in every run. In hexadecimal.
    pub run: String,
    /// Whether residues from half of the modulus on are negative.
    pub signed: bool,
    /// Number of decimals that the products have.
    pub decimals: u32,
    /// The smallest and the largest value that a product of the run can have, before decimals; decimal numbers.
    range: [String; 2],
    /// Each party's name and columns, in the order of the job.
    #[zeroize(skip)]
    columns: Vec<(String, Vec<String>)>,
    /// Whether these are `gm-bloom`'s parts, of which each alone tells its product nearly.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub telling: bool,
    /// Noise that the parties have added to their shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[zeroize(skip)]
    pub noise: Option<ShareNoise>,
    /// Hash of everything else, so that a changed file is noticed.
    check: String,
}

/// Noise in the numbers of a share file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShareNoise {
    /// Epsilon of differential privacy, as a decimal.
    pub epsilon: String,
    /// Delta of differential privacy, as a decimal.
    pub delta: String,
    /// Error bar of each number, as it is written.
    pub within: String,
}

impl ShareNoise {
    /// Noise for this privacy, with its error bar.
    pub fn new(privacy: &Privacy, within: String) -> ShareNoise {
        let epsilon = decimal::write(privacy.epsilon(), decimal::EPSILON);
        ShareNoise { epsilon, delta: decimal::write(privacy.delta(), decimal::DELTA), within }
    }

    /// Whether it is noise for this privacy.
    pub fn is_for(&self, privacy: &Privacy) -> bool {
        *self == ShareNoise::new(privacy, self.within.clone())
    }
}

/// A share file that has been read, and where it is.
pub struct LoadedShareFile {
    /// Path of the share file.
    pub path: PathBuf,
    /// Contents of the share file.
    pub share: ShareFile,
}

impl ShareFile {
    /// The shares that `me` has after a run of `job`; `telling`, if they are no uniformly random numbers.
    pub fn new(
        job: &DotJob<'_>,
        me: &str,
        session: &Session,
        range: &ProductRange,
        shares: &Shares,
        telling: bool,
    ) -> ShareFile {
        let Value { columns, cells: _ } = Value::of_job(job, Vec::new());
        let (low, high) = range.ends();
        let mut file = ShareFile {
            tacita_share: 1,
            job: job.id.clone(),
            agreement: Terms::of(job).agreement(),
            party: me.into(),
            modulus: shares.modulus().to_string(),
            values: shares.residues().iter().map(u128::to_string).collect(),
            run: hex(&session.derive("run of shares")),
            signed: job.own.signed.unwrap_or(false),
            decimals: job.product_decimals(),
            range: [low.to_string(), high.to_string()],
            columns,
            telling,
            noise: None,
            check: String::new(),
        };
        file.check = file.digest();
        file
    }

    /// The same shares, with this noise in them, by which numbers can be negative.
    pub fn noised(mut self, noise: Option<ShareNoise>) -> ShareFile {
        self.signed |= noise.is_some();
        self.noise = noise;
        self.check = self.digest();
        self
    }

    /// The sum of shares that runs of the buckets of `job` have left at `me`, in the order of the buckets.
    ///
    /// Errors ([`Error::Input`]): there are none, or they are not all of one job.
    pub fn sum(job: &DotJob<'_>, me: &str, parts: &[ShareFile]) -> Result<ShareFile> {
        let bad = || Error::Input("the shares of the buckets are not of one run".into());
        let first = parts.first().ok_or_else(bad)?;
        let modulus = first.shares()?.modulus();
        let (mut sums, mut range) = (Zeroizing::new(vec![0; first.count()]), [0i128; 2]);
        let mut run = blake3::Hasher::new_derive_key("tacita 1 sum of shares");
        for part in parts {
            let same = (part.party == me, part.columns == first.columns, part.signed == first.signed);
            if same != (true, true, true)
                || part.modulus != first.modulus
                || part.decimals != first.decimals
                || part.telling
                || part.noise.is_some()
            {
                return Err(bad());
            }
            let shares = part.shares()?;
            sums.iter_mut().zip(shares.residues()).for_each(|(sum, share)| *sum = modulus.add(*sum, *share));
            range = std::array::from_fn(|end| range[end].saturating_add(part.range()[end]));
            run.update(part.run.as_bytes());
        }
        let mut file = ShareFile {
            tacita_share: 1,
            job: job.id.clone(),
            agreement: Terms::of(job).agreement(),
            party: me.into(),
            modulus: first.modulus.clone(),
            values: sums.iter().map(u128::to_string).collect(),
            run: run.finalize().to_hex().to_string(),
            signed: first.signed,
            decimals: first.decimals,
            range: range.map(|bound| bound.to_string()),
            columns: first.columns.clone(),
            telling: false,
            noise: None,
            check: String::new(),
        };
        file.check = file.digest();
        Ok(file)
    }

    /// Reads a file that holds [`ShareFile::text`].
    ///
    /// Errors ([`Error::Input`]): it is no share file, of another version, or changed.
    pub fn parse(text: &str) -> Result<ShareFile> {
        let bad = |text: String| Err(Error::Input(text));
        let Ok(share) = serde_json::from_str::<ShareFile>(text) else {
            return bad("this is not a share file: give the --output of a job with reveal = \"shares\"".into());
        };
        if share.tacita_share != 1 {
            return bad(format!("a share file of version {}, and this program reads version 1", share.tacita_share));
        }
        if share.digest() == share.check && share.is_whole() && share.shares().is_ok() {
            Ok(share)
        } else {
            bad("this share file was edited or damaged: take the one that the job wrote".into())
        }
    }

    /// Returns the number of values of which it holds shares.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// Parses the shares from the file.
    pub fn shares(&self) -> Result<Shares> {
        let bad = || Error::Input("its values are no shares".into());
        let modulus: Modulus = self.modulus.parse()?;
        let digits = |text: &String| text.bytes().all(|byte| byte.is_ascii_digit());
        let values = self.values.iter().map(|text| text.parse().ok().filter(|_| digits(text)));
        Shares::new(modulus, values.collect::<Option<_>>().ok_or_else(bad)?)
    }

    /// The smallest and the largest value that a product can have, before decimals.
    pub fn range(&self) -> [i128; 2] {
        // They were checked when the file was read.
        self.range.each_ref().map(|bound| bound.parse().unwrap_or(i128::MAX))
    }

    /// Whether all possible products are told apart modulo `modulus`.
    pub fn fits(&self, modulus: &Modulus) -> bool {
        self.range().into_iter().all(|product| modulus.tells(product, self.signed))
    }

    /// The names of the job's parties, in order.
    pub fn parties(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _)| name.as_str())
    }

    /// Whether it is of the same job as another: its numbers stand in the same places and can be added to the other's.
    pub fn is_of_job_of(&self, other: &ShareFile) -> bool {
        let same = self.agreement == other.agreement && self.columns == other.columns;
        same && (self.signed, self.decimals) == (other.signed, other.decimals)
    }

    /// Returns the result found in it, as users see it.
    pub fn value(&self, cells: Cells) -> Value {
        Value { columns: self.columns.clone(), cells }
    }

    /// The file, which is for this party's user alone.
    pub fn text(&self) -> Result<Zeroizing<String>> {
        let json = json(serde_json::to_string_pretty(self))?;
        let mut json = Zeroizing::new(json);
        json.push('\n');
        Ok(json)
    }

    fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new_derive_key("tacita 1 share file");
        let mut part = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        };
        let shape =
            serde_json::json!([self.tacita_share, self.signed, self.decimals, self.range, self.columns]).to_string();
        for text in [&shape, &self.job, &self.agreement, &self.party, &self.modulus, &self.run] {
            part(text.as_bytes());
        }
        self.values.iter().for_each(|value| part(value.as_bytes()));
        if self.telling {
            part(b"telling");
        }
        if let Some(ShareNoise { epsilon, delta, within }) = &self.noise {
            [&b"noise"[..], epsilon.as_bytes(), delta.as_bytes(), within.as_bytes()].into_iter().for_each(part);
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Whether its parts fit together.
    fn is_whole(&self) -> bool {
        let products = self.columns.iter().try_fold(1usize, |product, (_, columns)| product.checked_mul(columns.len()));
        let bounded = self.range.iter().all(|bound| bound.parse::<i128>().is_ok());
        let named = self.run.len() == 64 && self.run.bytes().all(|byte| byte.is_ascii_hexdigit());
        (2..=MAX_PARTIES).contains(&self.columns.len())
            && products == Some(self.values.len())
            && self.decimals <= 18
            && bounded
            && named
    }
}

impl LoadedShareFile {
    /// Reads a share file that has not been opened.
    pub fn read(path: &Path) -> Result<LoadedShareFile> {
        let bad = |text: String| Error::Input(format!("{}: {text}", path.display()));
        let unreadable = |error: std::io::Error| bad(format!("cannot read: {error}"));
        let facts = std::fs::metadata(path).map_err(unreadable)?;
        if !facts.is_file() || facts.len() > MAX_FILE_BYTES {
            return Err(bad("this is no share file".into()));
        }
        let text = Zeroizing::new(std::fs::read_to_string(path).map_err(unreadable)?);
        let share = ShareFile::parse(&text).map_err(|error| match error {
            Error::Input(text) => bad(text),
            other => other,
        })?;
        let mark = mark(path, &share);
        if mark.exists() {
            return Err(spent(path, &mark));
        }
        // Before the peer, who may open its share, has heard of this.
        crate::base::files::check_writable(&mark)?;
        if facts.permissions().mode() & 0o077 != 0 {
            let shown = path.display();
            tracing::warn!(
                "{shown}: others on this machine can read this share: `chmod 600 {}`",
                pasted(path.display())
            );
        }
        if let Some(directory) = mark.parent()
            && let Some(Replaceable { what, .. }) = others_replace(directory)
        {
            let shown = directory.display();
            tracing::warn!("{shown}: {what}, and the mark of an opened share could be removed: keep shares elsewhere");
        }
        Ok(LoadedShareFile { path: path.to_owned(), share })
    }
}

/// Marks share files as opened, all or none. Each mark can be made once, by one process.
///
/// Errors ([`Error::Input`]): another job has opened one of them.
pub fn spend(files: &[&LoadedShareFile], job: &JobSpec) -> Result<()> {
    let mut made: Vec<PathBuf> = Vec::new();
    for kept in files {
        let path = mark(&kept.path, &kept.share);
        let marked = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let written = marked.and_then(|mut file| {
            made.push(path.clone());
            writeln!(file, "opened by job \"{}\", terms {}", text::shown(&job.id), Terms::of(job).agreement())?;
            file.sync_all()?;
            let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            // Not every file system lets directories be flushed; the mark itself is there by now.
            let _ = File::open(directory).and_then(|directory| directory.sync_all());
            Ok(())
        });
        if let Err(error) = written {
            // Nothing has been sent: the others may still be opened.
            made.iter().for_each(|path| drop(std::fs::remove_file(path)));
            return Err(match error.kind() {
                std::io::ErrorKind::AlreadyExists => spent(&kept.path, &path),
                _ => Error::Input(format!(
                    "{}: cannot be marked as opened by {}: {error}",
                    kept.path.display(),
                    path.display()
                )),
            });
        }
    }
    Ok(())
}

fn spent(path: &Path, mark: &Path) -> Error {
    Error::Input(format!(
        "{}: this share was opened before (see {}). A share opens once, comparisons included: two openings could reveal its numbers",
        path.display(),
        mark.display()
    ))
}

/// The mark's path: beside the file itself if the name is a link, and with the run in its name, so that a later share
/// of the same name is another one.
fn mark(path: &Path, share: &ShareFile) -> PathBuf {
    let file = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut name = file.into_os_string();
    name.push(format!(".{}{SPENT}", &share.run[..RUN_DIGITS]));
    PathBuf::from(name)
}

/// Refuses to replace a share that has not been opened: the peer's could then never be.
///
/// Errors ([`Error::Input`]): there is one.
pub fn check_replaceable(path: &Path) -> Result<()> {
    let share = std::fs::read_to_string(path).ok().and_then(|text| serde_json::from_str::<ShareFile>(&text).ok());
    match share.filter(|share| share.is_whole() && !mark(path, share).exists()) {
        Some(share) => Err(Error::Input(format!(
            "{}: it holds an unopened share of job \"{}\": give another --output, or remove it",
            path.display(),
            text::shown(&share.job)
        ))),
        None => Ok(()),
    }
}
