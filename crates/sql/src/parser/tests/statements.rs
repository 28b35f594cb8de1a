//! Programs and hostile texts.
