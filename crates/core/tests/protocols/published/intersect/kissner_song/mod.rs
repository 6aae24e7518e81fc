//! `kissner-song`.

mod hostile;
mod results;

use tacita_core::Result;
use tacita_core::channel::Traffic;
use tacita_core::primitive::group::Group;
use tacita_core::protocol::published::intersect::kissner_song::{KissnerSongParty, Params, run};

use crate::support::many::{Wire, run_parties};
use crate::support::{items, rng, session};

/// Output of a party's run, and the traffic of its links after a good end.
type Ended = Result<(Option<Vec<usize>>, Vec<Traffic>)>;

/// Runs parties with sets of these numbers over these wires: how each ended.
fn run_over<G: Group + Sync>(group: &G, sets: &[Vec<usize>], params: &Params, wire: Wire<'_>) -> Vec<Ended> {
    let session = session();
    run_parties(sets.len(), wire, |me, channels| {
        let items = items(sets[me].iter().copied());
        let party = KissnerSongParty { me, items: &items, params, session: &session };
        run(group, party, channels, &mut rng(me as u8 + 1))
    })
}

/// Returns the result that the party at `me` should learn.
fn expected(sets: &[Vec<usize>], params: &Params, me: usize) -> Option<Vec<usize>> {
    let common = |&index: &usize| sets.iter().all(|set| set.contains(&sets[me][index]));
    params.learners.contains(&me).then(|| (0..sets[me].len()).filter(common).collect())
}
