//! The tables, and how those of an older version become those of this one.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::fault::Fault;

/// One step after the other: what has been released is not changed any more.
///
/// `rounds.key` is a fingerprint of the round's name, which may be of any length. A row of `batches` is there if and
/// only if all of the batch's reports are; `attempt` tells whoever was cut off from its commit that it was its own, of
/// a record as well. The line of a round is held FOR SHARE while a batch goes in, and changed to seal it.
/// `batches.proxy` is the place of the proxy that sent it, 4294967295 where it was none. `rounds.parts` is into how
/// many tables its reports are divided; of an older round, into none.
const MIGRATIONS: [&str; 5] = [
    "
    CREATE TABLE rounds (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        key bytea NOT NULL UNIQUE,
        name bytea NOT NULL
    );
    CREATE TABLE batches (
        round bigint NOT NULL REFERENCES rounds ON DELETE CASCADE,
        batch bytea NOT NULL,
        digest bytea NOT NULL,
        reports bigint NOT NULL,
        attempt bytea NOT NULL,
        PRIMARY KEY (round, batch)
    );
    CREATE TABLE records (
        round bigint NOT NULL REFERENCES rounds ON DELETE CASCADE,
        name bytea NOT NULL,
        value bytea NOT NULL,
        PRIMARY KEY (round, name)
    );
",
    "
    ALTER TABLE rounds ADD COLUMN sealed boolean NOT NULL DEFAULT false;
    ALTER TABLE records ADD COLUMN attempt bytea;
    CREATE TABLE leases (
        name bytea PRIMARY KEY,
        holder bytea NOT NULL,
        ends timestamptz NOT NULL
    );
",
    "
    CREATE TABLE claims (
        round bigint NOT NULL REFERENCES rounds ON DELETE CASCADE,
        claim bytea NOT NULL,
        owner bigint NOT NULL,
        PRIMARY KEY (round, claim)
    );
",
    "
    ALTER TABLE rounds ADD COLUMN parts integer NOT NULL DEFAULT 0;
",
    "
    ALTER TABLE batches ADD COLUMN dropped bigint NOT NULL DEFAULT 0;
    ALTER TABLE batches ADD COLUMN proxy bigint NOT NULL DEFAULT 4294967295;
",
];

/// Into how many tables the reports of a round are divided. A power of two, at most 256.
pub(super) const PARTS: i32 = 16;

/// Prefix of the name of the lock under which it is done, which distinguishes the lock from those of others.
const LOCK: &str = "tacita storage ";

/// Brings a schema to this version, alone.
pub(super) async fn migrate(client: &mut Client, schema: &str) -> Result<(), Fault> {
    let transaction = client.transaction().await?;
    let lock = format!("{LOCK}{schema}");
    transaction.execute_typed("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", &[(&lock, Type::TEXT)]).await?;
    let there = transaction
        .query_typed_one(
            "SELECT to_regnamespace($1) IS NOT NULL, current_setting('fsync') = 'off'",
            &[(&schema, Type::TEXT)],
        )
        .await?;
    if there.try_get(1)? {
        tracing::warn!("the server has fsync = off: what it acknowledges is lost when its machine fails");
    }
    if !there.try_get::<_, bool>(0)? {
        transaction.batch_execute(&format!("CREATE SCHEMA \"{schema}\"")).await?;
    }
    let there = transaction
        .query_typed_one("SELECT to_regclass($1) IS NOT NULL", &[(&format!("{schema}.migrations"), Type::TEXT)])
        .await?;
    if !there.try_get::<_, bool>(0)? {
        transaction
            .batch_execute(
                "CREATE TABLE migrations (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())",
            )
            .await?;
    }
    let version = transaction.query_typed_one("SELECT coalesce(max(version), 0) FROM migrations", &[]).await?;
    let version = version.try_get::<_, i32>(0)?;
    let known = usize::try_from(version).ok().filter(|version| *version <= MIGRATIONS.len()).ok_or_else(|| {
        Fault::Lasting(format!(
            "its tables are of version {version}, and this program knows those up to {}: use the newer program that made them",
            MIGRATIONS.len()
        ))
    })?;
    for (migration, version) in MIGRATIONS.iter().zip(1i32..).skip(known) {
        transaction.batch_execute(migration).await?;
        transaction.execute_typed("INSERT INTO migrations (version) VALUES ($1)", &[(&version, Type::INT4)]).await?;
    }
    Ok(transaction.commit().await?)
}

/// The table of a round's reports.
pub(super) fn reports(id: i64) -> String {
    format!("reports_{id}")
}

/// The tables that hold the reports of a round, of so many parts, in the order of their rows.
pub(super) fn parts(id: i64, parts: i32) -> Vec<String> {
    match parts {
        0 => vec![reports(id)],
        _ => (0..parts).map(|part| format!("{}_{part}", reports(id))).collect(),
    }
}

/// Returns the statement that creates the table of a round's reports, in [`PARTS`] partitions by the key. The
/// partitions have no index while reports come: each is written to its end alone.
///
/// A row's name is a hash of its key already: ranges of it are as even as partitions by a hash of it would be, and are
/// read one after the other, in order.
pub(super) fn create_reports(id: i64) -> String {
    let reports = reports(id);
    let mut create = format!(
        "CREATE TABLE {reports} (
            row_id bytea NOT NULL,
            batch bytea NOT NULL,
            place integer NOT NULL,
            tag bytea NOT NULL,
            value bigint NOT NULL,
            sealed bytea NOT NULL
        ) PARTITION BY RANGE (row_id);"
    );
    let bound = |part: i32, outermost: &str| match part % PARTS {
        0 => outermost.to_owned(),
        _ => format!("'\\x{:02x}'", part * (256 / PARTS)),
    };
    for (part, table) in (0..PARTS).zip(parts(id, PARTS)) {
        let (from, to) = (bound(part, "MINVALUE"), bound(part + 1, "MAXVALUE"));
        create += &format!("CREATE TABLE {table} PARTITION OF {reports} FOR VALUES FROM ({from}) TO ({to});");
    }
    create
}
