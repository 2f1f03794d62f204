//! What authors say on pages, in headers and about links, obeyed down to the bytes of what the crawl leaves.

mod cases;
mod everywhere;
mod links;
mod malformed;
mod readings;
mod remains;
mod revisits;
