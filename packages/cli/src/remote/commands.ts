/** The administration commands that act on a remote server, most of them as one request to its admin API. */

import { groupsOutput } from '../admin/groups.ts';
import { accessText } from '../admin/policy/access.ts';
import { readObject } from '../admin/policy/explain.ts';
import { statisticsQuery, statisticsText } from '../admin/statistics.ts';
import { formatOutput } from '../admin/store-commands.ts';
import { accountLine, profileOf } from '../admin/users.ts';
import { listApprovals } from './approvals.ts';
import { clientCommands } from './clients.ts';
import { at, type RemoteCommands, textsOf, tokenBody } from './command.ts';
import { deliveryCommands } from './deliveries.ts';
import { showEvents } from './events.ts';
import { serverCommands } from './servers.ts';

/** As the admin API describes it. */
type RemoteAccount = Omit<Parameters<typeof accountLine>[0], 'day' | 'isLocal'> & {
  readonly kind: 'local' | 'federated';
  readonly createdAt: string;
};

function accountLines(found: unknown): string {
  return (found as readonly RemoteAccount[])
    .map(({ createdAt, kind, ...account }) =>
      accountLine({ ...account, day: createdAt.slice(0, 10), isLocal: kind === 'local' }),
    )
    .join('');
}

const userCommands: RemoteCommands = {
  'users list': { text: accountLines, request: 'GET /users' },
  'users add': {
    request: 'POST /users',
    body: ([email], { role = null, ...profile }) => ({ email, role, ...profileOf(profile) }),
  },
  'users show': { request: 'GET /users/:email' },
  'users role': {
    request: 'PATCH /users/:email',
    body: ([, role]) => ({ role: role === 'none' ? null : role }),
  },
  'users describe': {
    request: 'PATCH /users/:email',
    body: (_args, { now, ...profile }) => ({ ...profileOf(profile), ...(now === true && { now }) }),
  },
  'users disable': { request: 'POST /users/:email/disable' },
  'users enable': { request: 'POST /users/:email/enable' },
  'users remove': { request: 'DELETE /users/:email' },
  'users reset': { request: 'POST /users/:email/reset-link' },
  'identity-providers': {
    columns: ['id', 'metadata', 'keys', 'lastSuccessAt', 'lastFailureAt', 'error'],
    request: 'GET /identity-providers/status',
  },
  groups: {
    async act({ api, args: [name], flags, terminal }) {
      const all = (await api.list('/groups')) as unknown as Parameters<typeof groupsOutput>[0];
      terminal.print(formatOutput(groupsOutput(all, name), flags));
    },
  },
};

const scimCommands: RemoteCommands = {
  'scim tokens create': {
    request: 'POST /scim-tokens',
    body: ([identityProvider], flags) => ({ identityProvider, ...tokenBody(flags) }),
  },
  'scim tokens list': {
    columns: ['id', 'identityProvider', 'expiresAt', 'note'],
    request: 'GET /scim-tokens',
  },
  'scim tokens revoke': { request: 'DELETE /scim-tokens/:id' },
};

const connectionCommands: RemoteCommands = {
  'connections list': {
    options: [['--client <id>', 'what users allowed this client; at most 200']],
    without: ['--identity-provider'],
    columns: ['id', 'lastUsedAt', 'clientId', 'user', 'scopes'],
    request([id], { client }) {
      if ((id === undefined) === (typeof client !== 'string'))
        throw new Error('Name an account, or --client');
      return id === undefined
        ? { method: 'GET', path: `/clients/${at(String(client))}/grants`, query: { limit: '200' } }
        : { method: 'GET', path: `/users/${at(id)}/grants` };
    },
  },
  'connections end': {
    description: 'End a connection immediately, or all of an account.',
    without: ['--since'],
    isChange: true,
    request([account = '', connection], { all }) {
      const id = connection ?? (account.startsWith('grant_') ? account : undefined);
      if ((id === undefined) !== (all === true) || account === '')
        throw new Error('Name one connection, or an account and --all');
      return {
        method: 'DELETE',
        path: id === undefined ? `/users/${at(account)}/grants` : `/grants/${at(id)}`,
      };
    },
  },
};

const approvalCommands: RemoteCommands = {
  'approvals list': { act: listApprovals },
  'approvals show': { request: 'GET /approvals/:id' },
  'approvals allow': {
    request: 'POST /approvals/:id/allow',
    body: (_args, { again = false }) => ({ again }),
  },
  'approvals deny': { request: 'POST /approvals/:id/deny' },
};

const OPERATION = ['server', 'tool', 'prompt', 'resource', 'method', 'client'];

const policyCommands: RemoteCommands = {
  'policy explain': {
    without: ['--claims', '--network'],
    isChange: false,
    request: 'POST /policy/explain',
    body: (_args, { scopes, arguments: text, ...flags }) => ({
      ...textsOf(flags, ...OPERATION, 'user'),
      ...(typeof scopes === 'string' && { scopes: scopes.split(/[ ,]+/).filter((scope) => scope !== '') }),
      ...(typeof text === 'string' && { arguments: readObject(text, '--arguments') }),
    }),
  },
  'policy who-can': {
    options: [['--cursor <next>', '`next` of 1,000 accounts before']],
    request: 'GET /policy/who-can',
    query: (_args, flags) => textsOf(flags, ...OPERATION, 'cursor'),
  },
  access: {
    text: accessText,
    request: 'GET /policy/access',
    query: (_args, flags) => textsOf(flags, 'user', 'group', 'client'),
  },
};

const KEY_COLUMNS = ['state', 'id', 'algorithm', 'signsFrom'];

const keyCommands: RemoteCommands = {
  'keys list': { columns: KEY_COLUMNS, request: 'GET /keys' },
  'keys rotate': {
    columns: KEY_COLUMNS,
    request: 'POST /keys/rotate',
    body: (_args, { compromised, atOnce }) => ({
      replacement: compromised ? 'compromised' : atOnce ? 'at-once' : 'in-time',
    }),
  },
};

export const remoteCommands: RemoteCommands = {
  ...userCommands,
  ...scimCommands,
  ...clientCommands,
  ...connectionCommands,
  ...approvalCommands,
  ...serverCommands,
  ...policyCommands,
  ...keyCommands,
  events: { act: showEvents },
  ...deliveryCommands,
  statistics: {
    text: statisticsText,
    request: 'GET /statistics',
    query: (_args, { over }) => statisticsQuery(over),
  },
};
