//! Messages are written for the users of the command. In Python its options are arguments, or what another package has
//! for them.

use tacita_node::base::text::without_command_line;

/// Options for reading text, which packages for tables do in Python.
const OF_TEXT: [&str; 2] = ["encoding", "delimiter"];

/// Options in whose place a job file has a key, which messages name first.
const OF_JOB_FILES: [&str; 7] = ["no-header", "sheet", "skip", "separator", "lines", "basket", "normalize"];

/// Names of the arguments that differ from the names of their options.
const RENAMED: [(&str, &str); 5] =
    [("input", "data"), ("as", "party"), ("resume", "resume=True"), ("meet", "meet=True"), ("force", "overwrite=True")];

/// A message in which options are arguments.
pub fn as_arguments(message: &str) -> String {
    let message = without_command_line(message);
    let (mut told, mut rest) = (String::new(), &message[..]);
    let mut of_text = false;
    while let Some(at) = rest.find("--") {
        let (before, option) = (&rest[..at], &rest[at + 2..]);
        let length = option.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(option.len());
        let name = &option[..length];
        told.push_str(before);
        rest = &option[length..];
        let begins = before.is_empty() || before.ends_with([' ', '`', '(', '[']);
        let said_before = told.strip_suffix(" or ").map(|kept| kept.trim_end_matches(',').len());
        if !begins || name.is_empty() || of_command(&told) {
            told.push_str("--");
            told.push_str(name);
        } else if let (true, Some(kept)) = (OF_JOB_FILES.contains(&name), said_before) {
            told.truncate(kept);
            rest = without_value(rest);
        } else if OF_TEXT.contains(&name) {
            of_text = true;
            told.push_str("--");
            told.push_str(name);
        } else {
            told.push_str(&argument(name, rest));
            if name == "input" {
                rest = without_value(rest);
            }
        }
    }
    told.push_str(rest);
    if of_text {
        format!("{told}. (Those are the command's: in Python, read it with pandas.read_csv, and give the table)")
    } else {
        told
    }
}

/// The argument in place of an option, which has this behind it.
fn argument(name: &str, behind: &str) -> String {
    if let Some((_, renamed)) = RENAMED.iter().find(|(option, _)| *option == name) {
        return (*renamed).to_owned();
    }
    match name {
        // Tables on disk are the command's; of a run on many machines it is an argument.
        "work" if behind.starts_with(" DIR") => "the command's --work".to_owned(),
        _ if name.starts_with("allow-") => format!("{}=True", name.replace('-', "_")),
        _ => name.replace('-', "_"),
    }
}

/// Whether an option that comes next is one of a command that a message quotes.
fn of_command(before: &str) -> bool {
    before
        .rsplit_once('`')
        .is_some_and(|(earlier, quoted)| earlier.matches('`').count() % 2 == 0 && quoted.starts_with("tacita "))
}

/// Returns the text behind an option's value, if it has one.
fn without_value(behind: &str) -> &str {
    let Some(value) = behind.strip_prefix(' ') else { return behind };
    let end = value.find([',', ';', ':', ' ', ')']).unwrap_or(value.len());
    if value[..end].chars().all(|c| c.is_ascii_uppercase()) { &value[end..] } else { behind }
}
