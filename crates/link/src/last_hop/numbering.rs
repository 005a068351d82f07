//! The numbers that packets get when they are first sent, by which the receiver restores their order.

#[derive(Default)]
pub(super) struct Numbering {
    /// The number of the next packet of each flow.
    next: Vec<u64>,
}

impl Numbering {
    /// Numbers a packet of a flow.
    #[inline]
    pub(super) fn number(&mut self, flow: u32) -> u64 {
        if flow as usize >= self.next.len() {
            self.next.resize(flow as usize + 1, 0);
        }
        let number = &mut self.next[flow as usize];
        *number += 1;
        *number - 1
    }

    /// The number of the next packet of each flow so far.
    pub(super) fn next(&self) -> &[u64] {
        &self.next
    }
}
