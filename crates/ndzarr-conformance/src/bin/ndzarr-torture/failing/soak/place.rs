//! Where the soak takes place: an array of one chunk, one of one shard, and one that grows.

use std::time::Duration;

use ndzarr::store::{Credentials, ObjectStore, RemoteOptions};
use ndzarr::{Array, Storage};
use ndzarr_testkit::object_server::{BUCKET, Dialect};

use crate::common::layout::Layout;
use crate::common::process::Worker;
use crate::common::torture::Outcome;

pub(super) const DIALECTS: [Dialect; 3] = [Dialect::S3, Dialect::Gcs, Dialect::Azure];

/// Elements of each writer in the chunk, and in the shard, where they fill an inner chunk.
pub(super) const BLOCK: u64 = 64;
/// Elements of an append, all in one chunk.
pub(super) const ROW: u64 = 3;
const ROWS: u64 = 16;

/// The arrays that have a block for each writer.
pub(super) const BLOCKS: [(&str, Layout); 2] = [("chunk", Layout::V3), ("shard", Layout::V3Shards)];

/// The elements of an append.
pub(super) fn element(index: usize, number: u32) -> u32 {
    (index as u32 + 1) * 10_000_000 + number
}

/// The name of a writer's attribute.
pub(super) fn attribute(index: usize) -> String {
    format!("of writer {index}")
}

pub(super) fn name_of(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::S3 => "s3",
        Dialect::Gcs => "gcs",
        Dialect::Azure => "azure",
        Dialect::Http => "http",
    }
}

/// The task of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Role {
    Writer(usize),
    Reader(usize),
}

impl Role {
    pub(crate) fn parse(name: &str, index: usize) -> Outcome<Self> {
        match name {
            "writer" => Ok(Self::Writer(index)),
            "reader" => Ok(Self::Reader(index)),
            _ => Err(format!("no role {name}").into()),
        }
    }
}

/// A bucket of a server.
pub(super) struct Place {
    dialect: Dialect,
    endpoint: String,
}

impl Place {
    pub(super) fn new(dialect: Dialect, endpoint: &str) -> Self {
        Self {
            dialect,
            endpoint: endpoint.to_owned(),
        }
    }

    /// The storage, with short time limits.
    pub(super) fn storage(&self) -> Outcome<Storage> {
        let options = RemoteOptions::new()
            .endpoint(&self.endpoint)
            .account("lab")
            .credentials(Credentials::Anonymous)
            .read_timeout(Duration::from_secs(1))
            .retry_for(Duration::from_secs(20));
        let store = match self.dialect {
            Dialect::S3 => ObjectStore::s3(BUCKET, "", &options)?,
            Dialect::Gcs => ObjectStore::gcs(BUCKET, "", &options)?,
            Dialect::Azure => ObjectStore::azure(BUCKET, "", &options)?,
            Dialect::Http => return Err("nothing can be written there".into()),
        };
        Ok(store.into())
    }

    /// Makes the arrays.
    pub(super) fn create(&self, writers: usize) -> Outcome {
        let storage = self.storage()?;
        for (name, layout) in BLOCKS {
            let len = writers as u64 * BLOCK;
            layout
                .compressed(layout.builder(&[len], &[len]))
                .create((&storage, name))?;
        }
        let rows = Array::<u32>::builder([0]).chunks([ROWS * ROW]);
        Layout::V3.compressed(rows).create((&storage, "rows"))?;
        Ok(())
    }

    /// Starts a process; a writer begins with the number after `last`.
    pub(super) fn worker(&self, role: Role, last: u32) -> Outcome<Worker> {
        let (name, index) = match role {
            Role::Writer(index) => ("writer", index),
            Role::Reader(index) => ("reader", index),
        };
        let index = index.to_string();
        let first = (last + 1).to_string();
        Worker::start(&[
            "soak",
            name_of(self.dialect),
            &self.endpoint,
            name,
            &index,
            &first,
        ])
    }
}
