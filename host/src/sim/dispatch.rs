//! From a request to whoever answers it.

use serde_json::json;
use tickworks_plugin_api::{DefaultRobot, EntityId, RobotUse};

use super::arbiter::{Source, Ticket};
use super::builtins::{Builtin, RobotUseOf};
use super::commands::body;
use super::queue::{Item, Phase, When};
use super::simulation::{ReplyTo, Simulation, Stage};
use super::view::{View, no_such_robot};
use crate::net::{Body, Request, RobotIdField, SessionId, ToSim};
use crate::plugin::{InstanceKey, MessageIn, PluginResponse, reply_of};
use crate::suggest::nearest;

/// A message that was answered with commands: its reply comes after physics.
#[derive(Debug)]
pub(super) struct Awaiting {
    pub to: ReplyTo,
    pub owner: InstanceKey,
    pub ticket: Ticket,
    pub message: u64,
    pub from: EntityId,
    pub target: EntityId,
    pub request: Request,
}

impl Awaiting {
    /// The message, as its owner has seen it before.
    pub fn message(&self) -> MessageIn<'_> {
        MessageIn {
            id: self.message,
            session: self.to.session.0,
            from: self.from,
            target: self.target,
            cmd: &self.request.cmd,
            json: &self.request.json,
        }
    }
}

impl Simulation {
    /// Takes one thing that the net thread sent.
    pub(super) fn arrived(&mut self, arrived: ToSim) {
        self.record_arrival(&arrived);
        let (session, when, item) = match arrived {
            ToSim::Opened { session, .. } => return self.queue.opened(session),
            ToSim::Request { session, slot, request } => {
                (session, self.when(&request.cmd), Item::Request { slot, request })
            }
            ToSim::Closed { session } => {
                // Nobody waits for its steps any more.
                self.steps.retain(|step| step.to.session != session);
                self.steps_changed();
                self.queue.set_stepping(session, false);
                self.queue.set_loading(session, false);
                (session, When::BetweenTicks, Item::Closed)
            }
        };
        if let Some(item) = self.queue.arrived(session, when, item, self.phase_between()) {
            self.handle_between(session, item);
        }
    }

    /// Handles what had to wait until no tick runs.
    pub(super) fn handle_waiting(&mut self) {
        self.queue.begin_pass();
        while let Some((session, item)) = self.queue.next(self.phase_between()) {
            self.handle_between(session, item);
        }
    }

    fn phase_between(&self) -> Phase {
        Phase::Between { standing: self.stage == Stage::Starting || self.clock.standing() }
    }

    fn handle_between(&mut self, session: SessionId, item: Item) {
        match item {
            Item::Closed => self.closed(session),
            Item::Request { slot, request } => {
                // Without a tick nothing awaits physics: what would is refused, and answered here.
                if let Some(awaiting) =
                    self.handle(ReplyTo { session, slot }, request, Some("the simulation is paused"))
                {
                    self.answer_after_physics(awaiting);
                }
            }
        }
    }

    fn when(&self, cmd: &str) -> When {
        match Builtin::from_name(cmd) {
            Some(builtin) if builtin.changes_the_run() => When::BetweenTicks,
            Some(_) => When::Anytime,
            None => match self.plugins.endpoint(cmd) {
                Some(endpoint) if !endpoint.reads_only => When::InTick,
                // Unknown commands are answered at once.
                _ => When::Anytime,
            },
        }
    }

    /// Answers a request, or returns what awaits physics. `refuse`: no command takes effect now, and why.
    pub(super) fn handle(&mut self, to: ReplyTo, request: Request, refuse: Option<&str>) -> Option<Awaiting> {
        if let Some(text) = &request.unfit {
            self.reply(to, self.refuse_unfit(text, &request, to.session));
            return None;
        }
        let answered = match Builtin::from_name(&request.cmd) {
            Some(builtin) => self.builtin(builtin, to, &request),
            None => match self.ask_plugins(to, request, refuse) {
                Ok(awaiting) => return awaiting,
                Err(text) => Err(text),
            },
        };
        match answered {
            Ok(Some(body)) => self.reply(to, body),
            Ok(None) => {}
            Err(text) => self.reply(to, Body::error(text)),
        }
        None
    }

    /// Clients take a robot's limits from the refusal of a command for it, also where the host is the one who refuses.
    fn refuse_unfit(&self, text: &str, request: &Request, session: SessionId) -> Body {
        let robot = self
            .plugins
            .endpoint(&request.cmd)
            .filter(|endpoint| endpoint.robot == RobotUse::Control)
            .and_then(|endpoint| self.target(request, (endpoint.robot, endpoint.default_robot), session).ok())
            .and_then(|robot| self.view().robot_state(robot));
        match robot {
            Some(robot) => body(&json!({"error": text, "robot": robot})),
            None => Body::error(text),
        }
    }

    /// Gives a request to the plugins that own its command. An error is the host's own.
    fn ask_plugins(&mut self, to: ReplyTo, request: Request, refuse: Option<&str>) -> Result<Option<Awaiting>, String> {
        let Some(endpoint) = self.plugins.endpoint(&request.cmd) else {
            return Err(self.unknown_command(&request.cmd));
        };
        if self.stage == Stage::Starting {
            let counts = self.plugins.counts();
            return Err(format!(
                "{} is not available yet: {} of {} plugins have started",
                request.cmd, counts.started, counts.total
            ));
        }
        let from = self.claims.robot_of(to.session).unwrap_or(EntityId::NONE);
        let target = self.target(&request, (endpoint.robot, endpoint.default_robot), to.session)?;
        let message = self.next_message;
        self.next_message += 1;
        let incoming =
            MessageIn { id: message, session: to.session.0, from, target, cmd: &request.cmd, json: &request.json };
        let moment = self.moment();
        let mut answers = self.plugins.message(&View { world: &self.world, moment }, &incoming);
        let Some(reply) = reply_of(&answers) else {
            return Err(format!("{}: the plugins that own this command did not answer it", request.cmd));
        };
        let mut awaiting = None;
        for (index, answer) in answers.drain(..).enumerate() {
            let commands = match answer.response {
                PluginResponse::Physics(commands) => commands,
                PluginResponse::Ok(json) | PluginResponse::Err(json) => {
                    if index == reply {
                        self.reply(to, Body::Json(json));
                    }
                    continue;
                }
                PluginResponse::NotMine => continue,
            };
            let ticket = (index == reply).then(|| self.arbiter.ticket());
            // Of the others' commands nobody hears what came; while none takes effect, they need not be tried.
            if ticket.is_some() || refuse.is_none() {
                let source = Source {
                    priority: answer.priority as usize,
                    name: self.plugins.name(answer.owner).unwrap_or_default().into(),
                };
                for command in commands {
                    self.arbiter.submit(&self.world, &source, ticket, command, refuse);
                }
            }
            if let Some(ticket) = ticket {
                awaiting = Some((answer.owner, ticket));
            }
        }
        Ok(awaiting.map(|(owner, ticket)| Awaiting { to, owner, ticket, message, from, target, request }))
    }

    /// The robot that a request is about.
    pub(super) fn target(
        &self,
        request: &Request,
        (robot_use, default_robot): RobotUseOf,
        session: SessionId,
    ) -> Result<EntityId, String> {
        let target = match &request.robot_id {
            RobotIdField::Integer(id) => {
                let id = EntityId(*id);
                if self.world.robot_info(id.0).is_none() {
                    return Err(format!("{}: {}", request.cmd, no_such_robot(&self.world, id.0)));
                }
                id
            }
            RobotIdField::Other(text) => {
                return Err(format!("{}: robot_id is {text}, expected a robot's id such as 0", request.cmd));
            }
            RobotIdField::Absent => match (default_robot, self.claims.robot_of(session)) {
                (DefaultRobot::None, _) => EntityId::NONE,
                (DefaultRobot::Own | DefaultRobot::First, Some(own)) => own,
                (DefaultRobot::Own, None) => {
                    if let Some(how) = self.claims.how_lost(session) {
                        return Err(format!("{}: this connection's {how} (connect gives another one)", request.cmd));
                    }
                    return Err(format!(
                        "{}: no robot_id, and this connection has no robot of its own (connect gives it one)",
                        request.cmd
                    ));
                }
                (DefaultRobot::First, None) => match self.world.robot_ids().next() {
                    Some(first) => EntityId(first),
                    None => return Err(format!("{}: {}", request.cmd, no_such_robot(&self.world, 0))),
                },
            },
        };
        if robot_use == RobotUse::Control
            && let Some(holder) = self.claims.holder_of(target)
            && holder != session
        {
            return Err(format!(
                "{}: robot {} belongs to another connection; without a robot_id the command is for one's own robot",
                request.cmd, target.0
            ));
        }
        Ok(target)
    }

    pub(super) fn unknown_command(&self, cmd: &str) -> String {
        let names: Vec<&str> = Builtin::ALL
            .iter()
            .map(|builtin| builtin.name())
            .chain(self.plugins.help().into_iter().map(|(_, endpoint)| endpoint.name.as_str()))
            .collect();
        let shown: String = cmd.chars().take(80).collect();
        match nearest(cmd, names.iter().copied()) {
            Some(near) => format!("unknown command '{shown}': did you mean '{near}'? (help lists all)"),
            None => format!("unknown command '{shown}': help lists those that this host and its plugins know"),
        }
    }

    /// What came of a message's commands, as its owner tells it.
    pub(super) fn answer_after_physics(&mut self, awaiting: Awaiting) {
        let outcomes: Vec<_> =
            self.arbiter.verdicts(awaiting.ticket, &self.world).into_iter().map(super::tick::outcome).collect();
        let moment = self.moment();
        let view = View { world: &self.world, moment };
        let body = match self.plugins.response(&view, awaiting.owner, &awaiting.message(), &outcomes) {
            PluginResponse::Ok(json) | PluginResponse::Err(json) => Body::Json(json),
            PluginResponse::Physics(_) | PluginResponse::NotMine => Body::error(format!(
                "{}: the plugin '{}' did not say what came of it",
                awaiting.request.cmd,
                self.plugins.name(awaiting.owner).unwrap_or_default()
            )),
        };
        self.reply(awaiting.to, body);
    }
}
