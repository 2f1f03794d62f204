//! Settings of a crawl: typed, then validated, from the command line, the environment, a TOML file and the defaults.
//!
//! [`Settings`] is what the rest of the crate reads; [`load`] builds it. The command line overrides the environment
//! (`CRAWL_*`), the environment overrides the file, the file overrides the defaults. Every key, its default and its
//! reason are in
//! `configs/polite.toml`; a test keeps the file, this module and `--help` the same.

mod agent;
mod dedup;
mod dns;
mod error;
mod file;
mod keys;
#[cfg(test)]
mod limits_doc_tests;
mod load;
mod origin;
mod reading;
mod record;
mod requests;
mod settings;
#[cfg(test)]
mod tests;
mod validate;

pub use agent::{AgentError, Contact, Product};
pub use dns::{NameServer, NameServerError};
pub use error::{ConfigError, ValueSource};
pub use keys::{KEYS, Key};
pub use load::{CliOverrides, Loaded, load, load_own, read_own};
pub use reading::{PageSettings, SitemapSettings};
pub use record::{
    Record, changed_values, differences, is_of_the_crawl, read_record, read_record_text,
    read_settings_in_force, run_settings, settings_in_force, to_toml, value_of, without_places,
};
pub use requests::{FetchSettings, LimitSettings, PaceSettings};
pub use robots::{Dialect, access::OnForbidden};
pub use settings::{
    AgentSettings, ConsentSettings, ExtractRule, IndexSettings, LaterDenial, LedgerLevel, LedgerSettings,
    RobotsSettings, ScopeSettings, Settings, WallSettings, Walls, WarcDedup, WarcSettings, scope,
};

pub use crate::costly::{CostlyAction, CostlySettings, Session};
pub use crate::fetch::{ResolveError, ResolveRule};
pub use crate::host_groups::{GroupBy, HostGroups, HostList};
pub use crate::scope::{ResourceHosts, ScopeMode};
pub use crate::trap::TrapSettings;
pub use page::units;
