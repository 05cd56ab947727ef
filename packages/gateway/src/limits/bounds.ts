/**
 * Bounds of the gateway on one page: how much of what is kept in memory or tried, for how long, and why. An operator changes none of
 * them; what an operator changes is in `limits` of a server (`servers/options.ts`).
 *
 * Clients and backends choose names, lengths and how many requests they leave open, so that everything that is kept for one of them has
 * a bound of its own. Slots and memory are shared by user: no user can exhaust what the others need. A cache that is full forgets what can
 * be obtained again; a queue that is full drops and counts; a request that finds no slot is refused with 429 or 503 and `Retry-After`.
 */

// Requests at once (http/slots.ts)

/**
 * How many times as many slots a user may hold as would remain free: three quarters of all while no other user needs the backend, and
 * less the more others do. The last slot is for users without a request in flight.
 */
export const SLOT_SHARE = 3;
/** Of the slots of a server, those that may wait for a body that is still arriving, by user: others are buffered first. */
export const UPLOADS_OF_USER: number = 1 / 16;
/** The same for all users together: slow clients must not hold all connections to a backend. */
export const UPLOADS_OF_ALL: number = 1 / 2;
/** Token buckets for calls by user and tool: full buckets are forgotten first, and a forgotten one is full. */
export const MAX_CALL_BUCKETS = 50_000;
/** Characters of a tool's name that count for a bucket: buckets are kept, and clients write names. */
export const MAX_TOOL_NAME = 100;

// Request bodies (http/)

/** Bytes up to which a body is buffered in any case: most bodies, at a cost that the connection has anyway. */
export const SHORT_BODY: number = 64 * 1024;
/** Bytes of long bodies that are buffered at once, by user; at least one body of the server's limit. */
export const BODY_MEMORY_OF_USER: number = 64 * 1024 * 1024;
/** The same for all users of a server together. */
export const BODY_MEMORY_OF_ALL: number = 8 * BODY_MEMORY_OF_USER;
/** Bytes of a streamed body that are retained to send them again, and white space between its members that has to be buffered. */
export const MAX_RETAINED_BODY: number = 1024 * 1024;

// Responses (http/)

/** Bytes of an `id` line of an event stream, which is buffered until it ends. Longer ones end the stream. */
export const MAX_EVENT_ID_LINE: number = 8 * 1024;
/** Bytes of an event that are searched for the method of its message: clients read it first, and backends write it first. */
export const EVENT_BEGINNING = 2048;
/** Bytes of the header of a response: large cookies are common, and are not forwarded. */
export const MAX_RESPONSE_HEADER: number = 32 * 1024;

// Connecting an account (handle-request.ts)

/** Milliseconds for which a retry waits for its user to connect an account, below the timeouts of proxies and clients. */
export const CONNECTION_WAIT = 25_000;
/** Milliseconds between two attempts to find the credential meanwhile. */
export const CONNECTION_PACE = 1000;

// Addresses of backends (addresses/)

/** Milliseconds for which an address is not tried after its first failure; doubled with each further one. */
export const FIRST_PAUSE = 1000;
/** Up to this: a backend that is reached again is noticed within half a minute. */
export const LONGEST_PAUSE = 30_000;
/** Milliseconds for which requests may finish after their server was changed or removed: streams would never end. */
export const CLOSE_GRACE = 10_000;
/** Milliseconds without a response after which an address is probed, so that no request has to find out. */
export const PROBE_INTERVAL = 15_000;
/** Milliseconds over which the first probes of many backends are spread. */
export const PROBE_START = 1000;
/** Probes at once, of all backends: each is a TLS handshake. */
export const PROBES_AT_ONCE = 16;
/** Milliseconds until a probe is attempted again that found no slot. */
export const PROBE_RETRY = 200;

// Lists and definitions of tools (review/, merged/)

/** Pages of one list: a backend that has more repeats its cursor. */
export const MAX_LIST_PAGES = 200;
/** Milliseconds for which the tools of a backend are cached: so long a call of a new tool may be refused. */
export const CATALOGUE_LIFETIME = 60_000;
/** The age, as a part of the lifetime, at which a list in use is read again in the background. */
export const CATALOGUE_REFRESH_AT = 0.75;
/** Lists in the cache, one for each credential. The one that was read first is forgotten first. */
export const MAX_CATALOGUE_ENTRIES = 2000;
/** Lists that are read at once, of all backends. */
export const CATALOGUE_READS_AT_ONCE = 8;
/** Milliseconds after which approvals of another process are noticed. */
export const PINS_LIFETIME = 2000;
/** Tools of one server whose pins are stored. More remain unapproved, and are not shown. */
export const MAX_PINNED_TOOLS = 2000;

// Credentials (credentials/)

/** Identities whose tokens are cached. */
export const MAX_CACHED_TOKENS = 10_000;
/** Milliseconds: a token that is rejected so soon after it was issued would be rejected again. */
export const TOKEN_TOO_NEW = 2000;
/** Milliseconds for which a user's credential is used without reading the store: so late a disconnected account is noticed. */
export const USER_TOKENS_CACHED_FOR = 30_000;
/** Seconds: the same as above, for a token from the store. */
export const USER_TOKEN_TOO_NEW = 5;
/** Milliseconds after which a token without a known expiry is obtained again. */
export const DEFAULT_TOKEN_LIFETIME = 300_000;
/** Milliseconds for one request to an authorization server of a backend. */
export const AUTHORIZATION_SERVER_TIMEOUT = 10_000;

// Audit log (audit/)

/** Calls that wait to become events: more are dropped and counted (`audit.dropped`). */
export const MAX_QUEUED_CALLS = 10_000;
/** Calls that become events in one turn of the event loop: requests are served in between. */
export const AUDIT_BATCH = 100;
/** Messages of one batch that are recorded: a batch costs its client one request. */
export const MAX_RECORDED_MESSAGES = 100;
/** Characters of a method or name in an event: clients write them. */
export const MAX_AUDIT_TEXT = 300;
/** Bytes of arguments that an event holds; longer ones are represented by their hash only. */
export const MAX_AUDIT_ARGUMENTS: number = 4 * 1024;

// Test of a server (test-server.ts)

/** Milliseconds of the whole test: an operator waits for it. */
export const SERVER_TEST_TIMEOUT = 20_000;

// Messages to backends (backends/)

/** Requests of one backend that its clients have not responded to. */
export const MAX_SERVER_REQUESTS = 1000;
/** How often one request may ask for input. */
export const MAX_INPUT_REQUESTS = 20;
/** Milliseconds before a request is repeated that asked for nothing but time. */
export const INPUT_RETRY_DELAY = 500;
/** Milliseconds before a broken stream of changes is opened again; doubled with each attempt. */
export const FIRST_STREAM_DELAY = 1000;
/** Up to this. */
export const LAST_STREAM_DELAY = 30_000;

// Processes (backends/stdio/)

/** Processes of one user: clients with other capabilities have processes of their own, and could claim anything. */
export const MAX_PROCESSES_OF_USER = 8;
/** Milliseconds between sweeps for idle processes and those with too much memory. */
export const PROCESS_SWEEP = 1000;
/** Milliseconds after which the end of a process is no failure of its start. */
export const STABLE_AFTER = 10_000;
/** Milliseconds before a process that failed to start is started again; doubled with each failure. */
export const FIRST_RESTART_DELAY = 500;
/** Up to this. */
export const LAST_RESTART_DELAY = 30_000;
/** Milliseconds of the delay for which a caller waits. After that it is told when to retry. */
export const RESTART_PATIENCE = 1500;
/** Users whose failed starts are remembered. */
export const MAX_RESTART_BACKOFFS = 10_000;
/** Milliseconds after which the log says that a process is still starting, for each second that its caller waits: 10 s of 5 minutes. */
export const SLOW_START: number = 1000 / 30;
/** Milliseconds that a silent process has for a ping before it counts as hanging. */
export const PING_TIMEOUT = 5000;
/** Bytes that are buffered for a process that does not read. */
export const MAX_STDIN_BUFFER: number = 16 * 1024 * 1024;
/** Lines of one process in the log: of standard error per second, and of standard output that are no messages. */
export const MAX_LOG_LINES = 50;
/** Characters of each. */
export const MAX_LOG_LINE = 2000;
/** Lines on standard output that are no messages, after which a process is ended. */
export const MAX_INVALID_LINES = 1000;
/** Milliseconds for a process to end by itself when its standard input has ended. */
export const STDIN_END_GRACE = 1000;
/** Milliseconds to end after SIGTERM. */
export const TERM_GRACE = 2000;

// Sessions of clients (backends/clients/)

/** Sessions with a backend in this process. Any process opens one again. */
export const MAX_SESSIONS = 10_000;
/** Of one user, with all clients. */
export const MAX_SESSIONS_OF_USER = 100;
/** Milliseconds without a request after which this process closes a session, whose client still has its sealed ID. */
export const SESSION_IDLE: number = 30 * 60_000;
/** Milliseconds between sweeps for idle sessions. */
export const SESSION_SWEEP = 60_000;
/** Deleted sessions that do not open again. The oldest are forgotten first. */
export const MAX_DELETED_SESSIONS = 10_000;
/** Characters of the parameters of `initialize`, which travel in the session ID. */
export const MAX_INITIALIZE = 4000;
/** Milliseconds for a client to resume the response to a request whose connection broke. */
export const RESUME_GRACE = 10_000;
/** Messages that are buffered for the next stream of a client. */
export const MAX_UNDELIVERED = 100;
/** Events of a session that are retained for a client that resumes a stream. */
export const MAX_EVENTS = 500;
/** Their characters. */
export const MAX_EVENT_CHARACTERS: number = 2 * 1024 * 1024;
/** Bytes that are buffered for a client that does not read. Then its stream ends, and it may resume. */
export const MAX_UNREAD_RESPONSE: number = 8 * 1024 * 1024;
/** Milliseconds between comments that keep silent streams open. */
export const KEEP_ALIVE_INTERVAL = 25_000;

// Stateless clients (backends/clients/)

/** Sessions with a backend that stateless requests share, of one user: a client could claim other capabilities in each request. */
export const MAX_SHARED_SESSIONS_OF_USER = 50;
/** Milliseconds without a request after which such a session is closed. */
export const SHARED_SESSION_IDLE: number = 5 * 60_000;
/** Milliseconds between sweeps for them. */
export const SHARED_SESSION_SWEEP = 30_000;
/** Calls that wait for input of their clients. */
export const MAX_WAITING_CALLS = 10_000;
/** Of one user, with all clients. */
export const MAX_WAITING_CALLS_OF_USER = 100;
/** Milliseconds in which more server requests may follow the first one. */
export const SERVER_REQUEST_DELAY = 25;
/** Milliseconds that a call waits for its user. */
export const INPUT_PATIENCE: number = 10 * 60_000;
/** Milliseconds for the list of tools that says which arguments headers repeat. */
export const HEADER_LIST_TIMEOUT = 10_000;

// Sealed IDs (sessions/)

/** Owners whose keys and opened IDs are cached, because deriving a key takes longer than using it. */
export const MAX_OWNER_KEYS = 10_000;
/** Opened IDs of one owner. */
export const MAX_OPENED_IDS = 16;
