//! Cost of a live list: one question, a batch, and questions of many desks at once while rows come and go and the key
//! changes. Authority and desks are in this process, over TLS on the loopback. Each question is charged on disk before
//! it is answered.

use std::io::{Error, Result};
use std::net::TcpListener;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use tacita_bench::{Verdicts, about};
use tacita_node::agreement::JobSpec;
use tacita_node::identity::Identity;
use tacita_node::jobs::intersect::live::{KeyReader, Live, QueryRow};
use tacita_node::table::ReadOptions;
use tacita_node::transport::ConnectCancel;
use tacita_serve::authority::control::{ListOrder, order};
use tacita_serve::authority::{self, AuthorityConfig};
use tacita_serve::desk::{Asking, DeskLink};

/// Milliseconds for one question, 99 of 100.
const ONE: f64 = 50.0;

/// Rows a second in a batch.
const RATE: f64 = 1000.0;

/// Milliseconds for one of a hundred desks that ask at once, 99 of 100.
const MANY: f64 = 500.0;

#[derive(Parser)]
#[command(about = about(include_str!("desk.rs")))]
struct Arguments {
    /// Rows of the list
    #[arg(default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(10..=10_000_000))]
    rows: u32,
    /// Desks that ask at once
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=500))]
    desks: u32,
    /// Seconds for which they do
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
}

pub fn main() -> Result<ExitCode> {
    let Arguments { rows, desks, seconds } = Arguments::parse_from(tacita_bench::arguments());
    let home = tempfile::tempdir()?;
    let place = Place::new(home.path(), rows, desks)?;
    let cancel = ConnectCancel::default();
    let mut verdicts = Verdicts::default();
    std::thread::scope(|scope| {
        let (started, served) = (Instant::now(), place.serving(cancel.clone())?);
        let server = scope.spawn(move || authority::serve(served));
        let measured = place.first(&server).and_then(|link| {
            println!("a list of {rows} rows is prepared and fetched after {:.2} s", started.elapsed().as_secs_f64());
            place.one_by_one(&link, &mut verdicts)?;
            place.batch(&link, &mut verdicts)?;
            drop(link);
            place.many(desks, Duration::from_secs(seconds.into()), &mut verdicts)
        });
        cancel.cancel();
        match server.join() {
            Ok(Ok(())) => measured,
            other => measured.and(Err(Error::other(format!("the authority ended: {other:?}")))),
        }
    })?;
    Ok(verdicts.end())
}

/// A job, and its files.
struct Place<'a> {
    home: &'a Path,
    rows: u32,
    live: Live,
    identities: Vec<Identity>,
    authority: Identity,
    cancel: ConnectCancel,
}

impl Place<'_> {
    fn new(home: &Path, rows: u32, desks: u32) -> Result<Place<'_>> {
        let make = |name: &str| Identity::create(&home.join(name), name).map_err(Error::other);
        let authority = make("authority")?;
        let identities = (0..desks).map(|desk| make(&format!("desk-{desk}"))).collect::<Result<Vec<_>>>()?;
        let allowed =
            identities.iter().enumerate().map(|(desk, identity)| format!("desk-{desk} {}\n", identity.fingerprint()));
        std::fs::write(home.join("desks.txt"), allowed.collect::<String>())?;
        let listed = (0..rows).map(|row| format!("{}\n", listed(row)));
        std::fs::write(home.join("list.csv"), format!("name,dob\n{}", listed.collect::<String>()))?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let job = format!(
            "job = \"intersect\"\nid = \"bench\"\nreveal = \"rows\"\nreveal_to = [\"airline\"]\n[key]\ncolumns = [\"name\", \"dob\"]\nnormalize = \
             [\"name\", \"date\"]\n[clients]\nallow = \"desks.txt\"\n[limits]\npad_to = {}\ndaily_queries = 10000000\n[parties.authority]\naddress = \
             \"127.0.0.1:{port}\"\nidentity = \"{}\"\n[parties.airline]\n",
            rows + 10_000,
            authority.fingerprint()
        );
        let file = home.join("job.toml");
        std::fs::write(&file, job)?;
        let live = JobSpec::load(&file).and_then(|job| Live::of(job, "airline")).map_err(Error::other)?;
        Ok(Place { home, rows, live, identities, authority, cancel: ConnectCancel::default() })
    }

    fn serving(&self, cancel: ConnectCancel) -> Result<AuthorityConfig> {
        let address = self.live.job.party("authority").map_err(Error::other)?.address.clone().unwrap_or_default();
        Ok(AuthorityConfig {
            live: self.live.clone(),
            input: Some(self.home.join("list.csv")),
            reading: ReadOptions::default(),
            allow_unreadable: false,
            identity: self.authority.clone(),
            state: self.home.join("state"),
            listen: address,
            cancel,
            account: None,
        })
    }

    fn link(&self, desk: usize) -> DeskLink {
        DeskLink::start(Asking {
            live: self.live.clone(),
            identity: self.identities[desk].clone(),
            cancel: self.cancel.clone(),
        })
    }

    /// The first desk, once it is connected.
    fn first<T>(&self, server: &std::thread::ScopedJoinHandle<'_, T>) -> Result<DeskLink> {
        let link = self.link(0);
        while !link.standing().connected {
            if server.is_finished() {
                return Err(Error::other("the authority did not start"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(link)
    }

    fn asked(&self, row: u32) -> QueryRow {
        let text = listed(row);
        let (name, dob) = text.split_once(',').unwrap_or_default();
        let reader = KeyReader::new(&self.live, "airline").expect("a job that was checked");
        reader.read(|header| if header == "name" { name } else { dob })
    }

    /// Whether a row is on the list; half of those that are asked for are.
    fn ask(&self, link: &DeskLink, row: u32) -> Result<bool> {
        let found = link.ask(vec![self.asked(row)], Duration::from_secs(20)).map_err(Error::other)?;
        found.first().map(|found| found.is_listed()).ok_or_else(|| Error::other("no answer"))
    }

    fn one_by_one(&self, link: &DeskLink, verdicts: &mut Verdicts) -> Result<()> {
        let count = if self.rows < 1000 { 20 } else { 500 };
        let mut times = Vec::with_capacity(count);
        for index in 0..count as u32 {
            // Each other one is not on the list.
            let row = if index.is_multiple_of(2) { index % self.rows } else { self.rows + 20_000 + index };
            let started = Instant::now();
            if self.ask(link, row)? != index.is_multiple_of(2) {
                return Err(Error::other("a wrong verdict"));
            }
            times.push(started.elapsed().as_secs_f64() * 1e3);
        }
        println!(
            "one question: median {:.2} ms, 99 of 100 within {:.2} ms",
            part(&mut times, 0.5),
            part(&mut times, 0.99)
        );
        verdicts.at_most("one question, 99 of 100, ms", part(&mut times, 0.99), ONE);
        Ok(())
    }

    fn batch(&self, link: &DeskLink, verdicts: &mut Verdicts) -> Result<()> {
        let count = if self.rows < 1000 { 100 } else { 10_000 };
        let rows: Vec<QueryRow> = (0..count).map(|row| self.asked(self.rows / 2 + row)).collect();
        let (started, mut listed, mut rest) = (Instant::now(), 0, rows);
        while !rest.is_empty() {
            let after = rest.split_off(rest.len().min(128));
            let found = link.ask(rest, Duration::from_secs(20)).map_err(Error::other)?;
            listed += found.iter().filter(|found| found.is_listed()).count() as u32;
            rest = after;
        }
        if listed != count.min(self.rows - self.rows / 2) {
            return Err(Error::other("a wrong verdict"));
        }
        let rate = f64::from(count) / started.elapsed().as_secs_f64();
        println!("a batch of {count}: {rate:.0} rows a second");
        verdicts.add(format!("rows a second in a batch: {rate:.0} (target {RATE})"), rate >= RATE);
        Ok(())
    }

    /// Measures all desks, each with a question every second, while rows come and go, and the key changes once.
    fn many(&self, desks: u32, time: Duration, verdicts: &mut Verdicts) -> Result<()> {
        let links: Vec<DeskLink> = (0..desks as usize).map(|desk| self.link(desk)).collect();
        let (over, until) = (AtomicBool::new(false), Instant::now() + time);
        while links.iter().any(|link| !link.standing().connected) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let started = Instant::now();
        let mut times = std::thread::scope(|scope| -> Result<Vec<f64>> {
            let over = &over;
            let changes = scope.spawn(move || self.change(over, time / 2));
            let askers: Vec<_> = links
                .iter()
                .zip(0u32..)
                .map(|(link, desk)| {
                    scope.spawn(move || -> Result<Vec<f64>> {
                        let mut times = Vec::new();
                        // Spread over the second.
                        std::thread::sleep(Duration::from_millis(u64::from(desk) * 1000 / u64::from(desks)));
                        while Instant::now() < until {
                            let row = (desk * 7919 + times.len() as u32 * 104_729) % self.rows;
                            let asked = Instant::now();
                            // The first ten come and go.
                            if !self.ask(link, row)? && row >= 10 {
                                return Err(Error::other("a wrong verdict"));
                            }
                            times.push(asked.elapsed().as_secs_f64() * 1e3);
                            std::thread::sleep(Duration::from_secs(1).saturating_sub(asked.elapsed()));
                        }
                        Ok(times)
                    })
                })
                .collect();
            let times = askers.into_iter().map(|asker| asker.join().expect("no panic")).collect::<Result<Vec<_>>>();
            over.store(true, Ordering::Relaxed);
            let (changes, rotation) = changes.join().expect("no panic")?;
            println!(
                "{changes} additions and removals meanwhile; the change of the key took {:.2} s",
                rotation.as_secs_f64()
            );
            Ok(times?.concat())
        })?;
        let rate = times.len() as f64 / started.elapsed().as_secs_f64();
        let [half, most, all] = [0.5, 0.99, 1.0].map(|share| part(&mut times, share));
        println!(
            "{desks} desks at once, {rate:.0} questions a second: median {half:.2} ms, 99 of 100 within {most:.2} ms, all within {all:.2} ms"
        );
        verdicts.at_most("one of many desks, 99 of 100, ms", most, MANY);
        Ok(())
    }

    /// Adds and removes rows until it is over, and changes the key once.
    fn change(&self, over: &AtomicBool, rotate_after: Duration) -> Result<(u32, Duration)> {
        let (state, file) = (self.home.join("state"), self.home.join("change.csv"));
        let (started, mut count, mut rotation) = (Instant::now(), 0, None);
        while !over.load(Ordering::Relaxed) {
            std::fs::write(&file, format!("name,dob\n{}\n", listed(count / 2 % 10)))?;
            let wanted =
                if count.is_multiple_of(2) { ListOrder::Remove(file.clone()) } else { ListOrder::Add(file.clone()) };
            order(&state, &wanted).map_err(Error::other)?;
            count += 1;
            if rotation.is_none() && started.elapsed() > rotate_after {
                let begun = Instant::now();
                order(&state, &ListOrder::Rotate).map_err(Error::other)?;
                rotation = Some(begun.elapsed());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok((count, rotation.unwrap_or_default()))
    }
}

/// A row of the list.
fn listed(row: u32) -> String {
    format!("Family{row} Given{},19{:02}-{:02}-{:02}", row % 977, row % 90 + 10, row % 12 + 1, row % 28 + 1)
}

/// The value that a share of all does not exceed.
fn part(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (values.len() as f64 * share).ceil() as usize;
    values.get(place.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}
