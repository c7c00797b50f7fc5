//! Exact percentiles in bounded memory: each pass over the elements finds 16 more bits of them.

use half::{bf16, f16};

use crate::elements::sums::Summed;

/// A number with an integer key that has the order of the numbers.
pub(crate) trait Ranked: Summed {
    /// The number of bits of the key.
    const KEY_BITS: u32;

    /// The key: it has the order of the numbers.
    fn key(self) -> u64;

    /// The number with this key.
    fn of_key(key: u64) -> Self;
}

macro_rules! unsigned {
    ($($type:ty),*) => {$(
        impl Ranked for $type {
            const KEY_BITS: u32 = <$type>::BITS;

            fn key(self) -> u64 {
                self.into()
            }

            fn of_key(key: u64) -> Self {
                key as Self
            }
        }
    )*};
}
unsigned!(u8, u16, u32, u64);

macro_rules! signed {
    ($($type:ty, $unsigned:ty;)*) => {$(
        impl Ranked for $type {
            const KEY_BITS: u32 = <$type>::BITS;

            fn key(self) -> u64 {
                (self.wrapping_sub(Self::MIN) as $unsigned).into()
            }

            fn of_key(key: u64) -> Self {
                (key as $unsigned as Self).wrapping_add(Self::MIN)
            }
        }
    )*};
}
signed! {
    i8, u8;
    i16, u16;
    i32, u32;
    i64, u64;
}

macro_rules! floats {
    ($($type:ty, $bits:ty;)*) => {$(
        impl Ranked for $type {
            const KEY_BITS: u32 = <$bits>::BITS;

            /// The bits of positive numbers have their order; those of negative ones the reverse.
            fn key(self) -> u64 {
                let bits = self.to_bits();
                let sign = 1 << (Self::KEY_BITS - 1);
                (if bits & sign == 0 { bits | sign } else { !bits }).into()
            }

            fn of_key(key: u64) -> Self {
                let bits = key as $bits;
                let sign = 1 << (Self::KEY_BITS - 1);
                Self::from_bits(if bits & sign == 0 { !bits } else { bits & !sign })
            }
        }
    )*};
}
floats! {
    f16, u16;
    bf16, u16;
    f32, u32;
    f64, u64;
}

/// A search for the elements with given ranks.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    bits: u32,
    /// The number of known bits of the keys.
    known: u32,
    targets: Vec<Target>,
}

/// An element that is searched for.
#[derive(Clone, Debug)]
struct Target {
    /// The rank among the elements whose keys begin with the same bits.
    rank: u64,
    /// The known bits of the key.
    prefix: u64,
}

/// The number of elements for each value of the next bits, after each prefix.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    prefixes: Vec<u64>,
    tables: Vec<Vec<u64>>,
}

impl Search {
    /// A search for the elements at these indices of the sorted list of all numbers.
    pub(crate) fn new<T: Ranked>(ranks: &[u64]) -> Self {
        let targets = ranks
            .iter()
            .map(|&rank| Target { rank, prefix: 0 })
            .collect();
        Self {
            bits: T::KEY_BITS,
            known: 0,
            targets,
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.known == self.bits
    }

    /// The number of bits that the next pass finds.
    fn step(&self) -> u32 {
        (self.bits - self.known).min(16)
    }

    /// Counts for a new pass.
    pub(crate) fn counts(&self) -> Counts {
        let mut prefixes: Vec<u64> = self.targets.iter().map(|target| target.prefix).collect();
        prefixes.sort_unstable();
        prefixes.dedup();
        let tables = vec![vec![0; 1 << self.step()]; prefixes.len()];
        Counts { prefixes, tables }
    }

    /// Counts elements, each of them `times`.
    pub(crate) fn count<T: Ranked>(&self, elements: &[T], times: u64, counts: &mut Counts) {
        let low = self.bits - self.known - self.step();
        let mask = (1_u64 << self.step()) - 1;
        for number in elements.iter().filter(|number| !number.is_not_a_number()) {
            let bits = number.key() >> low;
            let table = match self.known {
                0 => Some(0),
                _ => counts.prefixes.binary_search(&(bits >> self.step())).ok(),
            };
            if let Some(table) = table {
                counts.tables[table][(bits & mask) as usize] += times;
            }
        }
    }

    /// Ends a pass: the counts show the next bits of all targets.
    pub(crate) fn narrow(&mut self, counts: &Counts) {
        let step = self.step();
        for target in &mut self.targets {
            let Ok(table) = counts.prefixes.binary_search(&target.prefix) else {
                continue;
            };
            let mut next = 0;
            for (bits, &n) in counts.tables[table].iter().enumerate() {
                next = bits as u64;
                if target.rank < n {
                    break;
                }
                target.rank -= n;
            }
            target.prefix = target.prefix << step | next;
        }
        self.known += step;
    }

    /// The elements, in the order of the ranks.
    pub(crate) fn found<T: Ranked>(&self) -> Vec<T> {
        self.targets
            .iter()
            .map(|target| T::of_key(target.prefix))
            .collect()
    }
}

impl Counts {
    /// The counts of both together.
    pub(crate) fn and(mut self, other: &Self) -> Self {
        for (table, others) in self.tables.iter_mut().zip(&other.tables) {
            for (n, more) in table.iter_mut().zip(others) {
                *n += more;
            }
        }
        self
    }
}

/// The position of a percentile of `n` numbers, as NumPy defines it by default: the two ranks that
/// it is between, and its distance from the first.
pub(crate) fn percentile_position(percent: f64, n: u64) -> (u64, u64, f64) {
    let at = (n.saturating_sub(1)) as f64 * percent / 100.0;
    let low = at.floor();
    (low as u64, at.ceil() as u64, at - low)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Ranked>(mut numbers: Vec<T>) {
        let ranks: Vec<u64> = (0..numbers.len() as u64).step_by(7).collect();
        let mut search = Search::new::<T>(&ranks);
        while !search.is_done() {
            let mut a = search.counts();
            let mut b = search.counts();
            let half = numbers.len() / 2;
            search.count(&numbers[..half], 1, &mut a);
            search.count(&numbers[half..], 1, &mut b);
            search.narrow(&a.and(&b));
        }
        numbers.sort_by(|a, b| a.partial_cmp(b).expect("it is valid"));
        let sorted: Vec<T> = ranks.iter().map(|&rank| numbers[rank as usize]).collect();
        assert!(search.found::<T>() == sorted);
    }

    #[test]
    fn ranks_are_those_of_a_sorted_list() {
        let numbers = || (1..500_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        check(numbers().map(|x| x as u8).collect());
        check(numbers().map(|x| x as i8).collect());
        check(numbers().map(|x| x as i16).collect());
        check(numbers().map(|x| x as u32).collect());
        check(numbers().map(|x| x as i64).collect());
        check(numbers().map(|x| x as i32 as f32 / 3.0).collect());
        check(numbers().map(|x| x as i64 as f64 / 3.0).collect());
        check(numbers().map(|x| f16::from_f32(x as i8 as f32)).collect());
        check(vec![
            f64::INFINITY,
            f64::NEG_INFINITY,
            0.0,
            1e-300,
            -1e-300,
            5.0,
            5.0,
            7.0,
        ]);
    }

    #[test]
    fn percentiles_are_between_two_elements() {
        assert_eq!(percentile_position(50.0, 5), (2, 2, 0.0));
        assert_eq!(percentile_position(50.0, 4), (1, 2, 0.5));
        assert_eq!(percentile_position(0.0, 9), (0, 0, 0.0));
        assert_eq!(percentile_position(100.0, 9), (8, 8, 0.0));
    }
}
