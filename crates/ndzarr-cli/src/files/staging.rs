//! `Staging`: the place of an array until it is complete.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::arguments::{is_remote, local_folder};
use crate::failure::Failure;
use crate::places::shown;

/// The ending of the name of such a place.
const NAME: &str = ".importing";

/// A place that this process has made for an array until it is complete.
pub(crate) struct Staging {
    pub(crate) place: PathBuf,
    /// The folder that contains the place, which is removed with everything in it.
    _folder: Option<TempDir>,
}

impl Staging {
    /// A place next to the target, so that moving chunks is cheap. For a target on another machine,
    /// it is in a new folder for temporary files that only this user can read, so that chunks are
    /// sent once.
    ///
    /// # Errors
    /// The place is not empty, or cannot be made.
    pub(crate) fn for_target(target: &Path) -> Result<Self, Failure> {
        if is_remote(target) {
            let temporary = std::env::temp_dir();
            let mut folder = tempfile::Builder::new();
            folder.prefix("ndzarr-").suffix(NAME);
            #[cfg(unix)]
            folder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
            let folder = folder
                .tempdir_in(&temporary)
                .map_err(|error| Failure::of_file(&temporary, &error))?;
            remove_on_signals(folder.path());
            return Ok(Self {
                place: folder.path().join("array"),
                _folder: Some(folder),
            });
        }
        let place = place_next_to(target);
        if let Some(folder) = local_folder(&place) {
            let parent = folder.parent().unwrap_or(&folder);
            fs::create_dir_all(parent).map_err(|error| Failure::of_file(parent, &error))?;
            // An existing folder belongs to another import, or to another program.
            fs::create_dir(&folder).map_err(|error| match error.kind() {
                std::io::ErrorKind::AlreadyExists => Failure::new(format_args!(
                    "{} exists: it was left by an import that was interrupted, or belongs to one that still \
                     runs; in the first case `ndzarr rm` removes it",
                    shown(&place)
                )),
                _ => Failure::of_file(&folder, &error),
            })?;
        }
        Ok(Self {
            place,
            _folder: None,
        })
    }
}

/// Removes a folder if a signal ends this process, and lets it end.
#[cfg(unix)]
fn remove_on_signals(folder: &Path) {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let folder = folder.to_owned();
    // If this fails, the folder stays after a signal.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else {
        return;
    };
    let _ = std::thread::Builder::new().spawn(move || {
        for signal in signals.forever() {
            // Threads may still write into it.
            for _ in 0..10 {
                if fs::remove_dir_all(&folder).is_ok() {
                    break;
                }
            }
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
}

#[cfg(not(unix))]
fn remove_on_signals(_: &Path) {}

/// The place next to a target.
fn place_next_to(target: &Path) -> PathBuf {
    let Some(text) = target.to_str() else {
        let mut name = target.as_os_str().to_owned();
        name.push(NAME);
        return name.into();
    };
    // A node may follow the format; otherwise the root is meant.
    let root = text
        .strip_suffix(':')
        .and_then(|text| text.rsplit_once('|'));
    let (root, format) = root.map_or((text, String::new()), |(root, format)| {
        (root, format!("|{format}:"))
    });
    format!("{}{NAME}{format}", root.trim_end_matches('/')).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_next_to_the_target() {
        for (target, place) in [
            ("a/b.zarr/", "a/b.zarr.importing"),
            ("file:///a|zarr3:", "file:///a.importing|zarr3:"),
            ("a|n5:b/c", "a|n5:b/c.importing"),
        ] {
            assert_eq!(place_next_to(Path::new(target)), Path::new(place));
        }
    }

    #[test]
    fn arrays_for_other_machines_are_in_a_folder_that_only_its_user_sees() {
        let [a, b] =
            [0; 2].map(|_| Staging::for_target(Path::new("s3://bucket/a.zarr")).expect("a folder"));
        assert_ne!(a.place, b.place);
        let folder = a.place.parent().expect("a folder around it").to_owned();
        assert_eq!(folder.parent(), Some(&*std::env::temp_dir()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&folder)
                .expect("it is there")
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o700);
        }
        drop(a);
        assert!(!folder.exists());
    }

    #[test]
    fn an_existing_folder_is_not_used() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let target = folder.path().join("a/b.zarr");
        let first = Staging::for_target(&target).expect("it is new");
        assert!(first.place.is_dir());
        assert!(
            Staging::for_target(&target)
                .is_err_and(|failure| failure.message().contains("ndzarr rm"))
        );
    }
}
