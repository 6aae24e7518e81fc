//! The report for readers, from what was found.

use std::sync::Arc;

use super::{Rules, RulesJob, RulesResult, USUAL_CONFIDENCE, html, learned};
use crate::agreement::{JobSpec, KnownSizes, ResultPage};

/// Results of a run, with the keys of its job.
pub struct ForReaders {
    pub(super) own: Rules,
    pub(super) named: Arc<RulesResult>,
}

impl ResultPage for ForReaders {
    fn html(&self, job: &JobSpec, choice: &str) -> String {
        let (job, named) = (&RulesJob { spec: job, own: &self.own }, &self.named);
        let parties = job.parties.names();
        let known = KnownSizes { common: Some(named.rows.into()), ..KnownSizes::default() };
        let learned = |name: &&str| ((*name).to_owned(), learned::rules(job, name, known));
        let items = |places: &[u32]| -> Vec<html::ItemView> {
            let item = |&place: &u32| {
                let item = &named.items[place as usize];
                html::ItemView { party: job.parties.position(&item.party).unwrap_or_default(), name: item.name.clone() }
            };
            places.iter().map(item).collect()
        };
        let itemset = |(set, count): &(Vec<u32>, u32)| html::Itemset { items: items(set), count: (*count).into() };
        let rules = named.rules.iter().map(|found| html::RuleView {
            antecedents: items(&found.antecedents),
            consequents: items(&found.consequents),
            support: found.rule.support(),
            confidence: found.rule.confidence(),
            lift: found.rule.lift(),
            leverage: found.rule.leverage(),
            conviction: found.rule.conviction(),
        });
        html::page(&html::RulesReport {
            id: job.id.clone(),
            parties: parties.iter().map(|name| (*name).to_owned()).collect(),
            rows: named.rows.into(),
            min_support: job.own.min_support.as_ref().map_or(String::new(), |written| written.0.clone()),
            min_confidence: match &job.own.min_confidence {
                Some(written) => written.0.clone(),
                None => USUAL_CONFIDENCE.into(),
            },
            protocol: choice.into(),
            learned: parties.iter().map(learned).collect(),
            itemsets: named.itemsets.iter().map(itemset).collect(),
            rules: rules.collect(),
        })
    }
}
