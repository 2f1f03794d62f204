"""The statements of docs/politeness.md, docs/limits.md and docs/faults.md that have figures, and where the code has each: the table of
tests/docs_figures.py."""

from fractions import Fraction

from docs_figures import NUMBER, ROOT, TIME, OneOf, Other, Value, constant, count, expression, setting

CRAWLER, PAGE = "crates/crawler/src/", "crates/page/src/"
ROBOTS, META = "crates/robots/src/", "crates/meta/src/"
PROGRAM = "crates/crawler/src/bin/crawl/"
FAULTS, SIMULATION = "tests/tests/faults/", "tests/tests/simulation/"


def source(file):
    """Where a file of the crawler or of the crate below it is."""
    return (PAGE if (ROOT / PAGE / file).exists() else CRAWLER) + file


def of(file, name):
    return constant(source(file), name)


def within(file, pattern):
    return expression(source(file), pattern)


def of_costly(file, name):
    return constant("crates/costly/src/" + file, name)


def robots(file, name):
    return constant(ROBOTS + file, name)


def meta(file, name):
    return constant(META + file, name)


def doctored(file):
    return count(CRAWLER + "audit/tests/" + file, r"const DOCTORED: .*?\n\];", r"\n    \(")


STACK = "crates/crawler/tests/small_stack.rs"

FIRST_FAILURE, BACK_OFF = of("pace.rs", "FAILURE_FIRST"), of("pace.rs", "BACK_OFF_FIRST")
RETRIES = robots("access/judge.rs", "RETRIES")
CLOSED, COPY = robots("access/judge.rs", "FIRST_STOP"), robots("access/judge.rs", "LONGEST")
HOPS = of("robots_cache.rs", "HOPS")
SAME_PAGES, HOST_ROWS = setting("traps.same_pages"), of("trap/groups.rs", "HOST_ROWS")
NEW_IN, GROWTH = of("trap/groups.rs", "NEW_IN"), of("trap/groups.rs", "GROWTH")
SMALL, MIDDLE = of("fetch/body_budget.rs", "OWN"), of("fetch/body_budget.rs", "MIDDLE")
MIDDLE_POOL, LARGE_POOL = of("fetch/body_budget.rs", "MIDDLE_POOL"), of("fetch/body_budget.rs", "LARGE_POOL")
UNDISTURBED, LEAST_RATE = of("fetch/body_budget.rs", "UNDISTURBED"), of("fetch/body_budget.rs", "LEAST_RATE")
READ_SMALL, READ_LARGE = of("visit/read_pool.rs", "SMALL"), of("visit/read_pool.rs", "LARGE")
READ_AT_ONCE = of("visit/mod.rs", "IN_PASSING")
PENDING = of("engine/run.rs", "PENDING_BYTES")
SITEMAPS_AT_ONCE, SITEMAP_TURN = of("frontier/sitemaps.rs", "AT_ONCE"), of("frontier/mod.rs", "SITEMAP_TURN")
MOST_MEMBERS = of("gunzip.rs", "MOST_MEMBERS")
NESTED_ENTITIES, NAMESPACES = of("extract/xml/dtd.rs", "DEPTH"), of("extract/xml/names.rs", "BINDINGS")
DRAIN, LONG_DRAIN, COUNTING = of("engine/run.rs", "DRAIN"), of("engine/run.rs", "LONG_DRAIN"), of("job/mod.rs", "PATIENCE")
AT_MOST, ENDING = constant(PROGRAM + "signals.rs", "AT_MOST"), constant(PROGRAM + "signals.rs", "ENDING")
WAITING_LINES = constant(PROGRAM + "screen.rs", "MOST")
LATELY_SMALL, LATELY = of("robots_cache/lately.rs", "LARGE"), of("robots_cache/lately.rs", "MOST")
HOSTS_IN_MEMORY = within("frontier/limits.rs", r"hosts_in_memory: ([\d_]+),")
MOST_MEMORY = expression("tests/tests/program/memory.rs", r"const MOST: Peak = Peak\((\d[\d_]*)\);")
INTERIM = within("fetch/clients.rs", r"max_header_bytes\.saturating_mul\((\d)\)")
SLOWS = within("pace.rs", r"pushbacks\.is_multiple_of\((\d)\)")
SKIPS_PART = within("visit/growth.rs", r"self\.most / (5) \* 2")
DAYS = Value(lambda: (Fraction(86400), TIME), "days")
ONE = Value(lambda: (Fraction(1), NUMBER), "1")
DOCTORED = doctored("tampered.rs") + doctored("discovery.rs")
ADDRESS_LIFE = of("engine/turns.rs", "LIFE")
ACCOUNTS = count(CRAWLER + "trap/groups.rs", r"const ACCOUNTS: [^=]+= \[(.*?)\];", r"\w+")
TRAPS = of("trap/groups.rs", "MOST") + of("trap/groups.rs", "FOLDERS") + ACCOUNTS

# (5 / 2) * bytes + (256 << 10), as `no_file_takes_more_than_a_multiple_of_its_bytes` has it.
MULTIPLE = r"file\.len\(\) \* %s / %s \+ \(%s\);"
GROUPS = [(r"(\d)", r"\d", "[^;]+"), (r"\d", r"(\d)", "[^;]+"), (r"\d", r"\d", "([^;)]+)")]
FIVE, TWO, BESIDE = (expression("crates/robots/tests/memory.rs", MULTIPLE % group) for group in GROUPS)
ROBOTS_MEMORY = [(FIVE - 1) / TWO, ONE / TWO, BESIDE]

MEASURED = Other("measured")
SIDE_NOTE = Other("no limit or guarantee of the program")
FORM = Other("what the code is made of, no number in it")
# Which one it is, the test of the row expects.
EXIT_CODE = OneOf(PROGRAM + "exit.rs")
STATEMENTS = {
    "politeness.md": [
        ("It is at most {} old when a page is requested", robots("rules.rs", "DEFAULT_LIFETIME")),
        ("may shorten that to {}", expression(ROBOTS + "access/judge.rs", r"min_ttl: (Duration::\w+\(\d+\))")),
        ("with the usual {} after {} and after {})", setting("fetch.retries"), FIRST_FAILURE, BACK_OFF),
        (
            "the site is closed for {}; then the cached copy is used, up to an age of {}, at {} the rate",
            CLOSED,
            COPY,
            ONE / within("engine/settlement/gap.rs", r"saturating_mul\((\d)\);\n        }\n        delay\n"),
        ),
        ("retried after {}, {}, {}, then hourly, or daily once the {} are over", RETRIES[0], RETRIES[1], RETRIES[2], CLOSED),
        ("each time up to {} later", ONE / expression(ROBOTS + "access/judge.rs", r"lifetime / (\d+)")),
        ("they wait for its attempts once, {}", BACK_OFF),
        ("the host that is contacted, at most {}; a loop or a {} hop", HOPS, HOPS + 1),
        ("and {}) counts as 200", SIDE_NOTE),
        (
            "plus {}, or {} and {} where that is less",
            ONE / within("pace.rs", r"\(length / (50)\)"),
            within("pace.rs", r"min\((Duration::from_millis\(5\))\."),
            ONE / within("pace.rs", r"\(length / (2000)\)"),
        ),
        ("its clock may run slow by {}", ONE / within("pace.rs", r"\(length / (2000)\)")),
        ("it is at least {} more", within("pace.rs", r"saturating_add\((Duration::from_millis\(\d+\))\)\)\n")),
        ("for pages and robots.txt; at most {}", expression(ROBOTS + "access/head.rs", r"const MOST: Duration = ([^;]+);")),
        ("and {} 5xx in a row pause the host for {}", of("pace.rs", "SERVER_ERRORS"), BACK_OFF),
        ("Retry-After, 429, 503, {} 5xx, walls", of("pace.rs", "SERVER_ERRORS")),
        ("Between any {} requests to a group", FORM),
        ("When more than {} hosts of one registrable domain were requested", of("view/groups.rs", "MANY")),
        ("if the {} in a row, or the {} and so on, is a 429 or 503", SLOWS, SLOWS * 2),
        ("up to {} longer by chance", ONE / within("pace.rs", r"jitter\.clamp\(0\.0, 1\.0\) / (\d)\.0")),
        ("pause the host for {} after the first in a row, for {} after the second", FIRST_FAILURE, BACK_OFF),
        ("With the usual {} retries, a server that is away for less than {}", setting("fetch.retries"), BACK_OFF),
        ("`--max-crawl-delay` ({})", setting("pace.max_crawl_delay")),
        ("between {} runs", SIDE_NOTE),
        ("the {} after a failure", CLOSED),
        ("`pace.max_wait` ({})", setting("pace.max_wait")),
        ("{} commands that request the same host", SIDE_NOTE),
        ("so it may get {} requests at a time, {} as often", SIDE_NOTE, SIDE_NOTE),
        ("hosts of the seeds, the first {} of each command", of("neighbours.rs", "MOST_HOSTS")),
        ("a *repetition* if {} or more had", FORM),
        ("After a run of {} repetitions", SAME_PAGES),
        ("in groups and folders with at most {} new pages", of("trap/groups.rs", "OWN_COPIES")[1]),
        ("for one of {} contents in the rows of the host", within("trap/groups.rs", r"mark\.is_multiple_of\((\d)\)")),
        ("{} repetitions in a row, or as many as the host has new pages", SAME_PAGES),
        ("a folder in which at most {} of the pages were new", ONE / NEW_IN),
        ("another word of {} letters or digits or more", of("trap/key.rs", "TOKEN")),
        ("{} in a row on the whole host, or {} as many as it has new pages", SAME_PAGES, HOST_ROWS),
        ("{} in a row, or {} as many as it has new pages |", SAME_PAGES * HOST_ROWS, HOST_ROWS),
        (
            "with the {} rows of the host behind its last new page: {} repetitions with up to {} real pages, {} for each real page with {} or more",
            ACCOUNTS,
            SAME_PAGES * HOST_ROWS + SAME_PAGES,
            SAME_PAGES / HOST_ROWS,
            HOST_ROWS * 2,
            SAME_PAGES,
        ),
        (
            "of which {} remains more than {} links deeper",
            ONE / within("trap/groups.rs", r"\(base / (\d+)\)"),
            of("trap/groups.rs", "DEEPER"),
        ),
        ("and {} for each new page", GROWTH),
        ("The first {} pages of each first folder", of("costly/looks.rs", "PAGES")),
        ("requests at most {} URLs with one path", of_costly("judge.rs", "BUDGET")),
        ("(X(1)S(...))` with {} characters", of_costly("strip.rs", "ASP_NET")),
        ("with a value of {} or more of", of_costly("strip.rs", "LEAST")),
        (
            "changes a crawl's output in {} ways",
            DOCTORED,
        ),
    ],
    "limits.md": [
        ("exit code {}", EXIT_CODE),
        ("exit code {} or {}", EXIT_CODE, EXIT_CODE),
        (
            "| | {} | interim responses (1xx) before a response, together: {} `limits.max_header_bytes`",
            setting("limits.max_header_bytes") * INTERIM,
            INTERIM,
        ),
        ("a segment more than {} as often altogether", within("trap/form.rs", r"times > (\d) \* most")),
        ("a folder in which at most {} of the pages had new content", ONE / NEW_IN),
        ("known content. {} as many end the rest of the host", HOST_ROWS),
        (
            "in flight: {} of the descriptors that remain after {} for the crawl",
            ONE / within("job/descriptors.rs", r"saturating_sub\(OWN\) / (\d)"),
            of("job/descriptors.rs", "OWN"),
        ),
        (
            "After {}, {}, {} ... {} one request tests",
            of("engine/shortage.rs", "FIRST"),
            of("engine/shortage.rs", "FIRST") * 2,
            of("engine/shortage.rs", "FIRST") * 4,
            of("engine/shortage.rs", "MOST"),
        ),
        ("the slowest of {} hostile bodies of {} takes {}, {} per MiB", MEASURED, setting("limits.max_body"), MEASURED, MEASURED),
        (
            "{} attributes count as a node, and so do {} comparisons",
            of("extract/tree_cost.rs", "ATTRIBUTES_A_NODE"),
            of("extract/tree_cost.rs", "COMPARISONS_A_NODE"),
        ),
        ("backslash counts as {} bytes), and {} for each block", FORM, of("extract/limits.rs", "JSON_LD_BLOCK")),
        ("all keywords together, at most {}", of("visit/kept.rs", "KEYWORDS")),
        ("| `PDF time` | {} |", of("search/pdf.rs", "SECONDS").seconds()),
        ("| `PDF memory` | {} |", of("search/pdf.rs", "HEAP")),
        ("would need {} bytes for each", FORM),
        (
            "may add to the database {} times the bytes of its response as transferred (status line, headers, body as sent), and {}",
            of("visit/growth.rs", "FOR_EACH_BYTE"),
            of("visit/growth.rs", "FOR_ANY"),
        ),
        ("no more than {} of that", Value(lambda: (2 / SKIPS_PART.read()[0], NUMBER), SKIPS_PART.where)),
        ("up to {} and a {} times the bytes of its values", MEASURED, MEASURED),
        ("a record that takes more than {} of the whole", ONE / within("visit/visited.rs", r"growth\.most\(\) / (\d)")),
        ("a page of {} compressed may add {}", SIDE_NOTE, of("visit/growth.rs", "FOR_EACH_BYTE") * 8192 + of("visit/growth.rs", "FOR_ANY")),
        ("the {} pages of {} real documentation sites added {} each", MEASURED, MEASURED, MEASURED),
        ("{} name {} of addresses", SIDE_NOTE, SIDE_NOTE),
        ("has space for {} for each byte", of("visit/growth.rs", "FOR_EACH_BYTE")),
        ("a URL in a queue takes some {},", MEASURED),
        ("makes known counts as {}", of("visit/growth.rs", "HOST")),
        ("may have at most {} members, a tag, text or comment {}", MOST_MEMBERS, of("sitemap/stream.rs", "TOKEN")),
        ("at most {} sitemaps are fetched at the same time, {} of temporary files each", SITEMAPS_AT_ONCE, setting("sitemap.max_body")),
        ("Sitemaps take at most {} of memory", Other("a sum: a part, its decoders, and what isn't spooled")),
        ("as it was sent, beyond {} in a temporary file", of("fetch/spooling.rs", "MEMORY")),
        ("queued in parts of at most {}, each", of("sitemap/parts.rs", "PART")),
        ("nothing more is read while {} wait to be committed", of("visit/read_pool.rs", "BACKLOG")),
        ("The archive has the first {} of a sitemap", of("visit/sitemap.rs", "ARCHIVED")),
        (
            "Of a document, {} declarations of its DTD are kept, {} default attributes per element, {} nested namespace declarations, {} of text added by entities, {} nested references",
            of("extract/xml/dtd.rs", "DECLARATIONS"),
            of("extract/xml/dtd.rs", "DEFAULTS"),
            NAMESPACES,
            of("extract/xml/dtd.rs", "EXPANDED_BYTES"),
            NESTED_ENTITIES,
        ),
        ("the first {}, and how many more there are", of("fetch/field_lines.rs", "MOST_FAULTS")),
        (
            "Each may hold {} as transferred and as decoded; beyond that it takes part of a pool of {}, beyond {} of a pool of {}",
            SMALL,
            MIDDLE_POOL,
            MIDDLE,
            LARGE_POOL,
        ),
        ("Responses over {} are parsed one after the other, those over {} by as many threads", READ_LARGE, READ_SMALL),
        ("Nothing more is read while {} of pages, links and archive records wait", of("visit/read_pool.rs", "BACKLOG")),
        ("{} hosts are kept in memory; each further one takes about {}", HOSTS_IN_MEMORY, MEASURED),
        ("A process stays under {}", MOST_MEMORY),
        ("has measurements for {} pages", SIDE_NOTE),
        ("| memory for responses over {}, over {} | {}, {}; in the order of asking", SMALL, MIDDLE, MIDDLE_POOL, LARGE_POOL),
        ("while others wait, {} and after that what arrives at {} a second or more", UNDISTURBED, LEAST_RATE),
        ("kept in temporary files | {}; hosts ask again for a place every {},", SITEMAPS_AT_ONCE, SITEMAP_TURN),
        (
            "read again for it: over {}, over {}, over {} | the places of responses of that size, below; less than {} waits for none",
            READ_AT_ONCE,
            READ_SMALL,
            READ_LARGE,
            READ_AT_ONCE,
        ),
        (
            "responses to be parsed: up to {}, up to {}, larger | {} the processors, the processors, one | {} per MiB",
            READ_SMALL,
            READ_LARGE,
            within("visit/read_pool.rs", r"Semaphore::new\((\d) \* places\)"),
            MEASURED,
        ),
        ("| pages to be committed | {} |", PENDING),
        ("| commits to be synced | {} |", FORM),
        ("| commits to be indexed | {} |", of("search/feed.rs", "WAITING")),
        (
            "| lines for standard error, progress | {} | nothing waits, except once, for {};",
            WAITING_LINES,
            constant(PROGRAM + "screen.rs", "PATIENCE"),
        ),
        ("the end of the run gives them {} |", of("live/server.rs", "GRACE")),
        ("Those in flight have {}; then", DRAIN),
        ("each for at most {} (the next run", COUNTING),
        ("At a limit those in flight have {}, and", LONG_DRAIN),
        ("ends the process after {}, whatever it waits for", AT_MOST),
        ("At most {} such origins are known", of("fetch/broken_http_2.rs", "MOST")),
        (
            "that applies, at most {} are read, with {} of text together and {} each",
            meta("consent/in_robots.rs", "LINES"),
            meta("consent/in_robots.rs", "TEXT"),
            meta("consent/in_robots.rs", "LINE"),
        ),
        (
            "that applies, at most {} are read, with {} of text together and {} each",
            robots("signals.rs", "WHOLE_LINES"),
            robots("signals.rs", "WHOLE_TEXT"),
            robots("signals.rs", "VALUE"),
        ),
        ("about {} of memory for one robots.txt", MEASURED),
        (
            "Of `tdmrep.json` and `ai.txt` at most {} are read, with {} entries and {} rules",
            meta("consent/tdm.rs", "FILE_LIMIT"),
            meta("consent/tdm.rs", "ENTRY_LIMIT"),
            meta("consent/ai_txt.rs", "RULES"),
        ),
        ("Of `tdmrep.json` and `ai.txt` at most {} are read", meta("consent/ai_txt.rs", "FILE_LIMIT")),
        ("A `rel` has at most {}, a language tag {} (", of("extract/link.rs", "REL_BYTES"), of("extract/places.rs", "LANGUAGE_BYTES")),
        (
            "Evidence is {} characters of a tag, a header line or a statement, {} of a rule of robots.txt; {} places are kept per directive, {} warnings, {} places of one consent statement of a page, and {} of one of robots.txt",
            meta("evidence.rs", "TEXT_LIMIT"),
            of("visit/clearance.rs", "LINE_BYTES"),
            meta("directives.rs", "PLACES"),
            meta("directives.rs", "WARNINGS"),
            meta("consent/on_page.rs", "PLACES"),
            of("consent/kept.rs", "PLACES"),
        ),
        (
            "may have at most {} nested content codings, {} gzip members and a zstd window of {} (",
            of("fetch/decode.rs", "MAX_CODINGS"),
            MOST_MEMBERS,
            of("fetch/decode.rs", "MAX_ZSTD_WINDOW").power(),
        ),
        (
            "A seed file may have {}; the first {} of its unusable lines",
            of("seeds.rs", "MAX_BYTES"),
            of("view/summary.rs", "UNUSABLE_LISTED"),
        ),
        (
            "An agent has at most {}, a contact {}, and there are at most {}.",
            of("config/agent.rs", "MAX_PRODUCT"),
            of("config/agent.rs", "MAX_CONTACT"),
            of("config/agent.rs", "MAX_CONTACTS"),
        ),
        ("duration in the settings may exceed {}", of("config/validate.rs", "YEAR")),
        ("in a thread with a stack of {} (", constant(STACK, "STACK")),
        ("({} for a search", within("search/query.rs", r"stack_size\(([^)]+)\)")),
        ("({} for a search and for selectors", constant(STACK, "SELECTOR_STACK")),
        ("threads of the program have {})", FORM),
        ("it returns after every {} attribute value", of("extract/reader.rs", "VALUES")),
        (
            "| {} opening parentheses, {} | configuration error",
            of("extract/select.rs", "CSS_PARENTHESES"),
            of("extract/select.rs", "CSS_BYTES"),
        ),
        ("| any; {} nested namespace declarations, {} nested entity references |", NAMESPACES, NESTED_ENTITIES),
        ("| {} elements | read up to there |", of("extract/other_main.rs", "DEPTH")),
        ("style sheets, `style` | {} blocks and functions", FORM),
        (
            "`/search` | {} opening parentheses and `NOT`s in all, {}, phrases of {} characters, {} hosts and languages",
            of("search/query.rs", "QUERY_NESTING"),
            of("search/query.rs", "QUERY_BYTES"),
            of("search/query.rs", "PHRASE_CHARACTERS"),
            of("search/query.rs", "QUERY_FILTERS"),
        ),
        (
            "| {} parentheses and `not`; any number of conditions beside each other; {}; {} regular expressions of {} each",
            of("tables/filter.rs", "DEEPEST"),
            of("tables/filter.rs", "LONGEST"),
            of("tables/filter.rs", "REGEXES"),
            of("tables/filter.rs", "REGEX_BYTES"),
        ),
        ("of `forget` and of `--where` | {} |", of("scope.rs", "REGEX_NESTING")),
        ("settings (TOML) | {} tables", FORM),
        ("columns with JSON {} |", FORM),
        ("A robots.txt takes at most {} and a {} times its bytes, and {}, whatever", *ROBOTS_MEMORY),
        (
            "whose preparation would take more than {} its bytes, or more than {}, are compared",
            expression(ROBOTS + "file.rs", r"(\d) \* bytes \+ ROOM"),
            robots("file.rs", "MOST_PREPARED"),
        ),
        ("in some milliseconds for {} (", setting("limits.max_robots")),
        (
            "A robots.txt over {} is loaded at most once {} while such files take less than {} together",
            LATELY_SMALL,
            of("robots_cache/lately.rs", "MINUTE"),
            LATELY,
        ),
        ("at about {} hosts with {} each", MEASURED, setting("limits.max_robots")),
        (
            "its idle connection; {} each, at most {} of them",
            of("fetch/clients.rs", "MEMORY"),
            within("fetch/settings.rs", r"\(descriptors / 8\)\.clamp\(1, (\d+)\)"),
        ),
        ("for their lifetime, at most {} |", ADDRESS_LIFE),
        (
            "({} at most: {} groups of {}), up to {} of the budget",
            TRAPS * 32,
            TRAPS,
            FORM,
            ONE - ONE / within("origin_cache.rs", r"budget - budget / (\d)"),
        ),
        (
            "others of its own: {} hosts in memory, {} fingerprints of known URLs ({}), {} parts of queues ({}), {} fingerprints",
            within("engine/portions.rs", r"hosts_in_memory: ([\d_]+),"),
            within("engine/portions.rs", r"seen_in_memory: ([\d_]+),"),
            MEASURED,
            within("engine/portions.rs", r"chunks_in_memory: ([\d_]+),"),
            MEASURED,
            of("engine/portions.rs", "REMEMBERED"),
        ),
        ("other partitions, {} URLs of pages", of("engine/portions.rs", "URLS")),
        ("in any case; once {} those", within("engine/run.rs", r"next_tick = now\.mono \+ (Duration::from_secs\(1\));")),
        ("| {} hosts in memory; the others", HOSTS_IN_MEMORY),
        ("time of its next request | about {} each |", MEASURED),
        ("that will be requested again | {}; beyond it", of("consent/asking.rs", "MOST")),
        ("hosts looked up in the last {}", ADDRESS_LIFE),
        ("`crawl set` | {} hosts; more are refused", of("engine/steer.rs", "HOSTS")),
        ("{} to {} a domain; a limit above {} counts as that", MEASURED, MEASURED, within("trap/mod.rs", r"const MOST: u64 = ([^;]+);")),
        ("for `traps.same_pages` | {} of {} |", of("frontier/traps.rs", "WITHHELD"), FORM),
        ("that wait | {} a host, {} a sitemap ({} a host)", MEASURED, MEASURED, setting("sitemap.per_host")),
        ("looked up again after {}", ADDRESS_LIFE),
    ],
    "faults.md": [
        ("in tables or archive {}, and", SIDE_NOTE),
        (
            "| {} file descriptors, {} hosts |",
            expression(FAULTS + "scarce.rs", r"ulimit -n (\d+)"),
            expression(FAULTS + "scarce.rs", r"\(0\.\.(150)\)"),
        ),
        (
            "| {} of memory, {} new links per page",
            expression(FAULTS + "scarce.rs", r"ulimit -d (\d+)") * 1024,
            expression(FAULTS + "scarce.rs", r"for link in 0\.\.([\d_]+)"),
        ),
        ("{} URLs queued within it", expression(FAULTS + "scarce.rs", r"(\d+ \* 200 \* 2_000) \+ 3")),
        ("the same with {} hosts at once", expression(FAULTS + "scarce.rs", r"for host in 0\.\.(\d+)")),
        ("for less than {} |", BACK_OFF),
        ("requested again after {} and after {}, and", FIRST_FAILURE, BACK_OFF),
        ("lines beyond {} are omitted", WAITING_LINES),
        (
            "set back {}, or forward {}, during a run, or back {} or forward {} between {}",
            DAYS * expression(SIMULATION + "faults.rs", r"&\[\(15, -(\d+) \* DAY\)\]"),
            expression(SIMULATION + "faults.rs", r"&\[\(15, (\d+ \* 3600)\)\]").seconds(),
            DAYS * expression(SIMULATION + "clocks.rs", r"&\[-(\d+) \* DAY\],"),
            DAYS * expression(SIMULATION + "clocks.rs", r"&\[(\d+) \* DAY\], "),
            SIDE_NOTE,
        ),
        ("| {}, or {} if each", EXIT_CODE, EXIT_CODE),
        ("requests in flight have {}, then counts and the archive's index {} each", DRAIN, COUNTING),
        ("the process ends after {}, whatever it waits for; {} later", AT_MOST, ENDING),
        ("| {} |", EXIT_CODE),
        ("| {}, or {} if", EXIT_CODE, EXIT_CODE),
        ("| {} or none |", EXIT_CODE),
        ("| none, then {} |", EXIT_CODE),
        ("except for what is lost ({})", EXIT_CODE),
    ],
}
