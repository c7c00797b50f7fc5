//! The format-neutral description of a chunked array
