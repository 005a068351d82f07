//! Standard normal numbers with the same bits on every machine.
//!
//! General purpose libraries take the logarithms and exponentials of their rejection steps from the platform, whose
//! last bits differ; here they are libm's.

use std::ops::Range;
use std::sync::OnceLock;

use multiversion::multiversion;
use rand::Rng;
use units::chance::{exponential, unit_interval};

/// A stream of independent standard normal numbers, drawn ahead, which is possible because the generator serves no
/// other stream.
pub(crate) struct Normals {
    rng: Box<dyn Rng + Send>,
    layers: &'static Layers,
    ahead: [f64; AHEAD],
    /// The numbers of `ahead` that are not used yet.
    unused: Range<usize>,
}

/// Words that are drawn together: one for each lane and each bit of a mask.
const AHEAD: usize = LANES * u32::BITS as usize;
const LANES: usize = 4;

impl Normals {
    pub(crate) fn new(rng: Box<dyn Rng + Send>) -> Normals {
        Normals { rng, layers: Layers::get(), ahead: [0.0; AHEAD], unused: 0..0 }
    }

    /// The next number, as [`normal`] draws it.
    #[inline]
    pub(crate) fn draw(&mut self) -> f64 {
        self.run(1)[0]
    }

    /// Fills `out` with the next numbers.
    pub(crate) fn fill(&mut self, mut out: &mut [f64]) {
        while !out.is_empty() {
            let run = self.run(out.len());
            let (filled, rest) = out.split_at_mut(run.len());
            filled.copy_from_slice(run);
            out = rest;
        }
    }

    /// Passes over the next numbers.
    pub(crate) fn skip(&mut self, mut numbers: usize) {
        while numbers > 0 {
            numbers -= self.run(numbers).len();
        }
    }

    /// Some of the next numbers: at least one, at most `most`.
    #[inline]
    pub(crate) fn run(&mut self, most: usize) -> &[f64] {
        self.run_mut(most).1
    }

    /// As [`Normals::run`], and the index of the first number, for [`Normals::kept`].
    #[inline]
    pub(crate) fn run_mut(&mut self, most: usize) -> (usize, &mut [f64]) {
        if self.unused.is_empty() {
            self.refill();
        }
        let start = self.unused.start;
        self.unused.start = self.unused.end.min(start + most);
        (start, &mut self.ahead[start..self.unused.start])
    }

    /// What the caller wrote over the number `index` of the last run.
    #[inline]
    pub(crate) fn kept(&self, index: usize) -> f64 {
        self.ahead[index]
    }

    /// Draws the next words, and makes at least one number of them.
    #[cold]
    fn refill(&mut self) {
        let mut words = [[0; 8]; AHEAD];
        while self.unused.is_empty() {
            self.rng.fill_bytes(words.as_flattened_mut());
            let outside = look_up(self.layers, &words, &mut self.ahead);
            self.unused = 0..self.settle(&words, outside);
        }
    }

    /// Decides about the numbers outside of the core, and leaves no gap where several words made one number or none;
    /// how many numbers there are.
    fn settle(&mut self, words: &[[u8; 8]; AHEAD], outside: [u32; LANES]) -> usize {
        let Normals { rng, layers, ahead, .. } = self;
        // Words that were used, and numbers that were made.
        let (mut used, mut made) = (0, 0);
        let mut groups = outside.iter().fold(0, |any, lane| any | lane);
        while groups != 0 {
            let group = groups.trailing_zeros() as usize;
            groups &= groups - 1;
            for lane in (0..LANES).filter(|&lane| outside[lane] >> group & 1 == 1) {
                let index = LANES * group + lane;
                if index < used {
                    continue; // a word that decided about the number before
                }
                ahead.copy_within(used..index, made);
                made += index - used;
                used = index + 1;
                let mut uniform = || {
                    let word = words.get(used).map_or_else(|| rng.next_u64(), |&word| u64::from_le_bytes(word));
                    used += 1;
                    unit_interval(word)
                };
                let word = u64::from_le_bytes(words[index]);
                if let Some(x) = layers.beyond_the_core(word, ahead[index], &mut uniform) {
                    ahead[made] = x;
                    made += 1;
                }
            }
        }
        let used = used.min(AHEAD);
        ahead.copy_within(used.., made);
        made + AHEAD - used
    }
}

/// A standard normal number, by the ziggurat of Marsaglia and Tsang (2000) with 256 layers, with the layer and the
/// abscissa taken from different bits of a draw (Doornik 2005).
pub(crate) fn normal(rng: &mut dyn Rng) -> f64 {
    let layers = Layers::get();
    loop {
        let word = rng.next_u64();
        let layer = (word & 0xff) as usize;
        let x = abscissa(word) * layers.scaled_edge[layer];
        let number = match x.abs() < layers.edge[layer + 1] {
            true => Some(x),
            false => layers.beyond_the_core(word, x, &mut || unit_interval(rng.next_u64())),
        };
        if let Some(number) = number {
            return number;
        }
    }
}

/// The abscissa at which the tail begins, and the area of a layer, for 256 layers (Marsaglia and Tsang 2000, section
/// 2).
const TAIL: f64 = 3.654_152_885_361_009;
const AREA: f64 = 0.004_928_673_233_992_336;

struct Layers {
    /// Edge over 2^52.
    scaled_edge: [f64; 256],
    /// Right edges; layer 0 is as wide as a rectangle with the area of the base strip and its tail.
    edge: [f64; 257],
    /// The curve at the edges.
    height: [f64; 257],
}

impl Layers {
    fn get() -> &'static Layers {
        static LAYERS: OnceLock<Layers> = OnceLock::new();
        LAYERS.get_or_init(Layers::new)
    }

    fn new() -> Layers {
        let mut edge = [0.0; 257];
        edge[0] = AREA / density(TAIL);
        edge[1] = TAIL;
        for i in 2..256 {
            edge[i] = (-2.0 * libm::log(AREA / edge[i - 1] + density(edge[i - 1]))).sqrt();
        }
        let scaled_edge = std::array::from_fn(|i| edge[i] * (1.0 / (1u64 << 52) as f64));
        Layers { scaled_edge, edge, height: edge.map(density) }
    }

    /// One draw in a hundred: in the tail, or in the part of a layer that the curve cuts. `None` if it is above the
    /// curve.
    #[cold]
    fn beyond_the_core(&self, word: u64, x: f64, uniform: &mut dyn FnMut() -> f64) -> Option<f64> {
        let layer = (word & 0xff) as usize;
        if layer == 0 {
            return Some(tail(uniform).copysign(x));
        }
        let (low, high) = (self.height[layer], self.height[layer + 1]);
        let y = low + (high - low) * uniform();
        (y < density(x)).then_some(x)
    }
}

/// The tail, by Marsaglia (1964).
fn tail(uniform: &mut dyn FnMut() -> f64) -> f64 {
    loop {
        let x = exponential(uniform()) / TAIL;
        let y = exponential(uniform());
        if 2.0 * y >= x * x {
            return TAIL + x;
        }
    }
}

/// The numbers of words, or their abscissas where they must be compared with the curve, with a bit for each of these:
/// in the word of a lane, that of a group of [`LANES`]. On processors with wider registers these are used, with the
/// same rounding.
#[multiversion(targets("x86_64+avx2"))]
fn look_up(layers: &Layers, words: &[[u8; 8]; AHEAD], numbers: &mut [f64; AHEAD]) -> [u32; LANES] {
    look_up_here(layers, words, numbers)
}

/// In registers as wide as the caller is compiled for.
#[inline(always)]
fn look_up_here(layers: &Layers, words: &[[u8; 8]; AHEAD], numbers: &mut [f64; AHEAD]) -> [u32; LANES] {
    let mut outside = [0; LANES];
    for (words, numbers) in words.as_chunks::<LANES>().0.iter().zip(numbers.as_chunks_mut().0) {
        let layer = words.map(|[layer, ..]| usize::from(layer));
        let (scale, edge) = (layer.map(|layer| layers.scaled_edge[layer]), layer.map(|layer| layers.edge[layer + 1]));
        let words = words.map(u64::from_le_bytes);
        let x: [f64; LANES] = std::array::from_fn(|lane| abscissa(words[lane]) * scale[lane]);
        outside = std::array::from_fn(|lane| outside[lane] >> 1 | u32::from(x[lane].abs() >= edge[lane]) << 31);
        *numbers = x;
    }
    outside
}

/// The upper 53 bits of a word as a signed number. Each step is exact, and possible for several words at once, which
/// the conversion of a 64-bit integer is not on most processors.
#[inline(always)]
fn abscissa(word: u64) -> f64 {
    // 2^84 and 2^52, whose last bits are worth 2^32 and 1.
    const UPPER: f64 = (1u128 << 84) as f64;
    const LOWER: f64 = (1u64 << 52) as f64;
    // The sign is the highest bit, worth -2^52; as the highest bit of a positive number, the other way round, 2^52.
    let upper = f64::from_bits((UPPER.to_bits() ^ 1 << 20) ^ word >> 43);
    let lower = f64::from_bits(LOWER.to_bits() | word >> 11 & 0xffff_ffff);
    upper - (UPPER + 2.0 * LOWER) + lower
}

/// The normal density without its factor.
fn density(x: f64) -> f64 {
    libm::exp(-x * x / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use units::chance::normal_cdf;

    #[test]
    fn follows_the_normal_law() {
        const N: usize = 1_000_000;
        let mut normals = Normals::new(Box::new(Xoshiro256PlusPlus::seed_from_u64(5)));
        let mut sample: Vec<f64> = (0..N).map(|_| normals.draw()).collect();
        let moment = |k: i32| sample.iter().map(|x| libm::pow(*x, f64::from(k))).sum::<f64>() / N as f64;
        // Variances of the moments: 1, 2, 15, 96 over N.
        for (k, expected, variance) in [(1, 0.0, 1.0_f64), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)] {
            assert!((moment(k) - expected).abs() < 4.0 * (variance / N as f64).sqrt(), "moment {k}: {}", moment(k));
        }
        sample.sort_by(f64::total_cmp);
        let distance = (0..N).map(|i| (normal_cdf(sample[i]) - (i as f64 + 0.5) / N as f64).abs()).fold(0.0, f64::max);
        assert!(distance < 1.63 / (N as f64).sqrt(), "Kolmogorov-Smirnov distance {distance}");
        let tail = sample.iter().filter(|x| x.abs() > TAIL).count() as f64;
        let expected = 2.0 * normal_cdf(-TAIL) * N as f64;
        assert!((tail - expected).abs() < 4.0 * expected.sqrt(), "{tail} in the tails against {expected}");
    }

    /// The method draw by draw, as it is published.
    struct Plain(Xoshiro256PlusPlus, Layers);

    impl Plain {
        fn draw(&mut self) -> f64 {
            let Plain(rng, layers) = self;
            loop {
                let bits = rng.next_u64();
                let layer = (bits & 0xff) as usize;
                let x = (bits as i64 >> 11) as f64 * (1.0 / (1u64 << 52) as f64) * layers.edge[layer];
                if x.abs() < layers.edge[layer + 1] {
                    return x;
                }
                if layer == 0 {
                    loop {
                        let x = -libm::log(1.0 - unit_interval(rng.next_u64())) / TAIL;
                        let y = -libm::log(1.0 - unit_interval(rng.next_u64()));
                        if 2.0 * y >= x * x {
                            return (TAIL + x).copysign(bits as i64 as f64);
                        }
                    }
                }
                let y = unit_interval(rng.next_u64());
                if layers.height[layer] + (layers.height[layer + 1] - layers.height[layer]) * y < density(x) {
                    return x;
                }
            }
        }
    }

    #[test]
    fn drawing_ahead_changes_no_number() {
        let generator = Xoshiro256PlusPlus::seed_from_u64(9);
        let (mut normals, mut plain) = (Normals::new(Box::new(generator.clone())), Plain(generator, Layers::new()));
        let mut some = [0.0; 200];
        for i in 0..20_000 {
            assert_eq!(normals.draw().to_bits(), plain.draw().to_bits(), "number {i}");
            if i % 997 == 0 {
                let some = &mut some[..i / 100];
                normals.fill(some);
                some.iter().for_each(|x| assert_eq!(x.to_bits(), plain.draw().to_bits(), "after number {i}"));
            }
            if i % 37 == 0 {
                normals.skip(i / 200);
                (0..i / 200).for_each(|_| _ = plain.draw());
            }
        }
    }

    #[test]
    fn a_single_draw_takes_the_same_words() {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(11);
        let mut plain = Plain(generator.clone(), Layers::new());
        for i in 0..20_000 {
            assert_eq!(normal(&mut generator).to_bits(), plain.draw().to_bits(), "number {i}");
        }
        assert_eq!(generator, plain.0);
    }

    #[test]
    fn wide_registers_make_the_same_bits() {
        let (layers, mut generator) = (Layers::new(), Xoshiro256PlusPlus::seed_from_u64(3));
        for _ in 0..1000 {
            let words = std::array::from_fn(|_| generator.next_u64().to_le_bytes());
            let (mut numbers, mut here) = ([0.0; AHEAD], [1.0; AHEAD]);
            assert_eq!(look_up(&layers, &words, &mut numbers), look_up_here(&layers, &words, &mut here));
            assert_eq!(numbers.map(f64::to_bits), here.map(f64::to_bits));
        }
        for word in [0, 1, 1 << 10, 1 << 11, 1 << 12, i64::MAX as u64, 1 << 63, u64::MAX, u64::MAX << 11] {
            assert_eq!(abscissa(word), (word as i64 >> 11) as f64, "{word:x}");
        }
    }

    #[test]
    fn bytes_are_the_words_in_little_endian_order() {
        let mut words = Xoshiro256PlusPlus::seed_from_u64(4);
        let mut bytes = [0; 8 * AHEAD];
        words.clone().fill_bytes(&mut bytes);
        for bytes in bytes.as_chunks().0 {
            assert_eq!(u64::from_le_bytes(*bytes), words.next_u64());
        }
    }

    #[test]
    fn the_layers_close_at_the_top() {
        let layers = Layers::new();
        let last = layers.edge[255] * (1.0 - layers.height[255]);
        assert!((last - AREA).abs() < 1e-9, "the top layer has area {last}");
    }
}
