//! Images of existing elements: of those of an array, and coarser levels for an image of one level.

use ndzarr::codec::{CodecConfig, CodecSpec};
use ndzarr::{
    AnyArray, ArrayBuilder, ArrayRequest, CodecRequest, FillRequest, FillValue, Format, Group,
    NewArray, Place, RunOptions,
};
use serde_json::Value;

use crate::convention::Convention;
use crate::create::entries::{change_entries, extend, is_at};
use crate::create::new_multiscale::{NewMultiscale, Planned, array_names, datasets, try_in_memory};
use crate::error::{Error, Result};
use crate::find::entry::minor_version;
use crate::find::transformation::Placement;
use crate::json;
use crate::levels::level::Level;
use crate::levels::make_levels::{check_type, copy_elements, make_levels};
use crate::multiscale::Multiscale;
use ndzarr::Blocking;

impl Multiscale<Blocking> {
    /// Creates an image of the elements of an array, with all its levels, as
    /// [`create`](Self::create) and [`make_levels`](Self::make_levels) do, by the method of `new`.
    /// Until all elements are written, the group has no array that opens, and is not an image, even
    /// if the process is killed.
    ///
    /// `new` must have the shape and the type of the array. What `layout` does not change is as in
    /// the array: chunks, shards, codecs, fill value.
    ///
    /// # Errors
    /// The array does not fit `new`; with [`existing`](NewMultiscale::existing), the node that
    /// would be replaced contains the array; an error of `create` or `make_levels`. What was made
    /// before the error stays.
    ///
    /// ```
    /// use ndzarr::{Array, Format, MemoryStore, RunOptions};
    /// use ndzarr_ome::{Axis, Multiscale, NewMultiscale};
    ///
    /// let store = MemoryStore::new();
    /// let plain = Array::<u8>::builder([64, 64]).chunks([16, 16]).create((&store, "plain"))?;
    /// plain.fill(.., 7)?;
    ///
    /// let axes = [(Axis::new("y"), 64), (Axis::new("x"), 64)];
    /// let new = NewMultiscale::new(plain.data_type().clone(), axes).levels(3);
    /// let place = (&store, "image");
    /// let options = RunOptions::default();
    /// let image = Multiscale::create_from(&plain.into(), place, Format::Zarr3, &new, |layout| layout, &options)?;
    /// let coarsest = image.array(2)?;
    /// assert_eq!(coarsest.shape(), [16, 16]);
    /// assert_eq!(coarsest.chunk_shape(), [16, 16]);
    /// assert_eq!(coarsest.read_as::<u8, _>((3, 4), Default::default())?[[]], 7);
    /// # Ok::<(), ndzarr_ome::Error>(())
    /// ```
    pub fn create_from(
        source: &AnyArray,
        place: impl Into<Place>,
        format: Format,
        new: &NewMultiscale,
        layout: impl Fn(ArrayBuilder) -> ArrayBuilder,
        options: &RunOptions,
    ) -> Result<Self> {
        let attributes = new.attributes(format)?;
        let planned = new.planned()?;
        new.check_array(source)?;
        check_type(new.data_type(), new.downsample())?;
        let names = array_names(planned.len());
        let builders = builders(source, &planned, new, format, layout);
        try_in_memory(&builders, format)?;
        let mut group = new
            .group(Group::builder(), format)
            .apart_from(source)
            .create(place)?
            .with_options(options.clone());
        // No reader finds a level before all of them are complete.
        let begun = begin_arrays(&group, &names, builders)?;
        let arrays: Vec<AnyArray> = begun.iter().map(|new| new.array().clone()).collect();
        copy_elements(source, &arrays[0], options)?;
        make_levels(
            group.path(),
            &levels(names, planned),
            &arrays,
            new.downsample(),
            options,
        )?;
        finish(begun)?;
        group.merge_attributes(attributes)?;
        Self::in_group(&group)
    }

    /// Describes the finest level as a new image, for [`add_levels`](Self::add_levels): its axes,
    /// shape and type, and the scale and translation that its dataset states.
    ///
    /// # Errors
    /// The image is neither of OME-Zarr 0.4 in Zarr v2 nor of 0.5 in Zarr v3, or its group has
    /// several; its finest level cannot be opened.
    pub fn to_new(&self) -> Result<NewMultiscale> {
        let wrong = |what| Error::metadata(self.path(), what);
        let finest = self.level(0)?;
        let mut placement = Placement::identity(self.axes.len());
        placement
            .apply(&self.dataset_of(finest)?["coordinateTransformations"])
            .map_err(wrong)?;
        let placement = placement.without_zeros().map_err(wrong)?;
        let array = self.array(0)?;
        let axes = self.axes.iter().cloned().zip(array.shape().iter().copied());
        Ok(NewMultiscale::new(array.data_type().clone(), axes)
            .scale(placement.scale)
            .translation(placement.translation))
    }

    /// Makes coarser levels for an image that has only one, and returns the image with them. `new`
    /// is the description that [`to_new`](Self::to_new) returns, with factors, a number of levels
    /// and a method of your own. The metadata change last.
    ///
    /// The arrays of the levels are next to the finest, with the next numbers as names. What
    /// `layout` does not change is as in the finest level; with
    /// [`overwrite`](ArrayBuilder::overwrite), arrays of these names are replaced.
    ///
    /// # Errors
    /// The image has several levels; an error of `to_new`, [`create`](Self::create) or
    /// [`make_levels`](Self::make_levels); the metadata have changed meanwhile. What was made
    /// before the error stays.
    ///
    /// ```
    /// use ndzarr::{DataType, Format, MemoryStore, RunOptions};
    /// use ndzarr_ome::{Axis, Multiscale, NewMultiscale};
    ///
    /// let axes = [(Axis::new("y"), 64), (Axis::new("x"), 64)];
    /// let new = NewMultiscale::new(DataType::UInt { bits: 8 }, axes).levels(1);
    /// let image = Multiscale::create(MemoryStore::new(), Format::Zarr3, &new, |layout| layout)?;
    /// let image = image.add_levels(&image.to_new()?.levels(3), |layout| layout, &RunOptions::default())?;
    /// assert_eq!(image.array(2)?.shape(), [16, 16]);
    /// # Ok::<(), ndzarr_ome::Error>(())
    /// ```
    pub fn add_levels(
        &self,
        new: &NewMultiscale,
        layout: impl Fn(ArrayBuilder) -> ArrayBuilder,
        options: &RunOptions,
    ) -> Result<Self> {
        let [finest] = &self.levels[..] else {
            return Err(Error::Argument(format!(
                "the image has {} levels already",
                self.levels.len()
            )));
        };
        self.dataset_of(finest)?;
        let array = self.array(0)?;
        new.check_array(&array)?;
        check_type(new.data_type(), new.downsample())?;
        let planned = new.planned()?;
        let names = names_from(&finest.path, planned.len());
        let added = datasets(&planned[1..], &names[1..]);
        let format = self.group.format();
        let builders = builders(&array, &planned[1..], new, format, layout);
        try_in_memory(&builders, format)?;
        let mut group = self.group.clone().with_options(options.clone());
        let mut arrays = vec![array];
        let begun = begin_arrays(&group, &names[1..], builders)?;
        arrays.extend(begun.iter().map(|new| new.array().clone()));
        make_levels(
            self.path(),
            &levels(names, planned),
            &arrays,
            new.downsample(),
            options,
        )?;
        finish(begun)?;
        if !change_entries(&mut group, |list| extend(list, &finest.path, &added, new))? {
            return Err(Error::metadata(self.path(), "has other levels than before"));
        }
        Self::in_group(&group)
    }

    /// The dataset of a level in the attributes, if levels can be added to them.
    fn dataset_of(&self, level: &Level) -> Result<&Value> {
        let minor = match &self.convention {
            Convention::Ome { version } => minor_version(version),
            _ => None,
        };
        if !matches!(
            (self.group.format(), minor),
            (Format::Zarr2, Some(4)) | (Format::Zarr3, Some(5))
        ) {
            let what =
                "levels are added to images of OME-Zarr 0.4 in Zarr v2, and of 0.5 in Zarr v3";
            return Err(Error::Argument(what.to_owned()));
        }
        let entries = json::namespace(self.group.attributes())
            .get("multiscales")
            .map_or(&[][..], json::list);
        let [entry] = entries else {
            return Err(Error::Argument(format!(
                "the group has {} images",
                entries.len()
            )));
        };
        let dataset = json::list(&entry["datasets"])
            .iter()
            .find(|dataset| is_at(dataset, &level.path));
        dataset
            .ok_or_else(|| Error::metadata(self.path(), format!("has no dataset {:?}", level.path)))
    }
}

/// Builders of the arrays of levels, with the settings of an existing array.
fn builders(
    like: &AnyArray,
    levels: &[Planned],
    new: &NewMultiscale,
    format: Format,
    layout: impl Fn(ArrayBuilder) -> ArrayBuilder,
) -> Vec<ArrayBuilder> {
    let builder = |level: &Planned| {
        let mut request = ArrayRequest::like(like.spec());
        request.shape.clone_from(&level.shape);
        request.chunk_shape = like.chunk_shape();
        request.shard_shape = like.shard_shape().map(<[u64]>::to_vec);
        request.fill_value = FillRequest::Value(FillValue::defined(like.spec().fill_value.bytes()));
        request.codecs = CodecRequest::Neutral(codecs_of(like));
        new.describe(
            layout(
                AnyArray::builder(&level.shape)
                    .request(request)
                    .format(format),
            ),
            format,
        )
    };
    levels.iter().map(builder).collect()
}

fn begin_arrays(
    group: &Group,
    names: &[String],
    builders: Vec<ArrayBuilder>,
) -> Result<Vec<NewArray>> {
    let begun = names
        .iter()
        .zip(builders)
        .map(|(name, builder)| NewArray::begin_in(group, name, builder));
    Ok(begun.collect::<ndzarr::Result<_>>()?)
}

fn finish(begun: Vec<NewArray>) -> Result<()> {
    for new in begun {
        new.finish()?;
    }
    Ok(())
}

/// The codecs of chunks, except for those that only arrange elements.
fn codecs_of(array: &AnyArray) -> Vec<CodecSpec> {
    use CodecConfig::{Bytes, Transpose};
    let spec = array.spec();
    let codecs = spec
        .inner_chunks()
        .pop()
        .map_or(&spec.codecs[..], |(_, codecs)| codecs);
    codecs
        .iter()
        .filter(|codec| !matches!(codec.config, Bytes { .. } | Transpose { .. }))
        .cloned()
        .collect()
}

fn levels(names: Vec<String>, planned: Vec<Planned>) -> Vec<Level> {
    let levels = names.into_iter().zip(planned);
    levels
        .map(|(name, level)| Level::new(name, level.scale, level.translation))
        .collect()
}

/// The paths of levels: that of the finest, and those with the next numbers.
fn names_from(finest: &str, n: usize) -> Vec<String> {
    let digits = finest.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (prefix, number) = finest.split_at(finest.len() - digits);
    let (prefix, first) = match number.parse::<u32>() {
        Ok(number) => (prefix, u64::from(number) + 1),
        Err(_) => (
            finest
                .rsplit_once('/')
                .map_or("", |(parent, _)| &finest[..=parent.len()]),
            1,
        ),
    };
    let next = (first..).map(|number| format!("{prefix}{number}"));
    std::iter::once(finest.to_owned())
        .chain(next)
        .take(n)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_the_next_numbers() {
        for (finest, expected) in [
            ("0", ["0", "1", "2"]),
            ("s0", ["s0", "s1", "s2"]),
            ("a/b/9", ["a/b/9", "a/b/10", "a/b/11"]),
            ("a/full", ["a/full", "a/1", "a/2"]),
            ("é", ["é", "1", "2"]),
            ("99999999999999999999", ["99999999999999999999", "1", "2"]),
        ] {
            assert_eq!(names_from(finest, 3), expected);
        }
    }
}
