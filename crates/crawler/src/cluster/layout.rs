//! The databases of a crawl, and which of them each partition is in.
//!
//! The first database has the list. It changes while no worker is a member, and only then ([`add`](super::add())), so who has read it may keep it.

use std::sync::Arc;

use super::connection::Connection;
use super::schema::{self, Opened, Terms};
use super::{Address, ClusterError};

/// In one statement: both change together.
const READ: &str = "
select url, coalesce((select array_agg(part) from place where place.number = further.number), '{}') from further order by number";

/// The databases of a crawl. The first one has its settings.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    databases: Vec<Arc<Address>>,
    /// The place of its database among them, for each partition.
    places: Vec<usize>,
}

impl Layout {
    /// What the first database of a crawl says.
    pub(super) async fn read(
        connection: &mut Connection,
        first: Address,
        terms: Terms,
    ) -> Result<Self, ClusterError> {
        let rows = connection
            .query(READ, &[])
            .await
            .map_err(|error| ClusterError::server("read where the partitions are", &first, error))?;
        let first = Arc::new(first);
        let mut databases = vec![Arc::clone(&first)];
        let mut places = vec![0; usize::try_from(terms.partitions).unwrap_or_default()];
        for row in rows {
            let further = first.further(row.get(0)).map_err(|source| ClusterError::FurtherAddress {
                address: first.to_string(),
                source: source.into(),
            })?;
            for part in row.get::<_, Vec<i32>>(1) {
                if let Some(place) = usize::try_from(part).ok().and_then(|part| places.get_mut(part)) {
                    *place = databases.len();
                }
            }
            databases.push(Arc::new(further));
        }
        Ok(Self { databases, places })
    }

    /// The databases, the first one first.
    pub(super) fn databases(&self) -> &[Arc<Address>] {
        &self.databases
    }

    /// The first database.
    pub(super) fn first(&self) -> &Arc<Address> {
        &self.databases[0]
    }

    /// The place of a partition's database among them.
    pub(super) fn place(&self, part: i32) -> usize {
        usize::try_from(part).ok().and_then(|part| self.places.get(part)).copied().unwrap_or_default()
    }

    /// The partitions in a database.
    pub(super) fn parts(&self, place: usize) -> impl Iterator<Item = i32> {
        (0..).zip(&self.places).filter(move |(_, of)| **of == place).map(|(part, _)| part)
    }

    /// The partitions that another database would get, so that all have as many, or one more. Partition 0 stays in the first.
    pub(super) fn for_another(&self) -> Vec<i32> {
        let mut places: Vec<Vec<i32>> =
            (0..self.databases.len()).map(|place| self.parts(place).collect()).collect();
        let count = self.places.len() / (places.len() + 1);
        let mut chosen = Vec::new();
        while chosen.len() < count {
            let Some(part) = places.iter_mut().max_by_key(|parts| parts.len()).and_then(Vec::pop) else {
                break;
            };
            chosen.push(part);
        }
        chosen.sort_unstable();
        chosen
    }
}

/// Connections to all databases of a crawl, the first one first.
pub(super) struct All {
    pub(super) connections: Vec<Connection>,
    pub(super) layout: Layout,
    pub(super) terms: Terms,
}

impl All {
    /// The connection to the first database.
    pub(super) fn first(&mut self) -> &mut Connection {
        &mut self.connections[0]
    }

    /// Each connection, with the address of its database.
    pub(super) fn each(&mut self) -> impl Iterator<Item = (&mut Connection, &Address)> {
        self.connections.iter_mut().zip(self.layout.databases.iter().map(|address| &**address))
    }
}

/// Connects to all databases of the crawl whose first one this is.
pub(super) async fn open_all(first: Address) -> Result<All, ClusterError> {
    let Opened { mut connection, terms, key, number } = schema::open_any(&first).await?;
    if number != 0 {
        return Err(ClusterError::Further { address: first.to_string() });
    }
    let layout = Layout::read(&mut connection, first, terms).await?;
    let mut connections = vec![connection];
    for (number, further) in (1..).zip(&layout.databases[1..]) {
        let opened = schema::open_any(further).await?;
        if opened.key != key || opened.number != number {
            return Err(ClusterError::OtherCrawl {
                address: further.to_string(),
                first: layout.first().to_string(),
            });
        }
        connections.push(opened.connection);
    }
    Ok(All { connections, layout, terms })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_further_database_gets_its_part_and_nothing_else_moves() {
        let address: Address = "postgres://crawl@db.example/study?sslmode=disable".parse().unwrap();
        for partitions in [1, 2, 7, 16, 256] {
            let mut layout =
                Layout { databases: vec![Arc::new(address.clone())], places: vec![0; partitions] };
            while layout.databases.len() < partitions.min(9) {
                let place = layout.databases.len();
                layout.databases.push(Arc::new(address.clone()));
                let before = Layout { databases: layout.databases[..place].to_vec(), ..layout.clone() };
                for part in before.for_another() {
                    layout.places[usize::try_from(part).unwrap()] = place;
                }
                let counts: Vec<usize> = (0..=place).map(|place| layout.parts(place).count()).collect();
                let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
                assert!(*least > 0 && most - least <= 1, "{counts:?}");
                let moved = before.places.iter().zip(&layout.places).filter(|(was, is)| was != is).count();
                assert_eq!(moved, counts[place]);
                assert_eq!(layout.place(0), 0);
            }
            assert_eq!(layout.for_another().is_empty(), partitions < 10, "{partitions}");
        }
    }
}
