//! What can go wrong, and when.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::object_server::connections::answer::Answer;
use crate::object_server::connections::request::Request;
use crate::random::Random;

/// Something that a server, or the network before it, does wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The service's error of this status, such as 503, 500, 429, 409 or 403; nothing is done.
    Status(u16),
    /// The service's error of this status, with a `Retry-After`; nothing is done.
    RetryAfter {
        /// Usually 503 or 429.
        status: u16,
        /// The time in the header.
        seconds: u32,
    },
    /// The connection is reset; nothing is done.
    Reset,
    /// The request is carried out; then the connection is reset.
    Lost,
    /// The request is carried out, and answered with 500.
    Lost500,
    /// No answer until the client closes the connection; nothing is done.
    Hang,
    /// Half the body, then a reset.
    Truncate,
    /// Half the body, then a clean end.
    TruncateFin,
    /// Half the body, then nothing until the client closes the connection.
    Stall,
    /// A byte is missing at the end of the body, and its length is stated accordingly.
    Short,
    /// A length of this many bytes more than follow.
    Long(u64),
    /// A flipped bit in the middle of the body.
    Corrupt,
    /// The body in pieces of 1,024 bytes, each after this pause.
    Slow(Duration),
    /// `Range` is ignored: all of the value, with status 200.
    NoRange,
    /// A range is said to begin one byte later than the requested one.
    WrongRange,
    /// Conditions are ignored.
    NoConditions,
    /// Neither `ETag` nor `Last-Modified`.
    NoEtag,
    /// A weak `ETag`.
    WeakEtag,
    /// 403 instead of 404, as for those who may not list.
    DeniedIfMissing,
    /// A redirect to the same address.
    RedirectCircle,
    /// A redirect to the same path and query below another address.
    RedirectTo(String),
    /// A body that never ends.
    EndlessBody,
    /// A header of this many bytes.
    HugeHeader(usize),
    /// Headers that never end.
    EndlessHeaders,
    /// `start-after` is ignored: lists begin at their beginning.
    NoStartAfter,
    /// A page of a list that is empty and promises another one.
    EndlessList,
    /// A body of 8 MiB, marked as gzip, that inflates to 1.3 GB.
    GzipBomb,
    /// The first key of an erasure of several is refused with this code, inside an answer whose
    /// status is that of success.
    RefusedInside(&'static str),
    /// 416 does not state the size of the value, as from lighttpd.
    NoSize,
    /// Instead of 416 a part that ends before it begins, as from caddy and azurite.
    NonsenseRange,
    /// All of an empty value instead of 416, as from moto and nginx.
    WholeIfEmpty,
}

/// A fault that the code of the service must know of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Twist {
    EndlessList,
    RefusedInside(&'static str),
}

impl Fault {
    /// Changes a request before it is carried out.
    pub(crate) fn change(&self, request: &mut Request) {
        match self {
            Self::NoRange => request.drop_headers(&["range", "x-ms-range"]),
            Self::NoStartAfter => request.drop_parameter("start-after"),
            Self::NoConditions => request.drop_headers(&[
                "if-match",
                "if-none-match",
                "if-modified-since",
                "if-unmodified-since",
                "x-goog-if-generation-match",
            ]),
            _ => {}
        }
    }

    pub(crate) fn twist(&self) -> Option<Twist> {
        match self {
            Self::EndlessList => Some(Twist::EndlessList),
            Self::RefusedInside(code) => Some(Twist::RefusedInside(code)),
            _ => None,
        }
    }

    /// The answer to a range outside of a value, which the service answers with `refusal`. `whole`
    /// answers the request without its range.
    pub(crate) fn outside(&self, refusal: Answer, whole: impl FnOnce() -> Answer) -> Answer {
        match self {
            Self::NoSize => {
                let mut refusal = refusal.with_body("");
                refusal.drop_headers(&["Content-Range"]);
                refusal
            }
            Self::NonsenseRange => {
                let mut part = whole();
                let size = part.body.len();
                part.status = 206;
                // Of an empty value: `0--1/0`.
                let last = size
                    .checked_sub(1)
                    .map_or("-1".to_owned(), |last| last.to_string());
                part.with("Content-Range", format!("bytes {size}-{last}/{size}"))
                    .with_body("")
            }
            Self::WholeIfEmpty => {
                let whole = whole();
                if whole.body.is_empty() {
                    whole
                } else {
                    refusal
                }
            }
            _ => refusal,
        }
    }
}

/// A rule by which a fault occurs.
///
/// ```
/// use ndzarr_testkit::object_server::{Fault, FaultRule};
///
/// // The 2nd, 4th and 6th PUT is carried out, and answered with 500.
/// let rule = FaultRule::every(2, Fault::Lost500).of(&["PUT"]).times(3);
/// # let _ = rule;
/// ```
#[derive(Clone)]
pub struct FaultRule {
    /// The faults of which one is chosen.
    faults: Vec<Fault>,
    every: u64,
    /// Chooses each request with the probability 1 / `every`. Otherwise each `every`th request is
    /// chosen.
    random: Option<Random>,
    methods: &'static [&'static str],
    only_if: Option<Arc<Condition>>,
    times: u64,
    /// The number of requests that matched.
    n_matched: u64,
}

type Condition = dyn Fn(&Request) -> bool + Send + Sync;

impl FaultRule {
    /// The fault at each `n`th request, counted from when the rule is set.
    pub fn every(n: u64, fault: Fault) -> Self {
        Self {
            faults: vec![fault],
            every: n.max(1),
            random: None,
            methods: &[],
            only_if: None,
            times: u64::MAX,
            n_matched: 0,
        }
    }

    /// One of these faults, at about each `n`th request, the same ones for each `seed`.
    pub fn at_random(seed: &str, n: u64, faults: impl Into<Vec<Fault>>) -> Self {
        let faults = faults.into();
        assert!(!faults.is_empty(), "there is a fault to choose");
        Self {
            faults,
            random: Some(Random::seeded(seed)),
            ..Self::every(n, Fault::Reset)
        }
    }

    /// The fault at all requests.
    pub fn always(fault: Fault) -> Self {
        Self::every(1, fault)
    }

    /// Applies only to requests of these methods.
    #[must_use]
    pub fn of(mut self, methods: &'static [&'static str]) -> Self {
        self.methods = methods;
        self
    }

    /// Applies only to requests for which this holds.
    #[must_use]
    pub fn only_if(mut self, holds: impl Fn(&Request) -> bool + Send + Sync + 'static) -> Self {
        self.only_if = Some(Arc::new(holds));
        self
    }

    /// Stops after this many faults.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = times;
        self
    }

    /// Counts a request. Returns the fault that is due.
    pub(crate) fn fault_for(&mut self, request: &Request) -> Option<Fault> {
        let matches = (self.methods.is_empty() || self.methods.contains(&request.method.as_str()))
            && self.only_if.as_ref().is_none_or(|holds| holds(request));
        if !matches || self.times == 0 {
            return None;
        }
        self.n_matched += 1;
        let (is_due, index) = match &mut self.random {
            Some(random) => (
                random.below(self.every) == 0,
                random.below(self.faults.len() as u64),
            ),
            None => (self.n_matched.is_multiple_of(self.every), 0),
        };
        if !is_due {
            return None;
        }
        self.times -= 1;
        self.faults.get(usize::try_from(index).ok()?).cloned()
    }
}

impl fmt::Debug for FaultRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultRule")
            .field("faults", &self.faults)
            .field("every", &self.every)
            .field("methods", &self.methods)
            .finish_non_exhaustive()
    }
}
