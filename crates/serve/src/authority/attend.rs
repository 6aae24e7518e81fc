//! One desk's connection, from its greeting to its end.

use tacita_core::channel::Channel;
use tacita_core::protocol::intersect::live::{
    ASK, LIST, ListAnswer, ListQuery, ListRequest, MAX_CHANGES, REPLY, TABLE,
};
use tacita_core::{Error, Result};

use super::Authority;
use super::ledger::{Charged, Mark};
use crate::live::TABLE_CHUNK;

/// Answers a desk until it goes.
pub(super) fn attend(authority: &Authority, client: &str, channel: &mut Channel) -> Result<()> {
    let params = authority.live.params;
    loop {
        let bytes = channel.receive_up_to(ASK, ListRequest::most_bytes(&params))?;
        if !authority.is_admitted(client) {
            return Err(Error::Input(format!("{client} may not ask any more")));
        }
        let request = ListRequest::decode(&bytes, &params)
            .map_err(|wrong| channel.violation(format!("`{}` {wrong}", ASK.name)))?;
        match request {
            ListRequest::Fetch => send_table(authority, channel)?,
            ListRequest::Ask(ask) => {
                let answer = answer(authority, client, &ask, channel)?;
                channel.send(REPLY, answer.encode(&params))?;
            }
        }
    }
}

/// Sends the table as it was lately.
fn send_table(authority: &Authority, channel: &mut Channel) -> Result<()> {
    let (facts, table) = authority.epoch().table();
    channel.send(LIST, facts.encode())?;
    table.chunks(TABLE_CHUNK).try_for_each(|chunk| channel.send(TABLE, chunk.to_vec()))
}

/// Answers a question: charged first, on disk, and evaluated then, together with what the desk has missed at that
/// moment.
fn answer(authority: &Authority, client: &str, ask: &ListQuery, channel: &Channel) -> Result<ListAnswer> {
    let epoch = authority.epoch();
    let elements = (ask.blinded.len() / authority.live.params.suite.element_bytes()) as u64;
    {
        let list = epoch.list.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        if list.since(&ask.state).is_none() {
            return Ok(ListAnswer::Stale);
        }
        let missed = list.state().version - ask.state.version;
        if missed > MAX_CHANGES as u64 {
            let changes = list.since(&ask.state).into_iter().flatten().collect();
            let (left, behind) = (authority.ledger.left(client), missed - MAX_CHANGES as u64);
            return Ok(ListAnswer::Answered { left, behind, changes, evaluated: Vec::new() });
        }
    }
    let left = match elements {
        0 => authority.ledger.left(client),
        _ => match authority.ledger.charge(client, elements, mark(ask))? {
            Charged::Paid { left } => left,
            Charged::Spent { left } => {
                authority.warn_spent(client, elements, left);
                return Ok(ListAnswer::Spent { left });
            }
            Charged::NotAdmitted => {
                tracing::warn!("the most desks have asked (limits.max_clients): another one was refused");
                return Ok(ListAnswer::Spent { left: 0 });
            }
        },
    };
    // The epoch may be over by now: what was charged in it is answered in it.
    let list = epoch.list.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    let changes: Vec<_> = list.since(&ask.state).into_iter().flatten().collect();
    let behind = (list.state().version - ask.state.version).saturating_sub(changes.len() as u64);
    if behind > 0 {
        // More came while it was charged: the desk asks the same again, which is not charged again.
        return Ok(ListAnswer::Answered { left, behind, changes, evaluated: Vec::new() });
    }
    let evaluated =
        list.evaluate(&ask.blinded).map_err(|error| channel.violation(format!("`{}` {error}", ASK.name)))?;
    Ok(ListAnswer::Answered { left, behind, changes, evaluated })
}

/// Computes the mark of a question in an epoch.
fn mark(ask: &ListQuery) -> Mark {
    let mut hasher = blake3::Hasher::new_derive_key("tacita 1 live question");
    hasher.update(&ask.state.epoch).update(&ask.blinded);
    let hash = hasher.finalize();
    std::array::from_fn(|index| hash.as_bytes()[index])
}

#[cfg(test)]
mod tests {
    use tacita_core::primitive::oprf::Suite;
    use tacita_core::protocol::intersect::live::Params;

    use super::*;

    /// A question is known again in its epoch, however the list has changed meanwhile, and in no other.
    #[test]
    fn a_question_is_charged_once_in_each_epoch() {
        let params = Params::new(8, 100, Suite::Ristretto255).unwrap();
        let of = |epoch: u8, version: u64, question: u8| {
            let bytes = [&[1][..], &[epoch; 32], &version.to_le_bytes(), &[0; 16], &[question; 32]].concat();
            match ListRequest::decode(&bytes, &params) {
                Ok(ListRequest::Ask(ask)) => mark(&ask),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(of(1, 1, 7), of(1, 2, 7));
        assert_ne!(of(1, 1, 7), of(2, 1, 7));
        assert_ne!(of(1, 1, 7), of(1, 1, 8));
    }
}
