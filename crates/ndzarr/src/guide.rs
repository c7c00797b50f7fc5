//! The guide: chapters in the order in which a user needs them.

#[doc = include_str!("guide/links.txt")]
#[doc = include_str!("../guide/opening.md")]
pub mod opening {}

#[doc = include_str!("guide/links.txt")]
#[doc = include_str!("../guide/reading.md")]
pub mod reading {}

#[doc = include_str!("guide/links.txt")]
#[doc = include_str!("../guide/selections.md")]
pub mod selections {}

#[doc = include_str!("guide/links.txt")]
#[doc = include_str!("../guide/writing.md")]
pub mod writing {}

#[doc = include_str!("guide/links.txt")]
#[doc = include_str!("../guide/types.md")]
pub mod types {}

#[doc = include_str!("guide/links.txt")]
#[doc = include_str!("../guide/groups.md")]
pub mod groups {}

#[doc = include_str!("guide/links.txt")]
#[doc = include_str!("../guide/chunks.md")]
pub mod chunks {}

#[doc = include_str!("guide/links.txt")]
#[doc = include_str!("../guide/n5.md")]
pub mod n5 {}

#[doc = include_str!("guide/links.txt")]
#[doc = include_str!("../guide/options.md")]
pub mod options {}

#[doc = include_str!("guide/links.txt")]
#[doc = include_str!("../guide/threads.md")]
pub mod threads {}

#[doc = include_str!("guide/links.txt")]
#[doc = include_str!("../guide/errors.md")]
pub mod errors {}

#[doc = include_str!("guide/links.txt")]
#[doc = include_str!("../guide/copy.md")]
pub mod copy {}

#[doc = include_str!("guide/links.txt")]
#[doc = include_str!("../guide/rechunking.md")]
pub mod rechunking {}

#[doc = include_str!("guide/links.txt")]
#[doc = include_str!("../guide/growing.md")]
pub mod growing {}

#[doc = include_str!("guide/links.txt")]
#[doc = include_str!("../guide/remote.md")]
pub mod remote {}

#[doc = include_str!("guide/links.txt")]
#[doc = include_str!("../guide/extending.md")]
pub mod extending {}

#[doc = include_str!("guide/links.txt")]
#[doc = include_str!("../guide/crates.md")]
pub mod crates {}

#[doc = include_str!("guide/links.txt")]
#[doc = include_str!("../guide/three-tasks.md")]
pub mod three_tasks {}

#[doc = include_str!("guide/links.txt")]
#[doc = include_str!("../guide/coming-from.md")]
pub mod coming_from {}

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme_of_the_crate {}
