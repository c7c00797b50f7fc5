//! Where an array is until it is complete.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::arguments::{is_remote, local_folder};
use crate::failure::Failure;
use crate::places::shown;

/// The name of a place that holds an array until it is complete.
const NAME: &str = ".importing";

/// A place that this process has made for an array until it is complete.
pub(crate) struct Staging {
    /// Where the array is.
    pub(crate) place: PathBuf,
    /// The folder around it, which is removed with everything in it.
    _around: Option<TempDir>,
}

impl Staging {
    /// Beside the target, so that chunks can be moved cheaply. What goes to another machine is in a new
    /// folder for temporary files that only this user may look into, so that it goes there once.
    ///
    /// # Errors
    /// There is something at that place, or it cannot be made.
    pub(crate) fn for_target(target: &Path) -> Result<Self, Failure> {
        if is_remote(target) {
            let temporary = std::env::temp_dir();
            let mut folder = tempfile::Builder::new();
            folder.prefix("ndzarr-").suffix(NAME);
            #[cfg(unix)]
            folder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
            let around =
                folder.tempdir_in(&temporary).map_err(|error| Failure::of_file(&temporary, &error))?;
            remove_on_signals(around.path());
            return Ok(Self { place: around.path().join("array"), _around: Some(around) });
        }
        let place = beside(target);
        if let Some(folder) = local_folder(&place) {
            let above = folder.parent().unwrap_or(&folder);
            fs::create_dir_all(above).map_err(|error| Failure::of_file(above, &error))?;
            // A folder that is there already is of another import, or of others.
            fs::create_dir(&folder).map_err(|error| match error.kind() {
                std::io::ErrorKind::AlreadyExists => Failure::new(format_args!(
                    "{} exists: it was left by an import that was interrupted, or belongs to one that still \
                     runs; in the first case `ndzarr rm` removes it",
                    shown(&place)
                )),
                _ => Failure::of_file(&folder, &error),
            })?;
        }
        Ok(Self { place, _around: None })
    }
}

/// Removes a folder if a signal ends this process, and lets it end.
#[cfg(unix)]
fn remove_on_signals(folder: &Path) {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let folder = folder.to_owned();
    // Without it the folder stays after a signal.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
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

/// The place beside a target.
fn beside(target: &Path) -> PathBuf {
    let Some(text) = target.to_str() else {
        let mut name = target.as_os_str().to_owned();
        name.push(NAME);
        return name.into();
    };
    // Behind a format may be a node; otherwise the root is meant.
    let root = text.strip_suffix(':').and_then(|text| text.rsplit_once('|'));
    let (root, format) = root.map_or((text, String::new()), |(root, format)| (root, format!("|{format}:")));
    format!("{}{NAME}{format}", root.trim_end_matches('/')).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_beside_the_target() {
        for (target, place) in [
            ("a/b.zarr/", "a/b.zarr.importing"),
            ("file:///a|zarr3:", "file:///a.importing|zarr3:"),
            ("a|n5:b/c", "a|n5:b/c.importing"),
        ] {
            assert_eq!(beside(Path::new(target)), Path::new(place));
        }
    }

    #[test]
    fn what_goes_elsewhere_is_in_a_folder_that_only_its_user_sees() {
        let [a, b] = [0; 2].map(|_| Staging::for_target(Path::new("s3://bucket/a.zarr")).expect("a folder"));
        assert_ne!(a.place, b.place);
        let folder = a.place.parent().expect("a folder around it").to_owned();
        assert_eq!(folder.parent(), Some(&*std::env::temp_dir()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&folder).expect("it is there").permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
        }
        drop(a);
        assert!(!folder.exists());
    }

    #[test]
    fn a_folder_that_is_there_is_not_used() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let target = folder.path().join("a/b.zarr");
        let first = Staging::for_target(&target).expect("it is new");
        assert!(first.place.is_dir());
        assert!(Staging::for_target(&target).is_err_and(|failure| failure.message().contains("ndzarr rm")));
    }
}
