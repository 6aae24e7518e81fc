//! Reports in the order of their rows.

use std::collections::VecDeque;

use tacita_core::Result;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Portal, Transaction};

use super::super::{RowId, Stored};
use super::fault::Fault;
use super::pool::Pool;
use super::schema;

/// Reports that are fetched at once.
const PAGE: i32 = 2048;

/// Puts the reports of a round into the order of their rows on the server's disk, once, one part after the other:
/// meanwhile a part is there twice. What comes afterwards is found by the index, too.
pub(super) async fn put_in_order(client: &mut Client, round: i64) -> std::result::Result<(), Fault> {
    let parts = client.query_typed_opt("SELECT parts FROM rounds WHERE id = $1", &[(&round, Type::INT8)]).await?;
    let Some(parts) = parts else { return Ok(()) };
    for reports in schema::parts(round, parts.try_get(0)?) {
        let there = client
            .query_typed_one("SELECT to_regclass($1) IS NOT NULL", &[(&format!("{reports}_order"), Type::TEXT)])
            .await?;
        if there.try_get(0)? {
            continue;
        }
        let transaction = client.transaction().await?;
        // The strongest lock at once: two that wait for a stronger one than they have would wait for each other.
        transaction
            .batch_execute(&format!(
                "SET LOCAL statement_timeout = 0;
                 LOCK TABLE {reports} IN ACCESS EXCLUSIVE MODE;
                 CREATE INDEX IF NOT EXISTS {reports}_order ON {reports} (row_id, batch, place);
                 CLUSTER {reports} USING {reports}_order"
            ))
            .await?;
        transaction.commit().await?;
    }
    Ok(())
}

/// Reports of a round, as they are read: the server holds what is not fetched yet.
pub(super) struct Reports<'a> {
    pool: &'a Pool,
    transaction: &'a Transaction<'a>,
    portal: Portal,
    page: VecDeque<tokio_postgres::Row>,
    done: bool,
}

impl<'a> Reports<'a> {
    /// Reads the reports of a round that is in order, from behind a row.
    pub(super) async fn of(
        pool: &'a Pool,
        transaction: &'a Transaction<'a>,
        round: i64,
        after: Option<&RowId>,
    ) -> std::result::Result<Reports<'a>, Fault> {
        // The first ones are wanted at once: what is in order is not sorted once more.
        transaction
            .batch_execute(
                "SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL jit = off; \
                 SET LOCAL idle_in_transaction_session_timeout = '10min'",
            )
            .await?;
        let select = |condition: &str| {
            format!(
                "SELECT row_id, tag, value, sealed FROM {} {condition} ORDER BY row_id, batch, place",
                schema::reports(round)
            )
        };
        let portal = match after {
            Some(after) => transaction.bind(&select("WHERE row_id > $1"), &[&&after[..]]).await?,
            None => transaction.bind(&select(""), &[]).await?,
        };
        Ok(Reports { pool, transaction, portal, page: VecDeque::new(), done: false })
    }

    fn next_page(&mut self) -> Result<()> {
        let page = self.pool.wait(self.transaction.query_portal(&self.portal, PAGE))?;
        self.done = page.len() < PAGE as usize;
        self.page = page.into();
        Ok(())
    }
}

impl Iterator for Reports<'_> {
    type Item = Result<(RowId, Stored)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.page.is_empty()
            && !self.done
            && let Err(error) = self.next_page()
        {
            self.done = true;
            return Some(Err(error));
        }
        let row = self.page.pop_front()?;
        Some(report(&row).map_err(|fault| self.pool.error(&fault)))
    }
}

fn report(row: &tokio_postgres::Row) -> std::result::Result<(RowId, Stored), Fault> {
    Ok((fixed(row.try_get(0)?)?, stored(row, 1)?))
}

/// Reads the stored part of a report, from this column on.
fn stored(row: &tokio_postgres::Row, column: usize) -> std::result::Result<Stored, Fault> {
    let value = u32::try_from(row.try_get::<_, i64>(column + 1)?).map_err(|_| damaged())?;
    Ok(Stored { tag: fixed(row.try_get(column)?)?, value, sealed: row.try_get(column + 2)? })
}

fn fixed(bytes: &[u8]) -> std::result::Result<[u8; 32], Fault> {
    bytes.try_into().map_err(|_| damaged())
}

fn damaged() -> Fault {
    Fault::damaged("a report is not what was written")
}

/// The reports of a row; nothing if there are more than `limit`.
pub(super) async fn entries(
    client: &Client,
    round: i64,
    row: &RowId,
    limit: usize,
) -> std::result::Result<Option<Vec<Stored>>, Fault> {
    let most = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let select = format!(
        "SELECT tag, value, sealed FROM {} WHERE row_id = $1 ORDER BY batch, place LIMIT $2",
        schema::reports(round)
    );
    let found = client.query_typed(&select, &[(&&row[..], Type::BYTEA), (&most, Type::INT8)]).await?;
    if found.len() > limit {
        Ok(None)
    } else {
        found.iter().map(|row| stored(row, 0)).collect::<std::result::Result<_, _>>().map(Some)
    }
}
