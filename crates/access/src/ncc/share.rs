//! Fair division of slots among terminals.

/// Divides one frame after the other, and remembers by how much each terminal is behind its share because slots are
/// whole.
///
/// A terminal that wants no more than the level times its weight gets what it wants; the others get the level times
/// their weight: water filling, which is weighted max-min fairness. The whole part of a share is granted first, and the
/// remaining slots go to the terminals that are most behind, one each. So 150 terminals with 4,000 slots a frame have
/// 26 or 27 in each, and 80 in three.
#[derive(Debug)]
pub(super) struct Share {
    /// The slots by which each terminal is behind its share.
    behind: Vec<f64>,
    claims: Vec<Claim>,
    granted: Vec<(u32, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Claim {
    /// Its index among the claims.
    index: u32,
    terminal: u32,
    wanted: u32,
    weight: f64,
    /// The level times its weight, at most the slots that it wants.
    share: f64,
    whole: u32,
}

impl Share {
    /// For so many terminals.
    pub(super) fn new(terminals: usize) -> Share {
        Share { behind: vec![0.0; terminals], claims: Vec::new(), granted: Vec::new() }
    }

    /// Resets a terminal.
    pub(super) fn forget(&mut self, terminal: usize) {
        self.behind[terminal] = 0.0;
    }

    /// Divides `available` slots among `claims` of (terminal, wanted, weight); returns the slots of each terminal, in
    /// the order of the claims.
    pub(super) fn divide(&mut self, available: u32, claims: impl Iterator<Item = (u32, u32, f64)>) -> &[(u32, u32)] {
        self.claims.clear();
        self.granted.clear();
        for (index, (terminal, wanted, weight)) in claims.enumerate() {
            self.granted.push((terminal, wanted));
            self.claims.push(Claim { index: index as u32, terminal, wanted, weight, share: 0.0, whole: 0 });
        }
        let wanted: u64 = self.claims.iter().map(|claim| u64::from(claim.wanted)).sum();
        if wanted > u64::from(available) {
            let (content, left) = fill(&mut self.claims, available);
            self.round(content, left);
        }
        &self.granted
    }

    /// Rounds the shares of the claims from `content` on, which have `left` slots together.
    fn round(&mut self, content: usize, left: u32) {
        let claims = &mut self.claims[content..];
        let mut spare = i64::from(left);
        for claim in claims.iter_mut() {
            claim.share = claim.share.min(f64::from(claim.wanted));
            claim.whole = claim.share as u32;
            spare -= i64::from(claim.whole);
        }
        // Claims with a fraction come first; among these, those most behind, the fraction included; then those of lower
        // index.
        let behind = &self.behind;
        let rank = |claim: &Claim| {
            let part = claim.share - f64::from(claim.whole);
            (part <= 1e-9, -(behind[claim.terminal as usize] + part), claim.index)
        };
        let chosen = usize::try_from(spare).unwrap_or(0).min(claims.len());
        if (1..claims.len()).contains(&chosen) {
            claims.select_nth_unstable_by(chosen, |a, b| {
                let (a, b) = (rank(a), rank(b));
                a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2))
            });
        }
        for claim in &mut claims[..chosen] {
            claim.whole += 1;
        }
        // A rounding error of the shares could make the sum of whole parts one too large.
        while spare < 0 {
            let Some(claim) = claims.iter_mut().rev().find(|claim| claim.whole > 0) else { break };
            claim.whole -= 1;
            spare += 1;
        }
        for claim in claims {
            let behind = &mut self.behind[claim.terminal as usize];
            *behind = (*behind + claim.share - f64::from(claim.whole)).clamp(-1.0, 1.0);
            self.granted[claim.index as usize].1 = claim.whole;
        }
    }
}

/// Water filling: moves the claims that want no more than the level times their weight to the front, and computes the
/// shares of the others. Returns the number of the former, and the slots of the others together; there is at least one
/// other.
fn fill(claims: &mut [Claim], available: u32) -> (usize, u32) {
    let (mut content, mut left) = (0, available);
    loop {
        let weights: f64 = claims[content..].iter().map(|claim| claim.weight).sum();
        let level = f64::from(left) / weights;
        let before = content;
        for index in before..claims.len() {
            let claim = &mut claims[index];
            claim.share = level * claim.weight;
            if f64::from(claim.wanted) <= claim.share && claim.wanted <= left {
                left -= claim.wanted;
                claims.swap(content, index);
                content += 1;
            }
        }
        if content == before {
            return (content, left);
        }
    }
}
