//! Documents in, nodes out, and back: the traps of `docs/internals/traps.md` about documents, with
//! the number of each in the name of its test.

/// A request with some of its members set.
macro_rules! request_with {
    ($request:expr, $($member:ident = $value:expr),+ $(,)?) => {{
        let mut request = $request;
        $(request.$member = $value;)+
        request
    }};
}

mod alike;
mod detection;
mod draft;
mod every_type;
mod exact;
mod hostile;
mod round_trip;
mod shape;
mod spellings;
mod store;
mod zarr2;
mod zarr3;
