//! Uses no library: straight code for exactly the layouts of the definitions, without any checks.
//! Its time is the lower bound for a row on this machine. Only the checksum shows that its result
//! is right.

mod chunk;
mod copy;
mod list;
mod output;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use bench_protocol::{Durability, Measure, Operation, Request, thread_ends};
use chunk::{Layout, Scratch};
use output::Output;

/// Runs `each` on all items. Each thread begins with its own stretch of neighbours, so that no two
/// write to one page, and then helps the others.
fn parallel<T: Sync>(threads: usize, items: &[T], each: impl Fn(&mut Scratch, &T) + Sync) {
    let stretch = |i: usize| items.len() * i / threads..items.len() * (i + 1) / threads;
    let stretches: Vec<_> = (0..threads)
        .map(|i| (AtomicUsize::new(stretch(i).start), stretch(i).end))
        .collect();
    let work = |own: usize| {
        let mut scratch = Scratch::default();
        for i in 0..threads {
            let (next, end) = &stretches[(own + i) % threads];
            while let Some(item) = items[..*end].get(next.fetch_add(1, Ordering::Relaxed)) {
                each(&mut scratch, item);
            }
        }
    };
    std::thread::scope(|scope| {
        for own in 1..threads {
            let work = &work;
            scope.spawn(move || {
                work(own);
                thread_ends();
            });
        }
        work(0);
    });
}

/// A box of elements: start and end along each axis.
type Box3 = [[usize; 2]; 3];

fn boxes(region: &Box3, chunk: usize) -> Vec<[usize; 3]> {
    let axis = |r: [usize; 2]| r[0] / chunk..r[1].div_ceil(chunk);
    let mut all = Vec::new();
    for z in axis(region[0]) {
        for y in axis(region[1]) {
            for x in axis(region[2]) {
                all.push([z, y, x]);
            }
        }
    }
    all
}

/// The part of the chunk `at` that lies in the region, relative to the chunk's start, and its
/// position in the region.
fn overlap(region: &Box3, chunk: usize, at: [usize; 3]) -> (Box3, [usize; 3]) {
    let mut inside = [[0; 2]; 3];
    let mut start = [0; 3];
    for axis in 0..3 {
        let origin = at[axis] * chunk;
        let from = region[axis][0].max(origin);
        let to = region[axis][1].min(origin + chunk);
        inside[axis] = [from - origin, to - origin];
        start[axis] = from - region[axis][0];
    }
    (inside, start)
}

fn shape(region: &Box3) -> [usize; 3] {
    [
        region[0][1] - region[0][0],
        region[1][1] - region[1][0],
        region[2][1] - region[2][0],
    ]
}

fn main() {
    let request = Request::from_arguments();
    if matches!(
        request.operation,
        Operation::List | Operation::ListConsolidated
    ) {
        return list::run(&request);
    }
    let layout: Layout =
        serde_json::from_value(request.layout.clone()).expect("the layout of the row");
    let mut region = [[0; 2]; 3];
    for (axis, [from, to]) in request.region.iter().enumerate() {
        region[axis] = [*from as usize, *to as usize];
    }
    match request.operation {
        Operation::Read => {
            let measure = Measure::start();
            open(&request.path);
            let out = read(&request, &layout, &region);
            let report = measure.stop();
            report.print_for([out.elements()]);
        }
        Operation::Write | Operation::Update => {
            let data = request.elements();
            let measure = Measure::start();
            open(&request.path);
            write(&request, &layout, &region, &data);
            measure.stop().print();
        }
        Operation::Chunks | Operation::ChunksBatch => {
            let measure = Measure::start();
            open(&request.path);
            let threads = if request.operation == Operation::Chunks {
                1
            } else {
                request.threads
            };
            let chunks = inner_chunks(&request, &layout, threads);
            let report = measure.stop();
            report.print_for(chunks);
        }
        _ => panic!("no floor for this operation"),
    }
}

/// The minimum cost of opening: parsing one document.
fn open(path: &Path) {
    for name in ["zarr.json", ".zarray", "attributes.json"] {
        if let Ok(text) = std::fs::read(path.join(name)) {
            let _: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
            return;
        }
    }
}

fn read(request: &Request, layout: &Layout, region: &Box3) -> Output {
    let shape = shape(region);
    let out = Output::new(shape);
    let shared = out.shared();
    match layout.inner {
        None => parallel(
            request.threads,
            &boxes(region, layout.chunk),
            |scratch, &at| {
                let (inside, start) = overlap(region, layout.chunk, at);
                let file = File::open(layout.path(&request.path, at)).expect("a chunk");
                layout.read_chunk(&file, scratch, &inside, shared, start);
            },
        ),
        Some(inner) => {
            // Shards one after the other in separate threads balance well enough if there are
            // several.
            let shards = boxes(region, layout.chunk);
            parallel(request.threads, &shards, |scratch, &at| {
                let (inside, start) = overlap(region, layout.chunk, at);
                let shard = Shard::open(layout.path(&request.path, at), layout.chunk / inner);
                let whole = shard.file.metadata().expect("a file").len() as usize;
                let mut encoded = std::mem::take(&mut scratch.file);
                encoded.resize(encoded.len().max(whole), 0);
                let all = crate::shape(&inside) == [layout.chunk; 3];
                if all {
                    shard
                        .file
                        .read_exact_at(&mut encoded[..whole], 0)
                        .expect("the shard");
                }
                for at in boxes(&inside, inner) {
                    let (part, offset) = overlap(&inside, inner, at);
                    let (from, len) = shard.entry(at);
                    if !all {
                        shard
                            .file
                            .read_exact_at(&mut encoded[..len], from as u64)
                            .expect("an inner chunk");
                    }
                    let bytes = if all {
                        &encoded[from..from + len]
                    } else {
                        &encoded[..len]
                    };
                    let place = [
                        start[0] + offset[0],
                        start[1] + offset[1],
                        start[2] + offset[2],
                    ];
                    layout.put(
                        bytes,
                        inner,
                        &mut scratch.decoded,
                        &mut scratch.zstd,
                        &part,
                        shared,
                        place,
                    );
                }
                scratch.file = encoded;
            });
        }
    }
    out
}

/// An open shard with its index at the end, followed by crc32c.
struct Shard {
    file: File,
    index: Vec<u64>,
    n: usize,
}

impl Shard {
    fn open(path: PathBuf, n: usize) -> Self {
        let file = File::open(path).expect("a shard");
        let len = file.metadata().expect("a file").len();
        let mut bytes = vec![0; n * n * n * 16 + 4];
        file.read_exact_at(&mut bytes, len - (n * n * n * 16 + 4) as u64)
            .expect("the index");
        let index = bytes
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")))
            .collect();
        Self { file, index, n }
    }

    fn entry(&self, at: [usize; 3]) -> (usize, usize) {
        let linear = (at[0] * self.n + at[1]) * self.n + at[2];
        (
            self.index[2 * linear] as usize,
            self.index[2 * linear + 1] as usize,
        )
    }
}

fn inner_chunks(request: &Request, layout: &Layout, threads: usize) -> Vec<Vec<u16>> {
    let inner = layout.inner.expect("a sharded layout");
    let n = layout.chunk / inner;
    let shards: Vec<std::sync::OnceLock<Shard>> =
        (0..512).map(|_| std::sync::OnceLock::new()).collect();
    let results: Vec<std::sync::Mutex<Vec<u16>>> =
        request.chunks.iter().map(|_| Default::default()).collect();
    let items: Vec<usize> = (0..request.chunks.len()).collect();
    parallel(threads, &items, |scratch, &i| {
        let chunk: Vec<usize> = request.chunks[i].iter().map(|&c| c as usize).collect();
        let at = [chunk[0] / n, chunk[1] / n, chunk[2] / n];
        let shard = shards[(at[0] * 8 + at[1]) * 8 + at[2]]
            .get_or_init(|| Shard::open(layout.path(&request.path, at), n));
        let (from, len) = shard.entry([chunk[0] % n, chunk[1] % n, chunk[2] % n]);
        scratch.file.resize(scratch.file.len().max(len), 0);
        shard
            .file
            .read_exact_at(&mut scratch.file[..len], from as u64)
            .expect("an inner chunk");
        let mut out = vec![0u16; inner * inner * inner];
        layout.decode(
            &scratch.file[..len],
            copy::bytes_mut(&mut out),
            &mut scratch.zstd,
        );
        *results[i].lock().expect("no panic") = out;
    });
    results
        .into_iter()
        .map(|result| result.into_inner().expect("no panic"))
        .collect()
}

fn write(request: &Request, layout: &Layout, region: &Box3, data: &[u16]) {
    let shape = shape(region);
    let chunks = boxes(region, layout.chunk);
    if let Some(first) = chunks.first() {
        let _ = std::fs::create_dir_all(
            layout
                .path(&request.path, *first)
                .parent()
                .expect("a folder"),
        );
    }
    parallel(request.threads, &chunks, |scratch, &at| {
        let (inside, start) = overlap(region, layout.chunk, at);
        let path = layout.path(&request.path, at);
        let full = crate::shape(&inside) == [layout.chunk; 3];
        let chunk = &inside;
        match layout.inner {
            None => {
                let mut buffer = std::mem::take(&mut scratch.decoded);
                buffer.resize(layout.chunk.pow(3), 0);
                if !full {
                    let encoded = std::fs::read(&path).expect("the old chunk");
                    layout.decode(&encoded, copy::bytes_mut(&mut buffer), &mut scratch.zstd);
                }
                copy::gather(data, shape, start, chunk, &mut buffer, layout.chunk);
                if layout.big_endian {
                    buffer
                        .iter_mut()
                        .for_each(|element| *element = element.swap_bytes());
                }
                let mut encoded = std::mem::take(&mut scratch.file);
                let n = layout.encode(&buffer, &mut encoded, scratch);
                publish(&path, &[&encoded[..n]], request.durability);
                (scratch.file, scratch.decoded) = (encoded, buffer);
            }
            Some(inner) => {
                let n = layout.chunk / inner;
                let old = (!full).then(|| {
                    let shard = Shard::open(path.clone(), n);
                    (std::fs::read(&path).expect("the old shard"), shard)
                });
                let mut value: Vec<u8> = Vec::with_capacity(layout.chunk.pow(3) * 2);
                let mut index = Vec::with_capacity(n * n * n * 16 + 4);
                let mut buffer = vec![0u16; inner.pow(3)];
                for at in boxes(&[[0, layout.chunk]; 3], inner) {
                    let from = value.len();
                    let touched = (0..3)
                        .all(|a| at[a] * inner < chunk[a][1] && (at[a] + 1) * inner > chunk[a][0]);
                    let encoded_old = old.as_ref().map(|(bytes, shard)| {
                        let (from, len) = shard.entry(at);
                        &bytes[from..from + len]
                    });
                    if touched {
                        let (part, offset) = overlap(chunk, inner, at);
                        if crate::shape(&part) != [inner; 3]
                            && let Some(bytes) = encoded_old
                        {
                            layout.decode(bytes, copy::bytes_mut(&mut buffer), &mut scratch.zstd);
                        }
                        let place = [
                            start[0] + offset[0],
                            start[1] + offset[1],
                            start[2] + offset[2],
                        ];
                        copy::gather(data, shape, place, &part, &mut buffer, inner);
                        let mut encoded = std::mem::take(&mut scratch.file);
                        let n = layout.encode(&buffer, &mut encoded, scratch);
                        value.extend_from_slice(&encoded[..n]);
                        scratch.file = encoded;
                    } else if let Some(bytes) = encoded_old {
                        value.extend_from_slice(bytes);
                    }
                    index.extend_from_slice(&(from as u64).to_le_bytes());
                    index.extend_from_slice(&((value.len() - from) as u64).to_le_bytes());
                }
                index.extend_from_slice(&crc32c::crc32c(&index).to_le_bytes());
                publish(&path, &[&value, &index], request.durability);
            }
        }
    });
}

/// Atomic replacement, as in every engine that supports it.
fn publish(path: &Path, parts: &[&[u8]], durability: Durability) {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    let make = || File::create(&temporary);
    let file = make().or_else(|_| {
        std::fs::create_dir_all(path.parent().expect("a folder"))?;
        make()
    });
    let file = file.expect("a temporary");
    let mut at = 0;
    for part in parts {
        file.write_all_at(part, at).expect("space on the disk");
        at += part.len() as u64;
    }
    if durability == Durability::Full {
        file.sync_all().expect("a sync");
    }
    std::fs::rename(&temporary, path).expect("a rename");
    if durability == Durability::Full {
        File::open(path.parent().expect("a folder"))
            .and_then(|folder| folder.sync_all())
            .expect("a sync");
    }
}
