//! Checks the arrays of an image against its metadata.

use ndzarr::{DataType, Group};

use super::finding::{Finding, Findings};
use crate::axis::Axis;
use crate::convention::Convention;
use crate::find::entry::minor_version;
use crate::io::Io;
use crate::json;
use crate::levels::level::Level;

/// What the metadata of an image say about its arrays.
pub(crate) struct Expected<'a> {
    pub(crate) convention: &'a Convention,
    pub(crate) axes: &'a [Axis],
    pub(crate) levels: &'a [Level],
}

/// Opens the arrays of all levels, and reports differences from the metadata.
pub(crate) async fn check<I: Io>(io: &I, group: &Group, expected: Expected<'_>) -> Vec<Finding> {
    let mut findings = Findings::default();
    let is_label = json::namespace(group.attributes()).contains_key("image-label");
    let minor = match expected.convention {
        Convention::Ome { version } => minor_version(version),
        _ => None,
    };
    let mut finest: Option<(Vec<u64>, DataType)> = None;
    for level in expected.levels {
        let array = match io.array(group, &level.path).await {
            Ok(array) => array,
            Err(error) => {
                findings.must(
                    &level.path,
                    format!("be an array that can be opened: {error}"),
                );
                continue;
            }
        };
        findings.within(&level.path, |findings| {
            let n_axes = expected.axes.len();
            if array.shape().len() != n_axes {
                return findings.must(
                    "",
                    format!("have {n_axes} axes, not {}", array.shape().len()),
                );
            }
            if minor.is_some_and(|minor| minor >= 5) {
                let names = array
                    .dimension_names()
                    .unwrap_or_default()
                    .iter()
                    .map(Option::as_deref);
                if !names.eq(expected.axes.iter().map(|axis| Some(&axis.name[..]))) {
                    let names: Vec<_> = expected.axes.iter().map(|axis| &axis.name).collect();
                    findings.must("", format!("have the dimension names {names:?}"));
                }
            }
            if is_label
                && !matches!(
                    array.data_type(),
                    DataType::Int { .. } | DataType::UInt { .. }
                )
            {
                findings.must(
                    "",
                    format!(
                        "have elements that are integers, as labels are, not {}",
                        array.data_type()
                    ),
                );
            }
            match &finest {
                None => finest = Some((array.shape().to_vec(), array.data_type().clone())),
                Some((shape, data_type)) => {
                    if array
                        .shape()
                        .iter()
                        .zip(shape)
                        .any(|(len, finest)| len > finest)
                    {
                        findings.must(
                            "",
                            format!("not be larger than the finest level, which is {shape:?}"),
                        );
                    }
                    if array.data_type() != data_type {
                        findings.should(
                            "",
                            format!("have elements of the type {data_type}, as the finest level"),
                        );
                    }
                }
            }
        });
    }
    findings.list
}
