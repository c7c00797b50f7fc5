//! `Multiscale`: an image of several resolutions, whatever its convention.

use std::marker::PhantomData;

use ndzarr::store::block_on;
use ndzarr::{AnyArray, ArrayBuilder, Format, Group, Place, RunOptions};

use crate::axis::{Axis, AxisKind};
use crate::convention::Convention;
use crate::create::new_multiscale::{NewMultiscale, create_arrays, numbers, try_in_memory};
use crate::error::{Error, Result};
use crate::find::find;
use crate::find::image::Image;
use crate::io::Here;
use crate::levels::downsample::Downsample;
use crate::levels::level::Level;
use crate::levels::make_levels::make_levels;
use crate::validate::{Expected, Finding, check_arrays, validate};
use ndzarr::Blocking;

/// An image of several resolutions; whether its calls block is a matter of `M`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Multiscale<M> {
    /// Whose rules its metadata follow.
    pub convention: Convention,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// How its coarser levels were made, in the words of the metadata.
    pub method: Option<String>,
    /// Its axes, in the order of the axes of its arrays.
    pub axes: Vec<Axis>,
    /// Its resolutions, the finest first.
    pub levels: Vec<Level>,
    /// What is odd about the metadata, and how it was read.
    pub warnings: Vec<String>,
    pub(crate) group: Group,
    mode: PhantomData<M>,
}

impl<M> Multiscale<M> {
    pub(crate) fn new(group: Group, image: Image) -> Self {
        let Image { convention, name, method, axes, levels, warnings, .. } = image;
        Self { convention, name, method, axes, levels, warnings, group, mode: PhantomData }
    }

    /// The first of several images, with a warning that there are more (OME-17).
    pub(crate) fn first_of(found: Vec<(Group, Image)>, group: &Group) -> Result<Self> {
        let n_images = found.len();
        let Some((group, mut image)) = found.into_iter().next() else {
            return Err(Error::NoImage { path: group.path().to_owned() });
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

    /// The coarsest level whose elements are no larger than `size` along any axis of space; the finest
    /// one if all are larger. `size` is in `unit`, or without one in the unit of each axis.
    ///
    /// # Errors
    /// An axis of space has no unit that can be compared with `unit`.
    pub fn level_for<'u>(&self, size: f64, unit: impl Into<Option<&'u str>>) -> Result<usize> {
        let unit = unit.into();
        let mut limits = Vec::new();
        for (at, axis) in self.axes.iter().enumerate().filter(|(_, axis)| axis.kind == AxisKind::Space) {
            let factor = match unit {
                None => 1.0,
                Some(unit) => axis.unit_in(unit).ok_or_else(|| {
                    let own =
                        axis.unit.as_ref().map_or("no unit".to_owned(), |own| format!("the unit {own:?}"));
                    Error::Argument(format!(
                        "the axis {:?} has {own}, which is not comparable with {unit:?}",
                        axis.name
                    ))
                })?,
            };
            limits.push((at, size / factor));
        }
        // Scales of single precision, or from divided shapes, are not exact.
        let fits =
            |level: &Level| limits.iter().all(|&(at, limit)| level.scale[at].abs() <= limit * (1.0 + 1e-6));
        Ok(self.levels.iter().rposition(fits).unwrap_or(0))
    }

    pub(crate) fn level(&self, level: usize) -> Result<&Level> {
        let n_levels = self.levels.len();
        self.levels
            .get(level)
            .ok_or_else(|| Error::Argument(format!("there is no level {level} of {n_levels}")))
    }

    /// What the attributes lack.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        match self.convention {
            Convention::Ome { .. } => validate(self.group.attributes()),
            _ => Vec::new(),
        }
    }

    pub(crate) fn expected(&self) -> Expected<'_> {
        Expected { convention: &self.convention, axes: &self.axes, levels: &self.levels }
    }

    /// Checks that an array has the axes of the image (OME-14).
    pub(crate) fn checked(&self, level: &Level, n_axes: usize) -> Result<()> {
        if n_axes == self.axes.len() {
            return Ok(());
        }
        let what =
            format!("has {} axes, and its level {:?} an array of {n_axes}", self.axes.len(), level.path);
        Err(Error::metadata(self.path(), what))
    }
}

impl Multiscale<Blocking> {
    /// Opens the image at a place, see [`Place`]: a path, a URL, or a store and a path in it. Of several
    /// images it is the first, with a warning; [`find`](Self::find) gives all.
    ///
    /// # Errors
    /// No group is there; it has no image; its metadata cannot be understood.
    pub fn open(place: impl Into<Place>) -> Result<Self> {
        Self::in_group(&Group::open(place)?)
    }

    /// All images that a group is or has, opened with options of its own: an image for each entry of
    /// `multiscales`, for each series of bioformats2raw, for each setup and time point of
    /// BigDataViewer. Levels are read with the options of the group. None for a plate, whose fields
    /// are groups of their own: see [`Metadata`](crate::Metadata). Series, setups, time points and
    /// levels that cannot be opened are warnings of the first image.
    ///
    /// # Errors
    /// The metadata of an image cannot be understood; what cannot be opened leaves no image;
    /// the store fails, or cannot list a group without metadata of OME-Zarr.
    pub fn find(group: &Group) -> Result<Vec<Self>> {
        let found = block_on(find(&Here, group))?;
        Ok(found.into_iter().map(|(group, image)| Self::new(group, image)).collect())
    }

    /// Its group, for [attributes](crate::Metadata) and other nodes in it.
    #[must_use]
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// Opens the array of a level. Its axes are those of the image, in the same order.
    ///
    /// # Errors
    /// There is no such level; its array cannot be opened, or has another number of axes.
    pub fn array(&self, level: usize) -> Result<AnyArray> {
        let level = self.level(level)?;
        let array: AnyArray = self.group.array(&level.path)?;
        self.checked(level, array.shape().len())?;
        Ok(array)
    }

    /// What the [metadata](crate::validate) and the arrays of the image must and should have, and lack,
    /// by the specification of OME-Zarr. For other conventions, only the arrays are looked at. An array
    /// that cannot be opened is a finding.
    #[must_use]
    pub fn validate(&self) -> Vec<Finding> {
        let mut findings = self.findings();
        findings.extend(block_on(check_arrays(&Here, &self.group, self.expected())));
        findings
    }

    /// Creates an image: its group, the arrays of all levels without elements, and metadata of
    /// OME-Zarr: 0.4 in Zarr v2, 0.5 in Zarr v3. `layout` chooses chunks, shards and codecs, for each
    /// level again.
    ///
    /// # Errors
    /// OME-Zarr does not allow such an image, or the format is another one; something is at the place
    /// already; the store fails.
    pub fn create(
        place: impl Into<Place>,
        format: Format,
        new: &NewMultiscale,
        layout: impl Fn(ArrayBuilder) -> ArrayBuilder,
    ) -> Result<Self> {
        let attributes = new.attributes(format)?;
        let builders = new.planned()?.into_iter().map(|level| {
            let builder = layout(AnyArray::builder(&level.shape).data_type(new.data_type().clone()));
            new.describe(builder, format)
        });
        let builders: Vec<_> = builders.collect();
        try_in_memory(&builders, format)?;
        let mut group = new.group(Group::builder(), format).create(place)?;
        create_arrays(&group, &numbers(builders.len()), builders)?;
        // Last, so that a reader that sees an image finds its arrays.
        group.merge_attributes(attributes)?;
        Self::in_group(&group)
    }

    /// The image of a group that was just written.
    pub(crate) fn in_group(group: &Group) -> Result<Self> {
        Self::first_of(block_on(find(&Here, group))?, group)
    }

    /// Makes the elements of all levels but the finest, each from the one before, in parallel. Levels
    /// that have elements are replaced.
    ///
    /// Each level's scale must be a whole multiple of that of the level before along each axis, and
    /// its array as long as that needs: an element at the end may stand for fewer elements. Where the
    /// translations say that they are means, [`Stride`](Downsample::Stride) is an error, and the
    /// reverse.
    ///
    /// `options` set the number of threads, cancelling, and the progress that is called for the
    /// blocks of each level. The call needs about
    /// [`bytes_in_flight`](RunOptions#structfield.bytes_in_flight), or what one chunk (one shard,
    /// if there are) of a level takes, if that is more.
    ///
    /// It has no asynchronous form, since it computes: there, call it from a thread for blocking work.
    ///
    /// # Errors
    /// The levels do not fit each other or the method; the elements are not numbers, or bools with a
    /// mean; a chunk is corrupt; the store fails; the call was cancelled. Levels that were made stay.
    pub fn make_levels(&self, method: Downsample, options: &RunOptions) -> Result<()> {
        let arrays = (0..self.levels.len()).map(|level| self.array(level)).collect::<Result<Vec<_>>>()?;
        make_levels(self.path(), &self.levels, &arrays, method, options)
    }
}
