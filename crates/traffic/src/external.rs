//! Traffic that somebody outside of the run sends and receives.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Time};

use crate::{Act, Kind, MakeRng, Needs, Source, UserSource, of_each_user};

/// Packets of real applications, which enter and leave at both ends (`transorbit emulate`); each user is one flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct External {}

impl Kind for External {
    fn build(&self, offsets: &[Duration], _duration: Duration, streams: &mut MakeRng) -> Vec<UserSource> {
        of_each_user(offsets, streams, |_, _| [Outside])
    }

    fn needs(&self) -> Needs {
        Needs::Outside
    }
}

/// An application outside of the run, of which nothing is known here.
struct Outside;

impl Source for Outside {
    fn poll_action(&mut self, _now: Time) -> Option<Act> {
        None
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }
}
