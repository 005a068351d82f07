//! The channel of a plan and the delay of the last hop.

use std::sync::Arc;

use channel::qpsk::BITS_PER_SYMBOL;
use channel::{ChannelConfig, ChannelModel, Geometry};
use engine::Streams;
use link::Propagation;
use rand::Rng;
use units::{BitRate, Duration, Files, OrOrbit, Time};

use super::path::PathPlan;
use crate::scenario::{ScenarioConfig, ScenarioError};

/// A channel as the scenario names it, its files read; `geometry` is how the satellite that serves the users is seen.
///
/// # Errors
/// The first field that is wrong, or a file that cannot be read.
pub fn load_channel(
    config: &ChannelConfig,
    files: &mut dyn Files,
    geometry: Option<&Arc<Geometry>>,
) -> Result<Box<dyn ChannelModel>, ScenarioError> {
    config.entry().load(files, geometry).map_err(|error| error.within("channel"))
}

/// The most memory of all users' channels together, in bytes.
const MOST_CHANNEL_BYTES: u64 = 4 << 30;

/// Checks that so many users' channels fit the memory.
///
/// # Errors
/// The channels of so many users need more memory than is allowed.
pub fn check_users(model: &dyn ChannelModel, users: u32) -> Result<(), ScenarioError> {
    let (each, most) = (model.user_bytes(), MOST_CHANNEL_BYTES / model.user_bytes());
    if u64::from(users) <= most {
        return Ok(());
    }
    let message = format!(
        "{users} users have one of their own, each of {} KiB of memory: at most {most} users of such a channel are \
         possible",
        each / 1024
    );
    Err(ScenarioError::new("channel", message))
}

/// Random streams for one channel.
pub fn channel_streams(streams: Streams, user: u64) -> impl FnMut(&'static str) -> Box<dyn Rng + Send> {
    let streams = streams.within("channel.");
    move |purpose| Box::new(streams.stream(purpose, user))
}

/// How far the last hop's delay may be from the geometric one without a warning: satellites of low orbits are nearer.
const LARGEST_DIFFERENCE: Duration = Duration::from_millis(10);
/// The longest delay of a last hop. The Moon is 1.3 s away; every channel is drawn for as long ahead.
const LONGEST_DELAY: Duration = Duration::from_secs(60);

/// The delay between the serving satellite and the users.
///
/// # Errors
/// The delay is longer than [`LONGEST_DELAY`], or follows the orbit, and the path knows none.
pub(super) fn propagation(config: &ScenarioConfig, path: &PathPlan) -> Result<Propagation, ScenarioError> {
    match config.last_hop.delay {
        OrOrbit::Given(delay) if delay > LONGEST_DELAY => {
            Err(ScenarioError::new("last_hop.delay", format!("{delay} is longer than {LONGEST_DELAY}")))
        }
        OrOrbit::Given(delay) => Ok(Propagation::fixed(delay)),
        OrOrbit::Orbit => path.propagation().ok_or_else(|| {
            let message = format!(
                "\"orbit\" follows the satellite that serves the users, and a path of kind {} knows none: give a delay",
                config.path.kind()
            );
            ScenarioError::new("last_hop.delay", message)
        }),
    }
}

/// Returns a warning about a delay of the last hop that the satellites' geometry contradicts.
pub(super) fn delay_warning(config: &ScenarioConfig, path: &PathPlan) -> Option<String> {
    let OrOrbit::Given(delay) = config.last_hop.delay else { return None };
    let geometric = path.propagation()?.mean();
    ((delay.as_secs_f64() - geometric.as_secs_f64()).abs() > LARGEST_DIFFERENCE.as_secs_f64()).then(|| {
        format!(
            "last_hop.delay: packets take {delay} between satellite and users, who are {:.1} ms apart on average, as \
             path delays are told: \"orbit\" would follow that",
            geometric.as_secs_f64() * 1e3
        )
    })
}

/// Returns a warning about packets without a code over a channel that fades.
pub(super) fn uncoded_warning(config: &ScenarioConfig, model: &dyn ChannelModel) -> Option<String> {
    let uncoded = config.last_hop.harq.entry().sends_uncoded() && model.speed_mps().is_some();
    uncoded.then(|| {
        let kind = config.last_hop.harq.kind();
        format!(
            "last_hop.harq: with \"{kind}\" packets have no code, and over a channel that fades one wrong bit loses a \
             packet; the others of `transorbit list harq` have one"
        )
    })
}

/// How far the rate of the last hop may be from that of its symbols without a warning: a share of the symbols' rate.
const LARGEST_RATE_DIFFERENCE: f64 = 0.1;

/// Returns a warning about a link budget whose symbols do not carry what the last hop sends: its Es/N0 is that of
/// another bandwidth.
pub(super) fn symbol_rate_warning(config: &ScenarioConfig) -> Option<String> {
    let symbol_rate = config.channel.entry().symbol_rate()?;
    let (rate, carried) = (config.last_hop.mean_rate(), BITS_PER_SYMBOL * symbol_rate.as_hz());
    let fits = (rate.as_bps() as f64 - carried).abs() <= LARGEST_RATE_DIFFERENCE * carried;
    (!fits).then(|| {
        format!(
            "channel.link_budget.symbol_rate: {symbol_rate} carries {} of coded bits by QPSK, and last_hop.rate is \
             {rate}: Es/N0 is not that of the symbols which are sent",
            BitRate::from_bps(carried as u64)
        )
    })
}

/// How far the speed of the fading may be from that of the moving user without a warning: a share of the user's.
const LARGEST_SPEED_DIFFERENCE: f64 = 0.1;

/// Returns a warning about a fading whose speed the user's course contradicts. A user that stays at a place may move
/// about there.
///
/// # Errors
/// The file of the user's track cannot be read.
pub(super) fn speed_warning(
    config: &ScenarioConfig,
    model: &dyn ChannelModel,
    files: &mut dyn Files,
) -> Result<Option<String>, ScenarioError> {
    let (Some(fading), Some(path)) = (model.speed_mps(), config.path.entry().constellation()) else { return Ok(None) };
    let course = path.user.course(files).map_err(|error| error.within("user").within("path"))?;
    let Some(moves) = course.mean_speed(Time::ZERO + config.duration) else { return Ok(None) };
    Ok(((fading - moves).abs() > LARGEST_SPEED_DIFFERENCE * moves).then(|| {
        let [fading, moves] = [fading, moves].map(|mps| (mps * 36.0).round() / 10.0);
        format!(
            "channel.speed: the fading is that of a user at {fading} km/h, and path.user moves at {moves} km/h on \
             average: give the channel that speed"
        )
    }))
}
