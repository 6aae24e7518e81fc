//! A report counts once, whichever proxies it was given to.
//!
//! A participant gives a batch to one proxy, and where that is silent to another; the batch has the same name there. So
//! two may have it, and before a proxy shuffles, it claims the batches that it has at the database, which gives each to
//! the proxy that asks for it first, and for good. What is another's is dropped, and what conditions there are for a
//! shuffle is looked at afterwards. Why a batch that was acknowledged leaves exactly once, whatever is killed when:
//!
//! * It is on a proxy's disk before it is acknowledged, and only what is on its disk a proxy claims. So whoever owns a batch has it.
//! * A proxy drops what another one owns, and nothing else; it shuffles what it owns, and nothing else. So a batch that anybody has leaves from its
//!   owner, and nowhere else; from there once (`queue`).
//! * The database counts no round before all proxies have sent what they own of it.
//!
//! | a proxy is killed | what becomes of the batch |
//! |---|---|
//! | before it has stored it | it is not there, and the participant gives it to another one |
//! | when it has stored it, and not acknowledged | two have it: the first to claim it owns it |
//! | after it has acknowledged; the participant had given up, and asked another one | the same |
//! | when the database has noted the claim, and the answer is lost | it claims it again, and is told that it is its own |
//! | when it was told, and has not dropped what is another's | it claims all that waits again, and is told the same |
//! | when it has dropped it | its mark says that it is there, and leaves elsewhere |
//! | when it shuffles | what waits is claimed again; it is its own |
//!
//! What is taken between a claim and its shuffle is not claimed, and waits for the next one. When a round has closed
//! nothing more is taken, and all is claimed.
//!
//! Claims are named by a hash under a key that the proxies have and the database does not, and brought in the order of
//! their names. The database learns how many batches a proxy has, and how many of them two have; not whose they are,
//! nor which are of one participant.

use tacita_core::{Error, Result};
use tacita_node::base::text::counted;

use super::Proxy;
use super::asking::{TURN, refusal, wrong};
use super::round::Round;
use crate::queue::MarkKey;
use crate::transport::ApiRequest;
use crate::wire::batch::ClaimId;
use crate::wire::claims::{MAX_CLAIMS, decode_answers};

impl Proxy {
    /// Claims what waits, where there are other proxies, and drops what is another's.
    ///
    /// Errors: the database does not answer, or not what it has to; those of the queue.
    pub(super) fn claim(&self, round: &Round) -> Result<()> {
        let names = self.names.by_number();
        let mut claims: Vec<(ClaimId, MarkKey)> = Vec::new();
        for key in round.queue.unclaimed() {
            let participant = names.get(&key.0).ok_or_else(|| Error::Internal("a batch of nobody".into()))?;
            claims.push((round.claims.name(participant, &key.1), key));
        }
        if claims.is_empty() {
            return Ok(());
        }
        // Their order says nothing of whose they are.
        claims.sort_unstable_by_key(|(name, _)| *name);
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for claims in claims.chunks(MAX_CLAIMS) {
            let answers = self.ask_for(round, claims)?;
            for ((_, key), answer) in claims.iter().zip(answers) {
                if answer { &mut own } else { &mut others }.push(*key);
            }
        }
        // Acted on behind a session that follows the granted one: else a start would ask a storage that was put back
        // for the same step once more.
        round.queue.note_new(std::iter::empty());
        self.cover(round)?;
        round.queue.settle(&own, &others)?;
        if !others.is_empty() {
            let dropped = counted(others.len() as u64, "batch");
            tracing::info!("round {}: {dropped} came to another proxy as well, which sends them", round.name);
        }
        Ok(())
    }

    fn ask_for(&self, round: &Round, claims: &[(ClaimId, MarkKey)]) -> Result<Vec<bool>> {
        let body: Vec<u8> = claims.iter().flat_map(|(name, _)| *name).collect();
        let name = &round.name;
        let (answer, by) = self.stepping(round, |session, next| {
            let path = format!("/v1/rounds/{name}/claims?session={session}&next={next}");
            self.database.ask(&ApiRequest::post(round.fingerprint.on(&path), body, MAX_CLAIMS / 8), TURN)
        })?;
        if !answer.is_ok() {
            return Err(refusal(&answer, by, &format!("claims of round {name}")));
        }
        let wrong =
            || wrong(by, &format!("it does not answer the {} of round {name}", counted(claims.len() as u64, "claim")));
        decode_answers(&answer.body, claims.len()).ok_or_else(wrong)
    }
}
