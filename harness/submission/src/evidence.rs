//! The evidence of a call: the outputs that its launches left, as Cerith executed them.

use std::collections::HashSet;

use cerith_memory::{StorageId, Tensor};

use crate::judgement::{Failure, Verdict};
use crate::launch_plan::{Plan, read_elements};
use crate::message::{CallResult, ReturnedOutput};
use crate::trial::{Expected, Trial};
use cerith_runner::oracle::message::{self, LaunchAnswer, Output, OutputAnswer, find_dtype};
use cerith_runner::oracle::session::Session;

/// A call that returned.
pub(super) struct Evidence<'a> {
    pub plan: &'a Plan,
    /// The number of the call's first launch.
    pub first_launch: u64,
    /// A launch that did not finish.
    pub failed: Option<&'a Failure>,
    /// The results of earlier calls.
    pub earlier: &'a HashSet<blake3::Hash>,
}

/// An output: a view of a storage of a launch.
#[derive(Clone, Debug)]
pub(super) struct View {
    launch: u64,
    tensor: Tensor,
}

impl View {
    /// The number of the launch, and the view.
    pub fn to_parts(&self) -> (u64, Tensor) {
        (self.launch, self.tensor.clone())
    }

    /// The output for a comparison.
    pub fn to_output(&self, name: &str) -> Output {
        Output::from_view(name.to_owned(), self.launch, &self.tensor)
    }
}

/// A call's values in the order of the reference's. Fails if the structures of the results differ.
pub(super) fn sort_outputs<'a>(
    result: &'a CallResult,
    trial: &Trial,
) -> Result<Vec<&'a ReturnedOutput>, Failure> {
    let wrong = |text: String| Failure::new(Verdict::Wrong, text);
    let order = result.structure.match_leaves(&trial.structure).map_err(wrong)?;
    let sorted: Vec<_> = order.iter().filter_map(|&at| result.outputs.get(at)).collect();
    check_shapes(&sorted, &trial.outputs)?;
    Ok(sorted)
}

impl Evidence<'_> {
    /// The outputs as views of launches' storages. Fails for an output that no launch of this call left.
    pub fn find_views(&self, outputs: &[&ReturnedOutput], blobs: &[&[u8]]) -> Result<Vec<View>, Failure> {
        let outputs = outputs.iter().enumerate();
        outputs
            .map(|(nth, output)| self.find_view(nth, output, blobs))
            .collect()
    }

    fn find_view(&self, nth: usize, output: &ReturnedOutput, blobs: &[&[u8]]) -> Result<View, Failure> {
        let wrong = |text: &str| Failure::new(Verdict::Wrong, format!("output {nth}: {text}"));
        let stale = || Failure::new(Verdict::StaleResult, "it returns the result of an earlier call");
        let dtype = output.dtype.as_deref().and_then(|name| find_dtype(name).ok());
        let reason = output.host.as_deref().unwrap_or("no launch wrote it");
        let (Some(dtype), Some(shape)) = (dtype, &output.shape) else {
            return Err(wrong(output.host.as_deref().unwrap_or("it is not a tensor")));
        };
        if let (Some(launch), Some(storage)) = (output.launch, output.storage) {
            if launch < self.first_launch {
                return Err(stale());
            }
            let tensor = Tensor {
                storage: StorageId(storage),
                dtype,
                shape: shape.as_slice().into(),
                strides: output.strides.as_slice().into(),
                offset: output.offset,
            };
            return Ok(View { launch, tensor });
        }
        if output.argument {
            return Err(wrong(reason));
        }
        let bits = output.bits.and_then(|at| blobs.get(at)).copied();
        if let Some(bits) = bits {
            let copied = self.plan.find_copy(bits, dtype);
            let fitted =
                copied.and_then(|(launch, tensor)| Some((launch, fit_shape(tensor, shape, bits.len())?)));
            if let Some((launch, tensor)) = fitted {
                return Ok(View { launch, tensor });
            }
            if self.earlier.contains(&hash_parts([bits])) {
                return Err(stale());
            }
        }
        Err(Failure::new(
            Verdict::LibraryCall,
            format!("output {nth} is not the result of a launch: {reason}"),
        ))
    }

    /// Checks all of a call except the values of its outputs. `sorted` and `views` come from [`sort_outputs`] and
    /// [`Self::find_views`].
    pub fn check(
        &self,
        result: &CallResult,
        sorted: Result<Vec<&ReturnedOutput>, Failure>,
        views: Result<Vec<View>, Failure>,
    ) -> Result<Vec<View>, Failure> {
        if let Err(failure) = &views
            && failure.verdict == Verdict::StaleResult
        {
            return views;
        }
        if self.plan.len() == 0 && self.failed.is_none() {
            return Err(Failure::new(Verdict::NotAKernel, "the call launches no kernel"));
        }
        if let Some(name) = result.changed_inputs.first() {
            let text = format!("the call changes its argument `{name}`");
            return Err(Failure::new(Verdict::InputChanged, text));
        }
        if let Some(failed) = self.failed {
            if failed.verdict != Verdict::Crashed {
                return Err(failed.clone());
            }
            let text = format!(
                "the host computes the result of a launch that fails: {}",
                failed.finding.text
            );
            return Err(Failure::new(Verdict::LibraryCall, text));
        }
        sorted?;
        views
    }
}

/// A copied view in the shape of an output. `None` if the order of its elements is another.
fn fit_shape(tensor: Tensor, shape: &[i64], bytes: usize) -> Option<Tensor> {
    if tensor.shape.iter().eq(shape) {
        return Some(tensor);
    }
    let contiguous = Tensor {
        offset: tensor.offset,
        ..Tensor::new_contiguous(tensor.storage, tensor.dtype, shape)
    };
    let elements = i64::try_from(bytes / tensor.dtype.size()).ok()?;
    (tensor.is_contiguous() && contiguous.is_proper() && contiguous.numel() == elements).then_some(contiguous)
}

fn check_shapes(outputs: &[&ReturnedOutput], expected: &[Expected]) -> Result<(), Failure> {
    if outputs.len() != expected.len() {
        let text = format!(
            "it returns {} values, and the reference {}",
            outputs.len(),
            expected.len()
        );
        return Err(Failure::new(Verdict::Wrong, text));
    }
    for (output, expected) in outputs.iter().zip(expected) {
        if let Some(shape) = &output.shape
            && *shape != expected.shape
        {
            let text = format!(
                "`{}` has the shape {shape:?}, and the reference's {:?}",
                expected.name, expected.shape
            );
            return Err(Failure::new(Verdict::Wrong, text));
        }
    }
    Ok(())
}

/// Checks that an output has the task's dtype.
pub(super) fn check_dtype(view: &View, expected: &Expected) -> Result<(), Failure> {
    let (mine, wanted) = (view.tensor.dtype, expected.dtype);
    if mine == wanted {
        return Ok(());
    }
    let narrower = mine.is_float() && wanted.is_float() && mine.size() <= wanted.size();
    let verdict = if narrower {
        Verdict::Inaccurate
    } else {
        Verdict::Wrong
    };
    let text = format!(
        "`{}` is a tensor of {mine}, and the reference's of {wanted}",
        expected.name
    );
    Err(Failure::new(verdict, text))
}

/// A hash of the elements of outputs. `None` if one leaves its storage.
pub(super) fn hash_elements(session: &Session, views: &[View]) -> Option<blake3::Hash> {
    let mut parts = Vec::with_capacity(views.len());
    for View { launch, tensor } in views {
        parts.push(read_elements(session.find_executed(*launch)?, tensor)?);
    }
    Some(hash_parts(parts.iter().map(Vec::as_slice)))
}

fn hash_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize()
}

/// The failure of an output, by its comparison.
pub(super) fn describe_comparison(expected: &Expected, answer: &OutputAnswer) -> Option<Failure> {
    let name = &expected.name;
    let OutputAnswer {
        elements,
        wrong,
        inaccurate,
        unwritten,
        worst_ulps,
        allowed_ulps,
        ..
    } = answer;
    let mut failure = match answer.verdict {
        message::Verdict::Agree | message::Verdict::Undecided => return None,
        message::Verdict::Inaccurate => Failure::new(
            Verdict::Inaccurate,
            format!(
                "{inaccurate} of {elements} elements of `{name}` are less accurate than the contract: {worst_ulps:.0} ulp of \
                 {allowed_ulps:.0}"
            ),
        ),
        message::Verdict::Wrong if *unwritten > 0 => Failure::new(
            Verdict::UnwrittenOutput,
            format!("no launch writes {unwritten} of {elements} elements of `{name}`"),
        ),
        message::Verdict::Wrong => Failure::new(
            Verdict::Wrong,
            format!("{wrong} of {elements} elements of `{name}` are wrong"),
        ),
    };
    if let Some(example) = answer.example.as_ref().filter(|_| *unwritten == 0) {
        let index: Vec<String> = example.index.iter().map(ToString::to_string).collect();
        failure.finding.element = Some(format!(
            "{name}[{}]: {}, expected {}",
            index.join(", "),
            example.kernel,
            example.expected
        ));
    }
    if let Some(reason) = &answer.reason {
        failure.finding.text.push_str(": ");
        failure.finding.text.push_str(reason);
    }
    Some(failure)
}

/// The failure of a launch that did not finish.
pub(super) fn describe_launch(answer: &LaunchAnswer) -> Option<Failure> {
    let (verdict, failed) = match answer {
        LaunchAnswer::Finished { .. } => return None,
        LaunchAnswer::Undefined(failed) => (Verdict::Undefined, failed),
        LaunchAnswer::Rejected(failed) => (Verdict::Crashed, failed),
        LaunchAnswer::Exhausted(failed) => (Verdict::Timeout, failed),
        LaunchAnswer::Unsupported(failed) | LaunchAnswer::Failed(failed) => (Verdict::NotJudged, failed),
    };
    let mut failure = Failure::new(verdict, &failed.text).with_place(failed.file.as_deref(), failed.line);
    if let Some(code) = &failed.code {
        failure.finding.code.clone_from(code);
    }
    Some(failure)
}
