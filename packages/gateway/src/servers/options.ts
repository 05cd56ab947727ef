/** The schema of the setting `servers`: validation, documentation and JSON Schema in one. */
import {
  accessConditionMembers,
  accessConditionNames,
  checkedText,
  falseOr,
  lazy,
  list,
  object,
  oneOf,
  optional,
  record,
  required,
  seconds,
  secret,
  text,
  union,
  wholeNumber,
} from '@portcullis/authorization-server/options';
import { type AccessCondition, isScope } from '@portcullis/protocol';
import type * as z from 'zod';
import { type CredentialOptions, credentialSchema } from './credential-options.ts';
import type { ConditionalAccessRule, ServerLimits } from './server.ts';

/** A server as written in the configuration. */
export interface GatewayServerOptions {
  readonly path: string;
  readonly name?: string | undefined;
  readonly backend?: BackendOptions | undefined;
  readonly merges?: Readonly<Record<string, string>> | undefined;
  readonly scopes?: Readonly<Record<string, string | DescribedScope>> | undefined;
  readonly tools?: WrittenRules | undefined;
  readonly resources?: WrittenRules | undefined;
  readonly prompts?: WrittenRules | undefined;
  readonly methods?: WrittenRules | undefined;
  readonly review?: 'first-use' | 'auto' | undefined;
  readonly unknownMethods?: 'pass' | 'refuse' | undefined;
  readonly limits?: WrittenLimits | undefined;
  readonly keepArguments?: { readonly redact?: readonly string[] | undefined } | undefined;
}

/** A scope, and who may be granted it. */
interface DescribedScope extends AccessCondition {
  readonly description: string;
}

type WrittenRules = Readonly<Record<string, false | readonly string[] | ConditionalAccessRule>>;

type WrittenLimits = {
  readonly [K in keyof ServerLimits]?: (K extends 'callsPerMinute' ? number | false : number) | undefined;
};

export interface BackendOptions {
  readonly url?: string | readonly string[] | undefined;
  readonly transport?: 'http' | 'sse' | undefined;
  readonly credentials?: CredentialOptions | undefined;
  readonly forward?: readonly string[] | undefined;
  readonly command?: readonly string[] | undefined;
  readonly folder?: string | undefined;
  readonly environment?: Readonly<Record<string, string>> | undefined;
  readonly process?: 'user' | 'shared' | undefined;
  readonly processes?: number | undefined;
  readonly idle?: number | undefined;
  readonly memory?: number | undefined;
  readonly isolation?: 'none' | 'namespace' | undefined;
  readonly identity?: { readonly uid: number; readonly gid: number } | undefined;
}

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
  const described = object<DescribedScope>({
    description: required(text(), 'description for the consent page'),
    ...accessConditionMembers(1),
  });
  return union(`a sentence, or an object with description, ${accessConditionNames}`, text(), described);
});

const rules = lazy(() => {
  const conditional = object<ConditionalAccessRule>({
    scopes: optional(scopeList(), 'scopes that the operation needs'),
    ...accessConditionMembers(1, { claims: 'claims of the access token with their accepted values' }),
  });
  const kind = `false, a list of scopes, or an object with scopes, ${accessConditionNames}`;
  return record(falseOr(union(kind, scopeList(), conditional), kind), 'an object, a rule for each pattern');
});

const systemId = () => wholeNumber(1, 4_294_967_294);

const backendSchema = lazy(() =>
  object<BackendOptions>({
    url: optional(
      union('a URL, or a list of URLs', backendUrl(), list(backendUrl(), 1, 16)),
      'address of an MCP server over HTTP; of several, the next is used while one is down',
    ),
    transport: optional(oneOf('http', 'sse'), '`sse` for the HTTP+SSE transport of 2024-11-05', {
      defaultText: '`http`',
    }),
    credentials: optional(credentialSchema(), 'how the gateway authenticates itself there', {
      defaultText: '`{ "as": "none" }`',
    }),
    forward: optional(
      list(headerName()),
      'further request headers that are forwarded, besides those of MCP and of content',
      { defaultText: 'none' },
    ),
    command: optional(list(text('a word of a command'), 1), 'command of an MCP server over stdio'),
    folder: optional(text('a folder'), '`command`: its working directory', {
      defaultText: 'the working directory',
    }),
    environment: optional(
      record(secret(), 'an object, a value for each variable'),
      '`command`: its environment, besides `PATH` and `HOME`; values may be `{ "file": … }` or `{ "variable": … }`',
      { defaultText: 'none' },
    ),
    process: optional(oneOf('user', 'shared'), '`command`: a process for each user, or one for all', {
      defaultText: '`user`',
    }),
    processes: optional(wholeNumber(1, 10_000), '`command`: processes at once', { defaultText: '32' }),
    idle: optional(seconds(1, 86_400), '`command`: seconds without a call after which a process ends', {
      defaultText: '300 (5 minutes)',
    }),
    memory: optional(
      wholeNumber(16, 1_048_576, 'a whole number of MiB'),
      '`command`: MiB of memory of one process',
      { defaultText: 'no limit' },
    ),
    isolation: optional(
      oneOf('none', 'namespace'),
      '`command`: on Linux, `namespace` hides all other processes of this system from it',
      { defaultText: '`none`' },
    ),
    identity: optional(
      object<NonNullable<BackendOptions['identity']>>({
        uid: required(systemId(), 'number of the user'),
        gid: required(systemId(), 'number of the group'),
      }),
      '`command`: user and group of the system that its processes run as; the server itself has to run as root',
      { defaultText: 'those of this process' },
    ),
  }),
);

const limitsSchema = lazy(() =>
  object<WrittenLimits>({
    callsPerMinute: optional(
      falseOr(wholeNumber(1, 1_000_000), 'a whole number, or false'),
      'calls per minute of one user and tool',
      { defaultText: '600' },
    ),
    concurrency: optional(
      wholeNumber(1, 100_000),
      'requests at the backend at once, besides streams; one user has at most three quarters of them',
      {
        defaultText: '256',
      },
    ),
    streamsPerUser: optional(wholeNumber(1, 100_000), 'open streams of one user and client', {
      defaultText: '64',
    }),
    body: optional(
      wholeNumber(1024, 1_073_741_824, 'a whole number of bytes'),
      'bytes of a request body; long ones pass while they arrive, where that is possible',
      {
        defaultText: '4194304 (4 MiB)',
      },
    ),
    frame: optional(
      wholeNumber(1024, 1_073_741_824, 'a whole number of bytes'),
      'bytes of one message that has to be read as a whole: of stdio, of a list that is filtered, of a question to the client',
      { defaultText: '4194304 (4 MiB)' },
    ),
    connect: optional(seconds(1, 600), 'seconds to connect to the backend', { defaultText: '5' }),
    firstByte: optional(seconds(1, 86_400), 'seconds until the backend begins its response', {
      defaultText: '300 (5 minutes)',
    }),
    idle: optional(seconds(1, 86_400), 'seconds in which a response to a call may deliver nothing', {
      defaultText: '300 (5 minutes)',
    }),
  }),
);

export const serversSchema: () => z.ZodType<readonly GatewayServerOptions[]> = lazy(() =>
  list(
    object<GatewayServerOptions>({
      path: required(pathText(), 'path at the public URL; with it the resource that tokens are for'),
      name: optional(text(), 'display name', { defaultText: 'the last segment of the path' }),
      backend: optional(backendSchema(), 'the MCP server that is protected: a URL or a command'),
      merges: optional(
        record(pathText(), 'an object, a path for each prefix'),
        'other servers whose tools, prompts and resources appear here, under `<prefix>__`',
      ),
      scopes: optional(
        record(scopeSchema(), 'an object, a sentence or an object for each scope'),
        'scopes, each with a description for the consent page, or with `{ "description": …, "clients": …, "groups": …, "claims": … }` to limit who may be granted it',
        { defaultText: '`<server>:read` and `<server>:write`' },
      ),
      tools: optional(
        rules(),
        'tools by name or pattern (`read_*`), each with its scopes, or `false` for never; the most specific pattern wins',
        {
          defaultText:
            'by the hints of the tools: reading needs `<server>:read`, anything else `<server>:write`',
        },
      ),
      resources: optional(rules(), 'the same for resources, by URI', { defaultText: '`<server>:read`' }),
      prompts: optional(rules(), 'the same for prompts', { defaultText: '`<server>:read`' }),
      methods: optional(rules(), 'the same for methods of the protocol', { defaultText: 'no scopes' }),
      review: optional(
        oneOf('first-use', 'auto'),
        'whether changed and new tools stay hidden until `portcullis servers approve`, or are accepted',
        { defaultText: '`first-use`' },
      ),
      unknownMethods: optional(oneOf('pass', 'refuse'), 'methods that no revision of MCP knows', {
        defaultText: '`pass`',
      }),
      limits: optional(limitsSchema(), 'limits', { defaultText: 'as below' }),
      keepArguments: optional(
        object<NonNullable<GatewayServerOptions['keepArguments']>>({
          redact: optional(list(text('a path such as `options.token`')), 'members whose values are left out'),
        }),
        'the audit log keeps the arguments of calls, not only their hash',
        { defaultText: 'hash only' },
      ),
    }),
  ),
);
