//! IR as text.
