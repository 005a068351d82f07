//! Orbit mean-elements messages (CCSDS 502.0-B-3 section 4), in the forms in which catalogues give them: JSON and CSV
//! as CelesTrak and Space-Track write them, and CCSDS' own two, keyword = value (section 7) and XML (CCSDS 505.0).

use std::borrow::Cow;
use std::collections::BTreeMap;

use roxmltree::{Document, Node, ParsingOptions};
use serde_json::Value;

use crate::csv::{Line, rows};
use crate::satellites::elements::{ElementSet, ElementsError};

/// An OMM's keywords and values, both as text.
type Fields = BTreeMap<String, String>;

/// Reads a JSON array of messages, or one message.
///
/// # Errors
/// Names the position in the text, or the record and the keyword that is wrong.
pub fn parse_json(text: &str) -> Result<Vec<ElementSet>, ElementsError> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| ElementsError::general(format!("not JSON: {error}")))?;
    let records = match value {
        Value::Array(records) => records,
        record => vec![record],
    };
    let read = |(i, record): (usize, Value)| {
        let position = format!("record {}", i + 1);
        let Value::Object(record) = record else {
            return Err(ElementsError::at(position, "must be an object with the keywords of an OMM"));
        };
        let text = |value: Value| match value {
            Value::String(text) => text,
            Value::Null => String::new(),
            other => other.to_string(),
        };
        set(&position, &record.into_iter().map(|(key, value)| (key, text(value))).collect())
    };
    records.into_iter().enumerate().map(read).collect()
}

/// Reads comma-separated rows under a header of keywords.
///
/// # Errors
/// Names the line, and the keyword that is wrong.
pub fn parse_csv(text: &str) -> Result<Vec<ElementSet>, ElementsError> {
    let mut lines = rows(text);
    let cells = |line: &Line| -> Result<Vec<String>, ElementsError> {
        let cells = line.cells().map_err(|error| ElementsError::at(error.field, error.message))?;
        Ok(cells.into_iter().map(Cow::into_owned).collect())
    };
    let Some(header) = lines.next() else { return Ok(Vec::new()) };
    let header = cells(&header)?;
    let read = |line: Line| {
        let (position, row) = (format!("line {}", line.number), cells(&line)?);
        if row.len() != header.len() {
            let message = format!("{} columns where the header has {}", row.len(), header.len());
            return Err(ElementsError::at(position, message));
        }
        set(&position, &header.iter().cloned().zip(row).collect())
    };
    lines.map(read).collect()
}

/// Reads messages of lines `KEYWORD = value`; a message begins with its version, or where a keyword repeats.
///
/// # Errors
/// Names the line, or the record and the keyword that is wrong.
pub fn parse_kvn(text: &str) -> Result<Vec<ElementSet>, ElementsError> {
    let mut records: Vec<(usize, Fields)> = Vec::new();
    for (i, line) in text.lines().enumerate().map(|(i, line)| (i + 1, line.trim())) {
        if line.is_empty() || line.split_whitespace().next() == Some("COMMENT") {
            continue;
        }
        let Some((key, value)) = line.split_once('=').map(|(key, value)| (key.trim(), value.trim())) else {
            return Err(ElementsError::at(format!("line {i}"), format!("\"{line}\" must be KEYWORD = value")));
        };
        // A unit may follow in brackets, `51.6 [deg]`, but not a name.
        let is_name = key.starts_with("OBJECT_");
        let value = value.split_once('[').filter(|_| !is_name).map_or(value, |(value, _)| value.trim());
        match records.last_mut() {
            Some((_, fields)) if key != "CCSDS_OMM_VERS" && !fields.contains_key(key) => {
                fields.insert(key.to_owned(), value.to_owned());
            }
            _ => records.push((i, BTreeMap::from([(key.to_owned(), value.to_owned())]))),
        }
    }
    records.iter().map(|(i, fields)| set(&format!("the message at line {i}"), fields)).collect()
}

/// Reads the messages of an XML text: every `<omm>`, and in it every element without elements below. OMMs have neither
/// relevant attributes nor nested elements of the same name.
///
/// # Errors
/// The text is no XML, or a record is wrong: names it and the keyword.
pub fn parse_xml(text: &str) -> Result<Vec<ElementSet>, ElementsError> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options);
    let document = document.map_err(|error| ElementsError::general(format!("not XML: {error}")))?;
    let messages = document.descendants().filter(|node| node.tag_name().name() == "omm");
    let fields = |message: Node| -> Fields {
        let leaves = message.descendants().filter(|node| node.is_element() && node.first_element_child().is_none());
        let field = |leaf: Node| {
            // Comments may stand within.
            let texts = leaf.children().filter(Node::is_text).filter_map(|node| node.text());
            (leaf.tag_name().name().to_owned(), texts.collect::<String>().trim().to_owned())
        };
        leaves.map(field).collect()
    };
    (1..).zip(messages).map(|(i, message)| set(&format!("record {i}"), &fields(message))).collect()
}

/// The elements of one satellite's OMM.
fn set(position: &str, fields: &Fields) -> Result<ElementSet, ElementsError> {
    let given = |key: &str| fields.get(key).map(String::as_str).filter(|value| !value.is_empty());
    let refuse = |message: String| ElementsError::at(position, message);
    // The values for which SGP4 is defined. Catalogues in JSON and CSV leave these keywords out.
    let meant: [(&str, &[&str]); 4] = [
        ("CENTER_NAME", &["EARTH"]),
        ("REF_FRAME", &["TEME"]),
        ("TIME_SYSTEM", &["UTC"]),
        ("MEAN_ELEMENT_THEORY", &["SGP4", "SGP/SGP4", "SDP4"]),
    ];
    for (key, allowed) in meant {
        if let Some(value) = given(key).filter(|value| !allowed.contains(&value.to_uppercase().as_str())) {
            return Err(refuse(format!("{key} \"{value}\" must be {}", allowed.join(" or "))));
        }
    }
    if given("EPHEMERIS_TYPE") == Some("4") {
        return Err(refuse("the elements are for SGP4-XP (EPHEMERIS_TYPE 4), which is not public".to_owned()));
    }
    let text = |key: &str| given(key).ok_or_else(|| refuse(format!("{key} is missing")));
    let number = |key: &str, low: f64, high: f64| {
        let value = text(key)?;
        match value.parse::<f64>() {
            Ok(number) if (low..=high).contains(&number) => Ok(number),
            Ok(_) => Err(refuse(format!("{key} {value} must be between {low} and {high}"))),
            Err(_) => Err(refuse(format!("{key} \"{value}\" must be a number"))),
        }
    };
    let catalogue = match given("NORAD_CAT_ID") {
        Some(value) => value.parse().map_err(|_| refuse(format!("NORAD_CAT_ID \"{value}\" must be a whole number")))?,
        None => 0,
    };
    let name = given("OBJECT_NAME").map(str::to_owned).or_else(|| given("NORAD_CAT_ID").map(str::to_owned));
    Ok(ElementSet {
        name: name.ok_or_else(|| refuse("OBJECT_NAME is missing".to_owned()))?,
        number: catalogue,
        epoch: text("EPOCH")?.parse().map_err(|error| refuse(format!("EPOCH {error}")))?,
        mean_motion: number("MEAN_MOTION", 0.01, 20.0)?,
        eccentricity: number("ECCENTRICITY", 0.0, 0.999_999_9)?,
        inclination: number("INCLINATION", 0.0, 180.0)?,
        right_ascension: number("RA_OF_ASC_NODE", -360.0, 360.0)?,
        argument_of_perigee: number("ARG_OF_PERICENTER", -360.0, 360.0)?,
        mean_anomaly: number("MEAN_ANOMALY", -360.0, 360.0)?,
        drag: if given("BSTAR").is_some() { number("BSTAR", -10.0, 10.0)? } else { 0.0 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Made up, in CelesTrak's format.
    const JSON: &str = r#"[{"OBJECT_NAME":"DEMO 1, \"A\"","OBJECT_ID":"2026-001A","EPOCH":"2026-11-20T22:30:15.5",
        "MEAN_MOTION":14.34216969,"ECCENTRICITY":0.0002131,"INCLINATION":86.3973,"RA_OF_ASC_NODE":12.5,
        "ARG_OF_PERICENTER":90.25,"MEAN_ANOMALY":269.75,"EPHEMERIS_TYPE":0,"CLASSIFICATION_TYPE":"U",
        "NORAD_CAT_ID":100001,"ELEMENT_SET_NO":999,"REV_AT_EPOCH":5,"BSTAR":0.25e-4,"MEAN_MOTION_DOT":1.0e-6,
        "MEAN_MOTION_DDOT":0}]"#;

    fn expected() -> ElementSet {
        ElementSet {
            name: "DEMO 1, \"A\"".to_owned(),
            number: 100_001,
            epoch: "2026-11-20T22:30:15.5".parse().unwrap(),
            mean_motion: 14.342_169_69,
            eccentricity: 0.000_213_1,
            inclination: 86.3973,
            right_ascension: 12.5,
            argument_of_perigee: 90.25,
            mean_anomaly: 269.75,
            drag: 0.25e-4,
        }
    }

    /// The message's keywords and values.
    fn pairs() -> Vec<(String, String)> {
        let Value::Array(records) = serde_json::from_str(JSON).unwrap() else { panic!() };
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        records[0].as_object().unwrap().iter().map(|(key, value)| (key.clone(), text(value))).collect()
    }

    fn kvn() -> String {
        let head = "CCSDS_OMM_VERS = 3.0\nCOMMENT made up\nCENTER_NAME = EARTH\nREF_FRAME = TEME\nTIME_SYSTEM = UTC\n\
            MEAN_ELEMENT_THEORY = SGP4\n";
        let lines = pairs().into_iter().map(|(key, value)| match key.as_str() {
            "INCLINATION" => format!("{key} = {value} [deg]\n"),
            _ => format!("{key} = {value}\n"),
        });
        head.to_owned() + &lines.collect::<String>()
    }

    #[test]
    fn every_form_says_the_same() {
        assert_eq!(parse_json(JSON).unwrap(), [expected()]);
        let single = JSON.trim().trim_start_matches('[').trim_end_matches(']');
        // Space-Track writes numbers as texts.
        let texts = single.replace(":14.34216969", ":\"14.34216969\"").replace(":100001", ":\"100001\"");
        assert_eq!(parse_json(&texts).unwrap(), [expected()]);

        let (keys, values): (Vec<_>, Vec<_>) = pairs().into_iter().unzip();
        let quoted: Vec<_> = values.iter().map(|value| format!("\"{}\"", value.replace('"', "\"\""))).collect();
        let csv = format!("{}\r\n{}\r\n\r\n{}\r\n", keys.join(","), quoted.join(","), quoted.join(","));
        assert_eq!(parse_csv(&csv).unwrap(), [expected(), expected()]);

        assert_eq!(parse_kvn(&(kvn() + "\n" + &kvn())).unwrap(), [expected(), expected()]);

        let tags = pairs().into_iter().map(|(key, value)| format!("<{key}>{}</{key}>\n", value.replace('"', "&quot;")));
        let body = format!(
            "<omm id=\"x\"><body><segment><metadata>{}</metadata></segment></body></omm>",
            tags.collect::<String>()
        );
        assert_eq!(
            parse_xml(&format!("<?xml version=\"1.0\"?><ndm>{body}{body}</ndm>")).unwrap(),
            [expected(), expected()]
        );
        let prefixed =
            body.replace("<omm", "<n:omm").replace("</omm", "</n:omm").replace("86.3973", "86.<!-- <x> -->3973");
        assert_eq!(parse_xml(&format!("<!DOCTYPE omm>{body}")).unwrap(), [expected()]);
        assert_eq!(parse_xml(&format!("<n:ndm xmlns:n=\"urn:ndm\">{prefixed}</n:ndm>")).unwrap(), [expected()]);
    }

    #[test]
    fn brackets_in_a_name_are_no_unit() {
        let named = kvn().replace("DEMO 1", "SAT 1 [DTC]");
        assert_eq!(parse_kvn(&named).unwrap()[0].name, "SAT 1 [DTC], \"A\"");
        let number = kvn().replace("DEMO 1, \"A\"", "11 [DTC]");
        assert_eq!(parse_kvn(&number).unwrap()[0].name, "11 [DTC]");
    }

    #[test]
    fn says_what_is_wrong_where() {
        let json = |from: &str, to: &str| parse_json(&JSON.replace(from, to)).unwrap_err().to_string();
        assert_eq!(json("\"MEAN_MOTION\"", "\"MEAN\""), "record 1: MEAN_MOTION is missing");
        assert_eq!(json("86.3973", "186.3973"), "record 1: INCLINATION 186.3973 must be between 0 and 180");
        assert_eq!(json("0.0002131", "\"round\""), "record 1: ECCENTRICITY \"round\" must be a number");
        assert_eq!(json("0.0002131", "\"nan\""), "record 1: ECCENTRICITY nan must be between 0 and 0.9999999");
        assert!(
            json("2026-11-20T", "20 Nov ")
                .starts_with("record 1: EPOCH \"20 Nov 22:30:15.5\" must be an instant of UTC")
        );
        assert!(json("\"EPHEMERIS_TYPE\":0", "\"EPHEMERIS_TYPE\":4").contains("SGP4-XP"));
        assert!(json("}]", "]").starts_with("not JSON: "));
        assert_eq!(
            parse_json("[7]").unwrap_err().to_string(),
            "record 1: must be an object with the keywords of an OMM"
        );
        let csv = "OBJECT_NAME,EPOCH,MEAN_MOTION\nA,2026-01-01,15.5\nB,2026-01-01";
        assert_eq!(parse_csv(csv).unwrap_err().to_string(), "line 2: ECCENTRICITY is missing");
        let short = csv.replace("A,2026-01-01,15.5\n", "");
        assert_eq!(parse_csv(&short).unwrap_err().to_string(), "line 2: 2 columns where the header has 3");
        let with = |from: &str, to: &str| parse_kvn(&kvn().replace(from, to)).unwrap_err().to_string();
        assert_eq!(with("= TEME", "= GCRF"), "the message at line 1: REF_FRAME \"GCRF\" must be TEME");
        assert_eq!(
            with("= SGP4", "= DSST"),
            "the message at line 1: MEAN_ELEMENT_THEORY \"DSST\" must be SGP4 or SGP/SGP4 or SDP4"
        );
        assert_eq!(with("REF_FRAME = ", "REF_FRAME "), "line 4: \"REF_FRAME TEME\" must be KEYWORD = value");
        assert!(parse_xml("<omm><EPOCH").unwrap_err().to_string().starts_with("not XML: "));
        assert_eq!(parse_xml("<omm></omm>").unwrap_err().to_string(), "record 1: OBJECT_NAME is missing");
    }

    proptest! {
        #[test]
        fn no_text_is_a_panic(text in "[ -~\n]{0,200}") {
            let _ = (parse_json(&text), parse_csv(&text), parse_kvn(&text), parse_xml(&text));
        }

        #[test]
        fn cells_are_what_was_quoted(cells_in in prop::collection::vec("[a-z,\"]{0,6}", 1..5)) {
            let line: Vec<_> = cells_in.iter().map(|cell| format!("\"{}\"", cell.replace('"', "\"\""))).collect();
            let line = line.join(",");
            prop_assert_eq!(rows(&line).next().unwrap().cells().unwrap(), cells_in);
        }
    }
}
