//! The crate zarrs over object_store, with 256 chunks at once: by default it has 4.

use std::sync::Arc;

use bench_protocol::Measure;
use bench_remote::control::forget;
use bench_remote::request::{Operation, Request};
use object_store::ClientOptions;
use object_store::aws::AmazonS3Builder;
use zarrs::array::{Array, ArraySubset};
use zarrs::group::Group;
use zarrs_object_store::AsyncObjectStore;

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Store = AsyncObjectStore<object_store::aws::AmazonS3>;

fn store(request: &Request) -> Result<Arc<Store>, Failure> {
    let store = AmazonS3Builder::new()
        .with_endpoint(&request.endpoint)
        .with_region("us-east-1")
        .with_bucket_name(&request.bucket)
        .with_access_key_id("an-id")
        .with_secret_access_key("a-secret")
        .with_client_options(ClientOptions::new().with_allow_http(true))
        .build()?;
    Ok(Arc::new(AsyncObjectStore::new(store)))
}

fn main() -> Result<(), Failure> {
    let request = Request::from_arguments();
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| "there is a provider")?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    zarrs::config::global_config_mut()
        .set_codec_concurrent_target(256)
        .set_chunk_concurrent_minimum(256);
    runtime.block_on(run(&request))
}

async fn run(request: &Request) -> Result<(), Failure> {
    let path = format!("/{}", request.path);
    let warm = store(request)?;
    let _ = Array::async_open(warm, "/missing").await;
    let store = store(request)?;
    let open = || Array::async_open(Arc::clone(&store), &path);
    if let Some(warm) = &request.warm {
        let array = Array::async_open(Arc::clone(&store), &format!("/{warm}")).await?;
        let _: Vec<u16> = array
            .async_retrieve_array_subset(&array.subset_all())
            .await?;
    }
    let start = || {
        forget(&request.control);
        Measure::start()
    };
    match request.operation {
        Operation::Open => {
            let measure = start();
            let array = open().await?;
            let report = measure.stop();
            report.print_for_text(&format!("{:?}", array.shape()));
        }
        Operation::OneChunk | Operation::Everything => {
            let array = open().await?;
            let mut ranges: Vec<_> = array.shape().iter().map(|&n| 0..n).collect();
            if request.operation == Operation::OneChunk {
                ranges[0] = 0..1;
            }
            let region = ArraySubset::new_with_ranges(&ranges);
            let measure = start();
            let found: Vec<u16> = array.async_retrieve_array_subset(&region).await?;
            let report = measure.stop();
            report.print_for([found]);
        }
        // It has neither steps nor a call for several regions.
        Operation::Batch => {
            let array = open().await?;
            let shape = array.shape().to_vec();
            let measure = start();
            let rows = (0..shape[0]).step_by(10).map(|at| {
                let region = ArraySubset::new_with_ranges(&[at..at + 1, 0..shape[1], 0..shape[2]]);
                let array = &array;
                async move { array.async_retrieve_array_subset::<Vec<u16>>(&region).await }
            });
            let found = futures::future::try_join_all(rows).await?;
            let report = measure.stop();
            report.print_for(found);
        }
        Operation::List => {
            let measure = start();
            let group = Group::async_open(Arc::clone(&store), &path).await?;
            let arrays = group.async_child_arrays().await?;
            let name = |array: &Array<Store>| {
                format!(
                    "{} {:?}",
                    array.path().as_str().rsplit('/').next().unwrap_or_default(),
                    array.shape()
                )
            };
            let mut found: Vec<String> = arrays.iter().map(name).collect();
            let report = measure.stop();
            found.sort();
            report.print_for_text(&found.join("\n"));
        }
        _ => return Err("zarrs has no such call".into()),
    }
    Ok(())
}
