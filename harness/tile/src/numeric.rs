//! Exact arithmetic of every dtype.
