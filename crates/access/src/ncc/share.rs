//! Fair division of slots among those who want them.

/// Divides frame after frame; remembers who has had less than its share because slots are whole.
///
/// Who wants no more than the level for its weight gets it, the others get the level times their weight: water filling, which
/// is max-min fair by weight. Of those the whole part is given first, and what remains to those who are most behind, one
/// each. So 150 terminals with 4,000 slots a frame have 26 or 27 in each, and 80 in three.
#[derive(Debug)]
pub(super) struct Share {
    /// By how much each is behind its share (slots).
    behind: Vec<f64>,
    claims: Vec<Claim>,
    granted: Vec<(u32, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Claim {
    /// Its place among the claims.
    place: u32,
    terminal: u32,
    wanted: u32,
    weight: f64,
    /// What it should get of the level, and does at first.
    share: f64,
    whole: u32,
}

impl Share {
    /// For so many terminals.
    pub(super) fn new(terminals: usize) -> Share {
        Share { behind: vec![0.0; terminals], claims: Vec::new(), granted: Vec::new() }
    }

    /// A terminal begins anew.
    pub(super) fn forget(&mut self, terminal: usize) {
        self.behind[terminal] = 0.0;
    }

    /// Divides `available` slots among `claims` of (terminal, wanted, weight); returns how many each terminal gets, in the order
    /// of the claims.
    pub(super) fn divide(&mut self, available: u32, claims: impl Iterator<Item = (u32, u32, f64)>) -> &[(u32, u32)] {
        self.claims.clear();
        self.granted.clear();
        for (place, (terminal, wanted, weight)) in claims.enumerate() {
            self.granted.push((terminal, wanted));
            self.claims.push(Claim { place: place as u32, terminal, wanted, weight, share: 0.0, whole: 0 });
        }
        let wanted: u64 = self.claims.iter().map(|claim| u64::from(claim.wanted)).sum();
        if wanted > u64::from(available) {
            let (content, left) = fill(&mut self.claims, available);
            self.round(content, left);
        }
        &self.granted
    }

    /// Makes whole slots of the shares of those who want more than theirs (all from `content` on), who have `left` together.
    fn round(&mut self, content: usize, left: u32) {
        let claims = &mut self.claims[content..];
        let mut spare = i64::from(left);
        for claim in claims.iter_mut() {
            claim.share = claim.share.min(f64::from(claim.wanted));
            claim.whole = claim.share as u32;
            spare -= i64::from(claim.whole);
        }
        // Above the whole part, if there is more than that; then who is most behind; then the first.
        let behind = &self.behind;
        let rank = |claim: &Claim| {
            let part = claim.share - f64::from(claim.whole);
            (part <= 1e-9, -(behind[claim.terminal as usize] + part), claim.place)
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
        // The last bit of the shares could make their whole parts one too many.
        while spare < 0 {
            let Some(claim) = claims.iter_mut().rev().find(|claim| claim.whole > 0) else { break };
            claim.whole -= 1;
            spare += 1;
        }
        for claim in claims {
            let behind = &mut self.behind[claim.terminal as usize];
            *behind = (*behind + claim.share - f64::from(claim.whole)).clamp(-1.0, 1.0);
            self.granted[claim.place as usize].1 = claim.whole;
        }
    }
}

/// Water filling: puts the content first, who want no more than the level for their weight, and writes the others' shares.
/// Returns how many are content, and how many slots the others have together. Not all are.
fn fill(claims: &mut [Claim], available: u32) -> (usize, u32) {
    let (mut content, mut left) = (0, available);
    loop {
        let weights: f64 = claims[content..].iter().map(|claim| claim.weight).sum();
        let level = f64::from(left) / weights;
        let before = content;
        for place in before..claims.len() {
            let claim = &mut claims[place];
            claim.share = level * claim.weight;
            if f64::from(claim.wanted) <= claim.share && claim.wanted <= left {
                left -= claim.wanted;
                claims.swap(content, place);
                content += 1;
            }
        }
        if content == before {
            return (content, left);
        }
    }
}
