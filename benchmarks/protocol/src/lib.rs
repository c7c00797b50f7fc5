//! The request to an engine, its measurements and its answer.
//!
//! An engine is a program for one turn: `engine request.json`. It does the operation of the request
//! once, with the clock running from opening and allocating to the end, and prints one line of
//! JSON.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};

/// The operation.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Read `region` of the array at `path` into one new C-order array.
    Read,
    /// Read `region` of the array at `path` into one new array, in the order of its chunks.
    ReadStored,
    /// Read `region` of the array at `path` into an existing array of order C, zeroed while the
    /// clock runs.
    ReadInto,
    /// Read `region` into an existing array of order F, zeroed while the clock runs.
    ReadIntoF,
    /// Open the array at `path`, which has a document and no chunks, and write `data` to all of it.
    Write,
    /// Write `data` to `region` of the array at `path`.
    Update,
    /// Empty the array at `path` along its first axis, which is not measured. Then append `data`,
    /// an index of that axis at a time, each of which readers can see before the next comes.
    Append,
    /// Append as `Append` does, but readers may see frames later, where that costs less.
    AppendIfDue,
    /// Copy the array at `source` into a new one at `path`, in chunks of `to_chunks` and shards of
    /// `to_shards`, if there are, encoded in the same way, within `memory` bytes.
    Copy,
    /// Read each of `chunks`, inner chunks in a sharded array, in a separate call.
    Chunks,
    /// Read all of `chunks` in one call.
    ChunksBatch,
    /// Read the elements whose coordinates `chunks` lists, in one call.
    Points,
    /// Read the rows along the last axis at the indices that `chunks` lists for each other axis.
    Outer,
    /// Read the elements that `masked` selects.
    Mask,
    /// Read the planes of `region` across the first axis, each in a separate call, with a cache of
    /// a gibibyte for decoded chunks.
    Planes,
    /// Open the group at `path`, list its groups, and open every array in each.
    List,
    /// List as `List` does, from consolidated metadata.
    ListConsolidated,
    /// Read `region` with 16 threads that each read a part of it concurrently, from one opened
    /// array.
    Callers,
    /// Only open the array at `path`.
    Open,
}

/// What must have reached the disk when the clock stops.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// Nothing.
    #[default]
    None,
    /// File and folder.
    Full,
}

/// How writers of one file are serialized, in libraries that offer a choice.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Locking {
    /// As suits the file system.
    #[default]
    Auto,
    /// As for a file system shared by several hosts.
    Portable,
}

/// True if a mask selects the element with this number, in C order: about one in a hundred.
#[must_use]
pub fn masked(number: u64) -> bool {
    (number.wrapping_mul(2_654_435_761) & 0xffff_ffff) % 100 == 0
}

/// One turn.
#[derive(Clone, Debug, Deserialize)]
pub struct Request {
    /// The operation.
    pub operation: Operation,
    /// Folder of the array or group.
    pub path: PathBuf,
    /// Folder of the array that is copied.
    #[serde(default)]
    pub source: PathBuf,
    /// Shape of the chunks of a copy, of inner chunks with shards.
    #[serde(default)]
    pub to_chunks: Vec<u64>,
    /// Shape of the shards of a copy.
    #[serde(default)]
    pub to_shards: Vec<u64>,
    /// How many bytes elements may take in memory.
    #[serde(default)]
    pub memory: u64,
    /// Shape of the array, of uint16 elements.
    #[serde(default)]
    pub shape: Vec<u64>,
    /// Start and end along each axis.
    #[serde(default)]
    pub region: Vec<[u64; 2]>,
    /// Indices of chunks, or of elements.
    #[serde(default)]
    pub chunks: Vec<Vec<u64>>,
    /// File of native elements in C order, as many as are written.
    #[serde(default)]
    pub data: PathBuf,
    /// See its type.
    #[serde(default)]
    pub durability: Durability,
    /// See its type.
    #[serde(default)]
    pub locking: Locking,
    /// Maximum number of threads.
    pub threads: usize,
    /// True if the axes of an N5 array are shown in reverse order.
    #[serde(default)]
    pub reversed_axes: bool,
    /// Storage layout of the array, for the engine that uses no library.
    #[serde(default)]
    pub layout: serde_json::Value,
}

impl Request {
    /// The request that the command line names.
    ///
    /// # Panics
    /// The file does not exist or is invalid.
    #[must_use]
    pub fn from_arguments() -> Self {
        let path = std::env::args_os()
            .nth(1)
            .expect("usage: engine request.json");
        let text = fs::read(&path).expect("the request is readable");
        serde_json::from_slice(&text).expect("the request is as the protocol has it")
    }

    /// The elements to write.
    ///
    /// # Panics
    /// The request has none, or the file cannot be read.
    #[must_use]
    pub fn elements(&self) -> Vec<u16> {
        let bytes = fs::read(&self.data).expect("the data are readable");
        let mut elements = Vec::with_capacity(bytes.len() / 2);
        advise_huge_pages(&mut elements);
        elements.extend(
            bytes
                .chunks_exact(2)
                .map(|pair| u16::from_le_bytes([pair[0], pair[1]])),
        );
        elements
    }

    /// Length of the region along each axis.
    #[must_use]
    pub fn region_shape(&self) -> Vec<usize> {
        self.region
            .iter()
            .map(|[from, to]| (to - from) as usize)
            .collect()
    }
}

/// Asks for huge pages, as NumPy does for every large array, so that an engine's data are in the
/// same kind of memory as its peers'.
fn advise_huge_pages(memory: &mut Vec<u16>) {
    const PAGE: usize = 4096;
    let range = memory.spare_capacity_mut().as_mut_ptr_range();
    let begin = range.start.addr().next_multiple_of(PAGE);
    let len = range.end.addr().saturating_sub(begin) / PAGE * PAGE;
    // SAFETY: the pages belong to the vector, and their content does not change. A refusal has no
    // effect.
    unsafe {
        libc::madvise(
            range.start.with_addr(begin).cast(),
            len,
            libc::MADV_HUGEPAGE,
        )
    };
}

/// The measurements between start and stop.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Wall-clock time.
    pub wall_ns: u64,
    /// User and system time of this process.
    pub cpu_ns: u64,
    /// Peak resident memory above that at the start.
    pub peak_bytes: u64,
    /// Pages mapped on first access.
    pub page_faults: u64,
    /// Processor time of other processes, to the precision of clock ticks; includes steal.
    pub other_cpu_ns: u64,
    /// How long threads of this process were ready to run without a processor.
    pub waited_ns: u64,
    /// CRC-32 of the result, in C order and little endian; `None` for writes.
    pub checksum: Option<u32>,
    /// Of an `Append`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<Frames>,
}

/// How long each frame took, from the call to when readers can see it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Frames {
    /// Half of the frames took no longer.
    pub p50_ns: u64,
    /// Of 100 frames, 99 took no longer.
    pub p99_ns: u64,
    /// The slowest.
    pub worst_ns: u64,
    /// Bytes that the process passed to write calls for each frame.
    pub written_bytes: u64,
}

/// Measures frames one by one.
#[derive(Debug)]
pub struct FrameTimes {
    written: u64,
    times: Vec<u64>,
}

impl FrameTimes {
    /// Starts before the first frame.
    #[must_use]
    pub fn start() -> Self {
        Self {
            written: written_bytes(),
            times: Vec::new(),
        }
    }

    /// Runs and times the call that appends a frame.
    pub fn frame<T>(&mut self, append: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = append();
        self.times.push(start.elapsed().as_nanos() as u64);
        done
    }

    /// Ends after the last frame.
    #[must_use]
    pub fn end(mut self) -> Frames {
        let written = written_bytes() - self.written;
        self.times.sort_unstable();
        let n = self.times.len().max(1);
        let at = |percent: usize| {
            self.times
                .get((n * percent).div_ceil(100).max(1) - 1)
                .copied()
                .unwrap_or(0)
        };
        Frames {
            p50_ns: at(50),
            p99_ns: at(99),
            worst_ns: at(100),
            written_bytes: written / n as u64,
        }
    }
}

/// The bytes that this process has passed to write calls so far.
fn written_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("wchar:"));
    line.and_then(|rest| rest.trim().parse().ok()).unwrap_or(0)
}

/// A running measurement.
#[derive(Debug)]
pub struct Measure {
    resident: u64,
    usage: Usage,
    busy_ns: u64,
    waited_ns: u64,
    start: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Usage {
    cpu_ns: u64,
    faults: u64,
}

/// Waiting time of threads that have ended.
static WAITED: AtomicU64 = AtomicU64::new(0);

/// Must be called by a thread of the engine before it ends.
pub fn thread_ends() {
    WAITED.fetch_add(waited("/proc/thread-self/schedstat"), Ordering::Relaxed);
}

impl Measure {
    /// Starts the clock.
    #[must_use]
    pub fn start() -> Self {
        // From here on the kernel measures the peak again.
        let _ = fs::write("/proc/self/clear_refs", "5");
        Self {
            resident: status("VmRSS:"),
            busy_ns: busy_ns(),
            waited_ns: all_waited(),
            usage: usage(),
            start: Instant::now(),
        }
    }

    /// Stops the clock.
    #[must_use]
    pub fn stop(self) -> Report {
        let wall_ns = self.start.elapsed().as_nanos() as u64;
        let usage = usage();
        let cpu_ns = usage.cpu_ns - self.usage.cpu_ns;
        Report {
            wall_ns,
            cpu_ns,
            peak_bytes: status("VmHWM:").saturating_sub(self.resident),
            page_faults: usage.faults - self.usage.faults,
            other_cpu_ns: (busy_ns() - self.busy_ns).saturating_sub(cpu_ns),
            waited_ns: all_waited() - self.waited_ns,
            checksum: None,
            frames: None,
        }
    }
}

impl Report {
    /// Prints it with the checksum of elements.
    pub fn print_for(mut self, elements: impl IntoIterator<Item = impl AsRef<[u16]>>) {
        let mut hasher = crc32fast::Hasher::new();
        for run in elements {
            // SAFETY: any u16 is two readable bytes; the machine is little endian.
            let bytes = unsafe {
                std::slice::from_raw_parts(run.as_ref().as_ptr().cast(), run.as_ref().len() * 2)
            };
            hasher.update(bytes);
        }
        self.checksum = Some(hasher.finalize());
        self.print();
    }

    /// Prints it with the checksum of text.
    pub fn print_for_text(mut self, text: &str) {
        self.checksum = Some(crc32fast::hash(text.as_bytes()));
        self.print();
    }

    /// Prints it.
    pub fn print(self) {
        println!(
            "{}",
            serde_json::to_string(&self).expect("a report is JSON")
        );
    }
}

fn usage() -> Usage {
    // SAFETY: a zeroed rusage is valid, and the call fills it.
    let usage = unsafe {
        let mut usage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    Usage {
        cpu_ns: ns(usage.ru_utime) + ns(usage.ru_stime),
        faults: usage.ru_minflt as u64,
    }
}

fn status(field: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
        .unwrap_or(0)
        * 1024
}

/// Time of all processors that was neither idle nor spent waiting for a disk.
fn busy_ns() -> u64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks: Vec<u64> = (text
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(1))
    .filter_map(|field| field.parse().ok())
    .collect();
    let busy: u64 = ticks
        .iter()
        .take(8)
        .enumerate()
        .filter(|(i, _)| ![3, 4].contains(i))
        .map(|(_, n)| n)
        .sum();
    busy * 10_000_000
}

fn all_waited() -> u64 {
    let tasks = fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    let alive: u64 = tasks
        .map(|task| waited(&task.path().join("schedstat").to_string_lossy()))
        .sum();
    alive + WAITED.load(Ordering::Relaxed)
}

fn waited(schedstat: &str) -> u64 {
    let text = fs::read_to_string(schedstat).unwrap_or_default();
    text.split_whitespace()
        .nth(1)
        .and_then(|field| field.parse().ok())
        .unwrap_or(0)
}
