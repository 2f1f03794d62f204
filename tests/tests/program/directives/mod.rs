//! What authors say on pages, in headers and about links, obeyed down to the octets of what the crawl leaves.

mod cases;
mod everywhere;
mod links;
mod readings;
mod remains;
mod revisits;
