//! Typed semantics of operators: promotion, broadcasting, casts.
