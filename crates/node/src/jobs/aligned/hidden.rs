//! Hidden alignment: see `tacita_core::protocol::align`.

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::protocol::align::{self, Params};
use tacita_core::{Result, Side};

use super::{AlignedRows, RowAlignment};
use crate::agreement::cost::{CLOSE_BYTES, Calibration, Cost, RoleCost};
use crate::agreement::handshake::HandshakeResult;
use crate::agreement::{JobSpec, Sizes};
use crate::base::text::{count, counted};
use crate::jobs::intersect::Loaded;
use crate::jobs::intersect::methods::vole;

/// Memory of an item, of its place, and of that of its row.
const ITEM_BYTES: u64 = 32 + 4 + 8;

/// The side of a party: the first of the job file is the first.
fn side(job: &JobSpec, party: &str) -> Side {
    if job.parties.position(party) == Some(0) { Side::First } else { Side::Second }
}

fn params(alignment: &RowAlignment, me: &str, own: &Sizes, theirs: &Sizes) -> Params {
    let (first, second) = if side(&alignment.ids, me) == Side::First { (own, theirs) } else { (theirs, own) };
    let dummies = alignment.blur.map_or(0, |blur| blur.items());
    Params::new((first.items + dummies) as usize, (second.items + dummies) as usize)
}

/// Aligns the rows of a table with those of the peer, in a common order.
pub(super) fn run(
    alignment: &RowAlignment,
    me: &str,
    ids: &Loaded,
    agreed: &HandshakeResult,
    channel: &mut Channel,
    rng: &mut ChaCha20Rng,
) -> Result<AlignedRows> {
    let (side, params) = (side(&alignment.ids, me), params(alignment, me, &agreed.own_sizes, &agreed.peer_sizes));
    let mut items = ids.items(&agreed.session.derive("item"));
    let blurred = alignment.blur.map(|blur| (blur, blur.dummies_of(side, &agreed.session, rng)));
    items.extend(blurred.iter().flat_map(|(_, (dummies, _))| dummies));
    let aligned = align::run(side, &items, &agreed.session, &params, channel, rng)?;
    let common = blurred.map_or(aligned.common(), |(blur, (_, brought))| blur.estimate(aligned.common(), brought));
    tracing::info!(
        "aligned by ids: products go over {}, of which {}{} are common",
        counted(aligned.rows() as u64, "row"),
        if alignment.blur.is_some() { "about " } else { "" },
        count(common as u64)
    );
    // Each id has one row.
    let rows = (0..ids.keys().len()).map(|key| ids.keys().rows(key).first().copied());
    let places = rows.zip(aligned.positions().iter().copied()).filter_map(|(row, place)| Some((row?, place)));
    Ok(AlignedRows::hidden(ids.table().rows(), aligned.rows(), common, places))
}

/// Memory besides the tables, in bytes, an estimate from above.
pub(super) fn memory(alignment: &RowAlignment, me: &str, own: &Sizes, theirs: &Sizes) -> u64 {
    params(alignment, me, own, theirs)
        .memory(side(&alignment.ids, me))
        .saturating_add(own.items.saturating_mul(ITEM_BYTES))
}

/// Cost to both parties, without the closing frame, if no row is common.
pub(super) fn cost(alignment: &RowAlignment, sizes: [(&str, &Sizes); 2], machine: &Calibration) -> Result<Cost> {
    let [(first, of_first), (_, of_second)] = sizes;
    let params = params(alignment, first, of_first, of_second);
    let both = (params.first_items + params.second_items) as f64;
    let dummies = alignment.blur.map_or(0, |blur| blur.items());
    let role = |name: &str, side: Side, own: &Sizes, theirs: &Sizes| -> Result<(String, RoleCost)> {
        let items = |sizes: &Sizes| (sizes.items + dummies) as f64;
        let functions = vole::cpu_of_both(items(own), items(theirs), machine);
        let cpu = functions + machine.ecdh_pass * both;
        Ok((
            name.to_owned(),
            RoleCost { cpu, bytes: params.bytes_sent_by(side, 0)? - CLOSE_BYTES, ..RoleCost::default() },
        ))
    };
    let [(first, of_first), (second, of_second)] = sizes;
    let roles =
        [role(first, Side::First, of_first, of_second)?, role(second, Side::Second, of_second, of_first)?].into();
    Ok(Cost { roles, rounds: params.rounds()?, ..Cost::default() })
}
