//! What a plugin returns from one call: collected, and checked against what the slot may return.

use crate::text::one_line;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use tickworks_plugin_api::abi::{self, Bytes, out, rc};

/// Nothing that a plugin returns in one call is larger than this: beyond it something runs in circles.
pub(super) const LARGEST_OUTPUT: usize = 64 << 20;

/// What came out of one call.
pub(super) struct Outputs {
    slot: Slot,
    /// The one output that may come once: OK, ERR, MANIFEST or STATE.
    pub single: Option<(u32, Vec<u8>)>,
    /// Whether COMMANDS was written, even with none in it.
    pub wrote_commands: bool,
    pub commands: Vec<abi::Command>,
    pub shapes: Vec<abi::Shape>,
    pub text: String,
    /// The first thing that was against the contract.
    pub breach: Option<String>,
    size: usize,
}

/// A slot of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Describe,
    Create,
    Destroy,
    OnAllStarted,
    OnReset,
    OnMessage,
    OnResponse,
    OnTick,
    BeforePhysics,
    AfterPhysics,
    Draw,
    Save,
    Load,
    May,
    OnWake,
}

impl Slot {
    /// Its name in the table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Describe => "describe",
            Self::Create => "create",
            Self::Destroy => "destroy",
            Self::OnAllStarted => "on_all_started",
            Self::OnReset => "on_reset",
            Self::OnMessage => "on_message",
            Self::OnResponse => "on_response",
            Self::OnTick => "on_tick",
            Self::BeforePhysics => "before_physics",
            Self::AfterPhysics => "after_physics",
            Self::Draw => "draw",
            Self::Save => "save",
            Self::Load => "load",
            Self::May => "may",
            Self::OnWake => "on_wake",
        }
    }

    /// The kinds of output that it may return beside TEXT.
    const fn kinds(self) -> &'static [u32] {
        match self {
            Self::Describe => &[out::MANIFEST],
            Self::OnMessage => &[out::OK, out::ERR, out::COMMANDS],
            Self::OnResponse => &[out::OK, out::ERR],
            Self::OnTick | Self::BeforePhysics => &[out::COMMANDS],
            Self::Draw => &[out::SHAPES],
            Self::Save => &[out::STATE],
            _ => &[],
        }
    }
}

impl Outputs {
    pub fn new(slot: Slot) -> Self {
        Self {
            slot,
            single: None,
            wrote_commands: false,
            commands: Vec::new(),
            shapes: Vec::new(),
            text: String::new(),
            breach: None,
            size: 0,
        }
    }

    /// The table's sink, valid as long as `self` stays where it is and is not used otherwise.
    pub fn sink(&mut self) -> abi::Sink {
        abi::Sink {
            struct_size: super::struct_size::<abi::Sink>(),
            reserved: 0,
            ctx: ptr::from_mut(self).cast(),
            write: Some(write),
        }
    }

    fn take(&mut self, kind: u32, bytes: &[u8]) -> Result<(), String> {
        let name = kind_name(kind);
        if kind != out::TEXT && !self.slot.kinds().contains(&kind) {
            return Err(format!("wrote {name}, which {} does not return", self.slot.name()));
        }
        self.size = self.size.saturating_add(bytes.len());
        if self.size > LARGEST_OUTPUT {
            return Err(format!("wrote more than {LARGEST_OUTPUT} bytes in one call"));
        }
        match kind {
            out::TEXT => {
                if !self.text.is_empty() {
                    self.text.push_str("; ");
                }
                // It is read in logs and on terminals.
                self.text.push_str(&one_line(&String::from_utf8_lossy(bytes)));
            }
            out::COMMANDS => {
                self.wrote_commands = true;
                read_array(bytes, &mut self.commands).map_err(|rest| {
                    format!(
                        "wrote {} bytes of commands: {rest} too many for commands of {} bytes",
                        bytes.len(),
                        size_of::<abi::Command>()
                    )
                })?;
            }
            out::SHAPES => read_array(bytes, &mut self.shapes).map_err(|rest| {
                format!(
                    "wrote {} bytes of shapes: {rest} too many for shapes of {} bytes",
                    bytes.len(),
                    size_of::<abi::Shape>()
                )
            })?,
            _ => match &self.single {
                Some((first, _)) => {
                    return Err(format!("wrote {name} after {}: expected one of them", kind_name(*first)));
                }
                None => self.single = Some((kind, bytes.to_vec())),
            },
        }
        Ok(())
    }
}

/// Appends a packed array of plain data, which need not be aligned. The error is how many bytes are too many.
fn read_array<T: Plain>(bytes: &[u8], list: &mut Vec<T>) -> Result<(), usize> {
    let (chunks, rest) = (bytes.chunks_exact(size_of::<T>()), bytes.len() % size_of::<T>());
    if rest != 0 {
        return Err(rest);
    }
    // SAFETY: a chunk has the size of `T`, any bytes are a `T`, and the read does not need alignment.
    list.extend(chunks.map(|chunk| unsafe { chunk.as_ptr().cast::<T>().read_unaligned() }));
    Ok(())
}

/// # Safety
/// `repr(C)`, and any bytes are a value: numbers only.
unsafe trait Plain: Copy {}
// SAFETY: integers and floats.
unsafe impl Plain for abi::Command {}
// SAFETY: integers, floats and bytes.
unsafe impl Plain for abi::Shape {}

fn kind_name(kind: u32) -> String {
    match kind {
        out::OK => "an ok reply".into(),
        out::ERR => "an err reply".into(),
        out::COMMANDS => "commands".into(),
        out::TEXT => "text".into(),
        out::MANIFEST => "a manifest".into(),
        out::STATE => "state".into(),
        out::SHAPES => "shapes".into(),
        other => format!("an output of the unknown kind {other}"),
    }
}

/// The name that the header gives a code.
pub(super) fn code_name(code: i32) -> String {
    let name = match code {
        rc::ERR => "TW_ERR",
        rc::ERR_PANIC => "TW_ERR_PANIC",
        rc::ERR_BAD_ARG => "TW_ERR_BAD_ARG",
        rc::ERR_UNSUPPORTED => "TW_ERR_UNSUPPORTED",
        rc::ERR_STATE => "TW_ERR_STATE",
        rc::ERR_WRONG_THREAD => "TW_ERR_WRONG_THREAD",
        _ => return format!("the unknown code {code}"),
    };
    format!("{name} ({code})")
}

unsafe extern "C" fn write(ctx: *mut c_void, kind: u32, bytes: Bytes) -> i32 {
    // SAFETY: by the table's contract `ctx` is the one of a sink whose call still runs, on that call's thread, and the
    // host does not touch the outputs meanwhile.
    let Some(outputs) = (unsafe { ctx.cast::<Outputs>().as_mut() }) else { return rc::ERR_BAD_ARG };
    let result = catch_unwind(AssertUnwindSafe(|| {
        if bytes.ptr.is_null() && bytes.len != 0 {
            return Err(format!("wrote {} bytes from NULL", bytes.len));
        }
        if bytes.len > LARGEST_OUTPUT {
            return Err(format!("wrote {} bytes in one call, at most {LARGEST_OUTPUT}", bytes.len));
        }
        // SAFETY: not NULL; by the table's contract `len` bytes, valid for this call.
        outputs.take(kind, unsafe { bytes.as_slice() })
    }));
    match result {
        Ok(Ok(())) => rc::OK,
        Ok(Err(breach)) => {
            outputs.breach.get_or_insert(breach);
            rc::ERR_BAD_ARG
        }
        Err(_) => rc::ERR_PANIC,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_all(slot: Slot, writes: &[(u32, &[u8])]) -> (Outputs, Vec<i32>) {
        let mut outputs = Outputs::new(slot);
        let sink = outputs.sink();
        let codes = writes
            .iter()
            // SAFETY: the sink of outputs that live.
            .map(|(kind, bytes)| unsafe { sink.write.unwrap()(sink.ctx, *kind, Bytes::new(bytes)) })
            .collect();
        (outputs, codes)
    }

    #[test]
    fn what_a_slot_does_not_return_is_a_breach() {
        let (outputs, codes) = write_all(Slot::OnTick, &[(out::OK, b"{}"), (99, b"")]);
        assert_eq!(codes, [rc::ERR_BAD_ARG, rc::ERR_BAD_ARG]);
        assert_eq!(outputs.breach.as_deref(), Some("wrote an ok reply, which on_tick does not return"));
        assert!(outputs.single.is_none());
    }

    #[test]
    fn one_reply_is_enough() {
        let (outputs, _) = write_all(Slot::OnMessage, &[(out::OK, b"{}"), (out::ERR, b"no")]);
        assert_eq!(outputs.breach.as_deref(), Some("wrote an err reply after an ok reply: expected one of them"));
    }

    #[test]
    fn commands_come_unaligned_and_whole() {
        let mut bytes = [0u8; 1 + 160];
        bytes[1 + 80 + 4] = 2;
        let (outputs, codes) = write_all(Slot::OnTick, &[(out::COMMANDS, &bytes[1..]), (out::COMMANDS, &bytes[..79])]);
        assert_eq!(codes, [rc::OK, rc::ERR_BAD_ARG]);
        assert_eq!(outputs.commands.iter().map(|command| command.count).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(outputs.breach.as_deref(), Some("wrote 79 bytes of commands: 79 too many for commands of 80 bytes"));
    }

    #[test]
    fn bytes_from_null_are_refused() {
        let mut outputs = Outputs::new(Slot::Save);
        let sink = outputs.sink();
        // SAFETY: the sink of outputs that live.
        let code = unsafe { sink.write.unwrap()(sink.ctx, out::STATE, Bytes { ptr: ptr::null(), len: 5 }) };
        assert_eq!(code, rc::ERR_BAD_ARG);
        assert_eq!(outputs.breach.as_deref(), Some("wrote 5 bytes from NULL"));
        // SAFETY: as above.
        let code = unsafe { sink.write.unwrap()(sink.ctx, out::STATE, Bytes::EMPTY) };
        assert_eq!(code, rc::OK);
    }
}
