//! Standard normal numbers with the same bits on every machine.
//!
//! General purpose libraries take the logarithms and exponentials of their rejection steps from the platform, whose
//! last bits differ; here they are libm's.

use std::sync::OnceLock;

use rand::Rng;

/// A stream of independent standard normal numbers.
pub(crate) struct Normals {
    rng: Box<dyn Rng + Send>,
    layers: &'static Layers,
    /// Words drawn ahead; the generator serves no other stream.
    words: [u64; AHEAD],
    /// The index of the first unused word.
    next: usize,
}

const AHEAD: usize = 64;

impl Normals {
    pub(crate) fn new(rng: Box<dyn Rng + Send>) -> Normals {
        static LAYERS: OnceLock<Layers> = OnceLock::new();
        Normals { rng, layers: LAYERS.get_or_init(Layers::new), words: [0; AHEAD], next: AHEAD }
    }

    /// The next number, by the ziggurat of Marsaglia and Tsang (2000) with 256 layers, with the layer and the abscissa taken
    /// from different bits of a draw (Doornik 2005).
    #[inline]
    pub(crate) fn draw(&mut self) -> f64 {
        loop {
            let word = self.word();
            match self.layers.core(word) {
                Ok(x) => return x,
                Err(x) => {
                    if let Some(x) = self.beyond_the_core(word, x) {
                        return x;
                    }
                }
            }
        }
    }

    /// Fills `out` with the next numbers.
    pub(crate) fn fill(&mut self, out: &mut [f64]) {
        let mut done = 0;
        while done < out.len() {
            if self.next == AHEAD {
                self.refill();
            }
            let mut cut = None;
            let mut used = 0;
            for (&word, x) in self.words[self.next..].iter().zip(&mut out[done..]) {
                used += 1;
                match self.layers.core(word) {
                    Ok(core) => *x = core,
                    Err(x) => {
                        cut = Some((word, x));
                        break;
                    }
                }
            }
            self.next += used;
            done += used;
            if let Some((word, x)) = cut {
                done -= 1;
                if let Some(x) = self.beyond_the_core(word, x) {
                    out[done] = x;
                    done += 1;
                }
            }
        }
    }

    /// The next number, uniform from 0 to 1 (excluded).
    pub(crate) fn uniform(&mut self) -> f64 {
        to_unit_interval(self.word())
    }

    /// One draw in a hundred: in the tail, or in the part of a layer that the curve cuts.
    #[cold]
    fn beyond_the_core(&mut self, word: u64, x: f64) -> Option<f64> {
        let layer = (word & 0xff) as usize;
        if layer == 0 {
            return Some(self.tail().copysign(x));
        }
        let (low, high) = (self.layers.height[layer], self.layers.height[layer + 1]);
        let y = low + (high - low) * self.uniform();
        (y < density(x)).then_some(x)
    }

    /// The tail, by Marsaglia (1964).
    fn tail(&mut self) -> f64 {
        loop {
            let x = -libm::log(1.0 - self.uniform()) / TAIL;
            let y = -libm::log(1.0 - self.uniform());
            if 2.0 * y >= x * x {
                return TAIL + x;
            }
        }
    }

    #[inline]
    fn word(&mut self) -> u64 {
        match self.words.get(self.next) {
            Some(&word) => {
                self.next += 1;
                word
            }
            None => {
                self.refill();
                self.next = 1;
                self.words[0]
            }
        }
    }

    /// Draws the next words.
    #[cold]
    fn refill(&mut self) {
        let mut bytes = [0; 8 * AHEAD];
        self.rng.fill_bytes(&mut bytes);
        for (word, bytes) in self.words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        self.next = 0;
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
    /// The number of a draw, or the abscissa if it must be compared with the curve.
    #[inline]
    fn core(&self, word: u64) -> Result<f64, f64> {
        let layer = (word & 0xff) as usize;
        // From -1 to 1 times the edge: a power of two moves between the factors without rounding.
        let x = (word as i64 >> 11) as f64 * self.scaled_edge[layer];
        if x.abs() < self.edge[layer + 1] { Ok(x) } else { Err(x) }
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
}

/// The normal density without its factor.
fn density(x: f64) -> f64 {
    libm::exp(-x * x / 2.0)
}

/// A number from 0 to 1 (excluded), uniform.
#[inline]
pub(crate) fn unit_interval(rng: &mut dyn Rng) -> f64 {
    to_unit_interval(rng.next_u64())
}

#[inline]
fn to_unit_interval(word: u64) -> f64 {
    (word >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

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
        let cumulative = |x: f64| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
        let distance = (0..N).map(|i| (cumulative(sample[i]) - (i as f64 + 0.5) / N as f64).abs()).fold(0.0, f64::max);
        assert!(distance < 1.63 / (N as f64).sqrt(), "Kolmogorov-Smirnov distance {distance}");
        let tail = sample.iter().filter(|x| x.abs() > TAIL).count() as f64;
        let expected = 2.0 * cumulative(-TAIL) * N as f64;
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
                        let x = -libm::log(1.0 - unit_interval(rng)) / TAIL;
                        let y = -libm::log(1.0 - unit_interval(rng));
                        if 2.0 * y >= x * x {
                            return (TAIL + x).copysign(bits as i64 as f64);
                        }
                    }
                }
                let y = unit_interval(rng);
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
                assert_eq!(normals.uniform().to_bits(), unit_interval(&mut plain.0).to_bits(), "number {i}");
            }
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
