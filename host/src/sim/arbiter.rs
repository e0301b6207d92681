//! Who wins: the commands of one tick, and what came of each.
//!
//! For a robot's motion the strongest plugin's last valid command wins; the others are told who won. Commands for
//! bodies all count, weaker plugins' first.

use std::collections::BTreeMap;
use tickworks_plugin_api::abi::{Command, op};
use tickworks_plugin_api::{EntityId, Status};

use crate::quiet::Quiet;

/// Where commands take effect: the world, seen from here.
pub trait Target {
    /// Whether the command could be applied; if not, why, as one sentence.
    fn check(&self, command: &Command) -> Result<(), String>;
    /// Applies a command that has passed [`Target::check`].
    fn apply(&mut self, command: &Command) -> Result<(), String>;
    /// Whether the robot touched something in the tick that has just run.
    fn colliding(&self, robot: EntityId) -> bool;
}

/// A plugin instance as a source of commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its place in the order: higher is stronger.
    pub priority: usize,
    /// Its name, for the one that loses against it.
    pub name: std::sync::Arc<str>,
}

/// A message whose commands are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(usize);

/// What came of one command.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Which command.
    pub command: Command,
    /// What came of it.
    pub status: Status,
    /// Whether its robot touched something.
    pub colliding: bool,
    /// Overridden: by whom.
    pub by: Option<std::sync::Arc<str>>,
    /// Not applied: why.
    pub reason: String,
}

#[derive(Debug)]
struct Submission {
    command: Command,
    source: Source,
    ticket: Option<Ticket>,
    /// `None` until resolved, and for what was applied.
    lost: Option<Lost>,
}

#[derive(Clone, Debug)]
enum Lost {
    Refused(String),
    /// To the submission with this number.
    To(usize),
}

/// The commands of one tick. Emptied and used again, so that a tick allocates nothing for it.
#[derive(Debug, Default)]
pub struct Arbiter {
    submissions: Vec<Submission>,
    /// The strongest command so far for each robot, as the number of its submission.
    motions: BTreeMap<u64, usize>,
    /// For each ticket, the numbers of its first submission and of the one after its last.
    tickets: Vec<(usize, usize)>,
    /// What plugins hear in the log, by their names.
    quiet: BTreeMap<String, Quiet>,
}

impl Arbiter {
    /// Forgets the last tick.
    pub fn clear(&mut self) {
        self.submissions.clear();
        self.motions.clear();
        self.tickets.clear();
    }

    /// A ticket for a message, under which its commands are submitted and their verdicts asked for.
    pub fn ticket(&mut self) -> Ticket {
        self.tickets.push((self.submissions.len(), self.submissions.len()));
        Ticket(self.tickets.len() - 1)
    }

    /// Takes a command. `refuse`: nothing is applied in this state (paused), and why.
    pub fn submit(
        &mut self,
        target: &impl Target,
        source: &Source,
        ticket: Option<Ticket>,
        command: Command,
        refuse: Option<&str>,
    ) {
        let checked = match refuse {
            Some(reason) => Err(reason.to_owned()),
            None => target.check(&command),
        };
        let number = self.submissions.len();
        let mut lost = None;
        match checked {
            Err(reason) => lost = Some(Lost::Refused(reason)),
            Ok(()) if command.op == op::CONTROL => match self.motions.get(&command.entity).copied() {
                Some(best) if self.submissions[best].source.priority > source.priority => lost = Some(Lost::To(best)),
                beaten => {
                    if let Some(beaten) = beaten {
                        self.submissions[beaten].lost = Some(Lost::To(number));
                    }
                    self.motions.insert(command.entity, number);
                }
            },
            Ok(()) => {}
        }
        if let Some(Lost::Refused(reason)) = &lost
            && ticket.is_none()
        {
            // Nobody gets a reply for this one: the log is where its author looks.
            let text = format!("a command for {} was refused: {reason}", EntityId(command.entity));
            self.tell(&source.name, text);
        }
        self.submissions.push(Submission { command, source: source.clone(), ticket, lost });
        if let Some((_, end)) = ticket.and_then(|ticket| self.tickets.get_mut(ticket.0)) {
            *end = self.submissions.len();
        }
    }

    /// Applies what has won, in priority order and, within one plugin, in the order of submission.
    pub fn apply(&mut self, target: &mut impl Target) {
        let mut order: Vec<usize> =
            (0..self.submissions.len()).filter(|&i| self.submissions[i].lost.is_none()).collect();
        order.sort_by_key(|&i| self.submissions[i].source.priority);
        for number in order {
            let submission = &mut self.submissions[number];
            if let Err(reason) = target.apply(&submission.command) {
                let (plugin, entity) = (submission.source.name.clone(), EntityId(submission.command.entity));
                let text = format!("a command for {entity} was refused: {reason}");
                submission.lost = Some(Lost::Refused(reason));
                self.tell(&plugin, text);
            }
        }
    }

    /// Warns of a command that came to nothing. A plugin whose commands are refused in each tick is told from time to time.
    pub fn tell(&mut self, plugin: &str, text: String) {
        if !self.quiet.contains_key(plugin) {
            self.quiet.insert(plugin.to_owned(), Quiet::default());
        }
        if let Some(line) = self.quiet.get_mut(plugin).and_then(|quiet| quiet.hear(text)) {
            tracing::warn!(plugin, "{line}");
        }
    }

    /// What came of a ticket's commands, in the order of submission.
    pub fn verdicts(&self, ticket: Ticket, target: &impl Target) -> Vec<Verdict> {
        // Others' may lie between them, but not before or behind: a tick of very many messages stays linear.
        let (start, end) = self.tickets.get(ticket.0).copied().unwrap_or_default();
        let mine = self.submissions[start..end].iter().filter(|s| s.ticket == Some(ticket));
        mine.map(|submission| {
            let command = submission.command;
            let mut verdict = Verdict {
                command,
                status: Status::Applied,
                colliding: command.op == op::CONTROL && target.colliding(EntityId(command.entity)),
                by: None,
                reason: String::new(),
            };
            match self.final_winner(submission) {
                None => {}
                Some(Lost::Refused(reason)) => {
                    verdict.status = Status::Refused;
                    verdict.reason = reason;
                }
                Some(Lost::To(winner)) => {
                    let winner = &self.submissions[winner].source;
                    if winner.name == submission.source.name {
                        verdict.status = Status::Replaced;
                        verdict.reason = "a later command for the same robot came in the same tick".into();
                    } else {
                        verdict.status = Status::Overridden;
                        verdict.reason = format!("the plugin '{}' moves this robot", winner.name);
                    }
                    verdict.by = Some(winner.name.clone());
                }
            }
            verdict
        })
        .collect()
    }

    /// Why a command lost. Whoever won against it may have lost in turn: the strongest of all is named. That one may have
    /// been refused at the last moment: it is still who displaced the others.
    fn final_winner(&self, submission: &Submission) -> Option<Lost> {
        match submission.lost.clone()? {
            Lost::Refused(reason) => Some(Lost::Refused(reason)),
            Lost::To(winner) => Some(Lost::To(self.motions.get(&submission.command.entity).copied().unwrap_or(winner))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Recorder(Vec<(u32, u64, f64)>);

    impl Target for Recorder {
        fn check(&self, command: &Command) -> Result<(), String> {
            if command.entity > 9 { Err(format!("no entity {}", command.entity)) } else { Ok(()) }
        }
        fn apply(&mut self, command: &Command) -> Result<(), String> {
            self.0.push((command.op, command.entity, command.v[0]));
            Ok(())
        }
        fn colliding(&self, robot: EntityId) -> bool {
            robot.0 == 1
        }
    }

    fn source(priority: usize, name: &str) -> Source {
        Source { priority, name: name.into() }
    }

    fn command(op: u32, entity: u64, first: f64) -> Command {
        Command { op, count: 6, entity, v: [first, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0] }
    }

    #[test]
    fn i4_the_later_plugin_is_the_stronger_whenever_it_speaks() {
        let mut world = Recorder::default();
        let mut arbiter = Arbiter::default();
        let (weak, strong) = (source(0, "weak"), source(1, "strong"));
        let ticket = arbiter.ticket();
        arbiter.submit(&world, &strong, None, command(op::CONTROL, 0, 2.0), None);
        arbiter.submit(&world, &weak, Some(ticket), command(op::CONTROL, 0, 1.0), None);
        arbiter.submit(&world, &weak, Some(ticket), command(op::CONTROL, 1, 3.0), None);
        arbiter.apply(&mut world);
        assert_eq!(world.0, [(op::CONTROL, 1, 3.0), (op::CONTROL, 0, 2.0)]);
        let verdicts = arbiter.verdicts(ticket, &world);
        assert_eq!(verdicts[0].status, Status::Overridden);
        assert_eq!(verdicts[0].by.as_deref(), Some("strong"));
        assert_eq!((verdicts[1].status, verdicts[1].colliding), (Status::Applied, true));
    }

    #[test]
    fn a_later_command_of_the_same_plugin_replaces() {
        let mut world = Recorder::default();
        let mut arbiter = Arbiter::default();
        let moves = source(0, "manual_move");
        let tickets: Vec<_> = (0..3)
            .map(|i| {
                let ticket = arbiter.ticket();
                arbiter.submit(&world, &moves, Some(ticket), command(op::CONTROL, 0, f64::from(i)), None);
                ticket
            })
            .collect();
        arbiter.apply(&mut world);
        assert_eq!(world.0, [(op::CONTROL, 0, 2.0)]);
        let status = |i: usize| arbiter.verdicts(tickets[i], &world)[0].status;
        assert_eq!([status(0), status(1), status(2)], [Status::Replaced, Status::Replaced, Status::Applied]);
    }

    #[test]
    fn whoever_wins_in_the_end_is_named() {
        let world = Recorder::default();
        let mut arbiter = Arbiter::default();
        let ticket = arbiter.ticket();
        for (priority, name) in [(0, "a"), (1, "b"), (2, "c")] {
            arbiter.submit(
                &world,
                &source(priority, name),
                (priority == 0).then_some(ticket),
                command(op::CONTROL, 0, 0.0),
                None,
            );
        }
        assert_eq!(arbiter.verdicts(ticket, &world)[0].by.as_deref(), Some("c"));
    }

    #[test]
    fn very_many_commands_for_one_robot_take_linear_time() {
        let mut world = Recorder::default();
        let mut arbiter = Arbiter::default();
        let ticket = arbiter.ticket();
        let one = source(0, "one");
        for n in 0..200_000 {
            arbiter.submit(&world, &one, Some(ticket), command(op::CONTROL, 0, f64::from(n)), None);
        }
        arbiter.apply(&mut world);
        // Quadratic time would be 10¹⁰ steps: this would not end within the patience of whoever runs it.
        let verdicts = arbiter.verdicts(ticket, &world);
        assert_eq!(verdicts.iter().filter(|v| v.status == Status::Replaced).count(), 199_999);
    }

    #[test]
    fn an_invalid_command_displaces_nobody() {
        let mut world = Recorder::default();
        let mut arbiter = Arbiter::default();
        let ticket = arbiter.ticket();
        arbiter.submit(&world, &source(0, "weak"), Some(ticket), command(op::CONTROL, 0, 1.0), None);
        arbiter.submit(&world, &source(1, "strong"), None, command(op::CONTROL, 77, 2.0), None);
        arbiter.submit(&world, &source(1, "strong"), Some(ticket), command(op::CONTROL, 0, 2.0), Some("paused"));
        arbiter.apply(&mut world);
        let verdicts = arbiter.verdicts(ticket, &world);
        assert_eq!(verdicts[0].status, Status::Applied);
        assert_eq!((verdicts[1].status, verdicts[1].reason.as_str()), (Status::Refused, "paused"));
    }

    #[test]
    fn body_commands_all_count_weaker_plugins_first() {
        let mut world = Recorder::default();
        let mut arbiter = Arbiter::default();
        arbiter.submit(&world, &source(1, "strong"), None, command(op::FORCE, 5, 1.0), None);
        arbiter.submit(&world, &source(0, "weak"), None, command(op::FORCE, 5, 2.0), None);
        arbiter.submit(&world, &source(0, "weak"), None, command(op::FORCE, 5, 3.0), None);
        arbiter.apply(&mut world);
        assert_eq!(world.0.iter().map(|c| c.2).collect::<Vec<_>>(), [2.0, 3.0, 1.0]);
    }
}
