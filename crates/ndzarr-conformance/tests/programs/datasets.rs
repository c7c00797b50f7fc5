//! The datasets of `testdata/cf` as xarray shows them.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, str};

use libtest_mimic::{Failed, Trial};
use serde_json::{Value, json};

pub(crate) fn trials() -> Vec<Trial> {
    let family = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/cf");
    let folders = fs::read_dir(family)
        .expect("testdata/ exists")
        .map(|entry| entry.expect("a folder").path());
    let trial = |folder: std::path::PathBuf| {
        let name = format!(
            "cf/{}",
            folder.file_name().expect("a name").to_string_lossy()
        );
        Trial::test(name, move || check(&folder))
    };
    folders.map(trial).collect()
}

fn check(folder: &Path) -> Result<(), Failed> {
    let expected: Value = serde_json::from_slice(&fs::read(folder.join("expected.json"))?)?;
    let mut requests = vec![json!({})];
    let mut wanted = vec![json!({
        "coordinates": expected["coordinates"], "data_variables": expected["data_variables"],
    })];
    for (name, variable) in expected["variables"].as_object().ok_or("no variables")? {
        requests.push(json!({"variable": name}));
        wanted.push(variable.clone());
    }
    for selection in expected["selections"].as_array().ok_or("no selections")? {
        requests.push(json!({"variable": selection["variable"], "sel": how(&selection["sel"])}));
        wanted.push(selection.clone());
    }
    let answers = answers_to(&folder.join("store"), &requests)?;
    for ((request, wanted), answer) in requests.iter().zip(&wanted).zip(&answers) {
        let keys: &[&str] = match (request.get("variable"), request.get("sel")) {
            (None, _) => &["coordinates", "data_variables"],
            (_, None) => &["dimensions", "shape", "type", "values"],
            (_, Some(_)) => &["shape", "type", "values"],
        };
        for key in keys {
            if answer[key] != wanted[key] {
                return Err(format!("{request}: {key} of {answer}, not {}", wanted[key]).into());
            }
        }
    }
    if answers.len() == requests.len() {
        Ok(())
    } else {
        Err("there are fewer answers than requests".into())
    }
}

/// `["lat", "range", 1, 2]` as the program takes it.
fn how(sel: &Value) -> Value {
    let one = |by: &Value| {
        let labels = &by.as_array().map_or(&[][..], |by| &by[2..]);
        let labels = if labels.len() == 1 {
            labels[0].clone()
        } else {
            json!(labels)
        };
        json!([by[0], {by[1].as_str().unwrap_or_default(): labels}])
    };
    sel.as_array()
        .map(|sel| sel.iter().map(one).collect())
        .unwrap_or_default()
}

fn answers_to(store: &Path, requests: &[Value]) -> Result<Vec<Value>, Failed> {
    let program = env!("CARGO_BIN_EXE_ndzarr-conformance");
    let mut child = Command::new(program)
        .arg("dataset")
        .arg(store)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let input: String = requests
        .iter()
        .map(|request| format!("{request}\n"))
        .collect();
    child
        .stdin
        .take()
        .ok_or("no standard input")?
        .write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    Ok(str::from_utf8(&output.stdout)?
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?)
}
