//! Bytes that are added at one end and used up at the other.

/// A capacity beyond this is given back as soon as the buffer is empty, so that one large frame does not cost its
/// connection that memory for ever.
const KEPT_CAPACITY: usize = 256 << 10;

/// A byte queue in one contiguous piece.
#[derive(Debug, Default)]
pub struct Buffer {
    bytes: Vec<u8>,
    /// Bytes at the front that are used up. They are removed in bulk, so that many small frames cost one move.
    start: usize,
}

impl Buffer {
    pub fn data(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    pub fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What it takes of memory: a large buffer grows by doubling. What an empty one keeps is not counted.
    pub fn held_bytes(&self) -> usize {
        self.len().max(self.bytes.capacity().saturating_sub(KEPT_CAPACITY))
    }

    /// Appends bytes. `false`, and nothing done: there is no memory for them.
    #[must_use]
    pub fn append(&mut self, bytes: &[u8]) -> bool {
        let room = self.bytes.try_reserve(bytes.len()).is_ok();
        if room {
            self.bytes.extend_from_slice(bytes);
        }
        room
    }

    /// The vector to append to. What it holds already must be left alone.
    pub fn end(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Forgets the first `count` bytes of [`data`](Self::data).
    pub fn consume(&mut self, count: usize) {
        self.start += count;
        if self.start >= self.bytes.len() {
            self.start = 0;
            if self.bytes.capacity() > KEPT_CAPACITY {
                self.bytes = Vec::new();
            } else {
                self.bytes.clear();
            }
        } else if self.start > self.bytes.len() / 2 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_as_they_went_in() {
        let mut buffer = Buffer::default();
        let (mut wrote, mut read) = (0u32, 0u32);
        for step in 0..2000usize {
            for _ in 0..step % 17 {
                buffer.end().push(wrote as u8);
                wrote += 1;
            }
            let count = (step * 7 % 19).min(buffer.len());
            for &byte in &buffer.data()[..count] {
                assert_eq!(byte, read as u8);
                read += 1;
            }
            buffer.consume(count);
            assert_eq!(buffer.len(), (wrote - read) as usize);
        }
        buffer.consume(buffer.len());
        assert!(buffer.is_empty());
    }

    #[test]
    fn memory_of_a_large_frame_is_given_back() {
        let mut buffer = Buffer::default();
        buffer.end().resize(10 << 20, 1);
        buffer.consume(10 << 20);
        assert!(buffer.end().capacity() <= KEPT_CAPACITY);
    }
}
