//! Servers that ignore ranges: a value is read whole, once.

use futures_util::future::join_all;
use ndzarr_store::{AsyncStore, Fetch, Fetched, Key, Of, Want, block_on};
use ndzarr_testkit::object_server::{Dialect, Fault, FaultRule, ObjectServer, Request};

use crate::it::wrong_answers::web;
use crate::it::{Outcome, fetch};

#[test]
fn rs_14_a_server_that_ignores_ranges_is_read_whole_once() -> Outcome {
    let server = ObjectServer::start(Dialect::Http);
    let value: String = (0..1000).map(|number| format!("{number:04}")).collect();
    server.objects().put("shard", value.clone());
    server.faults([FaultRule::always(Fault::NoRange)]);
    let store = web(&server);
    let Fetched::Parts { pin, parts, size } = fetch(&store, "shard", Want::Tail(8))? else {
        panic!("it is there")
    };
    assert_eq!((size, &*parts[0]), (4000, &b"09980999"[..]));
    // One request showed that ranges are ignored, and one read all of the value.
    assert_eq!(server.traffic().requests, 2);
    for number in 0..100_u64 {
        let want = Want::Ranges(vec![4 * number..4 * number + 4, 2000..2004]);
        let of = Of::Snapshot(pin.clone());
        let fetched = block_on(store.fetch(&Fetch {
            key: Key::new("shard")?,
            of,
            want,
        }))?;
        let Fetched::Parts { parts, .. } = fetched else {
            panic!("it did not change")
        };
        assert_eq!(parts, [format!("{number:04}"), "0500".to_owned()]);
    }
    let bodies = server
        .requests()
        .iter()
        .filter(|seen| seen.request.method == "GET")
        .count();
    assert_eq!(bodies, 2);

    // A new value is noticed, under a pin and without one.
    server.objects().put("shard", value.replace("0999", "last"));
    let want = Want::Tail(4);
    let fetched = block_on(store.fetch(&Fetch {
        key: Key::new("shard")?,
        of: Of::Snapshot(pin),
        want: want.clone(),
    }))?;
    assert!(matches!(fetched, Fetched::Changed), "{fetched:?}");
    let Fetched::Parts { parts, .. } = fetch(&store, "shard", want.clone())? else {
        panic!("it is there")
    };
    assert_eq!(parts, ["last"]);
    server.objects().erase("shard");
    assert!(matches!(fetch(&store, "shard", want)?, Fetched::Missing));
    Ok(())
}

#[test]
fn rs_14_a_value_that_is_wanted_by_many_is_read_whole_once() -> Outcome {
    const BYTES: usize = 8 << 20;
    let server = ObjectServer::start(Dialect::Http);
    let value: Vec<u8> = (0..BYTES).map(|at| (at / 7) as u8).collect();
    server.objects().put("shard", value.clone());
    server.faults([FaultRule::always(Fault::NoRange)]);
    let store = web(&server);
    let held = server.hold();
    let fetches: Vec<_> = (0..32_u64)
        .map(|n| Fetch {
            key: Key::new("shard").expect("a key"),
            of: Of::Any,
            want: Want::Ranges(vec![1000 * n..1000 * n + 900]),
        })
        .collect();
    let fetched = std::thread::scope(|scope| {
        let reader =
            scope.spawn(|| block_on(join_all(fetches.iter().map(|fetch| store.fetch(fetch)))));
        held.wait_for(32);
        drop(held);
        reader.join().expect("it does not panic")
    });
    for (n, fetched) in fetched.into_iter().enumerate() {
        let Fetched::Parts { parts, .. } = fetched? else {
            panic!("it is there")
        };
        assert!(parts == [&value[1000 * n..1000 * n + 900]]);
    }
    let is_whole = |request: &Request| request.method == "GET" && request.header("range").is_none();
    let n_whole = server
        .requests()
        .iter()
        .filter(|seen| is_whole(&seen.request))
        .count();
    assert_eq!(n_whole, 1);
    Ok(())
}
