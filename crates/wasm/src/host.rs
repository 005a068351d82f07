//! Requests of a page and their answers.

use serde::Deserialize;
use serde_json::{Value as Json, json};
use sim::{Plans, Record, Scenario, ScenarioError, Simulation};
use studies::constellation::Globe;
use units::{MemoryFiles, Time};

use crate::{pack, text};

/// The core as a page sees it: files in memory, a run, and the record of the last one.
#[derive(Default)]
pub struct Host {
    room: Vec<u8>,
    answer: Vec<u8>,
    files: MemoryFiles,
    plans: Plans,
    run: Option<Simulation>,
    record: Option<Record>,
}

/// A request; the bytes behind it are named in its comment.
#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    /// Keeps a file by the name that scenarios give it; the bytes are its contents.
    File { name: String },
    /// Checks a scenario, the bytes: its values with every default filled in.
    Check,
    /// A scenario, the bytes, with the value at a dotted path replaced, or taken out where there is none.
    Edit { path: String, value: Option<Json> },
    /// Opens a run of a scenario, the bytes. `watch`: keeps events, and packets that are sent between these seconds.
    Open { seed: Option<u64>, watch: Option<[f64; 2]> },
    /// Continues the run up to an instant.
    Advance { until_s: f64 },
    /// Ends the run: its summary. `partial`: it was stopped before its end.
    Finish { partial: bool },
    /// Forgets the run.
    Cancel,
    /// A table of the last record: `flows`, `series`, `events` or `packets`.
    Table { name: String },
    /// The contents of a picture of a scenario's path; the bytes are the scenario.
    Globe { instants: u64 },
    /// The schema of scenarios, what can be chosen in them, the columns of results, the version.
    About,
}

/// Why a request is refused.
#[derive(Debug)]
pub struct Refusal {
    field: String,
    message: String,
    line: Option<usize>,
}

impl Refusal {
    fn of(error: &ScenarioError, scenario: &str) -> Refusal {
        Refusal { line: text::line(scenario, &error.field), field: error.field.clone(), message: error.to_string() }
    }

    fn plain(message: impl ToString) -> Refusal {
        Refusal { field: String::new(), message: message.to_string(), line: None }
    }
}

type Answer = Result<Vec<u8>, Refusal>;

impl Host {
    /// Room for a request of `len` bytes.
    pub fn room(&mut self, len: usize) -> &mut [u8] {
        self.room.clear();
        self.room.resize(len, 0);
        &mut self.room
    }

    /// The answer to the last call.
    pub fn answer(&self) -> &[u8] {
        &self.answer
    }

    /// Answers the request in the room, whose first `head` bytes are its JSON: whether it is granted. If not, the
    /// answer has
    /// `message`, `field` and `line`.
    pub fn call(&mut self, head: usize) -> bool {
        let room = std::mem::take(&mut self.room);
        let (head, body) = room.split_at(head.min(room.len()));
        let answer = serde_json::from_slice(head).map_err(Refusal::plain).and_then(|request| self.grant(request, body));
        let granted = answer.is_ok();
        self.answer = answer.unwrap_or_else(|Refusal { field, message, line }| {
            bytes(&json!({ "field": field, "message": message, "line": line }))
        });
        granted
    }

    fn grant(&mut self, request: Request, body: &[u8]) -> Answer {
        match request {
            Request::File { name } => {
                self.files.insert(name, body.into());
                self.plans = Plans::default(); // they may have read another file of that name
                Ok(bytes(&Json::Null))
            }
            Request::Check => self.check(utf8(body)?),
            Request::Edit { path, value } => self.edit(utf8(body)?, &path, value),
            Request::Open { seed, watch } => self.open(utf8(body)?, seed, watch),
            Request::Advance { until_s } => {
                let run = self.run.as_mut().ok_or_else(no_run)?;
                run.advance(Time::from_secs_f64(until_s)).map_err(Refusal::plain)?;
                Ok(bytes(&json!({ "now_s": run.now().as_secs_f64() })))
            }
            Request::Finish { partial } => {
                let record = self.run.take().ok_or_else(no_run)?.finish(partial).map_err(Refusal::plain)?;
                let mut summary = Vec::new();
                record.write_summary(&mut summary).map_err(Refusal::plain)?;
                self.record = Some(record);
                Ok(summary)
            }
            Request::Cancel => {
                self.run = None;
                Ok(bytes(&Json::Null))
            }
            Request::Table { name } => self.table(&name),
            Request::Globe { instants } => self.globe(utf8(body)?, instants),
            Request::About => Ok(bytes(&json!({
                "version": env!("CARGO_PKG_VERSION"),
                "schema": sim::schema(),
                "registries": sim::registries(),
                "columns": sim::columns(),
            }))),
        }
    }

    fn scenario(&self, toml: &str) -> Result<Scenario, Refusal> {
        Scenario::from_toml(toml, self.files.clone()).map_err(|error| Refusal::of(&error, toml))
    }

    fn check(&self, toml: &str) -> Answer {
        let refuse = |error: ScenarioError| Refusal::of(&error, toml);
        let plan = self.plans.plan(&self.scenario(toml)?).map_err(refuse)?;
        let values = serde_json::to_value(plan.config()).map_err(Refusal::plain)?;
        Ok(bytes(&json!({ "values": values, "warnings": plan.warnings(), "resolved": plan.resolved_toml() })))
    }

    fn edit(&self, toml: &str, path: &str, value: Option<Json>) -> Answer {
        self.scenario(toml)?;
        let edited = text::edited(toml, path, value.as_ref()).map_err(|message| {
            let error = ScenarioError::new(path, message);
            Refusal::of(&error, toml)
        })?;
        Ok(bytes(&json!({ "toml": edited })))
    }

    fn open(&mut self, toml: &str, seed: Option<u64>, watch: Option<[f64; 2]>) -> Answer {
        let refuse = |error: ScenarioError| Refusal::of(&error, toml);
        let plan = self.plans.plan(&self.scenario(toml)?).map_err(refuse)?;
        let mut run = Simulation::of(plan, seed, &mut sim::Nobody).map_err(refuse)?;
        if let Some([from, until]) = watch {
            run.watch(Time::from_secs_f64(from.max(0.0)), Time::from_secs_f64(until.max(0.0)));
        }
        let answer = json!({
            "duration_s": run.duration().as_secs_f64(),
            "seed": run.seed(),
            "warnings": run.plan().warnings(),
        });
        self.run = Some(run);
        Ok(bytes(&answer))
    }

    fn table(&self, name: &str) -> Answer {
        let record = self.record.as_ref().ok_or_else(|| Refusal::plain("there is no record yet"))?;
        let table = match name {
            "flows" => return Ok(pack::table(&record.flows())),
            "series" => &record.series,
            "events" => &record.events,
            "packets" => &record.packets,
            _ => return Err(Refusal::plain(format!("\"{name}\" is no table: flows, series, events or packets"))),
        };
        Ok(pack::table(table))
    }

    fn globe(&self, toml: &str, instants: u64) -> Answer {
        let refuse = |error: ScenarioError| Refusal::of(&error, toml);
        let plan = self.plans.plan(&self.scenario(toml)?).map_err(refuse)?;
        let globe = Globe::of(&plan, instants).map_err(refuse)?;
        let head = serde_json::to_value(&globe).map_err(Refusal::plain)?;
        let positions = globe.iter().flat_map(|globe| globe.positions.iter().flatten().map(|&metre| metre as f32));
        Ok(pack::floats(&head, positions))
    }
}

fn no_run() -> Refusal {
    Refusal::plain("no run is open")
}

fn utf8(body: &[u8]) -> Result<&str, Refusal> {
    std::str::from_utf8(body).map_err(|error| Refusal::plain(format!("not UTF-8 text: {error}")))
}

fn bytes(answer: &Json) -> Vec<u8> {
    answer.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAB: &str = include_str!("../../../scenarios/lab-fixed.toml");

    fn ask(host: &mut Host, request: &Json, body: &str) -> Result<Json, Json> {
        let head = request.to_string();
        host.room(head.len() + body.len()).copy_from_slice(format!("{head}{body}").as_bytes());
        let granted = host.call(head.len());
        let answer = serde_json::from_slice(host.answer()).unwrap();
        if granted { Ok(answer) } else { Err(answer) }
    }

    /// In pieces and watched, the run is the one of the core.
    #[test]
    fn a_run_in_slices_is_the_run() {
        let mut host = Host::default();
        let opened = ask(&mut host, &json!({ "ask": "open", "seed": 3, "watch": [1.0, 2.0] }), LAB).unwrap();
        assert_eq!((&opened["duration_s"], &opened["seed"]), (&json!(60.0), &json!(3)));
        for until in 1..=7 {
            ask(&mut host, &json!({ "ask": "advance", "until_s": 10 * until }), "").unwrap();
        }
        let summary = ask(&mut host, &json!({ "ask": "finish", "partial": false }), "").unwrap();
        let scenario = Scenario::from_toml(LAB, MemoryFiles::new()).unwrap();
        let mut whole = Simulation::new(&scenario, Some(3)).unwrap();
        whole.advance(Time::MAX).unwrap();
        let expected = whole.finish(false).unwrap();
        assert_eq!(summary["digest"], json!(expected.summary.digest));
        let record = host.record.as_ref().unwrap();
        // As bytes: a value that is not there is no number, and equals none.
        let tables = |record: &Record| [pack::table(&record.flows()), pack::table(&record.series)];
        assert_eq!(tables(record), tables(&expected));
        assert!(record.packets.rows() > 1000 && expected.packets.rows() == 0);
        assert!(record.events.rows() > 0 && record.more_events == 0, "a full queue loses packets");
        assert!(ask(&mut host, &json!({ "ask": "advance", "until_s": 1 }), "").is_err());
    }

    #[test]
    fn an_error_names_its_line() {
        let mut host = Host::default();
        let mut says = |toml: &str| ask(&mut host, &json!({ "ask": "check" }), toml).unwrap_err();
        let wrong = says(&LAB.replace("droptail", "dropfront"));
        assert_eq!((&wrong["field"], &wrong["line"]), (&json!("last_hop.scheduler.kind"), &json!(17)), "{wrong}");
        assert_eq!(says(&LAB.replace("[[flows]]", "[[flows"))["line"], json!(21));
    }

    #[test]
    fn files_come_from_memory() {
        let mut host = Host::default();
        let toml = LAB.replace("kind  = \"fixed\"", "kind = \"trace\"\nfile = \"path.csv\"\n#");
        let toml = toml.lines().filter(|line| !line.starts_with("delay = \"40 ms\"")).collect::<Vec<_>>().join("\n");
        let open = json!({ "ask": "open" });
        assert!(ask(&mut host, &open, &toml).unwrap_err()["message"].as_str().unwrap().contains("path.csv"));
        ask(&mut host, &json!({ "ask": "file", "name": "path.csv" }), "time_s,one_way_delay_s\n0,0.02\n9,0.03\n")
            .unwrap();
        ask(&mut host, &open, &toml).unwrap();
    }
}
