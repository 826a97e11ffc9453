//! Streams of events, as `cerith report` reads them, and every printer of them.

use std::io::Cursor;

use cerith_gen::{Ended, Fault, TrialResult};
use cerith_report::{
    Baseline, Digest, Event, Html, Human, Joined, Junit, Merge, Palette, StreamEnd, Writer, read,
    render_markdown,
};

use crate::ensure;

/// Checks the laws of the stream reader and the printers on these bytes.
pub fn check(bytes: &[u8]) -> TrialResult {
    let mut events = Vec::new();
    let end = match read(bytes, |event| events.push(event)) {
        Ok(end) => end,
        Err(error) => {
            crate::check_message(&error)?;
            ensure(error.to_string().contains("stream"), || {
                format!("an error that does not say where: {error}")
            })?;
            print(&events, &StreamEnd::default())?;
            check_merge(bytes)?;
            return Ok(Ended::Refused);
        }
    };
    let first = write_events(&events)?;
    let mut again = Vec::new();
    let end_again = read(first.as_slice(), |event| again.push(event))
        .map_err(|error| Fault(format!("what was written cannot be read: {error}")))?;
    ensure(!end_again.cut, || {
        "what was written ends in the middle".to_owned()
    })?;
    ensure(write_events(&again)? == first, || {
        format!(
            "what was written is read as something else:\n{}",
            String::from_utf8_lossy(&first)
        )
    })?;
    remove_seals(&mut events);
    remove_seals(&mut again);
    ensure(again == events, || {
        format!(
            "an event is not the same when it is read again:\n{}",
            String::from_utf8_lossy(&first)
        )
    })?;
    print(&events, &end)?;
    check_merge(bytes)?;
    Ok(if end.cut { Ended::Stopped } else { Ended::Finished })
}

/// Checks that merging the stream alone gives a stream with no faults but those of the first.
fn check_merge(bytes: &[u8]) -> Result<(), Fault> {
    if let Err(error) = Baseline::read(bytes) {
        crate::check_message(&error)?;
    }
    let merge = |bytes: &[u8]| Merge::open([("stream".to_owned(), Ok(Cursor::new(bytes.to_vec())))]);
    let Ok(first) = merge(bytes) else {
        return Ok(());
    };
    let mut writer = Writer::new(Vec::new());
    let ended = first.run(|event, line| match line {
        Some(line) => writer.copy(line),
        None => writer.write_event(event),
    });
    ended.map_err(|error| Fault(format!("what was merged cannot be written: {error}")))?;
    let out = writer.take();
    let end = read(out.as_slice(), |_| {})
        .map_err(|error| Fault(format!("what was merged cannot be read: {error}")))?;
    ensure(end.fault().is_none(), || {
        format!("what was merged {}", end.fault().unwrap_or_default())
    })?;
    let Ok(second) = merge(&out) else {
        return Err(Fault("what was merged has no beginning".to_owned()));
    };
    let again = second
        .run(|_, _| Ok(()))
        .map_err(|error| Fault(format!("what was merged cannot be merged: {error}")))?;
    let wrong = again
        .faults
        .iter()
        .find(|fault| fault.code != "older-stream" && fault.code != "cut-stream");
    ensure(wrong.is_none(), || format!("after merging: {wrong:?}"))
}

fn write_events(events: &[Event]) -> Result<Vec<u8>, Fault> {
    let mut writer = Writer::new(Vec::new());
    for event in events {
        writer
            .write_event(event)
            .map_err(|error| Fault(format!("an event that was read cannot be written: {error}")))?;
    }
    Ok(writer.into_parts().0)
}

/// Removes what only the writer of a stream knows.
fn remove_seals(events: &mut [Event]) {
    for event in events {
        if let Event::Summary(summary) = event {
            summary.seal = None;
        }
    }
}

/// Every printer prints.
fn print(events: &[Event], end: &StreamEnd) -> Result<(), Fault> {
    let mut joined = Joined::default();
    joined.begin("stream");
    let mut all = Vec::new();
    for event in events {
        all.extend(joined.add_event(event.clone()));
    }
    all.extend(joined.end(end));
    let ended = joined.finish();
    all.extend(ended.events);
    all.push(Event::Summary(ended.summary));
    let (mut digest, mut junit, mut html) = (Digest::default(), Junit::default(), Html::default());
    for verbose in [false, true] {
        let mut human = Human::new(Palette { colour: verbose });
        human.verbose = verbose;
        for event in &all {
            human.render_event(event);
        }
    }
    for event in all {
        junit.add_event(&event);
        digest.add_event(&event);
        html.add_event(&event);
    }
    let digest = digest.finish();
    html.finish()
        .map_err(|error| Fault(format!("HTML is not printed: {error}")))?;
    render_markdown(&digest);
    junit
        .finish()
        .map_err(|error| Fault(format!("JUnit is not printed: {error}")))?;
    Ok(())
}
