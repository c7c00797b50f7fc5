//! Writers in several processes, and readers, on a server of objects that does everything wrong
//! that servers and networks do, at random.

mod place;
mod reader;
mod tally;
mod writer;

use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use ndzarr_testkit::ObjectServer;
use ndzarr_testkit::object_server::{Fault, FaultRule, Request};

pub(crate) use place::Role;

use crate::common::process::Worker;
use crate::common::table::{Expect, Table};
use crate::common::torture::{Outcome, Torture};
use crate::failing::soak::place::{DIALECTS, Place, name_of};
use crate::failing::soak::tally::{Report, Tally};

/// Processes of each kind.
const WRITERS: usize = 3;
const READERS: usize = 2;
/// Calls that a worker makes before it reports.
const CALLS_PER_REPORT: usize = 10;

pub(crate) fn run(torture: &Torture, table: &mut Table) -> Outcome {
    for dialect in DIALECTS {
        let server = ObjectServer::start(dialect);
        let place = Place::new(dialect, &server.url());
        place.create(WRITERS)?;
        let time = torture.soak / DIALECTS.len() as u32;
        // Without faults first, to know how many requests a call needs.
        let mut tally = Tally::new(WRITERS);
        server.forget();
        work(&place, time / 5, torture.patience, &mut tally)?;
        let needed = server.traffic().requests;
        let calm = tally.calls();
        let calm_failures = tally.failed;
        server.forget();
        server.faults(everything());
        work(&place, time, torture.patience, &mut tally)?;
        server.heal();
        let traffic = server.traffic();
        let calls = tally.calls() - calm;
        tally.compare(&place)?;

        let name = name_of(dialect);
        let of = format!(
            "of {}, {} faults in {} requests",
            tally.acknowledged(),
            traffic.faults,
            traffic.requests
        );
        table.row(
            format!("acknowledged writes lost, {name}"),
            tally.lost,
            of,
            Expect::None,
        )?;
        table.row(
            format!("values that nobody wrote, {name}"),
            tally.foreign,
            "",
            Expect::None,
        )?;
        let of = format!("of {} reads", tally.reads);
        table.row(
            format!("torn or older values read, {name}"),
            tally.torn,
            of,
            Expect::None,
        )?;
        table.row(
            format!("calls failed without a fault, {name}"),
            calm_failures,
            format!("of {calm}"),
            Expect::None,
        )?;
        let of = format!("of {calls}");
        table.row(
            format!("calls failed, {name}"),
            tally.failed - calm_failures,
            of,
            Expect::Anything,
        )?;
        // In hundredths of what the same calls need without faults.
        let share = 100 * traffic.requests * calm / (needed * calls).max(1);
        table.row(
            format!("requests in % of those needed, {name}"),
            share,
            "",
            Expect::AtMost(200),
        )?;
    }
    Ok(())
}

/// Everything at random that a server or a network does wrong. Faults that would lose a write, or
/// change one unseen, are only in answers to reads, or where there is a checksum.
fn everything() -> Vec<FaultRule> {
    use Fault::*;
    let any = [
        Status(503),
        Status(500),
        Status(429),
        Status(409),
        Status(403),
        RetryAfter {
            status: 503,
            seconds: 1,
        },
        Reset,
        Lost,
        Lost500,
        Hang,
        Stall,
        Truncate,
        TruncateFin,
        Short,
        Long(10),
        Slow(Duration::from_millis(5)),
        NoRange,
        NoEtag,
        WeakEtag,
        DeniedIfMissing,
    ];
    // Not in shards: a writer copies inner chunks that it does not touch without looking into them,
    // and would store the wrong bit.
    let of_chunk = |request: &Request| request.target.contains("/chunk/c/");
    vec![
        FaultRule::at_random("any", 12, any),
        FaultRule::at_random("conditions", 25, [NoConditions]).of(&["GET", "HEAD"]),
        FaultRule::at_random("bits", 25, [Corrupt])
            .of(&["GET"])
            .only_if(of_chunk),
    ]
}

/// Lets all workers work for a time.
fn work(place: &Place, time: Duration, patience: Duration, tally: &mut Tally) -> Outcome {
    let (sender, reports) = mpsc::channel();
    let until = Instant::now() + time;
    let roles = (0..WRITERS)
        .map(Role::Writer)
        .chain((0..READERS).map(Role::Reader));
    let roles: Vec<_> = roles.collect();
    for (number, role) in roles.iter().enumerate() {
        let worker = place.worker(*role, tally.tried(*role))?;
        let sender = sender.clone();
        thread::spawn(move || sender.send((number, converse(worker, until, &sender, number))));
    }
    drop(sender);
    let mut last_report = vec![Some(Instant::now()); roles.len()];
    while last_report.iter().any(Option::is_some) {
        match reports.recv_timeout(Duration::from_secs(1)) {
            Ok((number, Ok(Some(report)))) => {
                last_report[number] = Some(Instant::now());
                tally.add(roles[number], &report);
            }
            Ok((number, Ok(None))) => last_report[number] = None,
            Ok((number, Err(error))) => return Err(format!("{:?}: {error}", roles[number]).into()),
            Err(_) => {}
        }
        for (at, role) in last_report.iter().zip(&roles) {
            if at.is_some_and(|at| at.elapsed() > patience) {
                return Err(format!("{role:?} hangs").into());
            }
        }
    }
    Ok(())
}

type Message = (usize, Outcome<Option<Report>>);

/// Forwards the reports of a worker. Returns `None` at its end.
fn converse(
    mut worker: Worker,
    until: Instant,
    to: &Sender<Message>,
    number: usize,
) -> Outcome<Option<Report>> {
    worker.receive()?;
    loop {
        worker.send(&CALLS_PER_REPORT.to_string())?;
        let report = serde_json::from_str(&worker.receive()?)?;
        to.send((number, Ok(Some(report))))
            .map_err(|_| "nobody listens")?;
        if Instant::now() >= until {
            break;
        }
    }
    worker.end()?;
    Ok(None)
}

/// A worker process.
pub(crate) fn worker(dialect: &str, endpoint: &str, role: Role, first: u32) -> Outcome {
    let dialect = DIALECTS
        .into_iter()
        .find(|&known| name_of(known) == dialect);
    let place = Place::new(dialect.ok_or("no such dialect")?, endpoint);
    match role {
        Role::Writer(index) => writer::work(&place, index, first),
        Role::Reader(_) => reader::work(&place),
    }
}
