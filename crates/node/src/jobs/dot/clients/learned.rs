//! Sentences on what each party of a job with clients learns.

use crate::agreement::{Clients, Disclosure, Slices};
use crate::base::text::count;
use crate::jobs::dot::learned::ZEROS;
use crate::jobs::dot::spec::DotJob;
use crate::jobs::learned::filtered;

/// Returns sentences on what `party` learns, with the numbers that it knows.
pub fn learned(job: &DotJob<'_>, roles: &Clients<'_>, party: &str, rows: Option<&Slices>) -> Vec<String> {
    match roles.place(party) {
        None => of_server(roles, party, rows),
        Some(place) => of_client(job, roles, party, place, rows),
    }
}

/// Returns the summary of who learns what, one entry for each result.
pub fn at_a_glance(job: &DotJob<'_>, roles: &Clients<'_>) -> Vec<Disclosure> {
    let is_server = |name: &str| name == roles.server;
    // Of two clients, each knows what is not its own.
    let two = roles.clients.len() == 2;
    vec![
        Disclosure::new(job, "the sum of the products over all clients' rows", |name| !is_server(name)),
        Disclosure::new(job, "how many rows each client has", |name| two || is_server(name)),
        Disclosure::given(job, roles.server, "how many rows the server has".into(), |_| true),
    ]
}

fn of_server(roles: &Clients<'_>, party: &str, rows: Option<&Slices>) -> Vec<String> {
    let each = |(name, rows): (&&str, &Option<u64>)| rows.map(|rows| format!("{name} {}", count(rows)));
    let each: Option<Vec<_>> = rows.and_then(|rows| roles.clients.iter().zip(&rows.slices).map(each).collect());
    let each = each.map_or(String::new(), |each| format!(" ({})", each.join(", ")));
    vec![
        format!("{party} learns no product{ZEROS}."),
        format!("{party} gets the clients' numbers encrypted, each client's under a key of its own."),
        format!("{party} learns how many rows each client has{each}, and which version it runs."),
        format!("{party} learns nothing else about the clients' data, as long as all follow the protocol."),
    ]
}

fn of_client(job: &DotJob<'_>, roles: &Clients<'_>, party: &str, place: usize, rows: Option<&Slices>) -> Vec<String> {
    let server = roles.server;
    let [(_, own), (_, theirs)] = job.sides();
    let mut learned = vec![match (own.len(), theirs.len()) {
        (1, 1) => format!("{party} learns the sum over all clients' rows of their number times {server}'s."),
        (one, other) => format!(
            "{party} learns {} sums of products over all clients' rows, one for each pair of a column of the clients and one of \
             {server}'s.",
            count(one as u64 * other as u64)
        ),
    }];
    learned.push(format!("{party} is not told a sum over one client's rows alone, its own included."));
    learned.push("A client without rows, or with zeros alone, adds 0: the sum is that of the others.".into());
    learned.push(format!("{party} can learn the sum of one client alone if all the others add 0."));
    learned.push(format!(
        "{party} can learn single numbers of {server}'s if the clients' numbers allow it. An example is the number in one row, if the \
         clients' number there is the only one that is not 0. Nothing checks what numbers a party brings."
    ));
    learned.extend(filtered(job, party, "value"));
    let all = rows.map_or(String::new(), |rows| format!(" ({})", count(rows.all)));
    let other = match &roles.clients[..] {
        [one, other] => format!(", and so how many {} has", if place == 0 { other } else { one }),
        _ => String::new(),
    };
    learned.push(format!("{party} learns how many rows {server} has{all}: as many as all clients together{other}."));
    let neighbours: Vec<_> = roles.neighbours(place).into_iter().flatten().collect();
    learned.push(format!("{party} learns which versions {server} and {} run.", neighbours.join(" and ")));
    let (before, after) = (&roles.clients[..place], &roles.clients[place + 1..]);
    let groups = [before, &roles.clients[place..=place], after].into_iter().filter(|group| !group.is_empty());
    let groups: Vec<_> = groups.map(|group| format!("over the rows of {}", group.join(" and "))).collect();
    learned.push(format!(
        "{party} and {server} can learn parts of the sum, each by itself, if they pool what they have. These are the sums {}.",
        groups.join(", ")
    ));
    learned.push(format!("{party} learns nothing else about the others' data, as long as all follow the protocol."));
    learned
}
