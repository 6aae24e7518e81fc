//! The `tacita` command: its options, what it prints, and how it ends.

pub mod commands;
mod console;
mod interrupt;
mod threads;

use std::process::ExitCode;

use clap::Parser;
use commands::Cli;
use console::{Log, LogOptions};
use tacita_core::{Error, ErrorKind};
use tacita_node::base::exit::{exit_code, one_line};
use tacita_node::transport::key_exchange::OfferedGroups;

/// Does what the arguments of this process say.
pub fn main() -> ExitCode {
    tacita_node::base::kernels::choose();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let voice = cli.voice();
    console::init(voice);
    std::panic::set_hook(Box::new(console::note_panic));
    match std::panic::catch_unwind(|| OfferedGroups::of_environment().and_then(|_| cli.execute())) {
        Ok(Ok(code)) => ExitCode::from(code),
        Ok(Err(error)) => {
            tracing::error!("{}", commands::fitting(&one_line(&error)));
            ExitCode::from(exit_code(error.kind()))
        }
        Err(_) => {
            tracing::error!("{}", one_line(&Error::Internal(console::last_panic())));
            ExitCode::from(exit_code(ErrorKind::Internal))
        }
    }
}

/// Prints the message for a command line that cannot be parsed: help and version in full, errors in one line.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    // What cannot be understood may still say in which form it wants to hear that.
    let told: Vec<String> = std::env::args().collect();
    let word = told.iter().enumerate().find_map(|(place, argument)| match argument.split_once('=') {
        Some(("--log" | "--log-format", word)) => Some(word),
        None if argument == "--log" || argument == "--log-format" => told.get(place + 1).map(String::as_str),
        _ => None,
    });
    let log = match word {
        Some("json") => Log::Json,
        Some(_) => Log::Text,
        None => commands::log_form(),
    };
    console::init(LogOptions { log, ..LogOptions::default() });
    tracing::error!("{}", commands::usage_error(error));
    ExitCode::from(exit_code(ErrorKind::Input))
}
