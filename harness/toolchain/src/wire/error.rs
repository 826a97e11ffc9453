//! Problems of requests and answers. See [`crate::conversation::frame`] for bytes that are not a frame.

use std::io;
use std::path::PathBuf;

use serde_json::Value as Json;

use crate::compiled::Invocation;
use crate::conversation::frame::NoFrame;
use crate::request::{Relocation, Tensor};

/// A request that cannot be sent: a mistake of the caller's.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadRequest {
    /// A storage has no room for its guard zones.
    #[error("storage {0} is smaller than its guard zones")]
    Small(usize),
    /// A relocation is not in its storage, or names one that there is not.
    #[error("storage {storage} has a malformed {relocation:?}")]
    Relocation { storage: usize, relocation: Relocation },
    /// A host function takes arguments by name.
    #[error("positional arguments for a host function")]
    Positional,
    /// The folder that a path is in is not known.
    #[error("the module's path {}: {error}", path.display())]
    Path { path: PathBuf, error: io::Error },
    /// An argument is not a view of a storage.
    #[error(transparent)]
    View(#[from] BadView),
    /// It does not fit into a frame.
    #[error(transparent)]
    Frame(#[from] NoFrame),
}

/// A tensor that is not a view of one of the storages.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadView {
    /// There are fewer storages.
    #[error("there is no storage {0}")]
    NoStorage(usize),
    /// Shape and strides do not belong together, or a number is negative.
    #[error("malformed {0:?}")]
    Malformed(Tensor),
    /// It ends past its storage.
    #[error("a view outside of its storage of {size} bytes: {tensor:?}")]
    Outside { size: usize, tensor: Tensor },
}

/// A frame that is not an answer: the kernel wrote it, or the two sides do not understand each other.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadAnswer {
    /// Its header cannot be read.
    #[error("its answer: {0}")]
    Header(#[source] serde_json::Error),
    /// It has fewer bytes than its header says.
    #[error("an answer cut short")]
    Short,
    /// Its number of storages is different from the request's.
    #[error("{received} storages for {sent}")]
    Storages { received: usize, sent: usize },
    /// A storage has a different size than in the request.
    #[error("a storage of {received} bytes for one of {sent}")]
    Size { received: usize, sent: usize },
    /// There is no such phase of a request.
    #[error("a phase `{0}`")]
    Phase(String),
    /// A launch refers to a kernel or storage that does not exist.
    #[error("a malformed {0:?}")]
    Invocation(Box<Invocation>),
    /// It is about an unrequested mode.
    #[error("an answer without a request")]
    Unasked,
    /// It lacks ways of compiling that were asked for.
    #[error("an answer without some of its parts")]
    Parts,
    /// Its number of runs is different from the request's.
    #[error("{received} runs for {requested}")]
    Runs { received: usize, requested: usize },
    /// It is a launch, and not a good one.
    #[error("a launch: {0}")]
    Launch(#[from] BadLaunch),
    /// The executed launch returned storages of a different number or size.
    #[error("other storages after a launch than before")]
    OtherStorages,
    /// The reply does not fit into a frame.
    #[error(transparent)]
    Reply(#[from] NoFrame),
}

/// A launch of `torch.compile`'s that cannot be executed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadLaunch {
    /// Its header cannot be read.
    #[error(transparent)]
    Header(#[from] serde_json::Error),
    /// It belongs to no run that was asked for.
    #[error("of a run that was not requested")]
    Unasked,
    /// It has fewer bytes than its header says.
    #[error("it is cut short")]
    Short,
    /// There is no such value.
    #[error("no such value: {0}")]
    Value(Json),
    /// An argument is not a view of a storage.
    #[error(transparent)]
    View(#[from] BadView),
}
