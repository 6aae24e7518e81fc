//! `tacita._tacita`: the library under the Python package in `python/tacita`, which gives it its words, types and
//! documentation.
//!
//! Nothing is kept here that is not asked for: work is done on threads of its own with the interpreter released
//! (`work`), tables come and go through the Arrow PyCapsule interface (`arrow`), and errors become the package's
//! exceptions (`errors`).

mod arrow;
mod data;
mod distributed;
mod doctor;
mod errors;
mod govern;
mod identity;
mod inspect;
mod levels;
mod log;
mod outcome;
mod plan;
mod round;
mod run;
mod simulate;
mod spec;
mod stream;
mod words;
mod work;

use pyo3::prelude::*;

/// The extension module of the Python package.
#[pymodule(gil_used = true)]
mod _tacita {
    #[pymodule_export]
    use super::arrow::ArrowTable;
    #[pymodule_export]
    use super::distributed::{
        Commitment, Drivers, RunAccount, Work, bucket_bound, bucket_range, buckets_for, can_spread, match_pool,
        open_pool, read_block, scatter, usual_buckets,
    };
    #[pymodule_export]
    use super::doctor::doctor;
    #[pymodule_export]
    use super::govern::{ledger_entries, ledger_export, ledger_verify, policy_check, policy_explain};
    #[pymodule_export]
    use super::identity::Identity;
    #[pymodule_export]
    use super::inspect::inspect;
    #[pymodule_export]
    use super::levels::{check_file, count_itemsets, join_facts, partition};
    #[pymodule_export]
    use super::outcome::Outcome;
    #[pymodule_export]
    use super::plan::plan;
    #[pymodule_export]
    use super::round::{results, submit};
    #[pymodule_export]
    use super::run::{Canceller, run};
    #[pymodule_export]
    use super::simulate::simulate;
    #[pymodule_export]
    use super::spec::Spec;

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        tacita_node::base::kernels::choose();
        log::install();
        Ok(())
    }
}
