//! Random calls on whole hierarchies, compared with a model in memory: everything opened, read or
//! listed matches the model.

use std::collections::{BTreeMap, BTreeSet};

use ndarray::{ArrayD, IxDyn, SliceInfoElem};
use ndzarr::{
    Array, AttributeChange, ErrorKind, Existing, Format, FsStore, Group, MemberKind, MemoryStore,
    OpenOptions, Storage, codec,
};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::{Value, json};

type Attributes = serde_json::Map<String, Value>;

/// Paths of nodes: only a few, so that calls use the same ones.
const PATHS: [&str; 7] = ["a", "b", "a/c", "a/d", "b/c", "a/c/e", "b/c/e"];

#[derive(Clone, Debug)]
enum Step {
    Group {
        path: usize,
        existing: Existing,
    },
    Array {
        path: usize,
        existing: Existing,
        shape: Vec<u64>,
        chunks: Vec<u64>,
        sharded: bool,
    },
    Write {
        path: usize,
        from: Vec<u8>,
        to: Vec<u8>,
        value: u16,
    },
    Fill {
        path: usize,
    },
    Resize {
        path: usize,
        shape: Vec<u64>,
    },
    Merge {
        path: usize,
        name: u8,
        value: u16,
    },
    Replace {
        path: usize,
        value: u16,
    },
    Delete {
        path: usize,
    },
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Group(Attributes),
    Array(Attributes, ArrayD<u16>),
}

impl Node {
    fn attributes(&mut self) -> &mut Attributes {
        match self {
            Self::Group(attributes) | Self::Array(attributes, _) => attributes,
        }
    }
}

/// The nodes by path; the root is a group that always exists.
#[derive(Default)]
struct Model {
    nodes: BTreeMap<String, Node>,
    /// Groups that exist because something is below them: the draft and N5 write no document for
    /// those.
    implicit: BTreeSet<String>,
    root: Attributes,
}

impl Model {
    fn below<'m>(&'m self, path: &str) -> impl Iterator<Item = (&'m String, &'m Node)> {
        let prefix = if path.is_empty() {
            String::new()
        } else {
            format!("{path}/")
        };
        self.nodes
            .iter()
            .filter(move |(at, _)| at.starts_with(&prefix))
    }

    fn remove(&mut self, path: &str) {
        let prefix = format!("{path}/");
        self.nodes
            .retain(|at, _| at != path && !at.starts_with(&prefix));
        self.implicit
            .retain(|at| at != path && !at.starts_with(&prefix));
        // From below: an empty one may have been the last content of the one above it.
        for above in self.implicit.clone().iter().rev() {
            if self.below(above).next().is_none() {
                self.nodes.remove(above);
                self.implicit.remove(above);
            }
        }
    }

    /// True if an array is above a path.
    fn is_below_array(&self, path: &str) -> bool {
        ancestors(path).any(|above| matches!(self.nodes.get(above), Some(Node::Array(..))))
    }

    fn create(
        &mut self,
        format: Format,
        path: &str,
        node: Node,
        existing: Existing,
    ) -> Result<(), ErrorKind> {
        if self.is_below_array(path)
            || (existing == Existing::Refuse && self.nodes.contains_key(path))
        {
            return Err(ErrorKind::AlreadyExists);
        }
        // An array hides no nodes.
        if matches!(node, Node::Array(..)) && self.below(path).next().is_some() {
            return Err(ErrorKind::AlreadyExists);
        }
        self.remove(path);
        for above in ancestors(path) {
            if !self.nodes.contains_key(above) {
                self.nodes
                    .insert(above.to_owned(), Node::Group(Attributes::new()));
                if !matches!(format, Format::Zarr2 | Format::Zarr3) {
                    self.implicit.insert(above.to_owned());
                }
            }
        }
        self.nodes.insert(path.to_owned(), node);
        Ok(())
    }
}

fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let path = || 0..PATHS.len();
    let existing =
        || prop::sample::select(vec![Existing::Refuse, Existing::Refuse, Existing::Replace]);
    let axes = prop::collection::vec((1u64..8, 1u64..4), 1..3);
    let array =
        (path(), existing(), axes, any::<bool>()).prop_map(|(path, existing, axes, sharded)| {
            let (shape, chunks) = axes.into_iter().unzip();
            Step::Array {
                path,
                existing,
                shape,
                chunks,
                sharded,
            }
        });
    let corner = || prop::collection::vec(any::<u8>(), 2);
    let step = prop_oneof![
        2 => (path(), existing()).prop_map(|(path, existing)| Step::Group { path, existing }),
        4 => array,
        6 => (path(), corner(), corner(), 1..u16::MAX)
            .prop_map(|(path, from, to, value)| Step::Write { path, from, to, value }),
        1 => path().prop_map(|path| Step::Fill { path }),
        3 => (path(), prop::collection::vec(1u64..10, 2))
            .prop_map(|(path, shape)| Step::Resize { path, shape }),
        2 => (path(), 0u8..3, any::<u16>()).prop_map(|(path, name, value)| Step::Merge { path, name, value }),
        1 => (path(), any::<u16>()).prop_map(|(path, value)| Step::Replace { path, value }),
        2 => path().prop_map(|path| Step::Delete { path }),
    ];
    prop::collection::vec(step, 1..14)
}

fn formats() -> impl Strategy<Value = Format> {
    prop::sample::select(vec![
        Format::Zarr2,
        Format::Zarr3,
        Format::DraftA,
        Format::DraftB,
        Format::N5,
    ])
}

fn options(format: Format) -> OpenOptions {
    OpenOptions::new().format(format)
}

/// Carries out a step in the store and in the model.
fn apply(
    storage: &Storage,
    format: Format,
    step: &Step,
    model: &mut Model,
) -> Result<(), ndzarr::Error> {
    let created = |result: Result<(), ndzarr::Error>, expected: Result<(), ErrorKind>| match (
        result, expected,
    ) {
        (Err(error), Err(kind)) if error.kind() == kind => Ok(()),
        (Err(error), _) => Err(error),
        (Ok(()), expected) => {
            assert_eq!(expected, Ok(()), "{step:?} should have failed");
            Ok(())
        }
    };
    match step {
        // What a group without a document may become depends on the format.
        Step::Group {
            path,
            existing: Existing::Refuse,
        }
        | Step::Array {
            path,
            existing: Existing::Refuse,
            ..
        } if model.implicit.contains(PATHS[*path]) => Ok(()),
        Step::Group { path, existing } => {
            let group = Group::builder().format(format).existing(*existing);
            let result = group.create((storage, PATHS[*path])).map(drop);
            created(
                result,
                model.create(
                    format,
                    PATHS[*path],
                    Node::Group(Attributes::new()),
                    *existing,
                ),
            )
        }
        Step::Array {
            path,
            existing,
            shape,
            chunks,
            sharded,
        } => {
            let mut builder = Array::<u16>::builder(shape).chunks(chunks).format(format);
            if *sharded && !matches!(format, Format::Zarr2 | Format::N5) {
                builder = builder.shards(chunks.iter().map(|n| n * 2).collect::<Vec<_>>());
            }
            if *existing == Existing::Replace {
                builder = builder.overwrite();
            }
            if shape.len() == 2 {
                builder = builder.codecs([codec::gzip(1)]);
            }
            let elements = ArrayD::zeros(IxDyn(
                &shape.iter().map(|&n| n as usize).collect::<Vec<_>>(),
            ));
            let node = Node::Array(Attributes::new(), elements);
            // N5 takes everything at the path for blocks, and so also refuses a group without a
            // document.
            created(
                builder.create((storage, PATHS[*path])).map(drop),
                model.create(format, PATHS[*path], node, *existing),
            )
        }
        Step::Write {
            path,
            from,
            to,
            value,
        } => {
            let Some(Node::Array(_, elements)) = model.nodes.get_mut(PATHS[*path]) else {
                return Ok(());
            };
            let mut ranges = Vec::new();
            for (axis, &len) in elements.shape().iter().enumerate() {
                let at = |part: u8| (usize::from(part) * (len + 1) / 256) as u64;
                ranges.push(at(from[axis].min(to[axis]))..at(from[axis].max(to[axis])));
            }
            let slices: Vec<SliceInfoElem> = ranges
                .iter()
                .map(|r| SliceInfoElem::Slice {
                    start: r.start as isize,
                    end: Some(r.end as isize),
                    step: 1,
                })
                .collect();
            let mut target = elements.slice_mut(&slices[..]);
            let mut n = *value;
            target.mapv_inplace(|_| {
                n = n.wrapping_add(1);
                n
            });
            let data = target.to_owned();
            options(format)
                .open_array::<u16>((storage, PATHS[*path]))?
                .write(&ranges, &data)
        }
        Step::Fill { path } => {
            let Some(Node::Array(_, elements)) = model.nodes.get_mut(PATHS[*path]) else {
                return Ok(());
            };
            elements.fill(0);
            Array::<u16>::open((storage, PATHS[*path]))?.fill(.., 0)
        }
        Step::Resize { path, shape } => {
            let Some(Node::Array(_, elements)) = model.nodes.get_mut(PATHS[*path]) else {
                return Ok(());
            };
            let shape = &shape[..elements.ndim()];
            let mut resized = ArrayD::zeros(IxDyn(
                &shape.iter().map(|&n| n as usize).collect::<Vec<_>>(),
            ));
            let kept: Vec<SliceInfoElem> = (resized.shape().iter().zip(elements.shape()))
                .map(|(&a, &b)| SliceInfoElem::Slice {
                    start: 0,
                    end: Some(a.min(b) as isize),
                    step: 1,
                })
                .collect();
            resized
                .slice_mut(&kept[..])
                .assign(&elements.slice(&kept[..]));
            *elements = resized;
            Array::<u16>::open((storage, PATHS[*path]))?.resize(shape)
        }
        Step::Merge { path, name, value } => {
            let new = json!({ format!("attribute {name}"): value, "nested": {"of": [name]} });
            match model.nodes.get_mut(PATHS[*path]) {
                None => {
                    model.root.extend(object(new.clone()));
                    options(format).open_group(storage)?.merge_attributes(new)
                }
                Some(node) => {
                    model.implicit.remove(PATHS[*path]);
                    node.attributes().extend(object(new.clone()));
                    match node {
                        Node::Group(_) => {
                            Group::open((storage, PATHS[*path]))?.merge_attributes(new)
                        }
                        Node::Array(..) => {
                            Array::<u16>::open((storage, PATHS[*path]))?.merge_attributes(new)
                        }
                    }
                }
            }
        }
        Step::Replace { path, value } => {
            let Some(node) = model.nodes.get_mut(PATHS[*path]) else {
                return Ok(());
            };
            model.implicit.remove(PATHS[*path]);
            let new = json!({"only": value});
            *node.attributes() = object(new.clone());
            let replace = AttributeChange::Replace(object(new));
            match node {
                Node::Group(_) => Group::open((storage, PATHS[*path]))?.change_attributes(&replace),
                Node::Array(..) => {
                    Array::<u16>::open((storage, PATHS[*path]))?.change_attributes(&replace)
                }
            }
        }
        Step::Delete { path } => {
            let root = options(format).open_group(storage)?;
            let result = root.erase(PATHS[*path]);
            if model.nodes.contains_key(PATHS[*path]) {
                model.remove(PATHS[*path]);
                return result;
            }
            match result {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                Err(error) => Err(error),
                Ok(()) => panic!("{} did not exist", PATHS[*path]),
            }
        }
    }
}

fn object(value: Value) -> Attributes {
    let Value::Object(members) = value else {
        panic!("an object")
    };
    members
}

/// Compares everything through the public interface.
fn check(storage: &Storage, format: Format, model: &Model) -> Result<(), TestCaseError> {
    let failed = |error: ndzarr::Error| TestCaseError::fail(format!("{error:?}"));
    let root = options(format).open_group(storage).map_err(failed)?;
    prop_assert_eq!(root.attributes(), &model.root);
    let listed = root.walk().map_err(failed)?;
    let listed: Vec<_> = listed
        .iter()
        .map(|child| (child.path(), child.kind()))
        .collect();
    let expected: Vec<(String, Option<MemberKind>)> = model
        .below("")
        .map(|(path, node)| {
            let kind = if matches!(node, Node::Array(..)) {
                MemberKind::Array
            } else {
                MemberKind::Group
            };
            (path.clone(), Some(kind))
        })
        .collect();
    prop_assert_eq!(listed, expected);
    for path in PATHS {
        match model.nodes.get(path) {
            None => {
                let error = Array::<u16>::open((storage, path))
                    .map(drop)
                    .expect_err("nothing exists");
                prop_assert_eq!(error.kind(), ErrorKind::NotFound, "{:?}", error);
                prop_assert!(Group::open((storage, path)).is_err());
            }
            Some(Node::Group(attributes)) => {
                let group = Group::open((storage, path)).map_err(failed)?;
                prop_assert_eq!(group.attributes(), attributes, "{}", path);
            }
            Some(Node::Array(attributes, elements)) => {
                let array = Array::<u16>::open((storage, path)).map_err(failed)?;
                prop_assert_eq!(array.attributes(), attributes, "{}", path);
                prop_assert_eq!(&array.read(..).map_err(failed)?, elements, "{}", path);
            }
        }
    }
    Ok(())
}

fn agree(storage: &Storage, format: Format, steps: &[Step]) -> TestCaseResult {
    Group::create(storage, format).map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
    let mut model = Model::default();
    for step in steps {
        apply(storage, format, step, &mut model)
            .map_err(|error| TestCaseError::fail(format!("{step:?}: {error:?}")))?;
        check(storage, format, &model)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hierarchies_in_memory_agree(format in formats(), steps in steps()) {
        agree(&MemoryStore::new().into(), format, &steps)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hierarchies_in_files_agree(format in formats(), steps in steps()) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        agree(&FsStore::new(folder.path()).into(), format, &steps)?;
    }
}
