//! The options of commands, as the command line gives them.

use std::io::IsTerminal as _;

use cerith_campaign::hunt::FuzzOptions;
use cerith_campaign::keep::KeepOptions;
use cerith_campaign::promote::PromoteOptions;
use cerith_campaign::range::RangeOptions;
use cerith_campaign::reduce::ReduceOptions;
use cerith_campaign::trophies::TrophiesOptions;
use cerith_runner::accept::AcceptOptions;
use cerith_runner::bisect::BisectOptions;
use cerith_runner::bump::{self, BumpOptions};
use cerith_runner::bundle::BundleOptions;
use cerith_runner::compare::CompareOptions;
use cerith_runner::coverage::{self, CoverageOptions};
use cerith_runner::exec::ExecOptions;
use cerith_runner::expect::ExpectOptions;
use cerith_runner::explain::ExplainOptions;
use cerith_runner::gate::{BaselineOptions, GateOptions};
use cerith_runner::import::ImportOptions;
use cerith_runner::matrix::{self, MatrixOptions};
use cerith_runner::merge::MergeOptions;
use cerith_runner::options::{EngineChoice, PrintFormat, ReportOptions, Selection, TritonPart};
use cerith_runner::record::RecordOptions;
use cerith_runner::run::RunOptions;
use cerith_runner::sweep::SweepOptions;
use cerith_submission::JudgeOptions;

use crate::args::{
    self, AcceptArgs, BaselineArgs, BisectArgs, BumpArgs, BumpEngine, BumpFormat, BundleArgs, CompareArgs,
    CoverageArgs, CoverageFormat, Engines, ExecArgs, ExpectArgs, ExplainArgs, FuzzArgs, Gate, ImportArgs,
    JudgeArgs, JudgeFormat, KeepArgs, Masked, MatrixArgs, MatrixFormat, MergeArgs, PromoteArgs, RangeArgs,
    RecordArgs, ReduceArgs, Reports, RunArgs, RunFormat, SweepArgs, TrophiesArgs,
};

impl From<args::Selection> for Selection {
    fn from(args: args::Selection) -> Self {
        Self {
            filters: args.filters,
            cases: args.cases,
        }
    }
}

impl From<Engines> for EngineChoice {
    fn from(args: Engines) -> Self {
        Self {
            engines: args.engines,
            offline: args.offline,
        }
    }
}

impl From<Reports> for ReportOptions {
    fn from(args: Reports) -> Self {
        Self {
            format: args.format.into(),
            out: args.out,
            verbose: args.verbose,
            known_detail: args.known_args.into(),
        }
    }
}

impl From<RunArgs> for RunOptions {
    fn from(args: RunArgs) -> Self {
        Self {
            selection: args.selection.into(),
            engines: args.engines.into(),
            jobs: args.jobs,
            shard: args.shard,
            checks: args.checks.into(),
            masked_zero: args.masked == Masked::Zero,
            views: args.views,
            schedules: args.orders.schedules,
            stages: args.stages,
            oracle: args.oracle,
            allow_unavailable: args.allow_unavailable,
            gate: args.gate.into(),
            reports: args.reports.into(),
        }
    }
}

impl From<Gate> for GateOptions {
    fn from(args: Gate) -> Self {
        Self {
            max_failures: args.enough(),
            baseline: args.baseline,
            last_failed: args.last_failed,
        }
    }
}

impl From<BaselineArgs> for BaselineOptions {
    fn from(args: BaselineArgs) -> Self {
        Self {
            stream: args.stream,
            prune: args.prune,
            output: args.output,
        }
    }
}

impl From<SweepArgs> for SweepOptions {
    fn from(args: SweepArgs) -> Self {
        Self {
            selection: args.selection.into(),
            engines: args.engines,
            axes: args.axis_args.axes,
            results: args.results,
            jobs: args.jobs,
            offline: args.offline,
            reports: args.reports.into(),
        }
    }
}

impl From<JudgeArgs> for JudgeOptions {
    fn from(args: JudgeArgs) -> Self {
        let json = args.format.map_or_else(
            || !std::io::stdout().is_terminal(),
            |format| format == JudgeFormat::Jsonl,
        );
        Self {
            task: args.task,
            kernels: args.kernels,
            seed: args.seed,
            jobs: args.jobs,
            toolchain: args.toolchain,
            accumulate: args.accumulate,
            no_tf32: args.no_tf32,
            json,
        }
    }
}

impl From<MergeArgs> for MergeOptions {
    fn from(args: MergeArgs) -> Self {
        Self {
            streams: args.streams,
            output: args.output,
            out: args.out,
            known_detail: args.known_args.into(),
        }
    }
}

impl From<BumpArgs> for BumpOptions {
    fn from(args: BumpArgs) -> Self {
        Self {
            old: args.old,
            new: args.new,
            selection: args.selection.into(),
            engines: args.engines.into_iter().map(Into::into).collect(),
            noise: args.noise.into(),
            against: args.against,
            only: args.only,
            fail_on: args.fail_on,
            format: args.format.into(),
            out: args.out,
            jobs: args.jobs,
            offline: args.offline,
            verbose: args.verbose,
        }
    }
}

impl From<MatrixArgs> for MatrixOptions {
    fn from(args: MatrixArgs) -> Self {
        Self {
            words: args.words,
            builds: args.builds,
            cases: args.cases,
            engine: args.engine.into(),
            format: args.format.into(),
            out: args.out,
            jobs: args.jobs,
            offline: args.offline,
            verbose: args.verbose,
        }
    }
}

impl From<BisectArgs> for BisectOptions {
    fn from(args: BisectArgs) -> Self {
        Self {
            case: args.case,
            from: args.from,
            to: args.to,
            engine: args.engine.into(),
            numpy: args.numpy,
            git: args.git,
            build: args.build,
            python: args.python,
            cases: args.cases,
            offline: args.offline,
        }
    }
}

impl From<ExplainArgs> for ExplainOptions {
    fn from(args: ExplainArgs) -> Self {
        Self {
            case: args.case,
            cases: args.cases,
            engines: args.engines.into(),
            masked_zero: args.masked == Masked::Zero,
            schedules: args.orders.schedules,
            ir: args.ir,
            stages: args.stages,
            pass: args.pass,
            html: args.html,
        }
    }
}

impl From<CompareArgs> for CompareOptions {
    fn from(args: CompareArgs) -> Self {
        Self {
            left: args.left,
            right: args.right,
            selection: args.selection.into(),
            offline: args.offline,
            jobs: args.jobs,
            format: args.format.into(),
        }
    }
}

impl From<CoverageArgs> for CoverageOptions {
    fn from(args: CoverageArgs) -> Self {
        Self {
            names: args.names,
            triton: args.triton,
            holes: args.holes,
            format: args.format.into(),
            cases: args.cases,
        }
    }
}

impl From<BundleArgs> for BundleOptions {
    fn from(args: BundleArgs) -> Self {
        Self {
            selection: args.selection.into(),
            engines: args.engines,
            target: args.target,
            sweep: args.sweep,
            axes: args.axis_args.axes,
            out: args.out,
            jobs: args.jobs,
            offline: args.offline,
        }
    }
}

impl From<ExecArgs> for ExecOptions {
    fn from(args: ExecArgs) -> Self {
        Self {
            cases: args.cases,
            out: args.out,
            repeat: args.repeat,
            time_limit: args.time_limit,
        }
    }
}

impl From<AcceptArgs> for AcceptOptions {
    fn from(args: AcceptArgs) -> Self {
        Self {
            results: args.results,
            cases: args.cases,
            replace: args.replace,
        }
    }
}

impl From<ExpectArgs> for ExpectOptions {
    fn from(args: ExpectArgs) -> Self {
        Self {
            selection: args.selection.into(),
            out: args.out,
            accept: args.accept,
            prune: args.prune,
            list: args.list,
            check: args.check,
            review: args.review,
            why: args.why,
        }
    }
}

impl From<RecordArgs> for RecordOptions {
    fn from(args: RecordArgs) -> Self {
        Self {
            sample: args.sample().to_owned(),
            out: args.out,
            filter: args.filter,
            max_bytes: args.max_bytes,
            max_size: args.max_size,
            config: args.config,
            preflight: args.preflight,
            no_data: args.no_data,
            collect: args.collect,
            command: args.command,
        }
    }
}

impl From<ImportArgs> for ImportOptions {
    fn from(args: ImportArgs) -> Self {
        Self {
            kernel: args.kernel,
            out: args.out,
        }
    }
}

impl From<FuzzArgs> for FuzzOptions {
    fn from(args: FuzzArgs) -> Self {
        Self {
            engines: args.engines.into(),
            count: args.count,
            time: args.time,
            seed: args.seed,
            broken: args.broken,
            jobs: args.jobs,
            out: args.out,
            resume: args.resume,
            results: args.results,
            no_reduce: args.no_reduce,
            unsteered: args.unsteered,
        }
    }
}

impl From<KeepArgs> for KeepOptions {
    fn from(args: KeepArgs) -> Self {
        Self {
            cases: args.cases,
            filter: args.filter,
            engines: args.engines.into(),
            known: args.known,
            out: args.out,
        }
    }
}

impl From<PromoteArgs> for PromoteOptions {
    fn from(args: PromoteArgs) -> Self {
        Self {
            finding: args.finding,
            cases: args.cases,
            name: args.name,
            about: args.about,
            why: args.why,
            upstream: args.upstream,
            state: args.state,
        }
    }
}

impl From<TrophiesArgs> for TrophiesOptions {
    fn from(args: TrophiesArgs) -> Self {
        Self {
            cases: args.cases,
            check: args.check,
        }
    }
}

impl From<RangeArgs> for RangeOptions {
    fn from(args: RangeArgs) -> Self {
        Self {
            findings: args.findings,
        }
    }
}

impl From<ReduceArgs> for ReduceOptions {
    fn from(args: ReduceArgs) -> Self {
        Self {
            case: args.case,
            cases: args.cases,
            engines: args.engines.into(),
            time: args.time,
            jobs: args.jobs,
            out: args.out,
        }
    }
}

impl From<RunFormat> for PrintFormat {
    fn from(format: RunFormat) -> Self {
        match format {
            RunFormat::Human => Self::Human,
            RunFormat::Jsonl => Self::Jsonl,
        }
    }
}

impl From<BumpEngine> for TritonPart {
    fn from(engine: BumpEngine) -> Self {
        match engine {
            BumpEngine::Interpret => Self::Interpret,
            BumpEngine::Cuda => Self::Cuda,
            BumpEngine::Ptx => Self::Ptx,
        }
    }
}

impl From<BumpFormat> for bump::BumpFormat {
    fn from(format: BumpFormat) -> Self {
        match format {
            BumpFormat::Human => Self::Human,
            BumpFormat::Markdown => Self::Markdown,
            BumpFormat::Github => Self::Github,
            BumpFormat::Jsonl => Self::Jsonl,
        }
    }
}

impl From<MatrixFormat> for matrix::MatrixFormat {
    fn from(format: MatrixFormat) -> Self {
        match format {
            MatrixFormat::Human => Self::Human,
            MatrixFormat::Markdown => Self::Markdown,
            MatrixFormat::Jsonl => Self::Jsonl,
        }
    }
}

impl From<CoverageFormat> for coverage::CoverageFormat {
    fn from(format: CoverageFormat) -> Self {
        match format {
            CoverageFormat::Text => Self::Text,
            CoverageFormat::Json => Self::Json,
        }
    }
}
