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
  optionMeta,
  record,
  seconds,
  secret,
  text,
  wholeNumber,
} from '@portcullis/authorization-server/options';
import { isScope } from '@portcullis/protocol';
import * as z from 'zod';
import { credentialSchema } from './credential-options.ts';

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

/** Names of headers that `forward` may not name: they belong to one hop, or carry credentials of the client. */
const NEVER_FORWARDED =
  /^(?:authorization|proxy-.*|cookie|dpop|host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-length|content-encoding|accept-encoding|forwarded|x-forwarded-.*|x-real-ip|expect|origin|mcp-session-id|last-event-id)$/i;

const headerName = lazy(() =>
  checkedText('a header name', (name) => {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) return 'must be a header name';
    return NEVER_FORWARDED.test(name) ? 'must not name a header of this hop or a credential' : null;
  }),
);

const scopeList = lazy(() =>
  list(checkedText('a scope', (scope) => (isScope(scope) ? null : 'must be a scope (RFC 6749 §3.3)'))),
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
    acr: list(text('an authentication context class'), 1)
      .optional()
      .describe('authentication context classes such as `2fa`, one of which suffices (RFC 9470)')
      .register(optionMeta, { defaultText: 'all' }),
    maxAge: seconds(1)
      .optional()
      .describe('seconds since the sign-in, at most (RFC 9470)')
      .register(optionMeta, { defaultText: 'no limit' }),
    dpop: z
      .boolean()
      .default(false)
      .describe('the access token has to be bound to a key of the client (RFC 9449)'),
  }),
);

const ruleSchema = lazy(() => {
  const conditional = z.strictObject({
    public: z
      .literal(true)
      .optional()
      .describe('no token is needed')
      .register(optionMeta, { defaultText: 'a token' }),
    scopes: scopeList().optional().describe('scopes that the operation needs'),
    when: text('a condition')
      .optional()
      .describe('a condition in CEL on `user`, `client`, `call` and `request`'),
    requires: requirementsSchema().optional().describe('how and when the user has to have signed in'),
    ...accessConditionMembers(1, {
      clients: 'clients that may use it',
      claims: 'claims of the access token with their accepted values',
    }),
  });
  const kind = `false, a list of scopes, or an object with public, scopes, when, requires, ${accessConditionNames}`;
  return z.union([z.literal(false), scopeList(), conditional]).register(optionMeta, { kind });
});

const rules = () => record(ruleSchema(), 'an object, a rule for each pattern');

/** Defaults of a command's limits. */
export const commandDefaults = { process: 'user', processes: 32, idle: 300 } as const;

const systemId = () => wholeNumber(1, 4_294_967_294);

/** Members of a backend over HTTP. */
const httpMembers = () => ({
  url: z
    .union([backendUrl(), list(backendUrl(), 1, 16)])
    .register(optionMeta, { kind: 'a URL, or a list of URLs' })
    .optional()
    .describe('address of an MCP server over HTTP; of several, the next is used while one is down'),
  transport: z
    .enum(['http', 'sse'])
    .optional()
    .describe('`sse` for the HTTP+SSE transport of 2024-11-05')
    .register(optionMeta, { defaultText: '`http`' }),
  credentials: credentialSchema()
    .optional()
    .describe('how the gateway authenticates itself there')
    .register(optionMeta, { defaultText: '`{ "as": "none" }`' }),
  forward: list(headerName())
    .optional()
    .describe('further request headers that are forwarded, besides those of MCP and of content'),
});

/** Members of a backend over stdio. */
const processMembers = () => ({
  command: list(text('a word of a command'), 1).optional().describe('command of an MCP server over stdio'),
  folder: text('a folder')
    .optional()
    .describe('`command`: its working directory')
    .register(optionMeta, { defaultText: 'the working directory' }),
  environment: record(secret(), 'an object, a value for each variable')
    .optional()
    .describe(
      '`command`: its environment, besides `PATH` and `HOME`; values may be `{ "file": … }` or `{ "variable": … }`',
    ),
  process: z
    .enum(['user', 'shared'])
    .optional()
    .describe('`command`: a process for each user, or one for all')
    .register(optionMeta, { defaultText: `\`${commandDefaults.process}\`` }),
  processes: wholeNumber(1, 10_000)
    .optional()
    .describe('`command`: processes at once')
    .register(optionMeta, { defaultText: String(commandDefaults.processes) }),
  idle: seconds(1, 86_400)
    .optional()
    .describe('`command`: seconds without a call after which a process ends')
    .register(optionMeta, { defaultText: duration(commandDefaults.idle) }),
  memory: wholeNumber(16, 1_048_576, 'a whole number of MiB')
    .optional()
    .describe('`command`: MiB of memory of one process')
    .register(optionMeta, { defaultText: 'no limit' }),
  isolation: z
    .enum(['none', 'namespace'])
    .optional()
    .describe('`command`: on Linux, `namespace` hides all other processes of this system from it')
    .register(optionMeta, { defaultText: '`none`' }),
  identity: z
    .strictObject({
      uid: systemId().describe('number of the user'),
      gid: systemId().describe('number of the group'),
    })
    .optional()
    .describe(
      '`command`: user and group of the system that its processes run as; the server itself has to run as root',
    )
    .register(optionMeta, { defaultText: 'those of this process' }),
});

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
    name: text()
      .optional()
      .describe('display name')
      .register(optionMeta, { defaultText: 'the last segment of the path' }),
    backend: backendSchema().optional().describe('the MCP server that is protected: a URL or a command'),
    merges: record(pathText(), 'an object, a path for each prefix')
      .optional()
      .describe('other servers whose tools, prompts and resources appear here, under `<prefix>__`'),
    scopes: record(scopeSchema(), 'an object, a sentence or an object for each scope')
      .optional()
      .describe(
        'scopes, each with a description for the consent page, or with `{ "description": …, "clients": …, "groups": …, "claims": … }` to limit who may be granted it',
      )
      .register(optionMeta, { defaultText: '`<server>:read` and `<server>:write`' }),
    tools: rules()
      .optional()
      .describe(
        'tools by name or pattern (`read_*`), each with its scopes, or `false` for never; the most specific pattern wins',
      )
      .register(optionMeta, {
        defaultText:
          'by the hints of the tools: reading needs `<server>:read`, anything else `<server>:write`',
      }),
    resources: rules()
      .optional()
      .describe('the same for resources, by URI')
      .register(optionMeta, { defaultText: '`<server>:read`' }),
    prompts: rules()
      .optional()
      .describe('the same for prompts')
      .register(optionMeta, { defaultText: '`<server>:read`' }),
    methods: rules()
      .optional()
      .describe('the same for methods of the protocol')
      .register(optionMeta, { defaultText: 'no scopes' }),
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
    limits: limitsSchema().prefault({}).describe('limits').register(optionMeta, { defaultText: 'as below' }),
    keepArguments: z
      .strictObject({
        redact: list(text('a path such as `options.token`'))
          .optional()
          .describe('members whose values are left out'),
      })
      .optional()
      .describe('the audit log keeps the arguments of calls, not only their hash')
      .register(optionMeta, { defaultText: 'hash only' }),
  }),
);

/** The schema of the option `servers`. */
export const serversSchema = lazy(() => list(serverSchema()));

/** A server as written in the configuration. */
export type GatewayServerOptions = InputOf<typeof serverSchema>;

/** A server as read, with defaults. */
export type ReadServer = OutputOf<typeof serverSchema>;
export type ReadBackend = NonNullable<ReadServer['backend']>;
