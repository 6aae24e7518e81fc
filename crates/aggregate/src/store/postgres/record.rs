//! Small records of rounds, and changes of them that are made only where nobody else has changed them.

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, GenericClient, Row, Transaction};

use super::fault::Fault;
use super::find_or_create;

/// See [`Storage::change`](super::Storage::change).
pub(super) struct Change<'a> {
    pub(super) round: &'a str,
    pub(super) name: &'a str,
    pub(super) expected: Option<&'a [u8]>,
    pub(super) new: &'a [u8],
    pub(super) beside: &'a [(&'a str, &'a [u8])],
}

/// Writes a record in place of one of its name.
pub(super) async fn put(client: &impl GenericClient, round: i64, name: &str, value: &[u8]) -> Result<(), Fault> {
    client
        .execute_typed(
            "INSERT INTO records (round, name, value) VALUES ($1, $2, $3)
             ON CONFLICT (round, name) DO UPDATE SET value = excluded.value, attempt = NULL",
            &[(&round, Type::INT8), (&name.as_bytes(), Type::BYTEA), (&value, Type::BYTEA)],
        )
        .await?;
    Ok(())
}

impl Change<'_> {
    /// Makes it, unless the record is not as expected; also true where an attempt of this name has made it.
    pub(super) async fn make(&self, client: &mut Client, attempt: &[u8]) -> Result<bool, Fault> {
        let id = find_or_create(client, self.round).await?;
        let transaction = client.transaction().await?;
        if self.write(&transaction, id, attempt).await? == 0 {
            return self.was_made(&transaction, id, attempt).await;
        }
        for (name, value) in self.beside {
            put(&transaction, id, name, value).await?;
        }
        transaction.commit().await?;
        Ok(true)
    }

    /// Writes the record; how many were written. Who is changing it is waited for.
    async fn write(&self, transaction: &Transaction<'_>, round: i64, attempt: &[u8]) -> Result<u64, Fault> {
        let name = self.name.as_bytes();
        let values: [(&(dyn ToSql + Sync), Type); 4] =
            [(&round, Type::INT8), (&name, Type::BYTEA), (&self.new, Type::BYTEA), (&attempt, Type::BYTEA)];
        let written = match &self.expected {
            None => {
                let new = "INSERT INTO records (round, name, value, attempt) VALUES ($1, $2, $3, $4) ON CONFLICT (round, name) DO NOTHING";
                transaction.execute_typed(new, &values).await?
            }
            Some(expected) => {
                let changed =
                    "UPDATE records SET value = $3, attempt = $4 WHERE round = $1 AND name = $2 AND value = $5";
                let [round, name, new, attempt] = values;
                transaction.execute_typed(changed, &[round, name, new, attempt, (expected, Type::BYTEA)]).await?
            }
        };
        Ok(written)
    }

    async fn was_made(&self, transaction: &Transaction<'_>, round: i64, attempt: &[u8]) -> Result<bool, Fault> {
        let found = transaction
            .query_typed_opt(
                "SELECT attempt FROM records WHERE round = $1 AND name = $2",
                &[(&round, Type::INT8), (&self.name.as_bytes(), Type::BYTEA)],
            )
            .await?;
        let last = |found: &Row| found.try_get::<_, Option<Vec<u8>>>(0);
        Ok(found.as_ref().map(last).transpose()?.flatten().as_deref() == Some(attempt))
    }
}
