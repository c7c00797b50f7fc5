//! Huffman codes of minimal length within a limit.

/// The number of bits of each symbol in the shortest code for these counts, at most `limit` each; 0
/// for a symbol that does not occur. At least two symbols have a code, because some decoders refuse
/// codes that leave bit sequences without a meaning.
pub(crate) fn lengths<const N: usize>(counts: &[u32; N], limit: usize) -> [u8; N] {
    let mut lens = [0; N];
    // Symbols that occur, the rarest first: count and symbol.
    let mut occurring = [(0, 0); N];
    let mut n = 0;
    for (symbol, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        occurring[n] = (count, symbol);
        n += 1;
    }
    if n < 2 {
        let (_, symbol) = occurring[0];
        lens[symbol] = 1;
        lens[usize::from(symbol == 0)] = 1;
        return lens;
    }
    let occurring = &mut occurring[..n];
    occurring.sort_unstable();
    let mut n_of_len = limited(&depths(occurring), limit);
    let mut len = limit;
    for &(_, symbol) in occurring.iter() {
        while n_of_len[len] == 0 {
            len -= 1;
        }
        n_of_len[len] -= 1;
        lens[symbol] = len as u8;
    }
    lens
}

/// The most bits that a code without a limit can have: the counts of a block add up to less than
/// 2^32, and the Fibonacci numbers, which give the deepest tree, reach that after 47.
const DEEPEST: usize = 48;

/// The number of codes of each length, for symbols in the order of their counts: in place, after
/// Moffat and Katajainen.
fn depths(occurring: &[(u32, usize)]) -> [u32; DEEPEST + 1] {
    let n = occurring.len();
    // First the weights of the inner nodes, then the indices of their parents, then their depths.
    let mut nodes = vec![0_u64; n - 1];
    let mut leaf = 0;
    let mut inner = 0;
    for next in 0..n - 1 {
        for _ in 0..2 {
            if leaf < n && (inner >= next || u64::from(occurring[leaf].0) <= nodes[inner]) {
                nodes[next] += u64::from(occurring[leaf].0);
                leaf += 1;
            } else {
                nodes[next] += nodes[inner];
                nodes[inner] = next as u64;
                inner += 1;
            }
        }
    }
    nodes[n - 2] = 0;
    for i in (0..n - 2).rev() {
        nodes[i] = nodes[nodes[i] as usize] + 1;
    }
    let mut n_inner_at = [0_u32; DEEPEST + 1];
    for &depth in &nodes {
        n_inner_at[depth as usize] += 1;
    }
    // Every inner node has two children; those that are not inner nodes are leaves.
    let mut leaves = [0; DEEPEST + 1];
    for depth in 1..=DEEPEST {
        leaves[depth] = 2 * n_inner_at[depth - 1] - n_inner_at[depth];
    }
    leaves
}

/// The number of codes of each length with no length above `limit`: longer codes get that length,
/// and for each excess a shorter code becomes longer.
fn limited(n_of_len: &[u32; DEEPEST + 1], limit: usize) -> [u32; DEEPEST + 1] {
    let mut limited = *n_of_len;
    let (within, beyond) = limited.split_at_mut(limit + 1);
    within[limit] += beyond.iter().sum::<u32>();
    beyond.fill(0);
    // In units of the longest code; all codes together fill the whole.
    let whole = 1_u64 << limit;
    let mut used: u64 = (1..=limit)
        .map(|len| u64::from(limited[len]) << (limit - len))
        .sum();
    while used > whole {
        let shorter = (1..limit).rev().find(|&len| limited[len] > 0);
        let Some(len) = shorter else { break };
        limited[limit] -= 1;
        limited[len] -= 1;
        limited[len + 1] += 2;
        used -= 1;
    }
    limited
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The total number of bits of all symbols, by Huffman's original algorithm: join the two
    /// rarest until one is left.
    fn least_bits(counts: &[u32]) -> u64 {
        let mut weights: Vec<u64> = counts
            .iter()
            .filter(|count| **count > 0)
            .map(|count| u64::from(*count))
            .collect();
        let mut bits = 0;
        while weights.len() > 1 {
            weights.sort_unstable_by(|a, b| b.cmp(a));
            let joined = weights.split_off(weights.len() - 2).iter().sum();
            bits += joined;
            weights.push(joined);
        }
        bits
    }

    proptest! {
        #[test]
        fn codes_are_complete_within_the_limit_and_shortest_without(
            counts in prop::array::uniform20(prop_oneof![Just(0u32), 1u32..8, 1u32..70_000]),
            limit in 5usize..16,
        ) {
            let lens = lengths(&counts, limit);
            let space: u32 = lens.iter().filter(|len| **len > 0).map(|len| 1 << (15 - u32::from(*len))).sum();
            prop_assert_eq!(space, 1 << 15);
            prop_assert!(lens.iter().all(|len| usize::from(*len) <= limit));
            let all = || counts.iter().zip(&lens);
            prop_assert!(all().all(|(count, len)| *count == 0 || *len > 0));
            let n_occur = all().filter(|(count, _)| **count > 0).count();
            if n_occur > 1 {
                let bits: u64 = all().map(|(count, len)| u64::from(*count) * u64::from(*len)).sum();
                let least = least_bits(&counts);
                prop_assert!(bits >= least);
                // Without a limit no code of 20 symbols has more than 19 bits; few have more than
                // 15.
                let unlimited = lengths(&counts, 15);
                if unlimited.iter().all(|len| usize::from(*len) <= limit.min(14)) {
                    prop_assert_eq!(bits, least);
                }
            }
        }
    }
}
