//! Help: every command in a group, every option under a heading, examples that can be typed, short sentences.

use std::collections::BTreeSet;
use std::process::Command as Process;

use clap::{Arg, Command, CommandFactory, Parser};
use tacita::commands::Cli;

use crate::common::{Home, examples, tacita};

/// The longest sentence of a help text, in words.
const MAX_WORDS: usize = 25;

/// The widest line of the list of commands and of an example: that of a narrow terminal.
const MAX_WIDTH: usize = 80;

/// Words that a help text does not begin with: it begins with a noun or a verb.
const NO_BEGINNINGS: [&str; 13] =
    ["a", "all", "an", "here", "how", "if", "it", "the", "there", "what", "where", "which", "who"];

/// Every visible command with its actions, by its full name.
fn commands() -> Vec<(String, Command)> {
    fn add(name: String, command: &Command, found: &mut Vec<(String, Command)>) {
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
            add(format!("{name} {}", inner.get_name()), inner, found);
        }
        found.push((name, command.clone()));
    }
    let mut found = Vec::new();
    add("tacita".into(), &Cli::command(), &mut found);
    assert!(found.len() > 40, "{}", found.len());
    found
}

fn visible(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|argument| !argument.is_hide_set())
}

/// The example commands in a text of help, each on one line.
fn examples_in(help: &str) -> Vec<String> {
    let Some((_, rest)) = help.split_once("Examples:\n") else { return Vec::new() };
    let block = rest.split("\n\n").next().unwrap().replace("\\\n", "");
    block.lines().map(|line| line.trim().to_owned()).collect()
}

fn help_after(command: &Command) -> String {
    command.get_after_help().map_or(String::new(), ToString::to_string)
}

/// The invocations of the program in a line for a shell, as words.
fn invocations(line: &str) -> Vec<Vec<String>> {
    let (mut all, mut words, mut word, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    for c in line.chars().chain([' ']) {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => match std::mem::take(&mut word) {
                separator if ["|", "&&"].contains(&separator.as_str()) => all.push(std::mem::take(&mut words)),
                word if word.is_empty() => (),
                word => words.push(word),
            },
            _ => word.push(c),
        }
    }
    assert!(!quoted, "{line}");
    all.push(words);
    all.retain(|words| words[0] == "tacita");
    for words in &mut all {
        // What the shell does with the output is no argument.
        words.truncate(words.iter().position(|word| word == ">").unwrap_or(words.len()));
    }
    all
}

/// Every invocation in the examples of a command.
fn invocations_of(command: &Command) -> Vec<Vec<String>> {
    examples_in(&help_after(command)).iter().flat_map(|line| invocations(line)).collect()
}

#[test]
fn every_command_stands_in_one_group_with_a_short_phrase() {
    let help = tacita(&["--help"]).well().stdout;
    let (before, _) = help.split_once("\nGeneral:\n").unwrap();
    let (_, list) = before.split_once("Usage: ").unwrap();
    let listed: Vec<&str> = list.lines().filter(|line| line.starts_with("  ")).collect();
    let root = Cli::command();
    let lines = root.get_subcommands().filter(|command| !command.is_hide_set()).map(|command| {
        let about = command.get_about().unwrap().to_string();
        assert!(!about.contains(". "), "not one phrase: {about}");
        format!("  {:<11}  {about}", command.get_name())
    });
    let lines: BTreeSet<String> = lines.collect();
    assert_eq!(listed.len(), lines.len(), "{help}");
    assert_eq!(listed.iter().map(|line| (*line).to_owned()).collect::<BTreeSet<_>>(), lines);
    for line in listed {
        assert!(line.chars().count() <= MAX_WIDTH, "{line}");
    }
    let headings: Vec<&str> = list.lines().skip(1).filter(|line| line.ends_with(':')).collect();
    assert_eq!(
        headings,
        ["Jobs:", "Prepare and check:", "Standing services:", "Aggregation:", "Policy and ledger:", "Keys and files:"],
        "{help}"
    );
}

#[test]
fn every_option_stands_under_a_heading() {
    for (name, command) in commands() {
        for argument in visible(&command).filter(|argument| !argument.is_positional()) {
            assert!(argument.get_help_heading().is_some(), "{name}: {argument} has no heading");
        }
        // Not even clap's own.
        let words: Vec<&str> = name.split(' ').skip(1).chain(["--help"]).collect();
        if words.len() > 1 {
            assert!(!tacita(&words).well().stdout.contains("\nOptions:\n"), "{name}");
        }
    }
}

#[test]
fn examples_are_accepted_and_name_files_that_exist() {
    for (name, command) in commands() {
        let invoked = invocations_of(&command);
        assert!(invoked.iter().any(|words| words.join(" ").starts_with(&name)), "{name} has no example");
        let text = help_after(&command);
        for line in text.lines().filter(|line| line.starts_with("  ")) {
            assert!(line.chars().count() <= MAX_WIDTH, "{name}: {line}");
        }
        for words in invoked {
            // In place of the fingerprint that the reader puts in.
            let pin = format!("SHA256:{}", "A".repeat(43));
            let given = words.iter().map(|word| word.replace("SHA256:...", &pin));
            if let Err(error) = Cli::try_parse_from(given) {
                panic!("{}: {error}", words.join(" "));
            }
            for word in &words {
                let Some((_, path)) = word.split_once("examples/") else { continue };
                assert!(examples().join(path).is_file(), "{name}: {word} is not there");
            }
        }
    }
}

/// The parser of this test is not deaf to mistakes.
#[test]
fn an_example_with_an_option_that_does_not_exist_is_noticed() {
    let wrong =
        Command::new("x").after_help("Examples:\n  zcat a | tacita pool \\\n    status 'a b' --no > out\n\nMore.");
    let invoked = invocations_of(&wrong);
    assert_eq!(invoked, [["tacita", "pool", "status", "a b", "--no"]]);
    assert!(Cli::try_parse_from(&invoked[0]).is_err() && Cli::try_parse_from(&invoked[0][..4]).is_ok());
}

/// Examples that use the project's samples alone do what they say.
#[test]
fn examples_with_samples_run() {
    let home = Home::new();
    std::os::unix::fs::symlink(examples().canonicalize().unwrap(), home.at("examples")).unwrap();
    let all: BTreeSet<Vec<String>> = commands().iter().flat_map(|(_, command)| invocations_of(command)).collect();
    let with_samples = all.iter().filter(|words| words.iter().any(|word| word.contains("examples/")));
    let mut ran = 0;
    for words in with_samples {
        // One example may write where another has written.
        let force: &[&str] = if words[1] == "simulate" { &["--force"] } else { &[] };
        let done =
            Process::new(env!("CARGO_BIN_EXE_tacita")).args(&words[1..]).args(force).current_dir(home.at("")).output();
        let done = done.unwrap();
        assert!(done.status.success(), "{}: {}", words.join(" "), String::from_utf8_lossy(&done.stderr));
        ran += 1;
    }
    assert!(ran >= 8, "{ran}");
}

/// The texts of a command's help, without its examples.
fn texts(command: &Command) -> Vec<String> {
    let after = help_after(command);
    let mut texts: Vec<String> =
        after.split("\n\n").filter(|block| !block.contains("\n  ")).map(str::to_owned).collect();
    texts.extend([command.get_about(), command.get_long_about()].into_iter().flatten().map(ToString::to_string));
    for argument in visible(command) {
        texts.extend([argument.get_help(), argument.get_long_help()].into_iter().flatten().map(ToString::to_string));
        let values = argument.get_possible_values();
        texts.extend(values.iter().filter_map(|value| value.get_help()).map(ToString::to_string));
    }
    texts.retain(|text| !text.is_empty());
    texts
}

/// The sentences of a text; a default in brackets is one, too.
fn sentences(text: &str) -> Vec<String> {
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
    paragraphs
        .flat_map(|paragraph| {
            let parts = paragraph.replace(" [default", ". [default");
            parts.split(". ").map(str::to_owned).collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn sentences_are_short_and_begin_with_a_noun_or_a_verb() {
    for (name, command) in commands() {
        for argument in visible(&command) {
            assert!(argument.get_help().is_some(), "{name}: {argument} has no help");
        }
        for text in texts(&command) {
            for sentence in sentences(&text) {
                let words = sentence.split_whitespace().count();
                assert!(words <= MAX_WORDS, "{name}: {words} words: {sentence}");
            }
        }
        let about = command.get_about().into_iter();
        for text in about.chain(visible(&command).filter_map(Arg::get_help)).map(ToString::to_string) {
            let first = text.split_whitespace().next().unwrap().to_lowercase();
            assert!(!NO_BEGINNINGS.contains(&first.as_str()), "{name}: {text}");
        }
    }
}
