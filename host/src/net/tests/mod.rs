//! Raw bytes against a real socket, with a thread in the place of the simulation.

mod auth;
mod backpressure;
mod client;
mod framings;
mod garbage;
mod idle;
mod limits;
mod order;
mod pushes;
mod stop;
mod vanish;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value as Json;

use super::{Body, Inbox, Net, NetHandle, NetOptions, ToSim};

/// Long enough for a slow machine; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// A network side and its simulation.
struct Host {
    net: Option<Net>,
    addr: SocketAddr,
    handle: NetHandle,
    sim: Option<JoinHandle<Inbox>>,
}

fn options() -> NetOptions {
    NetOptions::new("127.0.0.1:0".parse().unwrap())
}

impl Host {
    /// A simulation that calls `each` with every message. It ends with the network side.
    fn start(options: NetOptions, mut each: impl FnMut(&NetHandle, ToSim) + Send + 'static) -> Self {
        let (mut host, inbox) = Self::without_sim(options);
        let handle = host.handle.clone();
        let sim = std::thread::spawn(move || {
            while let Ok(message) = inbox.recv() {
                each(&handle, message);
                if inbox.is_empty() {
                    handle.flush();
                }
            }
            inbox
        });
        host.sim = Some(sim);
        host
    }

    /// The test itself is the simulation.
    fn without_sim(options: NetOptions) -> (Self, Inbox) {
        let (net, inbox) = Net::start(options).unwrap();
        let host = Self { addr: net.local_addr(), handle: net.handle(), net: Some(net), sim: None };
        (host, inbox)
    }

    /// A simulation that replies with what it got.
    fn echo() -> Self {
        Self::start(options(), echo)
    }

    fn connect(&self) -> Raw {
        Raw::connect(self.addr)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(self.net.take());
        if let Some(sim) = self.sim.take() {
            let result = sim.join();
            if !std::thread::panicking() {
                result.expect("the simulation should not panic");
            }
        }
    }
}

fn echo(handle: &NetHandle, message: ToSim) {
    if let ToSim::Request { session, slot, request } = message {
        if let Some(text) = request.unfit {
            return handle.reply(session, slot, Body::error(text));
        }
        let mut json = b"{\"echo\":".to_vec();
        json.extend(&request.json);
        json.push(b'}');
        handle.reply(session, slot, Body::Json(json));
    }
}

/// The next message that is a request.
fn request(inbox: &Inbox) -> (super::SessionId, u64, super::Request) {
    loop {
        if let ToSim::Request { session, slot, request } = next(inbox) {
            return (session, slot, request);
        }
    }
}

fn next(inbox: &Inbox) -> ToSim {
    inbox.recv_deadline(std::time::Instant::now() + PATIENCE).expect("a message")
}

/// A client that knows sockets and nothing of the protocol but where a message ends.
struct Raw {
    stream: BufReader<TcpStream>,
}

impl Raw {
    fn connect(addr: SocketAddr) -> Self {
        let stream = TcpStream::connect(addr).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.get_mut().write_all(bytes.as_ref()).unwrap();
    }

    fn end(&self) {
        self.stream.get_ref().shutdown(Shutdown::Write).unwrap();
    }

    /// One line.
    fn json(&mut self) -> Json {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "the connection ended after {line:?}");
        serde_json::from_str(&line).unwrap()
    }

    /// One line that is an error. Gives its text.
    fn error(&mut self) -> String {
        let reply = self.json();
        reply["error"].as_str().unwrap_or_else(|| panic!("{reply} should be an error")).to_owned()
    }

    /// One frame.
    fn msgpack(&mut self) -> rmpv::Value {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length).unwrap();
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        self.stream.read_exact(&mut frame).unwrap();
        let mut rest = &frame[..];
        let value = rmpv::decode::read_value(&mut rest).unwrap();
        assert!(rest.is_empty());
        value
    }

    /// Everything up to the end, which must be an orderly one.
    fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest).unwrap();
        rest
    }
}

/// A map with text keys.
fn map(entries: &[(&str, rmpv::Value)]) -> rmpv::Value {
    rmpv::Value::Map(entries.iter().map(|(key, value)| ((*key).into(), value.clone())).collect())
}

/// A value with its length before it.
fn frame(value: &rmpv::Value) -> Vec<u8> {
    let mut content = Vec::new();
    rmpv::encode::write_value(&mut content, value).unwrap();
    framed(&content)
}

fn framed(content: &[u8]) -> Vec<u8> {
    let mut frame = u32::try_from(content.len()).unwrap().to_be_bytes().to_vec();
    frame.extend(content);
    frame
}
