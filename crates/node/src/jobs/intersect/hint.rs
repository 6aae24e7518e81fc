//! Hints for users whose two tables have no key in common.

use std::collections::BTreeMap;

use super::load::Loaded;
use crate::agreement::JobSpec;
use crate::base::text::{names, shape};
use crate::table::key::parts;
use crate::watch::{WITH_VALUES, WITHOUT_VALUES};

/// Maximum number of keys that are examined.
const LOOKED_AT: usize = 1000;

/// Warns a party whose keys have none in common with the peer's, although both have some: how its own keys look, as the
/// job reads them, without their digits and letters.
pub(crate) fn warn_of_nothing(job: &JobSpec, me: &str, loaded: &Loaded) {
    if job.bucket().is_some() {
        // Of a few rows of many, that is usual.
        return;
    }
    let Ok(spec) = job.key_spec(me, true) else { return };
    let mut shapes: Vec<BTreeMap<String, usize>> = vec![BTreeMap::new(); spec.columns.len()];
    for key in loaded.keys().iter().take(LOOKED_AT) {
        for (shapes, part) in shapes.iter_mut().zip(parts(key)) {
            *shapes.entry(shape(&String::from_utf8_lossy(part))).or_default() += 1;
        }
    }
    let looks = spec.columns.iter().zip(shapes).filter_map(|(column, shapes)| {
        let (shape, _) = shapes.into_iter().max_by_key(|(_, keys)| *keys)?;
        Some(format!("{} ({}) mostly like {shape:?}", column.name, column.profile))
    });
    let others = job.others(me);
    let peer = names(&others);
    let alike = match others.len() {
        1 => format!("Does {peer} write its keys as this party does?"),
        _ => format!("Do {peer} write their keys as this party does, and has each of them some?"),
    };
    // A short key of signs alone is its own shape.
    tracing::warn!(target: WITHOUT_VALUES, "no key is common: compare with {peer} how keys are written, and see [key] normalize");
    tracing::warn!(
        target: WITH_VALUES,
        "no key is common. {alike} Here they are, as the job reads them, {}: compare that \
         with {peer}, and see [key] normalize",
        looks.collect::<Vec<_>>().join(", ")
    );
}
