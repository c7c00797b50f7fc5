//! Numbers like those of measuring instruments.

/// Numbers of a given number of bits that look random, by Lehmer's generator.
pub(crate) fn random(mut state: u64) -> impl FnMut(u32) -> u32 {
    move |bits| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> (64 - bits)) as u32
    }
}

/// An image of `n` pixels of 16 bits: a wave, with approximately normal noise of deviation `noise`.
pub(crate) fn image(n: usize, noise: f64) -> Vec<u8> {
    let mut random = random(7);
    let mut value = |i: usize| {
        let normal = (0..12)
            .map(|_| f64::from(random(16)) / 65_536.0)
            .sum::<f64>()
            - 6.0;
        let x = (i % 128) as f64;
        let y = (i / 128 % 128) as f64;
        (1000.0 + 400.0 * (x / 40.0).sin() + 300.0 * (y / 25.0).cos() + noise * normal) as u16
    };
    (0..n).flat_map(|i| value(i).to_le_bytes()).collect()
}
