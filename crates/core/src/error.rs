//! Everything that can end a job, told apart by whose doing it is.

use std::fmt;

/// Result of everything that can end a job.
pub type Result<T> = std::result::Result<T, Error>;

/// Reason why a job ended.
///
/// The texts are for this party's own user, and may change. Programs match on [`Error::kind`] instead, and ask
/// [`Error::peer`] whom it is about. Texts never travel: the peer is told the [`ErrorKind`] alone, because a text may
/// name a file, a line or a value.
///
/// ```
/// use tacita_core::{Error, ErrorKind};
///
/// let advice = |error: &Error| match (error.kind(), error.peer()) {
///     (ErrorKind::Network | ErrorKind::NotReady, _) => "try again later".to_owned(),
///     (ErrorKind::Protocol | ErrorKind::Authentication, Some(peer)) => format!("ask {peer}: trying again won't help"),
///     (ErrorKind::Terms, _) => "compare what was agreed on".to_owned(),
///     (kind, _) => format!("exit with {}", kind.exit_code()),
/// };
/// let gone = Error::Network { peer: "insurer".into(), what: "connection lost".into() };
/// assert_eq!(advice(&gone), "try again later");
/// let broke = Error::Protocol { peer: "insurer".into(), check: "`blinded` is no point".into() };
/// assert_eq!(advice(&broke), "ask insurer: trying again won't help");
/// assert_eq!(advice(&Error::Input("no column `name`".into())), "exit with 2");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Fault in this party's own input, job file or options.
    Input(String),
    /// Violation, by this party's rows, of a limit that the parties have agreed on. That violation is all that the
    /// others are told.
    Rows {
        /// Limit that was violated.
        limit: RowLimit,
        /// Number of rows, and advice on what to do.
        text: String,
    },
    /// Refusal of the job by this party's own policy. That is all that the others are told.
    Policy(String),
    /// The parties did not agree on the terms of the job.
    Terms(String),
    /// The network failed, or the peer went away.
    Network {
        /// Name of the party at the other end.
        peer: String,
        /// Description of the event on the connection.
        what: String,
    },
    /// The peer broke the protocol.
    Protocol {
        /// Name of the party that broke it.
        peer: String,
        /// The check that failed.
        check: String,
    },
    /// One of several peers broke the protocol, in a job of more than two, and it does not show which.
    OneOf {
        /// Names of these parties.
        peers: Vec<String>,
        /// The check that failed.
        check: String,
    },
    /// The peer did not prove that it is who the job says it is.
    Authentication {
        /// Name of the party that was expected.
        peer: String,
        /// Description of the fault in its proof.
        what: String,
    },
    /// The peer ended the job and told this kind of reason.
    Peer {
        /// Name of the party that ended the job.
        peer: String,
        /// The kind of reason that it gave.
        kind: ErrorKind,
    },
    /// A peer ended the job because of another party, in a job of more than two.
    Reported {
        /// Name of the party that is to blame.
        culprit: String,
        /// Name of the party that says so.
        by: String,
        /// Name of the peer that has passed it on, where this party has it from another than `by`.
        through: Option<String>,
        /// The kind of reason that it gave.
        kind: ErrorKind,
    },
    /// The answer is not there yet; asking again later is the way to get it.
    NotReady(String),
    /// The user interrupted the job.
    Interrupted,
    /// A bug of ours.
    Internal(String),
}

/// An agreed limit on a party's own rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RowLimit {
    /// The fewest keys, or rows.
    MinRows,
    /// The most rows without a key.
    MaxNull,
    /// The most rows whose key cannot be read.
    MaxUnreadable,
}

/// The kind of an [`Error`]: all that a peer is told.
///
/// | kind | ended because of | exit code |
/// |---|---|---|
/// | `Input`, `MinRows`, `MaxNull`, `MaxUnreadable` | this party's input, options or machine | 2 |
/// | `Policy` | this party's refusal | 2 |
/// | `Network` | a connection that failed, or a peer that went away or stopped for reasons of its own | 3 |
/// | `Protocol`, `OneOf` | a peer's misbehaviour: a message failed its checks | 4 |
/// | `Authentication` | a peer that is not who it should be | 4 |
/// | `Terms` | terms that differ, or that the peer refused or did not keep to | 5 |
/// | `Internal` | a bug of this library | 70 |
/// | `NotReady` | nobody: the answer is not there yet | 75 |
/// | `Interrupted` | this party's user | 130 |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum ErrorKind {
    /// See [`Error::Input`].
    Input = 1,
    /// See [`Error::Terms`].
    Terms = 2,
    /// See [`Error::Network`].
    Network = 3,
    /// See [`Error::Protocol`].
    Protocol = 4,
    /// See [`Error::Authentication`].
    Authentication = 5,
    /// See [`Error::NotReady`].
    NotReady = 6,
    /// See [`Error::Interrupted`].
    Interrupted = 7,
    /// See [`Error::Internal`].
    Internal = 8,
    /// See [`Error::Rows`] and [`RowLimit::MinRows`].
    MinRows = 9,
    /// See [`Error::Rows`] and [`RowLimit::MaxNull`].
    MaxNull = 10,
    /// See [`Error::Rows`] and [`RowLimit::MaxUnreadable`].
    MaxUnreadable = 11,
    /// See [`Error::Policy`].
    Policy = 12,
    /// See [`Error::OneOf`].
    OneOf = 13,
}

impl ErrorKind {
    /// The code that stands for this kind on the wire.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The kind that a code on the wire stands for, if it stands for one.
    pub fn from_code(code: u8) -> Option<ErrorKind> {
        use ErrorKind::*;
        let first = [Input, Terms, Network, Protocol, Authentication, NotReady, Interrupted, Internal];
        first.into_iter().chain([MinRows, MaxNull, MaxUnreadable, Policy, OneOf]).find(|kind| kind.code() == code)
    }

    /// Returns the name of the kind, for logs and other programs. Kinds after which a program does the same share a
    /// name.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::Input
            | ErrorKind::MinRows
            | ErrorKind::MaxNull
            | ErrorKind::MaxUnreadable
            | ErrorKind::Policy => "input",
            ErrorKind::Terms => "terms",
            ErrorKind::Network => "network",
            ErrorKind::Protocol | ErrorKind::OneOf => "protocol",
            ErrorKind::Authentication => "authentication",
            ErrorKind::NotReady => "not-ready",
            ErrorKind::Interrupted => "interrupted",
            ErrorKind::Internal => "internal",
        }
    }

    /// The exit code of a program that ends with an error of this kind, as in the table above.
    pub fn exit_code(self) -> u8 {
        match self {
            ErrorKind::Input
            | ErrorKind::MinRows
            | ErrorKind::MaxNull
            | ErrorKind::MaxUnreadable
            | ErrorKind::Policy => 2,
            ErrorKind::Network => 3,
            ErrorKind::Protocol | ErrorKind::OneOf | ErrorKind::Authentication => 4,
            ErrorKind::Terms => 5,
            ErrorKind::Internal => 70,
            ErrorKind::NotReady => 75,
            ErrorKind::Interrupted => 130,
        }
    }
}

impl Error {
    /// The party that it is about, if it is about one.
    pub fn peer(&self) -> Option<&str> {
        match self {
            Error::Network { peer, .. }
            | Error::Protocol { peer, .. }
            | Error::Authentication { peer, .. }
            | Error::Peer { peer, .. }
            | Error::Reported { culprit: peer, .. } => Some(peer),
            _ => None,
        }
    }

    /// The kind of this error. One that the peer reported counts as what it means to this party: differing terms stay
    /// differing terms, and rows that do not keep to the terms are as such; a peer that stopped for reasons of its own
    /// has gone away.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Input(_) => ErrorKind::Input,
            Error::Rows { limit: RowLimit::MinRows, .. } => ErrorKind::MinRows,
            Error::Rows { limit: RowLimit::MaxNull, .. } => ErrorKind::MaxNull,
            Error::Rows { limit: RowLimit::MaxUnreadable, .. } => ErrorKind::MaxUnreadable,
            Error::Policy(_) => ErrorKind::Policy,
            Error::Terms(_) => ErrorKind::Terms,
            Error::Network { .. } => ErrorKind::Network,
            Error::Protocol { .. } => ErrorKind::Protocol,
            Error::OneOf { .. } => ErrorKind::OneOf,
            Error::Authentication { .. } => ErrorKind::Authentication,
            Error::Peer { kind, .. } | Error::Reported { kind, .. } => match kind {
                ErrorKind::Terms | ErrorKind::Protocol | ErrorKind::OneOf | ErrorKind::Authentication => *kind,
                ErrorKind::MinRows | ErrorKind::MaxNull | ErrorKind::MaxUnreadable | ErrorKind::Policy => {
                    ErrorKind::Terms
                }
                _ => ErrorKind::Network,
            },
            Error::NotReady(_) => ErrorKind::NotReady,
            Error::Interrupted => ErrorKind::Interrupted,
            Error::Internal(_) => ErrorKind::Internal,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Input(text)
            | Error::Policy(text)
            | Error::Terms(text)
            | Error::NotReady(text)
            | Error::Rows { text, .. } => f.write_str(text),
            Error::Network { peer, what } => write!(f, "{peer}: {what}"),
            Error::Protocol { peer, check } => write!(f, "{peer} broke the protocol: {check}"),
            Error::OneOf { peers, check } => write!(f, "one of {} broke the protocol: {check}", peers.join(", ")),
            Error::Authentication { peer, what } => write!(f, "{peer} failed authentication: {what}"),
            Error::Peer { peer, kind } => write!(f, "{peer} {}", reported(*kind)),
            Error::Reported { culprit, by, through, kind } => {
                write!(f, "{culprit} {}", reported_by(*kind, culprit, by, through.as_deref()))
            }
            Error::Interrupted => f.write_str("interrupted"),
            Error::Internal(text) => write!(f, "internal error: {text} (please report it)"),
        }
    }
}

/// Meaning of a peer's report of `kind`, as the end of a sentence that starts with its name.
fn reported(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Input => {
            "stopped: its input, its files or its limits do not allow the job; its own message says which"
        }
        ErrorKind::Terms => "refused: its terms differ from ours; compare the job files",
        ErrorKind::Network => "stopped: it lost a connection",
        ErrorKind::Protocol => "stopped: a message of ours failed its checks; are both versions the same?",
        ErrorKind::Authentication => "refused our identity; compare `tacita identity show` with its job file",
        ErrorKind::NotReady => "is not ready yet; try again later",
        ErrorKind::Interrupted => "was interrupted by its user",
        ErrorKind::Internal => "stopped on an internal error",
        ErrorKind::MinRows | ErrorKind::MaxNull | ErrorKind::MaxUnreadable => above(kind),
        ErrorKind::Policy => REFUSED_BY_POLICY,
        ErrorKind::OneOf => ONE_OF,
    }
}

/// End of a party that does not know who is to blame.
const ONE_OF: &str = "stopped: one of the parties broke the protocol, and it does not know which";

/// End of a party whose policy refuses the job: it says no more.
const REFUSED_BY_POLICY: &str = "stopped: refused by policy";

/// The end of a party whose rows do not keep to an agreed limit.
fn above(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::MinRows => "stopped: it has fewer rows than limits.min_rows asks for",
        ErrorKind::MaxNull => "stopped: more of its rows are without a key than limits.max_null allows",
        _ => "stopped: more of its rows have a key that cannot be read than limits.max_unreadable allows",
    }
}

/// Meaning of the report by `by` that `culprit` is to blame, as the end of a sentence that starts with the culprit's
/// name. The party that has passed it on is named: that is all that this party has heard itself.
fn reported_by(kind: ErrorKind, culprit: &str, by: &str, through: Option<&str>) -> String {
    let what = match kind {
        ErrorKind::Input => "stopped: its input, its files or its limits do not allow the job",
        ErrorKind::Terms => "stopped: its terms differ from another party's",
        ErrorKind::Network => "cannot be reached any more",
        ErrorKind::Protocol => "broke the protocol",
        ErrorKind::Authentication => "failed authentication",
        ErrorKind::NotReady => "is not ready yet; try again later",
        ErrorKind::Interrupted => "was interrupted by its user",
        ErrorKind::Internal => "stopped on an internal error",
        ErrorKind::MinRows | ErrorKind::MaxNull | ErrorKind::MaxUnreadable => above(kind),
        ErrorKind::Policy => REFUSED_BY_POLICY,
        ErrorKind::OneOf => ONE_OF,
    };
    match through {
        Some(through) if through == culprit => format!("{what}, as it has heard from {by}"),
        Some(through) => format!("{what}, as {through} says in the name of {by}"),
        None if by != culprit => format!("{what}, as {by} says"),
        None if kind == ErrorKind::Terms => format!("{what}; compare the job files"),
        None => format!("{what}, as it has heard from another party"),
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_survives_its_code() {
        for code in 0..=255 {
            if let Some(kind) = ErrorKind::from_code(code) {
                assert_eq!(kind.code(), code);
            }
        }
        assert_eq!((0..=255).filter_map(ErrorKind::from_code).count(), 13);
    }

    /// Own rows are own input; another's are terms that are not kept, and the message names the limit alone.
    #[test]
    fn rows_that_do_not_keep_to_a_limit_are_told_by_its_name() {
        for (limit, kind, name) in [
            (RowLimit::MinRows, ErrorKind::MinRows, "limits.min_rows"),
            (RowLimit::MaxNull, ErrorKind::MaxNull, "limits.max_null"),
            (RowLimit::MaxUnreadable, ErrorKind::MaxUnreadable, "limits.max_unreadable"),
        ] {
            let own = Error::Rows { limit, text: "insurer has 17".into() };
            assert_eq!((own.kind(), own.to_string().as_str()), (kind, "insurer has 17"));
            let heard = Error::Peer { peer: "insurer".into(), kind };
            assert_eq!(heard.kind(), ErrorKind::Terms);
            assert!(heard.to_string().starts_with("insurer stopped: ") && heard.to_string().contains(name), "{heard}");
            let [culprit, by] = ["insurer", "registry"].map(str::to_owned);
            let heard = Error::Reported { culprit, by, through: None, kind };
            assert_eq!(heard.kind(), ErrorKind::Terms);
            assert!(heard.to_string().contains(name), "{heard}");
        }
    }

    /// A refusal is own input at the one who refuses, and terms that were not agreed on at the other, who does not hear
    /// the rule.
    #[test]
    fn a_refusal_by_policy_says_no_more() {
        let own = Error::Policy("policy.toml, line 3: no".into());
        assert_eq!((own.kind(), own.to_string().as_str()), (ErrorKind::Policy, "policy.toml, line 3: no"));
        let heard = Error::Peer { peer: "insurer".into(), kind: own.kind() };
        assert_eq!(
            (heard.kind(), heard.to_string().as_str()),
            (ErrorKind::Terms, "insurer stopped: refused by policy")
        );
    }

    #[test]
    fn a_peer_with_bad_input_has_gone_away() {
        let error = Error::Peer { peer: "insurer".into(), kind: ErrorKind::Input };
        assert_eq!(error.kind(), ErrorKind::Network);
    }
}
