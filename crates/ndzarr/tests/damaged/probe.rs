use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use ndzarr::{AnyArray, AnyNode, Error, ErrorKind, MemoryStore, OpenOptions};

use crate::damage::Damage;
use crate::select::{Role, Target};
use crate::{ALLOCATOR, checksums, intact_prefixes};

/// Longer than this no read of such small files takes: it hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Of an array whose damaged document says that it is larger, only its beginning is read.
const READ_ALL: u64 = 1 << 20;

/// A file that is damaged over and over, and the store around it.
pub(crate) struct Probe<'t> {
    target: &'t Target,
    memory: MemoryStore,
    intact: Vec<u8>,
    /// The elements of the array, undamaged.
    expected: Option<Vec<u8>>,
    options: OpenOptions,
    /// Ends the process if nothing is sent for too long.
    alive: Sender<String>,
}

/// What became of a read.
struct Outcome {
    read: Result<Option<Vec<u8>>, Error>,
    /// Bytes of a chunk and of what was read, as the document says.
    declared: u64,
    /// The most memory that was in use at a time, in bytes.
    peak: usize,
}

impl<'t> Probe<'t> {
    pub(crate) fn new(target: &'t Target) -> Self {
        let memory = target.case.memory().expect("the stored files can be read");
        let intact = memory.get(&target.key).expect("the file is there").to_vec();
        let options = OpenOptions { format: target.case_format(), ..OpenOptions::default() };
        let mut probe = Self { target, memory, intact, expected: None, options, alive: watch() };
        probe.expected = probe.read().read.expect("the case is read undamaged");
        probe
    }

    pub(crate) fn len(&self) -> usize {
        self.intact.len()
    }

    pub(crate) fn check(&self, damage: Damage) -> Result<(), String> {
        let _ = self.alive.send(format!("{}: {damage}", self.target));
        self.memory.set(&self.target.key, damage.apply(&self.intact)).expect("the key is one");
        let Outcome { read, declared, peak } =
            catch_unwind(AssertUnwindSafe(|| self.read())).map_err(|_| "it panics".to_owned())?;
        let allowed =
            declared.saturating_add(self.intact.len() as u64).saturating_mul(4).saturating_add(1 << 20);
        if peak as u64 > allowed {
            return Err(format!("{peak} bytes of memory were in use where {allowed} are allowed"));
        }
        match read {
            Ok(read) => self.check_values(damage, read.as_deref()),
            Err(error) => self.check_error(&error),
        }
    }

    fn check_values(&self, damage: Damage, read: Option<&[u8]>) -> Result<(), String> {
        let same = read == self.expected.as_deref();
        match (self.target.role, damage) {
            (Role::Chunk, Damage::Prefix(len)) if !same => {
                Err(format!("{len} bytes of a chunk of {} are read as other values", self.intact.len()))
            }
            (Role::Chunk, Damage::Prefix(len))
                if !intact_prefixes::allows(self.target, &self.intact, len) =>
            {
                Err(format!("{len} bytes of a chunk of {} are read as a whole one", self.intact.len()))
            }
            (Role::Chunk, Damage::Flip { byte, bit }) => {
                match checksums::covers(&self.target.chain, &self.intact, byte, bit) {
                    true if same => {
                        Err("the checksum does not show it, though the values are the same".to_owned())
                    }
                    true => Err("a checksum covers it, but other values are read".to_owned()),
                    false => Ok(()),
                }
            }
            (Role::Document, Damage::Prefix(len))
                if self.intact[len..].iter().any(|byte| !byte.is_ascii_whitespace()) =>
            {
                Err("the beginning of a document is read as a whole one".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn check_error(&self, error: &Error) -> Result<(), String> {
        let allowed = match self.target.role {
            Role::Chunk => {
                matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported) && error.chunk().is_some()
            }
            Role::Document | Role::Attributes => !matches!(error.kind(), ErrorKind::Store),
        };
        if allowed { Ok(()) } else { Err(format!("this is no error about the file: {error:?}")) }
    }

    /// Opens the node anew, so that nothing is known of it, and reads it.
    fn read(&self) -> Outcome {
        ALLOCATOR.reset_peak_usage();
        let before = ALLOCATOR.current_usage();
        let mut declared = 0;
        let read =
            AnyNode::open_in(&self.memory, &self.target.case.node, &self.options).and_then(
                |node| match node {
                    AnyNode::Array(array) => {
                        declared = declared_bytes(&array);
                        read_array(&array).map(Some)
                    }
                    AnyNode::Group(group) => group.members().map(|_| None),
                },
            );
        let peak = ALLOCATOR.peak_usage().saturating_sub(before);
        Outcome { read, declared, peak }
    }
}

fn read_array(array: &AnyArray) -> Result<Vec<u8>, Error> {
    let is_small = byte_len(array, array.shape()) <= READ_ALL;
    let region: Vec<_> = array.shape().iter().map(|&n| 0..if is_small { n } else { n.min(2) }).collect();
    array.read_bytes(&region)
}

fn declared_bytes(array: &AnyArray) -> u64 {
    let read = byte_len(array, array.shape()).min(READ_ALL);
    byte_len(array, &array.spec().chunk_shape).saturating_add(read)
}

fn byte_len(array: &AnyArray, shape: &[u64]) -> u64 {
    let elem_size = array.data_type().elem_size().unwrap_or(1) as u64;
    shape.iter().fold(elem_size, |len, &n| len.saturating_mul(n))
}

/// Starts a thread that ends the process when it hears nothing for too long.
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
