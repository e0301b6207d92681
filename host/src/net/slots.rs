//! The requests of one connection that have no reply yet, and the replies that came before their turn.

use std::collections::VecDeque;

use super::fault::RawId;
use super::message::Body;

/// What a slot costs beside its bytes, so that a million tiny requests are not free.
pub const SLOT_BYTES: usize = 128;

/// Replies are put in in any order, and taken out in the order of the requests.
#[derive(Debug, Default)]
pub struct Slots {
    waiting: VecDeque<Slot>,
    /// The number of the first of them.
    first: u64,
    /// Bytes of all requests without a reply, and of all replies that wait for an earlier one.
    bytes: usize,
}

#[derive(Debug)]
struct Slot {
    id: Option<RawId>,
    reply: Option<Body>,
    /// What it adds to the sum of bytes.
    bytes: usize,
}

/// What became of a reply.
#[derive(Debug, PartialEq, Eq)]
pub enum Filled {
    /// It has its place.
    Yes,
    /// Its request has had a reply before.
    Twice,
    /// There was no such request.
    Unknown,
}

impl Slots {
    /// Adds a request that is going to be answered. Gives its number.
    pub fn open(&mut self, id: Option<RawId>, request_bytes: usize) -> u64 {
        self.add(Slot { id, reply: None, bytes: request_bytes + SLOT_BYTES })
    }

    /// Adds a request that is answered already.
    pub fn answered(&mut self, id: Option<RawId>, reply: Body) {
        let bytes = reply.size() + SLOT_BYTES;
        self.add(Slot { id, reply: Some(reply), bytes });
    }

    fn add(&mut self, slot: Slot) -> u64 {
        self.bytes += slot.bytes;
        self.waiting.push_back(slot);
        self.first + self.waiting.len() as u64 - 1
    }

    /// What a request adds to the sum of bytes; 0 for one that is not there.
    pub fn bytes_of(&self, number: u64) -> usize {
        let index = number.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| self.waiting.get(index)).map_or(0, |slot| slot.bytes)
    }

    /// Puts a reply in.
    pub fn fill(&mut self, number: u64, reply: Body) -> Filled {
        let Some(index) = number.checked_sub(self.first) else { return Filled::Twice };
        let Some(slot) = usize::try_from(index).ok().and_then(|index| self.waiting.get_mut(index)) else {
            return Filled::Unknown;
        };
        if slot.reply.is_some() {
            return Filled::Twice;
        }
        // The request's bytes are the simulation's memory no more; the reply's are ours.
        let bytes = reply.size() + SLOT_BYTES;
        self.bytes = self.bytes - slot.bytes + bytes;
        slot.bytes = bytes;
        slot.reply = Some(reply);
        Filled::Yes
    }

    /// Answers each request that has no reply yet.
    pub fn fill_all(&mut self, reply: &Body) {
        for number in self.first..self.first + self.waiting.len() as u64 {
            self.fill(number, reply.clone());
        }
    }

    /// Takes the next reply out, if it is there.
    pub fn next(&mut self) -> Option<(Option<RawId>, Body)> {
        let reply = self.waiting.front_mut()?.reply.take()?;
        let slot = self.waiting.pop_front()?;
        self.first += 1;
        self.bytes -= slot.bytes;
        Some((slot.id, reply))
    }

    /// How many requests have not had their reply taken out.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(slots: &mut Slots) -> Vec<Body> {
        std::iter::from_fn(|| slots.next()).map(|(_, body)| body).collect()
    }

    #[test]
    fn replies_leave_in_the_order_of_requests() {
        let mut slots = Slots::default();
        let numbers: Vec<_> = (0..4).map(|i| slots.open(None, i)).collect();
        slots.answered(None, Body::status("own"));
        assert_eq!(numbers, [0, 1, 2, 3]);
        for number in [2, 1] {
            assert_eq!(slots.fill(number, Body::status(&number.to_string())), Filled::Yes);
            assert_eq!(slots.next(), None);
        }
        assert_eq!(slots.fill(0, Body::status("0")), Filled::Yes);
        assert_eq!(drain(&mut slots), ["0", "1", "2"].map(Body::status));
        assert_eq!(slots.fill(3, Body::status("3")), Filled::Yes);
        assert_eq!(drain(&mut slots), ["3", "own"].map(Body::status));
        assert_eq!((slots.len(), slots.bytes()), (0, 0));
        assert_eq!(slots.open(None, 0), 5);
    }

    #[test]
    fn a_second_reply_and_one_to_nothing_are_told_apart() {
        let mut slots = Slots::default();
        slots.open(None, 10);
        slots.open(None, 10);
        assert_eq!(slots.fill(1, Body::status("x")), Filled::Yes);
        assert_eq!(slots.fill(1, Body::status("y")), Filled::Twice);
        assert_eq!(slots.fill(2, Body::status("x")), Filled::Unknown);
        assert_eq!(slots.fill(0, Body::status("x")), Filled::Yes);
        assert_eq!(drain(&mut slots).len(), 2);
        assert_eq!(slots.fill(0, Body::status("x")), Filled::Twice);
        assert_eq!(slots.bytes(), 0);
    }

    #[test]
    fn all_that_wait_can_be_answered_at_once() {
        let mut slots = Slots::default();
        let id = RawId::from(&b"7"[..]);
        slots.open(Some(id.clone()), 0);
        slots.open(None, 0);
        slots.fill(1, Body::status("done"));
        slots.fill_all(&Body::error("over"));
        assert_eq!(slots.next(), Some((Some(id), Body::error("over"))));
        assert_eq!(slots.next(), Some((None, Body::status("done"))));
    }
}
