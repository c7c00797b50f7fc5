//! Options of `cargo xtask bench`.

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only these workloads or rows, without the commas of their names: `W4,W8`, `"W4 write"`.
    #[arg(long, value_delimiter = ',', value_name = "ROWS")]
    pub(super) only: Vec<String>,
    /// Only these peers: `zarrs,tensorstore`.
    #[arg(long, value_delimiter = ',', value_name = "ENGINES")]
    pub(super) vs: Vec<String>,
    /// How many rounds; without --quick, up to three times as many as long as too many were
    /// disturbed, or the ratios of the row are close to its target.
    #[arg(long, default_value_t = 7)]
    pub(super) rounds: usize,
    /// Five rounds against the strongest peers of each row, without the gigabytes.
    #[arg(long)]
    pub(super) quick: bool,
    /// Write `docs/internals/records/<date>.json`, or `remote.json`, and draw.
    #[arg(long)]
    pub(super) record: bool,
    /// Instead: draw the README's picture, and the page of the records, from the latest ones.
    #[arg(long, conflicts_with_all = ["record", "remote", "growth"])]
    pub(super) draw: bool,
    /// Instead of the peers: ndzarr as it was at this commit, which is built first. The target of
    /// each row is its processor time there, and 3 %.
    #[arg(long, value_name = "COMMIT")]
    pub(super) against: Option<String>,
    /// Instead: what ndzarr's operations cost as work grows, as a table for
    /// docs/internals/lab/growth.md.
    #[arg(long)]
    pub(super) growth: bool,
    /// Instead: arrays in a bucket in a network of 10 and of 50 ms, see benchmarks/remote.
    #[arg(long, conflicts_with_all = ["against", "quick", "growth"])]
    pub(super) remote: bool,
}
