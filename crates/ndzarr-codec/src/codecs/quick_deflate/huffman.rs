//! Prefix codes of least length within a limit (RFC 1951, 3.2.2).

/// A prefix code of `N` symbols.
pub(super) struct Code<const N: usize> {
    /// How many bits each symbol has; 0 for one that does not occur.
    pub(super) lens: [u8; N],
    /// The bits of each symbol, in the order in which they are written.
    pub(super) bits: [u16; N],
}

impl<const N: usize> Code<N> {
    /// The code of least length for symbols that occur so often, none of them longer than `limit` bits. There are always two
    /// symbols at least: some decoders refuse codes that leave bits without a meaning.
    pub(super) fn new(counts: &[u32; N], limit: usize) -> Self {
        let mut lens = [0; N];
        // Symbols that occur, the rarest first: count and symbol.
        let mut occur = [(0, 0); N];
        let mut n = 0;
        for (symbol, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            occur[n] = (count, symbol);
            n += 1;
        }
        if n < 2 {
            let (_, symbol) = occur[0];
            lens[symbol] = 1;
            lens[usize::from(symbol == 0)] = 1;
        } else {
            let occur = &mut occur[..n];
            occur.sort_unstable();
            let mut n_of_len = limited(&depths(occur), limit);
            let mut len = limit;
            for &(_, symbol) in occur.iter() {
                while n_of_len[len] == 0 {
                    len -= 1;
                }
                n_of_len[len] -= 1;
                lens[symbol] = len as u8;
            }
        }
        Self { bits: canonical(&lens), lens }
    }
}

/// The most bits that a code without a limit can have here: the counts of a block add up to less than 2^32, and the numbers
/// of Fibonacci, which make the deepest tree, reach that after 47.
const DEEPEST: usize = 48;

/// How many codes have each length, for symbols in the order of their counts: in place, after Moffat and Katajainen.
fn depths(occur: &[(u32, usize)]) -> [u32; DEEPEST + 1] {
    let n = occur.len();
    // First the weights of the inner nodes, then the places of their parents, then their depths.
    let mut nodes = vec![0_u64; n - 1];
    let (mut leaf, mut inner) = (0, 0);
    for next in 0..n - 1 {
        for _ in 0..2 {
            if leaf < n && (inner >= next || u64::from(occur[leaf].0) <= nodes[inner]) {
                nodes[next] += u64::from(occur[leaf].0);
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
    let mut inner_at = [0_u32; DEEPEST + 1];
    for &depth in &nodes {
        inner_at[depth as usize] += 1;
    }
    // Every inner node has two children; those that are none themselves are leaves.
    let mut leaves = [0; DEEPEST + 1];
    for depth in 1..=DEEPEST {
        leaves[depth] = 2 * inner_at[depth - 1] - inner_at[depth];
    }
    leaves
}

/// The same with no length above `limit`: what is too long becomes as long as the limit, and for each excess one code that is
/// shorter gives way.
fn limited(n_of_len: &[u32; DEEPEST + 1], limit: usize) -> [u32; DEEPEST + 1] {
    let mut limited = *n_of_len;
    let (within, beyond) = limited.split_at_mut(limit + 1);
    within[limit] += beyond.iter().sum::<u32>();
    beyond.fill(0);
    // In units of the longest code; all codes together fill the whole.
    let whole = 1_u64 << limit;
    let mut used: u64 = (1..=limit).map(|len| u64::from(limited[len]) << (limit - len)).sum();
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

/// The bits that the lengths stand for.
fn canonical<const N: usize>(lens: &[u8; N]) -> [u16; N] {
    let mut n_of_len = [0_u16; 16];
    for &len in lens {
        n_of_len[usize::from(len)] += 1;
    }
    n_of_len[0] = 0;
    let mut next = [0_u16; 16];
    for len in 1..16 {
        next[len] = (next[len - 1] + n_of_len[len - 1]) << 1;
    }
    let mut bits = [0; N];
    for (bits, &len) in bits.iter_mut().zip(lens).filter(|(_, len)| **len > 0) {
        let next = &mut next[usize::from(len)];
        *bits = next.reverse_bits() >> (16 - len);
        *next += 1;
    }
    bits
}
