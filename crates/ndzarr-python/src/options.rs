//! Keyword arguments with which nodes are opened and created.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use ndzarr::codec::{self, BloscCname, BloscShuffle, CodecConfig, CodecSpec};
use ndzarr::{
    AnyArray, ArrayBuilder, ChunkEdges, ConcurrentUpdate, ConsolidatedUse, DataType, Endian,
    Existing, FillRequest, FillValue, Format, Group, GroupBuilder, N5Axes, OpenOptions, Order,
    Place, RunOptions,
};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::json;

fn unknown(what: &str, given: &str, known: &str) -> PyErr {
    PyValueError::new_err(format!("{what} is one of {known}, not {given:?}"))
}

pub(crate) fn format(name: &str) -> PyResult<Format> {
    let all = [
        Format::Zarr3,
        Format::Zarr2,
        Format::N5,
        Format::DraftA,
        Format::DraftB,
    ];
    let known = || all.map(|format| format.to_string()).join(", ");
    all.into_iter()
        .find(|format| format.to_string() == name)
        .ok_or_else(|| unknown("format", name, &known()))
}

pub(crate) fn n5_axes(name: &str) -> PyResult<N5Axes> {
    match name {
        "native" => Ok(N5Axes::Native),
        "reversed" => Ok(N5Axes::Reversed),
        other => Err(unknown("n5_axes", other, "native, reversed")),
    }
}

/// A path or URL; `variables` take precedence over the environment of the process. If they contain
/// credentials, an endpoint or a region, other names for the same are not read from the
/// environment.
fn place(path: PathBuf, variables: Option<HashMap<String, String>>) -> Place {
    match variables {
        None => Place::from(path),
        Some(variables) => Place::with_variables(path, move |name| {
            let given = |own: &&str| variables.contains_key(*own);
            let is_hidden = INSTEAD.iter().any(|(own, of_environment)| {
                of_environment.contains(&name) && own.iter().any(given)
            });
            let of_environment = || std::env::var(name).ok().filter(|_| !is_hidden);
            variables.get(name).cloned().or_else(of_environment)
        }),
    }
}

/// Variables that replace others: if one of the first list is given, those of the second list are
/// not read from the environment.
const INSTEAD: [(&[&str], &[&str]); 6] = [
    (&["AWS_ENDPOINT_URL"], &["AWS_ENDPOINT_URL_S3"]),
    (
        &["AWS_REGION", "AWS_DEFAULT_REGION"],
        &["AWS_REGION", "AWS_DEFAULT_REGION"],
    ),
    (
        &["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"],
        &[
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "AWS_PROFILE",
            "AWS_DEFAULT_PROFILE",
            "AWS_SKIP_SIGNATURE",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "AWS_ROLE_ARN",
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        ],
    ),
    (
        &[
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GOOGLE_SERVICE_ACCOUNT",
            "GOOGLE_SERVICE_ACCOUNT_KEY",
        ],
        &[
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GOOGLE_SERVICE_ACCOUNT",
            "GOOGLE_SERVICE_ACCOUNT_PATH",
            "GOOGLE_SERVICE_ACCOUNT_KEY",
            "GOOGLE_SKIP_SIGNATURE",
        ],
    ),
    (
        &[
            "AZURE_STORAGE_ACCOUNT_KEY",
            "AZURE_STORAGE_SAS_TOKEN",
            "AZURE_STORAGE_TOKEN",
            "AZURE_CLIENT_SECRET",
        ],
        &[
            "AZURE_STORAGE_ACCOUNT_KEY",
            "AZURE_STORAGE_ACCESS_KEY",
            "AZURE_STORAGE_SAS_TOKEN",
            "AZURE_STORAGE_SAS_KEY",
            "AZURE_STORAGE_TOKEN",
            "AZURE_CLIENT_SECRET",
            "AZURE_STORAGE_CLIENT_SECRET",
            "AZURE_FEDERATED_TOKEN_FILE",
            "AZURE_SKIP_SIGNATURE",
        ],
    ),
    (&["AZURE_STORAGE_ACCOUNT_NAME"], &["AZURE_STORAGE_ACCOUNT"]),
];

/// Keyword arguments from a `dict`. An argument of another type is an error that names it.
pub(crate) fn given<'py, T: FromPyObjectOwned<'py>>(arguments: &Bound<'py, PyAny>) -> PyResult<T> {
    arguments
        .extract()
        .map_err(|error: <T as FromPyObject<'_, 'py>>::Error| {
            let py = arguments.py();
            let error: PyErr = error.into();
            let text = error.value(py).to_string();
            // The derived conversions report "failed to extract field New.shape".
            let name = text
                .strip_prefix("failed to extract field ")
                .and_then(|field| field.split('.').nth(1));
            let (Some(name), Some(cause)) = (name, error.cause(py)) else {
                return error;
            };
            let value = arguments
                .get_item(name)
                .and_then(|value| value.repr())
                .map(|text| text.to_string());
            let value = value.unwrap_or_default();
            PyTypeError::new_err(format!(
                "the argument {name} cannot be {value}: {}",
                cause.value(py)
            ))
        })
}

/// How a node is opened.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Opening {
    format: Option<String>,
    n5_axes: String,
    separator: Option<char>,
    variables: Option<HashMap<String, String>>,
    threads: Option<usize>,
    store_fill_chunks: bool,
    last_writer_wins: bool,
    ignores_consolidated: bool,
}

impl Opening {
    pub(crate) fn place(&self, path: PathBuf) -> Place {
        place(path, self.variables.clone())
    }

    pub(crate) fn format(&self) -> PyResult<Option<Format>> {
        self.format.as_deref().map(format).transpose()
    }

    pub(crate) fn options(&self) -> PyResult<OpenOptions> {
        let options = OpenOptions::new()
            .format(self.format()?)
            .separator(self.separator);
        let options = options.n5_axes(n5_axes(&self.n5_axes)?);
        Ok(if self.ignores_consolidated {
            options.consolidated(ConsolidatedUse::Ignore)
        } else {
            options
        })
    }

    pub(crate) fn run(&self) -> RunOptions {
        let options = RunOptions::default()
            .threads(self.threads.and_then(NonZeroUsize::new))
            .concurrent_update(self.concurrent_update());
        if self.store_fill_chunks {
            options.store_fill_chunks()
        } else {
            options
        }
    }

    /// A new group.
    pub(crate) fn group(&self) -> PyResult<GroupBuilder> {
        let builder = self
            .format()?
            .into_iter()
            .fold(Group::builder(), GroupBuilder::format);
        Ok(builder
            .n5_axes(n5_axes(&self.n5_axes)?)
            .concurrent_update(self.concurrent_update()))
    }

    fn concurrent_update(&self) -> ConcurrentUpdate {
        if self.last_writer_wins {
            ConcurrentUpdate::LastWriterWins
        } else {
            ConcurrentUpdate::Merge
        }
    }
}

/// A new array.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct New {
    shape: Vec<u64>,
    chunks: Option<Vec<u64>>,
    chunk_edges: Option<Vec<Vec<u64>>>,
    shards: Option<Vec<u64>>,
    /// Names with parameters, `"zstd:3"`.
    codecs: Option<Vec<String>>,
    /// As in the format's documents.
    codecs_json: Option<String>,
    fill_value: Option<Vec<u8>>,
    no_fill_value: bool,
    order: String,
    separator: Option<char>,
    attributes: Option<String>,
    dimension_names: Option<Vec<String>>,
    overwrite: bool,
    force: bool,
}

impl New {
    /// The array to create, in the format and with the axes of `opening`.
    pub(crate) fn builder(
        self,
        data_type: DataType,
        is_big: bool,
        opening: &Opening,
    ) -> PyResult<ArrayBuilder> {
        let format = opening.format()?.unwrap_or(Format::Zarr3);
        let mut builder = AnyArray::builder(self.shape)
            .data_type(data_type)
            .format(format)
            .n5_axes(n5_axes(&opening.n5_axes)?)
            .concurrent_update(opening.concurrent_update());
        if let Some(chunks) = self.chunks {
            builder = builder.chunks(chunks);
        }
        if let Some(edges) = self.chunk_edges {
            let edges = edges
                .into_iter()
                .map(|axis| ChunkEdges::Listed(axis.into_iter().map(|n| (n, 1)).collect()));
            builder = builder.chunk_edges(edges);
        }
        if let Some(shards) = self.shards {
            builder = builder.shards(shards);
        }
        if let Some(codecs) = self.codecs {
            let codecs = codecs.iter().map(|text| codec(text));
            builder = builder.codecs(codecs.collect::<PyResult<Vec<_>>>()?);
        }
        let is_json = self.codecs_json.is_some();
        if let Some(text) = self.codecs_json {
            builder = builder.codecs_json(json::parsed(&text)?);
        }
        if let Some(bytes) = self.fill_value {
            builder = builder.fill_value(FillRequest::Value(FillValue::defined(bytes)));
        } else if self.no_fill_value {
            builder = builder.no_fill_value();
        }
        match &*self.order {
            "C" => {}
            "F" => builder = builder.order(Order::F),
            other => return Err(unknown("order", other, "C, F")),
        }
        if let Some(separator) = self.separator {
            builder = builder.separator(separator);
        }
        // A list of codecs in JSON has the byte order in it.
        let is_listed = is_json && matches!(format, Format::Zarr3 | Format::DraftA);
        if is_big && format != Format::N5 && !is_listed {
            builder = builder.endian(Endian::Big);
        }
        if let Some(text) = self.attributes {
            builder = builder.attributes(json::parsed(&text)?);
        }
        if let Some(names) = self.dimension_names {
            builder = builder.dimension_names(names);
        }
        if self.overwrite {
            builder = builder.existing(Existing::Replace);
        }
        if self.force {
            builder = builder.force();
        }
        Ok(builder)
    }
}

const CODECS: &str = "zstd, gzip, zlib, blosc, lz4, bz2, xz, crc32c, pcodec";

/// A codec from its name and parameters: `zstd`, `zstd:3`, `blosc:lz4:5:bitshuffle`.
pub(crate) fn codec(text: &str) -> PyResult<CodecSpec> {
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or_default();
    let parameters: Vec<&str> = parts.collect();
    let number = |usual: i64| match parameters[..] {
        [] => Ok(usual),
        [number] => number.parse::<i64>().map_err(|_| {
            PyValueError::new_err(format!("the codec {text:?}: {number:?} is not an integer"))
        }),
        _ => Err(PyValueError::new_err(format!(
            "the codec {text:?} has too many parameters"
        ))),
    };
    let within = |usual: i64| {
        let number = number(usual)?;
        i32::try_from(number).map_err(|_| {
            PyValueError::new_err(format!("the codec {text:?}: {number} is out of range"))
        })
    };
    let natural = |usual: i64| {
        let number = number(usual)?;
        u32::try_from(number).map_err(|_| {
            PyValueError::new_err(format!("the codec {text:?}: {number} is out of range"))
        })
    };
    let plain = |spec: CodecSpec| {
        if parameters.is_empty() {
            return Ok(spec);
        }
        Err(PyValueError::new_err(format!(
            "the codec {name:?} has no parameters, but there is {text:?}"
        )))
    };
    match name {
        "zstd" => Ok(codec::zstd(within(3)?)),
        "gzip" => Ok(codec::gzip(within(5)?)),
        "zlib" => Ok(codec::zlib(within(5)?)),
        "bz2" => Ok(CodecConfig::Bz2 { level: natural(9)? }.into()),
        "xz" => Ok(codec::xz(natural(6)?)),
        "pcodec" => {
            let level = u8::try_from(natural(8)?);
            Ok(codec::pcodec(level.map_err(|_| {
                unknown("the level of pcodec", text, "0 to 12")
            })?))
        }
        "lz4" => plain(codec::lz4()),
        "crc32c" => plain(codec::crc32c()),
        "blosc" => blosc(text, &parameters),
        other => Err(unknown("a codec", other, CODECS)),
    }
}

/// `blosc:<compressor>:<level>:<shuffle>`, each of them optional.
fn blosc(text: &str, parameters: &[&str]) -> PyResult<CodecSpec> {
    let wrong = |what: &str| PyValueError::new_err(format!("the codec {text:?}: {what}"));
    let cname = parameters.first().copied().unwrap_or("lz4");
    let cname = BloscCname::from_name(cname).ok_or_else(|| wrong("unknown compressor"))?;
    let level = parameters.get(1).copied().unwrap_or("5");
    let level = level
        .parse()
        .map_err(|_| wrong("the level is from 0 to 9"))?;
    let shuffle = match parameters.get(2).copied().unwrap_or("shuffle") {
        "shuffle" => BloscShuffle::Byte,
        "bitshuffle" => BloscShuffle::Bit,
        "noshuffle" => BloscShuffle::None,
        _ => return Err(wrong("the shuffle is shuffle, bitshuffle or noshuffle")),
    };
    match parameters.get(3) {
        None => Ok(codec::blosc(cname, level, shuffle)),
        Some(_) => Err(wrong("it has too many parameters")),
    }
}
