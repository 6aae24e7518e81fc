//! The job as an object: its room's answers to what the rest of the program asks.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::{Level, Result, Security};

use super::load::CrosstabInput;
use super::spec::{Crosstab, CrosstabJob};
use super::{cost, learned, mesh, noise, product};
use crate::agreement::CommonKey::{Alignment, Key, MinCell, Noise, PadTo, Scale};
use crate::agreement::cost::{Calibration, Cost};
use crate::agreement::words::{ROW_ID, bad};
use crate::agreement::{
    Ability, Aligned, Answering, Capabilities, Choice, Chosen, Disclosure, InitQuestion, ItemKind, Job, JobInfo,
    JobSpec, KnownSizes, Names, Network, PartyInput, PoolPlace, Protocol, Reveal, Sizes, Source, Topology,
};
use crate::jobs::dot::methods::{lattice, ot};
use crate::jobs::{ParseJob, aligned};

/// Questions that `tacita init` asks.
const QUESTIONS: [InitQuestion; 5] = [
    InitQuestion {
        key: "rows",
        asks: "Columns whose categories are the rows of the table",
        usual: None,
        answer: Answering::Columns,
        means: "columns whose categories are the rows of the table",
    },
    InitQuestion {
        key: "columns",
        asks: "Columns whose categories are the columns of the table",
        usual: None,
        answer: Answering::Columns,
        means: "columns whose categories are the columns of the table",
    },
    InitQuestion {
        key: "measure",
        asks: "What a cell has: count, or sum:COLUMN or mean:COLUMN",
        usual: Some("count"),
        answer: Answering::Word,
        means: "number in a cell: count, sum:COLUMN or mean:COLUMN",
    },
    InitQuestion {
        key: "limits.min_cell",
        asks: "How many rows a cell needs to be shown",
        usual: Some("5"),
        answer: Answering::Word,
        means: "minimum number of rows in a cell that is shown",
    },
    ROW_ID,
];

/// Properties common to all jobs of this kind.
static INFO: JobInfo = JobInfo {
    name: "crosstab",
    about: "how many rows are in each category here and there?",
    questions: &QUESTIONS,
    usual_reveal: &Reveal::Cells,
    reveals: &["cells"],
    keys: &[Alignment, Key, Scale, PadTo, MinCell, Noise],
    items: ItemKind::Rows,
    columns_from: "rows, columns, measure, row_id or key.columns",
    most_parties: mesh::PARTIES,
    ..JobInfo::USUAL
};

impl ParseJob for Crosstab {
    fn all_protocols() -> Vec<Protocol> {
        vec![ot::PROTOCOL, lattice::PROTOCOL]
    }
}

impl Crosstab {
    /// Combines these keys with the job that they belong to.
    fn of<'a>(&'a self, spec: &'a JobSpec) -> CrosstabJob<'a> {
        CrosstabJob { spec, own: self }
    }
}

impl Job for Crosstab {
    fn info(&self) -> &'static JobInfo {
        &INFO
    }

    fn topology<'a>(&self, spec: &'a JobSpec) -> Topology<'a> {
        if mesh::is_of(spec) { Topology::Mesh } else { Topology::Pair }
    }

    fn protocols(&self, spec: &JobSpec) -> Vec<Protocol> {
        if mesh::is_of(spec) { vec![ot::PROTOCOL] } else { Self::all_protocols() }
    }

    fn check_parties(&self, spec: &JobSpec) -> Result<()> {
        if mesh::is_of(spec) { mesh::check(&self.of(spec)) } else { Ok(()) }
    }

    fn check(&self, spec: &JobSpec) -> Result<()> {
        if spec.security == Security::Malicious {
            return bad(
                "security = \"malicious\" is not available for job = \"crosstab\": use \"semi-honest\". A cheating party could \
                 make a cell count what it does not",
            );
        }
        if spec.level != Level::Bits128 {
            return bad(format!("level = \"{}\" is not available for job = \"crosstab\": use \"bits128\"", spec.level));
        }
        if spec.limits.blur.is_some() {
            return bad(
                "limits.blur is not available for job = \"crosstab\", whose comparisons need the number of common rows: leave it out",
            );
        }
        self.of(spec).check_own()?;
        noise::check(&self.of(spec))?;
        aligned::spec::check_alignment(spec, self.row_id.as_ref())
    }

    /// Every party hears which cells close.
    fn tells_all(&self, spec: &JobSpec) -> bool {
        self.of(spec).min_cell() > 0
    }

    fn columns(&self, spec: &JobSpec, _party: &str) -> Vec<String> {
        let ids = self.row_id.iter().flat_map(|row_id| row_id.all().to_vec());
        ids.chain(self.of(spec).used()).collect()
    }

    fn terms(&self, spec: &JobSpec) -> Vec<(&'static str, Value)> {
        let job = self.of(spec);
        let by = job.by();
        let mut terms = vec![
            ("rows", by[..job.row_columns()].into()),
            ("columns", by[job.row_columns()..].into()),
            ("measure", job.measure().to_string().into()),
            ("min_cell", job.min_cell().into()),
        ];
        if let (Some(_), Ok(integers)) = (job.measure().column(), job.integers()) {
            terms.push(("bits", integers.bits().into()));
            terms.push(("signed", integers.signed().into()));
            terms.push(("scale", spec.decimals().into()));
        }
        if let Some(row_id) = &self.row_id {
            terms.push(("row_id", row_id.all().into()));
        }
        if !self.bins.is_empty() {
            terms.push(("bins", json!(self.bins)));
        }
        if !self.categories.is_empty() {
            terms.push(("categories", json!(self.categories)));
        }
        terms
    }

    fn can(&self, _spec: &JobSpec, what: Ability) -> Result<()> {
        if what == Ability::Page { Ok(()) } else { Err(what.missing(INFO.name)) }
    }

    fn choose(&self, spec: &JobSpec, sizes: &BTreeMap<String, Sizes>, network: Network) -> Result<Choice> {
        let job = self.of(spec);
        if mesh::is_of(spec) { mesh::choose(&job, sizes, network) } else { product::choose(&job, sizes, network) }
    }

    fn allows(&self, spec: &JobSpec, chosen: &Chosen) -> bool {
        let made = match (chosen.protocol, chosen.or, chosen.extension) {
            (_, _, Some(Extension::Silent)) => false,
            (ot::PROTOCOL, None, Some(_)) if mesh::is_of(spec) => true,
            _ if mesh::is_of(spec) => false,
            (ot::PROTOCOL, None, Some(_)) if spec.noise.is_some() => true,
            _ if spec.noise.is_some() => false,
            (ot::PROTOCOL, None, Some(_)) => spec.protocol == ot::PROTOCOL,
            (lattice::PROTOCOL, Some(ot::PROTOCOL), Some(_)) => spec.protocol.is_auto(),
            (lattice::PROTOCOL, None, None) => spec.protocol == lattice::PROTOCOL,
            _ => false,
        };
        let aligned = aligned::allows(self.of(spec).alignment().as_ref(), chosen);
        spec.leaves(chosen.protocol) && spec.security == Security::SemiHonest && aligned && made
    }

    fn memory(&self, spec: &JobSpec, me: &str, chosen: &Chosen, sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
        if mesh::is_of(spec) {
            return mesh::memory(&self.of(spec), me, sizes);
        }
        self.of(spec).memory(me, chosen, &sizes[me], &sizes[spec.peer_of(me)])
    }

    fn cost(
        &self,
        spec: &JobSpec,
        chosen: &Chosen,
        sizes: &BTreeMap<String, Sizes>,
        machine: &Calibration,
    ) -> Result<Cost> {
        let job = self.of(spec);
        if mesh::is_of(spec) {
            return mesh::cost(chosen, &job, sizes, machine);
        }
        cost::crosstab_cost(chosen, &job, sizes, machine)
    }

    fn learned(&self, spec: &JobSpec, party: &str, known: KnownSizes<'_>) -> Vec<String> {
        learned::crosstab(&self.of(spec), party, known)
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
        Ok(Box::new(CrosstabInput::load(&self.of(spec), me, source)?))
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { aligned: Some(self), ..Capabilities::default() }
    }
}

impl Aligned for Crosstab {
    fn row_id(&self) -> Option<&Names> {
        self.row_id.as_ref()
    }

    fn alignment(&self, spec: &JobSpec) -> Option<JobSpec> {
        self.of(spec).alignment().map(|alignment| alignment.ids)
    }
}
