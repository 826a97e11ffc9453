//! Frames: what goes over a pipe to a child and back. A frame is the length of a header (u32) and that of the blobs (u64),
//! both little endian, then the header, which is JSON, then the blobs. `wire` defines the headers.

use serde::Serialize;

/// Bytes before a frame's header.
pub const LENGTHS: usize = 12;

/// The most that the frames of one side have. A longer one means that something else writes to the pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameLimits {
    /// Bytes of a header.
    pub header: usize,
    /// Bytes of the blobs.
    pub blobs: u64,
}

/// The reason why something cannot be made a frame.
#[derive(Debug, thiserror::Error)]
pub enum NoFrame {
    /// The header is not JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The header's length does not fit.
    #[error("a header of 4 GiB")]
    Long,
}

/// Bytes that are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadFrame {
    /// It says that it has more than any frame has.
    #[error("a frame with a header of {header} bytes and {blobs} bytes more")]
    Lengths {
        /// Bytes of the header.
        header: usize,
        /// Bytes of the blobs.
        blobs: u64,
    },
    /// It has more bytes than the next one may have.
    #[error("an answer of {0} bytes")]
    Large(usize),
}

/// A frame of a header and blobs.
///
/// # Errors
/// The header is not JSON, or too long.
pub fn encode_frame<'a>(
    header: &impl Serialize,
    blobs: impl IntoIterator<Item = &'a [u8], IntoIter: Clone>,
) -> Result<Vec<u8>, NoFrame> {
    let blobs = blobs.into_iter();
    let size: usize = blobs.clone().map(<[u8]>::len).sum();
    let mut frame = Vec::with_capacity(LENGTHS + 4096 + size);
    frame.resize(LENGTHS, 0);
    serde_json::to_writer(&mut frame, header)?;
    let length = u32::try_from(frame.len() - LENGTHS).map_err(|_| NoFrame::Long)?;
    frame[..4].copy_from_slice(&length.to_le_bytes());
    frame[4..LENGTHS].copy_from_slice(&(size as u64).to_le_bytes());
    for blob in blobs {
        frame.extend_from_slice(blob);
    }
    Ok(frame)
}

/// The lengths of a frame's header and blobs from its first bytes, once they are there.
///
/// # Errors
/// No frame is as long as it says.
pub fn read_lengths(frame: &[u8], most: FrameLimits) -> Result<Option<(usize, usize)>, BadFrame> {
    let Some((header, blobs)) = frame
        .first_chunk::<4>()
        .zip(frame.get(4..).and_then(|rest| rest.first_chunk::<8>()))
    else {
        return Ok(None);
    };
    let (header, blobs) = (u32::from_le_bytes(*header) as usize, u64::from_le_bytes(*blobs));
    match usize::try_from(blobs) {
        Ok(bytes) if header <= most.header && blobs < most.blobs => Ok(Some((header, bytes))),
        _ => Err(BadFrame::Lengths { header, blobs }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: FrameLimits = FrameLimits {
        header: 16,
        blobs: 100,
    };

    #[test]
    fn lengths_are_those_of_the_frame() {
        let whole = encode_frame(&"header", [&b"one"[..], b"two"]).expect("a frame");
        assert_eq!(whole[LENGTHS..], *b"\"header\"onetwo");
        assert_eq!(read_lengths(&whole, LIMITS), Ok(Some((8, 6))));
        assert_eq!(read_lengths(&whole[..LENGTHS - 1], LIMITS), Ok(None));
    }

    #[test]
    fn lengths_that_no_frame_has_are_malformed() {
        let check = |header: u32, blobs: u64, expected: &str| {
            let bytes = [&header.to_le_bytes()[..], &blobs.to_le_bytes()].concat();
            let bad = read_lengths(&bytes, LIMITS).expect_err("it is refused");
            assert_eq!(bad.to_string(), expected);
        };
        check(17, 0, "a frame with a header of 17 bytes and 0 bytes more");
        check(1, 100, "a frame with a header of 1 bytes and 100 bytes more");
        check(
            1,
            u64::MAX,
            "a frame with a header of 1 bytes and 18446744073709551615 bytes more",
        );
    }
}
