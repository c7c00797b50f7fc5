//! `RawImage`: a multiscale image for `ndzarr.ome`.

use std::path::PathBuf;

use ndzarr::codec::zstd;
use ndzarr::{AnyArray, ArrayBuilder, Existing, Format, RunOptions};
use ndzarr_ome::{Axis, AxisKind, Downsample, Error, Multiscale, NewMultiscale};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::array::RawArray;
use crate::error::{of_kind, raised};
use crate::group::RawGroup;
use crate::options::{Opening, codec, given};
use crate::run::{Watch, look, run};

/// The name of an axis, what it measures, and its unit.
type RawAxis = (String, Option<String>, Option<String>);

/// The path of a level, and the scale and translation of each axis.
type RawLevel = (String, Vec<f64>, Vec<f64>);

/// An image of several resolutions.
#[pyclass(frozen, module = "ndzarr._ndzarr")]
pub(crate) struct RawImage {
    image: Multiscale,
    options: RunOptions,
}

/// Runs a call of the crate for images.
fn run_on_image<R: Send>(
    py: Python<'_>,
    watch: &Watch,
    options: RunOptions,
    call: impl FnOnce(RunOptions) -> Result<R, Error> + Send,
) -> PyResult<R> {
    run(py, watch, options, |options| Ok(call(options)))?
        .map_err(|error| raised_of_image(py, error))
}

/// Runs a call of the crate for images that changes nothing: an interrupt does not wait for its
/// end.
fn look_on_image<R: Send + 'static>(
    py: Python<'_>,
    watch: &Watch,
    options: RunOptions,
    call: impl FnOnce() -> Result<R, Error> + Send + 'static,
) -> PyResult<R> {
    look(py, watch, options, |_| Ok(call()))?.map_err(|error| raised_of_image(py, error))
}

fn raised_of_image(py: Python<'_>, error: Error) -> PyErr {
    match error {
        Error::Array(error) => raised(py, &error),
        Error::Argument(what) => of_kind(py, "InvalidArgument", &what),
        other => of_kind(py, "InvalidMetadata", &other.to_string()),
    }
}

fn downsample(method: &str) -> PyResult<Downsample> {
    match method {
        "mean" => Ok(Downsample::Mean),
        "mode" => Ok(Downsample::Mode),
        "stride" => Ok(Downsample::Stride),
        other => Err(PyValueError::new_err(format!(
            "method is one of mean, mode, stride, not {other:?}"
        ))),
    }
}

#[pymethods]
impl RawImage {
    #[getter]
    fn path(&self) -> &str {
        self.image.path()
    }

    #[getter]
    fn convention(&self) -> String {
        self.image.convention.to_string()
    }

    #[getter]
    fn name(&self) -> Option<&str> {
        self.image.name.as_deref()
    }

    #[getter]
    fn method(&self) -> Option<&str> {
        self.image.method.as_deref()
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.image.warnings.clone()
    }

    #[getter]
    fn axes(&self) -> Vec<RawAxis> {
        let axes = self.image.axes.iter();
        axes.map(|axis| {
            (
                axis.name.clone(),
                axis.kind.name().map(str::to_owned),
                axis.unit.clone(),
            )
        })
        .collect()
    }

    #[getter]
    fn levels(&self) -> Vec<RawLevel> {
        let levels = self.image.levels.iter();
        levels
            .map(|level| {
                (
                    level.path.clone(),
                    level.scale.clone(),
                    level.translation.clone(),
                )
            })
            .collect()
    }

    fn level_for(
        &self,
        py: Python<'_>,
        size: f64,
        unit: Option<&str>,
        watch: Watch,
    ) -> PyResult<usize> {
        run_on_image(py, &watch, self.options.clone(), |_| {
            self.image.level_for(size, unit)
        })
    }

    /// The elements of a level that overlap a box, given by coordinates along each axis.
    fn region(
        &self,
        level: usize,
        bounds: Vec<(f64, f64)>,
        shape: Vec<u64>,
    ) -> PyResult<Vec<(u64, u64)>> {
        let levels = &self.image.levels;
        let level = levels.get(level).ok_or_else(|| {
            PyValueError::new_err(format!(
                "the image has {} levels, and {level} is not one",
                levels.len()
            ))
        })?;
        let bounds: Vec<_> = bounds.into_iter().map(|(start, end)| start..end).collect();
        let region = level.region(&bounds, &shape);
        Ok(region
            .ranges()
            .iter()
            .map(|range| (range.start, range.end))
            .collect())
    }

    fn array(&self, py: Python<'_>, level: usize, watch: Watch) -> PyResult<RawArray> {
        let array = run_on_image(py, &watch, self.options.clone(), |_| {
            self.image.array(level)
        })?;
        RawArray::new(py, array, self.options.clone())
    }

    fn validate(&self, py: Python<'_>, watch: Watch) -> PyResult<Vec<String>> {
        run_on_image(py, &watch, self.options.clone(), |_| {
            Ok(self
                .image
                .validate()
                .iter()
                .map(ToString::to_string)
                .collect())
        })
    }

    fn make_levels(&self, py: Python<'_>, method: &str, watch: Watch) -> PyResult<Self> {
        let method = downsample(method)?;
        let image = run_on_image(py, &watch, self.options.clone(), |options| {
            self.image.make_levels(method, &options)
        })?;
        Ok(Self {
            image,
            options: self.options.clone(),
        })
    }
}

/// The images that a group is or has.
#[pyfunction]
pub(crate) fn images(py: Python<'_>, group: &RawGroup, watch: Watch) -> PyResult<Vec<RawImage>> {
    let (group, options) = group.parts(py);
    let found = look_on_image(py, &watch, options.clone(), move || {
        Multiscale::find(&group)
    })?;
    Ok(found
        .into_iter()
        .map(|image| RawImage {
            image,
            options: options.clone(),
        })
        .collect())
}

/// A new image of the elements of an array.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct NewImage {
    axes: Vec<RawAxis>,
    scale: Option<Vec<f64>>,
    translation: Option<Vec<f64>>,
    levels: Option<usize>,
    factors: Option<Vec<u64>>,
    method: String,
    name: Option<String>,
    chunks: Option<Vec<u64>>,
    shards: Option<Vec<u64>>,
    codecs: Option<Vec<String>>,
    memory: Option<u64>,
    overwrite: bool,
}

impl NewImage {
    fn image(&self, array: &AnyArray) -> PyResult<NewMultiscale> {
        let axes = self.axes.iter().map(|(name, kind, unit)| {
            let axis = match kind.as_deref() {
                None => Axis::new(name),
                Some("space") => Axis::new(name).with_kind(AxisKind::Space),
                Some("time") => Axis::new(name).with_kind(AxisKind::Time),
                Some("channel") => Axis::new(name).with_kind(AxisKind::Channel),
                Some(other) => Axis::new(name).with_kind(AxisKind::Other(Some(other.to_owned()))),
            };
            unit.iter().fold(axis, |axis, unit| axis.with_unit(unit))
        });
        let axes = axes.zip(array.shape().iter().copied());
        let mut new =
            NewMultiscale::new(array.data_type().clone(), axes).method(downsample(&self.method)?);
        if let Some(scale) = &self.scale {
            new = new.scale(scale.clone());
        }
        if let Some(translation) = &self.translation {
            new = new.translation(translation.clone());
        }
        if let Some(n_levels) = self.levels {
            new = new.levels(n_levels);
        }
        if let Some(factors) = &self.factors {
            new = new.factors(factors.clone());
        }
        if let Some(name) = &self.name {
            new = new.name(name);
        }
        Ok(if self.overwrite {
            new.existing(Existing::Replace)
        } else {
            new
        })
    }
}

/// Creates an image of the elements of an array.
#[pyfunction]
pub(crate) fn create_image(
    py: Python<'_>,
    path: PathBuf,
    source: &RawArray,
    new: &Bound<'_, PyAny>,
    opening: &Bound<'_, PyAny>,
    watch: Watch,
) -> PyResult<RawImage> {
    let opening: Opening = given(opening)?;
    let new: NewImage = given(new)?;
    let place = opening.place(path);
    let array = source.array(py);
    if new.axes.len() != array.shape().len() {
        let what = format!(
            "{} axes for an array of {}",
            new.axes.len(),
            array.shape().len()
        );
        return Err(PyValueError::new_err(what));
    }
    let image = new.image(&array)?;
    let format = opening.format()?.unwrap_or(Format::Zarr3);
    let codecs = new
        .codecs
        .as_deref()
        .map(|names| names.iter().map(|name| codec(name)).collect());
    let codecs: Option<Vec<_>> = codecs.transpose()?;
    let layout = |mut builder: ArrayBuilder| {
        if let Some(chunks) = &new.chunks {
            builder = builder.chunks(chunks.clone());
        }
        if let Some(shards) = &new.shards {
            builder = builder.shards(shards.clone());
        }
        match &codecs {
            Some(codecs) => builder.codecs(codecs.iter().cloned()),
            // The codecs of one format may not exist in another.
            None if array.format() != format => builder.codecs([zstd(3)]),
            None => builder,
        }
    };
    let options = opening.run();
    let image = run_on_image(py, &watch, options.clone(), |options| {
        let options = new
            .memory
            .into_iter()
            .fold(options, RunOptions::bytes_in_flight);
        Multiscale::create_from(&array, place, format, &image, layout, &options)
    })?;
    Ok(RawImage { image, options })
}
