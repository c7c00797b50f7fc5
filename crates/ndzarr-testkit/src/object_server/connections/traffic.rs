//! The requests that a server got, their counts, and how it is to answer them.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::object_server::connections::faults::{Fault, FaultRule};
use crate::object_server::connections::request::Request;

/// The most requests that are remembered; older ones are forgotten.
const MAX_REMEMBERED: usize = 65_536;

/// A request that a server got.
#[derive(Clone, Debug)]
pub struct Met {
    /// Its head.
    pub request: Request,
    /// The length of its body, in bytes.
    pub body_len: usize,
    /// The fault that was injected.
    pub fault: Option<Fault>,
    /// The status of the answer, before a fault changed it.
    pub status: Option<u16>,
}

/// Counts since the start, or since [`ObjectServer::forget`](crate::ObjectServer::forget).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Requests.
    pub requests: u64,
    /// Connections that were opened.
    pub connections: u64,
    /// Most requests at once.
    pub most_in_flight: usize,
    /// Bytes of all answers.
    pub bytes_sent: u64,
    /// Faults that were injected.
    pub faults: u64,
}

/// The state that the connections of a server share, apart from its objects.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    traffic: Traffic,
    requests: VecDeque<Met>,
    /// The number of the first of `requests`.
    first: u64,
    in_flight: usize,
    rules: Vec<FaultRule>,
    latency: Duration,
    held: bool,
    /// The number of requests that wait because of `held`.
    n_held: usize,
    ended: Arc<AtomicBool>,
    streams: Vec<(u64, TcpStream)>,
    n_streams: u64,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a connection; `None` once the server has ended.
    pub(crate) fn connect(&self, stream: &TcpStream) -> Option<u64> {
        let mut state = self.lock();
        if state.ended.load(Ordering::Relaxed) {
            return None;
        }
        state.traffic.connections += 1;
        state.n_streams += 1;
        let id = state.n_streams;
        state.streams.push((id, stream.try_clone().ok()?));
        Some(id)
    }

    pub(crate) fn disconnect(&self, id: u64) {
        self.lock().streams.retain(|(other, _)| *other != id);
    }

    /// Ends all connections.
    pub(crate) fn end(&self) {
        let state = self.lock();
        state.ended.store(true, Ordering::Relaxed);
        for (_, stream) in &state.streams {
            // This fails for a connection that the client has closed meanwhile.
            let _ = stream.shutdown(Shutdown::Both);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// The flag that is set when the server has ended.
    pub(crate) fn ended(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.lock().ended)
    }

    /// Counts a request, and chooses its fault. It is in flight until what is returned is dropped:
    /// before the client has the whole answer, after which it may send the next one.
    pub(crate) fn begin(&self, request: &Request, body_len: usize) -> InFlight<'_> {
        let mut state = self.lock();
        let fault = state
            .rules
            .iter_mut()
            .find_map(|rule| rule.fault_for(request));
        state.traffic.requests += 1;
        state.traffic.faults += u64::from(fault.is_some());
        state.in_flight += 1;
        state.traffic.most_in_flight = state.traffic.most_in_flight.max(state.in_flight);
        if state.requests.len() == MAX_REMEMBERED {
            state.requests.pop_front();
            state.first += 1;
        }
        let number = state.first + state.requests.len() as u64;
        let met = Met {
            request: request.clone(),
            body_len,
            fault: fault.clone(),
            status: None,
        };
        state.requests.push_back(met);
        self.changed.notify_all();
        InFlight {
            shared: self,
            number,
            fault,
        }
    }

    /// Waits for the latency and while requests are held. Returns `false` once the server has
    /// ended.
    pub(crate) fn delay(&self) -> bool {
        let latency = self.lock().latency;
        if !latency.is_zero() && !self.sleep(latency) {
            return false;
        }
        let mut state = self.lock();
        state.n_held += 1;
        self.changed.notify_all();
        let state = self.changed.wait_while(state, |state| {
            state.held && !state.ended.load(Ordering::Relaxed)
        });
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.n_held -= 1;
        !state.ended.load(Ordering::Relaxed)
    }

    /// Sleeps, but not past the end of the server. Returns `false` once it has ended.
    pub(crate) fn sleep(&self, time: Duration) -> bool {
        let state = self.changed.wait_timeout_while(self.lock(), time, |state| {
            !state.ended.load(Ordering::Relaxed)
        });
        !state
            .unwrap_or_else(PoisonError::into_inner)
            .0
            .ended
            .load(Ordering::Relaxed)
    }

    pub(crate) fn sent(&self, byte_len: usize) {
        self.lock().traffic.bytes_sent += byte_len as u64;
    }

    pub(crate) fn traffic(&self) -> Traffic {
        self.lock().traffic
    }

    pub(crate) fn requests(&self) -> Vec<Met> {
        self.lock().requests.iter().cloned().collect()
    }

    pub(crate) fn forget(&self) {
        let mut state = self.lock();
        let in_flight = state.in_flight;
        state.traffic = Traffic {
            most_in_flight: in_flight,
            ..Traffic::default()
        };
        state.first += state.requests.len() as u64;
        state.requests.clear();
    }

    pub(crate) fn set_rules(&self, rules: Vec<FaultRule>) {
        self.lock().rules = rules;
    }

    pub(crate) fn set_latency(&self, latency: Duration) {
        self.lock().latency = latency;
    }

    pub(crate) fn hold(&self, held: bool) {
        self.lock().held = held;
        self.changed.notify_all();
    }

    pub(crate) fn wait_held(&self, n: usize) {
        drop(self.changed.wait_while(self.lock(), |state| {
            state.n_held < n && !state.ended.load(Ordering::Relaxed)
        }));
    }
}

/// A request without an answer.
pub(crate) struct InFlight<'s> {
    shared: &'s Shared,
    number: u64,
    pub(crate) fault: Option<Fault>,
}

impl InFlight<'_> {
    pub(crate) fn answered(&self, status: u16) {
        let mut state = self.shared.lock();
        let at = self
            .number
            .checked_sub(state.first)
            .and_then(|at| usize::try_from(at).ok());
        if let Some(met) = at.and_then(|at| state.requests.get_mut(at)) {
            met.status = Some(status);
        }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.shared.lock().in_flight -= 1;
        self.shared.changed.notify_all();
    }
}
