//! Errors about arguments that cannot be parsed, with what to type instead.

use std::borrow::Cow;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory, Error};

use crate::command::Cli;

/// Verbs, with their names in other programs.
const VERBS: [(&str, &[&str]); 13] = [
    (
        "info",
        &["describe", "head", "inspect", "metadata", "show", "stat"],
    ),
    ("ls", &["dir", "list", "tree"]),
    ("cat", &["dump", "get", "print", "read"]),
    ("view", &["image", "picture", "plot", "png"]),
    ("stats", &["histogram", "max", "mean", "min", "summary"]),
    ("attrs", &["attribute", "attributes"]),
    ("cp", &["clone", "copy", "rechunk", "reencode"]),
    ("import", &["create", "load", "new", "write"]),
    ("pyramid", &["downsample", "levels", "multiscale"]),
    ("rm", &["del", "delete", "remove"]),
    ("verify", &["check", "fsck", "validate"]),
    ("diff", &["cmp", "compare"]),
    ("repair", &["clean", "fix"]),
];

/// Options, with their names in other programs. The first that the verb has counts.
const OPTIONS: [(&str, &[&str]); 11] = [
    (
        "codec",
        &[
            "codecs",
            "compression",
            "compressor",
            "compressors",
            "filter",
        ],
    ),
    (
        "chunks",
        &["block-size", "blocks", "chunk-shape", "chunk-size"],
    ),
    ("shards", &["shard-shape", "shard-size"]),
    ("dtype", &["data-type", "type"]),
    ("format", &["to", "zarr-format", "zarr-version"]),
    ("to", &["format"]),
    ("overwrite", &["force", "replace"]),
    ("yes", &["force"]),
    ("select", &["region", "selection", "slice"]),
    ("memory", &["max-memory", "mem", "ram"]),
    ("threads", &["cores", "jobs", "workers"]),
];

/// The error and what to type instead, for people.
pub(crate) fn text(error: &Error) -> String {
    let text = error.render().to_string();
    let Some(tip) = tip(error) else { return text };
    let mut paragraphs: Vec<&str> = text.split("\n\n").collect();
    // This tip says more than clap's.
    paragraphs.retain(|paragraph| !paragraph.starts_with("  tip:"));
    let tip = format!("  tip: {tip}");
    paragraphs.insert(1.min(paragraphs.len()), &tip);
    paragraphs.join("\n\n")
}

/// The error and what to type instead, in one line.
pub(crate) fn line(error: &Error) -> String {
    let text = error.render().to_string();
    let line = text
        .lines()
        .take_while(|line| !line.is_empty())
        .map(str::trim)
        .collect::<Vec<_>>()
        .join(" ");
    let line = line.strip_prefix("error: ").unwrap_or(&line).to_owned();
    match tip(error) {
        Some(tip) => format!("{line}; {tip}"),
        None => line,
    }
}

/// What to type instead of the program's arguments.
fn tip(error: &Error) -> Option<String> {
    let arguments: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let mut command = Cli::command();
    command.build();
    tip_of(error, &command, &arguments)
}

fn tip_of(error: &Error, command: &Command, arguments: &[String]) -> Option<String> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        // The best is the last.
        Some(ContextValue::Strings(texts)) => texts.last().map(String::as_str),
        _ => None,
    };
    let verb = arguments
        .iter()
        .find_map(|word| command.find_subcommand(word));
    match error.kind() {
        ErrorKind::InvalidSubcommand if verb.is_none() => {
            let word = context(ContextKind::InvalidSubcommand)?;
            let known = VERBS
                .iter()
                .find(|(_, others)| others.contains(&word))
                .map(|(verb, _)| *verb);
            let verb = known.or(context(ContextKind::SuggestedSubcommand))?;
            Some(format!("type `{}`", line_with(arguments, word, verb)))
        }
        ErrorKind::MissingRequiredArgument => {
            let example = verb?.get_after_help()?.to_string();
            Some(format!(
                "for example, `{}`",
                example.trim_start_matches("Example: ")
            ))
        }
        ErrorKind::UnknownArgument => unknown(verb?, arguments, context(ContextKind::InvalidArg)?),
        _ => None,
    }
}

/// The tip about an argument that the verb does not have.
fn unknown(verb: &Command, arguments: &[String], found: &str) -> Option<String> {
    // An option before it may have been taken for a selection, which may begin with a hyphen.
    let unknown = arguments
        .iter()
        .find(|word| word.starts_with("--") && option(verb, word).is_none());
    if let Some(unknown) = unknown.filter(|word| *word != "--") {
        let name = unknown
            .trim_start_matches('-')
            .split('=')
            .next()
            .unwrap_or_default();
        let instead = format!("--{}", other_name(verb, name)?);
        return Some(format!(
            "type `{}`",
            line_with(arguments, &format!("--{name}"), &instead)
        ));
    }
    if matches!(found, "-r" | "-R" | "--recursive")
        && ["cp", "rm", "verify"].contains(&verb.get_name())
    {
        return Some(format!(
            "{} takes a group with everything below it, without {found}",
            verb.get_name()
        ));
    }
    let takes_selection = verb
        .get_positionals()
        .any(|argument| argument.get_id() == "selection");
    if !takes_selection || found.starts_with("--") {
        return None;
    }
    let at = arguments.iter().position(|word| word == found)?;
    let selection = format!(
        "{}, {}",
        arguments.get(at.checked_sub(1)?)?,
        arguments[at..].join(", ")
    );
    let place = arguments.get(at.checked_sub(2)?)?;
    let selection = selection.replace(",,", ",");
    Some(format!(
        "a selection is one argument: `ndzarr {} {} \"{selection}\"`",
        verb.get_name(),
        quoted(place)
    ))
}

/// The option of a verb that a word of the command line names.
fn option<'v>(verb: &'v Command, word: &str) -> Option<&'v Arg> {
    let name = word
        .trim_start_matches('-')
        .split('=')
        .next()
        .unwrap_or_default();
    verb.get_arguments()
        .find(|argument| argument.get_long() == Some(name))
}

/// The option that is meant: one with this name in other programs, or one that begins like it.
fn other_name<'v>(verb: &'v Command, name: &str) -> Option<&'v str> {
    let names = || verb.get_arguments().filter_map(Arg::get_long);
    let synonym = OPTIONS
        .iter()
        .filter(|(_, others)| others.contains(&name))
        .find_map(|(option, _)| names().find(|known| known == option));
    let n_common = |known: &str| {
        known
            .bytes()
            .zip(name.bytes())
            .take_while(|(a, b)| a == b)
            .count()
    };
    synonym.or_else(|| {
        names()
            .filter(|known| n_common(known) >= 3)
            .max_by_key(|known| n_common(known))
    })
}

/// The command line with `instead` in place of the first argument that is `word`, or begins with it
/// and `=`.
fn line_with(arguments: &[String], word: &str, instead: &str) -> String {
    let mut line = "ndzarr".to_owned();
    let mut is_replaced = false;
    for argument in arguments {
        let rest = argument
            .strip_prefix(word)
            .filter(|rest| rest.is_empty() || rest.starts_with('='));
        let shown = match rest.filter(|_| !is_replaced) {
            Some(rest) => {
                is_replaced = true;
                Cow::Owned(format!("{instead}{rest}"))
            }
            None => quoted(argument),
        };
        line = format!("{line} {shown}");
    }
    line
}

/// A word in the quotes that a shell needs.
fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tip for a command line.
    fn tip(line: &str) -> Option<String> {
        let mut command = Cli::command();
        command.build();
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let words = std::iter::once("ndzarr").chain(line.split(' '));
        let error = Cli::command()
            .try_get_matches_from(words)
            .expect_err("it is wrong");
        tip_of(&error, &command, &arguments)
    }

    #[test]
    fn verbs_of_other_programs_are_known() {
        assert_eq!(
            tip("copy a b --chunks 4,4").as_deref(),
            Some("type `ndzarr cp a b --chunks 4,4`")
        );
        assert_eq!(
            tip("--json tree a;b").as_deref(),
            Some("type `ndzarr --json ls 'a;b'`")
        );
        assert_eq!(tip("verifyx a").as_deref(), Some("type `ndzarr verify a`"));
        assert_eq!(tip("xyz a"), None);
        let command = Cli::command();
        for (verb, others) in VERBS {
            assert!(command.find_subcommand(verb).is_some(), "{verb}");
            assert!(
                others
                    .iter()
                    .all(|other| command.find_subcommand(other).is_none()),
                "{verb}"
            );
        }
    }

    #[test]
    fn options_of_other_programs_are_known() {
        for (line, instead) in [
            (
                "cp a b --compressor zstd",
                "type `ndzarr cp a b --codec zstd`",
            ),
            ("cp a b --mem=1GiB", "type `ndzarr cp a b --memory=1GiB`"),
            ("cp a b --chunk 4,4", "type `ndzarr cp a b --chunks 4,4`"),
            ("rm a --forc", "type `ndzarr rm a --force`"),
            (
                "cat a --n5-axis reversed",
                "type `ndzarr cat a --n5-axes reversed`",
            ),
            (
                "cp a b -r",
                "cp takes a group with everything below it, without -r",
            ),
        ] {
            assert_eq!(tip(line).as_deref(), Some(instead), "{line}");
        }
        for (option, _) in OPTIONS {
            let mut verbs = Cli::command();
            verbs.build();
            let has = |verb: &Command| {
                verb.get_arguments()
                    .any(|known| known.get_long() == Some(option))
            };
            assert!(verbs.get_subcommands().any(has), "{option}");
        }
    }

    #[test]
    fn what_is_missing_is_shown_by_an_example() {
        let tip = tip("cp a").expect("a tip");
        assert!(
            tip.starts_with("for example, `ndzarr cp volume.n5/s0 volume.zarr"),
            "{tip}"
        );
    }

    #[test]
    fn a_selection_is_one_argument() {
        let line = tip("cat a.zarr 3 4").expect("a tip");
        assert_eq!(
            line,
            "a selection is one argument: `ndzarr cat a.zarr \"3, 4\"`"
        );
        assert!(tip("cat a.zarr 3, 4").is_some_and(|tip| tip.contains("\"3, 4\"")));
    }
}
