//! What a run prints: a bar on a terminal, lines elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};

use super::keys::Keys;
use crate::plugin::{Counts, PluginReport, PluginState};
use crate::sdf::Diagnostic;
use crate::sim::{Ended, Observer, Pace, Ready, Replayed, ReplayedTo};
use crate::text::one_line;

/// Prints what a run tells: its course to stdout, what is wrong to stderr.
pub struct Progress {
    /// On a terminal only.
    bar: Option<ProgressBar>,
    /// Likewise.
    keys: Option<Keys>,
}

impl Progress {
    /// One for this process's stdout, with the keys that are read at its terminal.
    pub fn new(keys: Option<Keys>) -> Self {
        let bar = std::io::stdout().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stdout());
            if let Ok(style) = ProgressStyle::with_template("plugins {bar:24} {pos}/{len} {msg}") {
                bar.set_style(style);
            }
            bar
        });
        Self { bar, keys }
    }

    /// A line on stdout, above the bar where there is one. A reader that has gone is no reason to end the run.
    fn line(&self, text: &str) {
        // Names and reasons in it are those of worlds and plugins.
        let text = &*one_line(text);
        match &self.bar {
            Some(bar) if !bar.is_finished() => bar.println(text),
            _ => {
                let mut out = std::io::stdout().lock();
                let _ = writeln!(out, "{text}").and_then(|()| out.flush());
            }
        }
    }
}

impl Observer for Progress {
    fn diagnostic(&mut self, diagnostic: &Diagnostic) {
        super::complain(diagnostic);
    }

    fn plugin(&mut self, report: &PluginReport, counts: Counts) {
        let Counts { started, total, .. } = counts;
        let counts = format!("({started}/{total})");
        match &report.state {
            PluginState::Started => {
                let version = report.version.as_deref().unwrap_or("?");
                let took = report.start_time.as_secs_f64() * 1e3;
                self.line(&format!("plugin {} {version}: started in {took:.1} ms {counts}", report.instance));
            }
            PluginState::Failed(reason) => self.line(&format!("plugin {}: failed: {reason} {counts}", report.instance)),
            PluginState::Starting => self.line(&format!("plugin {}: starting {counts}", report.instance)),
            _ => {}
        }
        if let Some(bar) = &self.bar {
            bar.set_length(total as u64);
            bar.set_position(started as u64);
            bar.set_message(one_line(&format!("{}: {}", report.instance, report.state)).into_owned());
        }
    }

    fn ready(&mut self, ready: &Ready) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        let pace = match ready.pace {
            Pace::RealTime(1.0) => "in real time".into(),
            Pace::RealTime(factor) => format!("at {factor} times real time"),
            Pace::Fast => "as fast as possible".into(),
        };
        let physics = if ready.subticks == 1 {
            "1 physics step a tick".into()
        } else {
            format!("{} physics steps a tick", ready.subticks)
        };
        let paused = if ready.paused { ", paused" } else { "" };
        self.line(&format!(
            "world {}: listening on {}, {} Hz {pace}{paused}, {physics}",
            ready.world, ready.address, ready.rate
        ));
        self.line(&format!("  robots:  {}", or_none(&ready.robots)));
        self.line(&format!("  plugins: {}", or_none(&ready.plugins)));
        if let Some(keys) = &self.keys {
            keys.ready(ready.address);
        }
    }

    fn replayed(&mut self, replayed: &Replayed) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        let Replayed { ticks, sim_time, messages, connections, hashes, to } = replayed;
        self.line(&format!(
            "replayed {ticks} ticks ({sim_time:.3} s) and {messages} messages of {connections} connections; {hashes} hashes \
             are equal"
        ));
        match to {
            ReplayedTo::End => {}
            ReplayedTo::Cut => self.line(&format!("the recording ends without its end record, at tick {ticks}")),
            ReplayedTo::Tick => self.line("the connections of the recording are closed, and time stands"),
            ReplayedTo::Stop => self.line("the replay was stopped before the end of the recording"),
        }
    }

    fn ended(&mut self, ended: &Ended) {
        let hash = ended.state_hash.map(|hash| format!(", state hash {hash:016x}")).unwrap_or_default();
        self.line(&format!("ended at tick {}, simulated time {:.3} s{hash}", ended.tick, ended.sim_time));
    }
}

/// So many names are shown; of more, how many there are.
const SHOWN: usize = 10;

fn or_none(names: &[String]) -> String {
    match names.len() {
        0 => "none".into(),
        1..=SHOWN => names.join(", "),
        count => format!("{}, and {} more", names[..SHOWN].join(", "), count - SHOWN),
    }
}
