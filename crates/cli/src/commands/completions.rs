//! `tacita completions` and `tacita man`

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use tacita_core::{Error, Result};

use super::Cli;
use crate::console::print;

/// Print the completion script of a shell.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita completions bash > ~/.local/share/bash-completion/completions/tacita
  tacita completions zsh > ~/.zfunc/_tacita
  tacita completions fish > ~/.config/fish/completions/tacita.fish

For zsh, set fpath+=~/.zfunc before compinit in ~/.zshrc.")]
pub struct Completions {
    /// Shell to complete commands in.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "tacita", &mut script);
        print(String::from_utf8_lossy(&script).trim_end())
    }
}

/// Write the manual pages to a directory.
///
/// Each command has its page, as tacita-run.1.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita man ~/.local/share/man/man1 && man tacita-run")]
pub struct Man {
    /// Directory for the pages, created if missing. Pages of an earlier version are replaced.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl Man {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        let failed =
            |error: std::io::Error| Error::Input(format!("{}: cannot be written: {error}", self.directory.display()));
        std::fs::create_dir_all(&self.directory).map_err(failed)?;
        clap_mangen::generate_to(Cli::command(), &self.directory).map_err(failed)
    }
}
