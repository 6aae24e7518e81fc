//! Reporting of failures to the caller of a job: the exit codes of the contract, and an error in one line.

use tacita_core::{Error, ErrorKind};

use crate::base::text::harmless;

/// The exit code that stands for a kind of error: see [`ErrorKind::exit_code`].
pub fn exit_code(kind: ErrorKind) -> u8 {
    kind.exit_code()
}

/// An error's text in one line. Blanks within a line stay: they may be in a path that is to be pasted.
pub fn one_line(error: &Error) -> String {
    let text = harmless(&error.to_string());
    text.split(['\n', '\r', '\t']).map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the codes are those in `docs/start.md`, on which scripts rely.
    #[test]
    fn codes_are_those_of_the_contract() {
        use ErrorKind::*;
        let all = [Input, Network, Protocol, Authentication, Terms, Internal, NotReady, Interrupted];
        assert_eq!(all.map(exit_code), [2, 3, 4, 4, 5, 70, 75, 130]);
        assert_eq!([MinRows, MaxNull, MaxUnreadable, Policy].map(exit_code), [2; 4]);
        assert_eq!(exit_code(OneOf), 4);
        assert_eq!(one_line(&Error::Input("a\nb\t c  d\r".into())), "a b c  d");
        assert_eq!(one_line(&Error::Input("a\u{1b}[1m\u{202e}b".into())), "a\\u{1b}[1m\\u{202e}b");
    }
}
