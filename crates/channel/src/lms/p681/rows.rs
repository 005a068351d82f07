//! The two-state semi-Markov land mobile satellite model of Recommendation ITU-R P.681-11, annex 2, section 6: narrow
//! band, 1.5 to 3 GHz. The tables are taken from a public re-implementation (its urban row at 45 degrees agrees with
//! the documented defaults of another), not from the Recommendation itself; suburban at 70 and residential at 45
//! degrees are missing there.

use P681Environment::{Residential, RuralWooded, Suburban, Urban, Village};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Surroundings of the user, as P.681-11 names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum P681Environment {
    /// Streets between tall buildings.
    Urban,
    /// Houses and gardens.
    Suburban,
    /// A village.
    Village,
    /// Roads through woods.
    RuralWooded,
    /// Residential streets.
    Residential,
}

impl P681Environment {
    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            P681Environment::Urban => "urban",
            P681Environment::Suburban => "suburban",
            P681Environment::Village => "village",
            P681Environment::RuralWooded => "rural-wooded",
            P681Environment::Residential => "residential",
        }
    }
}

/// A row of the tables.
#[derive(Debug)]
pub(crate) struct P681Parameters {
    pub(super) environment: P681Environment,
    pub(super) elevation_deg: f64,
    /// Distance after which the shadowing has a correlation of 1/e.
    pub(super) shadowing_correlation_m: f64,
    /// Two events are joined by a ramp of `f1 |difference of their mean attenuations| + f2` metres.
    pub(super) f1: f64,
    pub(super) f2: f64,
    pub(super) good: P681State,
    pub(super) bad: P681State,
}

/// A state. The natural logarithm of an event's length in metres is normal, and shorter lengths than the least are
/// drawn again. An event's mean attenuation in decibels is normal.
#[derive(Debug)]
pub(super) struct P681State {
    pub(super) log_length_mean: f64,
    pub(super) log_length_deviation: f64,
    pub(super) length_min_m: f64,
    pub(super) mean_db: f64,
    pub(super) mean_deviation_db: f64,
    /// The multipath power is `h1 * mean attenuation + h2` decibels.
    pub(super) h1: f64,
    pub(super) h2: f64,
    /// The direct ray varies by `g1 * mean attenuation + g2` decibels.
    pub(super) g1: f64,
    pub(super) g2: f64,
}

/// A row: the environment and the elevation in degrees, the correlation distance of the shadowing in metres, `f1` and
/// `f2`, and the states.
const fn row(
    (environment, elevation_deg): (P681Environment, f64),
    shadowing_correlation_m: f64,
    [f1, f2]: [f64; 2],
    [good, bad]: [P681State; 2],
) -> P681Parameters {
    P681Parameters { environment, elevation_deg, shadowing_correlation_m, f1, f2, good, bad }
}

/// A state: the law of the length of events (mean and deviation of its logarithm, and the least length in metres), that
/// of their mean attenuation in decibels (mean and deviation), `h1` and `h2`, `g1` and `g2`.
const fn state(
    [log_length_mean, log_length_deviation, length_min_m]: [f64; 3],
    [mean_db, mean_deviation_db]: [f64; 2],
    [h1, h2]: [f64; 2],
    [g1, g2]: [f64; 2],
) -> P681State {
    P681State { log_length_mean, log_length_deviation, length_min_m, mean_db, mean_deviation_db, h1, h2, g1, g2 }
}

pub(super) static ROWS: [P681Parameters; 23] = [
    row((Urban, 20.0), 0.968, [0.087, 2.8469], [
        state([2.0042, 1.2049, 3.9889], [-3.3681, 3.3226], [0.1739, -11.5966], [0.0036, 1.323]),
        state([3.689, 0.9796, 10.3114], [-18.1771, 3.2672], [1.1411, 4.0581], [-0.2502, -1.2528]),
    ]),
    row((Urban, 30.0), 1.4731, [0.1378, 3.3733], [
        state([2.7332, 1.103, 7.3174], [-2.3773, 2.1222], [0.0941, -13.1679], [-0.2811, 0.9323]),
        state([2.7582, 1.221, 5.7276], [-17.4276, 3.9532], [0.9175, -0.8009], [-0.1484, 0.591]),
    ]),
    row((Urban, 45.0), 1.791, [0.0744, 2.1423], [
        state([3.0639, 1.698, 10.0], [-1.8225, 1.1317], [-0.0481, -14.745], [-0.4643, 0.3334]),
        state([2.9108, 1.2602, 6.0], [-15.4844, 3.3245], [0.9434, -1.7555], [-0.0798, 2.8101]),
    ]),
    row((Urban, 60.0), 1.7977, [-0.1285, 5.4991], [
        state([2.8135, 1.5962, 10.0], [-1.5872, 1.2446], [-0.5168, -17.406], [-0.1953, 0.5353]),
        state([2.0211, 0.6568, 1.9126], [-14.1435, 3.2706], [0.6975, -7.5383], [0.0422, 3.203]),
    ]),
    row((Urban, 70.0), 2.0963, [-0.0826, 2.8824], [
        state([4.2919, 2.4703, 118.3312], [-1.8434, 0.537], [-4.7301, -26.5687], [0.5192, 1.9583]),
        state([2.1012, 1.0341, 4.8569], [-12.9383, 1.7588], [2.5318, 16.8468], [0.3768, 8.4377]),
    ]),
    row((Suburban, 20.0), 0.929, [0.2904, 1.0324], [
        state([2.2201, 1.2767, 2.2914], [-2.7191, 1.384], [-0.3037, -13.0719], [-0.1254, 0.7894]),
        state([2.2657, 1.3812, 2.5585], [-13.8808, 2.583], [1.0136, 0.5158], [-0.1441, 0.7757]),
    ]),
    row((Suburban, 30.0), 1.7135, [0.1091, 3.3], [
        state([3.0138, 1.4161, 8.3214], [-0.7018, 1.2107], [-0.6543, -14.6457], [-0.1333, 0.8992]),
        state([2.4521, 0.7637, 5.9087], [-11.9823, 3.4728], [0.62, -7.5485], [-0.1644, 0.2762]),
    ]),
    row((Suburban, 45.0), 3.2293, [0.5766, 0.7163], [
        state([4.5857, 1.3918, 126.8375], [-1.1496, 1.0369], [0.2148, -17.8462], [0.0729, 1.0303]),
        state([2.2414, 0.7884, 4.3132], [-10.3806, 2.3543], [0.0344, -14.2087], [0.0662, 3.5043]),
    ]),
    row((Suburban, 60.0), 2.0215, [-0.4097, 8.744], [
        state([3.4124, 1.4331, 19.5431], [-0.7811, 0.7979], [-2.1102, -19.7954], [-0.2284, 0.2796]),
        state([1.9922, 0.7132, 3.1213], [-12.1436, 3.1798], [0.4372, -8.3651], [-0.2903, -0.6001]),
    ]),
    row((Village, 20.0), 0.8574, [0.0644, 2.674], [
        state([2.7663, 1.1211, 6.5373], [-2.5017, 2.3059], [0.0238, -11.4824], [-0.2735, 1.3898]),
        state([2.2328, 1.3788, 2.8174], [-15.23, 5.0919], [0.9971, 0.897], [-0.0568, 1.9253]),
    ]),
    row((Village, 30.0), 0.8264, [-0.0576, 3.3977], [
        state([2.4246, 1.3025, 5.4326], [-2.2284, 1.4984], [-0.3431, -14.0798], [-0.2215, 1.0077]),
        state([1.898, 1.0505, 2.4696], [-15.1583, 4.0987], [0.9614, 0.3719], [-0.0961, 1.3123]),
    ]),
    row((Village, 45.0), 1.4256, [-0.0493, 5.3952], [
        state([2.8402, 1.4563, 10.4906], [-1.2871, 0.6346], [-0.0222, -16.7316], [-0.3905, 0.488]),
        state([1.8509, 0.8736, 2.6515], [-12.6718, 3.1722], [0.8329, -3.9947], [-0.098, 1.3381]),
    ]),
    row((Village, 60.0), 0.883, [-0.8818, 10.161], [
        state([3.763, 1.2854, 17.6726], [-0.5364, 0.6115], [-0.1418, -17.8032], [-0.212, 0.7819]),
        state([1.7192, 1.142, 2.5981], [-9.5399, 2.0732], [-0.4454, -16.8201], [0.0609, 2.5925]),
    ]),
    row((Village, 70.0), 1.5633, [-0.3483, 5.1244], [
        state([4.0717, 1.2475, 30.8829], [-0.334, 0.6279], [-1.6253, -19.7558], [-0.4438, 0.6355]),
        state([1.5673, 0.5948, 2.1609], [-8.3686, 2.5603], [0.1788, -9.5153], [-0.0779, 1.1209]),
    ]),
    row((RuralWooded, 20.0), 0.8845, [0.055, 2.6383], [
        state([2.1597, 1.3766, 2.0744], [-0.8065, 1.5635], [-0.917, -12.1228], [-0.0348, 0.9571]),
        state([1.9587, 1.5465, 1.3934], [-10.6615, 2.617], [0.844, -1.4804], [-0.1069, 1.6141]),
    ]),
    row((RuralWooded, 30.0), 1.0942, [0.0256, 3.8527], [
        state([2.5579, 1.2444, 3.5947], [-1.3214, 1.6645], [-1.0445, -14.3176], [-0.1656, 0.718]),
        state([2.3791, 1.1778, 2.28], [-10.424, 2.4446], [0.6278, -4.8146], [-0.0451, 2.2327]),
    ]),
    row((RuralWooded, 45.0), 2.3956, [0.2803, 4.0004], [
        state([3.1803, 1.3427, 6.7673], [-0.9902, 1.0348], [-0.4235, -16.838], [-0.1095, 0.6893]),
        state([2.5382, 1.1291, 3.3683], [-10.2891, 2.309], [0.3386, -9.7118], [-0.046, 2.131]),
    ]),
    row((RuralWooded, 60.0), 1.7586, [0.1099, 4.2183], [
        state([2.9322, 1.3234, 5.7209], [-0.6153, 1.1723], [-1.4024, -16.9664], [-0.2516, 0.5353]),
        state([2.1955, 1.1115, 1.6512], [-9.9595, 2.2188], [0.2666, -9.0046], [-0.0907, 1.473]),
    ]),
    row((RuralWooded, 70.0), 1.6546, [-0.3914, 6.6931], [
        state([3.8768, 1.4738, 16.0855], [-0.7818, 0.7044], [-2.9566, -20.0326], [-0.2874, 0.405]),
        state([1.8445, 0.8874, 2.9629], [-6.7769, 2.1339], [-0.3723, -14.9638], [-0.1822, 0.1163]),
    ]),
    row((Residential, 20.0), 1.1578, [0.0994, 2.42], [
        state([2.5818, 1.731, 9.2291], [-0.8449, 1.305], [-0.3977, -12.3714], [0.0984, 1.3138]),
        state([1.7136, 1.1421, 1.6385], [-10.8315, 2.2642], [0.8589, -2.4054], [-0.1804, 0.8553]),
    ]),
    row((Residential, 30.0), 1.9053, [0.0196, 3.9374], [
        state([3.281, 1.42, 14.4825], [-1.3799, 1.001], [-0.8893, -16.4615], [-0.2432, 0.6519]),
        state([1.8414, 0.9697, 2.7681], [-11.1669, 2.4724], [-0.103, -13.7102], [-0.1025, 1.7671]),
    ]),
    row((Residential, 60.0), 3.84, [-1.591, 12.274], [
        state([3.255, 1.287, 6.47], [0.0, 0.3], [-2.024, -19.454], [0.273, 0.403]),
        state([3.277, 1.26, 7.81], [-2.32, 2.06], [-1.496, -22.894], [-0.361, -0.119]),
    ]),
    row((Residential, 70.0), 1.6854, [3.0127, 6.2345], [
        state([4.3291, 0.7249, 27.3637], [-0.1625, 0.3249], [0.6321, -21.5594], [0.1764, 0.4135]),
        state([3.4534, 0.9763, 8.9481], [-1.6084, 0.5817], [-0.3976, -22.7905], [-0.0796, 0.1939]),
    ]),
];
