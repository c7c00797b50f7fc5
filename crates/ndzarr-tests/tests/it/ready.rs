//! `ready!`, by which an asynchronous store of a test leaves its requests to a blocking one.

/// The requests of an `AsyncStore`, each a future that is ready at once.
macro_rules! ready {
    ($field:tt) => {
        fn fetch<'a>(
            &'a self,
            fetch: &'a ndzarr::store::Fetch,
        ) -> futures_util::future::BoxFuture<
            'a,
            Result<ndzarr::store::Fetched, ndzarr::store::StoreError>,
        > {
            Box::pin(futures_util::future::ready(ndzarr::Store::fetch(
                &self.$field,
                fetch,
            )))
        }

        fn put<'a>(
            &'a self,
            key: &'a ndzarr::store::Key,
            parts: &'a [bytes::Bytes],
            only_if: ndzarr::store::Precondition,
        ) -> futures_util::future::BoxFuture<
            'a,
            Result<ndzarr::store::Put, ndzarr::store::StoreError>,
        > {
            Box::pin(futures_util::future::ready(ndzarr::Store::put(
                &self.$field,
                key,
                parts,
                only_if,
            )))
        }

        fn erase<'a>(
            &'a self,
            key: &'a ndzarr::store::Key,
            only_if: ndzarr::store::Precondition,
        ) -> futures_util::future::BoxFuture<
            'a,
            Result<ndzarr::store::Put, ndzarr::store::StoreError>,
        > {
            Box::pin(futures_util::future::ready(ndzarr::Store::erase(
                &self.$field,
                key,
                only_if,
            )))
        }
    };
}
