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
    candidates: Vec<Candidate>,
    granted: Vec<(u32, u32)>,
}

/// A terminal that wants slots of the burst time plan.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    /// The terminal's index among the candidates.
    index: u32,
    terminal: u32,
    wanted: u32,
    weight: f64,
    /// The level times its weight, at most the slots that it wants.
    share: f64,
    whole: u32,
}

impl Share {
    /// The division among `terminals` terminals.
    pub(super) fn new(terminals: usize) -> Share {
        Share { behind: vec![0.0; terminals], candidates: Vec::new(), granted: Vec::new() }
    }

    /// Resets a terminal.
    pub(super) fn forget(&mut self, terminal: usize) {
        self.behind[terminal] = 0.0;
    }

    /// Divides `available` slots among `candidates` of (terminal, wanted, weight); returns the slots of each terminal,
    /// in the order of the candidates.
    pub(super) fn divide(
        &mut self,
        available: u32,
        candidates: impl Iterator<Item = (u32, u32, f64)>,
    ) -> &[(u32, u32)] {
        self.candidates.clear();
        self.granted.clear();
        for (index, (terminal, wanted, weight)) in candidates.enumerate() {
            self.granted.push((terminal, wanted));
            self.candidates.push(Candidate { index: index as u32, terminal, wanted, weight, share: 0.0, whole: 0 });
        }
        let wanted: u64 = self.candidates.iter().map(|candidate| u64::from(candidate.wanted)).sum();
        if wanted > u64::from(available) {
            let (content, left) = fill(&mut self.candidates, available);
            self.round(content, left);
        }
        &self.granted
    }

    /// Rounds the shares of the candidates from `content` on, which have `left` slots together.
    fn round(&mut self, content: usize, left: u32) {
        let candidates = &mut self.candidates[content..];
        let mut spare = i64::from(left);
        for candidate in candidates.iter_mut() {
            candidate.share = candidate.share.min(f64::from(candidate.wanted));
            candidate.whole = candidate.share as u32;
            spare -= i64::from(candidate.whole);
        }
        // Candidates with a fraction come first; among these, those most behind, the fraction included; then those of
        // lower index.
        let behind = &self.behind;
        let rank = |candidate: &Candidate| {
            let part = candidate.share - f64::from(candidate.whole);
            (part <= 1e-9, -(behind[candidate.terminal as usize] + part), candidate.index)
        };
        let chosen = usize::try_from(spare).unwrap_or(0).min(candidates.len());
        if (1..candidates.len()).contains(&chosen) {
            candidates.select_nth_unstable_by(chosen, |a, b| {
                let (a, b) = (rank(a), rank(b));
                a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2))
            });
        }
        for candidate in &mut candidates[..chosen] {
            candidate.whole += 1;
        }
        // A rounding error of the shares could make the sum of whole parts one too large.
        while spare < 0 {
            let Some(candidate) = candidates.iter_mut().rev().find(|candidate| candidate.whole > 0) else { break };
            candidate.whole -= 1;
            spare += 1;
        }
        for candidate in candidates {
            let behind = &mut self.behind[candidate.terminal as usize];
            *behind = (*behind + candidate.share - f64::from(candidate.whole)).clamp(-1.0, 1.0);
            self.granted[candidate.index as usize].1 = candidate.whole;
        }
    }
}

/// Water filling: moves the candidates that want no more than the level times their weight to the front, and computes
/// the shares of the others. Returns the number of candidates at the front, and the slots of the others together; there
/// is at least one other.
fn fill(candidates: &mut [Candidate], available: u32) -> (usize, u32) {
    let (mut content, mut left) = (0, available);
    loop {
        let weights: f64 = candidates[content..].iter().map(|candidate| candidate.weight).sum();
        let level = f64::from(left) / weights;
        let before = content;
        for index in before..candidates.len() {
            let candidate = &mut candidates[index];
            candidate.share = level * candidate.weight;
            if f64::from(candidate.wanted) <= candidate.share && candidate.wanted <= left {
                left -= candidate.wanted;
                candidates.swap(content, index);
                content += 1;
            }
        }
        if content == before {
            return (content, left);
        }
    }
}
