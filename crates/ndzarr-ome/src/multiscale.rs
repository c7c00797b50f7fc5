//! `Multiscale`: an image of several resolutions, the same for all conventions.

use std::marker::PhantomData;

use ndzarr::store::block_on;
use ndzarr::{AnyArray, ArrayBuilder, Format, Group, Place, RunOptions};
use serde_json::Value;

use crate::axis::{Axis, AxisKind};
use crate::convention::Convention;
use crate::create::entries::{change_entries, state_method};
use crate::create::new_multiscale::{NewMultiscale, array_names, create_arrays, try_in_memory};
use crate::error::{Error, Result};
use crate::find::find;
use crate::find::image::Image;
use crate::io::Here;
use crate::levels::downsample::Downsample;
use crate::levels::level::Level;
use crate::levels::make_levels::make_levels;
use crate::validate::{Expected, Finding, check_arrays, validate};
use ndzarr::Blocking;

/// An image of several resolutions. `M` is the mode of its calls: blocking or asynchronous.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Multiscale<M> {
    /// The rules that its metadata follow.
    pub convention: Convention,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// How its coarser levels were made, in the words of the metadata.
    pub method: Option<String>,
    /// Its axes, in the order of the axes of its arrays.
    pub axes: Vec<Axis>,
    /// Its resolutions, the finest first.
    pub levels: Vec<Level>,
    /// Oddities of the metadata, and how they were read.
    pub warnings: Vec<String>,
    pub(crate) group: Group,
    mode: PhantomData<M>,
}

impl<M> Multiscale<M> {
    pub(crate) fn new(group: Group, image: Image) -> Self {
        let Image {
            convention,
            name,
            method,
            axes,
            levels,
            warnings,
            ..
        } = image;
        Self {
            convention,
            name,
            method,
            axes,
            levels,
            warnings,
            group,
            mode: PhantomData,
        }
    }

    /// The first of several images, with a warning that there are more (OME-17).
    pub(crate) fn first_of(found: Vec<(Group, Image)>, group: &Group) -> Result<Self> {
        let n_images = found.len();
        let Some((group, mut image)) = found.into_iter().next() else {
            return Err(Error::NoImage {
                path: group.path().to_owned(),
            });
        };
        if n_images > 1 {
            image.warn(format!("it is the first of {n_images} images"));
        }
        Ok(Self::new(group, image))
    }

    /// The path of its group from the root of the store.
    #[must_use]
    pub fn path(&self) -> &str {
        self.group.path()
    }

    /// The coarsest level whose elements are no larger than `size` along any axis of space; the
    /// finest one if all are larger. `size` is in `unit`, or without one in the unit of each axis.
    ///
    /// # Errors
    /// An axis of space has no unit that can be compared with `unit`.
    pub fn level_for<'u>(&self, size: f64, unit: impl Into<Option<&'u str>>) -> Result<usize> {
        let unit = unit.into();
        let mut limits = Vec::new();
        for (at, axis) in self.axes.iter().enumerate() {
            if axis.kind == AxisKind::Space {
                let factor = unit.map_or(Ok(1.0), |unit| comparable_unit(axis, unit))?;
                limits.push((at, size / factor));
            }
        }
        // Scales of single precision, or from divided shapes, are not exact.
        let fits = |level: &Level| {
            limits
                .iter()
                .all(|&(at, limit)| level.scale[at].abs() <= limit * (1.0 + 1e-6))
        };
        Ok(self.levels.iter().rposition(fits).unwrap_or(0))
    }

    pub(crate) fn level(&self, level: usize) -> Result<&Level> {
        let n_levels = self.levels.len();
        self.levels
            .get(level)
            .ok_or_else(|| Error::Argument(format!("there is no level {level} of {n_levels}")))
    }

    /// The differences of the attributes from the specification.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        match self.convention {
            Convention::Ome { .. } => validate(self.group.attributes()),
            _ => Vec::new(),
        }
    }

    pub(crate) fn expected(&self) -> Expected<'_> {
        Expected {
            convention: &self.convention,
            axes: &self.axes,
            levels: &self.levels,
        }
    }

    /// Checks that an array has the axes of the image (OME-14).
    pub(crate) fn check_n_axes(&self, level: &Level, n_axes: usize) -> Result<()> {
        if n_axes == self.axes.len() {
            return Ok(());
        }
        let what = format!(
            "has {} axes, and its level {:?} an array of {n_axes}",
            self.axes.len(),
            level.path
        );
        Err(Error::metadata(self.path(), what))
    }
}

/// The size of the unit of an axis in units of `unit`.
fn comparable_unit(axis: &Axis, unit: &str) -> Result<f64> {
    axis.unit_in(unit).ok_or_else(|| {
        let stated = axis.unit.as_ref().map_or("no unit".to_owned(), |stated| {
            format!("the unit {stated:?}")
        });
        Error::Argument(format!(
            "the axis {:?} has {stated}, which is not comparable with {unit:?}",
            axis.name
        ))
    })
}

impl Multiscale<Blocking> {
    /// Opens the image at a place, see [`Place`]: a path, a URL, or a store and a path in it. Of
    /// several images it is the first, with a warning; [`find`](Self::find) gives all.
    ///
    /// # Errors
    /// The place has no group; the group has no image; its metadata cannot be understood.
    pub fn open(place: impl Into<Place>) -> Result<Self> {
        Self::in_group(&Group::open(place)?)
    }

    /// All images of a group: one for each entry of `multiscales`, for each series of
    /// bioformats2raw, for each setup and time point of BigDataViewer. Levels are read with the
    /// options of the group, which may be opened with options of its own. A plate has none, since
    /// its fields are groups of their own: see [`Metadata`](crate::Metadata). Series, setups, time
    /// points and levels that cannot be opened are warnings of the first image.
    ///
    /// # Errors
    /// The metadata of an image cannot be understood; no image is left that can be opened; the
    /// store fails, or cannot list a group without metadata of OME-Zarr.
    pub fn find(group: &Group) -> Result<Vec<Self>> {
        let found = block_on(find(&Here, group))?;
        Ok(found
            .into_iter()
            .map(|(group, image)| Self::new(group, image))
            .collect())
    }

    /// The group of the image, for [attributes](crate::Metadata) and other nodes in it.
    #[must_use]
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// Opens the array of a level. Its axes are those of the image, in the same order.
    ///
    /// # Errors
    /// The image has no such level; its array cannot be opened, or has another number of axes.
    pub fn array(&self, level: usize) -> Result<AnyArray> {
        let level = self.level(level)?;
        let array: AnyArray = self.group.array(&level.path)?;
        self.check_n_axes(level, array.shape().len())?;
        Ok(array)
    }

    /// Compares the [metadata](crate::validate) and the arrays of the image with the specification
    /// of OME-Zarr. For other conventions, only the arrays are checked. An array that cannot be
    /// opened is a finding.
    #[must_use]
    pub fn validate(&self) -> Vec<Finding> {
        let mut findings = self.findings();
        findings.extend(block_on(check_arrays(&Here, &self.group, self.expected())));
        findings
    }

    /// Creates an image: its group, the arrays of all levels without elements, and metadata of
    /// OME-Zarr: 0.4 in Zarr v2, 0.5 in Zarr v3. `layout` is called for each level, and chooses
    /// chunks, shards and codecs.
    ///
    /// # Errors
    /// OME-Zarr does not allow such an image, or the format is another one; the place has a node
    /// already; the store fails.
    pub fn create(
        place: impl Into<Place>,
        format: Format,
        new: &NewMultiscale,
        layout: impl Fn(ArrayBuilder) -> ArrayBuilder,
    ) -> Result<Self> {
        let attributes = new.attributes(format)?;
        let mut builders = Vec::new();
        for level in new.planned()? {
            let builder =
                layout(AnyArray::builder(&level.shape).data_type(new.data_type().clone()));
            builders.push(new.describe(builder, format));
        }
        try_in_memory(&builders, format)?;
        let mut group = new.group(Group::builder(), format).create(place)?;
        create_arrays(&group, &array_names(builders.len()), builders)?;
        // Last, so that a reader that sees an image finds its arrays.
        group.merge_attributes(attributes)?;
        Self::in_group(&group)
    }

    /// The image of a group that was just written.
    pub(crate) fn in_group(group: &Group) -> Result<Self> {
        Self::first_of(block_on(find(&Here, group))?, group)
    }

    /// Makes the elements of all levels except for the finest, each from the level before, in
    /// parallel. Levels that have elements are replaced.
    ///
    /// Along each axis, the scale of a level must be a whole multiple of the scale of the level
    /// before, and its array as long as that needs: the last element may be made of fewer elements.
    /// If the translations are those of means, [`Stride`](Downsample::Stride) is an error, and the
    /// reverse.
    ///
    /// `options` set the number of threads, cancelling, and the progress that is called for the
    /// blocks of each level. The call needs about
    /// [`bytes_in_flight`](RunOptions#structfield.bytes_in_flight), or the memory for one chunk (or
    /// shard) of a level, if that is more.
    ///
    /// It has no asynchronous form, since it computes: asynchronous code calls it on a thread for
    /// blocking work.
    ///
    /// Metadata that state another method then state this one. Returns the image with them.
    ///
    /// # Errors
    /// The levels do not fit each other or the method; the elements are not numbers, or bools with
    /// a mean; a chunk is corrupt; the store fails; the call was cancelled; the metadata state
    /// another method, and their levels have changed meanwhile. Levels that were made stay.
    pub fn make_levels(&self, method: Downsample, options: &RunOptions) -> Result<Self> {
        let arrays = (0..self.levels.len())
            .map(|level| self.array(level))
            .collect::<Result<Vec<_>>>()?;
        make_levels(self.path(), &self.levels, &arrays, method, options)?;
        let mut made = self.clone();
        let stated = self.method.as_deref().filter(|_| self.levels.len() > 1);
        if stated.is_none_or(|stated| stated == method.name()) {
            return Ok(made);
        }
        let state = |list: &mut Value| state_method(list, &self.levels, method);
        if !change_entries(&mut made.group, state)? {
            return Err(Error::metadata(self.path(), "has other levels than before"));
        }
        made.method = Some(method.name().to_owned());
        Ok(made)
    }
}
