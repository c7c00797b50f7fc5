//! Reads the configuration of numcodecs' lzma.

use ndzarr_model::{LzmaConfig, LzmaFilter, LzmaFormat};

use crate::MetadataError;
use crate::json::{Json, as_i128, as_u64};
use crate::shared::fields::Fields;

/// Bit of a preset that asks for the slow variant.
const EXTREME: u32 = 0x8000_0000;

/// Reads a configuration of lzma.
pub(super) fn parse(parameters: &mut Fields<'_>) -> Result<LzmaConfig, MetadataError> {
    let format = parameters
        .optional("format", "0, 1, 2 or 3", |value| match as_u64(value)? {
            0 => Some(LzmaFormat::Auto),
            1 => Some(LzmaFormat::Xz),
            2 => Some(LzmaFormat::Alone),
            3 => Some(LzmaFormat::Raw),
            _ => None,
        })?
        .unwrap_or(LzmaFormat::Xz);
    if format == LzmaFormat::Auto {
        parameters.refuse("format 0");
    }
    let check = parameters.steering("check", |value| {
        as_i128(value)
            .and_then(|n| i32::try_from(n).ok())
            .filter(|n| matches!(n, -1 | 0 | 1 | 4 | 10))
    });
    let preset = parameters.steering("preset", |value| match value {
        Json::Null => Some(None),
        value => {
            let preset = u32::try_from(as_u64(value)?).ok()?;
            (preset & !EXTREME <= 9).then_some(Some(preset))
        }
    });
    let filters = if format == LzmaFormat::Raw {
        // A raw stream does not say how to decode it.
        let filters = parameters
            .optional("filters", "a list of filters", filters)?
            .flatten();
        Some(filters.ok_or_else(|| parameters.invalid("has format 3 without filters"))?)
    } else {
        parameters.steering("filters", filters).flatten()
    };
    Ok(LzmaConfig {
        format,
        check: check.unwrap_or(-1),
        preset: preset.flatten(),
        filters,
    })
}

fn filters(value: &Json<'_>) -> Option<Option<Vec<LzmaFilter>>> {
    if value.is_null() {
        return Some(None);
    }
    value
        .as_array()
        .filter(|items| !items.is_empty())?
        .iter()
        .map(filter)
        .collect::<Option<_>>()
        .map(Some)
}

fn filter(value: &Json<'_>) -> Option<LzmaFilter> {
    let members = value.as_object()?;
    let id = as_u64(members.get("id")?)?;
    let options = members
        .iter()
        .filter(|(name, value)| *name != "id" && !value.is_null())
        .map(|(name, value)| Some((name.to_owned(), as_u64(value)?)))
        .collect::<Option<_>>()?;
    Some(LzmaFilter { id, options })
}
