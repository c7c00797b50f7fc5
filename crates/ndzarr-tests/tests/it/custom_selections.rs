//! Custom selections, made of others.

use ndarray::{IxDyn, NewAxis};
use ndzarr::{Array, Error, ErrorKind, MemoryStore, Points, Resolved, Selection};

fn refused(result: Result<(), Error>, what: &str) {
    let error = result.expect_err(what);
    assert_eq!(error.kind(), ErrorKind::WrongShape, "{error}");
    assert!(error.to_string().contains(what), "{error}");
}

#[test]
fn an_outer_product_has_no_points_and_may_have_new_axes() {
    let points = Points::new([[0]]).resolve(&[3]).expect("a point");
    refused(
        Resolved::outer([points]).map(drop),
        "select along all of its axes at once",
    );
    let new = (NewAxis,).resolve(&[]).expect("a new axis");
    let parts = [
        new.clone(),
        (vec![2, 0],).resolve(&[3]).expect("a list"),
        new,
    ];
    assert_eq!(
        Resolved::outer(parts).expect("two axes more").shape(),
        [1, 2, 1]
    );
    let none: [Resolved; 0] = [];
    assert_eq!(
        Resolved::outer(none).expect("no axes"),
        ().resolve(&[]).expect("a scalar")
    );
}

/// A selection of the caller's own that is wrong about the array is an error, and nothing is read.
#[test]
fn a_selection_resolved_for_another_shape_is_an_error() {
    struct Of(Vec<u64>);

    impl Selection for Of {
        type OutDim = IxDyn;

        fn resolve(&self, _: &[u64]) -> Result<Resolved, Error> {
            (..).resolve(&self.0)
        }
    }

    let array = Array::<u8>::builder([4, 6])
        .create((MemoryStore::new(), "a"))
        .expect("a new array");
    assert_eq!(
        array.read(Of(vec![3, 2])).expect("a part of it").shape(),
        [3, 2]
    );
    for shape in [vec![4], vec![4, 6, 1], vec![5, 6], vec![4, 7]] {
        refused(
            array.read(Of(shape.clone())).map(drop),
            "resolved for another shape",
        );
        refused(array.fill(Of(shape), 1), "resolved for another shape");
    }
    // One point and one mask that reach beyond it, though they have as many axes.
    let point = Points::new([[0, 0], [3, 6]])
        .resolve(&[4, 7])
        .expect("they are in the other one");
    let mask = ndarray::Array2::from_elem((4, 7), true)
        .resolve(&[4, 7])
        .expect("a mask of the other one");
    struct Given(Resolved);

    impl Selection for Given {
        type OutDim = IxDyn;

        fn resolve(&self, _: &[u64]) -> Result<Resolved, Error> {
            Ok(self.0.clone())
        }
    }

    for other in [point, mask] {
        refused(
            array.fill(Given(other.clone()), 1),
            "resolved for another shape",
        );
        let whole = (..).resolve(&[4, 6]).expect("all of it");
        refused(
            whole.view(Given(other)).map(drop),
            "resolved for another shape",
        );
    }
}
