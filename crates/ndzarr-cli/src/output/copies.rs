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

/// Compares the files that were copied byte for byte. `copies_others` says whether those of no
/// array or group were.
pub(crate) fn compare_files(
    roots: [&AnyNode; 2],
    copies: &Copies,
    copies_others: bool,
    output: &mut Output,
) -> Result<Outcome, Failure> {
    let differing = differing_files(roots, copies, copies_others)?;
    for (key, what) in &differing {
        if output.json() {
            output.value(&json!({"path": key, "differs": "file", "values": null}))?;
        } else {
            output.line(format!("{key}: {what}"))?;
        }
    }
    Ok(if differing.is_empty() {
        Outcome::Good
    } else {
        Outcome::Found
    })
}

/// The keys of the source whose files are not in the copy, or other ones are, and which of the two.
fn differing_files(
    [source, target]: [&AnyNode; 2],
    copies: &Copies,
    copies_others: bool,
) -> Result<Vec<(String, &'static str)>, Failure> {
    let [from, to] = [source, target].map(|root| below(root.path()));
    let as_files: Vec<String> = copies
        .nodes
        .iter()
        .filter(|node| node.as_files.is_some())
        .map(|node| below(&node.source))
        .collect();
    let not_copied: Vec<String> = copies
        .not_copied
        .iter()
        .map(|node| below(&node.source))
        .collect();
    let is_below = |key: &str, nodes: &[String]| nodes.iter().any(|prefix| key.starts_with(prefix));
    let mut files = Vec::new();
    storage(source).each_listed(&from, |key, listed| {
        let is_of_node = is_below(key, &as_files);
        let is_other = copies_others && KeyName::of(key) == KeyName::Other;
        if let Some(len) = listed.byte_len()
            && (is_of_node || is_other && !is_below(key, &not_copied))
        {
            files.push((key.to_owned(), len));
        }
    })?;
    // The account names only the first of each group.
    let is_left_out = |key: &String| {
        let mut groups = copies.account.iter().flat_map(|account| &account.left_out);
        groups.any(|group| group.keys.first.contains(key))
    };
    let mut differing = Vec::new();
    for (key, len) in files {
        let copy = format!("{to}{}", &key[from.len()..]);
        let what = match compare_values([(source, key.as_str()), (target, copy.as_str())], len)? {
            Compared::Equal => continue,
            Compared::Missing if is_left_out(&key) => continue,
            Compared::Missing => "only in the first",
            Compared::Different => "the files differ",
        };
        differing.push((key, what));
    }
    Ok(differing)
}

/// How much of a file is in memory: little of one, and more of a long one, of which an archive may
/// have to decode the whole for each piece.
const FIRST_PIECE: u64 = 8 << 20;
const MAX_PIECE: u64 = 256 << 20;

/// A file and its copy.
enum Compared {
    Equal,
    Different,
    /// There is no copy.
    Missing,
}

/// Compares a value of `len` bytes with its copy, piece by piece. A value that is gone is equal.
fn compare_values(
    [(source, key), (target, copy)]: [(&AnyNode, &str); 2],
    len: u64,
) -> Result<Compared, Failure> {
    let mut start = 0;
    let mut piece = FIRST_PIECE;
    loop {
        let end = len.min(start + piece);
        let Some(original) = storage(source).read_key_range(key, start..end)? else {
            return Ok(Compared::Equal);
        };
        let Some(copied) = storage(target).read_key_range(copy, start..end)? else {
            return Ok(Compared::Missing);
        };
        let (size, _) = original;
        if size != len || original != copied {
            return Ok(Compared::Different);
        }
        if end == len {
            return Ok(Compared::Equal);
        }
        start = end;
        piece = MAX_PIECE.min(piece * 2);
    }
}

pub(crate) fn storage(root: &AnyNode) -> &Storage {
    match root {
        AnyNode::Array(array) => array.storage(),
        AnyNode::Group(group) => group.storage(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ndzarr::OpenOptions;

    use super::*;

    /// More files are left out than the account names. Those that are not in the copy, or others
    /// are, are found all the same.
    #[test]
    fn files_are_missed_however_many_are_left_out() -> Result<(), Failure> {
        let folder = tempfile::tempdir().expect("a folder");
        let source = folder.path().join("a");
        let target = folder.path().join("b");
        let array = r#"{"zarr_format": 2, "shape": [3], "chunks": [3], "dtype": "|u1", "compressor": null,
            "filters": null, "order": "C", "fill_value": 0}"#;
        let put = |name: &str, value: &[u8]| fs::write(source.join(name), value);
        fs::create_dir_all(source.join("0")).expect("a folder");
        put(".zgroup", br#"{"zarr_format": 2}"#).expect("a file");
        put("0/.zarray", array.as_bytes()).expect("a file");
        for outside in 1..=101 {
            put(&format!("0/{outside}"), b"123").expect("a file");
        }
        let mut large = vec![7_u8; FIRST_PIECE as usize + 1];
        put("large", &large).expect("a file");
        for name in ["gone", "longer", "same"] {
            put(name, b"mine").expect("a file");
        }
        let copies = run_copy(&source, &target, &CopyOptions::new())?;
        let account = copies.account.as_ref().expect("folders list");
        assert_eq!((account.files.n, account.left_out[0].keys.n), (4, 101));

        let a = OpenOptions::new().open_node(&*source)?;
        let b = OpenOptions::new().open_node(&*target)?;
        let roots = [&a, &b];
        assert!(differing_files(roots, &copies, true)?.is_empty());
        large[FIRST_PIECE as usize] = 8;
        fs::write(target.join("large"), large).expect("a file");
        fs::write(target.join("longer"), b"mine too").expect("a file");
        fs::remove_file(target.join("gone")).expect("it is there");
        let mut differing = differing_files(roots, &copies, true)?;
        differing.sort_unstable();
        let expected = [
            ("gone".to_owned(), "only in the first"),
            ("large".to_owned(), "the files differ"),
            ("longer".to_owned(), "the files differ"),
        ];
        assert_eq!(differing, expected);
        Ok(())
    }
}
