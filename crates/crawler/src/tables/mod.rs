//! The tables of crawls in the formats of other programs: Parquet, SQLite, GraphML, edge lists; filters and sorting
//! (`--where`, `--sort`); the comparison of two crawls. Rows come from [`view`](crate::view) one by one.

pub mod diff;
pub mod filter;
pub mod graph;
#[cfg(feature = "parquet")]
mod parquet;
pub mod sort;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(feature = "parquet")]
pub use self::parquet::write_parquet;
#[cfg(feature = "sqlite")]
pub use self::sqlite::SqliteOutput;
