//! `crawl cluster pause`, `continue` and `set`: orders to all workers, as letters to the partitions. They hold where no worker runs, too: whoever takes the
//! partition up reads them before its first request.

use std::time::Duration;

use super::connection::Error;
use super::database::block_on;
use super::layout::{All, open_all};
use super::lost::wait;
use super::schema::MAIL_TREE;
use super::sent::pack_letters;
use super::{Address, ClusterError, State, moved};
use crate::config::{self, Settings};
use crate::engine::MAX_DELAY;
use crate::live::Steered;
use crate::post::{self, Letter, SteerOrder};
use page::units::format_duration;

const CRAWL: &str = "select state, settings from crawl";

/// Under a key that no partition gives: letters are read in the order of their keys.
const WRITE: &str = "
insert into kv(part, tree, key, value)
select part, 16, decode('ffffffff', 'hex') || int8send(1) || int8send((extract(epoch from clock_timestamp()) * 1000000)::int8), $2
from unnest($1::int4[]) as asked(part) returning part, key";

/// How many of these letters haven't been read.
const UNREAD: &str = "
select count(*) from kv join unnest($2::int4[], $3::bytea[]) as sent(part, key) on kv.part = sent.part and kv.key = sent.key where kv.tree = $1";

/// It was asked for something: whoever looked before whether it is complete looks again.
const ORDERED: &str = "update crawl set orders = orders + 1";

/// How long to wait until the workers have read an order, and between two looks.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(100);

/// What became of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ordered {
    /// All workers that it is for keep to it.
    InForce,
    /// It is stored. Whoever takes up the partitions that it is for keeps to it from the start; a worker that runs, as soon as it has read it.
    Stored,
}

/// Why an order wasn't given.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SteerError {
    /// The database.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// It is continued elsewhere.
    #[error("the crawl was moved to {0}, and is continued there")]
    Moved(String),
    /// A delay that is shorter than the crawl's.
    #[error("the crawl's delay is {}: a delay may only be longer", format_duration(*.0))]
    Shorter(Duration),
    /// A delay that is too long.
    #[error("a delay of more than {} isn't possible", format_duration(MAX_DELAY))]
    Longer,
    /// The letter can't be written.
    #[error("the order can't be written")]
    Write(#[from] postcard::Error),
}

/// Gives an order for a host, as it is in URLs, or for all hosts, in the name of the user with this id. It holds until another one takes its place, for
/// runs to come, too.
pub fn steer(
    address: &Address,
    host: Option<&str>,
    change: Steered,
    user: u32,
) -> Result<Ordered, SteerError> {
    block_on(async {
        let mut all = open_all(address.clone()).await?;
        let (state, settings) = read(&mut all, address).await?;
        if let Steered::Delay(length) = change
            && length < settings.pace.delay
        {
            return Err(SteerError::Shorter(settings.pace.delay));
        }
        if matches!(change, Steered::Delay(length) if length > MAX_DELAY) {
            return Err(SteerError::Longer);
        }
        let order = SteerOrder { host: host.map(str::to_owned), change, user };
        let letter = pack_letters(postcard::to_allocvec(&Letter::Steer(order))?);
        let partitions = all.terms.partitions;
        let only = host.map(|host| i32::try_from(post::partition(host, partitions)).unwrap_or(-1));
        let mut sent: Vec<(Vec<i32>, Vec<Vec<u8>>)> = Vec::new();
        let All { connections, layout, .. } = &mut all;
        for (place, connection) in connections.iter_mut().enumerate() {
            let failed = |error| ClusterError::server("give an order", &layout.databases()[place], error);
            let parts: Vec<i32> =
                layout.parts(place).filter(|part| only.is_none_or(|only| only == *part)).collect();
            let rows = connection.query(WRITE, &[&parts, &letter]).await.map_err(failed)?;
            sent.push(rows.iter().map(|row| (row.get::<_, i32>(0), row.get::<_, Vec<u8>>(1))).unzip());
        }
        let failed = |error| ClusterError::server("give an order", address, error);
        all.first().query(ORDERED, &[]).await.map_err(failed)?;
        if state != State::Running {
            return Ok(Ordered::Stored);
        }
        for _ in 0..(PATIENCE.as_millis() / LOOK.as_millis()) {
            if unread(&mut all, &sent).await.map_err(failed)? == 0 {
                return Ok(Ordered::InForce);
            }
            wait(LOOK).await;
        }
        Ok(Ordered::Stored)
    })
}

async fn read(all: &mut All, address: &Address) -> Result<(State, Settings), SteerError> {
    let failed = |error| ClusterError::server("read the crawl's state", address, error);
    let connection = all.first();
    let rows = connection.query(CRAWL, &[]).await.map_err(failed)?;
    let row = rows.first().ok_or_else(|| ClusterError::Missing { address: address.to_string() })?;
    let state = State::of(row.get(0)).ok_or_else(|| ClusterError::damaged("its state", address))?;
    match state {
        State::Making => return Err(ClusterError::Making.into()),
        State::Adding => return Err(ClusterError::Adding { address: address.to_string() }.into()),
        State::Moved => return Err(SteerError::Moved(moved::words(connection).await.map_err(failed)?)),
        State::Running | State::Stopped | State::Complete => {}
    }
    let (settings, _) = config::read_record_text(row.get(1)).map_err(ClusterError::Settings)?;
    Ok((state, settings))
}

async fn unread(all: &mut All, sent: &[(Vec<i32>, Vec<Vec<u8>>)]) -> Result<i64, Error> {
    let mut unread = 0;
    for (connection, (parts, keys)) in all.connections.iter_mut().zip(sent) {
        let rows = connection.query(UNREAD, &[&MAIL_TREE, parts, keys]).await?;
        unread += rows.first().map_or(0, |row| row.get::<_, i64>(0));
    }
    Ok(unread)
}
