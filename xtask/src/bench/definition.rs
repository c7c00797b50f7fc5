//! The rows of the bench, from `benchmarks/definitions/*.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::verdict::{Job, Time};
use crate::python::repository;

/// One workload, with one row for each operation on it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) what: String,
    /// Shape of the array, of uint16 elements.
    #[serde(default)]
    pub(super) shape: Vec<u64>,
    /// The workload whose dataset this one uses.
    pub(super) of: Option<String>,
    /// The region, as start and end along each axis; everything if absent.
    #[serde(default)]
    pub(super) region: Vec<[u64; 2]>,
    /// True if all engines are called from Python, ndzarr as its wheel.
    #[serde(default)]
    pub(super) python: bool,
    /// How many random inner chunks are read.
    #[serde(default)]
    pub(super) n_chunks: usize,
    /// Groups of arrays instead of an array.
    pub(super) listing: Option<Listing>,
    pub(super) dataset: Option<Dataset>,
    /// The layout of the dataset, for the engine without a library.
    pub(super) layout: Option<serde_json::Value>,
    #[serde(rename = "row")]
    pub(super) rows: Vec<Row>,
}

/// How a dataset is made.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Dataset {
    /// Of tensorstore.
    pub(super) driver: String,
    /// The document of the array, except for obvious members.
    pub(super) metadata: serde_json::Value,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listing {
    pub(super) groups: usize,
    pub(super) arrays: usize,
}

/// An operation, by ndzarr and its peers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    pub(super) operation: String,
    /// Instead of the operation, where there are several rows of one.
    pub(super) name: Option<String>,
    /// The engine that is ndzarr here.
    #[serde(default = "ndzarr")]
    pub(super) by: String,
    /// The greatest allowed ratio of the time to the best peer's.
    pub(super) target: f64,
    /// The kind of time that the target is of.
    #[serde(default)]
    pub(super) time: Time,
    /// Why it may be slower than at an earlier commit.
    pub(super) gives_up: Option<String>,
    pub(super) peers: Vec<String>,
    /// The strongest peers, for a short run.
    pub(super) quick: Vec<String>,
    #[serde(default = "two")]
    pub(super) threads: usize,
    #[serde(default = "none")]
    pub(super) durability: String,
    /// How ndzarr's writers are serialized: `auto` or `portable`.
    #[serde(default = "auto")]
    pub(super) locking: String,
    /// The memory limit, in bytes.
    pub(super) memory_bytes: Option<u64>,
    /// True if an N5 array is shown with reversed axes.
    #[serde(default)]
    pub(super) reversed_axes: bool,
    /// Of a copy: the shape of the chunks that it has, and that of its shards.
    #[serde(default)]
    pub(super) to_chunks: Vec<u64>,
    #[serde(default)]
    pub(super) to_shards: Vec<u64>,
    /// The workload that `ndzarr-into-c` reads, into an array of order C.
    pub(super) into_c: Option<String>,
    /// True if the engine without a library can do it.
    #[serde(default = "yes")]
    pub(super) floor: bool,
    /// True if a short run leaves it out.
    #[serde(default)]
    pub(super) full_only: bool,
}

fn ndzarr() -> String {
    "ndzarr".to_owned()
}

fn two() -> usize {
    2
}

fn none() -> String {
    "none".to_owned()
}

fn auto() -> String {
    "auto".to_owned()
}

fn yes() -> bool {
    true
}

impl Definition {
    /// The workload whose dataset and shape this one has.
    pub(super) fn base<'d>(&'d self, all: &'d BTreeMap<String, Self>) -> &'d Self {
        self.of.as_ref().and_then(|of| all.get(of)).unwrap_or(self)
    }

    /// The region that is read or written.
    pub(super) fn region(&self, all: &BTreeMap<String, Self>) -> Vec<[u64; 2]> {
        if self.region.is_empty() {
            self.base(all).shape.iter().map(|&n| [0, n]).collect()
        } else {
            self.region.clone()
        }
    }
}

impl Row {
    /// Its name after the workload's.
    pub(super) fn title<'r>(&'r self, definition: &'r Definition) -> String {
        title(&definition.name, self.name.as_ref(), &self.operation)
    }

    pub(super) fn job(&self) -> Job {
        match self.operation.as_str() {
            "copy" => Job::Copies,
            "write" | "append" | "append-if-due" | "update" => Job::Writes,
            _ => Job::Reads,
        }
    }
}

/// All definitions, by name.
///
/// # Errors
/// A file cannot be read or is invalid.
pub(super) fn load() -> Result<BTreeMap<String, Definition>, String> {
    let all: Vec<Definition> = files(&repository())?;
    let all: BTreeMap<_, _> = all.into_iter().map(|one| (one.name.clone(), one)).collect();
    for definition in all.values() {
        let into_c = definition.rows.iter().flat_map(|row| &row.into_c);
        if let Some(of) = definition
            .of
            .iter()
            .chain(into_c)
            .find(|of| !all.contains_key(*of))
        {
            return Err(format!("{}: there is no workload {of}", definition.name));
        }
    }
    Ok(all)
}

/// The titles of the rows of another checkout, whose definitions may have other members.
///
/// # Errors
/// A file cannot be read or is invalid.
pub(super) fn titles(checkout: &Path) -> Result<BTreeSet<String>, String> {
    #[derive(Deserialize)]
    struct Titled {
        name: String,
        row: Vec<TitledRow>,
    }
    #[derive(Deserialize)]
    struct TitledRow {
        operation: String,
        name: Option<String>,
    }
    let all: Vec<Titled> = files(checkout)?;
    let title = |name: &str, row: &TitledRow| title(name, row.name.as_ref(), &row.operation);
    Ok(all
        .iter()
        .flat_map(|one| one.row.iter().map(|row| title(&one.name, row)))
        .collect())
}

fn title(workload: &str, name: Option<&String>, operation: &str) -> String {
    format!("{workload} {}", name.map_or(operation, String::as_str))
}

fn files<T: DeserializeOwned>(checkout: &Path) -> Result<Vec<T>, String> {
    let folder = checkout.join("benchmarks").join("definitions");
    let entries = fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut all = Vec::new();
    for entry in entries {
        let path = entry
            .map_err(|e| format!("{}: {e}", folder.display()))?
            .path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        all.push(toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?);
    }
    Ok(all)
}

/// W2 before W10, W9 before W9s, and those in Python at the end.
pub(super) fn order(name: &str) -> (bool, u32, String) {
    let digits: String = name
        .chars()
        .skip(1)
        .take_while(char::is_ascii_digit)
        .collect();
    (
        !name.starts_with('W'),
        digits.parse().unwrap_or(u32::MAX),
        name.to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_definitions_make_sense() {
        let all = load().expect("they parse");
        for definition in all.values() {
            assert!(
                definition.listing.is_some() || definition.base(&all).dataset.is_some(),
                "{}",
                definition.name
            );
            for row in &definition.rows {
                assert!(
                    row.quick.iter().all(|peer| row.peers.contains(peer)),
                    "{}",
                    row.title(definition)
                );
            }
        }
    }

    #[test]
    fn titles_are_those_of_the_rows() {
        let all = load().expect("they parse");
        let expected: BTreeSet<String> = all
            .values()
            .flat_map(|one| one.rows.iter().map(|row| row.title(one)))
            .collect();
        assert_eq!(titles(&repository()), Ok(expected));
    }

    #[test]
    fn workloads_come_in_the_order_of_their_numbers() {
        let mut names = ["P1", "W10", "W9s", "W1", "W9", "W2"];
        names.sort_by_key(|name| order(name));
        assert_eq!(names, ["W1", "W2", "W9", "W9s", "W10", "P1"]);
    }
}
