//! Walking the nested lists that json2 and msgpack2 make of a chunk.

use crate::CodecError;

/// More dimensions than NumPy has are not walked down.
const MAX_DIMENSIONS: usize = 64;

/// What happens on the way through the elements of a chunk, row by row.
pub(super) enum Step {
    /// A list of so many members begins.
    #[cfg_attr(not(feature = "msgpack2"), allow(dead_code, reason = "json2 does not count them"))]
    Open(u64),
    /// The next element of the list.
    Element,
    /// The list ends.
    Close,
}

/// Walks the lists below the outermost, which the caller has begun: of a chunk without dimensions the one element.
pub(super) fn walk<E: From<CodecError>>(
    codec: &'static str,
    shape: &[u64],
    visit: &mut impl FnMut(Step) -> Result<(), E>,
) -> Result<(), E> {
    if shape.len() > MAX_DIMENSIONS {
        let what = format!("{} dimensions are too many", shape.len());
        return Err(CodecError::config(codec, what).into());
    }
    match shape {
        [] => visit(Step::Element),
        [n] => (0..*n).try_for_each(|_| visit(Step::Element)),
        [n, rest @ ..] => (0..*n).try_for_each(|_| {
            visit(Step::Open(rest[0]))?;
            walk(codec, rest, visit)?;
            visit(Step::Close)
        }),
    }
}
