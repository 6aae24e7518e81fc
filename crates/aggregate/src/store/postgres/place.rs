//! Address of a PostgreSQL server, and the way to it: `postgresql://USER:PASSWORD@HOST:PORT/DATABASE?KEY=VALUE&...`.
//! The keys are those that PostgreSQL's own programs take and one of ours, `schema`.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tacita_core::{Error, Result};
use tacita_node::base::text::shown;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_rustls::rustls::ClientConfig;

use super::tls;

/// Prefixes of PostgreSQL URLs.
pub(in super::super) const SCHEMES: [&str; 2] = ["postgresql://", "postgres://"];

/// Schema in which rows are kept unless the URL says otherwise.
const SCHEMA: &str = "tacita";
const MAX_SCHEMA_BYTES: usize = 48;

/// Time limit for a server to accept a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// Time for which data may stay unacknowledged until the connection counts as lost.
const UNACKNOWLEDGED: Duration = Duration::from_secs(20);

const USAGE: &str = "write postgresql://USER@HOST:PORT/DATABASE, and in a password @ as %40, : as %3A, / as %2F, ? as %3F, # as %23 and % as %25";

/// A place in a server, with what is needed to get there.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) config: Config,
    /// Absent: a connection that does not leave the machine, or one that the operator wants in the clear.
    pub(super) tls: Option<Arc<ClientConfig>>,
    pub(super) schema: String,
    /// Name of the server in messages: no password is in it.
    pub(super) shown: String,
}

impl Place {
    /// Reads a URL. What is wrong is told without any part of it that may hold a password.
    pub(super) fn of(url: &str) -> Result<Place> {
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        // A ? in a password, which others would take for one.
        if query.contains('@') {
            return Err(unreadable());
        }
        let (mut schema, mut root, mut mode) = (SCHEMA, None, None);
        let mut others = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=').ok_or_else(unreadable)? {
                ("schema", name) => schema = name,
                ("sslrootcert", path) => root = Some(path),
                ("sslmode", word) => mode = Some(word),
                // Whether a server is this machine is judged by its name.
                ("hostaddr", _) => {
                    return Err(Error::Input("storage: hostaddr is not taken: name the host alone".into()));
                }
                _ => others.push(pair),
            }
        }
        check_schema(schema)?;
        let mut config: Config = format!("{address}?{}", others.join("&")).parse().map_err(|_| unreadable())?;
        // What is behind a second @ would be shown, and belongs to a password.
        if config.get_hosts().is_empty() || names(&config).iter().any(|name| name.contains('@')) {
            return Err(unreadable());
        }
        let tls = transport(&config, root, mode)?;
        config.ssl_mode(if tls.is_some() { SslMode::Require } else { SslMode::Disable });
        config.application_name("tacita").tcp_user_timeout(UNACKNOWLEDGED).keepalives_idle(UNACKNOWLEDGED);
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        let database = config.get_dbname().or(config.get_user()).map_or("?".into(), shown);
        let shown =
            format!("PostgreSQL at {}, database {database}, schema {schema}", shown(&names(&config).join(", ")));
        Ok(Place { config, tls, schema: schema.to_owned(), shown })
    }
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown)
    }
}

fn unreadable() -> Error {
    Error::Input(format!("storage: the address of a PostgreSQL server cannot be read: {USAGE}"))
}

/// A name that needs no quotes, and is no part of the server's own.
fn check_schema(name: &str) -> Result<()> {
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    let fits = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if first && fits && name.len() <= MAX_SCHEMA_BYTES && !name.starts_with("pg_") {
        Ok(())
    } else {
        Err(Error::Input(format!(
            "storage: schema= has to be a name of at most {MAX_SCHEMA_BYTES} of the characters a-z, 0-9 and _, the first of them a letter, and not \
             begin with pg_"
        )))
    }
}

fn names(config: &Config) -> Vec<String> {
    let name = |host: &Host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    };
    let ports = config.get_ports();
    let named = config.get_hosts().iter().enumerate().map(|(place, host)| {
        match ports.get(place).or(ports.first()).filter(|port| **port != 5432) {
            Some(port) => format!("{}:{port}", name(host)),
            None => name(host),
        }
    });
    named.collect()
}

fn is_here(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()),
    }
}

/// Determines the protection of a connection. Data that leaves this machine goes by TLS, to a server whose certificate
/// fits its name, unless the URL says that it shall not.
fn transport(config: &Config, root: Option<&str>, mode: Option<&str>) -> Result<Option<Arc<ClientConfig>>> {
    let here = config.get_hosts().iter().all(is_here);
    match (mode, root) {
        (None | Some("verify-full"), Some(path)) => tls::trusting(Path::new(path)).map(Some),
        (None, None) if here => Ok(None),
        (None | Some("verify-full"), None) => Err(Error::Input(
            "storage: connections to PostgreSQL on another machine are encrypted: add ?sslrootcert=FILE, the certificate (PEM) \
             of the server's issuer (sslmode=disable sends rows and results in the clear)"
                .into(),
        )),
        (Some("disable"), _) => Ok(None),
        (Some(_), _) => Err(Error::Input(
            "storage: sslmode must be verify-full (the default) or disable: the others accept any certificate".into(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_shown_without_passwords() {
        for (url, expected) in [
            ("postgresql://me:se%40cret@localhost/rounds", "PostgreSQL at localhost, database rounds, schema tacita"),
            ("postgres://me@127.0.0.1:5433/?schema=a_1", "PostgreSQL at 127.0.0.1:5433, database me, schema a_1"),
            (
                "postgresql:///rounds?host=/run/postgresql&user=me&password=secret",
                "PostgreSQL at /run/postgresql, database rounds, schema tacita",
            ),
            (
                "postgresql://me:secret@db.example/rounds?sslmode=disable",
                "PostgreSQL at db.example, database rounds, schema tacita",
            ),
        ] {
            let place = Place::of(url).unwrap();
            assert_eq!(place.shown, expected);
            assert!(place.tls.is_none() && format!("{place:?}") == expected);
        }
    }

    #[test]
    fn what_is_wrong_is_told_without_passwords() {
        for (url, part) in [
            ("postgresql://me:secret@db.example/rounds", "?sslrootcert=FILE"),
            ("postgresql://me:secret@db.example/rounds?sslmode=require", "verify-full"),
            ("postgresql://me:secret@localhost,db.example/rounds", "?sslrootcert=FILE"),
            ("postgresql://me:sec@ret@localhost/rounds", "cannot be read"),
            ("postgresql://me:a?secret=b@localhost/rounds", "cannot be read"),
            ("postgresql://me:secret@localhost:port/rounds", "cannot be read"),
            ("postgresql://me:secret@localhost/rounds?secret", "cannot be read"),
            ("postgresql:///rounds?password=secret", "cannot be read"),
            ("postgresql://localhost/rounds?hostaddr=10.0.0.1&password=secret", "hostaddr"),
            ("postgresql://localhost/rounds?schema=\"secret\"", "schema="),
            ("postgresql://localhost/rounds?schema=pg_secret", "schema="),
            ("postgresql://localhost/rounds?schema=", "schema="),
            ("postgresql://me:secret@localhost/rounds?sslrootcert=/no/such/file", "/no/such/file"),
        ] {
            let error = Place::of(url).unwrap_err().to_string();
            assert!(error.contains(part) && !error.contains("secret") && !error.contains('\n'), "{url}: {error}");
        }
    }
}
