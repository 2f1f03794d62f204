//! Settings of a crawl: typed, then validated, from the command line, the environment, a TOML file and the defaults.
//!
//! [`Settings`] is what the rest of the crate reads; [`load`] builds it. The command line beats the environment (`CRAWL_*`), the
//! environment beats the file, the file beats the defaults. Every key, its default and its reason stand in
//! `configs/polite.toml`; a test keeps the file, this module and `--help` the same.

mod agent;
mod error;
mod load;
mod resolve;
mod settings;
pub mod units;

pub use agent::{AgentError, Contact, Product};
pub use error::ConfigError;
pub use load::{CliOverrides, Loaded, Origin, load};
pub use resolve::{ResolveError, ResolveRule};
pub use settings::{
    AgentSettings, Dialect, ExtractRule, FetchSettings, LimitSettings, OnForbidden, PaceSettings,
    RobotsSettings, ScopeMode, ScopeSettings, Settings, WarcSettings,
};
