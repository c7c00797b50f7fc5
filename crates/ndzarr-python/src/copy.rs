//! `copy`: the planned copy of the library.

use std::path::PathBuf;

use ndzarr::codec::IndexLocation;
use ndzarr::ndarray::SliceInfoElem;
use ndzarr::{
    Cast, CopyAccount, CopyLevel, CopyOptions, Existing, KeyList, MemberKind, copy as copy_nodes,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::dtype;
use crate::key::Key;
use crate::options::{Opening, codec, format, given, n5_axes};
use crate::run::{Watch, run};

/// The differences of the target from the source, and how it is copied.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Change<'py> {
    /// Slices, and the shape of the array.
    select: Option<(Bound<'py, PyTuple>, Vec<u64>)>,
    format: Option<String>,
    n5_axes: String,
    chunks: Option<Vec<u64>>,
    shards: Option<Vec<u64>>,
    no_shards: bool,
    index_location: Option<String>,
    codecs: Option<Vec<String>>,
    scale: Option<f64>,
    offset: Option<f64>,
    saturate: bool,
    memory: Option<u64>,
    temporary: Option<PathBuf>,
    resume: bool,
    overwrite: bool,
    record_losses: bool,
    other_files: bool,
    metadata_only: bool,
}

/// Copies an array or a group.
#[pyfunction]
pub(crate) fn copy<'py>(
    py: Python<'py>,
    source: PathBuf,
    from: &Bound<'py, PyAny>,
    target: PathBuf,
    to: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    change: &Bound<'py, PyAny>,
    watch: Watch,
) -> PyResult<Bound<'py, PyDict>> {
    let from: Opening = given(from)?;
    let to: Opening = given(to)?;
    let change: Change<'py> = given(change)?;
    let mut options = CopyOptions::new()
        .open(from.options()?)
        .n5_axes(n5_axes(&change.n5_axes)?);
    if let Some((slices, shape)) = &change.select {
        options = options.select(slices_of(slices, shape)?);
    }
    if let Some(name) = &change.format {
        options = options.format(format(name)?);
    }
    if let Some(chunks) = change.chunks {
        options = options.chunks(chunks);
    }
    if let Some(shards) = change.shards {
        options = options.shards(shards);
    }
    if change.no_shards {
        options = options.no_shards();
    }
    options = match change.index_location.as_deref() {
        None => options,
        Some("start") => options.index_location(IndexLocation::Start),
        Some("end") => options.index_location(IndexLocation::End),
        Some(other) => {
            let what = format!("index_location is {other:?}, not \"start\" or \"end\"");
            return Err(PyValueError::new_err(what));
        }
    };
    if let Some(codecs) = change.codecs {
        let codecs = codecs.iter().map(|text| codec(text));
        options = options.codecs(codecs.collect::<PyResult<Vec<_>>>()?);
    }
    if let Some(dtype) = dtype {
        options = options.data_type(dtype::data_type(py, dtype)?.0);
    }
    if let Some(scale) = change.scale {
        options = options.scale(scale);
    }
    if let Some(offset) = change.offset {
        options = options.offset(offset);
    }
    if change.saturate {
        options = options.cast(Cast::Saturating);
    }
    if let Some(memory) = change.memory {
        options = options.memory(memory);
    }
    if let Some(temporary) = change.temporary {
        options = options.temporary(to.place(temporary));
    }
    if change.resume {
        options = options.resume();
    }
    if change.overwrite {
        options = options.existing(Existing::Replace);
    }
    if change.record_losses {
        options = options.record_losses();
    }
    if !change.other_files {
        options = options.no_other_files();
    }
    if change.metadata_only {
        options = options.at_most(CopyLevel::Metadata);
    }
    let source = from.place(source);
    let target = to.place(target);
    let report = run(py, &watch, to.run(), |run| {
        copy_nodes(source, target, &options.run(run))
    })?;
    let out = PyDict::new(py);
    out.set_item("is_complete", report.is_complete())?;
    let nodes = PyList::empty(py);
    for node in report.nodes {
        let item = PyDict::new(py);
        item.set_item("source", node.source)?;
        item.set_item("target", node.target)?;
        item.set_item(
            "kind",
            if node.kind == MemberKind::Array {
                "array"
            } else {
                "group"
            },
        )?;
        item.set_item("level", level(node.level)?)?;
        item.set_item("n_chunks", node.n_chunks)?;
        item.set_item("as_files", node.as_files)?;
        item.set_item("losses", node.losses)?;
        item.set_item("notes", node.notes)?;
        nodes.append(item)?;
    }
    out.set_item("nodes", nodes)?;
    let not_copied = PyDict::new(py);
    for node in report.not_copied {
        not_copied.set_item(node.source, node.why)?;
    }
    out.set_item("not_copied", not_copied)?;
    out.set_item(
        "account",
        report
            .account
            .map(|account| account_of(py, account))
            .transpose()?,
    )?;
    Ok(out)
}

/// The use of the keys of the source.
fn account_of(py: Python<'_>, account: CopyAccount) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("documents", account.n_documents)?;
    out.set_item("chunks", account.n_chunks)?;
    out.set_item("remade", account.n_remade)?;
    out.set_item("files", keys_of(py, account.files)?)?;
    let left_out = PyDict::new(py);
    for group in account.left_out {
        left_out.set_item(group.reason.to_string(), keys_of(py, group.keys)?)?;
    }
    out.set_item("left_out", left_out)?;
    Ok(out)
}

fn keys_of(py: Python<'_>, keys: KeyList) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("n", keys.n)?;
    out.set_item("first", keys.first)?;
    Ok(out)
}

fn slices_of(slices: &Bound<'_, PyTuple>, shape: &[u64]) -> PyResult<Vec<SliceInfoElem>> {
    match Key::new(slices, shape)? {
        Key::Basic(slices) => Ok(slices),
        _ => Err(PyValueError::new_err(
            "a part that is copied is given by slices",
        )),
    }
}

fn level(level: CopyLevel) -> PyResult<&'static str> {
    match level {
        CopyLevel::Metadata => Ok("metadata"),
        CopyLevel::Rekeyed => Ok("rekeyed"),
        CopyLevel::Reencoded => Ok("reencoded"),
        other => Err(PyValueError::new_err(format!(
            "an unknown way of copying: {other:?}"
        ))),
    }
}
