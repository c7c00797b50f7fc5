//! Names of other programs' unfinished files: `*.partial` (zarr-python), `.n5tmp*` (Java N5),
//! `*.__lock` (tensorstore and ndzarr). They are never taken for chunks, nodes or members.

use std::error::Error;
use std::fs;

use ndarray::Array1;
use ndzarr::{Array, ArrayBuilder, Format, FsStore, Group};

type Outcome = Result<(), Box<dyn Error>>;

fn layouts() -> Vec<(&'static str, ArrayBuilder<u16>)> {
    let plain = |format| Array::<u16>::builder([12]).chunks([4]).format(format);
    vec![
        ("v2", plain(Format::Zarr2)),
        ("v3", plain(Format::Zarr3)),
        (
            "v3 shards",
            Array::<u16>::builder([12]).chunks([2]).shards([4]),
        ),
        ("draft A", plain(Format::DraftA)),
        ("draft B", plain(Format::DraftB)),
        ("n5", plain(Format::N5)),
    ]
}

#[test]
fn unfinished_files_of_others_are_no_chunks() -> Outcome {
    for (name, builder) in layouts() {
        let folder = tempfile::tempdir()?;
        let store = FsStore::new(folder.path());
        let group = Group::create(
            &store,
            builder
                .clone()
                .create((ndzarr::MemoryStore::new(), "a"))?
                .format(),
        )?;
        let a = group.create_array("a", builder)?;
        a.write([0..4], &Array1::from_elem(4, 7))?;
        let listed = || -> ndzarr::Result<Vec<String>> {
            Ok(group.children()?.iter().map(|child| child.path()).collect())
        };
        let members = listed()?;
        // Next to the first chunk, which exists, and in place of the second and third, which do
        // not.
        let mut left = Vec::new();
        for chunk in 0..3 {
            let path = folder.path().join(a.units().key(&[chunk]));
            let with_suffix = |suffix: &str| {
                let mut path = path.clone().into_os_string();
                path.push(suffix);
                path
            };
            left.extend([".partial", ".4f2a.partial", ".__lock"].map(with_suffix));
            left.push(
                path.with_file_name(format!(".n5tmp{chunk}"))
                    .into_os_string(),
            );
        }
        for path in &left {
            fs::write(path, "not a chunk")?;
        }

        let expected = Array1::from_iter((0..12).map(|i| if i < 4 { 7 } else { 0 }));
        let mut a = Array::<u16>::open((&store, "a"))?;
        assert_eq!(a.read([0..12])?, expected, "{name}");
        assert_eq!(listed()?, members, "{name}");
        // Listing for a shrink and growing again see them, too.
        a.resize([2])?;
        a.resize([12])?;
        assert_eq!(a.read([0..12])?.sum(), 14, "{name}");
        a.write([0..12], &Array1::from_elem(12, 9))?;
        assert_eq!(
            Array::<u16>::open((&store, "a"))?.read([0..12])?.sum(),
            108,
            "{name}"
        );
    }
    Ok(())
}
