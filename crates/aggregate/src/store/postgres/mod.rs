//! Rounds in a PostgreSQL server: a table for the reports of each, and four for batches, claims, records and rounds
//! (`schema.rs`).
//!
//! The reports of a batch and its row in `batches` are one transaction, whose key is the batch's name in its round: of
//! two who bring the same batch at once, the second waits for the first. What is broken off is done again, and finds
//! what it had done. While reports come, their table has no index; before it is read, it is put into the order of its
//! rows, which is then the order on the server's disk as well. A round is removed by dropping its table, which no other
//! round's wait for.

use tacita_node::base::random::fill_random;

mod claim;
mod fault;
mod ingest;
mod place;
mod pool;
mod read;
mod record;
mod schema;
#[cfg(test)]
pub(super) mod server;
#[cfg(test)]
mod tests;
mod tls;

use std::collections::BTreeMap;
use std::time::Duration;

use tacita_core::Result;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use self::fault::Fault;
use self::place::Place;
pub(super) use self::place::SCHEMES;
use self::pool::Pool;
use self::record::Change;
use super::rows::group;
use super::{BatchOrigin, GroupVisitor, Holder, Ingested, NO_PROXY, OpenedReport, RowId, Storage, Stored, Totals};
use crate::wire::batch::{BatchId, ClaimId};

const ATTEMPT_BYTES: usize = 16;

/// Rounds in a schema of a PostgreSQL database. Several may be open at once, in several processes.
pub struct Postgres {
    pool: Pool,
}

impl Postgres {
    /// Connects to the server that a URL names, and makes the tables or brings them to this version.
    ///
    /// Errors ([`tacita_core::Error::Input`]): the URL cannot be read, the server does not answer, lets nobody in or
    /// lacks a right; the tables are of a newer version.
    pub fn open(url: &str) -> Result<Postgres> {
        let pool = Pool::new(Place::of(url)?)?;
        pool.run(async |client| schema::migrate(client, &pool.place().schema).await)?;
        Ok(Postgres { pool })
    }

    fn change_as(&self, attempt: &[u8], change: &Change<'_>) -> Result<bool> {
        self.pool.run(async |client| change.make(client, attempt).await)
    }
}

impl Storage for Postgres {
    fn is_shared(&self) -> bool {
        true
    }

    fn ingest_from(
        &self,
        origin: BatchOrigin,
        round: &str,
        batch: &BatchId,
        rows: &[OpenedReport],
    ) -> Result<Ingested> {
        let (batch, key) = (ingest::Batch::new(origin, batch, rows)?, key(round));
        self.pool.run(async |client| {
            if let Some(ingested) = batch.ingest(client, &key).await? {
                return Ok(ingested);
            }
            create(client, round).await?;
            let ingested = batch.ingest(client, &key).await?;
            ingested.ok_or_else(|| Fault::Again("the round was removed meanwhile".into()))
        })
    }

    fn groups(&self, round: &str, after: Option<&RowId>, each: &mut GroupVisitor<'_>) -> Result<()> {
        let Some(id) = self.ordered(round)? else { return Ok(()) };
        let mut lease = self.pool.wait(self.pool.lease())?;
        let transaction = self.pool.wait(lease.client.build_transaction().read_only(true).start())?;
        let reports = self.pool.wait(read::Reports::of(&self.pool, &transaction, id, after))?;
        group(reports, each)?;
        self.pool.wait(transaction.rollback())?;
        self.pool.give_back(lease);
        Ok(())
    }

    fn entries(&self, round: &str, row: &RowId, limit: usize) -> Result<Option<Vec<Stored>>> {
        let Some(id) = self.ordered(round)? else { return Ok(Some(Vec::new())) };
        self.pool.run(async |client| read::entries(client, id, row, limit).await)
    }

    fn claim(&self, round: &str, owner: u32, handed: &[u32], claims: &[ClaimId]) -> Result<Option<Vec<bool>>> {
        self.pool.run(async |client| {
            let id = find_or_create(client, round).await?;
            claim::claim(client, id, owner, handed, claims).await
        })
    }

    fn totals(&self, round: &str) -> Result<Totals> {
        self.pool.run(async |client| {
            let sums = client
                .query_typed_one(
                    "SELECT count(*), coalesce(sum(reports), 0)::bigint, coalesce(sum(dropped), 0)::bigint FROM batches JOIN rounds ON round = id WHERE key = $1",
                    &[(&key(round), Type::BYTEA)],
                )
                .await?;
            let number = |place| u64::try_from(sums.try_get::<_, i64>(place)?).map_err(|_| Fault::damaged("a count is below 0"));
            Ok(Totals { batches: number(0)?, reports: number(1)?, dropped: number(2)? })
        })
    }

    fn sent(&self, round: &str) -> Result<BTreeMap<u32, u64>> {
        self.pool.run(async |client| {
            let sums = client
                .query_typed(
                    "SELECT proxy, sum(reports + dropped)::bigint FROM batches JOIN rounds ON round = id WHERE key = $1 AND proxy <> $2 GROUP BY proxy",
                    &[(&key(round), Type::BYTEA), (&i64::from(NO_PROXY), Type::INT8)],
                )
                .await?;
            let damaged = || Fault::damaged("a proxy's place or number of entries is none");
            let of_proxy = |sum: &tokio_postgres::Row| -> std::result::Result<(u32, u64), Fault> {
                let (proxy, entries): (i64, i64) = (sum.try_get(0)?, sum.try_get(1)?);
                Ok((u32::try_from(proxy).map_err(|_| damaged())?, u64::try_from(entries).map_err(|_| damaged())?))
            };
            sums.iter().map(of_proxy).collect()
        })
    }

    fn seal(&self, round: &str) -> Result<()> {
        self.pool.run(async |client| {
            let id = find_or_create(client, round).await?;
            // Batches that are going in are waited for.
            let sealed =
                client.execute_typed("UPDATE rounds SET sealed = true WHERE id = $1", &[(&id, Type::INT8)]).await?;
            match sealed {
                0 => Err(Fault::Again("the round was removed meanwhile".into())),
                _ => Ok(()),
            }
        })
    }

    fn put(&self, round: &str, name: &str, value: &[u8]) -> Result<()> {
        self.pool.run(async |client| {
            let id = find_or_create(client, round).await?;
            record::put(client, id, name, value).await
        })
    }

    fn get(&self, round: &str, name: &str) -> Result<Option<Vec<u8>>> {
        self.pool.run(async |client| {
            let found = client
                .query_typed_opt(
                    "SELECT value FROM records JOIN rounds ON round = id WHERE key = $1 AND records.name = $2",
                    &[(&key(round), Type::BYTEA), (&name.as_bytes(), Type::BYTEA)],
                )
                .await?;
            Ok(found.map(|found| found.try_get(0)).transpose()?)
        })
    }

    fn change(
        &self,
        round: &str,
        name: &str,
        expected: Option<&[u8]>,
        new: &[u8],
        beside: &[(&str, &[u8])],
    ) -> Result<bool> {
        self.change_as(&attempt()?, &Change { round, name, expected, new, beside })
    }

    fn versions(&self, name: &str) -> Result<Vec<(String, Vec<u8>)>> {
        self.pool.run(async |client| {
            let found = client
                .query_typed(
                    "SELECT rounds.name, sha256(value) FROM records JOIN rounds ON round = id WHERE records.name = $1",
                    &[(&name.as_bytes(), Type::BYTEA)],
                )
                .await?;
            found.iter().map(|found| Ok((round_name(found)?, found.try_get(1)?))).collect()
        })
    }

    fn rounds(&self) -> Result<Vec<String>> {
        self.pool.run(async |client| {
            let found = client.query_typed("SELECT name FROM rounds ORDER BY name", &[]).await?;
            found.iter().map(round_name).collect()
        })
    }

    fn remove(&self, round: &str) -> Result<()> {
        self.pool.run(async |client| {
            let Some(id) = find(client, round).await? else { return Ok(()) };
            let transaction = client.transaction().await?;
            // Batches, claims and records go with it. Who brings a batch of it waits here, and then makes the round
            // anew.
            transaction.execute_typed("DELETE FROM rounds WHERE id = $1", &[(&id, Type::INT8)]).await?;
            transaction.batch_execute(&format!("DROP TABLE IF EXISTS {}", schema::reports(id))).await?;
            Ok(transaction.commit().await?)
        })
    }

    fn clear(&self, round: &str, name: &str, value: &[u8]) -> Result<()> {
        self.pool.run(async |client| {
            let id = find_or_create(client, round).await?;
            let transaction = client.transaction().await?;
            // First the seal: who brings a batch of it waits here, and finds it sealed.
            let sealed = transaction
                .query_typed_opt("UPDATE rounds SET sealed = true WHERE id = $1 RETURNING parts", &[(&id, Type::INT8)])
                .await?;
            let Some(sealed) = sealed else { return Err(Fault::Again("the round was removed meanwhile".into())) };
            record::put(&transaction, id, name, value).await?;
            transaction
                .execute_typed(
                    "DELETE FROM records WHERE round = $1 AND name <> $2",
                    &[(&id, Type::INT8), (&name.as_bytes(), Type::BYTEA)],
                )
                .await?;
            for table in ["batches", "claims"] {
                transaction
                    .execute_typed(&format!("DELETE FROM {table} WHERE round = $1"), &[(&id, Type::INT8)])
                    .await?;
            }
            transaction.batch_execute(&format!("TRUNCATE {}", schema::reports(id))).await?;
            for part in schema::parts(id, sealed.try_get(0)?) {
                transaction.batch_execute(&format!("DROP INDEX IF EXISTS {part}_order")).await?;
            }
            Ok(transaction.commit().await?)
        })
    }

    fn lease(&self, name: &str, holder: &Holder, time: Duration) -> Result<bool> {
        self.pool.run(async |client| {
            let held = client
                .execute_typed(
                    "INSERT INTO leases (name, holder, ends) VALUES ($1, $2, clock_timestamp() + $3 * interval '1 second')
                     ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, ends = excluded.ends
                     WHERE leases.holder = excluded.holder OR leases.ends < clock_timestamp()",
                    &[
                        (&name.as_bytes(), Type::BYTEA),
                        (&&holder[..], Type::BYTEA),
                        (&time.as_secs_f64(), Type::FLOAT8),
                    ],
                )
                .await?;
            Ok(held == 1)
        })
    }
}

impl Postgres {
    /// The number of a round, if it is there, whose reports have been put into their order.
    fn ordered(&self, round: &str) -> Result<Option<i64>> {
        // However many there are: what the server does about a connection that is lost ends this.
        self.pool.run_within(None, async |client| {
            let Some(id) = find(client, round).await? else { return Ok(None) };
            read::put_in_order(client, id).await?;
            Ok(Some(id))
        })
    }
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.pool.place().fmt(f)
    }
}

/// Computes the key by which a round is found: names may be of any length, and hold anything.
fn key(round: &str) -> Vec<u8> {
    blake3::hash(round.as_bytes()).as_bytes().to_vec()
}

async fn find(client: &Client, round: &str) -> std::result::Result<Option<i64>, Fault> {
    let found = client.query_typed_opt("SELECT id FROM rounds WHERE key = $1", &[(&key(round), Type::BYTEA)]).await?;
    Ok(found.map(|found| found.try_get(0)).transpose()?)
}

fn round_name(found: &tokio_postgres::Row) -> std::result::Result<String, Fault> {
    String::from_utf8(found.try_get(0)?).map_err(|_| Fault::damaged("a round's name is no text"))
}

/// Draws a random identifier by which a client that was cut off from a commit recognises it as its own.
fn attempt() -> Result<Vec<u8>> {
    let mut attempt = vec![0; ATTEMPT_BYTES];
    fill_random(&mut attempt)?;
    Ok(attempt)
}

async fn find_or_create(client: &mut Client, round: &str) -> std::result::Result<i64, Fault> {
    match find(client, round).await? {
        Some(id) => Ok(id),
        None => create(client, round).await,
    }
}

/// Makes a round with a table for its reports, unless another one does so.
async fn create(client: &mut Client, round: &str) -> std::result::Result<i64, Fault> {
    let transaction = client.transaction().await?;
    let made = transaction
        .query_typed_opt(
            "INSERT INTO rounds (key, name, parts) VALUES ($1, $2, $3) ON CONFLICT (key) DO NOTHING RETURNING id",
            &[(&key(round), Type::BYTEA), (&round.as_bytes(), Type::BYTEA), (&schema::PARTS, Type::INT4)],
        )
        .await?;
    let Some(made) = made else {
        // By another one, whose commit was waited for.
        transaction.rollback().await?;
        return find(client, round).await?.ok_or_else(|| Fault::Again("the round was removed meanwhile".into()));
    };
    let id = made.try_get(0)?;
    transaction.batch_execute(&schema::create_reports(id)).await?;
    transaction.commit().await?;
    Ok(id)
}
