//! Rows of elements of one length, cut into messages.

use std::ops::Range;

use crate::channel::{Channel, HEADER_BYTES, Label, MAX_PAYLOAD_BYTES};
use crate::error::Result;

/// Cuts elements of `element_bytes` each into messages: `chunk` elements, or as many as fit a frame if that is less;
/// the last message has what is left. No elements make no message.
#[derive(Debug, Clone)]
pub(crate) struct Frames {
    elements: usize,
    element_bytes: usize,
    per_frame: usize,
    next: usize,
}

impl Frames {
    pub(crate) fn new(elements: usize, element_bytes: usize, chunk: usize) -> Frames {
        let fitting = MAX_PAYLOAD_BYTES / element_bytes.max(1);
        Frames { elements, element_bytes, per_frame: chunk.min(fitting).max(1), next: 0 }
    }

    /// Sends `bytes`, which hold all the elements.
    pub(crate) fn send(self, label: Label, bytes: &[u8], channel: &mut Channel) -> Result<()> {
        let length = self.element_bytes;
        for range in self {
            channel.send(label, bytes[range.start * length..range.end * length].to_vec())?;
        }
        Ok(())
    }

    /// Receives all the elements, and takes memory as they arrive.
    pub(crate) fn receive(self, label: Label, channel: &mut Channel) -> Result<Vec<u8>> {
        let length = self.element_bytes;
        let mut bytes = Vec::new();
        for range in self {
            bytes.extend_from_slice(&channel.receive(label, range.len() * length)?);
        }
        Ok(bytes)
    }
}

impl Iterator for Frames {
    type Item = Range<usize>;

    /// The elements of the next message.
    fn next(&mut self) -> Option<Range<usize>> {
        let start = self.next;
        self.next = self.elements.min(start.saturating_add(self.per_frame));
        (start < self.next).then_some(start..self.next)
    }
}

/// Bytes on the wire of `elements` cut into frames, headers included.
pub(crate) fn framed_bytes(elements: usize, element_bytes: usize, chunk: usize) -> u64 {
    let per_frame = Frames::new(elements, element_bytes, chunk).per_frame;
    (elements as u64) * (element_bytes as u64) + (elements.div_ceil(per_frame) * HEADER_BYTES) as u64
}
