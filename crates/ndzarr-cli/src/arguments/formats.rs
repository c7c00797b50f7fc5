//! Formats as arguments: `zarr3`, `zarr2`, `n5`, `zarr3-draft`.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ndzarr::Format;

type Known = (&'static str, &'static str, Format);

const KNOWN: [Known; 4] = [
    ("zarr3", "Zarr v3", Format::Zarr3),
    ("zarr2", "Zarr v2", Format::Zarr2),
    ("n5", "N5", Format::N5),
    // The document of the root distinguishes its two forms.
    ("zarr3-draft", "The draft of Zarr v3", Format::DraftA),
];

/// The formats that can be read.
pub(crate) fn read() -> impl TypedValueParser<Value = Format> {
    parser(&KNOWN)
}

/// The formats that can be written.
pub(crate) fn written() -> impl TypedValueParser<Value = Format> {
    parser(&KNOWN[..3])
}

/// The formats of images that can be written.
pub(crate) fn of_images() -> impl TypedValueParser<Value = Format> {
    parser(&[
        ("zarr3", "OME-Zarr 0.5, in Zarr v3", Format::Zarr3),
        ("zarr2", "OME-Zarr 0.4, in Zarr v2", Format::Zarr2),
    ])
}

/// All have the same type, so that verbs can have a `--format` of their own that replaces the
/// global one.
fn parser(formats: &'static [Known]) -> impl TypedValueParser<Value = Format> {
    let names = formats
        .iter()
        .map(|(name, what, _)| PossibleValue::new(*name).help(*what));
    PossibleValuesParser::new(names).map(|text| {
        let found = formats.iter().find(|(name, ..)| *name == text);
        found
            .map(|(.., format)| *format)
            .expect("only these names are possible")
    })
}
