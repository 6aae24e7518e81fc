//! The job as an object: its room's answers to what the rest of the program asks.

use std::collections::BTreeMap;

use serde_json::Value;
use tacita_core::channel::Channel;
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::{Result, Security};
use zeroize::Zeroizing;

use super::methods::{self, ProtocolKeys};
use super::spec::{ColumnNames, Dot, DotJob};
use super::{DotInput, density, distributed, learned, mesh, noise};
use crate::agreement::CommonKey::{Alignment, Key, MinResult, Noise, PadTo, Roles, Scale};
use crate::agreement::check::MAX_COLUMNS;
use crate::agreement::cost::{Calibration, Cost};
use crate::agreement::words::{ROW_ID, bad, check_distinct};
use crate::agreement::written::take_exact;
use crate::agreement::{
    Ability, Aligned, Answer, Answering, BucketSums, Capabilities, Choice, Chosen, Disclosure, Distributed,
    InitQuestion, ItemKind, Job, JobInfo, JobSpec, KnownSizes, Names, Network, PartyInput, PoolPlace, Protocol, Reveal,
    Sizes, Source, Topology,
};
use crate::jobs::{ParseJob, aligned};
use crate::table::Table;

/// Questions that `tacita init` asks.
const QUESTIONS: [InitQuestion; 3] = [
    InitQuestion {
        key: "column",
        asks: "Columns of numbers that are multiplied",
        usual: Some("value"),
        answer: Answering::Columns,
        means: "the column of each party; several make a matrix",
    },
    InitQuestion {
        key: "bits",
        asks: "Length of the numbers in bits: 1 for zeros and ones, up to 32",
        usual: Some("1"),
        answer: Answering::Word,
        means: "length of the numbers, 1 to 32",
    },
    ROW_ID,
];

/// Properties common to all jobs of this kind.
static INFO: JobInfo = JobInfo {
    name: "dot",
    about: "what do numbers here, times numbers there, add up to over all rows?",
    questions: &QUESTIONS,
    usual_reveal: &Reveal::Value,
    reveals: &["value", "shares"],
    keys: &[Alignment, Key, Roles, Scale, PadTo, MinResult, Noise],
    items: ItemKind::Rows,
    columns_from: "column, row_id or key.columns",
    most_parties: mesh::MAX_PARTIES,
    ..JobInfo::USUAL
};

impl ParseJob for Dot {
    fn all_protocols() -> Vec<Protocol> {
        methods::all().map(|method| method.protocol()).collect()
    }

    fn take_exact(&mut self, text: &str, is_json: bool) {
        take_exact(text, is_json, &mut [("density", &mut self.density)]);
    }
}

impl Dot {
    /// Combines these keys with the job that they belong to.
    fn of<'a>(&'a self, spec: &'a JobSpec) -> DotJob<'a> {
        DotJob { spec, own: self }
    }
}

impl Job for Dot {
    fn info(&self) -> &'static JobInfo {
        &INFO
    }

    fn topology<'a>(&self, spec: &'a JobSpec) -> Topology<'a> {
        match spec.clients() {
            Some(clients) => Topology::Clients(clients),
            None if spec.parties.0.len() > 2 => Topology::Mesh,
            None => Topology::Pair,
        }
    }

    fn protocols(&self, spec: &JobSpec) -> Vec<Protocol> {
        methods::of(spec).protocols()
    }

    fn warnings(&self, spec: &JobSpec) -> Vec<String> {
        learned::warning(&self.of(spec)).into_iter().collect()
    }

    fn check_parties(&self, spec: &JobSpec) -> Result<()> {
        match (spec.has_roles(), spec.parties.0.len()) {
            (true, _) => self.of(spec).check_clients(),
            (false, 3..) => self.of(spec).check_mesh(),
            (false, _) => Ok(()),
        }
    }

    fn check(&self, spec: &JobSpec) -> Result<()> {
        let job = self.of(spec);
        if spec.security == Security::Malicious {
            return bad(
                "security = \"malicious\" is not available for job = \"dot\": use \"semi-honest\". A cheating party could use \
                 numbers out of range to read the peer's",
            );
        }
        let keys = ProtocolKeys {
            extension: self.extension,
            density: self.density.as_ref(),
            chunk: self.chunk,
            row_id: self.row_id.as_ref(),
            numbers: (job.integers()?, spec.decimals()),
        };
        methods::check(spec, &keys)?;
        spec.check_scale()?;
        noise::check(&job)?;
        if spec.reveal == Reveal::Shares && spec.limits.min_result.is_some() {
            return bad("limits.min_result: shares have no value yet; put the limit into the job that opens them");
        }
        if let Some(name) = spec.parties.names().into_iter().find(|name| ["value", "input", "at_least"].contains(name))
        {
            return bad(format!("parties: \"{name}\" is a column of the result: give the party another name"));
        }
        if let Some(ColumnNames::ByParty(parties)) = &self.column {
            parties.keys().try_for_each(|name| spec.known_party("column", name))?;
        }
        for name in spec.parties.names() {
            let columns = job.columns_of(name);
            if columns.is_empty() || columns.len() > MAX_COLUMNS {
                return bad(format!("column: name 1 to {MAX_COLUMNS} columns of {name}"));
            }
            check_distinct("column", &columns)?;
        }
        aligned::spec::check_alignment(spec, self.row_id.as_ref())
    }

    fn columns(&self, spec: &JobSpec, party: &str) -> Vec<String> {
        let ids = self.row_id.iter().flat_map(|row_id| row_id.all().to_vec());
        ids.chain(self.of(spec).columns_of(party)).collect()
    }

    fn terms(&self, spec: &JobSpec) -> Vec<(&'static str, Value)> {
        let job = self.of(spec);
        let columns = spec.parties.names().into_iter().map(|name| (name.to_owned(), job.columns_of(name).into()));
        let mut terms = vec![
            ("column", Value::Object(columns.collect())),
            ("bits", self.bits.unwrap_or(1).into()),
            ("signed", self.signed.unwrap_or(false).into()),
            ("scale", spec.decimals().into()),
        ];
        if let Some(row_id) = &self.row_id {
            terms.push(("row_id", row_id.all().into()));
        }
        if let Some(modulus) = &self.modulus {
            terms.push(("modulus", modulus.to_string().into()));
        }
        if let Some(extension) = &self.extension {
            terms.push(("extension", extension.to_string().into()));
        }
        if let Some(chunk) = self.chunk {
            terms.push(("chunk", chunk.into()));
        }
        terms.extend(density::term(job.density()));
        terms
    }

    fn can(&self, spec: &JobSpec, what: Ability) -> Result<()> {
        let pooled = what == Ability::Pool && self.topology(spec) != Topology::Mesh;
        if pooled { Ok(()) } else { Err(what.missing(INFO.name)) }
    }

    fn choose(&self, spec: &JobSpec, sizes: &BTreeMap<String, Sizes>, network: Network) -> Result<Choice> {
        methods::of(spec).choose(&self.of(spec), sizes, network)
    }

    fn allows(&self, spec: &JobSpec, chosen: &Chosen) -> bool {
        let job = self.of(spec);
        let made = methods::named(chosen.protocol).is_some_and(|method| {
            let open = spec.protocol == chosen.protocol || !method.is_published();
            let noisy = spec.noise.is_none() || method.adds_noise();
            open && noisy && chosen.or.is_none() && method.allows(&job, chosen.extension)
        });
        let aligned = aligned::allows(job.alignment().as_ref(), chosen);
        let among = self.topology(spec) != Topology::Mesh || matches!(chosen.extension, Some(Extension::SoftSpoken(_)));
        spec.leaves(chosen.protocol) && spec.security == Security::SemiHonest && aligned && made && among
    }

    fn memory(&self, spec: &JobSpec, me: &str, chosen: &Chosen, sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
        methods::of(spec).memory(&self.of(spec), me, chosen, sizes)
    }

    fn cost(
        &self,
        spec: &JobSpec,
        chosen: &Chosen,
        sizes: &BTreeMap<String, Sizes>,
        machine: &Calibration,
    ) -> Result<Cost> {
        methods::of(spec).cost(&self.of(spec), chosen, sizes, machine)
    }

    fn learned(&self, spec: &JobSpec, party: &str, known: KnownSizes<'_>) -> Vec<String> {
        methods::of(spec).learned(&self.of(spec), party, known)
    }

    fn at_a_glance(&self, spec: &JobSpec) -> Vec<Disclosure> {
        methods::of(spec).at_a_glance(&self.of(spec))
    }

    fn load(&self, spec: &JobSpec, me: &str, source: &Source, pool: Option<&PoolPlace>) -> Result<Box<dyn PartyInput>> {
        Ok(Box::new(DotInput::load(&self.of(spec), me, source, pool)?))
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { aligned: Some(self), distributed: Some(self), sums: Some(self), ..Capabilities::default() }
    }
}

impl Aligned for Dot {
    fn row_id(&self) -> Option<&Names> {
        self.row_id.as_ref()
    }

    fn alignment(&self, spec: &JobSpec) -> Option<JobSpec> {
        self.of(spec).alignment().map(|alignment| alignment.ids)
    }
}

impl Distributed for Dot {
    fn in_buckets(&self, spec: &JobSpec) -> Result<JobSpec> {
        distributed::in_buckets(&self.of(spec))
    }

    fn facts(&self, spec: &JobSpec, me: &str, table: &Table) -> Result<Value> {
        distributed::look(&self.of(spec), me, table).map(|()| Value::Null)
    }
}

impl BucketSums for Dot {
    fn add_up(
        &self,
        spec: &JobSpec,
        me: &str,
        shares: &[Zeroizing<String>],
        channel: &mut Channel,
        opens: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<Answer> {
        distributed::add_up(&self.of(spec), me, shares, channel, opens)
    }
}
