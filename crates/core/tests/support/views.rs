//! Comparison of the messages that a role receives with what it is allowed to see.

use std::collections::HashSet;

use super::Frame;

pub type Check = Result<(), String>;

/// Chi-square of `counts` against equal frequencies, in standard deviations from its mean.
pub fn deviation(counts: &[u64]) -> f64 {
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    let chi_square: f64 = counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum();
    let freedom = (counts.len() - 1) as f64;
    (chi_square - freedom) / (2.0 * freedom).sqrt()
}

pub fn uniform(what: &str, counts: &[u64]) -> Check {
    match deviation(counts) {
        far if far > 6.0 => Err(format!("{what} are not uniform: {far:.1} standard deviations")),
        _ => Ok(()),
    }
}

pub fn byte_counts(bytes: impl Iterator<Item = u8>) -> Vec<u64> {
    let mut counts = vec![0; 256];
    bytes.for_each(|byte| counts[usize::from(byte)] += 1);
    counts
}

/// Tags (and sealed rows) are as many and as long as agreed, uniform, distinct, and new in every run.
pub fn fresh_entries(runs: &[Vec<u8>], entry_bytes: usize, count: usize) -> Check {
    let mut seen = HashSet::new();
    for entries in runs {
        if entries.len() != entry_bytes * count {
            return Err(format!("{} bytes instead of {count} entries of {entry_bytes}", entries.len()));
        }
        if !entries.chunks(entry_bytes).all(|entry| seen.insert(entry[..5].to_vec())) {
            return Err("a tag came twice".into());
        }
    }
    uniform("bytes", &byte_counts(runs.concat().into_iter()))
}

pub const PLACES: usize = 12;
pub const ORDERS: usize = 240;

/// Checks the positions at which the things of a hidden order came out, over many runs: every position is equally
/// likely for each place.
pub fn hides_order(observed: &[(usize, usize)]) -> Check {
    let mut places = vec![0; PLACES];
    let mut distances = vec![0; PLACES];
    for &(from, to) in observed {
        places[to] += 1;
        distances[(to + PLACES - from) % PLACES] += 1;
    }
    uniform("places", &places)?;
    uniform("distances between places", &distances)
}

/// Checks that no eight bytes of a secret stand anywhere in the frames.
pub fn shows_nothing(frames: &[Frame], secrets: &[Vec<u8>]) -> Check {
    let windows: HashSet<&[u8]> = secrets.iter().flat_map(|secret| secret.windows(8)).collect();
    let shown = frames.iter().any(|frame| frame.payload.windows(8).any(|window| windows.contains(window)));
    if shown { Err("a secret stands in a frame".into()) } else { Ok(()) }
}

/// Points are never the same twice, in one run nor in several, and the bytes between the first and the last are
/// uniform.
pub fn fresh_points(runs: &[Vec<u8>]) -> Check {
    let mut seen = HashSet::new();
    if !runs.iter().flat_map(|run| run.chunks(32)).all(|point| seen.insert(point)) {
        return Err("a point came twice".into());
    }
    uniform(
        "bytes",
        &byte_counts(
            runs.iter().flatten().enumerate().filter(|(at, _)| (1..31).contains(&(at % 32))).map(|(_, byte)| *byte),
        ),
    )
}
