//! A channel by itself: the series that a user would meet, and its statistics.

use std::path::Path;

use channel::ChannelModel;
use engine::Streams;
use sim::{ScenarioError, Table, channel_from_json, channel_streams, load_channel, positive};
use units::Duration;

use crate::limit::MOST_ROWS;

/// A channel outside any run: what it would do to a user.
pub struct ChannelTool {
    model: Box<dyn ChannelModel>,
    streams: Streams,
}

impl ChannelTool {
    /// The channel of a scenario's `channel` table, given as JSON; relative file names start from `base`.
    ///
    /// # Errors
    /// The first field that is wrong, or a file that cannot be read.
    pub fn new(config_json: &str, base: &Path, seed: u64) -> Result<ChannelTool, ScenarioError> {
        let config = channel_from_json(config_json)?;
        Ok(ChannelTool { model: load_channel(&config, base, None)?, streams: Streams::new(seed) })
    }

    /// The series that user 0 of a run with this seed meets; without a step, as finely as the channel changes.
    ///
    /// # Errors
    /// A duration or a step of no time.
    pub fn generate(&self, duration: Duration, step: Option<Duration>) -> Result<Table, ScenarioError> {
        positive("duration", duration)?;
        step.map_or(Ok(()), |step| positive("step", step))?;
        let fine = step.or(self.model.sampling_interval()).unwrap_or(Duration::from_millis(1));
        let count = duration.as_nanos() / fine.as_nanos().max(1);
        if count > MOST_ROWS {
            let message = format!("{duration} in steps of {fine} are {count} rows, at most {MOST_ROWS} are made");
            return Err(ScenarioError::new("duration", message));
        }
        let mut streams = channel_streams(self.streams, 0);
        let rows: Vec<_> = channel::generate(self.model.as_ref(), duration, step, &mut streams).collect();
        let mut table = Table::default();
        table.float("time_s", rows.iter().map(|row| row.time_s));
        table.float("attenuation_db", rows.iter().map(|row| row.attenuation_db.unwrap_or(f64::NAN)));
        table.float("snr_db", rows.iter().map(|row| row.snr_db));
        table.float("mutual_information", rows.iter().map(|row| row.mutual_information));
        table.text("state", rows.iter().map(|row| row.state.unwrap_or_default().to_owned()));
        Ok(table)
    }

    /// Statistics over `duration` of the same series, as JSON; the keys end in their units.
    ///
    /// # Errors
    /// A duration of no time.
    pub fn stats(&self, duration: Duration) -> Result<String, ScenarioError> {
        positive("duration", duration)?;
        let stats = channel::measure(self.model.as_ref(), duration, &mut channel_streams(self.streams, 0));
        Ok(serde_json::to_string(&stats).expect("statistics are JSON"))
    }
}
