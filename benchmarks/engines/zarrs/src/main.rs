//! The crate zarrs, used as its documentation shows.

use std::sync::Arc;

use bench_protocol::{Durability, Measure, Operation, Request};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use zarrs::array::{Array, ArraySubset};
use zarrs::filesystem::FilesystemStore;
use zarrs::group::Group;

type Failure = Box<dyn std::error::Error>;

fn open(request: &Request) -> Result<Array<FilesystemStore>, Failure> {
    Ok(Array::open(
        Arc::new(FilesystemStore::new(&request.path)?),
        "/",
    )?)
}

fn main() -> Result<(), Failure> {
    let request = Request::from_arguments();
    if request.durability == Durability::Full {
        return Err("zarrs has no such setting".into());
    }
    let ranges: Vec<std::ops::Range<u64>> =
        request.region.iter().map(|[from, to]| *from..*to).collect();
    let region = ArraySubset::new_with_ranges(&ranges);
    match request.operation {
        Operation::Read => {
            let measure = Measure::start();
            let result: Vec<u16> = open(&request)?.retrieve_array_subset(&region)?;
            let report = measure.stop();
            report.print_for([result]);
        }
        Operation::Write | Operation::Update => {
            let data = request.elements();
            let measure = Measure::start();
            open(&request)?.store_array_subset(&region, &data[..])?;
            measure.stop().print();
        }
        Operation::Chunks | Operation::ChunksBatch => {
            use zarrs::array::{
                ArrayShardedExt, ArrayShardedReadableExt, ArrayShardedReadableExtCache,
            };
            let measure = Measure::start();
            let array = open(&request)?;
            let cache = ArrayShardedReadableExtCache::new(&array);
            let read = |chunk: &Vec<u64>| -> Result<Vec<u16>, zarrs::array::ArrayError> {
                if array.is_sharded() {
                    array.retrieve_subchunk_opt(&cache, chunk, &Default::default())
                } else {
                    array.retrieve_chunk(chunk)
                }
            };
            let chunks: Vec<Vec<u16>> = match request.operation {
                Operation::Chunks => request.chunks.iter().map(read).collect::<Result<_, _>>()?,
                _ => request
                    .chunks
                    .par_iter()
                    .map(read)
                    .collect::<Result<_, _>>()?,
            };
            let report = measure.stop();
            report.print_for(chunks);
        }
        Operation::List | Operation::ListConsolidated => {
            let measure = Measure::start();
            let store = Arc::new(FilesystemStore::new(&request.path)?);
            let root = Group::open(store, "/")?;
            let mut found = Vec::new();
            for group in root.child_groups()? {
                for array in group.child_arrays()? {
                    found.push(format!(
                        "{} {:?}",
                        &array.path().as_str()[1..],
                        array.shape()
                    ));
                }
            }
            let report = measure.stop();
            found.sort();
            report.print_for_text(&found.join("\n"));
        }
        Operation::Open => {
            let measure = Measure::start();
            let array = open(&request)?;
            let report = measure.stop();
            report.print_for_text(&format!("{:?}", array.shape()));
        }
        Operation::Callers
        | Operation::ReadStored
        | Operation::Append
        | Operation::AppendIfDue
        | Operation::Planes
        | Operation::Points
        | Operation::Outer
        | Operation::Mask
        | Operation::ReadInto
        | Operation::ReadIntoF
        | Operation::Copy => return Err("not measured".into()),
    }
    Ok(())
}
