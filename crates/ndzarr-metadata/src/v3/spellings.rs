//! Spellings of other programs that depart from Zarr v3 and have only one possible meaning:
//! corrected before the document is read.

use std::borrow::Cow;

use ndzarr_model::DataType;

use crate::json::{Json, Members, as_u64, json};
use crate::shared::fields::Place;
use crate::shared::stage::{Stage, stage};
use crate::v3::codecs;
use crate::{Limits, MetadataError};

/// The array→bytes codecs that documents use most: a list with one of them is complete.
const TO_BYTES: [&str; 5] = [
    "bytes",
    "endian",
    "sharding_indexed",
    "vlen-utf8",
    "vlen-bytes",
];

/// The codecs of an array of this type, corrected. Each correction is added to `warnings`.
pub(crate) fn codecs<'d, 'a>(
    key: &str,
    document: &'d Members<'a>,
    data_type: &DataType,
    limits: &Limits,
    warnings: &mut Vec<String>,
) -> Result<Cow<'d, Json<'a>>, MetadataError> {
    let elem_size = data_type.layout().elem_size();
    let mut corrected = match document.get("codecs") {
        Some(codecs) if is_usual(codecs) => return Ok(Cow::Borrowed(codecs)),
        Some(codecs) => codecs.clone(),
        // GDAL before 3.11 leaves them out where nothing is compressed.
        None if elem_size.is_some() => Json::Array(Vec::new()),
        None => return Err(MetadataError::invalid(key, "has no codecs")),
    };
    codecs::check_lengths(key, &corrected, limits)?;
    Spellings {
        key,
        elem_size,
        warnings,
    }
    .correct("codecs", &mut corrected);
    Ok(Cow::Owned(corrected))
}

/// True if nothing in a list of codecs may need a correction.
fn is_usual(codecs: &Json<'_>) -> bool {
    let Some(items) = codecs.as_array() else {
        return true;
    };
    let is_usual_item = |item: &Json<'_>| {
        let configuration = item.get("configuration").and_then(Json::as_object);
        match (name(item), configuration) {
            (Some("gzip"), Some(members)) => {
                members.get("level").and_then(as_u64).is_some() && members.len() == 1
            }
            (Some("zstd"), Some(members)) => members.contains_key("level"),
            (Some("blosc"), Some(members)) => {
                !members.contains_key("nthreads")
                    && members.get("shuffle").is_some_and(Json::is_string)
                    && members.get("typesize").and_then(as_u64) != Some(0)
            }
            (Some("sharding_indexed"), Some(members)) => ["codecs", "index_codecs"]
                .iter()
                .all(|list| members.get(list).is_none_or(is_usual)),
            (Some("gzip" | "zstd" | "blosc" | "lz4") | None, _) => false,
            (Some(_), _) => true,
        }
    };
    items.iter().all(is_usual_item)
        && items
            .iter()
            .filter_map(name)
            .any(|name| TO_BYTES.contains(&name))
}

fn name<'d>(item: &'d Json<'_>) -> Option<&'d str> {
    item.get("name").unwrap_or(item).as_str()
}

struct Spellings<'s> {
    key: &'s str,
    /// The bytes of one element; `None` if it varies.
    elem_size: Option<usize>,
    warnings: &'s mut Vec<String>,
}

impl Spellings<'_> {
    fn remark(&mut self, what: std::fmt::Arguments<'_>) {
        self.warnings.push(format!("{}: {what}", self.key));
    }

    fn correct(&mut self, list: &str, codecs: &mut Json<'_>) {
        let Some(items) = codecs.as_array_mut() else {
            return;
        };
        for (i, item) in items.iter_mut().enumerate() {
            self.correct_item(Place::Item(list, i), item);
        }
        self.add_bytes(list, items);
    }

    fn correct_item(&mut self, place: Place<'_>, item: &mut Json<'_>) {
        if let Json::String(name) = &*item
            && matches!(&**name, "gzip" | "zstd" | "lz4")
        {
            *item = Json::Object(Members::from_iter([(
                "name".to_owned(),
                Json::String(name.clone()),
            )]));
        }
        let Some(members) = item.as_object_mut() else {
            return;
        };
        if !members.contains_key("name")
            && members.get("type").is_some_and(Json::is_string)
            && let Some(name) = members.remove("type")
        {
            self.remark(format_args!(
                "{place} has its name under \"type\", as n5-zarr writes it"
            ));
            // n5-zarr writes N5's object of a compression, which has no configuration.
            if !members.contains_key("configuration") {
                *members = Members::from_iter([(
                    "configuration".to_owned(),
                    Json::Object(std::mem::take(members)),
                )]);
            }
            members.insert("name", name);
        }
        let name = members
            .get("name")
            .and_then(Json::as_str)
            .unwrap_or_default()
            .to_owned();
        if name == "lz4" {
            self.remark(format_args!(
                "{place} has zarrita.js's name \"lz4\": read as \"numcodecs.lz4\""
            ));
            members.insert("name", "numcodecs.lz4".into());
            return;
        }
        if !matches!(&*name, "gzip" | "zstd" | "blosc" | "sharding_indexed") {
            return;
        }
        let configuration = members.entry("configuration");
        if configuration.is_null() {
            *configuration = Json::Object(Members::new());
        }
        let Some(configuration) = configuration.as_object_mut() else {
            return;
        };
        match &*name {
            "blosc" => self.correct_blosc(place, configuration),
            "sharding_indexed" => self.correct_shards(place, configuration),
            _ => {
                let default = if name == "gzip" { 5 } else { 0 };
                if !configuration.contains_key("level") {
                    self.remark(format_args!(
                        "{place} {name:?} has no level: new chunks have {default}, as with zarr-python"
                    ));
                    configuration.insert("level", default.into());
                }
                // Java's name of the default, as its member shows.
                if name == "gzip"
                    && configuration.contains_key("useZlib")
                    && configuration.get("level").and_then(Json::as_f64) == Some(-1.0)
                {
                    self.remark(format_args!(
                        "{place} \"gzip\" has the level -1: new chunks have 6"
                    ));
                    configuration.insert("level", 6.into());
                }
                if name == "gzip"
                    && let Some(is_zlib) = configuration.get("useZlib").and_then(Json::as_bool)
                {
                    configuration.remove("useZlib");
                    self.remark(format_args!(
                        "{place} has n5-zarr's member \"useZlib\", which is {is_zlib}"
                    ));
                    if is_zlib {
                        members.insert("name", "numcodecs.zlib".into());
                    }
                }
            }
        }
    }

    fn correct_blosc(&mut self, place: Place<'_>, configuration: &mut Members<'_>) {
        if configuration.get("nthreads").and_then(as_u64).is_some() {
            configuration.remove("nthreads");
            self.remark(format_args!(
                "{place} \"blosc\" has n5-zarr's member \"nthreads\": ignored"
            ));
        }
        if let (Some(0), Some(size)) = (
            configuration.get("typesize").and_then(as_u64),
            self.elem_size,
        ) {
            // A longer element is shuffled as bytes, as by Blosc.
            let size = if size > 255 { 1 } else { size.max(1) };
            configuration.insert("typesize", size.into());
            self.remark(format_args!(
                "{place} \"blosc\" has the typesize 0: new chunks have {size}"
            ));
        }
        let number = configuration.get("shuffle").and_then(as_u64);
        if let Some(number) = number
            && let Some(name) = usize::try_from(number).ok().and_then(|n| SHUFFLES.get(n))
        {
            configuration.insert("shuffle", (*name).into());
            self.remark(format_args!(
                "{place} \"blosc\" has the shuffle {number}, which is {name:?}"
            ));
        }
    }

    fn correct_shards(&mut self, place: Place<'_>, configuration: &mut Members<'_>) {
        if let Some(codecs) = configuration.get_mut("codecs") {
            self.correct(&format!("{place}.configuration.codecs"), codecs);
        }
        if let Some(codecs) = configuration.get_mut("index_codecs") {
            // No program leaves out the array→bytes codec of an index.
            let mut of_index = Spellings {
                key: self.key,
                elem_size: None,
                warnings: &mut *self.warnings,
            };
            of_index.correct(&format!("{place}.configuration.index_codecs"), codecs);
        }
    }

    /// Adds the codec of array→bytes that GDAL before 3.11 and zarrita.js leave out, which is
    /// `bytes` in little endian. Nothing is added where a codec may be one, or cannot be read.
    fn add_bytes(&mut self, list: &str, items: &mut Vec<Json<'_>>) {
        if self.elem_size.is_none()
            || items
                .iter()
                .filter_map(name)
                .any(|name| TO_BYTES.contains(&name))
        {
            return;
        }
        let mut at = items.len();
        for (i, item) in items.iter().enumerate() {
            let codec = codecs::codec(self.key, Place::Item(list, i), item, None);
            match codec.as_ref().map(stage) {
                Ok(Some(Stage::ArrayToArray)) => {}
                Ok(Some(Stage::BytesToBytes)) => at = at.min(i),
                Ok(Some(Stage::ArrayToBytes) | None) | Err(_) => return,
            }
        }
        items.insert(
            at,
            json!({"name": "bytes", "configuration": {"endian": "little"}}),
        );
        self.remark(format_args!(
            "{list} have no codec that makes bytes: read as little-endian \"bytes\", as GDAL before 3.11 and \
             zarrita.js mean it"
        ));
    }
}

/// Blosc's names of its shuffles, by number.
const SHUFFLES: [&str; 3] = ["noshuffle", "shuffle", "bitshuffle"];
