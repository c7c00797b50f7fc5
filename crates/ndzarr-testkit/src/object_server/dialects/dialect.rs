//! The service that a server imitates.

/// The service that a server imitates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Amazon S3, by paths: `/bucket/key`.
    S3,
    /// Google Cloud Storage by its XML API: `/bucket/key`.
    Gcs,
    /// Azure Blob Storage: `/devstoreaccount1/container/blob`.
    Azure,
    /// A web server: `/key`.
    Http,
}
