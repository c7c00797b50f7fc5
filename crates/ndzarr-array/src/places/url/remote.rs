//! `Remote`: a place in a service.

use super::percent::percent_decoded;
use crate::error::{Error, ErrorKind, Result};

/// A place in another machine.
#[derive(PartialEq, Eq)]
pub(crate) enum Remote {
    /// `endpoint` is the scheme and host of a service other than Amazon's.
    S3 {
        endpoint: Option<String>,
        bucket: String,
        path: String,
    },
    Gcs {
        bucket: String,
        path: String,
    },
    Azure {
        account: Option<String>,
        container: String,
        path: String,
    },
    /// `base` is scheme, host and port. The query goes with every request; it may be a secret.
    Http {
        base: String,
        path: String,
        query: Option<String>,
    },
}

impl Remote {
    /// The feature that opens it.
    pub(crate) fn feature(&self) -> &'static str {
        match self {
            Self::S3 { .. } => "s3",
            Self::Gcs { .. } => "gcs",
            Self::Azure { .. } => "azure",
            Self::Http { .. } => "http",
        }
    }

    /// Takes the last name off the path.
    pub(crate) fn pop(&mut self) -> Result<String> {
        let (Self::S3 { path, .. }
        | Self::Gcs { path, .. }
        | Self::Azure { path, .. }
        | Self::Http { path, .. }) = self;
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        if name.is_empty() {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("{self:?} names no archive"),
            ));
        }
        let above = above.to_owned();
        let name = name.to_owned();
        *path = above;
        if !matches!(self, Self::Http { .. }) {
            return Ok(name);
        }
        percent_decoded(&name)
            .filter(|name| !name.contains('/'))
            .ok_or_else(|| {
                let what = format!("{name:?} cannot be the name of an archive: it has a slash");
                Error::new(ErrorKind::InvalidArgument, what)
            })
    }
}

/// Without the query.
impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::S3 {
                endpoint: Some(endpoint),
                bucket,
                path,
            } => write!(f, "s3+{endpoint}/{bucket}/{path}"),
            Self::S3 {
                endpoint: None,
                bucket,
                path,
            } => write!(f, "s3://{bucket}/{path}"),
            Self::Gcs { bucket, path } => write!(f, "gs://{bucket}/{path}"),
            Self::Azure {
                account: Some(account),
                container,
                path,
            } => {
                write!(
                    f,
                    "abfss://{container}@{account}.dfs.core.windows.net/{path}"
                )
            }
            Self::Azure {
                account: None,
                container,
                path,
            } => write!(f, "az://{container}/{path}"),
            Self::Http { base, path, .. } => write!(f, "{base}/{path}"),
        }
    }
}
