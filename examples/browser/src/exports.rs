//! The functions that the page calls.
//!
//! The page writes what it passes into memory that [`input`] makes, and finds results in memory
//! that [`output`] names. Then it alternates between [`next_request`], until there is none, and
//! [`answer`], until [`is_done`].
#![allow(
    unsafe_code,
    reason = "only for functions to have a name outside: none has an unsafe block"
)]

use std::cell::RefCell;
use std::task::Poll;

use bytes::Bytes;
use ndzarr::asynchronous::AnyArray;

use crate::array;
use crate::request::{self, Answer};
use crate::task::Task;

/// The result of a task: bytes for the page, and the array if it opened one.
type Done = Result<(Vec<u8>, Option<AnyArray>), String>;

#[derive(Default)]
struct Page {
    input: Vec<u8>,
    output: Vec<u8>,
    array: Option<AnyArray>,
    task: Option<Task<Done>>,
    failed: bool,
}

thread_local! {
    static PAGE: RefCell<Page> = RefCell::default();
}

impl Page {
    fn take_text(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.input)).into_owned()
    }

    fn run(&mut self) {
        let Some(Poll::Ready(done)) = self.task.as_mut().map(Task::run) else {
            return;
        };
        self.task = None;
        self.failed = done.is_err();
        self.output = match done {
            Ok((output, array)) => {
                self.array = array.or(self.array.take());
                output
            }
            Err(what) => what.into_bytes(),
        };
    }
}

/// Makes memory of this many bytes for the input of the next call.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn input(byte_len: usize) -> *mut u8 {
    PAGE.with_borrow_mut(|page| {
        page.input = vec![0; byte_len];
        page.input.as_mut_ptr()
    })
}

/// The address of the last result.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn output() -> *const u8 {
    PAGE.with_borrow(|page| page.output.as_ptr())
}

/// The length of the last result, in bytes.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn output_len() -> usize {
    PAGE.with_borrow(|page| page.output.len())
}

/// Begins to open the array whose place is in the input. A task that was begun before is dropped.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn open() {
    PAGE.with_borrow_mut(|page| {
        let place = page.take_text();
        page.task = Some(Task::new(async move {
            let array = array::open(place).await?;
            Ok((array::about(&array), Some(array)))
        }));
        page.run();
    });
}

/// Begins to read the region that is in the input. A task that was begun before is dropped.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn read() {
    PAGE.with_borrow_mut(|page| {
        let region = page.take_text();
        let array = page.array.clone();
        page.task = Some(Task::new(async move {
            let array = array.ok_or("no array is open")?;
            Ok((array::read(array, region).await?, None))
        }));
        page.run();
    });
}

/// Puts the next request that the page is to make into the output, as JSON; false if there is none.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn next_request() -> bool {
    let Some(request) = request::next() else {
        return false;
    };
    PAGE.with_borrow_mut(|page| page.output = request.to_string().into_bytes());
    true
}

/// Takes an answer from the input: `head_len` bytes of JSON, then the body.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn answer(id: u32, status: u16, head_len: usize) {
    PAGE.with_borrow_mut(|page| {
        let mut head = Bytes::from(std::mem::take(&mut page.input));
        let body = head.split_off(head_len.min(head.len()));
        let head = serde_json::from_slice(&head).unwrap_or_default();
        request::arrived(id, Answer { status, head, body });
        page.run();
    });
}

/// 0 while it runs; 1 if a result is in the output, 2 if an error.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn is_done() -> u32 {
    PAGE.with_borrow(|page| match (&page.task, page.failed) {
        (Some(_), _) => 0,
        (None, false) => 1,
        (None, true) => 2,
    })
}
