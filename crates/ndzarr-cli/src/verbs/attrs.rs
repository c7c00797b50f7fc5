//! `ndzarr attrs`: prints and changes attributes.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ndzarr::{AnyNode, AttributeChange};
use serde_json::{Map, Value};

use crate::arguments::Global;
use crate::failure::Failure;
use crate::output::Output;

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

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Output) -> Result<(), Failure> {
    let mut node = global.open(&arguments.path)?;
    let attributes = match &node {
        AnyNode::Array(array) => array.attributes(),
        AnyNode::Group(group) => group.attributes(),
    };
    let no_attribute =
        |name: &str| Failure::new(format_args!("{} has no attribute {name:?}", arguments.path.display()));
    let change = match &arguments.action {
        None => return print(&Value::Object(attributes.clone()), output),
        Some(Action::Get { name }) => {
            return print(attributes.get(name).ok_or_else(|| no_attribute(name))?, output);
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

/// On one line with `--json`, otherwise on several.
fn print(value: &Value, output: &mut Output) -> Result<(), Failure> {
    if output.json() {
        return output.value(value);
    }
    format!("{value:#}").lines().try_for_each(|line| output.line(line))
}

fn parse(values: &[String]) -> Result<Map<String, Value>, Failure> {
    let pair = |text: &String| {
        let (name, json) = text
            .split_once('=')
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| Failure::usage(format_args!("{text:?} is not of the form NAME=JSON")))?;
        let value = serde_json::from_str(json).map_err(|error| {
            let what = format!("{json:?} is not JSON: {error}; a string has quotes: '{name}=\"…\"'");
            Failure::usage(what)
        })?;
        Ok((name.to_owned(), value))
    };
    values.iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_json() {
        let values = ["a=1", "b=\"x=y\"", "c={\"d\": null}"].map(str::to_owned);
        let parsed = parse(&values).expect("it is valid");
        assert_eq!(Value::Object(parsed).to_string(), r#"{"a":1,"b":"x=y","c":{"d":null}}"#);
        for wrong in ["a", "=1", "a=x", "a="] {
            assert!(parse(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }
}
