//! A group accepts the paths that it lists.

use ndzarr::{Any, Array, Format, Group, MemberKind, MemoryStore};

#[test]
fn paths_of_a_group_that_is_not_the_root() {
    for format in [
        Format::Zarr2,
        Format::Zarr3,
        Format::N5,
        Format::DraftA,
        Format::DraftB,
    ] {
        for is_consolidated in [false, true] {
            let store = MemoryStore::new();
            let mut root = Group::create(&store, format).expect("a new group");
            let below = root
                .create_group("run-1")
                .expect("a new group")
                .create_group("part")
                .expect("a new group");
            below
                .create_array("signal", Array::<f32>::builder([4]))
                .expect("a new array");
            if is_consolidated && root.consolidate().is_err() {
                continue;
            }
            let run = root.group("run-1").expect("a group");
            let walk = run.walk().expect("a listing");
            assert_eq!(
                walk.iter()
                    .map(|child| (child.path(), child.kind()))
                    .collect::<Vec<_>>(),
                [
                    ("part".to_owned(), Some(MemberKind::Group)),
                    ("part/signal".to_owned(), Some(MemberKind::Array))
                ],
                "{format}"
            );
            let opened = run.walk().expect("a listing");
            assert_eq!(
                opened.iter().map(ndzarr::Child::path).collect::<Vec<_>>(),
                ["part", "part/signal"]
            );
            assert_eq!(opened[1].name(), "signal");
            for child in opened {
                let path = child.path();
                assert_eq!(
                    child.open().expect("a node").path(),
                    format!("run-1/{path}")
                );
            }
            let part = run.group(&walk[0].path()).expect("a group");
            assert_eq!(part.children().expect("a listing")[0].path(), "signal");
            assert_eq!(
                run.array::<Any>(&walk[1].path()).expect("an array").path(),
                "run-1/part/signal"
            );
            run.erase(&walk[1].path()).expect("it exists");
            assert_eq!(run.walk().expect("a listing").len(), 1, "{format}");
        }
    }
}
