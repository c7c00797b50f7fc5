//! `ndzarr attrs`: prints and changes attributes.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ndzarr::{AnyNode, AttributeChange};
use serde_json::{Map, Value};

use crate::arguments::Global;
use crate::failure::Failure;
use crate::output::Output;
use crate::places::shown;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Path or URL of an array or a group.
    path: PathBuf,
    /// All attributes are printed if none is given.
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print one attribute.
    Get {
        /// Its name.
        name: String,
    },
    /// Set attributes, and keep the others and what other writers change.
    Set {
        /// Name and JSON: 'units="K"' 'scale=[0.5, 2]'.
        #[arg(required = true, value_name = "NAME=JSON")]
        values: Vec<String>,
    },
    /// Remove attributes.
    Rm {
        /// Their names.
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
}

pub(crate) fn run(
    arguments: &Arguments,
    global: &Global,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut node = global.open(&arguments.path)?;
    let attributes = match &node {
        AnyNode::Array(array) => array.attributes(),
        AnyNode::Group(group) => group.attributes(),
    };
    let no_attribute = |name: &str| {
        Failure::new(format_args!(
            "{} has no attribute {name:?}",
            shown(&arguments.path)
        ))
    };
    let change = match &arguments.action {
        None => return print(&Value::Object(attributes.clone()), output),
        Some(Action::Get { name }) => {
            return print(
                attributes.get(name).ok_or_else(|| no_attribute(name))?,
                output,
            );
        }
        Some(Action::Set { values }) => AttributeChange::Merge(parse(values)?),
        Some(Action::Rm { names }) => {
            if let Some(name) = names.iter().find(|name| !attributes.contains_key(*name)) {
                return Err(no_attribute(name));
            }
            AttributeChange::Remove(names.clone())
        }
    };
    match &mut node {
        AnyNode::Array(array) => array.change_attributes(&change)?,
        AnyNode::Group(group) => group.change_attributes(&change)?,
    }
    Ok(())
}

/// Prints a value, on one line with `--json`, otherwise on several.
fn print(value: &Value, output: &mut Output) -> Result<(), Failure> {
    if output.json() {
        return output.value(value);
    }
    for line in format!("{value:#}").lines() {
        output.line(line)?;
    }
    Ok(())
}

fn parse(values: &[String]) -> Result<Map<String, Value>, Failure> {
    let pair = |text: &String| {
        let (name, json) = text
            .split_once('=')
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| Failure::usage(format_args!("{text:?} is not of the form NAME=JSON")))?;
        let value = serde_json::from_str(json).map_err(|error| {
            let what =
                format!("{json:?} is not JSON: {error}; a string has quotes: '{name}=\"…\"'");
            Failure::usage(what)
        })?;
        if let Some(number) = integers(json).find(|number| !is_exact(number)) {
            let what =
                format!("{number} does not fit in 64 bits, and would be stored as another number");
            return Err(Failure::usage(format_args!(
                "{what}; as a string it is kept: '{name}=\"{number}\"'"
            )));
        }
        Ok((name.to_owned(), value))
    };
    let mut attributes = Map::new();
    for text in values {
        let (name, value) = pair(text)?;
        if attributes.contains_key(&name) {
            return Err(Failure::usage(format_args!("{name:?} has two values")));
        }
        attributes.insert(name, value);
    }
    Ok(attributes)
}

/// The integers in a text of JSON.
fn integers(json: &str) -> impl Iterator<Item = &str> {
    // Text is between quotes; a quote in it is escaped.
    let mut in_text = false;
    let mut is_escaped = false;
    let parts = json.split(move |c: char| {
        let was_in_text = in_text;
        let ends_text = in_text && c == '"' && !is_escaped;
        is_escaped = in_text && c == '\\' && !is_escaped;
        in_text = !ends_text && (in_text || c == '"');
        was_in_text || !(c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.'))
    });
    parts.filter(|part| {
        part.trim_start_matches('-')
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            && !part.is_empty()
    })
}

fn is_exact(integer: &str) -> bool {
    integer.parse::<i64>().is_ok() || integer.parse::<u64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_json() {
        let values = ["a=1", "b=\"x=y\"", "c={\"d\": null}"].map(str::to_owned);
        for exact in [
            "a=18446744073709551615",
            "a=-9223372036854775808",
            "a=1e300",
            "a=0.12345678901234567890123",
        ] {
            assert!(parse(&[exact.to_owned()]).is_ok(), "{exact}");
        }
        let text =
            r#"a={"123456789012345678901234567890\"": "\\\"123456789012345678901234567890"}"#;
        assert!(parse(&[text.to_owned()]).is_ok());
        let parsed = parse(&values).expect("it is valid");
        assert_eq!(
            Value::Object(parsed).to_string(),
            r#"{"a":1,"b":"x=y","c":{"d":null}}"#
        );
        for wrong in [
            "a",
            "=1",
            "a=x",
            "a=",
            "a=[1, -9223372036854775809]",
            "a=18446744073709551616",
        ] {
            assert!(parse(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
        let twice = ["a=1", "b=1", "a=2"].map(str::to_owned);
        let failure = parse(&twice).expect_err("only one can be stored");
        assert_eq!(failure.message(), r#""a" has two values"#);
    }
}
