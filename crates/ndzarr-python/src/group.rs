//! `RawGroup`, and the functions that open and create nodes.

use std::path::PathBuf;

use ndzarr::{AnyNode, ArrayBuilder, ErrorKind, Group, MemberKind, RunOptions};
use pyo3::prelude::*;

use crate::array::RawArray;
use crate::dtype;
use crate::json;
use crate::options::{New, Opening, given};
use crate::run::{Watch, look, run};
use crate::turn::Known;

/// An opened group.
#[pyclass(frozen, module = "ndzarr._ndzarr")]
pub(crate) struct RawGroup {
    known: Known<Group>,
    options: RunOptions,
}

/// A node: a `RawArray` or a `RawGroup`.
#[derive(IntoPyObject)]
pub(crate) enum Node {
    Array(RawArray),
    Group(RawGroup),
}

impl Node {
    fn new(py: Python<'_>, node: AnyNode, options: RunOptions) -> PyResult<Self> {
        Ok(match node {
            AnyNode::Array(array) => Self::Array(RawArray::new(py, array, options)?),
            AnyNode::Group(group) => Self::Group(RawGroup::new(group, options)),
        })
    }
}

impl RawGroup {
    fn new(group: Group, options: RunOptions) -> Self {
        Self {
            known: Known::new(group),
            options,
        }
    }

    /// The group with the metadata that are known, and the options of its calls.
    pub(crate) fn parts(&self, py: Python<'_>) -> (Group, RunOptions) {
        (self.known.get(py), self.options.clone())
    }

    fn run<R: Send>(
        &self,
        py: Python<'_>,
        watch: &Watch,
        call: impl FnOnce(&Group) -> ndzarr::Result<R> + Send,
    ) -> PyResult<R> {
        let group = self.known.get(py);
        run(py, watch, self.options.clone(), |options| {
            call(&group.with_options(options))
        })
    }

    /// Runs a call that changes nothing.
    fn look<R: Send + 'static>(
        &self,
        py: Python<'_>,
        watch: &Watch,
        call: impl FnOnce(&Group) -> ndzarr::Result<R> + Send + 'static,
    ) -> PyResult<R> {
        let group = self.known.get(py);
        look(py, watch, self.options.clone(), move |options| {
            call(&group.with_options(options))
        })
    }

    fn change(
        &self,
        py: Python<'_>,
        watch: &Watch,
        change: impl FnOnce(&mut Group) -> ndzarr::Result<()> + Send,
    ) -> PyResult<()> {
        self.known
            .change(py, watch, self.options.clone(), |group, options| {
                let mut group = group.with_options(options);
                change(&mut group)?;
                Ok(group.with_options(RunOptions::default()))
            })
    }
}

fn kind(kind: Option<MemberKind>) -> &'static str {
    match kind {
        Some(MemberKind::Array) => "array",
        Some(MemberKind::Group) => "group",
        None => "unreadable",
    }
}

#[pymethods]
impl RawGroup {
    #[getter]
    fn format(&self, py: Python<'_>) -> String {
        self.known.get(py).format().to_string()
    }

    #[getter]
    fn path(&self, py: Python<'_>) -> String {
        self.known.get(py).path().to_owned()
    }

    #[getter]
    fn store(&self, py: Python<'_>) -> String {
        self.known.get(py).storage().name()
    }

    #[getter]
    fn warnings(&self, py: Python<'_>) -> Vec<String> {
        self.known.get(py).warnings().to_vec()
    }

    #[getter]
    fn attributes(&self, py: Python<'_>) -> String {
        json::text(self.known.get(py).attributes())
    }

    /// The names, or paths, of the nodes in the group, and the kind of each: "array", "group", or
    /// "unreadable" if opening it is an error.
    fn members(
        &self,
        py: Python<'_>,
        recursive: bool,
        watch: Watch,
    ) -> PyResult<Vec<(String, &'static str)>> {
        self.look(py, &watch, move |group| {
            let found = if recursive {
                group.walk()?
            } else {
                group.children()?
            };
            Ok(found
                .into_iter()
                .map(|child| (child.path(), kind(child.kind())))
                .collect())
        })
    }

    /// Opens a node by its name or relative path.
    fn open(&self, py: Python<'_>, name: String, watch: Watch) -> PyResult<Node> {
        let node = self.look(py, &watch, move |group| match group.array(&name) {
            Err(error) if error.kind() == ErrorKind::WrongNodeKind => {
                group.group(&name).map(AnyNode::Group)
            }
            array => array.map(AnyNode::Array),
        })?;
        Node::new(py, node, self.options.clone())
    }

    fn create_array(
        &self,
        py: Python<'_>,
        name: &str,
        dtype: &Bound<'_, PyAny>,
        new: &Bound<'_, PyAny>,
        opening: &Bound<'_, PyAny>,
        watch: Watch,
    ) -> PyResult<RawArray> {
        let opening: Opening = given(opening)?;
        let builder = planned(py, dtype, given(new)?, &opening)?;
        let array = self.run(py, &watch, |group| group.create_array(name, builder))?;
        RawArray::new(py, array, opening.run())
    }

    fn create_group(&self, py: Python<'_>, name: &str, watch: Watch) -> PyResult<Self> {
        let group = self.run(py, &watch, |group| group.create_group(name))?;
        Ok(Self::new(group, self.options.clone()))
    }

    /// Removes a node below it; if forced, with files that do not belong to the node.
    fn erase(&self, py: Python<'_>, name: &str, force: bool, watch: Watch) -> PyResult<()> {
        let group = self.known.get(py);
        let options = if force {
            self.options.clone().force()
        } else {
            self.options.clone()
        };
        run(py, &watch, options, |options| {
            group.with_options(options).erase(name)
        })
    }

    fn consolidate(&self, py: Python<'_>, watch: Watch) -> PyResult<()> {
        self.change(py, &watch, Group::consolidate)
    }

    fn change_attributes(
        &self,
        py: Python<'_>,
        how: &str,
        attributes: &str,
        watch: Watch,
    ) -> PyResult<()> {
        let change = json::attribute_change(how, attributes)?;
        self.change(py, &watch, move |group| group.change_attributes(&change))
    }
}

/// Opens the node at a path or URL; `wanted` is "array", "group" or "any".
#[pyfunction]
pub(crate) fn open(
    py: Python<'_>,
    path: PathBuf,
    wanted: String,
    opening: &Bound<'_, PyAny>,
    watch: Watch,
) -> PyResult<Node> {
    let opening: Opening = given(opening)?;
    let place = opening.place(path);
    let options = opening.options()?;
    let node = look(py, &watch, opening.run(), move |_| match &*wanted {
        "array" => options.open_array(place).map(AnyNode::Array),
        "group" => options.open_group(place).map(AnyNode::Group),
        _ => options.open_node(place),
    })?;
    Node::new(py, node, opening.run())
}

/// The builder of an array. NumPy must have a dtype for its elements: otherwise it could not be
/// opened, and may have replaced another node.
fn planned(
    py: Python<'_>,
    dtype: &Bound<'_, PyAny>,
    new: New,
    opening: &Opening,
) -> PyResult<ArrayBuilder> {
    let (data_type, is_big) = dtype::data_type(py, dtype)?;
    dtype::dtype(py, &data_type)?;
    new.builder(data_type, is_big, opening)
}

/// Creates an array.
#[pyfunction]
pub(crate) fn create_array(
    py: Python<'_>,
    path: PathBuf,
    dtype: &Bound<'_, PyAny>,
    new: &Bound<'_, PyAny>,
    opening: &Bound<'_, PyAny>,
    watch: Watch,
) -> PyResult<RawArray> {
    let opening: Opening = given(opening)?;
    let place = opening.place(path);
    let builder = planned(py, dtype, given(new)?, &opening)?;
    let array = run(py, &watch, opening.run(), |_| builder.create(place))?;
    RawArray::new(py, array, opening.run())
}

/// Creates a group.
#[pyfunction]
pub(crate) fn create_group(
    py: Python<'_>,
    path: PathBuf,
    attributes: Option<&str>,
    overwrite: bool,
    force: bool,
    opening: &Bound<'_, PyAny>,
    watch: Watch,
) -> PyResult<RawGroup> {
    let opening: Opening = given(opening)?;
    let mut builder = opening.group()?;
    if let Some(attributes) = attributes {
        builder = builder.attributes(json::parsed(attributes)?);
    }
    if overwrite {
        builder = builder.overwrite();
    }
    if force {
        builder = builder.force();
    }
    let place = opening.place(path);
    let group = run(py, &watch, opening.run(), |_| builder.create(place))?;
    Ok(RawGroup::new(group, opening.run()))
}
