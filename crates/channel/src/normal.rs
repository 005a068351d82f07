//! Standard normal numbers with the same bits on every machine.
//!
//! General purpose libraries take the logarithms and exponentials of their rejection steps from the platform, whose last bits
//! differ; here they are libm's.

use std::sync::OnceLock;

use rand::Rng;

/// A stream of independent standard normal numbers.
pub(crate) struct Normals {
    rng: Box<dyn Rng + Send>,
    layers: &'static Layers,
}

impl Normals {
    pub(crate) fn new(rng: Box<dyn Rng + Send>) -> Normals {
        static LAYERS: OnceLock<Layers> = OnceLock::new();
        Normals { rng, layers: LAYERS.get_or_init(Layers::new) }
    }

    /// The next number, by the ziggurat of Marsaglia and Tsang (2000) with 256 layers, with the layer and the abscissa taken
    /// from different bits of a draw (Doornik 2005).
    #[inline]
    pub(crate) fn draw(&mut self) -> f64 {
        loop {
            let bits = self.rng.next_u64();
            let layer = (bits & 0xff) as usize;
            let u = (bits as i64 >> 11) as f64 * (1.0 / (1u64 << 52) as f64); // -1 to 1
            let x = u * self.layers.edge[layer];
            if x.abs() < self.layers.edge[layer + 1] {
                return x;
            }
            if let Some(x) = self.beyond_the_core(layer, x) {
                return x;
            }
        }
    }

    /// The next number, uniform from 0 to 1 (excluded).
    pub(crate) fn uniform(&mut self) -> f64 {
        unit_interval(&mut *self.rng)
    }

    /// One draw in a hundred: the tail, or the part of a layer that the curve cuts.
    #[cold]
    fn beyond_the_core(&mut self, layer: usize, x: f64) -> Option<f64> {
        if layer == 0 {
            return Some(self.tail().copysign(x));
        }
        let (low, high) = (self.layers.height[layer], self.layers.height[layer + 1]);
        let y = low + (high - low) * unit_interval(&mut *self.rng);
        (y < density(x)).then_some(x)
    }

    /// Marsaglia (1964).
    fn tail(&mut self) -> f64 {
        loop {
            let x = -libm::log(1.0 - unit_interval(&mut *self.rng)) / TAIL;
            let y = -libm::log(1.0 - unit_interval(&mut *self.rng));
            if 2.0 * y >= x * x {
                return TAIL + x;
            }
        }
    }
}

/// Where the tail begins and the area of a layer, for 256 layers (Marsaglia and Tsang 2000, section 2).
const TAIL: f64 = 3.654_152_885_361_009;
const AREA: f64 = 0.004_928_673_233_992_336;

struct Layers {
    /// Right edges; layer 0 is as wide as a rectangle with the area of the base strip and its tail.
    edge: [f64; 257],
    /// The curve at the edges.
    height: [f64; 257],
}

impl Layers {
    fn new() -> Layers {
        let mut edge = [0.0; 257];
        edge[0] = AREA / density(TAIL);
        edge[1] = TAIL;
        for i in 2..256 {
            edge[i] = (-2.0 * libm::log(AREA / edge[i - 1] + density(edge[i - 1]))).sqrt();
        }
        Layers { edge, height: edge.map(density) }
    }
}

/// The normal density without its factor.
fn density(x: f64) -> f64 {
    libm::exp(-x * x / 2.0)
}

/// A number from 0 to 1 (excluded), uniform.
#[inline]
pub(crate) fn unit_interval(rng: &mut dyn Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
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

    #[test]
    fn the_layers_close_at_the_top() {
        let layers = Layers::new();
        let last = layers.edge[255] * (1.0 - layers.height[255]);
        assert!((last - AREA).abs() < 1e-9, "the top layer has area {last}");
    }
}
