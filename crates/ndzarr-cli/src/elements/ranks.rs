//! Exact percentiles in bounded memory: passes over the elements that count by 16 bits at a time.

use half::{bf16, f16};

use crate::elements::sums::Summed;

/// A number whose order is that of an integer.
pub(crate) trait Ranked: Summed {
    /// How many bits the key has.
    const KEY_BITS: u32;

    /// A key with the order of the numbers.
    fn key(self) -> u64;

    /// The number of a key.
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
                let (bits, sign) = (self.to_bits(), 1 << (Self::KEY_BITS - 1));
                (if bits & sign == 0 { bits | sign } else { !bits }).into()
            }

            fn of_key(key: u64) -> Self {
                let (bits, sign) = (key as $bits, 1 << (Self::KEY_BITS - 1));
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

/// Elements that are looked for: those with given ranks.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    bits: u32,
    /// How many bits of the keys are known.
    known: u32,
    sought: Vec<Sought>,
}

#[derive(Clone, Debug)]
struct Sought {
    /// The rank among those with the same beginning of the key.
    rank: u64,
    /// The known bits.
    prefix: u64,
}

/// How often each continuation of each beginning was met.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    prefixes: Vec<u64>,
    tables: Vec<Vec<u64>>,
}

impl Search {
    /// For the elements that would be at these places if all numbers were sorted.
    pub(crate) fn new<T: Ranked>(ranks: &[u64]) -> Self {
        let sought = ranks.iter().map(|&rank| Sought { rank, prefix: 0 }).collect();
        Self { bits: T::KEY_BITS, known: 0, sought }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.known == self.bits
    }

    fn step(&self) -> u32 {
        (self.bits - self.known).min(16)
    }

    /// Counts of a pass that has not begun.
    pub(crate) fn counts(&self) -> Counts {
        let mut prefixes: Vec<u64> = self.sought.iter().map(|sought| sought.prefix).collect();
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

    /// Ends a pass.
    pub(crate) fn narrow(&mut self, counts: &Counts) {
        let step = self.step();
        for sought in &mut self.sought {
            let Ok(table) = counts.prefixes.binary_search(&sought.prefix) else { continue };
            let mut next = 0;
            for (bits, &n) in counts.tables[table].iter().enumerate() {
                next = bits as u64;
                if sought.rank < n {
                    break;
                }
                sought.rank -= n;
            }
            sought.prefix = sought.prefix << step | next;
        }
        self.known += step;
    }

    /// The elements, in the order of the ranks.
    pub(crate) fn found<T: Ranked>(&self) -> Vec<T> {
        self.sought.iter().map(|sought| T::of_key(sought.prefix)).collect()
    }
}

impl Counts {
    /// The counts of both together.
    pub(crate) fn and(mut self, other: &Self) -> Self {
        for (table, others) in self.tables.iter_mut().zip(&other.tables) {
            table.iter_mut().zip(others).for_each(|(n, more)| *n += more);
        }
        self
    }
}

/// Where a percentile of `n` numbers is: between the elements of two ranks, and how far from the first,
/// as NumPy defines it by default.
pub(crate) fn place(percent: f64, n: u64) -> (u64, u64, f64) {
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
            let (mut a, mut b) = (search.counts(), search.counts());
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
        check(vec![f64::INFINITY, f64::NEG_INFINITY, 0.0, 1e-300, -1e-300, 5.0, 5.0, 7.0]);
    }

    #[test]
    fn percentiles_are_between_two_elements() {
        assert_eq!(place(50.0, 5), (2, 2, 0.0));
        assert_eq!(place(50.0, 4), (1, 2, 0.5));
        assert_eq!(place(0.0, 9), (0, 0, 0.0));
        assert_eq!(place(100.0, 9), (8, 8, 0.0));
    }
}
