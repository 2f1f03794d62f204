//! Seeds that redirect to another site, or out of the scope that the seeds give the crawl. Part of the summary, and of a plan.

use serde::Serialize;

use crate::record::{MovedSeed, moved_seeds};
use crate::store::{Store, StoreError};

/// A seed that redirects to another site.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct MovedSeedSummary {
    /// URL of the seed that redirects, as it was queued.
    pub seed: String,
    /// The end of its chain of redirects.
    pub to: String,
    /// `same_site`: the scope follows it there. `inside`: the target belongs to the crawl, by its settings or as the site of another seed.
    /// `outside`: only the target is fetched.
    pub scope: &'static str,
}

/// The moved seeds of a store. `follows`: the scope follows seeds to other sites.
pub fn stored_moved_seeds<S: Store>(
    store: &S,
    follows: bool,
) -> impl Iterator<Item = Result<MovedSeedSummary, StoreError>> + use<'_, S> {
    moved_seeds(store).filter_map(move |moved| match moved {
        Ok((_, moved)) => (!moved.passed).then(|| Ok(MovedSeedSummary::new(moved, follows))),
        Err(error) => Some(Err(error)),
    })
}

impl MovedSeedSummary {
    fn new(moved: MovedSeed, follows: bool) -> Self {
        let scope = if moved.same_site {
            "same_site"
        } else if moved.inside || follows {
            "inside"
        } else {
            "outside"
        };
        Self { seed: moved.seed, to: moved.to, scope }
    }

    /// One line for people.
    pub fn line(&self) -> String {
        let Self { seed, to, .. } = self;
        let scope = match self.scope {
            "same_site" => "same site",
            "inside" => "in scope",
            _ => "not in scope",
        };
        format!("moved seed ({scope}): {seed} redirects to {to}")
    }
}
