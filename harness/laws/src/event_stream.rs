//! Streams of events, as `conch report` reads them, and every printer of what is read. Left out: what makes events.

use conch_gen::{Ended, Fault, Trial};
use conch_report::{Digest, Event, Html, Human, Joined, Junit, Palette, Writer, markdown, read};

use crate::ensure;

/// Holds the reader of streams and the printers to the laws on some bytes.
pub fn check(bytes: &[u8]) -> Trial {
    let mut events = Vec::new();
    let cut = match read(bytes, |event| events.push(event)) {
        Ok(cut) => cut,
        Err(error) => {
            crate::words(&error)?;
            ensure(error.to_string().contains("stream"), || {
                format!("an error that does not say where: {error}")
            })?;
            print(&events)?;
            return Ok(Ended::Refused);
        }
    };
    let first = written(&events)?;
    let mut again = Vec::new();
    let cut_again = read(first.as_slice(), |event| again.push(event))
        .map_err(|error| Fault(format!("what was written cannot be read: {error}")))?;
    ensure(!cut_again, || "what was written ends in the middle".to_owned())?;
    ensure(written(&again)? == first, || {
        format!(
            "what was written is read as something else:\n{}",
            String::from_utf8_lossy(&first)
        )
    })?;
    ensure(again == events, || {
        format!(
            "an event is not the same when it is read again:\n{}",
            String::from_utf8_lossy(&first)
        )
    })?;
    print(&events)?;
    Ok(if cut { Ended::Stopped } else { Ended::Finished })
}

fn written(events: &[Event]) -> Result<Vec<u8>, Fault> {
    let mut writer = Writer::new(Vec::new());
    for event in events {
        writer
            .event(event)
            .map_err(|error| Fault(format!("an event that was read cannot be written: {error}")))?;
    }
    Ok(writer.into_parts().0)
}

/// Every printer prints.
fn print(events: &[Event]) -> Result<(), Fault> {
    let mut joined = Joined::default();
    joined.begin("stream");
    let mut all = Vec::new();
    for event in events {
        all.extend(joined.event(event.clone()));
    }
    all.extend(joined.end(false));
    let ended = joined.finish();
    all.extend(ended.events);
    all.push(Event::Summary(ended.summary));
    let (mut digest, mut junit, mut html) = (Digest::default(), Junit::default(), Html::default());
    for verbose in [false, true] {
        let mut human = Human::new(Palette { colour: verbose });
        human.verbose = verbose;
        for event in &all {
            human.event(event);
        }
    }
    for event in all {
        junit.event(&event);
        digest.event(&event);
        html.event(&event);
    }
    let digest = digest.finish();
    html.finish()
        .map_err(|error| Fault(format!("HTML is not printed: {error}")))?;
    markdown(&digest);
    junit
        .finish()
        .map_err(|error| Fault(format!("JUnit is not printed: {error}")))?;
    Ok(())
}
