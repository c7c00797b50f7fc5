//! Requests that the page makes for a store: a future for each, until the page has answered.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use futures_channel::oneshot::{self, Sender};
use serde_json::{Value, json};

/// The answer of a server, or none.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The status of HTTP. 0 says that no answer came; the body then says why.
    pub(crate) status: u16,
    /// What header fields say, see `ndzarr.js`.
    pub(crate) head: Value,
    pub(crate) body: Bytes,
}

#[derive(Default)]
struct Requests {
    new: VecDeque<(Value, Sender<Answer>)>,
    sent: BTreeMap<u32, Sender<Answer>>,
    last: u32,
}

thread_local! {
    static REQUESTS: RefCell<Requests> = RefCell::default();
}

/// Makes a request and waits for its answer. Unlike futures of JavaScript, this one is `Send`, as a
/// store's have to be: what belongs to JavaScript stays on the page.
pub(crate) async fn answer_to(request: Value) -> Answer {
    let (sender, receiver) = oneshot::channel();
    REQUESTS.with_borrow_mut(|requests| requests.new.push_back((request, sender)));
    receiver.await.unwrap_or_else(|_| Answer {
        status: 0,
        head: Value::Null,
        body: Bytes::new(),
    })
}

/// The next request that the page is to make, with the member `id` for the answer.
pub(crate) fn next() -> Option<Value> {
    REQUESTS.with_borrow_mut(|requests| {
        loop {
            let (mut request, sender) = requests.new.pop_front()?;
            // The call that made the request was dropped.
            if sender.is_canceled() {
                continue;
            }
            requests.last = requests.last.wrapping_add(1);
            request["id"] = json!(requests.last);
            requests.sent.insert(requests.last, sender);
            return Some(request);
        }
    })
}

/// Hands over an answer. It is dropped if the call that made the request was.
pub(crate) fn arrived(id: u32, answer: Answer) {
    let sender = REQUESTS.with_borrow_mut(|requests| requests.sent.remove(&id));
    if let Some(sender) = sender {
        let _ = sender.send(answer);
    }
}
