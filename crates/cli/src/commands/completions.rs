//! `tacita completions` and `tacita man`

use std::io;
use std::path::{Path, PathBuf};

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
            |error: io::Error| Error::Input(format!("{}: cannot be written: {error}", self.directory.display()));
        std::fs::create_dir_all(&self.directory).map_err(failed)?;
        let mut command = Cli::command().disable_help_subcommand(true);
        command.build();
        write_pages(&command, &self.directory).map_err(failed)
    }
}

/// Writes the pages of a command and of its actions.
fn write_pages(command: &clap::Command, directory: &Path) -> io::Result<()> {
    for action in command.get_subcommands().filter(|action| !action.is_hide_set()) {
        write_pages(action, directory)?;
    }
    let page = clap_mangen::Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text)?;
    // Examples have a heading of their own, and keep their lines.
    let text = String::from_utf8_lossy(&text).replace(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n.nf\n");
    std::fs::write(directory.join(page.get_filename()), text.replace("\n.SH VERSION", "\n.fi\n.SH VERSION"))
}
