//! JSON that keeps the text of numbers and the order of members, within bounds.
//!
//! [`JsonText`] is the scanner: it reads text value by value, and takes no memory. [`Parser`]
//! builds trees from it: [`Json`], which can be written again as it was read, or values of
//! serde_json, which users see. [`members`] finds the members of an object without reading their
//! values.
//!
//! Nesting and memory are bounded. Strings may hold half a surrogate pair, and numbers may be the
//! tokens `NaN`, `Infinity` and `-Infinity`, as Python writes them. If a member occurs twice the
//! last one counts.
//!
//! ```
//! use ndzarr_json::{Json, NonFinite, Parser};
//!
//! let text = r#"{"b": 1.50, "a": 12345678901234567890123, "b": [NaN]}"#;
//! let tree: Json<'_> = Parser::new(text, NonFinite::Accept).document()?;
//! assert_eq!(tree.to_string(), r#"{"b":[NaN],"a":12345678901234567890123}"#);
//! # Ok::<(), ndzarr_json::JsonError>(())
//! ```
#![forbid(unsafe_code)]

mod from;
mod macros;
mod numbers;
mod parser;
mod room;
mod spans;
mod string;
mod text;
mod value;
mod view;
mod write;

pub use numbers::{as_i128, as_integral_i128, as_u64, as_u64_list};
pub use parser::{NonFinite, Parser, Tree};
pub use room::TOO_LARGE;
pub use spans::{Span, last, members, spans, values};
pub use string::JsonString;
pub use text::{JsonError, JsonText, JsonToken};
pub use value::{Json, Members};

/// The members of an object, as users see them.
type ValueMembers = serde_json::Map<String, serde_json::Value>;
