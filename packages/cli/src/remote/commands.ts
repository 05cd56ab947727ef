/** The administration commands that act on a remote server, each as one request to its admin API. */

/** A request to the admin API. */
interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the path of the API. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: Readonly<Record<string, unknown>>;
}

/** Options of a command by their names in camelCase. */
export type RemoteFlags = Readonly<Record<string, string | boolean | undefined>>;

export interface RemoteCommand {
  /** `users show` */
  readonly words: string;
  readonly summary: string;
  /** `<email>` is required, `[email]` is not. */
  readonly args?: readonly (readonly [name: string, about: string])[];
  readonly options?: readonly (readonly [flags: string, about: string])[];
  /** Members of a list that are the columns of its table; without them, each member is a line. */
  readonly columns?: readonly string[];
  request(args: readonly string[], flags: RemoteFlags): ApiRequest;
}

/** A segment of a path. */
const at = (text = '') => encodeURIComponent(text);

const USER = [['<email>', 'email address or ID of the account']] as const;
const CLIENT = [['<client-id>', 'client ID']] as const;
const APPROVAL = [['<id>', 'ID of the approval']] as const;
const OPERATION = [
  ['--server-path <path>', 'path of the server'],
  ['--tool <name>', 'name of a tool'],
  ['--prompt <name>', 'name of a prompt'],
  ['--resource <uri>', 'URI of a resource'],
  ['--method <name>', 'another method'],
  ['--client <id>', '`client_id` of the app'],
] as const;

/** One change of one thing, by its path. */
function change(
  words: string,
  summary: string,
  args: RemoteCommand['args'] & {},
  [method, path]: readonly [ApiRequest['method'], (id: string) => string],
): RemoteCommand {
  return { words, summary, args, request: ([id = '']) => ({ method, path: path(at(id)) }) };
}

function named({ serverPath, tool, prompt, resource, method, client }: RemoteFlags) {
  const given = { server: serverPath, tool, prompt, resource, method, client };
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
}

export const remoteCommands: readonly RemoteCommand[] = [
  {
    words: 'users list',
    summary: 'list the accounts',
    columns: ['createdAt', 'role', 'disabledAt', 'email', 'id'],
    request: () => ({ method: 'GET', path: '/users' }),
  },
  {
    words: 'users add',
    summary: 'create an account and a one-time sign-in link for its owner',
    args: USER,
    options: [['--role <role>', 'operator or viewer']],
    request: ([email], { role = null }) => ({ method: 'POST', path: '/users', body: { email, role } }),
  },
  change('users show', 'show an account', USER, ['GET', (id) => `/users/${id}`]),
  {
    words: 'users role',
    summary: 'let an account see the installation, change it, or neither',
    args: [...USER, ['<role>', 'operator, viewer or none']],
    request: ([id, role]) => ({
      method: 'PATCH',
      path: `/users/${at(id)}`,
      body: { role: role === 'none' ? null : role },
    }),
  },
  {
    words: 'users describe',
    summary: 'set the name and groups of a local account',
    args: USER,
    options: [
      ['--name <name>', 'name of the owner'],
      ['--groups <list>', 'groups of the owner, separated by commas'],
    ],
    request: ([id], { name, groups }) => ({
      method: 'PATCH',
      path: `/users/${at(id)}`,
      body: {
        ...(name !== undefined && { name }),
        ...(typeof groups === 'string' && {
          groups: groups.split(',').flatMap((group) => group.trim() || []),
        }),
      },
    }),
  },
  change('users disable', 'end all sessions and access of an account, and block sign-in', USER, [
    'POST',
    (id) => `/users/${id}/disable`,
  ]),
  change('users enable', 'let the owner of a disabled account sign in again', USER, [
    'POST',
    (id) => `/users/${id}/enable`,
  ]),
  change('users remove', 'remove an account and everything stored for its owner', USER, [
    'DELETE',
    (id) => `/users/${id}`,
  ]),
  change('users reset', 'create a one-time link for an owner who cannot sign in', USER, [
    'POST',
    (id) => `/users/${id}/reset-link`,
  ]),
  {
    words: 'clients list',
    summary: 'list registered, added and configured clients',
    columns: ['origin', 'disabledAt', 'lastUsedAt', 'id', 'name'],
    request: () => ({ method: 'GET', path: '/clients' }),
  },
  change('clients show', 'show a client', CLIENT, ['GET', (id) => `/clients/${id}`]),
  change('clients disable', 'revoke all tokens and grants of a client, and reject it', CLIENT, [
    'POST',
    (id) => `/clients/${id}/disable`,
  ]),
  change('clients enable', 'accept a disabled client again', CLIENT, [
    'POST',
    (id) => `/clients/${id}/enable`,
  ]),
  change('clients remove', 'remove a client and revoke all its tokens and grants', CLIENT, [
    'DELETE',
    (id) => `/clients/${id}`,
  ]),
  {
    words: 'connections list',
    summary: 'list which app may act for a user',
    args: USER,
    columns: ['id', 'lastUsedAt', 'clientId', 'scopes'],
    request: ([id]) => ({ method: 'GET', path: `/users/${at(id)}/grants` }),
  },
  change(
    'connections end',
    'end a connection immediately',
    [['<connection>', 'ID of the connection']],
    ['DELETE', (id) => `/grants/${id}`],
  ),
  change('connections end-all', 'end all connections of a user', USER, [
    'DELETE',
    (id) => `/users/${id}/grants`,
  ]),
  {
    words: 'approvals list',
    summary: 'list the calls that wait for approval',
    columns: ['id', 'createdAt', 'server', 'tool', 'user'],
    request: () => ({ method: 'GET', path: '/approvals' }),
  },
  change('approvals show', 'show a call with all its arguments', APPROVAL, [
    'GET',
    (id) => `/approvals/${id}`,
  ]),
  {
    words: 'approvals allow',
    summary: 'allow a call',
    args: APPROVAL,
    options: [['--again', 'also the same call again, for the time that its rule offers']],
    request: ([id], { again = false }) => ({
      method: 'POST',
      path: `/approvals/${at(id)}/allow`,
      body: { again },
    }),
  },
  change('approvals deny', 'deny a call', APPROVAL, ['POST', (id) => `/approvals/${id}/deny`]),
  {
    words: 'groups list',
    summary: 'list the groups that users are in',
    columns: ['name', 'members'],
    request: () => ({ method: 'GET', path: '/groups' }),
  },
  {
    words: 'servers list',
    summary: 'list the servers behind the gateway',
    columns: ['path', 'name', 'health', 'backend'],
    request: () => ({ method: 'GET', path: '/servers' }),
  },
  {
    words: 'servers review',
    summary: 'show new and changed tools, which stay hidden until they are approved',
    columns: ['server', 'tool', 'hash', 'since'],
    request: () => ({ method: 'GET', path: '/tools/pending' }),
  },
  ...(['approve', 'reject'] as const).map(
    (decision): RemoteCommand => ({
      words: `servers ${decision}`,
      summary: `${decision} the definition of a tool as it was reviewed`,
      args: [
        ['<path>', 'path of the server'],
        ['<tool>', 'name of the tool'],
        ['<hash>', 'hash of the definition, as review shows it'],
      ],
      request: ([server, tool, hash]) => ({
        method: 'POST',
        path: `/tools/${decision}`,
        body: { server, tool, hash },
      }),
    }),
  ),
  {
    words: 'policy explain',
    summary: 'explain what is decided about a call, and by which rule',
    options: [...OPERATION, ['--user <account>', 'email address or ID of an account']],
    request: (_args, flags) => ({
      method: 'POST',
      path: '/policy/explain',
      body: { ...named(flags), ...(typeof flags['user'] === 'string' && { user: flags['user'] }) },
    }),
  },
  {
    words: 'policy who-can',
    summary: 'list the users who may perform an operation',
    options: OPERATION,
    request: (_args, flags) => ({ method: 'GET', path: '/policy/who-can', query: named(flags) }),
  },
  {
    words: 'keys list',
    summary: 'list the keys, newest first',
    columns: ['state', 'id', 'algorithm', 'signsFrom'],
    request: () => ({ method: 'GET', path: '/keys' }),
  },
  {
    words: 'keys rotate',
    summary: 'create a new signing key',
    options: [
      ['--at-once', 'sign with it immediately, before verifiers have had time to fetch it'],
      ['--compromised', 'also revoke all other signing keys, with every access token they signed'],
    ],
    columns: ['state', 'id', 'algorithm', 'signsFrom'],
    request: (_args, { compromised, atOnce }) => ({
      method: 'POST',
      path: '/keys/rotate',
      body: { replacement: compromised ? 'compromised' : atOnce ? 'at-once' : 'in-time' },
    }),
  },
  {
    words: 'events list',
    summary: 'list events of the audit log, the latest first',
    options: [
      ['--type <event>', 'only this event, or all below a name: call.finished, token.*'],
      ['--user <account>', 'only those of a user'],
      ['--client <id>', 'only those of a client'],
      ['--last <number>', 'number of events'],
    ],
    columns: ['at', 'type', 'userId', 'clientId'],
    request: (_args, { type, user, client, last }) => ({
      method: 'GET',
      path: '/events',
      query: Object.fromEntries(
        Object.entries({ type, user, client, limit: last ?? '50' }).flatMap(([name, value]) =>
          typeof value === 'string' ? [[name, value]] : [],
        ),
      ),
    }),
  },
];
