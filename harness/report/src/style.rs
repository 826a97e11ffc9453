//! Colours of a terminal, or none. The command line decides whether there are any.

use anstyle::{AnsiColor, Style};

/// The kinds of words that have a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Something is wrong.
    Bad,
    /// A user should look at it.
    Warn,
    /// All is well.
    Good,
    /// A name that a user may type.
    Name,
    /// Less important.
    Dim,
    /// More important.
    Strong,
}

/// Puts words in colours, or leaves them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Palette {
    /// Whether there are colours.
    pub colour: bool,
}

impl Palette {
    /// The words in a tone.
    pub fn paint(self, tone: Tone, words: &str) -> String {
        if !self.colour {
            return words.to_owned();
        }
        let style = match tone {
            Tone::Bad => Style::new().fg_color(Some(AnsiColor::Red.into())).bold(),
            Tone::Warn => Style::new().fg_color(Some(AnsiColor::Yellow.into())).bold(),
            Tone::Good => Style::new().fg_color(Some(AnsiColor::Green.into())).bold(),
            Tone::Name => Style::new().fg_color(Some(AnsiColor::Cyan.into())),
            Tone::Dim => Style::new().dimmed(),
            Tone::Strong => Style::new().bold(),
        };
        format!("{style}{words}{style:#}")
    }
}
