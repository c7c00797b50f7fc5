//! `forward!`, by which a wrapper leaves methods to the wrapped store.

/// Forwards methods of a [`Store`](ndzarr_store::Store) to that of a field. A wrapper writes the
/// others, or keeps their defaults.
///
/// ```
/// use ndzarr_store::{Fetch, Fetched, MemoryStore, Store, StoreError};
/// use ndzarr_testkit::forward;
///
/// /// Has no documents.
/// #[derive(Debug)]
/// struct Bare(MemoryStore);
///
/// impl Store for Bare {
///     forward!(0: name, put, erase, list_dir);
///
///     fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
///         if fetch.key.as_str().ends_with(".json") { Ok(Fetched::Missing) } else { self.0.fetch(fetch) }
///     }
/// }
/// ```
#[macro_export]
macro_rules! forward {
    (@name $field:tt) => {
        fn name(&self) -> String {
            $crate::ndzarr_store::Store::name(&self.$field)
        }
    };
    (@fetch $field:tt) => {
        fn fetch(
            &self,
            fetch: &$crate::ndzarr_store::Fetch,
        ) -> Result<$crate::ndzarr_store::Fetched, $crate::ndzarr_store::StoreError> {
            $crate::ndzarr_store::Store::fetch(&self.$field, fetch)
        }
    };
    (@fetch_pieces $field:tt) => {
        fn fetch_pieces(
            &self,
            key: &$crate::ndzarr_store::Key,
            byte_len: u64,
            ranges: &[::std::ops::Range<u64>],
            piece: &mut [u8],
            take: &mut dyn FnMut(&[u8]),
        ) -> Result<$crate::ndzarr_store::FetchedPieces, $crate::ndzarr_store::StoreError> {
            $crate::ndzarr_store::Store::fetch_pieces(&self.$field, key, byte_len, ranges, piece, take)
        }
    };
    (@has $field:tt) => {
        fn has(&self, key: &$crate::ndzarr_store::Key) -> Result<bool, $crate::ndzarr_store::StoreError> {
            $crate::ndzarr_store::Store::has(&self.$field, key)
        }
    };
    (@put $field:tt) => {
        fn put(
            &self,
            key: &$crate::ndzarr_store::Key,
            parts: &[$crate::bytes::Bytes],
            only_if: $crate::ndzarr_store::Precondition,
        ) -> Result<$crate::ndzarr_store::Put, $crate::ndzarr_store::StoreError> {
            $crate::ndzarr_store::Store::put(&self.$field, key, parts, only_if)
        }
    };
    (@erase $field:tt) => {
        fn erase(
            &self,
            key: &$crate::ndzarr_store::Key,
            only_if: $crate::ndzarr_store::Precondition,
        ) -> Result<$crate::ndzarr_store::Put, $crate::ndzarr_store::StoreError> {
            $crate::ndzarr_store::Store::erase(&self.$field, key, only_if)
        }
    };
    (@lock $field:tt) => {
        fn lock(
            &self,
            key: &$crate::ndzarr_store::Key,
            wait: $crate::ndzarr_store::Wait<'_>,
        ) -> Result<$crate::ndzarr_store::Locked, $crate::ndzarr_store::StoreError> {
            $crate::ndzarr_store::Store::lock(&self.$field, key, wait)
        }
    };
    (@temporary $field:tt) => {
        fn temporary(
            &self,
            key: &$crate::ndzarr_store::Key,
        ) -> Result<Option<Box<dyn $crate::ndzarr_store::Temporary>>, $crate::ndzarr_store::StoreError> {
            $crate::ndzarr_store::Store::temporary(&self.$field, key)
        }
    };
    (@list_dir $field:tt) => {
        fn list_dir(
            &self,
            prefix: &$crate::ndzarr_store::Prefix,
        ) -> Result<$crate::ndzarr_store::DirListing, $crate::ndzarr_store::StoreError> {
            $crate::ndzarr_store::Store::list_dir(&self.$field, prefix)
        }
    };
    (@place $field:tt) => {
        fn place(
            &self,
            prefix: &$crate::ndzarr_store::Prefix,
        ) -> Result<Option<(u64, u64)>, $crate::ndzarr_store::StoreError> {
            $crate::ndzarr_store::Store::place(&self.$field, prefix)
        }
    };
    (@list_prefix $field:tt) => {
        fn list_prefix(
            &self,
            prefix: &$crate::ndzarr_store::Prefix,
        ) -> Result<Vec<$crate::ndzarr_store::Key>, $crate::ndzarr_store::StoreError> {
            $crate::ndzarr_store::Store::list_prefix(&self.$field, prefix)
        }
    };
    (@unlisted_names $field:tt) => {
        fn unlisted_names(
            &self,
            prefix: &$crate::ndzarr_store::Prefix,
        ) -> Result<Vec<String>, $crate::ndzarr_store::StoreError> {
            $crate::ndzarr_store::Store::unlisted_names(&self.$field, prefix)
        }
    };
    (@list_lengths $field:tt) => {
        fn list_lengths(
            &self,
            prefix: &$crate::ndzarr_store::Prefix,
            take: &mut dyn FnMut(&$crate::ndzarr_store::Key, $crate::ndzarr_store::Listed),
        ) -> Result<(), $crate::ndzarr_store::StoreError> {
            $crate::ndzarr_store::Store::list_lengths(&self.$field, prefix, take)
        }
    };
    (@can $field:tt) => {
        fn can(&self) -> $crate::ndzarr_store::Can {
            $crate::ndzarr_store::Store::can(&self.$field)
        }
    };
    (@range_merging $field:tt) => {
        fn range_merging(&self) -> $crate::ndzarr_store::RangeMerging {
            $crate::ndzarr_store::Store::range_merging(&self.$field)
        }
    };
    (@writes_wait $field:tt) => {
        fn writes_wait(&self) -> bool {
            $crate::ndzarr_store::Store::writes_wait(&self.$field)
        }
    };
    ($field:tt: $($method:ident),+) => {
        $($crate::forward!(@$method $field);)+
    };
}
