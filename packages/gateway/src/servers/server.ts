/** A configured server of the gateway: validated, frozen, pure data. Compiled policies are separate. */
import type { OutputOf } from '@portcullis/authorization-server/options';
import type { AccessCondition, WrittenRule } from '@portcullis/policy';
import type { CredentialDefinition } from './credential-options.ts';
import type { limitsSchema } from './options.ts';

/** A server behind the gateway: one path, one protected resource. */
export interface GatewayServer {
  /** The path at the public origin, such as `/files`. */
  readonly path: string;
  /** Display name. */
  readonly name: string;
  /** The last segment of the path: prefix of proposed scopes, label of metrics. */
  readonly id: string;
  /** Its canonical URI: the audience of its tokens. */
  readonly resource: string;
  /** `null` for a server that merges others. */
  readonly backend: BackendDefinition | null;
  /** Namespace → path of the merged server; `null` for a server with a backend. */
  readonly merges: Readonly<Record<string, string>> | null;
  /** Scope → description; empty: scopes are proposed by the hints of the tools. */
  readonly scopes: Readonly<Record<string, string>>;
  /** Scope → condition for granting it; scopes without one can be granted to all users. */
  readonly grantableTo: Readonly<Record<string, AccessCondition>>;
  readonly rules: AccessRules;
  /** Whether changed and new tool definitions wait for approval. */
  readonly review: 'first-use' | 'auto';
  /** Treatment of methods that no revision defines. */
  readonly unknownMethods: 'pass' | 'refuse';
  /** Clients that get the challenge of a call in its result, by the first name in their `User-Agent`. */
  readonly toolChallenges: readonly string[];
  readonly limits: ServerLimits;
  /** Paths into the arguments of calls whose values the audit log keeps; `null`: only their hash. */
  readonly audit: ArgumentAudit | null;
  /** Address or command of the backend, which pins belong to together with the path. Changing it makes it another server. */
  readonly pinnedBackend: string;
}

/** The transport to a backend. */
export type BackendDefinition = HttpBackendDefinition | StdioBackendDefinition;

/** A backend over HTTP. */
export interface HttpBackendDefinition {
  /** `http`: streamable HTTP of any revision; `sse`: the HTTP+SSE transport of 2024-11-05. */
  readonly kind: 'http' | 'sse';
  /** Addresses in order of preference; the next is used while one is down. */
  readonly urls: readonly [URL, ...URL[]];
  readonly credentials: CredentialDefinition;
  /** Further request headers that are forwarded, in lower case. */
  readonly forward: readonly string[];
}

/** A backend that the gateway starts as a process and reaches by stdio. */
export interface StdioBackendDefinition {
  readonly kind: 'stdio';
  readonly command: readonly [string, ...string[]];
  /** Absolute. */
  readonly folder: string;
  /** Besides `PATH` and `HOME`; the rest of the host's environment is not inherited. */
  readonly environment: Readonly<Record<string, string>>;
  /** One process for each client of a user, or one for all. */
  readonly process: 'user' | 'shared';
  /** The user and group of the system that its processes run as; without it, those of this process. */
  readonly identity?: { readonly uid: number; readonly gid: number };
  /** `namespace`: in namespaces of users, processes and IPC of their own. @default 'none' */
  readonly isolation?: 'none' | 'namespace';
  readonly limits: {
    /** Processes at once. */
    readonly processes: number;
    /** Seconds without a call after which a process ends. */
    readonly idle: number;
    /** Bytes of memory of one process; `null` for no limit. */
    readonly memory: number | null;
  };
}

/** Limits of a server; `null` for no limit. */
type ServerLimits = Omit<OutputOf<typeof limitsSchema>, 'callsPerMinute'> & {
  readonly callsPerMinute: number | null;
};

/** Which operations need which scopes, as data: patterns with `*` → rule. `null`: no rule was given. */
export interface AccessRules {
  readonly tools: RuleTable | null;
  readonly resources: RuleTable | null;
  readonly prompts: RuleTable | null;
  readonly methods: RuleTable | null;
}

/** Rules by name, or by a pattern of names. */
export type RuleTable = Readonly<Record<string, WrittenRule>>;

/** The arguments that the audit log stores. */
export interface ArgumentAudit {
  /** `path`, `options.owner`: members of the arguments whose values are replaced. */
  readonly redact: readonly string[];
}
