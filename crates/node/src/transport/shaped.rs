//! A slower link than the one at hand: latency and bandwidth for simulations and benchmarks.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::str::FromStr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tacita_core::Error;

/// Properties of a link in one direction. The default is the link at hand as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkShape {
    /// Time from one end to the other: half of a round trip.
    pub latency: Duration,
    /// Bits per second; `None` for as many as the link at hand takes.
    pub bandwidth: Option<u64>,
}

impl LinkShape {
    /// Whether it changes anything.
    pub fn is_plain(&self) -> bool {
        *self == LinkShape::default()
    }

    /// Bytes that may be under way: those that the link holds, and a sender's buffer before it.
    fn capacity(&self) -> usize {
        let held = self.bandwidth.map(|bits| bits as f64 / 8.0 * self.latency.as_secs_f64()).unwrap_or(f64::MAX);
        BUFFER_BYTES + (held as usize).min(MAX_HELD_BYTES)
    }

    /// Bytes that travel as one: about a millisecond's worth.
    fn parcel(&self) -> usize {
        self.bandwidth.map_or(MAX_PARCEL_BYTES, |bits| ((bits / 8000) as usize).clamp(1 << 10, MAX_PARCEL_BYTES))
    }

    /// Returns the time for which `bytes` occupy the link.
    fn occupied(&self, bytes: usize) -> Duration {
        self.bandwidth.map_or(Duration::ZERO, |bits| Duration::from_secs_f64(bytes as f64 * 8.0 / bits as f64))
    }
}

/// A sender's buffer, like a socket's.
const BUFFER_BYTES: usize = 1 << 18;

/// Upper bound on what a link holds: 4 Gbit/s at 130 ms.
const MAX_HELD_BYTES: usize = 1 << 26;

const MAX_PARCEL_BYTES: usize = 1 << 16;

/// Reads a latency: a number and `us`, `ms` or `s`, as in `50ms`.
pub fn parse_latency(text: &str) -> Result<Duration, Error> {
    const LONGEST_SECONDS: f64 = 60.0;
    let seconds = parse_unit(text, &[("us", 1e-6), ("ms", 1e-3), ("s", 1.0)])
        .filter(|seconds| *seconds <= LONGEST_SECONDS)
        .ok_or_else(|| Error::Input(format!("`{}` is no latency: write for instance 50ms (up to 60s)", shown(text))))?;
    Ok(Duration::from_secs_f64(seconds))
}

/// Reads a bandwidth in bits per second: a number and `kbit`, `Mbit` or `Gbit`, as in `100Mbit`.
pub fn parse_bandwidth(text: &str) -> Result<u64, Error> {
    parse_unit(text, &[("kbit", 1e3), ("Mbit", 1e6), ("Gbit", 1e9), ("bit", 1.0)])
        .filter(|bits| (1e3..=1e12).contains(bits))
        .map(|bits| bits as u64)
        .ok_or_else(|| {
            Error::Input(format!("`{}` is no bandwidth: write for instance 100Mbit (1kbit to 1000Gbit)", shown(text)))
        })
}

fn parse_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim_start().trim_end_matches("/s");
    let factor = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?.1;
    let value = f64::from_str(number).ok()? * factor;
    value.is_finite().then_some(value)
}

fn shown(text: &str) -> String {
    text.chars().take(40).flat_map(char::escape_debug).collect()
}

/// A writer whose bytes arrive later, and no faster than the shape allows.
///
/// A thread hands them on when they are due, so that, as on a real link, latency does not limit throughput. Memory is
/// bounded by what such a link would hold. Dropping it waits until everything has arrived.
pub struct ShapedWriter {
    link: Arc<Link>,
    shape: LinkShape,
    thread: Option<JoinHandle<()>>,
}

struct Link {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Parcels in transit, each with its time of arrival.
    parcels: VecDeque<(Instant, Vec<u8>)>,
    bytes: usize,
    /// Time at which the sending end has put everything on the link.
    free_at: Instant,
    ended: bool,
    failure: Option<(ErrorKind, String)>,
}

impl ShapedWriter {
    /// A link of the given shape into `inner`.
    pub fn new(inner: impl Write + Send + 'static, shape: LinkShape) -> ShapedWriter {
        let state = State { parcels: VecDeque::new(), bytes: 0, free_at: Instant::now(), ended: false, failure: None };
        let link = Arc::new(Link { state: Mutex::new(state), changed: Condvar::new() });
        let thread = std::thread::spawn({
            let link = link.clone();
            move || link.deliver(inner)
        });
        ShapedWriter { link, shape, thread: Some(thread) }
    }
}

impl Write for ShapedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let part = &bytes[..bytes.len().min(self.shape.parcel())];
        if part.is_empty() {
            return Ok(0);
        }
        let mut state = self.link.lock();
        while state.failure.is_none() && state.bytes + part.len() > self.shape.capacity() {
            state = self.link.wait(state, None);
        }
        if let Some((kind, text)) = &state.failure {
            return Err(io::Error::new(*kind, text.clone()));
        }
        state.free_at = state.free_at.max(Instant::now()) + self.shape.occupied(part.len());
        let due = state.free_at + self.shape.latency;
        state.parcels.push_back((due, part.to_vec()));
        state.bytes += part.len();
        self.link.changed.notify_all();
        Ok(part.len())
    }

    /// Does nothing: what was written is on its way.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for ShapedWriter {
    fn drop(&mut self) {
        self.link.lock().ended = true;
        self.link.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic there has lost only bytes of a simulation.
            let _ = thread.join();
        }
    }
}

impl Link {
    /// Hands parcels on when they are due, until the writer is dropped or `inner` fails.
    fn deliver(&self, mut inner: impl Write) {
        let mut state = self.lock();
        loop {
            let Some(due) = state.parcels.front().map(|(due, _)| *due) else {
                if state.ended {
                    return;
                }
                state = self.wait(state, None);
                continue;
            };
            let left = due.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                state = self.wait(state, Some(left));
                continue;
            }
            let Some((_, parcel)) = state.parcels.pop_front() else { continue };
            drop(state);
            let written = inner.write_all(&parcel).and_then(|()| inner.flush());
            state = self.lock();
            state.bytes -= parcel.len();
            if let Err(error) = written {
                state.failure = Some((error.kind(), error.to_string()));
                state.parcels.clear();
                self.changed.notify_all();
                return;
            }
            self.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, limit: Option<Duration>) -> MutexGuard<'a, State> {
        match limit {
            None => self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner()),
            Some(limit) => self.changed.wait_timeout(state, limit).unwrap_or_else(|poisoned| poisoned.into_inner()).0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn units_are_read() {
        assert_eq!(parse_latency("50ms"), Ok(Duration::from_millis(50)));
        assert_eq!(parse_latency("0.1 ms"), Ok(Duration::from_micros(100)));
        assert_eq!(parse_latency("2s"), Ok(Duration::from_secs(2)));
        assert_eq!(parse_bandwidth("100Mbit"), Ok(100_000_000));
        assert_eq!(parse_bandwidth("1Gbit/s"), Ok(1_000_000_000));
        for text in ["", "50", "ms", "-1ms", "1e999s", "50 minutes", "61s", "..ms", "\n"] {
            assert!(matches!(parse_latency(text), Err(Error::Input(_))), "{text}");
        }
        for text in ["", "100", "0Mbit", "5MB", "9999999Gbit", "nan"] {
            assert!(matches!(parse_bandwidth(text), Err(Error::Input(_))), "{text}");
        }
    }

    /// Sends `bytes` over a pipe of that shape: time to the first byte and to the last.
    fn transfer(shape: LinkShape, bytes: usize) -> (Duration, Duration) {
        let (mut reader, writer) = io::pipe().unwrap();
        let start = Instant::now();
        let sender = std::thread::spawn(move || {
            let mut writer = ShapedWriter::new(writer, shape);
            for chunk in vec![7; bytes].chunks(100_000) {
                writer.write_all(chunk).unwrap();
            }
        });
        let mut one = [0];
        reader.read_exact(&mut one).unwrap();
        let first = start.elapsed();
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).unwrap();
        let last = start.elapsed();
        sender.join().unwrap();
        assert_eq!(rest.len() + 1, bytes);
        (first, last)
    }

    fn is_near(measured: Duration, expected: Duration) -> bool {
        (0.99..1.15).contains(&(measured.as_secs_f64() / expected.as_secs_f64()))
    }

    #[test]
    fn latency_and_bandwidth_are_as_asked() {
        // 2 MB at 80 Mbit/s take 200 ms, and latency comes once, not once a parcel. A busy machine may add to that,
        // so one good run out of five will do; none may ever be faster than the link.
        let shape = LinkShape { latency: Duration::from_millis(100), bandwidth: Some(80_000_000) };
        let mut seen = Vec::new();
        for _ in 0..5 {
            let (first, last) = transfer(shape, 2_000_000);
            assert!(first >= Duration::from_millis(101) && last >= Duration::from_millis(300), "{first:?} {last:?}");
            if is_near(first, Duration::from_millis(101)) && is_near(last, Duration::from_millis(300)) {
                return;
            }
            seen.push((first, last));
        }
        panic!("{seen:?}");
    }

    #[test]
    fn latency_alone_does_not_limit_throughput() {
        let shape = LinkShape { latency: Duration::from_millis(200), bandwidth: None };
        let (first, last) = transfer(shape, 30_000_000);
        assert!(first >= shape.latency && last < 5 * shape.latency, "{first:?} {last:?}");
    }

    #[test]
    fn what_is_under_way_is_bounded_and_failure_reaches_the_writer() {
        let (reader, writer) = io::pipe().unwrap();
        let shape = LinkShape { latency: Duration::from_millis(1), bandwidth: Some(1_000_000_000) };
        let mut shaped = ShapedWriter::new(writer, shape);
        let link = shaped.link.clone();
        let filler = std::thread::spawn(move || {
            loop {
                if let Err(error) = shaped.write_all(&[0; 65536]) {
                    return error;
                }
            }
        });
        std::thread::sleep(Duration::from_millis(100));
        assert!(link.lock().bytes <= shape.capacity());
        drop(reader);
        assert_eq!(filler.join().unwrap().kind(), ErrorKind::BrokenPipe);
    }
}
