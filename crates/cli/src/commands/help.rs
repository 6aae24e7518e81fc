//! The outline of `--help`: groups of commands, and headings of options.

use clap::builder::Styles;
use clap::{Arg, ArgAction, Command, Subcommand};

pub const AGGREGATION: &str = "Aggregation";
pub const CHANGES: &str = "Running list";
pub const CONNECTION: &str = "Connection";
pub const GENERAL: &str = "General";
pub const GOVERNANCE: &str = "Policy and ledger";
pub const INPUT: &str = "Input";
pub const LIMITS: &str = "Limits";
pub const MATCHING: &str = "Matching";
pub const MONITORING: &str = "Monitoring";
pub const NUMBERS: &str = "Numbers";
pub const PAGE: &str = "Page";
pub const PARTIES: &str = "Parties";
pub const PARTY: &str = "Party";
pub const POOL: &str = "Pool";
pub const PROTOCOL: &str = "Protocol and security";
pub const REGISTRY: &str = "Registry";
pub const RESOURCES: &str = "Storage and resources";
pub const RESULT: &str = "Result";
pub const ROUND: &str = "Round";
pub const RULES: &str = "Rules";
pub const TABLE: &str = "Table";
pub const TERMS: &str = "Terms";

/// Groups of commands in `tacita --help`.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Jobs", &["run", "intersect", "union", "dot", "rules", "crosstab"]),
    ("Prepare and check", &["demo", "init", "inspect", "plan", "doctor", "simulate", "prepare", "pool"]),
    ("Standing services", &["serve", "desk", "relay", "helper"]),
    ("Aggregation", &["submit", "results", "round", "proxy", "oracle", "database", "key"]),
    ("Policy and ledger", &["policy", "approve", "ledger", "receipt"]),
    ("Keys and files", &["identity", "completions", "man"]),
];

/// Template of `tacita --help`, with the commands of `C` in their groups: clap itself has one list of commands.
pub fn template<C: Subcommand>() -> String {
    let commands = C::augment_subcommands(Command::new("tacita"));
    let styles = Styles::styled();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let line = |name: &&str| {
        let about = commands.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
        format!("  {literal}{name:<11}{literal:#}  {}\n", about.unwrap_or_default())
    };
    let group = |(heading, names): &(&str, &[&str])| {
        format!("{header}{heading}:{header:#}\n{}\n", names.iter().map(line).collect::<String>())
    };
    let groups: String = GROUPS.iter().map(group).collect();
    let usage = "{about-with-newline}\n{usage-heading} {usage}";
    format!("{usage}\n\n{groups}{header}{GENERAL}:{header:#}\n{{options}}{{after-help}}")
}

/// The options `--help` and `--version`, under a heading that clap's own have not.
pub fn flags() -> [Arg; 2] {
    let help = Arg::new("help").long("help").short('h').action(ArgAction::Help).global(true);
    let version = Arg::new("version").long("version").short('V').action(ArgAction::Version);
    [help.help("Print help; -h prints a summary"), version.help("Print the version")]
        .map(|flag| flag.help_heading(GENERAL))
}
