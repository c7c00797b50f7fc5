//! ZIP archives as stores: reads an archive that is a value of any store, and writes new ones.
//!
//! ```
//! use ndzarr_store::{Fetch, Fetched, Key, Of, Precondition, Store, Want};
//! use ndzarr_store_zip::{ZipStore, ZipWriter};
//!
//! # fn main() -> Result<(), ndzarr_store::StoreError> {
//! # let folder = tempfile::tempdir().expect("the system has a folder for temporaries");
//! # let path = folder.path().join("volume.zip");
//! let key = Key::new("c/0/0")?;
//! let new = ZipWriter::create_file(&path)?;
//! new.put(&key, &["some ".into(), "bytes".into()], Precondition::None)?;
//! new.finish()?;
//!
//! let archive = ZipStore::open_file(&path)?;
//! let want = Want::Ranges(vec![5..10]);
//! let Fetched::Parts { parts, .. } = archive.fetch(&Fetch { key, of: Of::Any, want })? else { panic!("it was put") };
//! assert_eq!(parts, ["bytes"]);
//! # Ok(())
//! # }
//! ```
//!
//! # Reading
//! [`ZipStore`] reads over a [`Store`](ndzarr_store::Store) or an
//! [`AsyncStore`](ndzarr_store::AsyncStore); there is one implementation for both. Opening takes
//! one request for the last mebibyte and, if the directory is larger, another for the rest of it. A
//! stored entry is read in one request, a compressed one whole: deflate, and zstd with the feature
//! `zstd`. Its size and CRC-32 are checked, as are those of a stored entry that is read whole.
//!
//! The directory is trusted no further than it can be checked:
//!
//! | an archive with | is |
//! |---|---|
//! | the same name twice | read: the last one counts, as in Python |
//! | other bytes in front, data descriptors, a comment | read |
//! | names with `\`, as Windows has it, or with `./` or `/` in front | read: keys with `/` |
//! | two names of one key (`a/b`, `a\b`) | refused |
//! | names that are not keys (`..`, NUL, not UTF-8) | read without these entries, [`ZipStore::skipped`] |
//! | folders | read; keys do not need them |
//! | encrypted entries, unknown methods | read; an error at these entries |
//! | a wrong size, checksum or local header | an error at this entry |
//! | entries that overlap, or lie outside the archive | refused |
//! | another number of entries than it states, parts on other disks | refused |
//! | changes since it was opened | an error at each read from then on |
//!
//! An entry takes about 50 bytes of memory, besides its name. A directory may have up to 1 GiB.
//! Compressed entries are decoded in steps: only the requested bytes take memory, whatever size an
//! entry states.
//!
//! # Writing
//! [`ZipWriter`] writes an archive into a temporary of the store that is to have it; nothing is
//! visible before [`finish`](ZipWriter::finish). Each name occurs once, whatever was replaced or
//! erased before. Archives are not changed in place: a crash would lose them.
// docs.rs shows which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod archive;
mod directory;
mod end;
mod field;
mod inflate;
mod io;
mod key_turn;
mod new_archive;
mod new_value;
mod records;
mod spelling;
mod store;
mod wanted;
mod writer;

pub use store::ZipStore;
pub use writer::ZipWriter;
