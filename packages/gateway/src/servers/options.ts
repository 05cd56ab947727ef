/** The schema of the setting `servers`: validation, documentation and JSON Schema in one. */
import {
  accessConditionMembers,
  accessConditionNames,
  bytes,
  checkedText,
  duration,
  type InputOf,
  lazy,
  list,
  type OutputOf,
  optional,
  optionMeta,
  record,
  seconds,
  secret,
  text,
  wholeNumber,
} from '@portcullis/authorization-server/options';
import * as z from 'zod';
import { credentialSchema, scopeList } from './credential-options.ts';

const SEGMENTS = /^(?:\/[\w.~-]+)+$/;

const pathText = lazy(() =>
  checkedText('a path such as `/files`', (path) =>
    SEGMENTS.test(path) && !/\/\.{1,2}(?:\/|$)/.test(path) ? null : 'must be a path such as /files',
  ),
);

const backendUrl = lazy(() =>
  checkedText('an http or https URL', (written) => {
    const url = URL.parse(written);
    if (url === null || !['http:', 'https:'].includes(url.protocol)) return 'must be an http or https URL';
    if (url.username !== '' || url.password !== '')
      return 'must contain no user and password: set them as credentials';
    return url.hash === '' ? null : 'must have no fragment';
  }),
);

/** Names of headers that `forward` may not name: they belong to one hop, carry credentials of the client, or are forwarded by the rules of MCP. */
const NEVER_FORWARDED =
  /^(?:authorization|proxy-.*|cookie|dpop|host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-length|content-encoding|accept-encoding|forwarded|x-forwarded-.*|x-real-ip|expect|origin|mcp-.*|last-event-id)$/i;

const headerName = lazy(() =>
  checkedText('a header name', (name) => {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) return 'must be a header name';
    return NEVER_FORWARDED.test(name)
      ? 'must not name a header of this hop, a credential or a header of MCP'
      : null;
  }),
);

const scopeSchema = lazy(() => {
  const described = z.strictObject({
    description: text().describe('description for the consent page'),
    ...accessConditionMembers(1, { clients: 'clients that may be granted it' }),
  });
  const kind = `a sentence, or an object with description, ${accessConditionNames}`;
  return z.union([text(), described]).register(optionMeta, { kind });
});

const requirementsSchema = lazy(() =>
  z.strictObject({
    acr: optional(
      list(text('an authentication context class'), 1),
      'authentication context classes such as `2fa`, one of which suffices (RFC 9470)',
      'all',
    ),
    maxAge: optional(seconds(1), 'seconds since the sign-in, at most (RFC 9470)', 'no limit'),
    dpop: z
      .boolean()
      .default(false)
      .describe('the access token has to be bound to a key of the client (RFC 9449)'),
  }),
);

const approvalSchema = lazy(() => {
  const groups = z.strictObject({
    groups: list(text('a group'), 1).describe('groups, whose users may decide'),
  });
  return z.strictObject({
    by: z
      .union([z.literal('user'), groups])
      .register(optionMeta, { kind: '`user`, or an object with groups' })
      .describe('who decides: the user of the call, or the users of groups'),
    lasts: z
      .union([z.literal('call'), seconds(60, 86_400)])
      .register(optionMeta, { kind: '`call`, or seconds' })
      .default('call')
      .describe(
        'what the approver may allow: one call, or also the same call for that many seconds, such as 900',
      ),
  });
});

const ruleSchema = lazy(() => {
  const conditional = z.strictObject({
    public: optional(z.literal(true), 'no token is needed', 'a token'),
    scopes: optional(scopeList(), 'scopes that the operation needs'),
    when: optional(text('a condition'), 'a condition in CEL on `user`, `client`, `call` and `request`'),
    requires: optional(requirementsSchema(), 'how and when the user has to have signed in'),
    approval: optional(
      approvalSchema(),
      'an approver has to allow each call, with all its arguments',
      'no approval',
    ),
    ...accessConditionMembers(1, {
      clients: 'clients that may use it',
      claims: 'claims of the access token with their accepted values',
    }),
  });
  const kind = `false, a list of scopes, or an object with public, scopes, when, requires, approval, ${accessConditionNames}`;
  return z.union([z.literal(false), scopeList(), conditional]).register(optionMeta, { kind });
});

const rules = () => record(ruleSchema(), 'an object, a rule for each pattern');

/** Defaults of a command's limits. */
export const commandDefaults = { process: 'user', processes: 32, idle: 300 } as const;

const systemId = () => wholeNumber(1, 4_294_967_294);

/** Members of a backend over HTTP. */
export const httpMembers = lazy(() => ({
  url: optional(
    z
      .union([backendUrl(), list(backendUrl(), 1, 16)])
      .register(optionMeta, { kind: 'a URL, or a list of URLs' }),
    'address of an MCP server over HTTP; of several, the next is used while one is down',
  ),
  transport: optional(z.enum(['http', 'sse']), '`sse` for the HTTP+SSE transport of 2024-11-05', '`http`'),
  credentials: optional(
    credentialSchema(),
    'how the gateway authenticates itself there',
    '`{ "as": "none" }`',
  ),
  forward: optional(
    list(headerName()),
    'further request headers that are forwarded, besides those of MCP and of content',
  ),
}));

/** Members of a backend over stdio. */
export const processMembers = lazy(() => ({
  command: optional(list(text('a word of a command'), 1), 'command of an MCP server over stdio'),
  folder: optional(text('a folder'), '`command`: its working directory', 'the working directory'),
  environment: optional(
    record(secret(), 'an object, a value for each variable'),
    '`command`: its environment, besides `PATH` and `HOME`; values may be `{ "file": … }` or `{ "variable": … }`',
  ),
  process: optional(
    z.enum(['user', 'shared']),
    '`command`: a process for each client of a user, or one for all',
    `\`${commandDefaults.process}\``,
  ),
  processes: optional(
    wholeNumber(1, 10_000),
    '`command`: processes at once, at most 8 of them of one user',
    String(commandDefaults.processes),
  ),
  idle: optional(
    seconds(1, 86_400),
    '`command`: seconds without a call after which a process ends',
    duration(commandDefaults.idle),
  ),
  memory: optional(
    wholeNumber(16, 1_048_576, 'a whole number of MiB'),
    '`command`: MiB of memory of one process',
    'no limit',
  ),
  isolation: optional(
    z.enum(['none', 'namespace']),
    '`command`: on Linux, `namespace` hides all other processes of this system from it',
    '`none`',
  ),
  identity: optional(
    z.strictObject({
      uid: systemId().describe('number of the user'),
      gid: systemId().describe('number of the group'),
    }),
    '`command`: user and group of the system that its processes run as; the server itself has to run as root',
    'those of this process',
  ),
}));

const backendSchema = lazy(() => z.strictObject({ ...httpMembers(), ...processMembers() }));

const MIB = 1024 * 1024;

export const limitsSchema = lazy(() =>
  z.strictObject({
    callsPerMinute: z
      .union([z.literal(false), wholeNumber(1, 1_000_000)])
      .register(optionMeta, { kind: 'a whole number, or false' })
      .default(600)
      .describe('calls per minute of one user and tool'),
    concurrency: wholeNumber(1, 100_000)
      .default(256)
      .describe(
        'requests at the backend at once, besides streams; one user has at most three quarters of them',
      ),
    streamsPerUser: wholeNumber(1, 100_000).default(64).describe('open streams of one user and client'),
    body: bytes(1024, 1_073_741_824)
      .default(4 * MIB)
      .describe('bytes of a request body; long ones pass while they arrive, where that is possible'),
    frame: bytes(1024, 1_073_741_824)
      .default(4 * MIB)
      .describe(
        'bytes of one message that has to be read as a whole: of stdio, of a list that is filtered, of a server request; longer results of calls pass in pieces',
      ),
    connect: seconds(1, 600).default(5).describe('seconds to connect to the backend'),
    firstByte: seconds(1, 86_400).default(300).describe('seconds until the backend begins its response'),
    idle: seconds(1, 86_400)
      .default(300)
      .describe('seconds in which a response to a call may deliver nothing'),
  }),
);

const serverSchema = lazy(() =>
  z.strictObject({
    path: pathText().describe('path at the public URL; with it the resource that tokens are for'),
    name: optional(text(), 'display name', 'the last segment of the path'),
    backend: optional(backendSchema(), 'the MCP server that is protected: a URL or a command'),
    merges: optional(
      record(pathText(), 'an object, a path for each prefix'),
      'other servers whose tools, prompts and resources appear here, under `<prefix>__`',
    ),
    scopes: optional(
      record(scopeSchema(), 'an object, a sentence or an object for each scope'),
      `scopes, each with a description for the consent page; an object with description, ${accessConditionNames} limits who may be granted it`,
      '`<server>:read` and `<server>:write`',
    ),
    tools: optional(
      rules(),
      'tools by name or pattern (`read_*`), each with its scopes, or `false` for never; the most specific pattern wins',
      'by the hints of the tools: reading needs `<server>:read`, anything else `<server>:write`',
    ),
    resources: optional(rules(), 'the same for resources, by URI', '`<server>:read`'),
    prompts: optional(rules(), 'the same for prompts', '`<server>:read`'),
    methods: optional(rules(), 'the same for methods of the protocol', 'no scopes'),
    review: z
      .enum(['first-use', 'auto'])
      .default('first-use')
      .describe(
        'whether changed and new tools stay hidden until `portcullis servers approve`, or are accepted',
      ),
    unknownMethods: z
      .enum(['pass', 'refuse'])
      .default('pass')
      .describe('methods that no revision of MCP knows'),
    toolChallenges: list(text('the name of a client'), 1)
      .optional()
      .describe(
        'clients, by the first name in their `User-Agent` such as `openai-mcp` of ChatGPT, that begin a sign-in from the result of a call; lists then say what each tool needs, also without a token',
      )
      .register(optionMeta, { defaultText: 'none' }),
    limits: limitsSchema().prefault({}).describe('limits').register(optionMeta, { defaultText: 'as below' }),
    keepArguments: optional(
      z.strictObject({
        redact: optional(list(text('a path such as `options.token`')), 'members whose values are left out'),
      }),
      'the audit log keeps the arguments of calls, not only their hash',
      'hash only',
    ),
  }),
);

/** The schema of the option `servers`. */
export const serversSchema = lazy(() => list(serverSchema()));

/** A server as written in the configuration. */
export type GatewayServerOptions = InputOf<typeof serverSchema>;

/** A server as read, with defaults. */
export type ReadServer = OutputOf<typeof serverSchema>;
export type ReadBackend = NonNullable<ReadServer['backend']>;
