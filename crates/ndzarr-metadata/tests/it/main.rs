//! Documents in, nodes out, and back: the traps of `docs/internals/traps.md` about documents, with the number
//! of each in the name of its test.

/// A request with some of its members set.
macro_rules! request_with {
    ($request:expr, $($member:ident = $value:expr),+ $(,)?) => {{
        let mut request = $request;
        $(request.$member = $value;)+
        request
    }};
}

mod alike;
mod create_zarr2;
mod create_zarr3;
mod detection;
mod draft;
mod draft_create;
mod draft_hierarchy;
mod draft_values;
mod every_type;
mod exact;
mod hostile;
mod round_trip;
mod shape;
mod spellings;
mod store;
mod zarr2;
mod zarr2_codecs;
mod zarr3;
mod zarr3_arrays;
mod zarr3_codecs;
mod zarr3_values;
