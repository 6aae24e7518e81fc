//! Claims of participants' batches, each the proxy's who claimed it first.

use std::collections::HashSet;

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::fault::Fault;
use crate::wire::batch::ClaimId;

/// Claims batches of a round: whether each is the owner's or one of `handed`'s, or nothing if it is sealed.
///
/// Until this ends the round stays, and is not sealed if it is not yet. Of the two statements that follow, the second
/// sees what others have committed since the first began, whom that has waited for. All insert in one order, so that no
/// two wait for each other.
pub(super) async fn claim(
    client: &mut Client,
    round: i64,
    owner: u32,
    handed: &[u32],
    claims: &[ClaimId],
) -> Result<Option<Vec<bool>>, Fault> {
    let (owner, names) = (i64::from(owner), claims.iter().map(|claim| &claim[..]).collect::<Vec<_>>());
    let all: Vec<i64> = handed.iter().map(|other| i64::from(*other)).chain([owner]).collect();
    let transaction = client.transaction().await?;
    let sealed = transaction
        .query_typed_opt("SELECT sealed FROM rounds WHERE id = $1 FOR SHARE", &[(&round, Type::INT8)])
        .await?
        .ok_or_else(|| Fault::Again("the round was removed meanwhile".into()))?;
    if sealed.try_get(0)? {
        return Ok(None);
    }
    transaction
        .execute_typed(
            "INSERT INTO claims (round, claim, owner) SELECT $1, name, $2 FROM unnest($3) AS name ORDER BY name ON CONFLICT DO NOTHING",
            &[(&round, Type::INT8), (&owner, Type::INT8), (&names, Type::BYTEA_ARRAY)],
        )
        .await?;
    let found = transaction
        .query_typed(
            "SELECT claim FROM claims WHERE round = $1 AND owner = ANY ($2) AND claim = ANY ($3)",
            &[(&round, Type::INT8), (&all, Type::INT8_ARRAY), (&names, Type::BYTEA_ARRAY)],
        )
        .await?;
    transaction.commit().await?;
    let own: HashSet<&[u8]> = found.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    Ok(Some(names.iter().map(|name| own.contains(name)).collect()))
}
