//! `tacita completions` and `tacita man`

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use tacita_core::{Error, Result};

use super::Cli;
use crate::console::print;

/// Print what a shell needs to complete commands and options.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
  tacita completions bash > ~/.local/share/bash-completion/completions/tacita\n  \
  tacita completions zsh > ~/.zfunc/_tacita     # with fpath+=~/.zfunc before compinit in ~/.zshrc\n  \
  tacita completions fish > ~/.config/fish/completions/tacita.fish")]
pub struct Completions {
    /// The shell.
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

/// Write the manual page of each command, as tacita-run.1, to a directory.
#[derive(Args)]
#[command(after_help = "Example: tacita man ~/.local/share/man/man1 && man tacita-run")]
pub struct Man {
    /// The directory, which is made if it is not there. Pages of an earlier version are replaced.
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
