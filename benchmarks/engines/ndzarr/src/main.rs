//! ndzarr through its public typed calls.

use std::num::NonZeroUsize;
use std::ops::Range;

use bench_protocol::{Durability, FrameTimes, Locking, Measure, Operation, Request, masked};
use ndzarr::ndarray::{ArrayD, IxDyn, ShapeBuilder};
use ndzarr::store::Durability as Sync;
use ndzarr::{
    Any, Array, Cache, CopyOptions, FsStore, Group, MemberKind, N5Axes, OpenOptions, Points,
    RunOptions, copy,
};

type Failure = Box<dyn std::error::Error>;

fn open(request: &Request) -> Result<Array<u16>, Failure> {
    let array = match request.durability {
        Durability::None if request.reversed_axes => OpenOptions::new()
            .n5_axes(N5Axes::Reversed)
            .open_array::<u16>(&request.path)?,
        Durability::None if request.locking == Locking::Portable => {
            let store = FsStore::builder(&request.path)
                .locking(ndzarr::store::Locking::Portable)
                .build();
            Array::<u16>::open(store)?
        }
        Durability::None => Array::<u16>::open(&request.path)?,
        Durability::Full => {
            let store = FsStore::builder(&request.path)
                .durability(Sync::Full)
                .build();
            Array::<u16>::open(store)?
        }
    };
    let options = RunOptions::default().threads(NonZeroUsize::new(request.threads));
    Ok(array.with_options(options))
}

fn main() -> Result<(), Failure> {
    let request = Request::from_arguments();
    let region: Vec<Range<u64>> = request.region.iter().map(|[from, to]| *from..*to).collect();
    match request.operation {
        Operation::Read => {
            let measure = Measure::start();
            let result = open(&request)?.read(&region)?;
            let report = measure.stop();
            report.print_for([result.as_slice().ok_or("not in standard layout")?]);
        }
        Operation::ReadStored => {
            let measure = Measure::start();
            let options = RunOptions::default()
                .threads(NonZeroUsize::new(request.threads))
                .stored_order();
            let result = open(&request)?.with_options(options).read(&region)?;
            let report = measure.stop();
            report.print_for([result
                .as_standard_layout()
                .as_slice()
                .ok_or("not in standard layout")?]);
        }
        Operation::ReadInto | Operation::ReadIntoF => {
            let measure = Measure::start();
            let shape = IxDyn(&request.region_shape());
            let mut result = match request.operation {
                Operation::ReadIntoF => ArrayD::<u16>::zeros(shape.f()),
                _ => ArrayD::<u16>::zeros(shape),
            };
            open(&request)?.read_into(&region, &mut result)?;
            let report = measure.stop();
            report.print_for([result
                .as_standard_layout()
                .as_slice()
                .ok_or("not in standard layout")?]);
        }
        Operation::Write | Operation::Update => {
            let data = ArrayD::from_shape_vec(IxDyn(&request.region_shape()), request.elements())?;
            let measure = Measure::start();
            open(&request)?.write(&region, &data)?;
            measure.stop().print();
        }
        Operation::Append | Operation::AppendIfDue => {
            let data = ArrayD::from_shape_vec(IxDyn(&request.region_shape()), request.elements())?;
            let mut array = open(&request)?;
            let mut shape = array.shape().to_vec();
            shape[0] = 0;
            array.resize(&shape)?;
            let measure = Measure::start();
            let mut appender = array.appender(0)?;
            let mut times = FrameTimes::start();
            for frame in data.outer_iter() {
                times.frame(|| {
                    appender.push(&frame)?;
                    match request.operation {
                        Operation::AppendIfDue => appender.publish_if_due().map(drop),
                        _ => appender.publish(),
                    }
                })?;
            }
            let frames = times.end();
            appender.finish()?;
            let mut report = measure.stop();
            report.frames = Some(frames);
            report.print();
        }
        Operation::Copy => {
            let run = RunOptions::default().threads(NonZeroUsize::new(request.threads));
            let mut options = CopyOptions::new()
                .chunks(&request.to_chunks)
                .memory(request.memory)
                .run(run);
            if !request.to_shards.is_empty() {
                options = options.shards(&request.to_shards);
            }
            let measure = Measure::start();
            let report = copy(&request.source, &request.path, &options)?;
            measure.stop().print();
            eprintln!("{report:?}");
        }
        Operation::Chunks => {
            let measure = Measure::start();
            let array = open(&request)?;
            let chunks = request.chunks.iter().map(|chunk| array.read_chunk(chunk));
            let chunks: Vec<ArrayD<u16>> = chunks.collect::<Result<_, _>>()?;
            let report = measure.stop();
            report.print_for(chunks.iter().filter_map(|chunk| chunk.as_slice()));
        }
        Operation::ChunksBatch => {
            let measure = Measure::start();
            let array = open(&request)?;
            let shape = array.chunk_shape();
            let ranges = |chunk: &Vec<u64>| -> Vec<Range<u64>> {
                chunk
                    .iter()
                    .zip(&shape)
                    .map(|(c, n)| c * n..(c + 1) * n)
                    .collect()
            };
            let ranges: Vec<Vec<Range<u64>>> = request.chunks.iter().map(ranges).collect();
            let chunks = array.read_many(&ranges)?;
            let report = measure.stop();
            report.print_for(chunks.iter().filter_map(|chunk| chunk.as_slice()));
        }
        Operation::Points => {
            let measure = Measure::start();
            let found = open(&request)?.read(Points::new(&request.chunks))?;
            let report = measure.stop();
            report.print_for([found.as_slice().ok_or("not in standard layout")?]);
        }
        Operation::Outer => {
            let [rows, columns] = &request.chunks[..] else {
                return Err("two lists".into());
            };
            let measure = Measure::start();
            let found = open(&request)?.read((rows, columns, ..))?;
            let report = measure.stop();
            report.print_for([found.as_slice().ok_or("not in standard layout")?]);
        }
        Operation::Mask => {
            let shape: Vec<usize> = request.shape.iter().map(|&n| n as usize).collect();
            let n: usize = shape.iter().product();
            let mask = ArrayD::from_shape_vec(IxDyn(&shape), (0..n as u64).map(masked).collect())?;
            let measure = Measure::start();
            let found = open(&request)?.read(&mask)?;
            let report = measure.stop();
            report.print_for([found.as_slice().ok_or("not in standard layout")?]);
        }
        Operation::Planes => {
            let measure = Measure::start();
            let cache = Cache::new(1 << 30);
            let array = OpenOptions::new()
                .cache(&cache)
                .open_array::<u16>(&request.path)?;
            let array = array
                .with_options(RunOptions::default().threads(NonZeroUsize::new(request.threads)));
            let plane = |at| [&[at..at + 1][..], &region[1..]].concat();
            let planes: Vec<ArrayD<u16>> = region[0]
                .clone()
                .map(|at| array.read(&plane(at)))
                .collect::<Result<_, _>>()?;
            let report = measure.stop();
            report.print_for(planes.iter().filter_map(|plane| plane.as_slice()));
        }
        Operation::Callers => {
            let measure = Measure::start();
            let array = open(&request)?;
            let from = region[0].start;
            let to = region[0].end;
            let n = (to - from).div_ceil(16);
            let parts: Vec<ArrayD<u16>> = std::thread::scope(|scope| {
                let callers: Vec<_> = (0..16u64)
                    .map(|caller| {
                        let mut part = region.clone();
                        part[0] = from + caller * n..(from + (caller + 1) * n).min(to);
                        let array = &array;
                        scope.spawn(move || array.read(&part))
                    })
                    .collect();
                callers
                    .into_iter()
                    .map(|caller| caller.join().expect("a read does not panic"))
                    .collect::<Result<_, _>>()
            })?;
            let report = measure.stop();
            report.print_for(parts.iter().filter_map(|part| part.as_slice()));
        }
        Operation::List | Operation::ListConsolidated => {
            let measure = Measure::start();
            let root = Group::open(&request.path)?;
            let mut found = Vec::new();
            for child in root.walk()? {
                if child.kind() == Some(MemberKind::Array) {
                    found.push(format!(
                        "{} {:?}",
                        child.path(),
                        child.array::<Any>()?.shape()
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
    }
    Ok(())
}
