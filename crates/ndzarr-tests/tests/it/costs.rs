//! What calls on arrays in a bucket cost in requests, as the guide says.

use std::error::Error;

use ndarray::{Array2, array};
use ndzarr::{Array, Cache, Format, Group, OpenOptions};
use ndzarr_testkit::object_server::{BUCKET, Dialect, ObjectServer};

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

/// A bucket that counts requests.
struct Bucket(ObjectServer);

impl Bucket {
    fn url(&self, path: &str) -> String {
        format!("s3+{}/{BUCKET}/{path}", self.0.url())
    }

    /// How many requests a call makes.
    fn cost<T>(&self, call: impl FnOnce() -> ndzarr::Result<T>) -> ndzarr::Result<(u64, T)> {
        self.0.forget();
        let value = call()?;
        Ok((self.0.traffic().requests, value))
    }
}

#[test]
fn each_chunk_costs_one_request() -> Outcome {
    let bucket = Bucket(ObjectServer::start(Dialect::S3));
    let a = Array::<u16>::builder([4, 6])
        .chunks([2, 3])
        .create(bucket.url("a"))?;
    let data = Array2::from_elem((4, 6), 1);
    assert_eq!(
        bucket.cost(|| a.write((.., ..), &data))?.0,
        4,
        "one for each of four chunks"
    );
    assert_eq!(
        bucket.cost(|| a.read(..))?.0,
        4,
        "one for each of four chunks"
    );
    assert_eq!(bucket.cost(|| a.read((0, 0)))?.0, 1);
    assert_eq!(
        bucket.cost(|| a.write((0, 0..2), &[2, 3]))?.0,
        2,
        "a part is read and replaced"
    );
    assert_eq!(
        bucket
            .cost(|| a.write((..2, 1..5), &Array2::from_elem((2, 4), 4)))?
            .0,
        4,
        "two parts"
    );
    Ok(())
}

#[test]
fn a_shard_costs_one_request_more_until_its_index_is_known() -> Outcome {
    let bucket = Bucket(ObjectServer::start(Dialect::S3));
    let a = Array::<u16>::builder([8, 8])
        .chunks([2, 2])
        .shards([8, 8])
        .create(bucket.url("a"))?;
    assert_eq!(
        bucket
            .cost(|| a.write((.., ..), &Array2::from_elem((8, 8), 1)))?
            .0,
        1
    );
    assert_eq!(
        bucket.cost(|| a.read(..))?.0,
        2,
        "the index, and all inner chunks as one range"
    );
    let a = Array::<u16>::open(bucket.url("a"))?;
    assert_eq!(
        bucket.cost(|| a.read((0, 0)))?.0,
        2,
        "the index, and the inner chunk"
    );
    assert_eq!(bucket.cost(|| a.read((7, 7)))?.0, 1, "the index is known");
    Ok(())
}

#[test]
fn a_custom_endpoint_is_examined_once() -> Outcome {
    let bucket = Bucket(ObjectServer::start(Dialect::S3));
    Array::<u16>::builder([4])
        .chunks([4])
        .create(bucket.url("a"))?
        .fill(.., 1)?;
    let a = Array::<u16>::open(bucket.url("a"))?;
    assert_eq!(
        bucket.cost(|| a.write([0..2], &[2, 3]))?.0,
        2 + 5,
        "whether it checks conditions"
    );
    assert_eq!(bucket.cost(|| a.write([0..2], &[2, 3]))?.0, 2);
    Ok(())
}

#[test]
fn a_cache_asks_for_each_chunk_unless_it_is_frozen() -> Outcome {
    let bucket = Bucket(ObjectServer::start(Dialect::S3));
    let a = Array::<u16>::builder([4, 6])
        .chunks([2, 3])
        .create(bucket.url("a"))?;
    a.fill(.., 1)?;
    let cache = Cache::new(1 << 20);
    let frozen = Cache::new(1 << 20).frozen();
    for (cache, again) in [(&cache, 4), (&frozen, 0)] {
        let a = OpenOptions::new()
            .cache(cache)
            .open_array::<u16>(bucket.url("a"))?;
        assert_eq!(bucket.cost(|| a.read(..))?.0, 4);
        assert_eq!(bucket.cost(|| a.read(..))?.0, again);
    }
    Ok(())
}

#[test]
fn an_append_to_a_chunk_costs_four_requests() -> Outcome {
    let bucket = Bucket(ObjectServer::start(Dialect::S3));
    let mut a = Array::<u16>::builder([0, 3])
        .chunks([2, 3])
        .create(bucket.url("a"))?;
    for row in [array![[1, 2, 3]], array![[4, 5, 6]]] {
        assert_eq!(
            bucket.cost(|| a.append(0, &row))?.0,
            4,
            "read and replace the document and the chunk"
        );
    }
    Ok(())
}

#[test]
fn opening_and_listing_cost_what_the_guide_says() -> Outcome {
    let bucket = Bucket(ObjectServer::start(Dialect::S3));
    // Five documents say what exists, and v2 keeps the consolidated metadata of a group in one
    // more. A group is listed; a document of a child is one request, in v2 with the attributes two;
    // that of a group of N5 is read again.
    let formats = [
        (Format::Zarr3, 6 + 1 + 3, 6),
        (Format::Zarr2, 6 + 1 + 6, 6),
        (Format::N5, 6 + 2 + 3, 0),
    ];
    for (format, listed, consolidated) in formats {
        let url = bucket.url(&format.to_string());
        let mut root = Group::create(&url, format)?;
        for name in ["a", "b", "c"] {
            root.create_array(name, Array::<u8>::builder([4]).format(format))?;
        }
        assert_eq!(
            bucket.cost(|| Array::<u8>::open(format!("{url}/a")))?.0,
            5,
            "{format}"
        );
        if format == Format::Zarr3 {
            assert_eq!(
                bucket
                    .cost(|| Array::<u8>::open(format!("{url}/a|zarr3:")))?
                    .0,
                1
            );
            assert_eq!(bucket.cost(|| Group::open(format!("{url}|zarr3:")))?.0, 1);
        }
        let (cost, children) = bucket.cost(|| Group::open(&url)?.children())?;
        assert_eq!((cost, children.len()), (listed, 3), "{format}");
        if format != Format::N5 {
            root.consolidate()?;
            let (cost, children) = bucket.cost(|| Group::open(&url)?.children())?;
            assert_eq!((cost, children.len()), (consolidated, 3), "{format}");
        }
    }
    Ok(())
}
