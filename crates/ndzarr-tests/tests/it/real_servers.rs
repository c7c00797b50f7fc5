//! Arrays on servers that others made: `cargo xtask remote` starts them and says where they are.

use std::env;
use std::error::Error;

use ndarray::{Array2, array};
use ndzarr::store::ZipWriter;
use ndzarr::{Array, ErrorKind, Format, Group};

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("`cargo xtask remote` sets {name}"))
}

#[test]
#[ignore = "needs a server: cargo xtask remote"]
fn real_bucket_holds_arrays() -> Outcome {
    crate::buckets::use_arrays_and_groups(&format!("{}/arrays", variable("NDZARR_REMOTE")))
}

#[test]
#[ignore = "needs a server: cargo xtask remote"]
fn real_bucket_of_concurrent_writers() -> Outcome {
    crate::writers_in_buckets::write_concurrently(&format!("{}/writers", variable("NDZARR_REMOTE")))
}

#[test]
#[ignore = "needs a server: cargo xtask remote"]
fn real_web_server_has_arrays() -> Outcome {
    let url = variable("NDZARR_REMOTE");
    let folder = variable("NDZARR_REMOTE_FOLDER");
    let values = Array2::from_shape_fn((40, 50), |(y, x)| (y * 50 + x) as u16);
    for format in [Format::Zarr2, Format::Zarr3, Format::N5] {
        let name = format!("arrays {format:?}");
        let mut group = Group::create(format!("{folder}/{name}"), format)?;
        let plain = group.create_array("plain", Array::<u16>::builder([40, 50]).chunks([8, 25]))?;
        plain.write(.., &values.clone().into_dyn())?;
        let mut arrays = vec!["plain"];
        if format == Format::Zarr3 {
            let shards = Array::<u16>::builder([40, 50])
                .chunks([4, 25])
                .shards([16, 50]);
            group
                .create_array("shards", shards)?
                .write(.., &values.clone().into_dyn())?;
            arrays.push("shards");
        }
        if format != Format::N5 {
            group.consolidate()?;
        }
        let base = format!("{url}/{}", name.replace(' ', "%20"));
        for array in arrays {
            let a = Array::<u16>::open(format!("{base}/{array}"))?;
            assert_eq!(a.read(..)?, values.clone().into_dyn());
            assert_eq!(a.read([9..10, 3..5])?, array![[453, 454]]);
        }
        let error = Array::<u16>::open(format!("{base}/none")).expect_err("it does not exist");
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    }
    let archive = ZipWriter::create_file(format!("{folder}/a.zip"))?;
    Array::<u16>::builder([3])
        .create((&archive, "in/a"))?
        .write([0..3], &array![1, 2, 3])?;
    archive.finish()?;
    assert_eq!(
        Array::<u16>::open(format!("{url}/a.zip|zip:in/a"))?.read([1..3])?,
        array![2, 3]
    );
    Ok(())
}
