//! The files of the repository, as git sees them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every file that is committed or could be: neither ignored nor deleted.
#[derive(Debug, Default)]
pub(super) struct Tree {
    root: PathBuf,
    paths: Vec<String>,
}

impl Tree {
    /// Lists the files below `root`, which is a git work tree.
    ///
    /// # Errors
    ///
    /// A message when git cannot list them.
    pub(super) fn of(root: &Path) -> Result<Self, String> {
        let output = Command::new("git")
            .args([
                "ls-files",
                "-z",
                "--cached",
                "--others",
                "--exclude-standard",
            ])
            .current_dir(root)
            .output()
            .map_err(|e| format!("git ls-files: {e}"))?;
        if !output.status.success() {
            return Err(format!(
                "git ls-files: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            ));
        }
        let mut paths: Vec<String> = output
            .stdout
            .split(|&byte| byte == 0)
            .filter(|path| !path.is_empty())
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .filter(|path| fs::symlink_metadata(root.join(path)).is_ok())
            .collect();
        paths.sort();
        paths.dedup();
        Ok(Self {
            root: root.to_path_buf(),
            paths,
        })
    }

    /// From the root, with `/`, in order.
    pub(super) fn paths(&self) -> &[String] {
        &self.paths
    }

    /// The files of one ending, outside `testdata/`.
    pub(super) fn with_ending<'t>(&'t self, ending: &'t str) -> impl Iterator<Item = &'t str> {
        self.paths
            .iter()
            .map(String::as_str)
            .filter(move |path| path.ends_with(ending) && !path.starts_with("testdata/"))
    }

    /// The text of a file; empty if there is none or it is not text.
    pub(super) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap_or_default()
    }

    /// Size of a file in bytes.
    pub(super) fn byte_len(&self, path: &str) -> u64 {
        fs::symlink_metadata(self.root.join(path)).map_or(0, |metadata| metadata.len())
    }

    /// True if a file or folder exists.
    pub(super) fn exists(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        path.is_empty()
            || self
                .paths
                .iter()
                .any(|known| known == path || known.starts_with(&folder))
    }
}
