//! Reads a file with damage, and judges the result.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use ndzarr::{Any, AnyArray, Error, ErrorKind, MemoryStore, OpenOptions};
use ndzarr_tests::Kind;

use super::checksums::Cover;
use super::damage::Damage;
use super::intact_prefixes;
use super::select::{Role, Target, has_shards};
use crate::with_peak;

/// A read of such small files takes milliseconds. One that takes this long hangs, however busy the
/// machine is.
const PATIENCE: Duration = Duration::from_secs(600);

/// If the damaged document states a larger array, only its beginning is read.
const READ_ALL: u64 = 1 << 20;

/// A file that is damaged repeatedly, and the store around it.
pub(crate) struct Probe<'t> {
    target: &'t Target,
    memory: MemoryStore,
    intact: Vec<u8>,
    /// Opened once, if nothing of a damaged value is cached.
    array: Option<AnyArray>,
    /// The undamaged elements.
    expected: Option<Vec<u8>>,
    options: OpenOptions,
    /// Additional memory of decoders in bytes, independent of the size of a chunk.
    working_memory: u64,
    /// Ends the process if nothing is sent for too long.
    alive: Sender<String>,
}

/// The result of a read.
struct Outcome {
    read: Result<Option<Vec<u8>>, Error>,
    /// Bytes of a chunk and of the result, as declared by the document.
    declared: u64,
    /// Peak memory in bytes.
    peak: usize,
}

impl<'t> Probe<'t> {
    pub(crate) fn new(target: &'t Target) -> Self {
        let memory = target.case.memory().expect("the stored files can be read");
        let intact = memory.get(&target.key).expect("the file exists").to_vec();
        let options = OpenOptions::new().format(target.case_format());
        let mut probe = Self {
            target,
            memory,
            intact,
            array: None,
            expected: None,
            options,
            working_memory: working_memory(target),
            alive: watch(),
        };
        if target.role == Role::Chunk && !has_shards(&target.chain) {
            probe.array = Some(probe.open_array().expect("the case is opened undamaged"));
        }
        probe.expected = probe.read().read.expect("the case is read undamaged");
        probe
    }

    pub(crate) fn len(&self) -> usize {
        self.intact.len()
    }

    pub(crate) fn check(&self, damage: Damage) -> Result<(), String> {
        let _ = self.alive.send(format!("{}: {damage}", self.target));
        self.memory
            .set(&self.target.key, damage.apply(&self.intact))
            .expect("the key is one");
        let Outcome {
            read,
            declared,
            peak,
        } = catch_unwind(AssertUnwindSafe(|| self.read())).map_err(|_| "it panics".to_owned())?;
        let allowed = declared
            .saturating_add(self.intact.len() as u64)
            .saturating_mul(4)
            .saturating_add(self.working_memory);
        if peak as u64 > allowed {
            return Err(format!(
                "{peak} bytes of memory were in use where {allowed} are allowed"
            ));
        }
        match read {
            Ok(read) => self.check_values(damage, read.as_deref()),
            Err(error) => self.check_error(&error),
        }
    }

    fn check_values(&self, damage: Damage, read: Option<&[u8]>) -> Result<(), String> {
        let same = read == self.expected.as_deref();
        match (self.target.role, damage) {
            (Role::Chunk, Damage::Prefix(len)) if !same => Err(format!(
                "{len} bytes of a chunk of {} are read as other values",
                self.intact.len()
            )),
            (Role::Chunk, Damage::Prefix(len)) if !intact_prefixes::allows(self.target, len) => {
                Err(format!(
                    "{len} bytes of a chunk of {} are read as a whole one",
                    self.intact.len()
                ))
            }
            (Role::Chunk, Damage::Flip { byte, .. }) => {
                match self.target.stored().cover(&self.intact, byte) {
                    Cover::Byte if same => {
                        Err("a checksum covers the bit, but it is no error".to_owned())
                    }
                    Cover::Byte | Cover::Values if !same => {
                        Err("a checksum covers the values, but others are read".to_owned())
                    }
                    _ => Ok(()),
                }
            }
            (Role::Document, Damage::Prefix(len))
                if self.intact[len..]
                    .iter()
                    .any(|byte| !byte.is_ascii_whitespace()) =>
            {
                Err("the beginning of a document is read as a whole one".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn check_error(&self, error: &Error) -> Result<(), String> {
        let allowed = match self.target.role {
            Role::Chunk => {
                // A flipped bit can state more than 32 bits address.
                let beyond =
                    cfg!(target_pointer_width = "32") && error.kind() == ErrorKind::OutOfMemory;
                error.chunk().is_some()
                    && (beyond
                        || matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported))
            }
            Role::Document | Role::Attributes => !matches!(
                error.kind(),
                ErrorKind::Store | ErrorKind::Denied | ErrorKind::Unavailable
            ),
        };
        if allowed {
            Ok(())
        } else {
            Err(format!("this is no error about the file: {error:?}"))
        }
    }

    fn read(&self) -> Outcome {
        let mut declared = 0;
        let (read, peak) = with_peak(|| match (&self.array, self.target.case.kind) {
            (Some(array), _) => {
                declared = declared_bytes(array);
                array.read_bytes(&self.target.region).map(Some)
            }
            (None, Kind::Array) => self.open_array().and_then(|array| {
                declared = declared_bytes(&array);
                let region = match self.target.role {
                    Role::Chunk => self.target.region.clone(),
                    Role::Document | Role::Attributes => beginning(&array),
                };
                array.read_bytes(&region).map(Some)
            }),
            (None, _) => self
                .options
                .open_group((&self.memory, &self.target.case.node))
                .and_then(|group| group.children().map(|_| None)),
        });
        Outcome {
            read,
            declared,
            peak,
        }
    }

    fn open_array(&self) -> Result<AnyArray, Error> {
        self.options
            .open_array::<Any>((&self.memory, &self.target.case.node))
    }
}

/// Allowed memory in bytes besides what depends on the size of a chunk. A decoder of bzip2 needs
/// four times one block of the size that its stream states, 900 kB at most; the others counted here
/// need less than 1 MiB.
fn working_memory(target: &Target) -> u64 {
    let n_decoders = thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let of_bzip2 = if target.case_has_bzip2 {
        3_700_000 * n_decoders
    } else {
        0
    };
    (1 << 20) + of_bzip2
}

/// The whole array, unless it is large.
fn beginning(array: &AnyArray) -> Vec<Range<u64>> {
    let is_small = byte_len(array, array.shape()) <= READ_ALL;
    array
        .shape()
        .iter()
        .map(|&n| 0..if is_small { n } else { n.min(2) })
        .collect()
}

/// Bytes of a chunk and of the largest result.
fn declared_bytes(array: &AnyArray) -> u64 {
    let read = byte_len(array, array.shape()).min(READ_ALL);
    byte_len(array, &array.spec().unit_shape).saturating_add(read)
}

fn byte_len(array: &AnyArray, shape: &[u64]) -> u64 {
    let elem_size = array.data_type().elem_size().unwrap_or(1) as u64;
    shape
        .iter()
        .fold(elem_size, |len, &n| len.saturating_mul(n))
}

/// Starts a thread that ends the process if it receives nothing for too long.
#[expect(clippy::print_stderr, reason = "the process ends")]
fn watch() -> Sender<String> {
    let (alive, heard) = channel();
    thread::spawn(move || {
        let mut last = String::new();
        loop {
            match heard.recv_timeout(PATIENCE) {
                Ok(now) => last = now,
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    eprintln!("it hangs: {last}");
                    std::process::exit(101);
                }
            }
        }
    });
    alive
}
