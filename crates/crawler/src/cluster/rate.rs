//! Requests and bytes a second of the whole crawl.
//!
//! The row of `quota` says when the next request may be made, in the database's time, and until when the bytes received are made up for. A worker
//! reserves times for its next requests, at most half a second's worth at once, and reports the bytes that it received. A time that nobody
//! uses is lost, so the rate is never exceeded. Where it isn't known how long the database's answer was on the way, the later time counts.

use std::sync::Arc;
use std::time::Duration;

use super::connection::{Error, Link};
use super::{Address, ClusterError};
use crate::causes::with_causes;
use crate::config::Settings;
use crate::engine::Pool;
use page::clock;

/// The time behind those reserved, from now. `$1` times are `$2` microseconds apart. No worker has reserved more than `$3` microseconds: a time
/// beyond that is of a clock that was set back.
const RESERVE: &str = "
with now as materialized (select clock_timestamp() as at, (select count(*) + 1 from worker where alive) as workers),
reserved as (
    update quota set slot = greatest(least(quota.slot, now.at + now.workers * $3::float8 * interval '1 microsecond'), now.at)
        + $1::int8 * $2::float8 * interval '1 microsecond'
    from now returning quota.slot - now.at as ahead
)
select (extract(epoch from ahead) * 1000000)::int8 from reserved";

/// For how long from now the bytes received aren't made up for. `$1` more came, and `$2` a second are made up for.
const PAY: &str = "
with now as materialized (select clock_timestamp() as at),
paid as (
    update quota set paid = greatest(quota.paid, now.at) + $1::int8 / $2::float8 * interval '1 second'
    from now returning quota.paid - now.at as ahead
)
select (extract(epoch from ahead) * 1000000)::int8 from paid";

const DEBT: &str = "
select (extract(epoch from greatest(paid, now.at) - now.at) * 1000000)::int8
from quota, (select clock_timestamp() as at) as now";

/// How much may be reserved at once, and how many bytes may run ahead.
const BATCH: Duration = Duration::from_millis(500);
const BURST: Duration = Duration::from_secs(1);

/// How often bytes are reported, and the least time between two looks.
const REPORT: Duration = Duration::from_millis(200);
const LEAST: Duration = Duration::from_millis(20);

/// A worker's connection for rate and bandwidth.
pub(super) struct Pacer {
    link: Link,
    pool: Arc<Pool>,
    rate: Option<f64>,
    bandwidth: Option<u64>,
}

impl Pacer {
    /// Where the settings have a rate or a bandwidth.
    pub(super) fn of(settings: &Settings, address: Arc<Address>) -> Option<(Self, Arc<Pool>)> {
        let (rate, bandwidth) = (settings.pace.max_rate, settings.pace.max_bandwidth);
        if rate.is_none() && bandwidth.is_none() {
            return None;
        }
        let pool = Arc::new(Pool::new(rate, bandwidth.is_some()));
        let link = Link::new(address, None, Duration::ZERO);
        Some((Self { link, pool: Arc::clone(&pool), rate, bandwidth }, pool))
    }

    pub(super) async fn connect(&mut self, address: &Address) -> Result<(), ClusterError> {
        self.link.open().await.map_err(ClusterError::connections(address))
    }

    /// Reserves times and reports bytes, until the task is aborted.
    #[expect(clippy::disallowed_methods, reason = "looks at the database every now and then")]
    pub(super) async fn run(mut self) {
        loop {
            if let Err(error) = self.step().await {
                tracing::debug!("rate and bandwidth can't be read: {}", with_causes(&error));
            }
            tokio::time::sleep(LEAST).await;
            tokio::select! {
                () = self.pool.wanted() => {}
                () = tokio::time::sleep(REPORT) => {}
            }
        }
    }

    async fn step(&mut self) -> Result<(), Error> {
        if let Some(bandwidth) = self.bandwidth {
            self.pay(bandwidth).await?;
        }
        match self.rate {
            Some(rate) => self.reserve(rate).await,
            None => Ok(()),
        }
    }

    async fn reserve(&mut self, rate: f64) -> Result<(), Error> {
        let most = (rate * BATCH.as_secs_f64()).max(1.0) as u64;
        let count = self.pool.lacks(most);
        if count == 0 {
            return Ok(());
        }
        let spacing = 1_000_000.0 / rate;
        let most_ahead = spacing.max(0.0) + 1_000_000.0;
        let number = i64::try_from(count).unwrap_or(i64::MAX);
        let rows = self.link.read(RESERVE, &[&number, &spacing, &most_ahead]).await?;
        let (Some(answered), Some(row)) = (clock::since_boot(), rows.first()) else { return Ok(()) };
        let behind = row.get::<_, i64>(0) as f64;
        let times = (0..count).map(|n| {
            let ahead = behind - (count - n) as f64 * spacing;
            answered + Duration::from_secs_f64(ahead.max(0.0) / 1e6)
        });
        self.pool.add(times);
        Ok(())
    }

    async fn pay(&mut self, bandwidth: u64) -> Result<(), Error> {
        let received = self.pool.take_received();
        let rows = if received == 0 {
            self.link.read(DEBT, &[]).await
        } else {
            let (bytes, most) = (i64::try_from(received).unwrap_or(i64::MAX), bandwidth as f64);
            self.link.read(PAY, &[&bytes, &most]).await
        };
        if rows.is_err() {
            // They may have been counted: then they count twice.
            self.pool.received(received);
        }
        let (Some(answered), Some(row)) = (clock::since_boot(), rows?.pop()) else { return Ok(()) };
        let debt = Duration::from_micros(u64::try_from(row.get::<_, i64>(0)).unwrap_or_default());
        self.pool.open_from(answered + debt.saturating_sub(BURST));
        Ok(())
    }
}
