//! The job as an object: its room's answers to what the rest of the program asks.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tacita_core::channel::Channel;
use tacita_core::protocol::dot::Integers;
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::rules::association::Consequents;
use tacita_core::protocol::rules::support::Fraction;
use tacita_core::protocol::rules::{DEFAULT_MAX_CANDIDATES, DEFAULT_MAX_RULES};
use tacita_core::{Result, Security};

use super::spec::{Rules, RulesJob, check_bins};
use super::{RulesInput, choose, cost, distributed, learned, memory, mesh};
use crate::agreement::cost::{Calibration, Cost};
use crate::agreement::words::{ROW_ID, bad, check_distinct};
use crate::agreement::written::take_exact;
use crate::agreement::{
    Ability, AlignWay, Aligned, Answer, Answering, Basket, Capabilities, Choice, Chosen, CommonKey, Disclosure,
    Distributed, Gathered, InitQuestion, ItemKind, ItemsFrom, Job, JobInfo, JobSpec, KnownSizes, Levels, Names,
    Network, PartyInput, PoolPlace, Protocol, RepeatedCounts, Reveal, Sizes, Source, Topology,
};
use crate::jobs::dot::methods::{self, ProtocolKeys, lattice, ot};
use crate::jobs::dot::{self, density};
use crate::jobs::{ParseJob, aligned};
use crate::table::Table;

/// Candidates are numbered with 32 bits, and each takes memory. So does each rule.
const MAX_CANDIDATES: u64 = 1 << 28;
const MAX_RULES: u64 = 1 << 28;

/// Whether the parts of `items` go together.
fn check_basket(basket: &Basket, by_ids: bool) -> Result<()> {
    match basket {
        Basket { separator: Some(separator), .. } if separator.is_empty() => bad("items.separator: it is empty"),
        Basket { long: true, lines: true, .. } => {
            bad("items: long is for rows with one item each, and lines for lines with all of a basket: use one of them")
        }
        Basket { long: true, separator: Some(_), .. } => {
            bad("items.separator: with long = true a row holds one item, and nothing is separated: leave it out")
        }
        Basket { long: true, .. } if !by_ids => bad(
            "items.long: rows with the same id are one basket, and there are no ids: name their columns with row_id",
        ),
        Basket { lines: true, column: Some(_), .. } => {
            bad("items.column: with lines = true a line is a basket, and there are no columns: leave it out")
        }
        Basket { lines: true, .. } if by_ids => bad(
            "items.lines: such a file has no ids, and row_id asks for them: write baskets and ids as columns, or leave out row_id",
        ),
        _ => Ok(()),
    }
}

/// Questions that `tacita init` asks.
const QUESTIONS: [InitQuestion; 4] = [
    InitQuestion {
        key: "min_support",
        asks: "How many rows make an itemset frequent: 100, or a part of all rows, 0.01 or 1%",
        usual: Some("1%"),
        answer: Answering::Word,
        means: "minimum number or part of rows with a frequent itemset",
    },
    InitQuestion {
        key: "min_confidence",
        asks: "How many of the rows with a rule's antecedents must have its consequents, as 0.8 or 80%",
        usual: Some("80%"),
        answer: Answering::Word,
        means: "minimum part of the rows with a rule's antecedents that have its consequents",
    },
    InitQuestion {
        key: "items",
        asks: "Columns that hold items, or * for all; none: baskets in a column `items`, with | between",
        usual: Some(""),
        answer: Answering::Columns,
        means: "source of the items",
    },
    ROW_ID,
];

/// Properties common to all jobs of this kind.
static INFO: JobInfo = JobInfo {
    name: "rules",
    about: "which items here and there go together?",
    questions: &QUESTIONS,
    usual_reveal: &Reveal::Frequent,
    reveals: &["frequent", "counts"],
    keys: &[CommonKey::Alignment, CommonKey::Key, CommonKey::Items, CommonKey::PadTo, CommonKey::Show],
    items: ItemKind::Rows,
    columns_from: "items, row_id or key.columns",
    beside: &[("itemsets", "the itemsets")],
    most_parties: dot::mesh::MAX_PARTIES,
    ..JobInfo::USUAL
};

impl ParseJob for Rules {
    /// Two that make many products at a time, and those that make parts of them.
    fn all_protocols() -> Vec<Protocol> {
        let of_pairs = methods::all().filter(|method| method.of_pairs().is_some());
        [ot::PROTOCOL, lattice::PROTOCOL].into_iter().chain(of_pairs.map(|method| method.protocol())).collect()
    }

    fn take_exact(&mut self, text: &str, is_json: bool) {
        let numbers = &mut [
            ("min_support", &mut self.min_support),
            ("min_confidence", &mut self.min_confidence),
            ("density", &mut self.density),
        ];
        take_exact(text, is_json, numbers);
    }
}

impl Rules {
    /// Combines these keys with the job that they belong to.
    fn of<'a>(&'a self, spec: &'a JobSpec) -> RulesJob<'a> {
        RulesJob { spec, own: self }
    }
}

impl Job for Rules {
    fn info(&self) -> &'static JobInfo {
        &INFO
    }

    fn topology<'a>(&self, spec: &'a JobSpec) -> Topology<'a> {
        if spec.parties.0.len() > 2 { Topology::Mesh } else { Topology::Pair }
    }

    fn protocols(&self, spec: &JobSpec) -> Vec<Protocol> {
        if self.topology(spec) == Topology::Mesh { vec![ot::PROTOCOL] } else { Self::all_protocols() }
    }

    /// Every party hears which itemsets are frequent.
    fn tells_all(&self, spec: &JobSpec) -> bool {
        self.topology(spec) == Topology::Mesh
    }

    fn check_parties(&self, spec: &JobSpec) -> Result<()> {
        if self.topology(spec) == Topology::Mesh { mesh::check(&self.of(spec)) } else { Ok(()) }
    }

    fn check(&self, spec: &JobSpec) -> Result<()> {
        let job = self.of(spec);
        if let Some((name, _)) = spec.parties.0.iter().find(|(_, party)| !party.show.is_of_rules()) {
            return bad(format!("parties.{name}.show: `rows` and `key` are of job = \"intersect\": leave them out"));
        }
        if spec.security == Security::Malicious {
            return bad(
                "security = \"malicious\" is not available for job = \"rules\": use \"semi-honest\". A cheating party could \
                 change its baskets to open counts below min_support",
            );
        }
        if methods::named(spec.protocol).is_some_and(|method| method.of_pairs().is_some())
            && spec.reveal != Reveal::Counts
        {
            return bad(format!(
                "protocol = \"{}\" opens the count of every candidate, and reveal = \"{}\" those of frequent ones alone: use \
                 protocol = \"ot\" or \"lattice\", or reveal = \"counts\"",
                spec.protocol.name(),
                spec.reveal
            ));
        }
        let keys = ProtocolKeys {
            extension: self.extension,
            density: self.density.as_ref(),
            chunk: None,
            row_id: self.row_id.as_ref(),
            numbers: (Integers::BINARY, 0),
        };
        methods::check(spec, &keys)?;
        job.support()?;
        job.confidence()?;
        if self.topology(spec) == Topology::Pair && spec.reveal_to.len() < 2 {
            return bad(
                "reveal_to: both parties learn the rules, because both need each level's itemsets for the next: name both",
            );
        }
        if self.max_len == Some(0) {
            return bad("max_len = 0: use 1 or more");
        }
        if self.max_candidates.is_some_and(|most| most == 0 || most > MAX_CANDIDATES) {
            return bad(format!("max_candidates: use 1 to {MAX_CANDIDATES}"));
        }
        if self.max_rules.is_some_and(|most| most == 0 || most > MAX_RULES) {
            return bad(format!("max_rules: use 1 to {MAX_RULES}"));
        }
        if self.extension == Some(Extension::Silent) {
            return bad(
                "extension = \"silent\" is not available for job = \"rules\", where it would save no traffic: use \
                 \"softspoken-1\" to \"softspoken-8\", or leave it out",
            );
        }
        for name in spec.parties.names() {
            match job.items_of(name) {
                ItemsFrom::Basket(basket) => check_basket(&basket, self.row_id.is_some())?,
                ItemsFrom::Columns(columns) if columns.is_empty() => {
                    return bad("items: name at least one column, or use \"*\" for all of them");
                }
                _ => (),
            }
            let columns = job.items_of(name).columns();
            check_distinct("items", &columns)?;
            let ids = self.row_id.as_ref().map_or(&[][..], |names| names.all());
            if let Some(both) = columns.iter().find(|column| ids.contains(column)) {
                return bad(format!("items: \"{}\" is in row_id too", both.escape_debug()));
            }
        }
        check_bins(&self.bins)?;
        let hidden = self.row_id.is_some() && spec.align_way() == AlignWay::Hidden;
        if spec.limits.blur.is_some() {
            return bad(
                "limits.blur is not available for job = \"rules\", whose measures need the number of common rows: leave it out",
            );
        }
        if hidden && job.density()?.is_some_and(|density| density != Fraction::ONE) {
            return bad(
                "density is not available with alignment = \"hidden\": which rows a party has is a column too, of more ones than items \
                 have. Leave it out, or agree on alignment = \"rows\"",
            );
        }
        if let Some(column) = job.quantiles().filter(|_| hidden) {
            return bad(format!(
                "bins.{}: where a column's quantiles are shows in the common rows, which alignment = \"hidden\" hides: give bounds, as \
                 [18, 40, 65], or agree on alignment = \"rows\"",
                column.escape_debug()
            ));
        }
        aligned::spec::check_alignment(spec, self.row_id.as_ref())
    }

    fn columns(&self, spec: &JobSpec, party: &str) -> Vec<String> {
        let ids = self.row_id.iter().flat_map(|row_id| row_id.all().to_vec());
        ids.chain(self.of(spec).items_of(party).columns()).collect()
    }

    /// Returns the terms without the columns that hold items, which each party chooses for itself.
    fn terms(&self, spec: &JobSpec) -> Vec<(&'static str, Value)> {
        let job = self.of(spec);
        // Job files whose thresholds cannot be read are refused.
        let written = |number: Result<String>| number.unwrap_or_default();
        let mut terms = vec![
            ("min_support", written(job.support().map(|support| support.to_string())).into()),
            ("min_confidence", written(job.confidence().map(|confidence| confidence.to_string())).into()),
            ("consequents", self.consequents.unwrap_or(Consequents::Single).name().into()),
            ("mixed_only", self.mixed_only.unwrap_or(false).into()),
            ("max_candidates", self.max_candidates.unwrap_or(DEFAULT_MAX_CANDIDATES as u64).into()),
            ("max_rules", self.max_rules.unwrap_or(DEFAULT_MAX_RULES as u64).into()),
        ];
        if let Some(max_len) = self.max_len {
            terms.push(("max_len", max_len.into()));
        }
        if let Some(row_id) = &self.row_id {
            terms.push(("row_id", row_id.all().into()));
        }
        if let Some(extension) = &self.extension {
            terms.push(("extension", extension.to_string().into()));
        }
        terms.extend(density::term(job.density()));
        if !self.bins.is_empty() {
            let bins = self.bins.iter().map(|(column, bins)| (column.clone(), json!(bins)));
            terms.push(("bins", Value::Object(bins.collect())));
        }
        terms
    }

    fn can(&self, _spec: &JobSpec, what: Ability) -> Result<()> {
        if what == Ability::Page { Ok(()) } else { Err(what.missing(INFO.name)) }
    }

    fn choose(&self, spec: &JobSpec, sizes: &BTreeMap<String, Sizes>, network: Network) -> Result<Choice> {
        match self.topology(spec) {
            Topology::Mesh => mesh::choose(&self.of(spec), sizes, network),
            _ => choose::choose_rules(&self.of(spec), sizes, network),
        }
    }

    fn allows(&self, spec: &JobSpec, chosen: &Chosen) -> bool {
        let among = self.topology(spec) == Topology::Mesh;
        let made = match (chosen.protocol, chosen.or, chosen.extension) {
            (_, _, Some(Extension::Silent)) => false,
            (ot::PROTOCOL, None, Some(extension)) => match self.extension {
                Some(named) => named == extension,
                // Over many machines, and among more than two, there is no other.
                None => spec.protocol == ot::PROTOCOL || spec.spread.is_some() || among,
            },
            _ if among => false,
            // Where the terms leave both, each level has its own choice.
            (lattice::PROTOCOL, Some(ot::PROTOCOL), Some(_)) => spec.protocol.is_auto() && self.extension.is_none(),
            (named, None, None) => named != ot::PROTOCOL && spec.protocol == named,
            _ => false,
        };
        let aligned = aligned::allows(self.of(spec).alignment().as_ref(), chosen);
        spec.leaves(chosen.protocol) && spec.security == Security::SemiHonest && aligned && made
    }

    fn memory(&self, spec: &JobSpec, me: &str, chosen: &Chosen, sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
        match self.topology(spec) {
            Topology::Mesh => mesh::memory(&self.of(spec), me, sizes),
            _ => memory(&self.of(spec), me, chosen, &sizes[me], &sizes[spec.peer_of(me)]),
        }
    }

    fn cost(
        &self,
        spec: &JobSpec,
        chosen: &Chosen,
        sizes: &BTreeMap<String, Sizes>,
        machine: &Calibration,
    ) -> Result<Cost> {
        match self.topology(spec) {
            Topology::Mesh => mesh::cost(chosen, &self.of(spec), sizes, machine),
            _ => cost::rules_cost(chosen, &self.of(spec), sizes, machine),
        }
    }

    fn learned(&self, spec: &JobSpec, party: &str, known: KnownSizes<'_>) -> Vec<String> {
        learned::rules(&self.of(spec), party, known)
    }

    fn at_a_glance(&self, spec: &JobSpec) -> Vec<Disclosure> {
        learned::at_a_glance(&self.of(spec))
    }

    fn load(
        &self,
        spec: &JobSpec,
        me: &str,
        source: &Source,
        _pool: Option<&PoolPlace>,
    ) -> Result<Box<dyn PartyInput>> {
        let job = self.of(spec);
        match job.bucket().and_then(|bucket| bucket.counts.as_ref()) {
            Some(counts) => Ok(Box::new(distributed::ItemsetCounter::load(&job, me, counts, source)?)),
            None => Ok(Box::new(RulesInput::load(&job, me, source)?)),
        }
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { aligned: Some(self), distributed: Some(self), counts: Some(self), ..Capabilities::default() }
    }
}

impl Aligned for Rules {
    fn row_id(&self) -> Option<&Names> {
        self.row_id.as_ref()
    }

    fn alignment(&self, spec: &JobSpec) -> Option<JobSpec> {
        self.of(spec).alignment().map(|alignment| alignment.ids)
    }
}

impl Distributed for Rules {
    fn in_buckets(&self, spec: &JobSpec) -> Result<JobSpec> {
        distributed::in_buckets(&self.of(spec))
    }

    fn facts(&self, spec: &JobSpec, me: &str, table: &Table) -> Result<Value> {
        distributed::facts(&self.of(spec), me, table)
    }

    fn join_facts(&self, _spec: &JobSpec, me: &str, facts: Vec<Value>) -> Result<Value> {
        distributed::join(me, facts)
    }
}

impl RepeatedCounts for Rules {
    fn partition(&self, spec: &JobSpec, me: &str, source: &Source) -> Result<Answer> {
        distributed::by_position(&self.of(spec), me, source)
    }

    fn levels(&self, spec: &JobSpec, me: &str, gathered: Gathered, channel: &mut Channel) -> Result<Box<dyn Levels>> {
        Ok(Box::new(distributed::Mining::begin(&self.of(spec), me, gathered, channel)?))
    }
}
