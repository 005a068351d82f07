//! The packets of a frame that wait, and those of them that are decoded in an iteration.

/// Which packets of a frame wait.
#[derive(Debug, Default)]
pub(super) struct Waiting(Vec<Group>);

/// 64 packets, a bit for each.
#[derive(Clone, Copy, Debug)]
struct Group {
    waiting: u64,
    /// Those that were found last.
    found: u64,
}

impl Waiting {
    /// Lets the first so many wait, and no others.
    pub(super) fn fill(&mut self, packets: usize) {
        self.0.clear();
        self.0.resize(packets.div_ceil(64), Group { waiting: u64::MAX, found: 0 });
        if let (Some(last), rest @ 1..) = (self.0.last_mut(), packets % 64) {
            last.waiting = (1 << rest) - 1;
        }
    }

    /// Looks at those that wait: those that `is_found` finds wait no longer. Returns how many.
    #[inline(always)]
    pub(super) fn find(&mut self, is_found: impl Fn(u32) -> bool) -> usize {
        let mut count = 0;
        for (group, Group { waiting, found }) in (0..).zip(&mut self.0) {
            let mut of_group = 0;
            // Without a branch: it would be guessed wrongly as often as not.
            ones(*waiting, |bit| of_group |= u64::from(is_found(64 * group + bit)) << bit);
            (*waiting, *found) = (*waiting ^ of_group, of_group);
            if of_group != 0 {
                count += of_group.count_ones() as usize;
            }
        }
        count
    }

    /// Calls `work` with each that was found last.
    #[inline(always)]
    pub(super) fn for_each_found(&self, mut work: impl FnMut(u32)) {
        (0..).zip(&self.0).for_each(|(group, &Group { found, .. })| ones(found, |bit| work(64 * group + bit)));
    }

    /// Calls `work` with each that waits, in their order.
    #[inline(always)]
    pub(super) fn for_each(&self, mut work: impl FnMut(u32)) {
        (0..).zip(&self.0).for_each(|(group, &Group { waiting, .. })| ones(waiting, |bit| work(64 * group + bit)));
    }
}

/// Calls `work` with the number of each bit that is set.
#[inline(always)]
fn ones(mut word: u64, mut work: impl FnMut(u32)) {
    while word != 0 {
        work(word.trailing_zeros());
        word &= word - 1;
    }
}
