//! Messages by which the leader tells the result to others who learn.

use std::collections::HashSet;

use rand_core::CryptoRng;

use super::params::{MAX_NAME_BYTES, TAG, TOLD_CATEGORY};
use super::{OutsourcedParty, OutsourcedResult, OutsourcedReveal, TOLD};
use crate::depot::Depot;
use crate::error::{Error, Result};
use crate::item::Item;

impl<D: Depot> OutsourcedParty<'_, D> {
    /// Tells the party at `to` what was found among these items, in as many bytes and with as much work whatever it is.
    pub(super) fn tell(
        &self,
        to: usize,
        items: &[Item],
        found: &OutsourcedResult,
        rng: &mut impl CryptoRng,
    ) -> Result<()> {
        let bytes = match found {
            OutsourcedResult::Rows(common) => {
                let mut tags = self.tags(to, items);
                let mut common = common.iter().peekable();
                for (index, tag) in tags.iter_mut().enumerate() {
                    let mut nobodys = [0; TAG];
                    rng.fill_bytes(&mut nobodys);
                    if common.next_if_eq(&&index).is_none() {
                        *tag = nobodys;
                    }
                }
                // Their order says nothing.
                tags.sort_unstable();
                tags.concat()
            }
            // The leader alone learns.
            OutsourcedResult::Payload(..) => Vec::new(),
            OutsourcedResult::Count(count) => count.to_le_bytes().to_vec(),
            OutsourcedResult::Sum(count, sum) => [*count, *sum].map(u64::to_le_bytes).concat(),
            OutsourcedResult::Counts(counts) => {
                let mut bytes = Vec::new();
                for (name, count) in counts {
                    let mut told = [0; TOLD_CATEGORY];
                    told[0] = name.len() as u8;
                    told[1..=name.len()].copy_from_slice(name);
                    told[1 + MAX_NAME_BYTES..].copy_from_slice(&count.to_le_bytes());
                    bytes.extend_from_slice(&told);
                }
                bytes
            }
        };
        let mut rest = &bytes[..];
        for (part, length) in (0..).zip(self.params.told()) {
            let own;
            (own, rest) = rest.split_at(length.min(rest.len()));
            let mut own = own.to_vec();
            own.resize(length, 0);
            self.post.send(TOLD, to, part, own)?;
        }
        Ok(())
    }

    /// Receives the result that the leader tells this party, whose own items are the first of these.
    pub(super) fn hear(&self, items: &[Item]) -> Result<OutsourcedResult> {
        let leader = self.params.leader();
        let mut bytes = Vec::new();
        for (part, length) in (0..).zip(self.params.told()) {
            bytes.extend(self.post.receive(TOLD, leader, part, length)?);
        }
        let wrong = |check: &str| self.post.violation(leader, format!("`{}` {check}", TOLD.name));
        let number = |at: usize| {
            let number = bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
            number.ok_or_else(|| wrong("is too short"))
        };
        let most = self.params.bound() as u64;
        let count = || number(0).and_then(|count| if count > most { Err(wrong("counts too many")) } else { Ok(count) });
        match self.params.reveal {
            OutsourcedReveal::Rows => {
                let tags: HashSet<&[u8]> = bytes.chunks(TAG).collect();
                let own = self.tags(leader, items);
                let mut common: Vec<usize> = (0..own.len()).filter(|&index| tags.contains(&own[index][..])).collect();
                common.retain(|&index| index < self.items.len());
                Ok(OutsourcedResult::Rows(common))
            }
            OutsourcedReveal::Payload => Err(Error::Internal("outsourced: rows are given to the leader alone".into())),
            OutsourcedReveal::Count => Ok(OutsourcedResult::Count(count()?)),
            OutsourcedReveal::Sum { .. } => Ok(OutsourcedResult::Sum(count()?, number(8)?)),
            OutsourcedReveal::Counts { .. } => {
                let mut counts = Vec::new();
                for told in bytes.chunks_exact(TOLD_CATEGORY) {
                    let (name, count) = told.split_at(1 + MAX_NAME_BYTES);
                    let count = count.try_into().map_or(0, u64::from_le_bytes);
                    // Whatever follows fills up.
                    if count == 0 {
                        break;
                    }
                    counts.push((name[1..=usize::from(name[0])].to_vec(), count));
                }
                match counts.iter().try_fold(0u64, |sum, (_, count)| sum.checked_add(*count)) {
                    Some(all) if all <= most && counts.is_sorted() => Ok(OutsourcedResult::Counts(counts)),
                    _ => Err(wrong("holds no counts")),
                }
            }
        }
    }

    /// Tags by which the leader and the party at the other end know items.
    fn tags(&self, peer: usize, items: &[Item]) -> Vec<[u8; TAG]> {
        let key = self.post.derive("outsourced told", peer);
        let tag = |item: &Item| {
            let mut tag = [0; TAG];
            tag.copy_from_slice(&blake3::keyed_hash(&key, &item.0).as_bytes()[..TAG]);
            tag
        };
        items.iter().map(tag).collect()
    }
}
