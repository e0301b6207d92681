//! `tickworks save`: has a running host save its world.

use clap::Args;
use serde_json::{Map, Value};
use std::path::PathBuf;

use super::Done;
use super::call::{Call, Connection};

/// Have a running host save its world as SDF, with what has become of it
#[derive(Args, Debug)]
#[command(after_help = "The host writes the file: in the directory of the world's file, or in its --save-dir.")]
pub struct Save {
    /// The file; without it, STEM-YYYYMMDD-HHMMSS.sdf beside the world's
    file: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    connection: Connection,
}

impl Save {
    /// Asks, waits, prints the reply.
    pub fn execute(self) -> Done {
        let mut fields = Map::new();
        if let Some(file) = &self.file {
            let file = file.to_str().ok_or_else(|| format!("the name {} is not UTF-8", file.display()))?;
            fields.insert("file".into(), Value::from(file));
        }
        fields.insert("overwrite".into(), Value::from(self.overwrite));
        Call::of("sim_save_world", fields, self.connection).execute()
    }
}
