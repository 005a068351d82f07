//! The parameters of PCA (Physical Channel Access), the ns-2 module of the DVB-RCS2 study, under their own names.
//!
//! Each is rewritten onto the scenario's own key before anything is checked, so that a script's values can be kept as
//! they are: `access.nbSlotPerFreq_ = 40` is `access.frame.timeslots = 40`.

use serde_json::{Value as Json, json};
use toml::{Table, Value};
use units::FieldError as ScenarioError;

use super::choice::{Choice, Registry};
use super::edit;

/// A parameter of PCA.
struct Parameter {
    name: &'static str,
    /// The key that the parameter stands for, below `access`.
    key: &'static str,
    about: &'static str,
    meaning: Meaning,
}

/// How the value is to be read.
#[derive(Clone, Copy)]
enum Meaning {
    /// As it is.
    Same,
    /// The module's number, in this unit.
    In(&'static str),
    /// 0 or 1, or a truth value.
    Truth,
    /// Carriers, of the random or the dedicated kind: both together are all carriers.
    Carriers,
    /// Carriers of a random access block; its slots are these times the timeslots.
    BlockCarriers,
    /// An option of the scheme of random access, which dedicated access has not.
    OfScheme,
    /// 0 for dedicated access at once, infinite for never, a number for a switch after so many segments.
    SwitchAfter,
}

const fn parameter(name: &'static str, key: &'static str, meaning: Meaning, about: &'static str) -> Parameter {
    Parameter { name, key, about, meaning }
}

/// The parameters of table 1 of the study, in the order of its section 4.1.
const PARAMETERS: &[Parameter] = &[
    parameter(
        "cutConnect_",
        "dedicated.release_after",
        Meaning::In("s"),
        "Time without data after which a connection ends, in s.",
    ),
    parameter("esN0_", "random.es_n0", Meaning::In("dB"), "Signal-to-noise ratio of a burst, in dB."),
    parameter("esNO_", "random.es_n0", Meaning::In("dB"), "The same, as the study spells it."),
    parameter(
        "switchAleaDet_",
        "method",
        Meaning::SwitchAfter,
        "Sequence number at which a flow goes from random to dedicated access: 0 is dedicated access, inf random \
         access. The module takes the loss of random access from a file, so its parameters do not name the scheme: \
         `method` does.",
    ),
    parameter("frameDuration_", "frame.duration", Meaning::In("s"), "Duration of a frame (T_F), in s."),
    parameter("nbSlotPerFreq_", "frame.timeslots", Meaning::Same, "Timeslots of a carrier (N_S)."),
    parameter(
        "sizeSlotRandom_",
        "method.payload_bits",
        Meaning::OfScheme,
        "Useful bits of a packet of random access (N_data); of no meaning to dedicated access.",
    ),
    parameter("sizeSlotDeter_", "dedicated.payload_bits", Meaning::Same, "Useful bits of a dedicated slot (N_data)."),
    parameter(
        "rtt_",
        "dedicated.round_trip",
        Meaning::In("s"),
        "Time between a request and the plan that heeds it, in s.",
    ),
    parameter("freqRandom_", "frame.random_carriers", Meaning::Carriers, "Carriers for random access (F_R)."),
    parameter(
        "nbFreqPerRand_",
        "frame.block_slots",
        Meaning::BlockCarriers,
        "Carriers of a random access block: its slots (N_ra) are so many times the timeslots.",
    ),
    parameter("freqDeter_", "frame.carriers", Meaning::Carriers, "Carriers for dedicated access (F_D)."),
    parameter("maxThroughput_", "max_rate", Meaning::In("Mbit/s"), "The most that a terminal sends, in Mbit/s."),
    parameter(
        "nbSlotRndFreqGroup_",
        "method.replicas",
        Meaning::OfScheme,
        "Bursts of a packet of random access (N_block); of no meaning to dedicated access.",
    ),
    parameter(
        "boolAntennaLimit_",
        "one_amplifier",
        Meaning::Truth,
        "Whether a terminal sends on one carrier at a time. The study's text says the opposite of its table 1; this is \
         the table's.",
    ),
];

/// Rewrites PCA's parameters in a scenario.
///
/// # Errors
/// One is given beside the key that it stands for, or has a value that means nothing.
pub(super) fn rewrite(scenario: &mut Table) -> Result<(), ScenarioError> {
    let Some(Value::Table(access)) = scenario.get_mut("access") else { return Ok(()) };
    let given: Vec<&Parameter> = PARAMETERS.iter().filter(|parameter| access.contains_key(parameter.name)).collect();
    if given.is_empty() {
        return Ok(());
    }
    let original = access.clone();
    for parameter in &given {
        access.remove(parameter.name);
    }
    // The method first: whose options others are depends on it.
    let (first, then): (Vec<&Parameter>, Vec<&Parameter>) = given.iter().partition(|p| p.key == "method");
    let mut stood_for: Vec<&str> = Vec::new();
    for parameter in first.into_iter().chain(then) {
        let failed = |message: String| ScenarioError::new(format!("access.{}", parameter.name), message);
        let value = &original[parameter.name];
        if stood_for.contains(&parameter.key) {
            return Err(failed(format!("stands for access.{}, as another of the given names does", parameter.key)));
        }
        stood_for.push(parameter.key);
        for (key, value) in meant(parameter, value, &original, access).map_err(failed)? {
            if parameter.key != "method" && reach(&original, &key).is_some() {
                return Err(failed(format!("stands for access.{key}, which is given too")));
            }
            edit::set(access, &key, value).map_err(|error| failed(error.message))?;
        }
    }
    Ok(())
}

/// The keys that a parameter stands for, and their values.
fn meant(
    parameter: &Parameter,
    value: &Value,
    original: &Table,
    access: &Table,
) -> Result<Vec<(String, Value)>, String> {
    let one = |value| Ok(vec![(parameter.key.to_owned(), value)]);
    match parameter.meaning {
        Meaning::Same => one(value.clone()),
        Meaning::In(unit) => one(Value::String(format!("{} {unit}", number(value)?))),
        Meaning::Truth => match value {
            Value::Boolean(_) => one(value.clone()),
            Value::Integer(0 | 1) => one(Value::Boolean(*value == Value::Integer(1))),
            other => Err(format!("{other} was given, 0 or 1 is expected")),
        },
        Meaning::Carriers => {
            let count = |name: &str| original.get(name).map_or(Ok(0), whole);
            let (random, dedicated) = (count("freqRandom_")?, count("freqDeter_")?);
            let carriers = |key: &str, count: i64| (key.to_owned(), Value::Integer(count));
            Ok(vec![carriers("frame.carriers", random + dedicated), carriers("frame.random_carriers", random)])
        }
        Meaning::BlockCarriers => {
            let timeslots = reach(access, "frame.timeslots").or(original.get("nbSlotPerFreq_"));
            let slots = number(value)? * timeslots.map_or(Ok(40.0), number)?;
            if slots.fract() != 0.0 {
                return Err(format!("{value} carriers hold {slots} slots, which is no whole number"));
            }
            one(Value::Integer(slots as i64))
        }
        Meaning::OfScheme => {
            let key = parameter.key.trim_start_matches("method.");
            match method_kind(access) {
                None | Some("dedicated") => Ok(Vec::new()),
                Some("switch") => Ok(vec![(format!("method.random.{key}"), value.clone())]),
                _ => one(value.clone()),
            }
        }
        Meaning::SwitchAfter => {
            Ok(method_after(value, access)?.map(|method| ("method".to_owned(), method)).into_iter().collect())
        }
    }
}

/// The method that a switch after so many segments makes of the one that is given; nothing if it stays.
fn method_after(value: &Value, access: &Table) -> Result<Option<Value>, String> {
    let after = match value {
        Value::Float(after) if after.is_infinite() && *after > 0.0 => None,
        Value::String(text) if ["inf", "∞"].contains(&text.as_str()) => None,
        value => Some(whole(value)?),
    };
    let contradicts = |kind: &str| Err(format!("{value} contradicts access.method, which is {kind}"));
    match (after, method_kind(access)) {
        (Some(0), None) => Ok(Some("dedicated".into())),
        (Some(0), Some("dedicated")) => Ok(None),
        (Some(0), Some(kind)) => contradicts(kind),
        (_, None) => {
            Err("says random access, but not of which kind: give access.method, as in method = \"crdsa\"".to_owned())
        }
        (_, Some("dedicated")) => contradicts("dedicated"),
        (None, Some("switch")) => contradicts("switch"),
        (None, Some(_)) => Ok(None),
        (Some(after), Some(kind)) => {
            let given = access.get("method").cloned().unwrap_or("switch".into());
            let mut switch = match (kind, given) {
                ("switch", Value::Table(switch)) => switch,
                ("switch", _) => edit::kind_table("switch"),
                (_, random) => {
                    let mut switch = edit::kind_table("switch");
                    switch.insert("random".to_owned(), random);
                    switch
                }
            };
            let mut policy = edit::kind_table("sequence");
            policy.insert("after".to_owned(), Value::Integer(after));
            match switch.insert("policy".to_owned(), Value::Table(policy)) {
                None => Ok(Some(Value::Table(switch))),
                Some(_) => Err("stands for access.method.policy, which is given too".to_owned()),
            }
        }
    }
}

/// The access method that the module's parameters have chosen so far.
fn method_kind(access: &Table) -> Option<&str> {
    let method = access.get("method");
    let kind = method.and_then(Value::as_table).and_then(|table| table.get("kind")).or(method);
    kind.and_then(Value::as_str)
}

fn whole(value: &Value) -> Result<i64, String> {
    match number(value)? {
        n if n.fract() == 0.0 && (0.0..1e9).contains(&n) => Ok(n as i64),
        _ => Err(format!("{value} was given, a whole number of 0 or more is expected")),
    }
}

fn number(value: &Value) -> Result<f64, String> {
    match value {
        Value::Integer(whole) => Ok(*whole as f64),
        Value::Float(number) if !number.is_nan() => Ok(*number),
        other => Err(format!("{other} was given, a number is expected")),
    }
}

/// The value at a dotted path of tables.
fn reach<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    let (first, rest) = key.split_once('.').map_or((key, None), |(first, rest)| (first, Some(rest)));
    let value = table.get(first)?;
    rest.map_or(Some(value), |rest| reach(value.as_table()?, rest))
}

/// The parameters as a list.
pub(super) fn registry() -> Registry {
    let entries = PARAMETERS.iter().map(|parameter| Choice {
        name: parameter.name.to_owned(),
        summary: format!("{} Stands for access.{}.", parameter.about, parameter.key),
        options: Vec::new(),
    });
    Registry { name: "pca-parameters", key: "access", entries: entries.collect() }
}

/// Adds the parameters to the schema of a scenario, for editors.
pub(super) fn describe(schema: &mut Json) {
    let Some(properties) = schema.pointer_mut("/$defs/AccessConfig/properties").and_then(Json::as_object_mut) else {
        return;
    };
    for parameter in PARAMETERS {
        let about = format!("PCA: {} Stands for `{}`.", parameter.about, parameter.key);
        properties.insert(parameter.name.to_owned(), json!({ "description": about }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(access: &str) -> Result<Table, ScenarioError> {
        let mut scenario: Table = toml::from_str(&format!("[access]\n{access}")).unwrap();
        rewrite(&mut scenario)?;
        Ok(scenario["access"].as_table().unwrap().clone())
    }

    fn table(text: &str) -> Table {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn the_studys_column_for_crdsa_is_understood() {
        let column = "
            method = 'crdsa'
            cutConnect_ = 3
            esNO_ = 5
            switchAleaDet_ = inf
            frameDuration_ = 0.045
            nbSlotPerFreq_ = 40
            sizeSlotRandom_ = 597
            rtt_ = 0.5
            freqRandom_ = 100
            nbFreqPerRand_ = 2.5
            freqDeter_ = 0
            maxThroughput_ = 1
            nbSlotRndFreqGroup_ = 3
            boolAntennaLimit_ = 1";
        let expected = "
            one_amplifier = true
            max_rate = '1 Mbit/s'
            method = { kind = 'crdsa', payload_bits = 597, replicas = 3 }
            frame = { duration = '0.045 s', timeslots = 40, carriers = 100, random_carriers = 100, block_slots = 100 }
            random = { es_n0 = '5 dB' }
            dedicated = { release_after = '3 s', round_trip = '0.5 s' }";
        assert_eq!(rewritten(column).unwrap(), table(expected));
    }

    #[test]
    fn the_studys_column_for_dedicated_access_is_understood() {
        let column = "
            switchAleaDet_ = 0
            sizeSlotDeter_ = 920
            freqRandom_ = 0
            freqDeter_ = 100
            nbSlotRndFreqGroup_ = 1";
        let expected = "
            method = 'dedicated'
            frame = { carriers = 100, random_carriers = 0 }
            dedicated = { payload_bits = 920 }";
        assert_eq!(rewritten(column).unwrap(), table(expected));
    }

    #[test]
    fn a_number_switches_after_so_many_segments() {
        let switch = rewritten("method = 'musca'\nswitchAleaDet_ = 4\nsizeSlotRandom_ = 594").unwrap();
        let expected = "
            [method]
            kind = 'switch'
            random = { kind = 'musca', payload_bits = 594 }
            policy = { kind = 'sequence', after = 4 }";
        assert_eq!(switch, table(expected));
        let bare = rewritten("method = 'switch'\nswitchAleaDet_ = 4").unwrap();
        assert_eq!(bare, table("method = { kind = 'switch', policy = { kind = 'sequence', after = 4 } }"));
    }

    #[test]
    fn what_means_nothing_or_two_things_is_refused() {
        let refused = |access: &str| rewritten(access).unwrap_err().to_string();
        assert_eq!(
            refused("nbSlotPerFreq_ = 40\nframe = { timeslots = 30 }"),
            "access.nbSlotPerFreq_: stands for access.frame.timeslots, which is given too"
        );
        assert_eq!(
            refused("esN0_ = 5\nesNO_ = 6"),
            "access.esNO_: stands for access.random.es_n0, as another of the given names does"
        );
        assert_eq!(
            refused("method = 'dedicated'\nswitchAleaDet_ = inf"),
            "access.switchAleaDet_: inf contradicts access.method, which is dedicated"
        );
        assert!(refused("method = 'crdsa'\nswitchAleaDet_ = 0").ends_with("which is crdsa"));
        assert!(refused("switchAleaDet_ = 3").contains("method = \"crdsa\""));
        assert!(refused("switchAleaDet_ = 2.5").contains("a whole number"));
        assert!(refused("method = 'crdsa'\nfreqRandom_ = 2.5").contains("a whole number"));
        assert!(refused("method = { kind = 'switch', policy = 'granted' }\nswitchAleaDet_ = 3").contains("given too"));
        assert_eq!(refused("rtt_ = 'long'"), "access.rtt_: \"long\" was given, a number is expected");
        assert_eq!(refused("boolAntennaLimit_ = 2"), "access.boolAntennaLimit_: 2 was given, 0 or 1 is expected");
        assert!(refused("nbFreqPerRand_ = 2.51").ends_with("which is no whole number"));
    }

    #[test]
    fn every_parameter_is_described_to_editors_and_stands_for_a_key_that_exists() {
        let schema = super::super::schema();
        let transfer = include_str!("../../../../scenarios/dvbrcs2-transfer.toml");
        for parameter in PARAMETERS {
            let described = schema.pointer(&format!("/$defs/AccessConfig/properties/{}", parameter.name));
            assert!(described.is_some(), "{}", parameter.name);
            let value = match parameter.meaning {
                Meaning::SwitchAfter => "inf",
                Meaning::In("s") => "0.045",
                Meaning::BlockCarriers => "2.5",
                Meaning::Carriers => "100",
                Meaning::Same if parameter.key == "frame.timeslots" => "40",
                Meaning::Same => "920",
                _ => "1",
            };
            let access = format!("{{ method = \"crdsa\", {} = {value} }}", parameter.name);
            let scenario = super::super::Scenario::from_toml(transfer, std::path::Path::new(".")).unwrap();
            let scenario = scenario.assign(&format!("access={access}")).unwrap();
            // Replicas of one are refused by CRDSA, dedicated carriers alone by random access: both by a key that
            // exists.
            let complaint = scenario.config().err().map(|error| error.to_string()).unwrap_or_default();
            assert!(
                !complaint.contains("unknown") && !complaint.contains("is not known"),
                "{}: {complaint}",
                parameter.name
            );
        }
    }
}
