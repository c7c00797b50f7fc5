//! Prints the report of a copy, and compares the files that it copied.

use std::path::Path;

use ndzarr::store::KeyName;
use ndzarr::{
    AnyNode, CopyAccount, CopyLevel, CopyOptions, KeyList, MemberKind, NotCopied, Storage, copy,
};
use serde_json::json;

use crate::arguments::Global;
use crate::arguments::sizes::plural;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::output::describe::kind_name;
use crate::places::below;

/// The report of a copy, or of a dry run.
pub(crate) struct Copies {
    pub(crate) nodes: Vec<Copied>,
    not_copied: Vec<NotCopied>,
    pub(crate) account: Option<CopyAccount>,
    /// `Found` if something was not copied.
    pub(crate) outcome: Outcome,
}

/// The copy of a node, or its plan.
pub(crate) struct Copied {
    pub(crate) source: String,
    pub(crate) target: String,
    pub(crate) kind: MemberKind,
    pub(crate) level: CopyLevel,
    pub(crate) n_chunks: u64,
    pub(crate) temporary_bytes: u64,
    pub(crate) as_files: Option<String>,
    pub(crate) losses: Vec<String>,
    pub(crate) notes: Vec<String>,
}

/// Copies a node with everything below it.
pub(crate) fn run_copy(
    source: &Path,
    target: &Path,
    options: &CopyOptions,
) -> Result<Copies, ndzarr::Error> {
    let report = copy(source, target, options)?;
    let outcome = if report.is_complete() {
        Outcome::Good
    } else {
        Outcome::Found
    };
    let nodes = report.nodes.into_iter().map(|node| Copied {
        source: node.source,
        target: node.target,
        kind: node.kind,
        level: node.level,
        n_chunks: node.n_chunks,
        temporary_bytes: node.temporary_bytes,
        as_files: node.as_files,
        losses: node.losses,
        notes: node.notes,
    });
    Ok(Copies {
        nodes: nodes.collect(),
        not_copied: report.not_copied,
        account: report.account,
        outcome,
    })
}

impl Copies {
    /// Prints the report about each node, and about other files.
    pub(crate) fn print(
        &self,
        verb: &str,
        global: &Global,
        output: &mut Output,
    ) -> Result<(), Failure> {
        for node in &self.nodes {
            node.print(global, output)?;
        }
        if output.json() {
            for NotCopied { source, why, .. } in &self.not_copied {
                output.value(&json!({"not_copied": source, "why": why}))?;
            }
            let Some(account) = &self.account else {
                return Ok(());
            };
            let left_out = account.left_out.iter().map(|left_out| {
                let KeyList { n, first, .. } = &left_out.keys;
                json!({"why": left_out.reason.to_string(), "n": n, "first": first})
            });
            return output.value(&json!({"keys": {
                "documents": account.n_documents,
                "chunks": account.n_chunks,
                "remade": account.n_remade,
                "files": {"n": account.files.n, "first": account.files.first},
                "left_out": left_out.collect::<Vec<_>>(),
            }}));
        }
        for NotCopied { source, why, .. } in &self.not_copied {
            output.line(format!("{source}: not copied: {why}"))?;
        }
        let Some(account) = self.account.as_ref().filter(|_| !global.quiet) else {
            return Ok(());
        };
        if account.files.n > 0 {
            output.line(format!("{verb} other files: {}", named(&account.files)))?;
        }
        for left_out in &account.left_out {
            output.line(format!(
                "left out, {}: {}",
                left_out.reason,
                named(&left_out.keys)
            ))?;
        }
        Ok(())
    }
}

/// The number of keys, and some of them.
fn named(keys: &KeyList) -> String {
    let names: Vec<String> = keys
        .first
        .iter()
        .take(3)
        .map(|key| format!("{key:?}"))
        .collect();
    let such_as = if keys.n > names.len() as u64 {
        ", such as"
    } else {
        ":"
    };
    format!(
        "{}{such_as} {}",
        plural(keys.n, "file", "files"),
        names.join(", ")
    )
}

impl Copied {
    pub(crate) fn name(&self) -> &str {
        if self.target.is_empty() {
            "."
        } else {
            &self.target
        }
    }

    fn print(&self, global: &Global, output: &mut Output) -> Result<(), Failure> {
        let level = match self.level {
            CopyLevel::Metadata => "metadata",
            CopyLevel::Rekeyed => "rekeyed",
            CopyLevel::Reencoded => "reencoded",
            _ => "unknown",
        };
        if output.json() {
            return output.value(&json!({
                "source": self.source,
                "target": self.target,
                "node": kind_name(Some(self.kind)),
                "level": level,
                "chunks": self.n_chunks,
                "as_files": self.as_files,
                "losses": self.losses,
                "notes": self.notes,
            }));
        }
        if global.quiet {
            return Ok(());
        }
        let name = self.name();
        for loss in &self.losses {
            output.line(format!("{name}: lost: {loss}"))?;
        }
        if let Some(why) = &self.as_files {
            output.line(format!("{name}: copied as it is: {why}"))?;
        }
        if global.verbose {
            output.line(format!(
                "{name}: {level}, {}",
                plural(self.n_chunks, "chunk", "chunks")
            ))?;
            for note in &self.notes {
                output.line(format!("{name}: {note}"))?;
            }
        }
        Ok(())
    }
}

/// Compares the files that were copied byte for byte.
pub(crate) fn compare_files(
    [source, target]: [&AnyNode; 2],
    as_files: &[String],
    account: &CopyAccount,
    output: &mut Output,
) -> Result<Outcome, Failure> {
    let [from, to] = [source, target].map(|root| below(root.path()));
    let mut keys = Vec::new();
    storage(source).each_key(&from, |key, listed| {
        let is_of_node = as_files.iter().any(|prefix| key.starts_with(prefix));
        if listed.byte_len().is_some() && (is_of_node || KeyName::of(key) == KeyName::Other) {
            keys.push(key.to_owned());
        }
    })?;
    let left_out = |key: &String| {
        account.left_out.iter().any(|group| {
            group.keys.first.contains(key) || group.keys.n > group.keys.first.len() as u64
        })
    };
    let mut outcome = Outcome::Good;
    for key in &keys {
        let copy = format!("{to}{}", &key[from.len()..]);
        let values = [
            storage(source).read_key(key, u64::MAX)?,
            storage(target).read_key(&copy, u64::MAX)?,
        ];
        let what = match values {
            [Some(a), Some(b)] if a == b => continue,
            [None, _] => continue,
            [Some(_), None] if left_out(key) => continue,
            [Some(_), None] => "only in the first",
            [Some(_), Some(_)] => "the files differ",
        };
        if output.json() {
            output.value(&json!({"path": key, "differs": "file", "values": null}))?;
        } else {
            output.line(format!("{key}: {what}"))?;
        }
        outcome = Outcome::Found;
    }
    Ok(outcome)
}

pub(crate) fn storage(root: &AnyNode) -> &Storage {
    match root {
        AnyNode::Array(array) => array.storage(),
        AnyNode::Group(group) => group.storage(),
    }
}
