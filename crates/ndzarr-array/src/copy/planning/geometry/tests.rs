//! Plans against counts by hand, and against a walk that counts each decoding.

use proptest::prelude::*;

use super::*;

fn task<'t>(shape: &'t [u64], read: &'t [u64], write: &'t [u64], room: u64) -> Task<'t> {
    Task {
        shape,
        read,
        write,
        sizes: [2, 2],
        converts: false,
        carries: true,
        room,
        lanes: 2,
    }
}

/// How many units of the source a copy by this walk decodes, block by block, for each that there
/// is.
fn counted(task: &Task<'_>, walk: &Walk) -> f64 {
    let ndim = task.shape.len();
    let starts = |axis: usize| {
        (0..task.shape[axis])
            .step_by(walk.block[axis] as usize)
            .collect::<Vec<u64>>()
    };
    let mut all: Vec<Vec<u64>> = vec![Vec::new()];
    for axis in 0..ndim {
        let starts = starts(axis);
        all = all
            .iter()
            .flat_map(|head| starts.iter().map(|&at| [&head[..], &[at]].concat()))
            .collect();
    }
    let mut decoded = 0u64;
    for block in all {
        let units = (0..ndim).map(|axis| {
            let (unit, n) = (task.read[axis], task.shape[axis]);
            let end = (block[axis] + walk.block[axis]).min(n);
            let mut first = block[axis] / unit;
            // The block before has read to the end of the unit that this one begins in.
            if walk.carry == Some(axis) && block[axis] > 0 && !block[axis].is_multiple_of(unit) {
                first += 1;
            }
            ((end - 1) / unit + 1).saturating_sub(first)
        });
        decoded += units.product::<u64>();
    }
    let units: u64 = (0..ndim)
        .map(|axis| task.shape[axis].div_ceil(task.read[axis]))
        .product();
    decoded as f64 / units as f64
}

#[test]
fn meetings_are_those_of_a_walk() {
    // 0..100 overlaps 2 units of 64, 100..200 overlaps 3, and so on: 2 3 2 3 2 3 2 3 3 2 1.
    assert_eq!(meetings(1024, 64, 100), 26.0 / 16.0);
    assert_eq!(meetings(1024, 8, 64), 1.0);
    assert_eq!(meetings(1024, 64, 8), 8.0);
    assert_eq!(meetings(7, 100, 7), 1.0);
    assert_eq!(meetings(0, 4, 4), 1.0);
    assert_eq!(end_of_unit(1024, 64, 100), 128);
    assert_eq!(end_of_unit(1000, 64, 1000), 1000);
    assert_eq!(end_of_unit(1000, 64, 990), 1000);
}

#[test]
fn units_that_nest_are_decoded_once() {
    let shape = [1024, 1024, 512];
    for (read, write) in [
        ([64, 64, 64], [256, 256, 256]),
        ([256, 256, 256], [64, 64, 64]),
        ([8, 1024, 512], [64, 64, 64]),
    ] {
        let walk = task(&shape, &read, &write, 160 << 20)
            .best_walk()
            .expect("it fits");
        assert_eq!(walk.decodes, 1.0, "{walk:?}");
        assert!(
            walk.ahead && walk.carry.is_none() && walk.bytes <= 160 << 20,
            "{walk:?}"
        );
    }
}

#[test]
fn cubes_that_do_not_nest_carry_over() {
    let walk = task(&[1024, 1024, 512], &[64; 3], &[100; 3], 160 << 20)
        .best_walk()
        .expect("it fits");
    assert!(walk.carry.is_some() && walk.decodes < 1.2, "{walk:?}");
    // Without that it would be 1.3.
    let without = task(&[1024, 1024, 512], &[64; 3], &[100; 3], 160 << 20)
        .grown(None, true)
        .expect("it fits");
    assert!(without.decodes > 1.3, "{without:?}");
}

#[test]
fn planes_become_columns_through_a_temporary() {
    let (shape, read, write) = ([1024, 1024, 512], [8, 1024, 512], [1024, 32, 32]);
    let task = task(&shape, &read, &write, 160 << 20);
    let walk = task.best_walk().expect("it fits");
    assert!(walk.decodes > MOST_DECODES, "{walk:?}");
    let middle = between(&task).expect("it fits");
    let bytes = 2 * middle.iter().product::<u64>();
    assert!(bytes >= 1 << 20, "{middle:?}");
    // Both ways without decoding anything twice.
    let first = Task {
        write: &middle,
        ..task.clone()
    }
    .best_walk()
    .expect("it fits");
    let second = Task {
        read: &middle,
        ..task.clone()
    }
    .best_walk()
    .expect("it fits");
    assert_eq!(
        (first.decodes, second.decodes),
        (1.0, 1.0),
        "{middle:?} {first:?} {second:?}"
    );
}

#[test]
fn a_unit_that_does_not_fit_is_told() {
    let (shape, unit) = ([1024], [512]);
    let small = task(&shape, &unit, &unit, 1000);
    assert_eq!((small.best_walk(), small.least_room()), (None, 1024));
    let walk = task(&shape, &unit, &unit, 1024)
        .best_walk()
        .expect("it fits");
    assert_eq!((walk.block, walk.ahead), (vec![512], false));
    // Elements that are converted are in memory twice.
    let converted = Task {
        converts: true,
        sizes: [2, 4],
        ..task(&shape, &unit, &unit, 3000)
    };
    assert_eq!(
        (converted.best_walk(), converted.least_room()),
        (None, 512 * 6)
    );
}

#[test]
fn arrays_without_axes_or_elements_have_plans() {
    assert_eq!(
        task(&[], &[], &[], 2)
            .best_walk()
            .expect("one element")
            .block,
        Vec::<u64>::new()
    );
    let empty = task(&[0, 5], &[2, 2], &[3, 3], 0)
        .best_walk()
        .expect("nothing");
    assert_eq!((empty.block[0], empty.bytes), (0, 0));
}

/// surface/H2: the lengths of axes are those of a document, whatever is stored.
#[test]
fn plans_of_long_axes_take_few_steps() {
    let all = 1 << 62;
    for (shape, read, write, room) in [
        (vec![100_000_000], vec![10], vec![7], 64 << 20),
        (vec![1_000_000_000], vec![1], vec![7], 256 << 20),
        (vec![all, 1], vec![1, 1], vec![1, 1], 256 << 20),
        (vec![all], vec![7], vec![11], u64::MAX),
        (vec![all; 60], vec![3; 60], vec![1; 60], 256 << 20),
    ] {
        let sizes = [1, 1];
        let task = Task {
            sizes,
            ..task(&shape, &read, &write, room)
        };
        for (carry, ahead) in [(None, true), (Some(0), true), (None, false)] {
            let (mut block, mut steps) = (write.clone(), 0);
            while let Some(next) = task.next_step(&block, carry, ahead) {
                (block, steps) = (next, steps + 1);
            }
            // 64 of one unit for each axis, and then each of a 64th: of 2^62 elements 44 /
            // ln(65/64).
            assert!(steps < 10_000, "{shape:?} {carry:?} {ahead}: {steps}");
            let walk = task.grown(carry, ahead).expect("it fits");
            assert!(walk.bytes <= room, "{walk:?}");
        }
    }
    for shape in [[0, all], [all, 0]] {
        let walk = task(&shape, &[1, 1], &[1, 1], 256 << 20)
            .best_walk()
            .expect("nothing");
        assert_eq!((walk.block, walk.bytes), (shape.to_vec(), 0));
    }
}

/// The walk that a closed formula replaces.
fn walked(n: u64, unit: u64, block: u64) -> f64 {
    let blocks = (0..n)
        .step_by(block as usize)
        .map(|start| start..(start + block).min(n));
    let met: u64 = blocks
        .map(|block| (block.end - 1) / unit - block.start / unit + 1)
        .sum();
    met as f64 / n.div_ceil(unit) as f64
}

proptest! {
    #[test]
    fn meetings_are_counted(n in 1u64..300, unit in 1u64..40, block in 1u64..80) {
        prop_assert_eq!(meetings(n, unit, block), walked(n, unit, block));
    }

    #[test]
    fn a_plan_decodes_as_often_as_it_says_and_fits(
        axes in prop::collection::vec((1u64..60, 1u64..20, 1u64..20), 1..4),
        room in 1u64..40_000,
    ) {
        let shape: Vec<u64> = axes.iter().map(|axis| axis.0).collect();
        let read: Vec<u64> = axes.iter().map(|axis| axis.1).collect();
        let write: Vec<u64> = axes.iter().map(|axis| axis.2).collect();
        let task = task(&shape, &read, &write, room);
        match task.best_walk() {
            None => prop_assert!(task.least_room() > room),
            Some(walk) => {
                prop_assert!(walk.bytes <= room && task.least_room() <= room);
                for axis in 0..shape.len() {
                    let whole = walk.block[axis] == shape[axis] || walk.block[axis].is_multiple_of(write[axis]);
                    prop_assert!(whole, "{walk:?}");
                }
                let counted = counted(&task, &walk);
                prop_assert!((walk.decodes - counted).abs() < 1e-9 * counted, "{walk:?}: {counted}");
                // With all the memory there is, nothing is decoded twice.
                let ample = Task { room: u64::MAX, ..task.clone() }.best_walk().expect("it fits");
                prop_assert!((ample.decodes - 1.0).abs() < 1e-9, "{ample:?}");
            }
        }
    }
}
