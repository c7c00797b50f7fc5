//! `cargo xtask bench --remote`: measures ndzarr and its peers in a bucket in a slow network.
//!
//! `benchmarks/remote` has the server with its proxy and the engines in Rust, `rows.toml` there the
//! rows.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::args::Args;
use super::present;
use super::turn::{self, Report};
use super::verdict::median;
use crate::python::{self, repository, succeed};

/// Latencies, in milliseconds: each row runs at both.
const LATENCIES: [u32; 2] = [10, 50];
/// The bandwidth that all connections share, in bytes for a millisecond.
const BANDWIDTH: f64 = 100e3;

#[derive(Debug, Deserialize)]
struct Rows {
    row: Vec<Row>,
}

/// A row of `rows.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    operation: String,
    path: String,
    format: String,
    /// The array that is read before the clock starts, so that connections are open.
    warm: Option<String>,
    /// Milliseconds at each latency.
    target: Option<[f64; 2]>,
    /// The most requests.
    requests: Option<f64>,
    /// The number of rounds of the ideal time.
    rounds: f64,
    peers: Vec<String>,
}

/// The counts of the proxy in a turn.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Counts {
    requests: u64,
    bytes: u64,
    most_in_flight: u64,
}

/// The measurements of a turn; `None` if it failed.
type Turn = Option<(Report, Counts)>;

/// The turns of each engine.
type Turns = BTreeMap<String, Vec<Turn>>;

fn load() -> Result<Vec<Row>, String> {
    let path = repository().join("benchmarks/remote/rows.toml");
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    toml::from_str::<Rows>(&text)
        .map(|rows| rows.row)
        .map_err(|e| format!("{}: {e}", path.display()))
}

/// Runs the rows.
///
/// # Errors
/// Something cannot be built, made or started, or an engine fails or returns a wrong result. A
/// missed target is not an error.
pub(super) fn run(args: &Args) -> Result<(), String> {
    let rows = load()?;
    let chosen: Vec<&Row> = rows
        .iter()
        .filter(|row| args.only.is_empty() || args.only.contains(&row.name.replace(',', "")))
        .collect();
    if chosen.is_empty() {
        return Err("no row has this name".to_owned());
    }
    let manifest = repository().join("benchmarks/remote/Cargo.toml");
    succeed(
        Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--release", "--manifest-path"])
            .arg(manifest)
            .arg("--target-dir")
            .arg(python::target()),
    )?;
    let folder = python::target().join("bench-data");
    let server = Server::start(&made(&folder)?)?;
    let mut measured_rows = Vec::new();
    let mut wrong = Vec::new();
    let bar = ProgressBar::new(2 * chosen.len() as u64);
    for (at, latency) in LATENCIES.into_iter().enumerate() {
        server.send(&format!("latency {latency}"))?;
        for row in &chosen {
            let turns = rounds(row, args, &server, &folder, &mut wrong)?;
            let done = measured(row, at, latency, &turns);
            bar.suspend(|| {
                eprintln!(
                    "{} at {latency} ms: {:.0} ms, {}",
                    done.name, done.ms, done.status
                )
            });
            bar.inc(1);
            measured_rows.push(done);
        }
    }
    bar.finish_and_clear();
    present::show(&measured_rows, args, Some("remote.json"))?;
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n"))
    }
}

/// All rounds of a row, the engines one after the other in each.
fn rounds(
    row: &Row,
    args: &Args,
    server: &Server,
    folder: &Path,
    wrong: &mut Vec<String>,
) -> Result<Turns, String> {
    let peers = row
        .peers
        .iter()
        .filter(|peer| args.vs.is_empty() || args.vs.contains(peer));
    let mut engines: Vec<&str> = std::iter::once("ndzarr")
        .chain(peers.map(String::as_str))
        .collect();
    let mut turns = Turns::new();
    let mut expected = None;
    for _ in 0..args.rounds {
        for engine in engines.clone() {
            let turn = turn(row, engine, server, folder).and_then(|(report, counts)| {
                // The engines have to agree.
                let found = report.checksum;
                if *expected.get_or_insert(found) == found {
                    return Ok((report, counts));
                }
                Err(format!("the checksum is {found:?}, not {expected:?}"))
            });
            if let Err(error) = &turn {
                wrong.push(format!("{}, {engine}: {error}", row.name));
                engines.retain(|other| *other != engine);
            }
            turns.entry(engine.to_owned()).or_default().push(turn.ok());
        }
    }
    Ok(turns)
}

fn turn(
    row: &Row,
    engine: &str,
    server: &Server,
    folder: &Path,
) -> Result<(Report, Counts), String> {
    let request = folder.join("remote-request.json");
    let Addresses {
        endpoint,
        bucket,
        control,
    } = &server.addresses;
    let text = json!({
        "operation": row.operation,
        "endpoint": endpoint,
        "bucket": bucket,
        "control": control,
        "path": row.path,
        "format": row.format,
        "warm": row.warm,
    });
    fs::write(&request, text.to_string()).map_err(|e| format!("{}: {e}", request.display()))?;
    let mut command = match engine {
        "ndzarr" | "zarrs" => Command::new(program(&format!("remote-{engine}"))),
        _ => {
            let mut python = Command::new(python::interpreter("remote")?);
            python.arg(python::engines().join("remote.py")).arg(engine);
            python
        }
    };
    command
        .arg(&request)
        .env("AWS_ACCESS_KEY_ID", "an-id")
        .env("AWS_SECRET_ACCESS_KEY", "a-secret");
    // As `turn::command` sets it.
    command
        .env("AWS_REGION", "us-east-1")
        .env("OPENBLAS_NUM_THREADS", "1");
    let report = turn::run(command)?;
    Ok((report, server.send("counts")?))
}

fn program(name: &str) -> PathBuf {
    python::target().join("release").join(name)
}

/// The folder with everything that is read; it is made if its script has changed.
fn made(folder: &Path) -> Result<PathBuf, String> {
    let script = python::engines().join("remote_make.py");
    let text = fs::read_to_string(&script).map_err(|e| format!("{}: {e}", script.display()))?;
    let data = folder.join("remote");
    let done = folder.join("remote.made");
    if fs::read_to_string(&done).is_ok_and(|made| made == text) {
        return Ok(data);
    }
    let _ = fs::remove_dir_all(&data);
    fs::create_dir_all(&data).map_err(|e| format!("{}: {e}", data.display()))?;
    eprintln!("making {}", data.display());
    succeed(
        Command::new(python::interpreter("remote")?)
            .arg(script)
            .arg(&data),
    )?;
    fs::write(&done, text).map_err(|e| format!("{}: {e}", done.display()))?;
    Ok(data)
}

/// The measurements of a row, as the record has them: medians of all rounds.
#[derive(Clone, Debug, Serialize)]
struct Measured {
    name: String,
    latency_ms: u32,
    ms: f64,
    target_ms: Option<f64>,
    status: String,
    requests: f64,
    most_in_flight: f64,
    ideal_ms: f64,
    best_peer: Option<Peer>,
}

/// The peer that took the least time.
#[derive(Clone, Debug, Serialize)]
struct Peer {
    name: String,
    ms: f64,
    requests: f64,
    /// ndzarr's time to the peer's, round by round.
    ratio: f64,
}

fn measured(row: &Row, at: usize, latency: u32, turns: &Turns) -> Measured {
    let of = |engine: &str, value: &dyn Fn(&(Report, Counts)) -> f64| {
        let turns = turns.get(engine).into_iter().flatten().flatten();
        median(turns.map(value).collect())
    };
    let ms = |engine: &str| of(engine, &|(report, _)| report.wall_ns as f64 / 1e6);
    let requests = |engine: &str| of(engine, &|(_, counts)| counts.requests as f64);
    let bytes = |engine: &str| of(engine, &|(_, counts)| counts.bytes as f64);
    let least = turns
        .keys()
        .map(|engine| bytes(engine))
        .fold(f64::INFINITY, f64::min);
    let ideal = row.rounds * f64::from(latency) + least / BANDWIDTH;
    let peers = turns
        .keys()
        .map(String::as_str)
        .filter(|engine| *engine != "ndzarr" && ms(engine).is_finite());
    let best = peers.min_by(|a, b| ms(a).total_cmp(&ms(b)));
    let ratio = best.map(|best| {
        let pairs = turns["ndzarr"].iter().zip(&turns[best]);
        let ratio = |(ours, theirs): (&Turn, &Turn)| {
            Some(ours.as_ref()?.0.wall_ns as f64 / theirs.as_ref()?.0.wall_ns as f64)
        };
        median(pairs.filter_map(ratio).collect())
    });
    let target = row.target.map(|target| target[at]);
    let mut faults = Vec::new();
    if target.is_some_and(|target| ms("ndzarr") > target) {
        faults.push("time");
    }
    if row.requests.is_some_and(|most| requests("ndzarr") > most) {
        faults.push("requests");
    }
    if ratio.is_some_and(|ratio| ratio > 1.0) {
        faults.push("peer");
    }
    let status = if faults.is_empty() {
        "met".to_owned()
    } else {
        format!("MISSED: {}", faults.join(", "))
    };
    let best_peer = best.zip(ratio).map(|(name, ratio)| Peer {
        name: name.to_owned(),
        ms: ms(name),
        requests: requests(name),
        ratio,
    });
    Measured {
        name: row.name.clone(),
        latency_ms: latency,
        ms: ms("ndzarr"),
        target_ms: target,
        status,
        requests: requests("ndzarr"),
        most_in_flight: of("ndzarr", &|(_, counts)| counts.most_in_flight as f64),
        ideal_ms: ideal,
        best_peer,
    }
}

/// The addresses of the server.
#[derive(Debug, Deserialize)]
struct Addresses {
    endpoint: String,
    bucket: String,
    control: String,
}

/// The server with its proxy. It ends when this is dropped.
struct Server {
    child: Child,
    addresses: Addresses,
}

impl Server {
    fn start(data: &Path) -> Result<Self, String> {
        let mut command = Command::new(program("remote-server"));
        command
            .arg(data)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|e| format!("remote-server: {e}"))?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output)
                .read_line(&mut line)
                .map_err(|e| format!("remote-server: {e}"))?;
        }
        let addresses = serde_json::from_str(&line).map_err(|e| format!("remote-server: {e}"))?;
        Ok(Self { child, addresses })
    }

    /// Sends a line to the control port.
    fn send(&self, what: &str) -> Result<Counts, String> {
        let mut answer = String::new();
        TcpStream::connect(&self.addresses.control)
            .and_then(|mut stream| {
                writeln!(stream, "{what}")?;
                BufReader::new(stream).read_line(&mut answer)
            })
            .map_err(|e| format!("the control port: {e}"))?;
        serde_json::from_str(&answer).map_err(|e| format!("the control port: {e}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only when it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_rows_make_sense() {
        for row in load().expect("they parse") {
            assert!(row.rounds >= 1.0, "{}", row.name);
            assert!(
                row.target.is_none_or(|[at_10, at_50]| at_10 < at_50),
                "{}",
                row.name
            );
        }
    }
}
