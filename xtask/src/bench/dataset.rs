//! The stored data that engines read, made by a peer, and the empty arrays that they write.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::definition::{Definition, Row};
use super::volume::{Random, Volume, runs};
use crate::python::{self, succeed};

/// The folder with everything that the rows need, and space for their output.
#[derive(Debug)]
pub(super) struct Data {
    /// On a disk, read through the page cache.
    folder: PathBuf,
    /// In memory, if possible.
    scratch: PathBuf,
}

/// Names of documents.
const DOCUMENTS: [&str; 5] = [
    "zarr.json",
    ".zarray",
    ".zgroup",
    ".zattrs",
    "attributes.json",
];

impl Data {
    pub(super) fn new() -> Result<Self, String> {
        let folder = python::target().join("bench-data");
        let memory = Path::new("/dev/shm");
        let scratch = if memory.is_dir() {
            memory.join("ndzarr-bench")
        } else {
            folder.join("scratch")
        };
        for made in [&folder, &scratch] {
            fs::create_dir_all(made).map_err(|e| format!("{}: {e}", made.display()))?;
        }
        Ok(Self { folder, scratch })
    }

    /// Where engines write, in memory if possible.
    pub(super) fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// The folder of the array or group of a workload.
    pub(super) fn path(&self, definition: &Definition, row: &Row) -> PathBuf {
        if definition.listing.is_some() {
            return self
                .folder
                .join(format!("{}-{}", definition.name, row.operation));
        }
        let n5 = definition
            .dataset
            .as_ref()
            .is_some_and(|dataset| dataset.driver == "n5");
        let suffix = if n5 { "n5" } else { "zarr" };
        self.folder
            .join(format!("{}.{suffix}", definition.name))
            .join("a")
    }

    /// Makes the dataset of a row, unless it exists.
    pub(super) fn make(
        &self,
        definition: &Definition,
        all: &BTreeMap<String, Definition>,
        row: &Row,
    ) -> Result<(), String> {
        let base = definition.base(all);
        let path = self.path(base, row);
        let done = path.parent().unwrap_or(&path).join(format!(
            "{}.made",
            path.file_name().unwrap_or_default().to_string_lossy()
        ));
        let mut job = json!({ "path": path });
        if let Some(listing) = base.listing {
            job["listing"] = json!({
                "groups": listing.groups,
                "arrays": listing.arrays,
                "consolidated": row.operation == "list-consolidated",
            });
        } else if let Some(dataset) = &base.dataset {
            let volume = self.volume(base)?;
            job["driver"] = json!(dataset.driver);
            job["reversed_axes"] = json!(row.reversed_axes);
            job["metadata"] = dataset.metadata.clone();
            job["data"] = json!(volume.path);
            job["shape"] = json!(volume.shape);
        }
        let text = job.to_string();
        if fs::read_to_string(&done).is_ok_and(|made| made == text) {
            return Ok(());
        }
        eprintln!("making {}", path.display());
        let _ = fs::remove_dir_all(&path);
        let request = self.folder.join("job.json");
        fs::write(&request, &text).map_err(|e| format!("{}: {e}", request.display()))?;
        let script = python::engines().join("make.py");
        succeed(
            Command::new(python::interpreter("bench")?)
                .arg(script)
                .arg(&request),
        )?;
        fs::write(&done, text).map_err(|e| format!("{}: {e}", done.display()))
    }

    fn volume(&self, base: &Definition) -> Result<Volume, String> {
        Volume::make(&self.folder, &base.shape, 1)
    }

    /// The elements that a row writes.
    pub(super) fn new_elements(
        &self,
        definition: &Definition,
        all: &BTreeMap<String, Definition>,
        row: &Row,
    ) -> Result<Option<Volume>, String> {
        match row.operation.as_str() {
            "write" | "append" | "append-if-due" => self.volume(definition.base(all)).map(Some),
            "update" => {
                let shape: Vec<u64> = definition
                    .region(all)
                    .iter()
                    .map(|[from, to]| to - from)
                    .collect();
                Volume::make(&self.folder, &shape, 2).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The checksum that every engine must return; for a write, that of the whole array, read
    /// afterwards.
    pub(super) fn expected(
        &self,
        definition: &Definition,
        all: &BTreeMap<String, Definition>,
        row: &Row,
        chunks: &[Vec<u64>],
    ) -> Result<Option<u32>, String> {
        let base = definition.base(all);
        if base.listing.is_some() || row.operation == "open" {
            return Ok(None);
        }
        let volume = self.volume(base)?;
        let mut bytes = volume.read()?;
        let shape = &volume.shape;
        let mut hasher = crc32fast::Hasher::new();
        if matches!(&row.operation[..], "points" | "elements") {
            for point in chunks {
                let region: Vec<[u64; 2]> = point.iter().map(|&at| [at, at + 1]).collect();
                runs(&bytes, shape, &region).for_each(|run| hasher.update(&bytes[run]));
            }
        } else if let ("outer", [rows, columns]) = (&row.operation[..], chunks) {
            for (&row, &column) in rows
                .iter()
                .flat_map(|row| columns.iter().map(move |column| (row, column)))
            {
                let region = [[row, row + 1], [column, column + 1], [0, shape[2]]];
                runs(&bytes, shape, &region).for_each(|run| hasher.update(&bytes[run]));
            }
        } else if row.operation == "slices" {
            for at in chunks {
                let region = [[0, shape[0]], [0, shape[1]], [at[0], at[0] + 1]];
                runs(&bytes, shape, &region).for_each(|run| hasher.update(&bytes[run]));
            }
        } else if row.operation == "mask" {
            let elements = bytes.chunks_exact(2).zip(0_u64..);
            // As `masked` of benchmarks/protocol has it.
            for (element, number) in elements {
                if (number.wrapping_mul(2_654_435_761) & 0xffff_ffff) % 100 == 0 {
                    hasher.update(element);
                }
            }
        } else if !chunks.is_empty() {
            let side = base
                .layout
                .as_ref()
                .and_then(|layout| layout["inner"].as_u64())
                .unwrap_or(1);
            for chunk in chunks {
                let region: Vec<[u64; 2]> =
                    chunk.iter().map(|c| [c * side, (c + 1) * side]).collect();
                runs(&bytes, shape, &region).for_each(|run| hasher.update(&bytes[run]));
            }
        } else if row.operation == "update" {
            let region = definition.region(all);
            let new = self
                .new_elements(definition, all, row)?
                .map(|new| new.read())
                .transpose()?;
            let new = new.unwrap_or_default();
            let places: Vec<_> = runs(&bytes, shape, &region).collect();
            let mut at = 0;
            for place in places {
                let len = place.len();
                bytes[place].copy_from_slice(&new[at..at + len]);
                at += len;
            }
            hasher.update(&bytes);
        } else {
            let region = definition.region(all);
            runs(&bytes, shape, &region).for_each(|run| hasher.update(&bytes[run]));
        }
        Ok(Some(hasher.finalize()))
    }

    /// Random inner chunks, always the same; or the points or lists of a row that selects them.
    pub(super) fn chunks(
        definition: &Definition,
        all: &BTreeMap<String, Definition>,
        row: &Row,
    ) -> Vec<Vec<u64>> {
        let base = definition.base(all);
        let mut random = Random::new(5);
        let mut anywhere = |axis: usize| random.next() % base.shape[axis];
        match &row.operation[..] {
            "points" | "elements" => {
                let n = if row.operation == "points" {
                    10_000
                } else {
                    200
                };
                return (0..n)
                    .map(|_| (0..base.shape.len()).map(&mut anywhere).collect())
                    .collect();
            }
            "slices" => return (0..base.shape[2]).step_by(32).map(|at| vec![at]).collect(),
            "outer" => {
                return (0..2)
                    .map(|axis| (0..64).map(|_| anywhere(axis)).collect())
                    .collect();
            }
            _ => {}
        }
        let side = base
            .layout
            .as_ref()
            .and_then(|layout| layout["inner"].as_u64())
            .unwrap_or(1);
        let mut random = Random::new(3);
        (0..definition.n_chunks)
            .map(|_| {
                base.shape
                    .iter()
                    .map(|n| random.next() % (n / side))
                    .collect()
            })
            .collect()
    }

    /// The target of an engine's writes: nothing for a copy, only the documents, or a copy of the
    /// dataset.
    pub(super) fn target(&self, dataset: &Path, row: &Row) -> Result<PathBuf, String> {
        // Synced rows need a disk.
        let parent = if row.durability == "none" {
            &self.scratch
        } else {
            &self.folder
        };
        let container = dataset
            .parent()
            .and_then(Path::file_name)
            .unwrap_or_default();
        let target = parent.join("written").join(container);
        self.clear()?;
        let copied = match row.operation.as_str() {
            "copy" => fs::create_dir_all(&target),
            "update" => copy(
                dataset.parent().unwrap_or(dataset),
                &target,
                Copy::Everything,
            ),
            _ => copy(
                dataset.parent().unwrap_or(dataset),
                &target,
                Copy::Documents,
            ),
        };
        copied.map_err(|e| format!("{}: {e}", target.display()))?;
        Ok(target.join("a"))
    }

    /// Removes what was written.
    pub(super) fn clear(&self) -> Result<(), String> {
        for parent in [&self.scratch, &self.folder] {
            let written = parent.join("written");
            if written.exists() {
                fs::remove_dir_all(&written).map_err(|e| format!("{}: {e}", written.display()))?;
            }
        }
        Ok(())
    }

    pub(super) fn request_file(&self) -> PathBuf {
        self.folder.join("request.json")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copy {
    Documents,
    Everything,
}

fn copy(from: &Path, to: &Path, what: Copy) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_document = DOCUMENTS.iter().any(|document| name == *document);
        // An empty array has no folders of chunks.
        if entry.file_type()?.is_dir() {
            if what == Copy::Everything || name == "a" {
                copy(&entry.path(), &to.join(&name), what)?;
            }
        } else if what == Copy::Everything || is_document {
            fs::copy(entry.path(), to.join(&name))?;
        }
    }
    Ok(())
}

/// Size of all files below except documents, in bytes.
pub(super) fn stored_bytes(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => stored_bytes(&entry.path()),
            Ok(found)
                if DOCUMENTS
                    .iter()
                    .all(|document| entry.file_name() != *document) =>
            {
                found.len()
            }
            _ => 0,
        })
        .sum()
}

/// Reads all files below, so that they are in the page cache.
pub(super) fn warm(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            warm(&entry.path());
        } else if let Ok(mut file) = fs::File::open(entry.path()) {
            let _ = std::io::copy(&mut file, &mut std::io::sink());
        }
    }
}
