//! A constellation with all its files read: its satellites, their orbits and their links.

use std::collections::{BTreeMap, BTreeSet};

use units::{Angle, FieldError, Files};

use crate::csv::{Header, read_text, rows};
use crate::satellites::constellation::{Constellation, LinkPattern};
use crate::satellites::elements::{ElementOrbits, ElementSet, ElementsError, FRESH_SECONDS};
use crate::satellites::elements_file::ElementsFile;
use crate::satellites::frame::{EARTH_RADIUS, EARTH_ROTATION, Vector, dot, inertial_to_earth_fixed};
use crate::satellites::links::Links;
use crate::satellites::propagation::Orbits;
use crate::satellites::{omm, tle};

/// Satellites with their orbits and links.
#[derive(Clone, Debug)]
pub struct Sky {
    /// The orbits of the satellites.
    pub orbits: Orbits,
    /// The links between them; at the reference instant until they are updated.
    pub links: Links,
    /// Elevation below which a satellite does not serve a station.
    pub minimum_elevation: Angle,
    /// The name of every satellite: of a Walker constellation its number, else as in the file.
    pub names: Vec<String>,
    /// Seconds from the epoch of each satellite's elements to the reference instant; empty for a Walker constellation.
    ages: Vec<f64>,
}

/// The limit of the router's numbers.
const MOST_SATELLITES: usize = 100_000;

impl Sky {
    /// The sky of a Walker constellation, whose values must have passed [`Constellation::check`].
    ///
    /// # Errors
    /// The file of its links cannot be read, or is wrong: names the line.
    pub fn of_walker(constellation: &Constellation, files: &mut dyn Files) -> Result<Sky, FieldError> {
        let orbits = Orbits::new(constellation);
        let names: Vec<String> = (0..constellation.satellites()).map(|number| number.to_string()).collect();
        let lowest = constellation.minimum_link_altitude.as_metres();
        let links = match &constellation.links {
            LinkPattern::Pairs(file) => Links::between(&pairs(file, &names, files)?, &orbits, lowest),
            LinkPattern::PlusGrid | LinkPattern::None => Links::new(constellation, &orbits),
        };
        Ok(Sky { orbits, links, minimum_elevation: constellation.minimum_elevation, names, ages: Vec::new() })
    }

    /// The sky of a file of elements, whose options must have passed [`ElementsFile::check`].
    ///
    /// # Errors
    /// A file cannot be read or is wrong: names the file and the line, record or satellite.
    pub fn of_file(config: &ElementsFile, files: &mut dyn Files) -> Result<Sky, FieldError> {
        let refuse = |message: String| FieldError::new("file", format!("{}: {message}", config.file));
        let text = read_text(files, &config.file).map_err(refuse)?;
        let sets = parse_elements(&text).map_err(|error| refuse(error.to_string()))?;
        if sets.len() > MOST_SATELLITES {
            return Err(refuse(format!("has {} satellites, at most {MOST_SATELLITES} can be used", sets.len())));
        }
        let latest = sets.iter().map(|set| set.epoch).reduce(|a, b| if b > a { b } else { a });
        let epoch = config.epoch.or(latest).ok_or_else(|| refuse("has no satellite".to_owned()))?;
        let orbits = ElementOrbits::new(&sets, epoch).map_err(|error| refuse(error.to_string()))?;
        let orbits = Orbits::Elements(orbits);
        let names: Vec<String> = sets.iter().map(|set| set.name.clone()).collect();
        let pairs = match &config.links {
            LinkPattern::Pairs(file) => pairs(file, &names, files)?,
            LinkPattern::None | LinkPattern::PlusGrid => Vec::new(),
        };
        Ok(Sky {
            links: Links::between(&pairs, &orbits, config.minimum_link_altitude.as_metres()),
            orbits,
            minimum_elevation: config.minimum_elevation,
            names,
            ages: sets.iter().map(|set| epoch.seconds_since(set.epoch)).collect(),
        })
    }

    /// Checks that all satellites are in orbit from `from` to `to`, seconds after the reference instant.
    ///
    /// # Errors
    /// Names the satellite that has decayed or for which SGP4 fails, and when.
    pub fn check(&self, from: f64, to: f64) -> Result<(), FieldError> {
        match &self.orbits {
            Orbits::Walker(_) => Ok(()),
            Orbits::Elements(orbits) => {
                orbits.check(from, to).map_err(|error| FieldError::new("constellation.file", error.to_string()))
            }
        }
    }

    /// A warning about positions from `from` to `to` (seconds after the reference instant) of elements that are then
    /// more than two weeks from their epoch.
    pub fn warning(&self, from: f64, to: f64) -> Option<String> {
        let farthest = |age: &f64| (age + from).abs().max((age + to).abs());
        let oldest = self.ages.iter().map(farthest).zip(&self.names).reduce(|a, b| if b.0 > a.0 { b } else { a });
        let (seconds, name) = oldest.filter(|oldest| oldest.0 > FRESH_SECONDS)?;
        let days = seconds / 86_400.0;
        Some(format!("the elements of {name} are used up to {days:.0} days from their epoch: trust them for 14"))
    }

    /// Returns how fast a satellite goes across the sky of a place below it, `seconds` after the reference instant: its
    /// speed relative to the turning Earth through its height, in radians per second.
    pub fn overhead_rate(&self, number: u32, seconds: f64) -> f64 {
        let [at, speed] = [self.orbits.position_of(number, seconds), self.orbits.velocity_of(number, seconds)];
        let relative = [speed[0] + EARTH_ROTATION * at[1], speed[1] - EARTH_ROTATION * at[0], speed[2]];
        let height = (dot(at, at).sqrt() - EARTH_RADIUS).max(1.0);
        dot(relative, relative).sqrt() / height
    }

    /// Writes the positions of the satellites `seconds` after the reference instant in the frame fixed to the Earth (x
    /// through Greenwich, z through the north pole), metres.
    pub fn earth_fixed_at(&self, seconds: f64, positions: &mut Vec<Vector>) {
        self.orbits.positions_at(seconds, positions);
        positions.iter_mut().for_each(|position| *position = inertial_to_earth_fixed(*position, seconds));
    }
}

/// Reads two-line element sets or orbit mean-elements messages; the format is found from the text.
///
/// # Errors
/// The text is in neither format, a line or record is wrong, or a satellite is there twice: the error names it.
pub fn parse_elements(text: &str) -> Result<Vec<ElementSet>, ElementsError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let sets = parse_any(text)?;
    let mut catalogue_numbers = BTreeSet::new();
    match sets.iter().find(|set| set.number != 0 && !catalogue_numbers.insert(set.number)) {
        Some(ElementSet { name, number, .. }) => Err(ElementsError::general(format!(
            "has the elements of {name} (catalogue number {number}) twice: keep those of one epoch"
        ))),
        None => Ok(sets),
    }
}

fn parse_any(text: &str) -> Result<Vec<ElementSet>, ElementsError> {
    let mut lines = rows(text);
    let Some(line) = lines.next() else {
        return Err(ElementsError::general("is empty"));
    };
    let first = line.text;
    let keyword = first.split(['=', ' ']).next().unwrap_or_default();
    if first.starts_with(['[', '{']) {
        omm::parse_json(text)
    } else if first.starts_with('<') {
        omm::parse_xml(text)
    } else if line.cells().is_ok_and(|cells| cells.len() > 1 && cells.iter().any(|cell| cell == "MEAN_MOTION")) {
        omm::parse_csv(text)
    } else if first.contains('=') && !keyword.is_empty() && keyword.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
    {
        omm::parse_kvn(text)
    } else if first.starts_with("1 ") || lines.next().is_some_and(|second| second.text.starts_with("1 ")) {
        tle::parse(text)
    } else {
        let begin: String = first.chars().take(40).collect();
        let message =
            format!("holds neither two-line elements nor an OMM (JSON, CSV, KVN or XML): it begins \"{begin}\"");
        Err(ElementsError::general(message))
    }
}

/// The pairs that a file lists, without repetitions.
fn pairs(file: &str, names: &[String], files: &mut dyn Files) -> Result<Vec<[u32; 2]>, FieldError> {
    let refuse = |message: String| FieldError::new("links.pairs", format!("{file}: {message}"));
    let text = read_text(files, file).map_err(refuse)?;
    parse_pairs(&text, names).map_err(|error| refuse(error.to_string()))
}

fn parse_pairs(text: &str, names: &[String]) -> Result<Vec<[u32; 2]>, FieldError> {
    let mut numbers: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    names.iter().zip(0..).for_each(|(name, number)| numbers.entry(name).or_default().push(number));
    let find = |cell: &str| match numbers.get(cell).map(Vec::as_slice) {
        Some([number]) => Ok(*number),
        Some(several) => Err(format!("{} satellites are called \"{cell}\": use their numbers", several.len())),
        None => match cell.parse::<u32>().ok().filter(|&number| (number as usize) < names.len()) {
            Some(number) => Ok(number),
            None => Err(format!("there is no satellite \"{cell}\"{}", nearest(cell, names))),
        },
    };
    let mut pairs = BTreeSet::new();
    let header = Header::<2>::in_order(2, 2);
    for (i, line) in rows(text).enumerate() {
        let row = header.row(&line)?;
        let (from, to) = (row.cell(0), row.cell(1));
        if i == 0 && from == "from" && to == "to" {
            continue;
        }
        let refuse = |message: String| line.wrong(message);
        let (from, to) = (find(from).map_err(refuse)?, find(to).map_err(refuse)?);
        if from == to {
            return Err(refuse(format!("links satellite {} with itself", names[from as usize])));
        }
        pairs.insert([from.min(to), from.max(to)]);
    }
    Ok(pairs.into_iter().collect())
}

fn nearest(given: &str, names: &[String]) -> String {
    let near = nearest_names(given, names.iter().map(String::as_str));
    if near.is_empty() { format!(", nor that many ({})", names.len()) } else { format!(": did you mean {near}?") }
}

/// The names most like the one given, at most three, as words for an error; empty if none is like it.
pub(crate) fn nearest_names<'a>(given: &str, names: impl Iterator<Item = &'a str>) -> String {
    let alike = |name: &str| strsim::jaro_winkler(&given.to_lowercase(), &name.to_lowercase());
    let mut near: Vec<(f64, &str)> = names.map(|name| (alike(name), name)).filter(|near| near.0 > 0.75).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.iter().take(3).map(|near| near.1).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use units::MemoryFiles;

    use super::*;
    use crate::satellites::choice::ConstellationChoice;
    use crate::satellites::frame::{EARTH_RADIUS, distance};
    use crate::satellites::presets::preset;

    /// Made up: four on one near-polar circle, a quarter apart, and one far above.
    const CSV: &str = "\
OBJECT_NAME,NORAD_CAT_ID,EPOCH,MEAN_MOTION,ECCENTRICITY,INCLINATION,RA_OF_ASC_NODE,ARG_OF_PERICENTER,MEAN_ANOMALY,BSTAR
A,100001,2026-11-20T00:00:00,4.0,0,86.4,10,0,0,0
B,100002,2026-11-20T00:00:00,4.0,0,86.4,10,0,90,0
C,100003,2026-11-20T00:00:00,4.0,0,86.4,10,0,180,0
C,100004,2026-11-01T12:00:00,4.0,0,86.4,10,0,270,0
HIGH,100005,2026-11-20T06:00:00,1.0027,0.0002,0.05,10,0,315,0
";

    fn memory(files: &[(&str, &str)]) -> MemoryFiles {
        files.iter().map(|&(name, text)| (name.to_owned(), text.as_bytes().into())).collect()
    }

    fn sky(toml: &str, files: &[(&str, &str)]) -> Result<Sky, String> {
        #[derive(serde::Deserialize)]
        struct Holder {
            constellation: ConstellationChoice,
        }
        let holder: Holder = toml::from_str(&format!("constellation = {toml}")).map_err(|e| e.message().to_owned())?;
        holder.constellation.sky(&mut memory(files)).map_err(|error| error.to_string())
    }

    fn epoch(sky: &Sky) -> String {
        let Orbits::Elements(orbits) = &sky.orbits else { panic!() };
        orbits.epoch().to_string()
    }

    #[test]
    fn a_satellite_is_there_once() {
        let error = parse_elements(&CSV.replace("100004", "100002")).unwrap_err().to_string();
        assert_eq!(error, "has the elements of C (catalogue number 100002) twice: keep those of one epoch");
        // Of what has no number nothing is known.
        let without = CSV.replace("100004", "0").replace("100002", "0");
        assert_eq!(parse_elements(&without).unwrap().len(), 5);
    }

    #[test]
    fn a_file_gives_its_satellites_and_the_latest_epoch() {
        let files = [("sky.csv", CSV)];
        let found = sky("{ file = \"sky.csv\" }", &files).unwrap();
        assert_eq!(found.names, ["A", "B", "C", "C", "HIGH"]);
        assert_eq!(epoch(&found), "2026-11-20T06:00:00");
        assert_eq!(found.minimum_elevation, Angle::from_degrees(10.0));
        assert!((0..5).all(|s| found.links.of(s).next().is_none()));
        let given = "{ file = \"sky.csv\", epoch = \"2026-11-21T00:00:00\", minimum_elevation = \"5 deg\" }";
        let given = sky(given, &files).unwrap();
        assert_eq!(
            (epoch(&given).as_str(), given.minimum_elevation),
            ("2026-11-21T00:00:00", Angle::from_degrees(5.0))
        );
        // These instants relative to another reference instant.
        let (mut a, mut b) = (Vec::new(), Vec::new());
        found.earth_fixed_at(18.0 * 3600.0 + 77.0, &mut a);
        given.earth_fixed_at(77.0, &mut b);
        assert!(a.iter().zip(&b).all(|(&a, &b)| distance(a, b) < 0.01));
    }

    #[test]
    fn old_elements_are_told() {
        let sky = sky("{ file = \"sky.csv\" }", &[("sky.csv", CSV)]).unwrap();
        let said = sky.warning(0.0, 60.0).unwrap();
        assert_eq!(said, "the elements of C are used up to 19 days from their epoch: trust them for 14");
        let fresh = CSV.replace("2026-11-01", "2026-11-19");
        let sky = super::tests::sky("{ file = \"x\" }", &[("x", &fresh)]).unwrap();
        assert_eq!(sky.warning(0.0, 13.0 * 86_400.0), None);
        assert!(sky.warning(0.0, 14.0 * 86_400.0).is_some());
        assert_eq!(
            Sky::of_walker(&preset("geo").unwrap().constellation, &mut memory(&[])).unwrap().warning(0.0, 1e9),
            None
        );
    }

    #[test]
    fn pairs_are_linked_while_the_earth_is_not_between() {
        let links = "# a ring\nfrom,to\nA,B\n1,2\nB,A\n\n0,2\nHIGH,\"A\"\n";
        let toml = "{ file = \"sky.csv\", links = { pairs = \"links.csv\" } }";
        let mut sky = sky(toml, &[("sky.csv", CSV), ("links.csv", links)]).unwrap();
        assert_eq!(sky.links.of(0).filter(|link| link.0 == 1).count(), 1, "listed twice, linked once");
        let mut positions = Vec::new();
        let mut seen = 0;
        for minute in 0..360 {
            let seconds = f64::from(minute) * 60.0;
            sky.orbits.positions_at(seconds, &mut positions);
            sky.links.update(seconds, &positions);
            let mut on: Vec<(u32, u32)> = (0..5).flat_map(|s| sky.links.of(s).map(move |link| (s, link.0))).collect();
            on.retain(|pair| pair.0 < pair.1);
            // A quarter of the circle passes 11,800 km from the centre, half of it through the centre.
            assert!(on.contains(&(0, 1)) && on.contains(&(1, 2)) && !on.contains(&(0, 2)), "{on:?}");
            let [a, high] = [positions[0], positions[4]];
            let blocked = (0..=1000).any(|i| {
                let share = f64::from(i) / 1000.0;
                let on_line = [0, 1, 2].map(|axis| a[axis] + share * (high[axis] - a[axis]));
                distance(on_line, [0.0; 3]) < EARTH_RADIUS + 80e3
            });
            assert_eq!(on.contains(&(0, 4)), !blocked, "after {minute} min");
            seen += u32::from(blocked);
            for (s, t) in on {
                let metres = sky.links.of(s).find(|link| link.0 == t).unwrap().1;
                assert!((metres - distance(positions[s as usize], positions[t as usize])).abs() < 1e-6);
            }
        }
        assert!(seen > 10 && seen < 350, "{seen}");
    }

    #[test]
    fn walker_satellites_can_be_paired_too() {
        let toml = "{ preset = \"leo-66\", links = { pairs = \"links.csv\" } }";
        let sky = sky(toml, &[("links.csv", "0,1\n1,12\n")]).unwrap();
        assert_eq!(sky.links.of(1).map(|link| link.0).collect::<Vec<_>>(), [0, 12]);
        assert!(sky.links.of(2).next().is_none());
    }

    #[test]
    fn says_what_is_wrong_with_a_file() {
        let of_file = |text: &str| sky("{ file = \"sky.txt\" }", &[("sky.txt", text)]).unwrap_err();
        assert_eq!(
            of_file("hello, world\nmore\n"),
            "constellation.file: sky.txt: holds neither two-line elements nor an OMM (JSON, CSV, KVN or XML): it \
             begins \"hello, world\""
        );
        assert_eq!(of_file(" \n# nothing\n"), "constellation.file: sky.txt: is empty");
        assert_eq!(of_file("[]"), "constellation.file: sky.txt: has no satellite");
        assert_eq!(
            of_file("SAT\n1 00005U\n"),
            "constellation.file: sky.txt: line 2: a line that begins with \"2 \" must follow this one"
        );
        assert_eq!(
            of_file(&CSV.replace("86.4,10,0,90", "x,10,0,90")),
            "constellation.file: sky.txt: line 3: INCLINATION \"x\" must be a number"
        );
        assert_eq!(
            sky("{ file = \"other\" }", &[]).unwrap_err(),
            "constellation.file: other: cannot be read: there is no such file"
        );
        let grid = sky("{ file = \"sky.txt\", links = \"plus-grid\" }", &[]).unwrap_err();
        assert!(grid.starts_with("constellation.links: \"plus-grid\" needs planes"), "{grid}");
        assert!(sky("{ file = \"x\", epoch = \"now\" }", &[]).unwrap_err().contains("must be an instant of UTC"));
        assert!(sky("{ file = \"x\", planes = 6 }", &[]).unwrap_err().contains("unknown field `planes`"));
    }

    #[test]
    fn says_what_is_wrong_with_pairs() {
        let says = |links: &str| {
            let toml = "{ file = \"sky.csv\", links = { pairs = \"links.csv\" } }";
            let error = sky(toml, &[("sky.csv", CSV), ("links.csv", links)]).unwrap_err();
            error.strip_prefix("constellation.links.pairs: links.csv: ").unwrap().to_owned()
        };
        assert_eq!(says("A,B\nA,HIHG"), "line 2: there is no satellite \"HIHG\": did you mean HIGH?");
        assert_eq!(says("A,5"), "line 1: there is no satellite \"5\", nor that many (5)");
        assert_eq!(says("A,C"), "line 1: 2 satellites are called \"C\": use their numbers");
        assert_eq!(says("A,B,1"), "line 1: 3 columns where 2 are expected");
        assert_eq!(says("1,B"), "line 1: links satellite B with itself");
    }

    #[test]
    fn every_form_is_recognised() {
        for text in ["\u{feff}\n[]", " <ndm></ndm>", "# x\nOBJECT_NAME,MEAN_MOTION\n"] {
            assert_eq!(parse_elements(text).unwrap(), [], "{text}");
        }
        assert!(parse_elements("CCSDS_OMM_VERS = 3.0\n").unwrap_err().to_string().contains("OBJECT_NAME is missing"));
        assert!(parse_elements("1 00005U").unwrap_err().to_string().starts_with("line 1: "));
    }
}
