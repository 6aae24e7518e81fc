//! Scalar products that are spread over many machines: each bucket leaves shares of its products, which add up to
//! shares of all.

use tacita_core::channel::Channel;
use tacita_core::channel::labels::handshake::DRIVERS;
use tacita_core::{Error, Result};
use zeroize::Zeroizing;

use super::found::{Outcome, open};
use super::methods::ot;
use super::spec::DotJob;
use super::{read_columns, refuse_blank_line};
use crate::agreement::{Answer, JobSpec, Reveal};
use crate::jobs::aligned;
use crate::jobs::numbers::ShareFile;
use crate::table::Table;

/// The job of one bucket, which tells nobody anything.
pub fn in_buckets(job: &DotJob<'_>) -> Result<JobSpec> {
    let bad = |text: &str| Err(Error::Input(format!("this job runs on one machine of each party: {text}")));
    if job.clients().is_some() {
        return bad("several have the rows of one side (role, slice)");
    }
    if job.parties.0.len() > 2 {
        return bad("it is among more than two");
    }
    if job.noise.is_some() {
        return bad("each bucket would need noise of its own: leave `noise` out");
    }
    aligned::spec::refuse_hidden_in_buckets(job.alignment().as_ref())?;
    if !job.protocol.is_auto() && job.protocol != ot::PROTOCOL {
        return bad(&format!(
            "protocol = \"{}\" hides numbers only approximately, and each bucket would reveal more: leave it out, or use \"{}\"",
            job.protocol.name(),
            ot::PROTOCOL.name()
        ));
    }
    let mut one = JobSpec { reveal: Reveal::Shares, protocol: ot::PROTOCOL, ..job.spec.clone() };
    // What is small is known when all is added up.
    one.limits.min_result = None;
    Ok(one)
}

/// Looks at one part of a party's table: what is wrong with it is said before others are met.
///
/// Errors ([`Error::Input`]): a column is missing; a number cannot be read or does not fit; there is a blank line where
/// rows go by their position. Where rows have ids, numbers are read with the rows that have one.
pub fn look(job: &DotJob<'_>, me: &str, table: &Table) -> Result<()> {
    let by_position = job.alignment().is_none();
    if by_position {
        refuse_blank_line(table)?;
    }
    read_columns(job, me, table, |_| by_position).map(drop)
}

/// Adds up the shares of all buckets, and opens the sum as far as the job says. `opens` hears what stands for the
/// shares before that; if it fails, nothing is opened.
///
/// Errors ([`Error::Input`]): they are not shares of one run of this job; the modulus may not hold the sum. [`Error::Terms`]: the peer has shares of
/// other attempts.
pub fn add_up(
    job: &DotJob<'_>,
    me: &str,
    shares: &[Zeroizing<String>],
    channel: &mut Channel,
    opens: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<Answer> {
    let parts = shares.iter().map(|text| ShareFile::parse(text)).collect::<Result<Vec<_>>>()?;
    let sum = ShareFile::sum(job, me, &parts)?;
    // Shares of two attempts at a bucket add up to nothing: both have to have kept the same.
    let theirs = channel.exchange(DRIVERS, sum.run.clone().into_bytes(), sum.run.len())?;
    if theirs != sum.run.as_bytes() {
        let what = "the parties have kept shares of different attempts at a bucket: all remove their work directories and start \
                    again";
        return Err(channel.conclude_for(Error::Terms(what.into())));
    }
    if job.reveal == Reveal::Shares {
        return Ok(Answer::Share { numbers: sum.count(), file: sum.text()? });
    }
    let shares = sum.shares()?;
    if !sum.fits(&shares.modulus()) {
        return Err(Error::Input(format!(
            "modulus = {} is too small for some products of so many rows, whose value would be wrong unnoticed: leave `modulus` \
             out",
            shares.modulus()
        )));
    }
    opens(&sum.run)?;
    let outcome: Outcome = open(job, me, &shares, channel)?;
    outcome.answer(job)()
}

#[cfg(test)]
mod tests {
    use tacita_core::Session;
    use tacita_core::protocol::dot::{Modulus, Shares};
    use tacita_core::session::Transcript;

    use super::*;
    use crate::jobs::dot::Dot;

    const JOB: &str = "job = \"dot\"\nid = \"t\"\nreveal_to = [\"a\", \"b\"]\nbits = 8\n[parties.a]\n[parties.b]\n";

    #[test]
    fn hidden_rows_are_refused_with_what_to_do() {
        let own = Dot { row_id: Some(crate::agreement::Names::Several(vec!["id".into()])), ..Dot::default() };
        let in_buckets = |keys: &str| {
            let text = JOB.replace("bits = 8", &format!("bits = 8\nrow_id = \"id\"\n{keys}"));
            in_buckets(&DotJob { spec: &JobSpec::parse(&text, false).unwrap(), own: &own })
        };
        assert!(in_buckets("alignment = \"rows\"").is_ok());
        for hidden in ["", "alignment = \"hidden\""] {
            assert!(in_buckets(hidden).unwrap_err().to_string().contains("alignment = \"rows\""));
        }
    }

    /// Shares of each bucket's product as left by the attempts of these names, which parties `a` and `b` have kept.
    fn opened(attempts: [[&str; 2]; 2]) -> [Result<Answer>; 2] {
        opened_with(attempts, |_| Ok(()))
    }

    /// The same, if party `a` may open them.
    fn opened_with(attempts: [[&str; 2]; 2], mut opens: impl FnMut(&str) -> Result<()>) -> [Result<Answer>; 2] {
        let spec = JobSpec::parse(JOB, false).unwrap();
        let own = Dot { bits: Some(8), ..Dot::default() };
        let job = DotJob { spec: &spec, own: &own };
        let modulus = Modulus::power_of_two(64).unwrap();
        let part = |me: &str, attempt: &str, value: u128| {
            let session = Session::new(Transcript::new(if attempt == "first" { "first" } else { "second" }));
            let shares = Shares::new(modulus, vec![value]).unwrap();
            ShareFile::new(&job, me, &session, &job.range(3).unwrap(), &shares, false).text().unwrap()
        };
        let of =
            |me: &str, kept: [&str; 2], values: [u128; 2]| [0, 1].map(|place| part(me, kept[place], values[place]));
        let (a, b) = (of("a", attempts[0], [7, 11]), of("b", attempts[1], [5, modulus.value() - 1]));
        let (mut to_b, mut to_a) = Channel::pair("a", "b");
        std::thread::scope(|scope| {
            let other = scope.spawn(|| add_up(&job, "b", &b, &mut to_a, &mut |_| Ok(())));
            let one = add_up(&job, "a", &a, &mut to_b, &mut opens);
            let open = match &one {
                Ok(_) => Some(to_b),
                Err(error) => {
                    to_b.abort(error);
                    None
                }
            };
            let other = other.join().unwrap();
            drop(open);
            [one, other]
        })
    }

    #[test]
    fn what_may_not_be_opened_is_not() {
        let refused = opened_with([["first", "second"], ["first", "second"]], |_| Err(Error::Terms("once".into())));
        assert!(refused.into_iter().all(|answer| answer.is_err()));
    }

    #[test]
    fn shares_of_different_attempts_are_not_opened() {
        for answer in opened([["first", "second"], ["first", "second"]]) {
            assert!(matches!(answer.unwrap(), Answer::Numbers { json, .. } if json["value"] == 22));
        }
        for answer in opened([["first", "second"], ["first", "first"]]) {
            assert!(matches!(answer, Err(Error::Terms(_))));
        }
    }
}
