//! Pieces of work in an order, which threads share.

use std::ops::Range;

/// Items that may be made when they are taken, so that a call over very many of them holds few.
pub(crate) trait Sequence: Sized + Send {
    type Item: Send;

    /// How many are left.
    fn len(&self) -> usize;

    fn next(&mut self) -> Option<Self::Item>;

    fn next_back(&mut self) -> Option<Self::Item>;

    /// Takes the first `n` out, which are at most all of them.
    fn split_front(&mut self, n: usize) -> Self;
}

impl<T: Send> Sequence for std::vec::IntoIter<T> {
    type Item = T;

    fn len(&self) -> usize {
        ExactSizeIterator::len(self)
    }

    fn next(&mut self) -> Option<T> {
        Iterator::next(self)
    }

    fn next_back(&mut self) -> Option<T> {
        DoubleEndedIterator::next_back(self)
    }

    fn split_front(&mut self, n: usize) -> Self {
        self.take(n).collect::<Vec<_>>().into_iter()
    }
}

impl Sequence for Range<usize> {
    type Item = usize;

    fn len(&self) -> usize {
        ExactSizeIterator::len(self)
    }

    fn next(&mut self) -> Option<usize> {
        Iterator::next(self)
    }

    fn next_back(&mut self) -> Option<usize> {
        DoubleEndedIterator::next_back(self)
    }

    fn split_front(&mut self, n: usize) -> Self {
        let front = self.start..(self.start + n).min(self.end);
        self.start = front.end;
        front
    }
}

/// The items of another sequence, two at a time; the last one may be alone.
pub(crate) struct Twos<S>(pub(crate) S);

impl<S: Sequence> Sequence for Twos<S> {
    type Item = (S::Item, Option<S::Item>);

    fn len(&self) -> usize {
        self.0.len().div_ceil(2)
    }

    fn next(&mut self) -> Option<Self::Item> {
        let first = self.0.next()?;
        Some((first, self.0.next()))
    }

    fn next_back(&mut self) -> Option<Self::Item> {
        let alone = self.0.len() % 2 == 1;
        let last = self.0.next_back()?;
        match if alone { None } else { self.0.next_back() } {
            Some(first) => Some((first, Some(last))),
            None => Some((last, None)),
        }
    }

    fn split_front(&mut self, n: usize) -> Self {
        let n = n.saturating_mul(2).min(self.0.len());
        Self(self.0.split_front(n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twos_come_from_both_ends() {
        let mut twos = Twos(0..7);
        assert_eq!(twos.len(), 4);
        assert_eq!(twos.next_back(), Some((6, None)));
        assert_eq!(twos.next(), Some((0, Some(1))));
        assert_eq!(twos.next_back(), Some((4, Some(5))));
        assert_eq!(twos.next(), Some((2, Some(3))));
        assert_eq!((twos.next(), twos.next_back()), (None, None));
        let mut twos = Twos(0..7);
        assert_eq!(twos.split_front(2).0, 0..4);
        assert_eq!(twos.split_front(2).0, 4..7);
    }
}
