//! A recording, read: its header, and its records one by one.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::recording::{FORMAT, Header, PluginLine};
use crate::net::{Request, RobotIdField, SessionId, ToSim};
use crate::plugin::InstanceKey;
use crate::plugin::StartEnd;

/// A recording that has been looked through.
#[derive(Debug)]
pub(super) struct Script {
    /// The file.
    pub file: PathBuf,
    /// Its first line.
    pub header: Header,
    /// The highest number of a session in it.
    pub last_session: u64,
    /// The tick after which its last record came.
    pub last_t: u64,
}

/// One record.
#[derive(Debug)]
pub(super) struct Item {
    /// Its line in the file, from 1.
    pub line: u64,
    /// After how many ticks.
    pub t: u64,
    /// What was recorded.
    pub what: What,
}

/// What was recorded.
#[derive(Debug)]
pub(super) enum What {
    /// Something came from a connection.
    Arrived(ToSim),
    /// The start of a plugin, by this name, ended.
    Start(StartEnd, String),
    /// The end of a load was handled.
    Load { load: u64, world_digest: String, plugins: Vec<PluginLine> },
    /// The state had this hash.
    Hash(String),
    /// The run ended in order, with this hash.
    End(Option<String>),
}

/// A line as it is in the file.
#[derive(Deserialize)]
struct Line<'a> {
    t: u64,
    what: &'a str,
    session: Option<u64>,
    slot: Option<u64>,
    cmd: Option<String>,
    robot: Option<Robot>,
    #[serde(default)]
    id: bool,
    unfit: Option<String>,
    #[serde(borrow)]
    json: Option<&'a RawValue>,
    plugin: Option<u64>,
    name: Option<String>,
    failed: Option<String>,
    load: Option<u64>,
    world_digest: Option<String>,
    plugins: Option<Vec<PluginLine>>,
    hash: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Robot {
    Id(u64),
    Other(String),
}

impl Script {
    /// Looks through a whole recording: what is wrong with it is said before anything runs.
    ///
    /// # Errors
    /// A sentence that names the file and, where there is one, the line.
    pub fn open(file: &Path) -> Result<Self, String> {
        let mut lines = Lines::open(file)?;
        let header = match lines.next()? {
            Next::Line(text) => header(&text).map_err(|text| format!("{}: {text}", file.display()))?,
            Next::Cut | Next::End => {
                return Err(format!(
                    "{}: the first line of the recording, which says what ran, is not there or not whole: nothing can be \
                     replayed",
                    file.display()
                ));
            }
        };
        let mut items = Items(lines);
        let (mut last_session, mut last_t, mut ended) = (0, 0, None);
        while let Some(Item { line, t, what }) = items.next()? {
            let wrong = |text: String| Err(format!("{}:{line}: {text}", file.display()));
            if let Some(end) = ended {
                return wrong(format!(
                    "this record is behind the end of the run in line {end}, which must be the last"
                ));
            }
            if t < last_t {
                return wrong(format!("t is {t}, but must be at least {last_t}, as in the record before it"));
            }
            last_t = t;
            match what {
                What::End(_) => ended = Some(line),
                What::Arrived(ToSim::Opened { session, .. }) => last_session = last_session.max(session.0),
                _ => {}
            }
        }
        Ok(Self { file: file.to_owned(), header, last_session, last_t })
    }

    /// The records, from the first on.
    pub fn items(&self) -> Result<Items, String> {
        let mut lines = Lines::open(&self.file)?;
        lines.next()?;
        Ok(Items(lines))
    }
}

fn header(text: &str) -> Result<Header, String> {
    #[derive(Deserialize)]
    struct Format {
        tickworks_recording: u64,
    }
    let Ok(Format { tickworks_recording }) = serde_json::from_str(text) else {
        return Err("this is no recording: its first line must be a JSON object with tickworks_recording (see \
                    tickworks run --record)"
            .into());
    };
    if tickworks_recording != FORMAT {
        return Err(format!(
            "this is a recording of format {tickworks_recording}, but this host reads format {FORMAT}"
        ));
    }
    serde_json::from_str(text).map_err(|error| format!("the first line of the recording is wrong: {error}"))
}

/// The records of a file.
pub(super) struct Items(Lines);

impl Items {
    /// The next one; `None` at the end, also where the last line is cut off.
    ///
    /// # Errors
    /// A line in the middle that is none.
    pub fn next(&mut self) -> Result<Option<Item>, String> {
        let text = match self.0.next()? {
            Next::Line(text) => text,
            Next::Cut | Next::End => return Ok(None),
        };
        let line = self.0.number;
        match item(&text) {
            Ok((t, what)) => Ok(Some(Item { line, t, what })),
            Err(error) => Err(format!("{}:{line}: this is no record: {error}", self.0.file.display())),
        }
    }
}

fn item(text: &str) -> Result<(u64, What), String> {
    fn field<T>(name: &str, value: Option<T>) -> Result<T, String> {
        value.ok_or_else(|| format!("it has no {name}"))
    }
    let line: Line<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let session = |of: Option<u64>| field("session", of).map(SessionId);
    let what = match line.what {
        // Nothing looks at the other end's address.
        "opened" => {
            What::Arrived(ToSim::Opened { session: session(line.session)?, peer: SocketAddr::from(([0; 4], 0)) })
        }
        "closed" => What::Arrived(ToSim::Closed { session: session(line.session)? }),
        "request" => What::Arrived(ToSim::Request {
            session: session(line.session)?,
            slot: field("slot", line.slot)?,
            request: Request {
                cmd: field("cmd", line.cmd)?,
                robot_id: match line.robot {
                    None => RobotIdField::Absent,
                    Some(Robot::Id(id)) => RobotIdField::Integer(id),
                    Some(Robot::Other(text)) => RobotIdField::Other(text),
                },
                has_id: line.id,
                json: field("json", line.json)?.get().as_bytes().to_vec(),
                unfit: line.unfit,
            },
        }),
        "start" => {
            let end = StartEnd { key: InstanceKey(field("plugin", line.plugin)?), failed: line.failed };
            What::Start(end, field("name", line.name)?)
        }
        "load" => What::Load {
            load: field("load", line.load)?,
            world_digest: field("world_digest", line.world_digest)?,
            plugins: field("plugins", line.plugins)?,
        },
        "hash" => What::Hash(field("hash", line.hash)?),
        "end" => What::End(line.hash),
        other => {
            let known = "opened, request, closed, start, load, hash or end";
            return Err(format!("what is {other:?}, expected {known}"));
        }
    };
    Ok((line.t, what))
}

/// The lines of a file.
struct Lines {
    file: PathBuf,
    reader: BufReader<File>,
    number: u64,
}

enum Next {
    Line(String),
    /// The last line is not whole.
    Cut,
    End,
}

impl Lines {
    fn open(file: &Path) -> Result<Self, String> {
        let opened = File::open(file).map_err(|error| format!("{}: cannot be read: {error}", file.display()))?;
        Ok(Self { file: file.to_owned(), reader: BufReader::new(opened), number: 0 })
    }

    fn next(&mut self) -> Result<Next, String> {
        let mut line = Vec::new();
        let count = self.reader.read_until(b'\n', &mut line);
        let count = count.map_err(|error| format!("{}: cannot be read: {error}", self.file.display()))?;
        self.number += 1;
        if count == 0 {
            return Ok(Next::End);
        }
        if line.pop() != Some(b'\n') {
            return Ok(Next::Cut);
        }
        let text = String::from_utf8(line);
        let text = text.map_err(|_| format!("{}:{}: the line is not UTF-8", self.file.display(), self.number))?;
        Ok(Next::Line(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_or_refused_by_what_is_missing() {
        let (t, what) =
            item(r#"{"what":"request","t":7,"session":2,"slot":1,"cmd":"a","robot":"-1","json": {"b": 1.50} }"#)
                .unwrap();
        let What::Arrived(ToSim::Request { session, slot, request }) = what else { panic!("a request") };
        assert_eq!((t, session, slot), (7, SessionId(2), 1));
        assert_eq!(request.robot_id, RobotIdField::Other("-1".into()));
        assert_eq!(request.json, b"{\"b\": 1.50}", "as it came");
        for (text, words) in [
            (r#"{"what":"opened","t":1}"#, "no session"),
            (r#"{"what":"request","t":1,"session":1,"slot":0,"json":{}}"#, "no cmd"),
            (r#"{"what":"opend","t":1}"#, "\"opend\""),
            (r#"{"what":"opened","session":1}"#, "t"),
            ("[]", "invalid"),
        ] {
            let error = item(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn headers_of_others_are_refused() {
        assert!(header("{}").unwrap_err().contains("no recording"));
        assert!(header(r#"{"tickworks_recording":99}"#).unwrap_err().contains("format 99"));
        assert!(header(r#"{"tickworks_recording":1}"#).unwrap_err().contains("host"));
    }
}
