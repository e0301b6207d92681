//! `tickworks call`: one request, one reply; a client for scripts.

use clap::Args;
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use super::values::seconds;
use super::{Done, FAILED, say};
use crate::net::client::{Client, Framing};

/// Send one request and print the reply as JSON; the exit status is 1 when the reply is an error
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  tickworks call sim_get_info\n  tickworks call move robot_id=0 \
control_input=[0,0,0.1,0,0,0]\n  tickworks call sim_step --json '{\"ticks\": 60}'\n  tickworks call sim_subscribe \
topics='[\"race\"]' --follow")]
pub struct Call {
    /// The command, such as move or sim_get_info
    cmd: String,
    /// Fields of the request: VALUE is read as JSON where it is JSON, else as text
    #[arg(value_name = "KEY=VALUE", value_parser = parse_field)]
    fields: Vec<(String, Value)>,
    /// More fields, as a JSON object; KEY=VALUE wins over it
    #[arg(long, value_name = "OBJECT", value_parser = parse_object)]
    json: Option<Map<String, Value>>,
    #[command(flatten)]
    connection: Connection,
    /// After the reply, print pushes, a line each, until the host goes or this is interrupted
    #[arg(long)]
    follow: bool,
    /// Print the reply on several lines
    #[arg(long)]
    pretty: bool,
}

/// Which host, and how to talk to it.
#[derive(Args, Debug)]
pub struct Connection {
    /// Where the host listens
    #[arg(short, long, value_name = "ADDRESS", env = "TICKWORKS_ADDRESS", default_value = "127.0.0.1:42069")]
    address: String,
    /// How long to wait for the connection and for the reply, s
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds, allow_negative_numbers = true)]
    timeout: Duration,
    /// Talk MessagePack instead of JSON lines
    #[arg(long)]
    msgpack: bool,
    /// A file with the host's token
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl Call {
    /// A call of this command with these fields, whose reply is printed.
    pub fn of(cmd: &str, fields: Map<String, Value>, connection: Connection) -> Self {
        let fields = fields.into_iter().collect();
        Self { cmd: cmd.to_owned(), fields, json: None, connection, follow: false, pretty: false }
    }

    /// Sends, waits, prints.
    pub fn execute(self) -> Done {
        let mut request = self.json.unwrap_or_default();
        request.extend(self.fields);
        request.insert("cmd".into(), Value::String(self.cmd));
        let connection = &self.connection;
        let framing = if connection.msgpack { Framing::MessagePack } else { Framing::JsonLines };
        let mut client = Client::connect(connection.address.as_str(), framing, connection.timeout)
            .map_err(|error| error.to_string())?;
        if let Some(file) = &connection.token_file {
            client.auth(&super::read_token(file)?).map_err(|error| error.to_string())?;
        }
        let reply = client.request(&Value::Object(request)).map_err(|error| error.to_string())?;
        let heard = say(if self.pretty { format!("{reply:#}") } else { reply.to_string() })?;
        if reply.get("error").is_some() {
            return Ok(ExitCode::from(FAILED));
        }
        let mut follow = self.follow && heard;
        while follow {
            // In turns of a minute, since a client waits for so long at most; silence is no end.
            match client.next_push(Duration::from_secs(60)) {
                Ok(Some(push)) => follow = say(push)?,
                Ok(None) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn parse_field(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').ok_or_else(|| format!("'{text}' has no '=': expected KEY=VALUE"))?;
    if key.is_empty() {
        return Err(format!("'{text}' has no key before its '='"));
    }
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((key.to_owned(), value))
}

fn parse_object(text: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err("expected a JSON object, such as {\"ticks\": 60}".into()),
        Err(error) => Err(format!("not JSON: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_json_where_they_can_be() {
        assert_eq!(parse_field("ticks=60"), Ok(("ticks".into(), json!(60))));
        assert_eq!(parse_field("topics=[\"race\"]"), Ok(("topics".into(), json!(["race"]))));
        assert_eq!(parse_field("name=uav0"), Ok(("name".into(), json!("uav0"))));
        assert_eq!(parse_field("uri=model://a?b=c"), Ok(("uri".into(), json!("model://a?b=c"))));
        assert!(parse_field("ticks").unwrap_err().contains("KEY=VALUE"));
        assert!(parse_field("=3").is_err());
    }
}
