//! Random against dedicated access in closed form: equations 1 to 6 of Kuhn, Mehani, Bui, Lochin, Lacan, Radzik and
//! Boreli, "Improving web experience on DVB-RCS2 links", Annals of Telecommunications 2015, sections 5 and 6.3.
//!
//! [`Comparison`] has the bits that a terminal may send in a frame with either access, and the number of users from
//! which on random access allows more. [`retransmission_probability`] is the law of the largest number of
//! retransmissions among a few datagrams, and [`loss_from_retransmissions`] its inverse: the loss of a datagram.
//!
//! What is simplified, and who could notice: every user always has data and sends as much as its one amplifier allows;
//! the headers of the link layer are left out. Losses are independent, also those of retransmissions, while the losses
//! of a run come in bursts, and a sender that loses packets sends less. The added delay is a lower bound: a
//! retransmission after a timeout takes longer.

use units::{Duration, FieldError};

use crate::config::AccessConfig;
use crate::random::RandomAccess;

/// A frame in which all carriers are of one access: the bits of a terminal with one amplifier, for either access
/// (section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Timeslots of a carrier (N_S).
    pub timeslots: u32,
    /// Carriers of a frame (F_R + F_D).
    pub carriers: u32,
    /// Useful bits of a slot of dedicated access (N_data).
    pub dedicated_bits: u32,
    /// Useful bits of a packet of random access (N_data).
    pub random_bits: u32,
    /// Replicas of a packet of random access, each in a slot of its own (N_block).
    pub replicas: u32,
}

impl Comparison {
    /// The comparison for a return link and a scheme of random access.
    ///
    /// # Errors
    /// No waveform of dedicated access fits, or [`Comparison::check`] refuses a value.
    pub fn of(access: &AccessConfig, scheme: &RandomAccess) -> Result<Comparison, FieldError> {
        let comparison = Comparison {
            timeslots: access.frame.timeslots,
            carriers: access.frame.carriers,
            dedicated_bits: access.dedicated.slot_bits().map_err(|error| error.within("dedicated"))?,
            random_bits: scheme.entry().payload_bits(),
            // Of an irregular scheme, which the equations do not cover, the mean.
            replicas: scheme.entry().replicas().mean().ceil() as u32,
        };
        comparison.check()?;
        Ok(comparison)
    }

    /// Checks that both accesses carry data.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    pub fn check(&self) -> Result<(), FieldError> {
        let &Comparison { timeslots, carriers, dedicated_bits, random_bits, replicas } = self;
        for (field, value) in [
            ("timeslots", timeslots),
            ("carriers", carriers),
            ("dedicated_bits", dedicated_bits),
            ("random_bits", random_bits),
            ("replicas", replicas),
        ] {
            FieldError::unless_positive(field, value.into())?;
        }
        if replicas > timeslots {
            let message = format!(
                "{replicas} replicas of a packet, but a terminal with one amplifier sends in {timeslots} timeslots"
            );
            return Err(FieldError::new("replicas", message));
        }
        Ok(())
    }

    /// Mean slots of a user in a frame of dedicated access: an equal share, at most one in each timeslot, `N_S min(F /
    /// N_U, 1)`.
    pub fn dedicated_slots(&self, users: u32) -> f64 {
        f64::from(self.timeslots) * (f64::from(self.carriers) / f64::from(users.max(1))).min(1.0)
    }

    /// Mean useful bits of a user in a frame of dedicated access.
    pub fn dedicated_frame_bits(&self, users: u32) -> f64 {
        self.dedicated_slots(users) * f64::from(self.dedicated_bits)
    }

    /// Packets of a user in a frame of random access: as many as its timeslots hold, `⌊N_S / N_block⌋`.
    pub fn random_packets(&self) -> u32 {
        self.timeslots / self.replicas
    }

    /// Useful bits of a user in a frame of random access without loss, for any number of users.
    pub fn random_frame_bits(&self) -> u64 {
        u64::from(self.random_packets()) * u64::from(self.random_bits)
    }

    /// The smallest number of users with which a frame of dedicated access carries no more of each than a frame of
    /// random access without loss: equations 1 and 2, `F N_S N_data / N'_U <= ⌊N_S / N_block⌋ N_data`.
    pub fn break_even_users(&self) -> u64 {
        let random = self.random_frame_bits();
        let one_carrier = u64::from(self.timeslots) * u64::from(self.dedicated_bits);
        // The equations are for more users than carriers. With fewer, each has a carrier to itself.
        if one_carrier <= random {
            return 1;
        }
        let all = u128::from(one_carrier) * u128::from(self.carriers);
        all.div_ceil(u128::from(random)) as u64
    }

    /// Mean packets in a random access block of `block_slots` when so many users send all they may: section 5.3.
    pub fn packets_per_block(&self, users: u64, block_slots: u32) -> f64 {
        let blocks = f64::from(self.carriers) * f64::from(self.timeslots) / f64::from(block_slots.max(1));
        users as f64 * f64::from(self.random_packets()) / blocks
    }
}

/// The probability that the largest number of retransmissions among `datagrams` is `retransmissions`, if each
/// transmission is lost with probability `loss`.
///
/// Of one datagram that is equation 4, `(1 - p) p^R`; of more it is equations 5 and 6, whose sum over how many
/// datagrams are retransmitted less often is `(1 - p^(R+1))^D - (1 - p^R)^D`.
///
/// # Errors
/// `loss` is no probability, or `datagrams` is 0.
pub fn retransmission_probability(loss: f64, retransmissions: u32, datagrams: u32) -> Result<f64, FieldError> {
    probability("loss", loss)?;
    FieldError::unless_positive("datagrams", datagrams.into())?;
    Ok(most_retransmitted(loss, retransmissions, datagrams))
}

fn most_retransmitted(loss: f64, retransmissions: u32, datagrams: u32) -> f64 {
    let datagrams = f64::from(datagrams);
    if loss == 1.0 {
        return 0.0; // no datagram ever arrives
    }
    if retransmissions == 0 {
        return libm::exp(datagrams * libm::log1p(-loss));
    }
    // The difference of the two powers as a product, which keeps its digits where losses are rare.
    let reached = libm::pow(loss, f64::from(retransmissions));
    let exceeded = reached * loss;
    let none = libm::exp(datagrams * libm::log1p(-reached));
    none * libm::expm1(datagrams * libm::log1p((reached - exceeded) / (1.0 - reached)))
}

/// The loss of a datagram from the probability of [`retransmission_probability`].
///
/// With growing loss that probability grows and then falls, because with heavy loss more retransmissions are likelier.
/// Of the two losses with this probability, this is the smaller. For 0 retransmissions it only falls, and there is one.
///
/// # Errors
/// `given` is no probability, or more than any loss gives; or `datagrams` is 0.
pub fn loss_from_retransmissions(given: f64, retransmissions: u32, datagrams: u32) -> Result<f64, FieldError> {
    probability("probability", given)?;
    FieldError::unless_positive("datagrams", datagrams.into())?;
    if retransmissions == 0 {
        return Ok(-libm::expm1(libm::log(given) / f64::from(datagrams)));
    }
    let peak = likeliest_loss(retransmissions, datagrams);
    let most = most_retransmitted(peak, retransmissions, datagrams);
    if given > most {
        let times = if retransmissions == 1 { "once".to_owned() } else { format!("{retransmissions} times") };
        let message =
            format!("{given} was given: {datagrams} datagram(s) are sent again {times} with {most:.6} at most");
        return Err(FieldError::new("probability", message));
    }
    Ok(bisect(0.0, peak, |loss| most_retransmitted(loss, retransmissions, datagrams) < given))
}

/// The loss at which a number of retransmissions, at least 1, is likeliest.
///
/// The derivative of equation 6 vanishes where `R ((1 - p^R) / (1 - p^(R+1)))^(D-1) = (R + 1) p`. The left side falls
/// with p, from R, and the right side rises, from 0: they meet once.
fn likeliest_loss(retransmissions: u32, datagrams: u32) -> f64 {
    let r = f64::from(retransmissions);
    bisect(0.0, 1.0, |loss| {
        let reached = libm::pow(loss, r);
        let ratio = (1.0 - reached) / (1.0 - reached * loss);
        r * libm::pow(ratio, f64::from(datagrams) - 1.0) > (r + 1.0) * loss
    })
}

/// The point at which `holds` changes from true (at `low`) to false (at `high`), to the precision of `f64`.
fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return middle;
        }
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// The least delay that retransmissions add to a datagram: a round trip for each (section 6.3).
pub fn added_delay(retransmissions: u32, round_trip: Duration) -> Duration {
    round_trip * u64::from(retransmissions)
}

/// The probability that a datagram of `packets` packets of random access is lost, if each is lost with probability
/// `packet_loss`, independently of the others: `1 - (1 - p)^n`.
///
/// # Errors
/// `packet_loss` is no probability, or `packets` is 0.
pub fn datagram_loss(packet_loss: f64, packets: u32) -> Result<f64, FieldError> {
    probability("packet_loss", packet_loss)?;
    FieldError::unless_positive("packets", packets.into())?;
    Ok(-libm::expm1(f64::from(packets) * libm::log1p(-packet_loss)))
}

fn probability(field: &str, value: f64) -> Result<(), FieldError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(FieldError::new(field, format!("{value} was given, a probability from 0 to 1 is expected")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The values of section 5, with MuSCA.
    const PUBLISHED: Comparison =
        Comparison { timeslots: 40, carriers: 100, dedicated_bits: 920, random_bits: 594, replicas: 3 };

    #[test]
    fn a_frame_carries_what_the_paper_says() {
        PUBLISHED.check().unwrap();
        assert_eq!(PUBLISHED.random_packets(), 13);
        assert_eq!(PUBLISHED.random_frame_bits(), 7722);
        for users in [1, 100] {
            assert_eq!(PUBLISHED.dedicated_slots(users), 40.0);
            assert_eq!(PUBLISHED.dedicated_frame_bits(users), 36_800.0);
        }
        assert_eq!(PUBLISHED.dedicated_slots(400), 10.0);
        assert_eq!(PUBLISHED.dedicated_slots(150), 40.0 * (100.0 / 150.0));
    }

    #[test]
    fn random_access_would_have_to_carry_477_users() {
        assert_eq!(PUBLISHED.break_even_users(), 477);
        assert!(PUBLISHED.dedicated_frame_bits(477) <= 7722.0 && PUBLISHED.dedicated_frame_bits(476) > 7722.0);
        assert!((PUBLISHED.packets_per_block(477, 100) - 155.025).abs() < 1e-9);
        // Three more bits in a packet lower the break-even by two users.
        assert_eq!(Comparison { random_bits: 597, ..PUBLISHED }.break_even_users(), 475);
    }

    #[test]
    fn the_defaults_are_those_of_the_paper() {
        let musca = RandomAccess::from(crate::random::Musca::default());
        assert_eq!(Comparison::of(&AccessConfig::default(), &musca), Ok(PUBLISHED));
    }

    #[test]
    fn random_access_that_carries_more_than_a_carrier_is_ahead_at_once() {
        let strong = Comparison { random_bits: 4000, ..PUBLISHED };
        assert_eq!(strong.break_even_users(), 1);
        assert_eq!(Comparison { random_bits: 36_800 / 13, ..PUBLISHED }.break_even_users(), 101);
    }

    #[test]
    fn what_carries_nothing_is_refused_with_its_name() {
        let refused = |comparison: Comparison| comparison.check().unwrap_err().to_string();
        assert_eq!(refused(Comparison { carriers: 0, ..PUBLISHED }), "carriers: 0 was given, at least 1 is needed");
        assert_eq!(
            refused(Comparison { replicas: 41, ..PUBLISHED }),
            "replicas: 41 replicas of a packet, but a terminal with one amplifier sends in 40 timeslots"
        );
    }

    /// Table 5, by users: the loss of a datagram by inversion, and the printed probabilities of 1, 2 … retransmissions
    /// of 3 datagrams, each with its last digit. One entry does not fit its neighbours: where 0.02067 is printed for
    /// CRDSA and 300 users, they give 0.02070.
    const TABLE_5: &[(f64, &[(f64, f64)])] = &[
        (0.0404, &[(0.11148, 1e-5), (0.00469, 1e-5), (0.00019, 1e-5)]), // CRDSA, 200 users
        (0.0873, &[(0.21701, 1e-5), (0.02070, 1e-5), (0.00182, 1e-5)]), // CRDSA, 300
        (0.276, &[(0.40893, 1e-5), (0.14980, 1e-5), (0.04445, 1e-5), (0.01251, 1e-5)]), // CRDSA, 400
        (0.0053, &[(0.01573, 1e-5), (0.00008, 1e-5), (4.44e-7, 1e-9)]), // MuSCA, 300
        (0.139, &[(0.30487, 1e-5), (0.04882, 1e-5), (0.00692, 1e-5), (0.00096, 1e-5)]), // MuSCA, 400
    ];

    #[test]
    fn the_rows_of_table_5_come_from_one_loss_each() {
        for &(published, row) in TABLE_5 {
            // The range of losses that agree with each printed number, to the last digit printed.
            let (mut low, mut high) = (0.0f64, 1.0f64);
            for (&(printed, digit), retransmissions) in row.iter().zip(1..) {
                let solve = |probability| loss_from_retransmissions(probability, retransmissions, 3).unwrap();
                low = low.max(solve(printed - 0.51 * digit));
                high = high.min(solve(printed + 0.51 * digit));
            }
            assert!(low <= high, "{published}: {low} to {high}");
            assert!((low - published).abs() < 0.012 * published, "{published}: {low} to {high}");
            for (&(printed, digit), retransmissions) in row.iter().zip(1..) {
                let again = retransmission_probability(f64::midpoint(low, high), retransmissions, 3).unwrap();
                assert!(
                    (again - printed).abs() <= 0.6 * digit,
                    "{published}, {retransmissions}: {again} for {printed}"
                );
            }
        }
    }

    #[test]
    fn no_user_of_musca_is_lost_among_200() {
        assert_eq!(loss_from_retransmissions(0.0, 1, 3), Ok(0.0));
        assert_eq!(retransmission_probability(0.0, 1, 3), Ok(0.0));
    }

    #[test]
    fn a_datagram_is_lost_with_any_of_its_packets() {
        assert!((datagram_loss(0.002, 21).unwrap() - 0.0411705).abs() < 1e-7);
        assert_eq!((datagram_loss(0.0, 21).unwrap(), datagram_loss(1.0, 1).unwrap()), (0.0, 1.0));
        assert!((datagram_loss(1e-15, 10).unwrap() - 1e-14).abs() < 1e-28);
    }

    #[test]
    fn each_retransmission_takes_a_round_trip() {
        assert_eq!(added_delay(3, Duration::from_millis(500)), Duration::from_millis(1500));
    }

    #[test]
    fn what_is_no_probability_is_refused() {
        let message = |result: Result<f64, FieldError>| result.unwrap_err().to_string();
        for wrong in [-0.1, 1.1, f64::NAN] {
            assert!(message(retransmission_probability(wrong, 1, 3)).starts_with("loss: "));
            assert!(message(loss_from_retransmissions(wrong, 1, 3)).starts_with("probability: "));
            assert!(message(datagram_loss(wrong, 1)).starts_with("packet_loss: "));
        }
        assert!(message(retransmission_probability(0.5, 1, 0)).starts_with("datagrams: 0"));
        let beyond = message(loss_from_retransmissions(0.9, 2, 1));
        assert_eq!(beyond, "probability: 0.9 was given: 1 datagram(s) are sent again 2 times with 0.148148 at most");
    }

    /// Equation 6 as printed: a sum over the number k of datagrams with fewer retransmissions.
    fn equation_6(loss: f64, retransmissions: u32, datagrams: u32) -> f64 {
        let power = |base: f64, times: u32| libm::pow(base, f64::from(times));
        let of_one = |times: u32| (1.0 - loss) * power(loss, times);
        let fewer: f64 = (0..retransmissions).map(of_one).sum();
        let choices = |k: u32| (0..k).map(|i| f64::from(datagrams - i) / f64::from(k - i)).product::<f64>();
        (0..datagrams).map(|k| choices(k) * power(fewer, k) * power(of_one(retransmissions), datagrams - k)).sum()
    }

    proptest! {
        #[test]
        fn users_at_break_even_are_the_fewest(
            timeslots in 1u32..100,
            carriers in 1u32..200,
            dedicated_bits in 1u32..3000,
            random_bits in 1u32..3000,
            replicas in 1u32..9,
        ) {
            let replicas = replicas.min(timeslots);
            let comparison = Comparison { timeslots, carriers, dedicated_bits, random_bits, replicas };
            let random = comparison.random_frame_bits();
            // In whole numbers: bits of all slots compared with those of that many users.
            let no_more = |users: u64| {
                u64::from(timeslots * dedicated_bits) * u64::from(carriers).min(users) <= random * users
            };
            let users = comparison.break_even_users();
            prop_assert!(no_more(users));
            prop_assert!(users == 1 || !no_more(users - 1));
        }

        #[test]
        fn the_closed_form_is_the_sum_of_equation_6(
            loss in 0.0f64..1.0,
            retransmissions in 0u32..8,
            datagrams in 1u32..12,
        ) {
            let ours = retransmission_probability(loss, retransmissions, datagrams).unwrap();
            let sum = equation_6(loss, retransmissions, datagrams);
            prop_assert!((ours - sum).abs() <= 1e-12 + 1e-9 * sum, "{} and {}", ours, sum);
            if datagrams == 1 {
                let equation_4 = (1.0 - loss) * libm::pow(loss, f64::from(retransmissions));
                let error = (ours - equation_4).abs();
                prop_assert!(error <= 1e-12 * equation_4.max(1e-300), "{} and {}", ours, equation_4);
            }
        }

        #[test]
        fn something_always_happens(loss in 0.0f64..0.9, datagrams in 1u32..50) {
            let sum: f64 = (0..500).map(|times| retransmission_probability(loss, times, datagrams).unwrap()).sum();
            prop_assert!((sum - 1.0).abs() < 1e-9, "{}", sum);
        }

        #[test]
        fn the_inverse_leads_back(loss in 0.0f64..1.0, retransmissions in 0u32..6, datagrams in 1u32..30) {
            let probability = retransmission_probability(loss, retransmissions, datagrams).unwrap();
            let solved = loss_from_retransmissions(probability, retransmissions, datagrams).unwrap();
            let again = retransmission_probability(solved, retransmissions, datagrams).unwrap();
            prop_assert!((again - probability).abs() <= 1e-9 * probability + 1e-15, "{} and {}", again, probability);
            prop_assert!(solved <= loss + 1e-6, "the smaller: {} and {}", solved, loss);
        }
    }
}
