//! The tracer: Python statements and expressions to values and IR.
