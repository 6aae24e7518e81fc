//! Advice on a round: its current activity, the obstacle and its cause, and the remedy for its operator.

use std::time::Duration;

use tacita_core::ErrorKind;
use tacita_node::base::text::{count, counted};

use super::view::{Proxy, RoundView, long};
use crate::wire::rounds::RoundState;

/// Time after which a proxy counts as silent: it asks for rounds far more often.
const SILENT: Duration = Duration::from_secs(10);

/// Advice on a round.
pub(super) struct Advice {
    /// Whether something has to be done that does not happen by itself.
    pub(super) stuck: bool,
    /// Description of the current activity.
    pub(super) now: String,
    /// Advice on the next step, if anything is to be done.
    pub(super) todo: Option<String>,
}

impl Advice {
    fn well(now: impl Into<String>) -> Advice {
        Advice { stuck: false, now: now.into(), todo: None }
    }

    fn stuck(now: impl Into<String>, todo: impl Into<String>) -> Advice {
        Advice { stuck: true, now: now.into(), todo: Some(todo.into()) }
    }

    fn todo(now: impl Into<String>, todo: impl Into<String>) -> Advice {
        Advice { stuck: false, now: now.into(), todo: Some(todo.into()) }
    }
}

/// Describes the progress of a round.
pub(super) fn advice(round: &RoundView) -> Advice {
    if let Some(trouble) = round.trouble.as_ref().filter(|_| !round.state.is_over()) {
        return Advice::stuck(
            format!("Stalled: {}. Retrying.", trouble.what.trim_end_matches('.')),
            format!(
                "Check the service named above. If it stays so for another {}, the round fails; nothing that was acknowledged is lost.",
                long(trouble.left)
            ),
        );
    }
    match round.state {
        RoundState::Open => open(round),
        RoundState::Closed => closed(round),
        RoundState::Counted => Advice::todo(
            format!(
                "All reports are there and counted: {}, of which {} pass.",
                counted(round.numbers.rows.unwrap_or_default(), "row"),
                count(round.numbers.passing.unwrap_or_default())
            ),
            "It is yours to decide: look at the histogram, raise a threshold or leave it, and reveal.",
        ),
        RoundState::Revealing => Advice::well(format!(
            "The oracle is asked for the keys of {}; {} so far.",
            counted(round.numbers.passing.unwrap_or_default(), "row"),
            count(round.revealed)
        )),
        RoundState::Revealed => {
            let keys = counted(round.numbers.keys.unwrap_or(round.revealed), "key");
            Advice::well(format!("The result is there: {keys}. Those in reveal_to collect it ({}).", round.reveal_to))
        }
        RoundState::Failed => failed(round),
        RoundState::Removed => Advice::well("Nothing is left of it but its name, which is not used again."),
    }
}

fn silent(proxies: &[Proxy]) -> Vec<&Proxy> {
    proxies.iter().filter(|proxy| proxy.silent >= SILENT && proxy.complete.is_none() && !proxy.without).collect()
}

/// Describes the proxy that the round waits for, and how long it has waited.
fn waits_for(proxy: &Proxy) -> String {
    match (proxy.silent >= SILENT, proxy.heard) {
        (false, _) if proxy.strange => {
            format!("{}, which is there without the state directory that has its reports", proxy.name)
        }
        (false, _) => match &proxy.other_keys {
            Some(keys) => format!("{}, which has the round under the keys {keys}", proxy.name),
            None => proxy.name.clone(),
        },
        (true, true) => format!("{}, silent for {}", proxy.name, long(proxy.silent)),
        (true, false) => {
            format!("{}, which was not heard of since this program was started, {} ago", proxy.name, long(proxy.silent))
        }
    }
}

fn listed(proxies: &[&Proxy]) -> String {
    proxies.iter().map(|proxy| waits_for(proxy)).collect::<Vec<_>>().join("; ")
}

const ASK_PROXY: &str = "Ask its operator whether `tacita proxy` runs and reaches this database: its log has the reason. Its \
                         reports are on its disk, and come when it is back.";

const STRANGE_PROXY: &str = "Have it started with the state directory (`--state`) that it had when the round opened. If that is \
                             lost, close the round without it (`tacita round close --without-proxy N`): its unsent reports are \
                             then missing in the result.";

const OTHER_KEYS: &str = "This database has lost its state of the round. Start it with its former state directory and storage, \
                          and the proxy continues. If they are lost, remove the round, open another one, and have reports \
                          submitted again.";

fn open(round: &RoundView) -> Advice {
    let away = silent(&round.proxies);
    if !away.is_empty() {
        let all = away.len() == round.proxies.len();
        let what = if all { "Nobody can report" } else { "Who reports to it cannot" };
        return Advice::stuck(format!("{what} at the moment, as it seems: {}.", listed(&away)), ASK_PROXY);
    }
    let strange: Vec<&Proxy> = round.proxies.iter().filter(|proxy| proxy.strange).collect();
    if !strange.is_empty() {
        return Advice::stuck(format!("It takes no reports at {}.", listed(&strange)), STRANGE_PROXY);
    }
    let other: Vec<&Proxy> = round.proxies.iter().filter(|proxy| proxy.other_keys.is_some()).collect();
    if !other.is_empty() {
        return Advice::stuck(format!("It takes no reports at {}.", listed(&other)), OTHER_KEYS);
    }
    if !round.keyed {
        return Advice::well("It opens: as soon as a proxy has given its key of the round, participants can report.");
    }
    let held = match round.batch_size {
        None => "Proxies keep reports until the round closes.".to_owned(),
        Some(size) => format!("Proxies send reports in batches of about {}.", count(size)),
    };
    match &round.close_at {
        Some(moment) => Advice::well(format!("It takes reports. {held} It closes at {moment}, or when you close it.")),
        None => Advice::todo(format!("It takes reports. {held}"), "Close it when all expected reports are there."),
    }
}

fn closed(round: &RoundView) -> Advice {
    let missing = round.proxies.iter().filter(|proxy| proxy.complete.is_none() && !proxy.without);
    let missing: Vec<&Proxy> = missing.collect();
    if missing.is_empty() {
        return Advice::well("All proxies have sent their reports: rows are counted.");
    }
    let now = format!("It waits for {}.", listed(&missing));
    if missing.iter().any(|proxy| proxy.strange) {
        return Advice::stuck(now, STRANGE_PROXY);
    }
    if missing.iter().any(|proxy| proxy.other_keys.is_some()) {
        return Advice::stuck(now, OTHER_KEYS);
    }
    if silent(&round.proxies).is_empty() {
        Advice::well(format!("{now} They shuffle and send their reports."))
    } else {
        Advice::stuck(now, ASK_PROXY)
    }
}

fn failed(round: &RoundView) -> Advice {
    let Some(failure) = &round.failure else { return Advice::stuck("It has no result.", "Open another round.") };
    let now = format!("It has no result: {}.", failure.reason.trim_end_matches('.'));
    if round.again {
        return Advice::stuck(now, "When that is mended, reveal it again: it continues where it stopped.");
    }
    let todo = match (ErrorKind::from_code(failure.kind), &failure.culprit) {
        (Some(ErrorKind::Terms), _) => {
            "No report was sent, and none will be. Open another round, with more participants, or with other conditions in the \
             job file."
                .to_owned()
        }
        (Some(ErrorKind::Protocol | ErrorKind::Authentication), Some(culprit)) => {
            format!("Speak with the operator of {culprit} before you open another round: this does not happen by chance.")
        }
        _ => "This program's log says more. Open another round when it is mended.".to_owned(),
    };
    Advice::stuck(now, todo)
}
