//! Questions on a terminal, and answers from options where there is none.

use std::io::{IsTerminal, Write};

use tacita_core::{Error, Result};

use crate::console::print;

/// Source of the answers to the questions.
pub struct Asker {
    /// Somebody at a terminal; else only options do.
    terminal: bool,
    /// The usual answers are taken where options give no other.
    usual: bool,
}

impl Asker {
    /// Asks on the terminal, if there is one and the usual answers are not taken.
    pub fn new(usual: bool) -> Asker {
        Asker { terminal: std::io::stdin().is_terminal() && !usual, usual }
    }

    /// Whether there is somebody to be asked.
    pub fn is_heard(&self) -> bool {
        self.terminal
    }

    /// Tells something that helps to answer.
    pub fn tell(&self, text: &str) -> Result<()> {
        if self.terminal { print(text) } else { Ok(()) }
    }

    /// The answer: what an option has `given`, or what the user types, once more as long as `read` refuses it. `option`
    /// is what gives it on a command line, `usual` what an empty line means.
    ///
    /// Errors: there is nobody to be asked, and no option gives the answer; `read` refuses what it gives; the input has
    /// ended.
    pub fn ask<T>(
        &self,
        (option, question): (&str, &str),
        given: Option<String>,
        usual: Option<&str>,
        read: impl Fn(&str) -> Result<T>,
    ) -> Result<T> {
        let of_option = |error: Error| match error {
            Error::Input(text) => Error::Input(format!("{option}: {text}")),
            other => other,
        };
        match (given, usual) {
            (Some(given), _) => return read(&given).map_err(of_option),
            (None, Some(usual)) if self.usual => return read(usual).map_err(of_option),
            (None, _) if !self.terminal => {
                let rest = if usual.is_some() { ", or --yes for the usual answer" } else { "" };
                return Err(Error::Input(format!("no terminal to ask \"{question}?\": give {option}{rest}")));
            }
            _ => (),
        }
        loop {
            let shown = usual.filter(|usual| !usual.is_empty()).map_or(String::new(), |usual| format!(" [{usual}]"));
            self.prompt(&format!("{question}{shown}: "))?;
            let mut line = String::new();
            let length = std::io::stdin().read_line(&mut line);
            if length.map_err(|error| Error::Input(format!("cannot read the terminal: {error}")))? == 0 {
                return Err(Error::Input("the input ended before the last question; no file was written".into()));
            }
            let answer = match (line.trim(), usual) {
                ("", Some(usual)) => usual,
                (answer, _) => answer,
            };
            match read(answer) {
                Ok(answer) => return Ok(answer),
                Err(error) => self.tell(&format!("  {error}"))?,
            }
        }
    }

    fn prompt(&self, text: &str) -> Result<()> {
        let mut screen = std::io::stdout();
        let failed = |error| Error::Input(format!("standard output: cannot be written: {error}"));
        write!(screen, "{text}").and_then(|()| screen.flush()).map_err(failed)
    }
}

/// Something that is not empty.
pub fn some(answer: &str) -> Result<String> {
    if answer.is_empty() { Err(Error::Input("an answer is required".into())) } else { Ok(answer.to_owned()) }
}

/// Words with commas between them.
pub fn list(answer: &str) -> Vec<String> {
    answer.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
