//! What an engine is told, what it measures, and what it answers.
//!
//! An engine is a program for one turn: `engine request.json`. It does the operation of the request once, with the clock
//! around opening, allocating and doing, and prints one line of JSON.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};

/// What to do.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Read `region` of the array at `path` into one new C-order array.
    Read,
    /// Open the array at `path`, whose document is there and which has no chunk, and write `data` to all of it.
    Write,
    /// Write `data` to `region` of the array at `path`.
    Update,
    /// Read each of `chunks`, inner chunks where there are shards, by a call of its own.
    Chunks,
    /// Read all of `chunks` by one call.
    ChunksBatch,
    /// Open the group at `path`, list its groups, and open every array in each.
    List,
    /// As `List`, from consolidated metadata.
    ListConsolidated,
    /// Read `region` with 16 threads that each read a part of it, at the same time, of one opened array.
    Callers,
    /// Open the array at `path`, and nothing else.
    Open,
}

/// Whether what was written has reached the disk when the clock stops.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// It need not have.
    #[default]
    None,
    /// File and folder have.
    Full,
}

/// How writers of one file take turns, where a library has a choice.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Locking {
    /// As the file system says.
    #[default]
    Auto,
    /// As on one that several hosts share.
    Portable,
}

/// One turn.
#[derive(Clone, Debug, Deserialize)]
pub struct Request {
    /// What to do.
    pub operation: Operation,
    /// Folder of the array or group.
    pub path: PathBuf,
    /// Shape of the array, of uint16 elements.
    #[serde(default)]
    pub shape: Vec<u64>,
    /// From and to along each axis.
    #[serde(default)]
    pub region: Vec<[u64; 2]>,
    /// Indices of chunks.
    #[serde(default)]
    pub chunks: Vec<Vec<u64>>,
    /// File of native elements in C order, as many as are written.
    #[serde(default)]
    pub data: PathBuf,
    /// As it says.
    #[serde(default)]
    pub durability: Durability,
    /// As it says.
    #[serde(default)]
    pub locking: Locking,
    /// How many threads may be used.
    pub threads: usize,
    /// Whether the axes of an N5 array are shown last first.
    #[serde(default)]
    pub reversed_axes: bool,
    /// How the array is stored, for the engine that has no library.
    #[serde(default)]
    pub layout: serde_json::Value,
}

impl Request {
    /// The one that the command line names.
    ///
    /// # Panics
    /// Without such a file.
    #[must_use]
    pub fn from_arguments() -> Self {
        let path = std::env::args_os().nth(1).expect("usage: engine request.json");
        let text = fs::read(&path).expect("the request is readable");
        serde_json::from_slice(&text).expect("the request is as the protocol has it")
    }

    /// The elements to write.
    ///
    /// # Panics
    /// Without them.
    #[must_use]
    pub fn elements(&self) -> Vec<u16> {
        let bytes = fs::read(&self.data).expect("the data are readable");
        let mut elements = Vec::with_capacity(bytes.len() / 2);
        advise_huge_pages(&mut elements);
        elements.extend(bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])));
        elements
    }

    /// Length of the region along each axis.
    #[must_use]
    pub fn region_shape(&self) -> Vec<usize> {
        self.region.iter().map(|[from, to]| (to - from) as usize).collect()
    }
}

/// Asks for huge pages, as NumPy does for every large array: what an engine writes lies in memory as its peers' data do.
fn advise_huge_pages(memory: &mut Vec<u16>) {
    const PAGE: usize = 4096;
    let range = memory.spare_capacity_mut().as_mut_ptr_range();
    let begin = range.start.addr().next_multiple_of(PAGE);
    let len = range.end.addr().saturating_sub(begin) / PAGE * PAGE;
    // SAFETY: the pages are the vector's own, and what is in them stays as it is. A refusal changes nothing.
    unsafe { libc::madvise(range.start.with_addr(begin).cast(), len, libc::MADV_HUGEPAGE) };
}

/// What was measured between start and stop.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Time by the clock.
    pub wall_ns: u64,
    /// User and system time of this process.
    pub cpu_ns: u64,
    /// Most resident memory beyond that at the start.
    pub peak_bytes: u64,
    /// Pages that were mapped at their first touch.
    pub page_faults: u64,
    /// What other processes used of the processors, as far as ticks of the clock show it; steal included.
    pub other_cpu_ns: u64,
    /// How long threads of this process were ready and had no processor.
    pub waited_ns: u64,
    /// CRC-32 of the result, in C order and little endian; of what was written: none.
    pub checksum: Option<u32>,
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

/// To be called by a thread of the engine's own before it ends.
pub fn thread_ends() {
    WAITED.fetch_add(waited("/proc/thread-self/schedstat"), Ordering::Relaxed);
}

impl Measure {
    /// Starts the clock.
    #[must_use]
    pub fn start() -> Self {
        // From here on the kernel counts the peak anew.
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
        }
    }
}

impl Report {
    /// Prints it with the checksum of elements.
    pub fn print_for(mut self, elements: impl IntoIterator<Item = impl AsRef<[u16]>>) {
        let mut hasher = crc32fast::Hasher::new();
        for run in elements {
            // SAFETY: any u16 is two bytes that may be read; the machine is little endian.
            let bytes = unsafe { std::slice::from_raw_parts(run.as_ref().as_ptr().cast(), run.as_ref().len() * 2) };
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
        println!("{}", serde_json::to_string(&self).expect("a report is JSON"));
    }
}

fn usage() -> Usage {
    // SAFETY: a zeroed rusage is one, and the call fills it.
    let usage = unsafe {
        let mut usage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    Usage { cpu_ns: ns(usage.ru_utime) + ns(usage.ru_stime), faults: usage.ru_minflt as u64 }
}

fn status(field: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Time of all processors that was neither idle nor waiting for a disk.
fn busy_ns() -> u64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks: Vec<u64> = (text.lines().next().unwrap_or_default().split_whitespace().skip(1))
        .filter_map(|field| field.parse().ok())
        .collect();
    let busy: u64 = ticks.iter().take(8).enumerate().filter(|(i, _)| ![3, 4].contains(i)).map(|(_, n)| n).sum();
    busy * 10_000_000
}

fn all_waited() -> u64 {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let alive: u64 = tasks.map(|task| waited(&task.path().join("schedstat").to_string_lossy())).sum();
    alive + WAITED.load(Ordering::Relaxed)
}

fn waited(schedstat: &str) -> u64 {
    let text = fs::read_to_string(schedstat).unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|field| field.parse().ok()).unwrap_or(0)
}
