//! Wrong input never panics.

#[path = "util/hostile.rs"]
mod hostile;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn any_segments_in_any_order(script in prop::collection::vec(any::<u8>(), 0..2000)) {
        hostile::drive(&script);
    }
}
