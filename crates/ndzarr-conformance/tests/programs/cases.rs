//! The binary against the cases of `testdata/`: each its own named trial.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use libtest_mimic::{Failed, Trial};
use serde_json::{Value, json};

pub(crate) fn trials() -> Vec<Trial> {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let mut trials = Vec::new();
    for family in ["zarr2", "zarr3", "draft", "n5", "bad"] {
        for entry in fs::read_dir(testdata.join(family)).expect("testdata/ exists") {
            let folder = entry.expect("a folder").path();
            let name = format!(
                "{family}/{}",
                folder.file_name().expect("a name").to_string_lossy()
            );
            trials.push(Trial::test(name, move || check(&folder)));
        }
    }
    trials.sort_by(|a, b| a.name().cmp(b.name()));
    trials
}

/// Codecs and places that ndzarr does not read yet, as its errors name them. A case that needs one
/// may be refused.
const NOT_YET: [&str; 0] = [];

/// One case with what it expects.
struct Case {
    store: PathBuf,
    fields: toml::Table,
    expected: Value,
    folder: PathBuf,
}

impl Case {
    fn field(&self, name: &str) -> &str {
        self.fields
            .get(name)
            .and_then(toml::Value::as_str)
            .unwrap_or_default()
    }

    /// The format as `info` names it.
    fn format(&self) -> &str {
        self.field("format")
            .trim_end_matches("-a")
            .trim_end_matches("-b")
    }

    /// True if a case may be answered by this refusal, because not every reader has what it needs.
    fn may_be_refused(&self, output: &Output) -> bool {
        let features = self.fields.get("features").and_then(toml::Value::as_array);
        let message = String::from_utf8_lossy(&output.stderr);
        output.status.code() == Some(1)
            && (features
                .is_some_and(|features| features.iter().any(|f| f.as_str() != Some("lenient")))
                || NOT_YET.iter().any(|what| message.contains(what)))
    }

    /// The options that `info` and `list` need: a container of N5 without a version is found only
    /// by its format, and nodes that consolidated metadata lack only without these.
    fn options(&self) -> &'static [&'static str] {
        let is_bare = self.format() == "n5" && !self.store.join("attributes.json").exists();
        if self.field("note").contains("without consolidated metadata") {
            &["--consolidated", "ignore"]
        } else if is_bare {
            &["--format", "n5"]
        } else {
            &[]
        }
    }

    fn info(&self, node: &str) -> Result<Output, Failed> {
        let output = Command::new(program())
            .arg("info")
            .arg(&self.store)
            .arg(node)
            .args(self.options())
            .output();
        Ok(output?)
    }
}

fn check(folder: &Path) -> Result<(), Failed> {
    let text = |name: &str| fs::read_to_string(folder.join(name));
    let case = Case {
        store: folder.join("store"),
        fields: text("case.toml")?.parse()?,
        expected: serde_json::from_str(&text("expected.json")?)?,
        folder: folder.to_owned(),
    };
    match case.field("kind") {
        "array" => array(&case),
        "hierarchy" => hierarchy(&case),
        "error" => error(&case),
        // Only an interface to blocks can return these.
        _ => Ok(()),
    }
}

fn array(case: &Case) -> Result<(), Failed> {
    let out = tempfile::NamedTempFile::new()?;
    let args = [
        "read".as_ref(),
        case.store.as_os_str(),
        case.field("node").as_ref(),
        "--out".as_ref(),
    ];
    let output = Command::new(program())
        .args(args)
        .arg(out.path())
        .output()?;
    if case.may_be_refused(&output) {
        return refused(&output);
    }
    let info = line(&output)?;
    same("format", &info["format"], &case.format().into())?;
    same("node", &info["node"], &"array".into())?;
    for name in [
        "shape",
        "chunk_shape",
        "shard_shape",
        "data_type",
        "dimension_names",
    ] {
        // The names are expected where the writer has them; v2 keeps them among the attributes.
        if name != "dimension_names" || case.expected[name] != Value::Null {
            same(name, &info[name], &case.expected[name])?;
        }
    }
    let expected_attributes = without_tags(&case.expected["attributes"]);
    same(
        "attributes",
        &plain(&info["attributes"], 17),
        &plain(&expected_attributes, 17),
    )?;
    let expected_fill = &case.expected["fill_value"];
    if *expected_fill != Value::Null {
        let digits = match info["data_type"].as_str() {
            Some("float16") => 3,
            Some("float32" | "complex64") => 7,
            _ => 17,
        };
        same(
            "fill_value",
            &plain(&info["fill_value"], digits),
            &plain(expected_fill, digits),
        )?;
    }
    let expected = fs::read(case.folder.join("expected.bin"))?;
    let read = fs::read(out.path())?;
    if read != expected {
        return Err(format!(
            "{} bytes were read, other than the {} expected",
            read.len(),
            expected.len()
        )
        .into());
    }
    same(
        "the line of info",
        &line(&case.info(case.field("node"))?)?,
        &info,
    )
}

fn hierarchy(case: &Case) -> Result<(), Failed> {
    let output = Command::new(program())
        .arg("list")
        .arg(&case.store)
        .args(case.options())
        .output()?;
    if case.may_be_refused(&output) {
        return refused(&output);
    }
    let output = succeed(output)?;
    let mut nodes: Vec<Value> = String::from_utf8(output.stdout)?
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    let path = |node: &Value| node["path"].as_str().map(str::to_owned);
    nodes.sort_by_key(path);
    let mut expected = case.expected["nodes"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    // The program walks.
    let below_folders = case.expected["below_folders"]
        .as_object()
        .into_iter()
        .flatten();
    expected.extend(below_folders.map(|(path, node)| json!({ "path": path, "node": node })));
    expected.sort_by_key(path);
    same("nodes", &nodes.into(), &expected.into())?;
    for (path, members) in case.expected["members"].as_object().into_iter().flatten() {
        let info = line(&case.info(path)?)?;
        same("format", &info["format"], &case.format().into())?;
        same("node", &info["node"], &"group".into())?;
        same(&format!("members of {path:?}"), &info["members"], members)?;
    }
    for (path, attributes) in case.expected["attributes"]
        .as_object()
        .into_iter()
        .flatten()
    {
        let info = line(&case.info(path)?)?;
        let attributes = plain(&without_tags(attributes), 17);
        same(
            &format!("attributes of {path:?}"),
            &plain(&info["attributes"], 17),
            &attributes,
        )?;
    }
    Ok(())
}

fn error(case: &Case) -> Result<(), Failed> {
    let out = tempfile::NamedTempFile::new()?;
    let args = [
        "read".as_ref(),
        case.store.as_os_str(),
        case.field("node").as_ref(),
        "--out".as_ref(),
    ];
    refused(
        &Command::new(program())
            .args(args)
            .arg(out.path())
            .output()?,
    )
}

fn program() -> &'static str {
    env!("CARGO_BIN_EXE_ndzarr-conformance")
}

fn succeed(output: Output) -> Result<Output, Failed> {
    match output.status.code() {
        Some(0) => Ok(output),
        _ => Err(format!(
            "{}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )
        .into()),
    }
}

/// The one line of JSON of a command that succeeded.
fn line(output: &Output) -> Result<Value, Failed> {
    let text = String::from_utf8(succeed(output.clone())?.stdout)?;
    if text.lines().count() != 1 {
        return Err(format!("{text:?} is not one line").into());
    }
    Ok(serde_json::from_str(&text)?)
}

/// Checks that bad data was refused as it has to be.
fn refused(output: &Output) -> Result<(), Failed> {
    let message = String::from_utf8_lossy(&output.stderr);
    let in_one_line = message.starts_with("error: ") && message.trim_end().lines().count() == 1;
    if output.status.code() == Some(1) && in_one_line && output.stdout.is_empty() {
        return Ok(());
    }
    Err(format!("{}: {message:?}", output.status).into())
}

fn same(what: &str, found: &Value, expected: &Value) -> Result<(), Failed> {
    if found == expected {
        Ok(())
    } else {
        Err(format!("{what}: {found}, not {expected}").into())
    }
}

/// The expected attributes write NaN as `{"$number": "NaN"}`, the binary as `"NaN"`.
fn without_tags(value: &Value) -> Value {
    match value {
        Value::Object(members) => match members.get("$number") {
            Some(number) => number.clone(),
            None => members
                .iter()
                .map(|(name, value)| (name.clone(), without_tags(value)))
                .collect::<Value>(),
        },
        Value::Array(items) => items.iter().map(without_tags).collect(),
        other => other.clone(),
    }
}

/// Numbers as texts of limited precision, so that `7` and `7.0` are the same; large integers keep
/// their text.
fn plain(value: &Value, digits: usize) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if float.abs() < 1e15 => json!(format!("{float:.*e}", digits - 1)),
            _ => json!(number.to_string()),
        },
        Value::Array(items) => items.iter().map(|item| plain(item, digits)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), plain(value, digits)))
            .collect(),
        other => other.clone(),
    }
}
