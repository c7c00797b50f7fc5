//! The arguments that all verbs share, and the options for opening and running that follow from
//! them.

pub(crate) mod boxes;
pub(crate) mod codecs;
pub(crate) mod formats;
pub(crate) mod selection;
pub(crate) mod sizes;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{ArgAction, Args, ValueEnum};
use ndzarr::{
    AnyArray, AnyNode, Child, ConcurrentUpdate, ConsolidatedUse, Format, Group, MemberKind, N5Axes,
    OpenOptions, RunOptions,
};

use crate::failure::Failure;
use crate::files::stored::cannot_list;
use crate::places::{below, shown};

/// Arguments that every verb takes.
#[derive(Args, Clone, Debug)]
pub(crate) struct Global {
    /// Threads; all processors by default.
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        env = "NDZARR_THREADS",
        value_name = "N"
    )]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Print JSON, as the reference describes it, and errors as JSON on standard error.
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) json: bool,
    /// No progress, no summary, no remarks.
    #[arg(short, long, global = true, hide_short_help = true)]
    pub(crate) quiet: bool,
    /// Say more.
    #[arg(
        short,
        long,
        global = true,
        hide_short_help = true,
        conflicts_with = "quiet"
    )]
    pub(crate) verbose: bool,
    /// Whether text is coloured. With `auto`, not if NO_COLOR is set or standard output is not a
    /// terminal.
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_enum,
        default_value_t,
        value_name = "WHEN"
    )]
    pub(crate) color: ColorWhen,
    /// How the axes of N5 arrays are shown, selected and created.
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_enum,
        default_value_t,
        value_name = "ORDER"
    )]
    pub(crate) n5_axes: Axes,
    /// Change parts of chunks and documents also where the service has neither locks nor
    /// conditional writes, as Backblaze B2: of several writers the last one wins.
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) last_writer_wins: bool,
    /// Look only for this format, where several are in one place, or none is detected. With `cp`,
    /// `import` and `pyramid` it is the format of the result.
    #[arg(long, global = true, hide_short_help = true, value_parser = formats::read(), value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
    /// The separator of the chunk keys of what is opened, where its metadata state a wrong one or
    /// none.
    #[arg(long, global = true, hide_short_help = true, value_parser = ["/", "."], value_name = "SEPARATOR")]
    pub(crate) separator: Option<String>,
    /// Print the arguments of a verb; `ndzarr help VERB` prints all that is known of it.
    #[arg(short, long, global = true, action = ArgAction::HelpShort)]
    pub(crate) help: Option<bool>,
}

/// When text is coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How the axes of N5 arrays are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Axes {
    /// In N5's own order: axis 0 varies fastest, as in Java, tensorstore and ndzarr elsewhere.
    #[default]
    Native,
    /// The last axis varies fastest, as z5py, pyn5 and zarr-python 2 show them.
    Reversed,
}

/// The number of requests that loops over chunks make to a remote store at the same time.
const REMOTE_THREADS: NonZeroUsize = NonZeroUsize::new(16).expect("16 is not zero");

impl Global {
    pub(crate) fn n5_axes(&self) -> N5Axes {
        match self.n5_axes {
            Axes::Native => N5Axes::Native,
            Axes::Reversed => N5Axes::Reversed,
        }
    }

    pub(crate) fn open_options(&self) -> OpenOptions {
        let separator = self.separator.as_ref().and_then(|text| text.chars().next());
        OpenOptions::new()
            .n5_axes(self.n5_axes())
            .format(self.format)
            .separator(separator)
    }

    /// Those for verbs that judge, remove or collect nodes: by their documents, since consolidated
    /// metadata may be stale.
    pub(crate) fn document_options(&self) -> OpenOptions {
        self.open_options().consolidated(ConsolidatedUse::Ignore)
    }

    /// The nodes below a group that was opened with [`document_options`](Self::document_options).
    pub(crate) fn nodes_below(&self, group: &Group) -> Result<Vec<Child>, Failure> {
        Ok(match group.walk() {
            // A web server does not list, and a bucket may deny it, but consolidated metadata may
            // list the nodes.
            Err(error) if cannot_list(&error) => {
                let place = (group.storage(), group.path());
                self.open_options().open_group(place)?.walk()?
            }
            walked => walked?,
        })
    }

    /// Opens the node at a place.
    pub(crate) fn open(&self, place: &Path) -> Result<AnyNode, Failure> {
        self.open_by(&self.open_options(), place)
    }

    /// Opens the node at a place with these options, for calls that run as the arguments say.
    pub(crate) fn open_by(&self, options: &OpenOptions, place: &Path) -> Result<AnyNode, Failure> {
        Ok(match options.open_node(place)? {
            AnyNode::Array(array) => AnyNode::Array(array.with_options(self.run_options())),
            AnyNode::Group(group) => AnyNode::Group(group.with_options(self.run_options())),
        })
    }

    /// Opens the array at a place.
    pub(crate) fn open_array(
        &self,
        place: &Path,
        options: &OpenOptions,
    ) -> Result<AnyArray, Failure> {
        match options.open_node(place)? {
            AnyNode::Array(array) => Ok(array.with_options(self.run_options())),
            AnyNode::Group(_) => Err(Failure::usage(format_args!(
                "{} is a group; name one of its arrays, which `ndzarr ls -r` lists",
                shown(place)
            ))),
        }
    }

    /// The array at a place, or all below the group there, in the order of their paths. An array
    /// that cannot be opened is an error in its place.
    pub(crate) fn open_arrays(&self, place: &Path) -> Result<Vec<FoundArray>, Failure> {
        let group = match self.open(place)? {
            AnyNode::Array(array) => {
                let path = array.path().to_owned();
                return Ok(vec![FoundArray {
                    path,
                    array: Ok(array.with_options(self.run_options())),
                }]);
            }
            AnyNode::Group(group) => group,
        };
        let prefix = below(group.path());
        let mut found = Vec::new();
        for child in group.walk()? {
            if child.kind() != Some(MemberKind::Group) {
                let path = format!("{prefix}{}", child.path());
                let array = child
                    .array::<ndzarr::Any>()
                    .map(|array| array.with_options(self.run_options()));
                found.push(FoundArray { path, array });
            }
        }
        Ok(found)
    }

    /// Refuses a target inside an array, or inside the source: links are followed.
    pub(crate) fn check_inside(&self, source: Option<&Path>, target: &Path) -> Result<(), Failure> {
        let Some(target) = local_folder(target).and_then(|target| std::path::absolute(target).ok())
        else {
            return Ok(());
        };
        // The target may not exist yet.
        let existing = target
            .ancestors()
            .skip(1)
            .find_map(|folder| folder.canonicalize().ok());
        let Some(existing) = existing else {
            return Ok(());
        };
        let refuse = |what: String| {
            Err(Failure::new(format_args!(
                "{} is inside of {what}",
                shown(&target)
            )))
        };
        let source = source
            .and_then(local_folder)
            .and_then(|source| source.canonicalize().ok());
        if source.is_some_and(|source| existing.starts_with(source)) {
            return refuse("the source".to_owned());
        }
        for folder in existing.ancestors().filter(|folder| has_document(folder)) {
            if let Ok(AnyNode::Array(_)) = self.open_options().open_node(folder) {
                return refuse(format!("the array {}", shown(folder)));
            }
        }
        Ok(())
    }

    /// The options that calls run with.
    pub(crate) fn run_options(&self) -> RunOptions {
        let policy = if self.last_writer_wins {
            ConcurrentUpdate::LastWriterWins
        } else {
            ConcurrentUpdate::default()
        };
        RunOptions::default()
            .threads(self.threads)
            .concurrent_update(policy)
    }

    /// The number of threads that work at the same time on chunks of the arrays at these places,
    /// each on one chunk.
    pub(crate) fn workers(&self, places: &[&Path]) -> NonZeroUsize {
        let processors = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let threads = self.threads.unwrap_or(processors);
        let is_remote = places.iter().any(|place| is_remote(place));
        if is_remote {
            threads.max(REMOTE_THREADS)
        } else {
            threads
        }
    }
}

/// An array of a place, or the error of opening it.
pub(crate) struct FoundArray {
    /// Its path from the root of its store.
    pub(crate) path: String,
    pub(crate) array: Result<AnyArray, ndzarr::Error>,
}

/// True if a folder has a document of an array or a group.
pub(crate) fn has_document(folder: &Path) -> bool {
    ["zarr.json", ".zarray", ".zgroup", "attributes.json"]
        .iter()
        .any(|name| folder.join(name).is_file())
}

/// True if a place is on another machine.
pub(crate) fn is_remote(place: &Path) -> bool {
    let scheme = place
        .to_str()
        .and_then(|text| text.split_once("://"))
        .map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| !matches!(scheme, "file" | "memory"))
}

/// The local folder of a place, which may be written as a URL, `file:///a`, or with its format,
/// `a|zarr3:b`. `None` for an archive, and for a place on another machine.
pub(crate) fn local_folder(place: &Path) -> Option<PathBuf> {
    let Some(text) = place.to_str() else {
        return Some(place.to_owned());
    };
    let (root, inner) = text.split_once('|').unwrap_or((text, ""));
    let root = match root.strip_prefix("file:") {
        Some(path) => {
            let path = path.strip_prefix("//").unwrap_or(path);
            let path = path.strip_prefix("localhost").unwrap_or(path);
            PathBuf::from(decoded(path).filter(|path| path.starts_with('/'))?)
        }
        None if root.contains("://") => return None,
        None => PathBuf::from(root),
    };
    if root.is_file() {
        return None;
    }
    match inner.split_once(':') {
        None if inner.is_empty() => Some(root),
        Some(("zarr" | "zarr2" | "zarr3" | "n5", below)) if !below.contains('|') => {
            // In a URL, the path after the format may have percent signs, too.
            let below = if text.starts_with("file:") {
                decoded(below)?
            } else {
                below.to_owned()
            };
            Some(root.join(below.trim_matches('/')))
        }
        _ => None,
    }
}

/// The path of a URL with its percent signs decoded.
fn decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = rest
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok())?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok()
}

/// Comma-separated lengths: `64,64,64`.
pub(crate) fn parse_shape(text: &str) -> Result<Vec<u64>, String> {
    let text = text
        .trim()
        .trim_start_matches(['[', '('])
        .trim_end_matches([']', ')']);
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let length = |part: &str| {
        part.trim()
            .parse()
            .map_err(|_| format!("{part:?} is not a length"))
    };
    text.trim_end_matches(',').split(',').map(length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_local_or_remote() {
        assert!(is_remote(Path::new("s3://bucket/a")));
        assert!(is_remote(Path::new("https://host/a.zarr")));
        assert!(!is_remote(Path::new("file:///a")));
        assert!(!is_remote(Path::new("a/b.zarr")));
    }

    #[test]
    fn urls_of_folders_are_folders() {
        for (place, folder) in [
            ("a/b.zarr", Some("a/b.zarr")),
            ("file:///a/b%20c", Some("/a/b c")),
            ("file://localhost/a", Some("/a")),
            ("a/b|zarr3:", Some("a/b")),
            ("file:///a|n5:b/c", Some("/a/b/c")),
            ("a.zip|zip:x", None),
            ("file:///a|zarr3:b%20c", Some("/a/b c")),
            ("file://host/a", None),
            ("a|b", None),
            ("s3://bucket/a", None),
            ("s3://bucket/a|zarr3:", None),
        ] {
            assert_eq!(
                local_folder(Path::new(place)),
                folder.map(PathBuf::from),
                "{place}"
            );
        }
    }

    #[test]
    fn shapes_are_lists_of_lengths() {
        assert_eq!(parse_shape("64, 32,1"), Ok(vec![64, 32, 1]));
        assert_eq!(parse_shape("[7]"), Ok(vec![7]));
        assert_eq!(parse_shape("()"), Ok(vec![]));
        assert!(parse_shape("64x32").is_err());
        assert!(parse_shape("-1").is_err());
    }
}
