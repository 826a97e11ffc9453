//! The launches that the functions of a file make of a kernel. See [`cerith_launcher`] for their evaluation.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::draft::Draft;
use super::reading::Reading;
use super::survey::{Attempt, Survey, UnusedLauncher};
use cerith_launcher::{
    Change, HostLaunch, HostTensor, InputChoice, Origin, read_launches_after, read_launches_with,
};
use cerith_module::excerpt::Joined;

/// A text with functions that launch a kernel.
#[derive(Clone, Debug, Default)]
pub(super) struct LauncherText {
    pub text: Rc<str>,
    /// Its lines that are of other modules.
    pub lines_before: u32,
    /// The name of the file, if that is not the kernel's.
    pub file: Option<String>,
}

impl Draft {
    /// Whether functions of the kernel's file make launches that are known.
    pub fn has_host(&self) -> bool {
        self.hosts.iter().any(is_known)
    }

    /// Looks for launches in a text that has more than the kernel's file: what it imports, or another file that
    /// launches the kernel, by its name.
    pub fn add_hosts(&mut self, joined: &Joined, file: Option<&str>) {
        let (name, before) = (&self.function.name, joined.lines_before);
        let launcher = LauncherText {
            text: joined.text.as_str().into(),
            lines_before: before,
            file: file.map(str::to_owned),
        };
        let hosts = launcher.add_file(read_launches_after(&joined.text, &self.path, name, before));
        let is_better = hosts.iter().any(is_known) || self.assumed_survey().is_none();
        if is_better {
            self.hosts = hosts;
            self.launcher = launcher;
        }
    }

    /// The draft with other inputs of its launchers.
    #[must_use]
    pub fn choose_inputs(&self, choice: InputChoice) -> Self {
        let LauncherText {
            text, lines_before, ..
        } = &self.launcher;
        let hosts = read_launches_with(text, &self.path, &self.function.name, *lines_before, choice);
        let mut draft = self.clone();
        draft.hosts = self.launcher.add_file(hosts);
        draft
    }

    /// Whether functions of the kernel's file launch it, known or not.
    pub fn is_launched(&self) -> bool {
        !self.hosts.is_empty()
    }

    /// The functions that launch the kernel, one launch each. `reason` is why evaluated launches are not used.
    pub fn list_unused_launchers(&self, reason: &str) -> Vec<UnusedLauncher> {
        let mut unused: Vec<UnusedLauncher> = Vec::new();
        for launch in &self.hosts {
            if unused.iter().any(|known| known.host == launch.host) {
                continue;
            }
            unused.push(UnusedLauncher {
                host: launch.host.clone(),
                line: launch.line,
                reason: if launch.unknown.is_empty() {
                    reason.to_owned()
                } else {
                    launch.unknown.join("; ")
                },
            });
        }
        unused
    }

    /// The launches that functions of the kernel's file make; `None` if no such function was evaluated.
    pub fn host_survey(&self) -> Option<Survey> {
        self.survey_launches(is_known)
    }

    /// As [`Self::host_survey`], with inputs that nothing decides. They may not fit, as a guess may not.
    pub fn assumed_survey(&self) -> Option<Survey> {
        self.survey_launches(|launch| launch.unknown.is_empty())
    }

    fn survey_launches(&self, is_usable: fn(&HostLaunch) -> bool) -> Option<Survey> {
        let usable = || self.hosts.iter().filter(|launch| is_usable(launch));
        let launches = || usable().filter(|launch| launch.change != Change::AllSizes);
        let first = launches().next()?;
        let mut outputs = BTreeSet::new();
        let mut storages = BTreeSet::new();
        let (mut roomy, mut unmeasured) = (BTreeSet::new(), BTreeSet::new());
        for tensor in launches().flat_map(|launch| &launch.tensors) {
            storages.insert(tensor.storage.clone());
            if !tensor.is_measured {
                unmeasured.insert(tensor.storage.clone());
            }
            if !tensor.is_sized {
                roomy.insert(tensor.storage.clone());
            }
        }
        let is_buffer = |tensor: &&HostTensor| tensor.origin != Origin::Input && !tensor.is_result;
        let buffers = first.tensors.iter().filter(is_buffer);
        // Another kernel of the same function may write the rest of an output.
        let is_alone = launches().all(|launch| launch.line == first.line);
        if is_alone {
            let made = first
                .tensors
                .iter()
                .filter(|tensor| tensor.origin == Origin::Empty && tensor.is_returned && !tensor.is_placed)
                .filter(|tensor| !tensor.is_fitted);
            outputs.extend(made.map(|tensor| tensor.storage.clone()));
        }
        Some(Survey {
            attempts: launches().map(build_attempt).collect(),
            sized: usable()
                .filter(|launch| launch.change == Change::AllSizes)
                .map(build_attempt)
                .collect(),
            certain: storages.difference(&roomy).cloned().collect(),
            measured: storages.difference(&unmeasured).cloned().collect(),
            distinct: storages,
            buffers: buffers.map(|tensor| tensor.storage.clone()).collect(),
            is_after_others: launches()
                .flat_map(|launch| &launch.tensors)
                .any(|tensor| tensor.origin == Origin::Computed),
            outputs,
            host: Some(first.host.clone()),
            divided: first
                .tensors
                .iter()
                .filter_map(|tensor| Some((tensor.storage.clone(), tensor.divided_input.clone()?)))
                .collect(),
            numbers: first.numbers.clone(),
            made: first.made.clone(),
            is_of_one_tensor: launches().all(|launch| launch.is_of_one_tensor),
            assumed: first.assumed.clone(),
            ..self.start_survey(&Reading::ALL[0])
        })
    }
}

impl LauncherText {
    /// Adds the name of another file to its functions.
    fn add_file(&self, mut hosts: Vec<HostLaunch>) -> Vec<HostLaunch> {
        if let Some(file) = &self.file {
            for launch in &mut hosts {
                launch.host = format!("{file}:{}", launch.host);
            }
        }
        hosts
    }
}

fn build_attempt(launch: &HostLaunch) -> Attempt {
    Attempt {
        variant: launch.variant.clone(),
        change: launch.change,
        text: launch.text.clone(),
    }
}

/// Whether all of a launch is known.
fn is_known(launch: &HostLaunch) -> bool {
    launch.unknown.is_empty() && launch.assumed.is_empty()
}
