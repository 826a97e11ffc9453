//! Measures merging the streams of a run's shards: 16 of 10,000 verdicts each, from a run of the corpus with its default
//! engines (some are differences; 1.4 KB each, 220 MB in all), with `cerith`'s allocator.
//!
//! `cargo bench -p cerith-report --bench merge`

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::PathBuf;

use cerith_report::event::{Event, Start, Summary};
use cerith_report::{FORMAT, Merge, Writer};
use divan::Bencher;
use mimalloc::MiMalloc;

const VERDICTS: &str = include_str!("verdicts.jsonl");
const SHARDS: usize = 16;
const CASES_PER_SHARD: usize = 10_000;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() {
    divan::main();
}

/// The files of a run's shards.
fn write_shards() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("merge");
    std::fs::create_dir_all(&folder).expect("a folder");
    let models: Vec<Event> = VERDICTS
        .lines()
        .map(|line| serde_json::from_str(line).expect("a verdict"))
        .collect();
    (0..SHARDS)
        .map(|shard| {
            let path = folder.join(format!("{shard}.jsonl"));
            let mut writer = Writer::new(BufWriter::new(File::create(&path).expect("a file")));
            let mut summary = Summary::default();
            let start = Event::Start(Start {
                format: FORMAT,
                cerith: "0.1.0".to_owned(),
                engines: vec!["reference".to_owned(), "interpret@3.1.0".to_owned()],
                cases: CASES_PER_SHARD as u64,
                total: (SHARDS * CASES_PER_SHARD) as u64,
                corpus_hash: "0123456789abcdef".to_owned(),
                shard: Some(format!("{}/{SHARDS}", shard + 1)),
                ..Start::default()
            });
            writer.write_event(&start).expect("a line");
            for (nth, model) in models.iter().cycle().take(CASES_PER_SHARD).enumerate() {
                let mut event = model.clone();
                if let Event::Verdict(verdict) = &mut event {
                    verdict.case = format!("{}:number={}", verdict.case, nth * SHARDS + shard);
                }
                summary.count(&event);
                writer.write_event(&event).expect("a line");
            }
            writer.write_event(&Event::Summary(summary)).expect("a line");
            path
        })
        .collect()
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn sixteen_shards_of_ten_thousand_events(bencher: Bencher<'_, '_>) {
    let shards = write_shards();
    let all = shards[0].with_file_name("all.jsonl");
    bencher.bench_local(|| {
        let streams = shards.iter().map(|path| {
            let file = File::open(path).map(|file| BufReader::with_capacity(1 << 18, file));
            (path.display().to_string(), file)
        });
        let mut out = BufWriter::with_capacity(1 << 18, File::create(&all).expect("a file"));
        let merged = Merge::open(streams)
            .expect("streams")
            .run(|event, line| match line {
                Some(line) => out.write_all(line),
                None => Writer::new(&mut out).write_event(event),
            })
            .expect("room");
        out.flush().expect("room");
        assert!(merged.faults.is_empty(), "{:?}", merged.faults);
        assert_eq!(merged.summary.cases, (SHARDS * CASES_PER_SHARD) as u64);
    });
}
