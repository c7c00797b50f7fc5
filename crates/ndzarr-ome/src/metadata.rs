//! Channels, labels, plates and wells as plain data, to and from the attributes of a group.

mod channel;
mod image_label;
mod plate;

use ndzarr::Format;
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::json::{self, list, text};

pub use channel::{Channel, Window};
pub use image_label::{ImageLabel, LabelColor};
pub use plate::{Acquisition, Plate, PlateWell, WellImage};

/// The attributes of a group of OME-Zarr, except for `multiscales`.
///
/// Members that are missing, or have another form than the specification demands, are left out;
/// [`validate`](crate::validate) reports them.
///
/// ```
/// use ndzarr::{Format, Group, MemoryStore};
/// use ndzarr_ome::metadata::{Metadata, Plate, PlateWell};
///
/// let mut plate = Plate::default();
/// plate.rows = vec!["A".to_owned()];
/// plate.columns = vec!["1".to_owned(), "2".to_owned()];
/// plate.wells.push(PlateWell { path: "A/2".to_owned(), row: 0, column: 1 });
/// let metadata = Metadata { plate: Some(plate), ..Metadata::default() };
///
/// let attributes = metadata.to_attributes(Format::Zarr3)?;
/// let group = Group::builder().format(Format::Zarr3).attributes(attributes).create(MemoryStore::new())?;
/// assert_eq!(Metadata::of(group.attributes()), metadata);
/// # Ok::<(), ndzarr_ome::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    /// How to show the channels of an image, from `omero`.
    pub channels: Vec<Channel>,
    /// In the group `labels` of an image: the paths of the label images below it.
    pub labels: Vec<String>,
    /// In the group of a label image: what its values mean.
    pub image_label: Option<ImageLabel>,
    /// In the group of a plate: its wells.
    pub plate: Option<Plate>,
    /// In the group of a well: its fields of view.
    pub well: Vec<WellImage>,
    /// In the group `OME` of bioformats2raw: the paths of the images, from the group above it.
    pub series: Vec<String>,
}

impl Metadata {
    /// Reads the attributes of a group, of any version of OME-Zarr.
    #[must_use]
    pub fn of(attributes: &Map<String, Value>) -> Self {
        let holder = json::namespace(attributes);
        let get = |key: &str| holder.get(key).unwrap_or(&Value::Null);
        Self {
            channels: list(&get("omero")["channels"])
                .iter()
                .map(Channel::of)
                .collect(),
            labels: list(get("labels")).iter().filter_map(text).collect(),
            image_label: get("image-label").as_object().map(ImageLabel::of),
            plate: get("plate").as_object().map(|_| Plate::of(get("plate"))),
            well: list(&get("well")["images"])
                .iter()
                .filter_map(WellImage::of)
                .collect(),
            series: list(get("series")).iter().filter_map(text).collect(),
        }
    }

    /// The attributes for a group: of OME-Zarr 0.4 in Zarr v2, of 0.5 in Zarr v3.
    ///
    /// # Errors
    /// The format is another one; a window has a number that is not finite; a label does not fit in
    /// 64 bits.
    pub fn to_attributes(&self, format: Format) -> Result<Value> {
        let mut holder = json!({});
        if !self.channels.is_empty() {
            let channels: Vec<Value> = self
                .channels
                .iter()
                .map(Channel::to_json)
                .collect::<Result<_>>()?;
            holder["omero"] = json!({"channels": channels});
        }
        if !self.labels.is_empty() {
            holder["labels"] = json!(self.labels);
        }
        if let Some(label) = &self.image_label {
            holder["image-label"] = label.to_json()?;
        }
        if let Some(plate) = &self.plate {
            holder["plate"] = plate.to_json();
        }
        if !self.well.is_empty() {
            holder["well"] =
                json!({"images": self.well.iter().map(WellImage::to_json).collect::<Vec<_>>()});
        }
        if !self.series.is_empty() {
            holder["series"] = json!(self.series);
        }
        match format {
            Format::Zarr2 => {
                for key in ["image-label", "plate", "well", "omero"] {
                    if let Some(member) = holder.get_mut(key) {
                        member["version"] = "0.4".into();
                    }
                }
                Ok(holder)
            }
            Format::Zarr3 => {
                holder["version"] = "0.5".into();
                Ok(json!({"ome": holder}))
            }
            other => {
                let what = format!(
                    "OME-Zarr is written in Zarr v2 (0.4) and Zarr v3 (0.5), not in {other}"
                );
                Err(Error::Argument(what))
            }
        }
    }
}
