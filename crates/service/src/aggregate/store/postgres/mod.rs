//! Rounds in a PostgreSQL server: a table for the reports of each, and four for batches, claims, records and rounds (`schema.rs`).
//!
//! The reports of a batch and its row in `batches` are one transaction, whose key is the batch's name in its round: of two who bring the same batch at
//! once, the second waits for the first. What is broken off is done again, and finds what it had done. While reports come, their table has no index; before
//! it is read, it is put into the order of its rows, which is then the order on the server's disk as well. A round is removed by dropping its
//! table, which no other round's wait for.

mod claim;
mod fault;
mod ingest;
mod place;
mod pool;
mod read;
mod schema;
#[cfg(test)]
pub(super) mod server;
#[cfg(test)]
mod tests;
mod tls;

use tacita_core::Result;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use self::fault::Fault;
use self::place::Place;
pub(super) use self::place::SCHEMES;
use self::pool::Pool;
use super::rows::group;
use super::{BatchId, ClaimId, Each, Ingested, Row, RowId, Storage, Stored, Totals};

/// Rounds in a schema of a PostgreSQL database. Several may be open at once, in several processes.
pub struct Postgres {
    pool: Pool,
}

impl Postgres {
    /// Connects to the server that a URL names, and makes the tables or brings them to this version.
    ///
    /// Errors ([`tacita_core::Error::Input`]): the URL cannot be read, the server does not answer, lets nobody in or lacks a right; the tables are of a newer
    /// version.
    pub fn open(url: &str) -> Result<Postgres> {
        let pool = Pool::new(Place::of(url)?)?;
        pool.run(async |client| schema::migrate(client, &pool.place().schema).await)?;
        Ok(Postgres { pool })
    }
}

impl Storage for Postgres {
    fn ingest(&self, round: &str, batch: &BatchId, rows: &[Row]) -> Result<Ingested> {
        let batch = ingest::Batch::new(batch, rows)?;
        self.pool.run(async |client| {
            let id = match find(client, round).await? {
                Some(id) => id,
                None => create(client, round).await?,
            };
            batch.ingest(client, id).await
        })
    }

    fn groups(&self, round: &str, after: Option<&RowId>, each: &mut Each<'_>) -> Result<()> {
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

    fn claim(&self, round: &str, owner: u32, claims: &[ClaimId]) -> Result<Vec<bool>> {
        self.pool.run(async |client| {
            let id = match find(client, round).await? {
                Some(id) => id,
                None => create(client, round).await?,
            };
            claim::claim(client, id, owner, claims).await
        })
    }

    fn totals(&self, round: &str) -> Result<Totals> {
        self.pool.run(async |client| {
            let sums = client
                .query_typed_one(
                    "SELECT count(*), coalesce(sum(reports), 0)::bigint FROM batches JOIN rounds ON round = id WHERE key = $1",
                    &[(&key(round), Type::BYTEA)],
                )
                .await?;
            let number = |place| u64::try_from(sums.try_get::<_, i64>(place)?).map_err(|_| Fault::damaged("a count is below 0"));
            Ok(Totals { batches: number(0)?, reports: number(1)? })
        })
    }

    fn put(&self, round: &str, name: &str, value: &[u8]) -> Result<()> {
        self.pool.run(async |client| {
            let id = match find(client, round).await? {
                Some(id) => id,
                None => create(client, round).await?,
            };
            client
                .execute_typed(
                    "INSERT INTO records (round, name, value) VALUES ($1, $2, $3) ON CONFLICT (round, name) DO UPDATE SET value = excluded.value",
                    &[(&id, Type::INT8), (&name.as_bytes(), Type::BYTEA), (&value, Type::BYTEA)],
                )
                .await?;
            Ok(())
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

    fn rounds(&self) -> Result<Vec<String>> {
        self.pool.run(async |client| {
            let found = client.query_typed("SELECT name FROM rounds ORDER BY name", &[]).await?;
            let name = |found: &tokio_postgres::Row| {
                String::from_utf8(found.try_get(0)?).map_err(|_| Fault::damaged("a round's name is no text"))
            };
            found.iter().map(name).collect()
        })
    }

    fn remove(&self, round: &str) -> Result<()> {
        self.pool.run(async |client| {
            let Some(id) = find(client, round).await? else { return Ok(()) };
            let transaction = client.transaction().await?;
            // Batches, claims and records go with it. Who brings a batch of it waits here, and then makes the round anew.
            transaction.execute_typed("DELETE FROM rounds WHERE id = $1", &[(&id, Type::INT8)]).await?;
            transaction.batch_execute(&format!("DROP TABLE IF EXISTS {}", schema::reports(id))).await?;
            Ok(transaction.commit().await?)
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

/// What a round is found by: names may be of any length, and hold anything.
fn key(round: &str) -> Vec<u8> {
    blake3::hash(round.as_bytes()).as_bytes().to_vec()
}

async fn find(client: &Client, round: &str) -> std::result::Result<Option<i64>, Fault> {
    let found = client.query_typed_opt("SELECT id FROM rounds WHERE key = $1", &[(&key(round), Type::BYTEA)]).await?;
    Ok(found.map(|found| found.try_get(0)).transpose()?)
}

/// Makes a round with a table for its reports, unless another one does so.
async fn create(client: &mut Client, round: &str) -> std::result::Result<i64, Fault> {
    let transaction = client.transaction().await?;
    let made = transaction
        .query_typed_opt(
            "INSERT INTO rounds (key, name) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING RETURNING id",
            &[(&key(round), Type::BYTEA), (&round.as_bytes(), Type::BYTEA)],
        )
        .await?;
    let Some(made) = made else { return Err(Fault::Again("a round is made by another one".into())) };
    let id = made.try_get(0)?;
    transaction.batch_execute(&schema::create_reports(id)).await?;
    transaction.commit().await?;
    Ok(id)
}
