//! Page directives.
