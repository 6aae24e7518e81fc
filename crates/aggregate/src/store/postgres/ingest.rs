//! A batch goes in with its name, in one transaction.

use std::pin::pin;

use tacita_core::Result;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Transaction};

use super::super::rows::digest;
use super::super::{BatchOrigin, Ingested, OpenedReport, Stored};
use super::fault::Fault;
use super::{attempt, schema};
use crate::wire::batch::BatchId;

/// Types of a report's columns, in the order in which they are written.
const COLUMNS: [Type; 6] = [Type::BYTEA, Type::BYTEA, Type::INT4, Type::BYTEA, Type::INT8, Type::BYTEA];

/// A batch that is to go in.
pub(super) struct Batch<'a> {
    origin: BatchOrigin,
    name: &'a BatchId,
    rows: &'a [OpenedReport],
    digest: Vec<u8>,
    /// Tells whether it was this call that took it in, after one that had no answer.
    attempt: Vec<u8>,
}

impl<'a> Batch<'a> {
    pub(super) fn new(origin: BatchOrigin, name: &'a BatchId, rows: &'a [OpenedReport]) -> Result<Batch<'a>> {
        Ok(Batch { origin, name, rows, digest: digest(rows).to_vec(), attempt: attempt()? })
    }

    /// Takes it into the round of this key; nothing, if there is none.
    pub(super) async fn ingest(&self, client: &mut Client, key: &[u8]) -> std::result::Result<Option<Ingested>, Fault> {
        let transaction = client.transaction().await?;
        // Until this ends the round stays, and is not sealed if it is not yet.
        let found = transaction
            .query_typed_opt("SELECT id, sealed FROM rounds WHERE key = $1 FOR SHARE", &[(&key, Type::BYTEA)])
            .await?;
        let Some(found) = found else { return Ok(None) };
        let (round, sealed) = (found.try_get(0)?, found.try_get(1)?);
        // Whoever has the same name under way is waited for.
        let new = transaction
            .execute_typed(
                "INSERT INTO batches (round, batch, digest, reports, attempt, dropped, proxy) VALUES ($1, $2, $3, $4, $5, $6, $7)
                 ON CONFLICT (round, batch) DO NOTHING",
                &[
                    (&round, Type::INT8),
                    (&&self.name[..], Type::BYTEA),
                    (&self.digest, Type::BYTEA),
                    (&i64::try_from(self.rows.len()).map_err(|_| too_long())?, Type::INT8),
                    (&self.attempt, Type::BYTEA),
                    (&i64::try_from(self.origin.dropped).map_err(|_| too_long())?, Type::INT8),
                    (&i64::from(self.origin.proxy), Type::INT8),
                ],
            )
            .await?;
        if new == 0 {
            return self.known(&transaction, round).await.map(Some);
        }
        if sealed {
            transaction.rollback().await?;
            return Ok(Some(Ingested::Sealed));
        }
        self.copy(&transaction, round).await?;
        transaction.commit().await?;
        Ok(Some(Ingested::New))
    }

    /// Compares the batch with the stored one of this name.
    async fn known(&self, transaction: &Transaction<'_>, round: i64) -> std::result::Result<Ingested, Fault> {
        let known = transaction
            .query_typed_opt(
                "SELECT digest, attempt FROM batches WHERE round = $1 AND batch = $2",
                &[(&round, Type::INT8), (&&self.name[..], Type::BYTEA)],
            )
            .await?;
        let Some(known) = known else { return Err(Fault::Again("the round was removed meanwhile".into())) };
        Ok(if known.try_get::<_, &[u8]>(0)? != self.digest {
            Ingested::Conflict
        } else if known.try_get::<_, &[u8]>(1)? == self.attempt {
            Ingested::New
        } else {
            Ingested::Known
        })
    }

    async fn copy(&self, transaction: &Transaction<'_>, round: i64) -> std::result::Result<(), Fault> {
        let into = format!(
            "COPY {} (row_id, batch, place, tag, value, sealed) FROM STDIN (FORMAT binary)",
            schema::reports(round)
        );
        let mut writer = pin!(BinaryCopyInWriter::new(transaction.copy_in(&into).await?, &COLUMNS));
        for (place, OpenedReport { id, stored: Stored { tag, value, sealed } }) in (0i32..).zip(self.rows) {
            let row: [&(dyn tokio_postgres::types::ToSql + Sync); 6] =
                [&&id[..], &&self.name[..], &place, &&tag[..], &i64::from(*value), sealed];
            writer.as_mut().write(&row).await?;
        }
        if writer.finish().await? == self.rows.len() as u64 {
            Ok(())
        } else {
            Err(Fault::Lasting("it stored a different number of reports than were sent".into()))
        }
    }
}

fn too_long() -> Fault {
    Fault::Lasting("a batch is too long".into())
}
