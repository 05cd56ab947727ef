/**
 * All fixed bounds of the gateway: how much is buffered, cached or retried, for how long, and why. Operators cannot change them;
 * configurable limits are in `limits` of a server (`servers/options.ts`).
 *
 * Clients and backends choose names, lengths and how many requests they leave open, so everything that is stored for one of them has
 * a bound of its own. Slots and memory are shared by user: no user can exhaust what the others need. A full cache evicts what can
 * be obtained again; a full queue drops and counts; a request without a free slot is refused with 429 or 503 and `Retry-After`.
 */

// Requests at once (http/slots.ts)

/**
 * A user's slots, as a multiple of those that would remain free: three quarters of all while no other user needs the backend, and
 * less the more others do. The last slot is for users without a request in flight.
 */
export const SLOT_SHARE = 3;
/** Slots of a server that one user may occupy with bodies still arriving; further bodies are buffered first. */
export const UPLOADS_OF_USER: number = 1 / 16;
/** The same for all users together: slow clients must not occupy all connections to a backend. */
export const UPLOADS_OF_ALL: number = 1 / 2;
/** Token buckets for calls by user and tool. The least recently used are evicted first, which are full after a minute, as new ones are. */
export const MAX_CALL_BUCKETS = 50_000;
/** Tools of a server that one user may begin to call per minute: more would evict the buckets of others, and those of the user. */
export const MAX_NEW_TOOLS = 1000;
/** Characters of a tool's name in a bucket's key: clients choose the names. */
export const MAX_TOOL_NAME = 100;

// Request bodies (http/)

/** Bytes up to which a body is always buffered: most bodies fit, and a connection costs as much anyway. */
export const SHORT_BODY: number = 64 * 1024;
/** Milliseconds in which a client may still write after a response that ends its connection: long enough to notice the response. */
export const LINGERING_CLOSE = 2000;
/** Bytes of long bodies buffered concurrently per user; at least one body of the server's limit. */
export const BODY_MEMORY_OF_USER: number = 64 * 1024 * 1024;
/** The same for all users of a server together. */
export const BODY_MEMORY_OF_ALL: number = 8 * BODY_MEMORY_OF_USER;
/** Values of a body that is parsed: objects, arrays and what is in them. Those that only pass through have no limit. */
export const MAX_MESSAGE_VALUES = 100_000;
/** Bytes of memory that a parsed value takes, besides its text. */
export const VALUE_MEMORY = 128;
/** Bytes of a streamed body that are retained for a retry, and bytes of white space buffered between its members. */
export const MAX_RETAINED_BODY: number = 1024 * 1024;

// Responses (http/)

/** Bytes of an `id` line of an event stream, which is buffered until it ends. Longer ones end the stream. */
export const MAX_EVENT_ID_LINE: number = 8 * 1024;
/** Characters of the id of a request whose stream can be resumed: the ids of its events contain it. */
export const MAX_EXPECTED_ID = 1000;
/** Bytes of an event that are searched for the method of its message: backends write it first. */
export const EVENT_BEGINNING = 2048;
/** Bytes of the header of a response: large cookies are common, and are not forwarded. */
export const MAX_RESPONSE_HEADER: number = 32 * 1024;
/** Bytes of a response that arrive while it is paused, where its connection cannot be: more end the response. */
export const MAX_BUFFERED_RESPONSE: number = 64 * 1024 * 1024;

// Actions of users: connecting an account, approving a call (handle-request.ts, approvals/)

/** Milliseconds for which a request waits for a user to act, below the timeouts of proxies and clients. */
export const USER_ACTION_WAIT = 25_000;
/** Milliseconds between lookups of the outcome meanwhile. */
export const USER_ACTION_PACE = 1000;
/** Bytes of arguments that are shown for approval: an approver reads all of them. */
export const MAX_APPROVAL_ARGUMENTS: number = 256 * 1024;

// Addresses of backends (addresses/)

/** Milliseconds for which an address is skipped after its first failure; doubled with each further one. */
export const FIRST_PAUSE = 1000;
/** Maximum of this delay: a recovered backend is noticed within half a minute. */
export const LONGEST_PAUSE = 30_000;
/** Milliseconds in which requests may finish after their server was changed or removed: streams would never end. */
export const CLOSE_GRACE = 10_000;
/** Milliseconds without a response after which an address is probed, before a request fails there. */
export const PROBE_INTERVAL = 15_000;
/** Milliseconds over which the first probes of many backends are spread. */
export const PROBE_START = 1000;
/** Concurrent probes of all backends: each is a TLS handshake. */
export const PROBES_AT_ONCE = 16;
/** Milliseconds before a probe without a free slot is retried. */
export const PROBE_RETRY = 200;

// Lists and definitions of tools (catalogue/, merged/)

/** Pages of one list: a backend that has more repeats its cursor. */
export const MAX_LIST_PAGES = 200;
/** Milliseconds for which the tools of a backend are cached; until then, calls of a new tool may be refused. */
export const CATALOGUE_LIFETIME = 60_000;
/** The age, as a fraction of the lifetime, at which a list in use is refreshed in the background. */
export const CATALOGUE_REFRESH_AT = 0.75;
/**
 * Lists of all backends that stay in the cache, one for each credential; at most twice as many do. More credentials than that within
 * their lifetime would have each call read the list first.
 */
export const MAX_CATALOGUE_ENTRIES = 4000;
/** Lists of a backend that are read concurrently: one that does not answer delays no list of another. */
export const CATALOGUE_READS_AT_ONCE = 8;
/** Of these, for one user with all clients: the lists of their account may hang. */
export const CATALOGUE_READS_OF_USER = 2;
/** Milliseconds for the pages of one list. */
export const CATALOGUE_READ_TIMEOUT = 30_000;
/** Milliseconds until approvals by another process take effect. */
export const PINS_LIFETIME = 2000;
/** Tools of one server whose pins are stored. Further tools remain unapproved and hidden. */
export const MAX_PINNED_TOOLS = 2000;

// Credentials (credentials/)

/** Identities whose tokens are cached. */
export const MAX_CACHED_TOKENS = 10_000;
/** Milliseconds after issuance in which a rejected token is not replaced: a new one would be rejected too. */
export const TOKEN_TOO_NEW = 2000;
/** Milliseconds for which a user's credential is cached, and until a disconnected account is noticed. */
export const USER_TOKENS_CACHED_FOR = 30_000;
/** Like `TOKEN_TOO_NEW`, in seconds, for a token from the store. */
export const USER_TOKEN_TOO_NEW = 5;
/** Milliseconds after which a token without a known expiry is obtained again. */
export const DEFAULT_TOKEN_LIFETIME = 300_000;
/** Milliseconds for one request to an authorization server of a backend. */
export const AUTHORIZATION_SERVER_TIMEOUT = 10_000;

// Audit log (audit/)

/** Messages of one batch that are recorded: a batch costs its client one request. */
export const MAX_RECORDED_MESSAGES = 100;
/** Characters of a method or name in an event: clients write them. */
export const MAX_AUDIT_TEXT = 300;
/** Bytes of arguments that an event holds; longer ones are represented by their hash only. */
export const MAX_AUDIT_ARGUMENTS: number = 4 * 1024;

// Test of a server (test-server.ts)

/** Timeout of the whole test in milliseconds: an operator waits for it. */
export const SERVER_TEST_TIMEOUT = 20_000;

// Messages to backends (backends/)

/** Subscriptions to resources of one session: clients name the resources. */
export const MAX_SUBSCRIPTIONS = 500;
/** Pending server requests of one backend. */
export const MAX_SERVER_REQUESTS = 1000;
/** How often one call is sent again with input that the backend requested. */
export const MAX_INPUT_REQUESTS = 20;
/** Milliseconds before retrying a request whose response only said "not yet". */
export const INPUT_RETRY_DELAY = 500;
/** Milliseconds before a broken stream of changes is reopened; doubled with each attempt. */
export const FIRST_STREAM_DELAY = 1000;
/** Maximum of this delay. */
export const LAST_STREAM_DELAY = 30_000;

// Processes (backends/stdio/)

/** Characters of the last line on standard error that the error for a client repeats when a process has ended. */
export const MAX_LAST_ERROR = 300;

/** Processes of one user: each client, and each set of claimed capabilities, has its own process. */
export const MAX_PROCESSES_OF_USER = 8;
/** Milliseconds between sweeps for processes that are idle or over their memory limit. */
export const PROCESS_SWEEP = 1000;
/** Files of /proc read concurrently: one at a time takes four times as long, and three times the processor time. */
export const PROC_FILES_AT_ONCE = 32;
/** Uptime in milliseconds after which an exit no longer counts as a failed start. */
export const STABLE_AFTER = 10_000;
/** Milliseconds before a failed start is retried; doubled with each failure. */
export const FIRST_RESTART_DELAY = 500;
/** Maximum of this delay. */
export const LAST_RESTART_DELAY = 30_000;
/** Longest delay in milliseconds that a caller waits out; beyond it, the error says when to retry. */
export const RESTART_PATIENCE = 1500;
/** Users whose failed starts are remembered. */
export const MAX_RESTART_BACKOFFS = 10_000;
/** Milliseconds, per second of the caller's timeout, after which a slow start is logged: 10 s of 5 minutes. */
export const SLOW_START: number = 1000 / 30;
/** Timeout in milliseconds for the ping of a silent process. */
export const PING_TIMEOUT = 5000;
/** Bytes that are buffered for a process that does not read. */
export const MAX_STDIN_BUFFER: number = 16 * 1024 * 1024;
/** Logged lines of one process: standard error per second, and non-messages on standard output. */
export const MAX_LOG_LINES = 50;
/** Characters of each logged line. */
export const MAX_LOG_LINE = 2000;
/** Non-message lines on standard output after which a process is terminated. */
export const MAX_INVALID_LINES = 1000;
/** Milliseconds for a process to exit after its standard input was closed. */
export const STDIN_END_GRACE = 1000;
/** Milliseconds between SIGTERM and SIGKILL. */
export const TERM_GRACE = 2000;

// Sessions of clients (backends/clients/)

/** Sessions with a backend in this process. Any process can reopen one. */
export const MAX_SESSIONS = 10_000;
/** Of one user, with all clients. */
export const MAX_SESSIONS_OF_USER = 100;
/** Idle milliseconds after which this process closes a session; the client's sealed ID remains valid. */
export const SESSION_IDLE: number = 30 * 60_000;
/** Milliseconds between sweeps for idle sessions, and for events of streams that are over. */
export const SESSION_SWEEP = 60_000;
/** Remembered deletions of sessions, which must not reopen. The oldest are evicted first. */
export const MAX_DELETED_SESSIONS = 10_000;
/** Characters of the parameters of `initialize`, which the session ID contains, or of what a stateless request states instead. */
export const MAX_INITIALIZE = 4000;
/** Milliseconds for a client to resume the response to a request whose connection broke, and for which its events are retained at least. */
export const RESUME_GRACE = 10_000;
/** Messages that are buffered for the next stream of a client. */
export const MAX_UNDELIVERED = 100;
/** Events of a session that are retained for a client that resumes a stream. */
export const MAX_EVENTS = 500;
/** Their characters. */
export const MAX_EVENT_CHARACTERS: number = 2 * 1024 * 1024;
/** Of all sessions of a user: further events are not retained, so that their streams cannot be resumed. */
export const MAX_EVENT_CHARACTERS_OF_USER: number = 32 * 1024 * 1024;
/** Bytes that are buffered for a client that does not read; beyond it, its stream ends and can be resumed. */
export const MAX_UNREAD_RESPONSE: number = 8 * 1024 * 1024;
/** Milliseconds until a call of a process or a translated call without a response gets an event stream: nginx, HAProxy and Apache cut silent requests after a minute. */
export const LATE_RESPONSE = 5_000;

/** Milliseconds between comments that keep silent streams open. */
export const KEEP_ALIVE_INTERVAL = 25_000;

// Stateless clients (backends/clients/)

/** Backend sessions shared by one user's stateless requests: each request could claim other capabilities. */
export const MAX_SHARED_SESSIONS_OF_USER = 50;
/** Milliseconds without a request after which such a session is closed. */
export const SHARED_SESSION_IDLE: number = 5 * 60_000;
/** Milliseconds between sweeps for them. */
export const SHARED_SESSION_SWEEP = 30_000;
/** Calls waiting for input from their clients. */
export const MAX_WAITING_CALLS = 10_000;
/** Of one user, with all clients. */
export const MAX_WAITING_CALLS_OF_USER = 100;
/** Milliseconds to wait for further server requests after the first one. */
export const SERVER_REQUEST_DELAY = 25;
/** Milliseconds that a call waits for its user's response. */
export const INPUT_PATIENCE: number = 10 * 60_000;
/** Timeout in milliseconds for the list of tools that declares which headers repeat arguments. */
export const HEADER_LIST_TIMEOUT = 10_000;
/** Milliseconds for which a list is not read again, whatever headers its owner sends. */
export const HEADER_LIST_AGE = 5000;
/** Owners whose lists are remembered for headers that pass through. */
export const MAX_HEADER_LISTS = 500;

// Sealed IDs (sessions/)

/** Owners whose keys and opened IDs are cached, because deriving a key takes longer than using it. */
export const MAX_OWNER_KEYS = 10_000;
/** Opened IDs of one owner. */
export const MAX_OPENED_IDS = 16;

// Messages (messages/)

/** Characters of a member's name: longer ones are none that a shape asks for, however they are escaped. */
export const MAX_NAME = 512;

// Decision points (authzen/)

/** Evaluations in one message. */
export const MAX_EVALUATIONS = 100;
/** Such messages that the body of one request sends concurrently: a batch may need a hundred of them. */
export const EVALUATION_REQUESTS_AT_ONCE = 4;
/** Cached decisions, and characters of their keys. The least recently used are evicted first. */
export const MAX_CACHED_DECISIONS = { entries: 10_000, characters: 16_000_000 } as const;
/** Seconds of `Retry-After` when the decision point sends none. */
export const POINT_RETRY_AFTER = 5;
/** Seconds of `Retry-After` that a client gets at most, whatever the decision point sends. */
export const MAX_RETRY_AFTER = 60;

// URIs of resources (policy/)

/** Bytes of the URIs in one body, which are compared with rules in several readings, and of the subscriptions of one session. */
export const MAX_URI_BYTES: number = 128 * 1024;
/** Times that a URI is decoded: programs decode a part again after each of several steps. */
export const MAX_DECODINGS = 3;
