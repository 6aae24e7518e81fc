//! Budgets of privacy loss: a rule bounds the loss of all runs with noise together, with each peer and with all peers.

use tacita_core::Result;
use tacita_core::primitive::noise::decimal;

use super::{Policy, PolicyQuestion, Rule};
use crate::agreement::WrittenNumber;
use crate::base::text::shown;
use crate::govern::time::Day;
use crate::identity::Fingerprint;

/// The largest delta of a budget, in units of 10^-18.
const MAX_DELTA: u64 = 1_000_000_000_000_000;

/// The most days that a budget is for.
const MAX_DAYS: u32 = 36_500;

impl Policy {
    /// Refuses budgets that make no sense.
    pub(super) fn check_budget(&self, rule: &Rule) -> Result<()> {
        for (key, bound) in [("epsilon", &rule.epsilon), ("epsilon_in_all", &rule.epsilon_in_all)] {
            if let Some(bound) = bound.as_ref().filter(|bound| epsilon(bound.get_ref()).is_none()) {
                return Err(self.fault(bound, format_args!("{key}: use a decimal with up to 6 decimals, as 1.5")));
            }
        }
        if let Some(delta) = rule.delta.as_ref().filter(|delta| read_delta(delta.get_ref()).is_none()) {
            return Err(self.fault(delta, "delta: use a decimal up to 0.001, as 1e-6"));
        }
        let without = |key: &str| format!("{key}: it goes with epsilon or epsilon_in_all: add one of them");
        match (&rule.epsilon, &rule.epsilon_in_all, &rule.delta, &rule.days) {
            (None, None, Some(delta), _) => Err(self.fault(delta, without("delta"))),
            (None, None, None, Some(days)) => Err(self.fault(days, without("days"))),
            (_, _, _, Some(days)) if *days.get_ref() == 0 => Err(self.fault(days, "days: use 1 or more")),
            (_, _, _, Some(days)) if *days.get_ref() > MAX_DAYS => {
                Err(self.fault(days, format_args!("days: use {MAX_DAYS} at most, or leave it out")))
            }
            _ => Ok(()),
        }
    }
}

impl Rule {
    /// Returns why the job exceeds the budget for one of its peers.
    pub(super) fn overspent_with_a_peer(&self, bound: &WrittenNumber, question: &PolicyQuestion<'_>) -> Option<String> {
        let PolicyQuestion { job, me, .. } = question;
        if job.job.served().is_some() {
            return Some("epsilon: whom the job serves is not counted here: use epsilon_in_all".into());
        }
        let mut peers = job.others(me).into_iter().filter_map(|name| Some((name, job.party(name).ok()?.identity?)));
        peers.find_map(|(name, pin)| self.overspent("epsilon", bound, question, Some((&pin, &shown(name)))))
    }

    /// Returns why the job exceeds the budget for all peers together.
    pub(super) fn overspent_in_all(&self, bound: &WrittenNumber, question: &PolicyQuestion<'_>) -> Option<String> {
        self.overspent("epsilon_in_all", bound, question, None)
    }

    fn overspent(
        &self,
        key: &str,
        bound: &WrittenNumber,
        PolicyQuestion { job, me, now, history, .. }: &PolicyQuestion<'_>,
        peer: Option<(&Fingerprint, &str)>,
    ) -> Option<String> {
        let Ok(Some(loss)) = job.privacy_loss(me) else {
            return Some(format!("{key}: the job reveals numbers without noise"));
        };
        let since = self.days.as_ref().map(|days| Day::of(*now).before(days.get_ref() - 1));
        let delta = self.delta.as_ref().and_then(|delta| read_delta(delta.get_ref())).unwrap_or(0);
        let spent = history.loss(peer.map(|(pin, _)| pin), since).and(loss).epsilon_at(delta);
        // Policies whose bounds cannot be read are refused.
        if spent <= epsilon(bound).unwrap_or(0) {
            return None;
        }
        let with = peer.map_or_else(|| "all peers".to_owned(), |(_, name)| name.to_owned());
        let since = since.map_or_else(String::new, |day| format!(" since {day}"));
        let spent = if spent == u64::MAX {
            "a larger delta than allowed".to_owned()
        } else {
            format!("epsilon {}", decimal::write(spent, decimal::EPSILON))
        };
        Some(format!(
            "{key}: with this run, runs with {with} would have used {spent}{since}, and {} is allowed",
            bound.0
        ))
    }
}

/// Reads an epsilon, in millionths.
fn epsilon(number: &WrittenNumber) -> Option<u64> {
    decimal::read(&number.0, decimal::EPSILON)
}

/// Reads a delta, in units of 10^-18.
fn read_delta(number: &WrittenNumber) -> Option<u64> {
    decimal::read(&number.0, decimal::DELTA).filter(|delta| *delta <= MAX_DELTA)
}
