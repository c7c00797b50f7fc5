//! Reads the cases of `testdata/`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use ndzarr::MemoryStore;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// One case of `testdata/`: a store that another program wrote, and the expected result. See
/// `testdata/README.md`.
#[derive(Clone, Debug)]
pub struct Case {
    /// `zarr2`, `zarr3`, `draft`, `n5` or `bad`.
    pub family: String,
    /// Name within the family.
    pub name: String,
    /// The expected result.
    pub kind: Kind,
    /// Format of the store: `zarr2`, `zarr3`, `zarr3-draft-a`, `zarr3-draft-b` or `n5`.
    pub format: String,
    /// Path of the node from the root of the store.
    pub node: String,
    /// Needed features beyond the common types and codecs.
    pub features: Vec<String>,
    /// Numbers of the checklists' items that it tests, such as `V2-T03`.
    pub traps: Vec<String>,
    /// The format that has to be given when opening; without it nothing is found.
    pub open_as: Option<String>,
    dir: PathBuf,
}

/// The expected result of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An array with these elements.
    Array,
    /// Groups with these members.
    Hierarchy,
    /// A refusal.
    Error,
    /// N5 blocks that are not part of an array.
    Block,
}

/// The expected array.
#[derive(Clone, Debug, Deserialize)]
pub struct ExpectedArray {
    /// Length of each dimension.
    pub shape: Vec<u64>,
    /// Shape of a chunk; of an inner chunk, where there are shards.
    pub chunk_shape: Vec<u64>,
    /// Shape of a shard.
    pub shard_shape: Option<Vec<u64>>,
    /// In the form of Zarr v3.
    pub data_type: Value,
    /// In the form of Zarr v3; `null`: none.
    pub fill_value: Value,
    /// One for each dimension.
    pub dimension_names: Option<Vec<Option<String>>>,
    /// The user's. Numbers that are not finite are `{"$number": "NaN"}`.
    pub attributes: Map<String, Value>,
    /// Little endian, packed, in C order.
    #[serde(skip)]
    pub elements: Vec<u8>,
}

/// The expected hierarchy.
#[derive(Clone, Debug, Deserialize)]
pub struct ExpectedHierarchy {
    /// Every node, the root included.
    pub nodes: Vec<ExpectedNode>,
    /// Path to the kind of what only a walk finds: folders without a document, which are no groups,
    /// and the nodes below them.
    #[serde(default)]
    pub below_folders: BTreeMap<String, String>,
    /// Path of a group to the names and kinds of its members.
    pub members: BTreeMap<String, BTreeMap<String, String>>,
    /// Path of a node to the user's attributes.
    pub attributes: BTreeMap<String, Map<String, Value>>,
}

/// A node of a hierarchy.
#[derive(Clone, Debug, Deserialize)]
pub struct ExpectedNode {
    /// Path from the root of the store.
    pub path: String,
    /// `array` or `group`.
    pub node: String,
}

/// At which stage a case is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Opening fails.
    Open,
    /// Reading the elements fails, if opening does not yet.
    Read,
}

/// The blocks of an N5 dataset that is not an array.
#[derive(Clone, Debug, Deserialize)]
pub struct ExpectedBlocks {
    /// The results of the block interface.
    pub blocks: Vec<ExpectedBlock>,
    /// `fails`.
    pub array_read: String,
}

/// A block.
#[derive(Clone, Debug, Deserialize)]
pub struct ExpectedBlock {
    /// Grid position, dimension 0 of N5 first.
    pub grid: Vec<u64>,
    /// Size in elements, dimension 0 of N5 first.
    pub size: Option<Vec<u64>>,
    /// Number of elements.
    pub n_elements: Option<usize>,
    /// Big-endian elements, hexadecimal.
    pub payload: Option<String>,
    /// The elements of a block of strings.
    pub strings: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct CaseToml {
    kind: Kind,
    format: String,
    node: String,
    #[serde(default)]
    features: Vec<String>,
    #[serde(default)]
    traps: Vec<String>,
    open_as: Option<String>,
}

#[derive(Deserialize)]
struct Refusal {
    fails: Stage,
}

/// Every case of `testdata/`, by family and name, except `regression/`, which has inputs of fuzz
/// targets, and `cf/`, whose datasets ndzarr-conformance reads.
///
/// # Errors
/// A folder or a `case.toml` cannot be read.
pub fn cases() -> io::Result<Vec<Case>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let mut cases = Vec::new();
    for family in sorted(&root)?.iter().filter(|path| is_family(path)) {
        for dir in sorted(family)?.iter().filter(|path| path.is_dir()) {
            cases.push(Case::open(dir)?);
        }
    }
    Ok(cases)
}

fn is_family(path: &Path) -> bool {
    path.is_dir()
        && !["regression", "cf"]
            .iter()
            .any(|other| path.ends_with(other))
}

impl Case {
    fn open(dir: &Path) -> io::Result<Self> {
        let dir = dir.to_owned();
        let text = fs::read_to_string(dir.join("case.toml")).map_err(|error| at(&dir, error))?;
        let CaseToml {
            kind,
            format,
            node,
            features,
            traps,
            open_as,
        } = toml::from_str(&text).map_err(|error| at(&dir, error))?;
        let name = |path: Option<&Path>| {
            path.and_then(Path::file_name)
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default()
        };
        Ok(Self {
            family: name(dir.parent()),
            name: name(Some(&dir)),
            kind,
            format,
            node,
            features,
            traps,
            open_as,
            dir,
        })
    }

    /// Family and name, as in `zarr2/zp2-order-f`.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{}/{}", self.family, self.name)
    }

    /// The folder with the stored files.
    #[must_use]
    pub fn store_dir(&self) -> PathBuf {
        self.dir.join("store")
    }

    /// The stored files, by key.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn files(&self) -> io::Result<Vec<(String, Vec<u8>)>> {
        let mut files = Vec::new();
        let store = self.store_dir();
        let mut pending = vec![(store.clone(), String::new())];
        while let Some((dir, prefix)) = pending.pop() {
            for path in sorted(&dir)? {
                let name = path
                    .file_name()
                    .map(|name| name.to_string_lossy().into_owned())
                    .unwrap_or_default();
                let key = format!("{prefix}{name}");
                if path.is_dir() {
                    pending.push((path, key + "/"));
                } else {
                    files.push((key, fs::read(&path)?));
                }
            }
        }
        files.sort();
        Ok(files)
    }

    /// An in-memory store of the stored files.
    ///
    /// # Errors
    /// A file cannot be read, or its name is not a valid key.
    pub fn memory(&self) -> io::Result<MemoryStore> {
        let memory = MemoryStore::new();
        for (key, value) in self.files()? {
            memory
                .set(&key, value)
                .map_err(|error| at(&self.dir, error))?;
        }
        Ok(memory)
    }

    /// The expected array.
    ///
    /// # Errors
    /// The files are missing or do not describe an array.
    pub fn expected_array(&self) -> io::Result<ExpectedArray> {
        let mut expected: ExpectedArray = self.expected()?;
        expected.elements =
            fs::read(self.dir.join("expected.bin")).map_err(|error| at(&self.dir, error))?;
        Ok(expected)
    }

    /// The expected hierarchy.
    ///
    /// # Errors
    /// The file is missing or does not describe a hierarchy.
    pub fn expected_hierarchy(&self) -> io::Result<ExpectedHierarchy> {
        self.expected()
    }

    /// The stage that must refuse a case of kind [`Kind::Error`].
    ///
    /// # Errors
    /// The file is missing or does not describe a refusal.
    pub fn refused_at(&self) -> io::Result<Stage> {
        self.expected::<Refusal>().map(|refusal| refusal.fails)
    }

    /// The expected blocks of a case of kind [`Kind::Block`].
    ///
    /// # Errors
    /// The file is missing or does not describe blocks.
    pub fn expected_blocks(&self) -> io::Result<ExpectedBlocks> {
        self.expected()
    }

    fn expected<T: DeserializeOwned>(&self) -> io::Result<T> {
        let text =
            fs::read(self.dir.join("expected.json")).map_err(|error| at(&self.dir, error))?;
        serde_json::from_slice(&text).map_err(|error| at(&self.dir, error))
    }
}

fn sorted(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(dir).map_err(|error| at(dir, error))?;
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn at(dir: &Path, error: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {error}", dir.display()))
}
