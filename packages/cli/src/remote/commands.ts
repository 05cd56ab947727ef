/** The administration commands that act on a remote server, most of them as one request to its admin API. */
import { accessText, addAccessOptions } from '../admin/policy/access.ts';
import { addStatisticsOptions, statisticsQuery, statisticsText } from '../admin/statistics.ts';
import { addTokenOptions } from '../admin/token-options.ts';
import { accountLine, DESCRIPTION_OPTIONS, NEW_USER_OPTIONS, profileOf } from '../admin/users.ts';
import { approvalCommands } from './approvals.ts';
import { clientCommands } from './clients.ts';
import { at, type RemoteCommand, remote, textsOf, tokenBody } from './command.ts';
import { deliveryCommands } from './deliveries.ts';
import { eventsCommand } from './events.ts';
import { groupsCommand } from './groups.ts';
import { policyCommands } from './policy.ts';
import { serverCommands } from './servers.ts';

const USER = [['<email>', 'email address or ID of the account']] as const;

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

const userCommands: readonly RemoteCommand[] = [
  remote('users list', 'list the accounts', {
    text: accountLines,
    request: 'GET /users',
  }),
  remote('users add', 'create an account and a one-time sign-in link for its owner, or mail it', {
    args: USER,
    options: NEW_USER_OPTIONS,
    request: 'POST /users',
    body: ([email], { role = null, ...profile }) => ({ email, role, ...profileOf(profile) }),
  }),
  remote('users show', 'show an account', { args: USER, request: 'GET /users/:email' }),
  remote('users role', 'let an account see the installation, change it, or neither', {
    args: [...USER, ['<role>', 'operator, viewer or none']],
    request: 'PATCH /users/:email',
    body: ([, role]) => ({ role: role === 'none' ? null : role }),
  }),
  remote('users describe', 'set the name and groups of a local account', {
    args: USER,
    options: DESCRIPTION_OPTIONS,
    request: 'PATCH /users/:email',
    body: (_args, { now, ...profile }) => ({ ...profileOf(profile), ...(now === true && { now }) }),
  }),
  remote('users disable', 'end all sessions and access of an account, and block sign-in', {
    args: USER,
    request: 'POST /users/:email/disable',
  }),
  remote('users enable', 'let the owner of a disabled account sign in again', {
    args: USER,
    request: 'POST /users/:email/enable',
  }),
  remote('users remove', 'remove an account and everything stored for its owner', {
    args: USER,
    request: 'DELETE /users/:email',
  }),
  remote('users reset', 'create a one-time link for an owner who cannot sign in', {
    args: USER,
    request: 'POST /users/:email/reset-link',
  }),
  remote(
    'identity-providers',
    'read the metadata and keys of each identity provider, and when users last signed in there',
    {
      columns: ['id', 'metadata', 'keys', 'lastSuccessAt', 'lastFailureAt', 'error'],
      request: 'GET /identity-providers/status',
    },
  ),
  groupsCommand,
];

const scimCommands: readonly RemoteCommand[] = [
  remote('scim tokens create', 'create the token of a provisioning connection', {
    args: [['<identity-provider>', 'ID of the identity provider in the configuration']],
    define: (command) => addTokenOptions(command, 180),
    request: 'POST /scim-tokens',
    body: ([identityProvider], flags) => ({ identityProvider, ...tokenBody(flags) }),
  }),
  remote('scim tokens list', 'list the tokens that have not expired', {
    columns: ['id', 'identityProvider', 'expiresAt', 'note'],
    request: 'GET /scim-tokens',
  }),
  remote('scim tokens revoke', 'revoke a token immediately', {
    args: [['<id>', 'ID of the token, as listed']],
    request: 'DELETE /scim-tokens/:id',
  }),
];

const connectionCommands: readonly RemoteCommand[] = [
  remote('connections list', 'list which app may act for a user, or what users allowed an app', {
    args: [['[account]', 'email address or ID of the account']],
    options: [['--client <id>', 'what users allowed this client; at most 200']],
    columns: ['id', 'lastUsedAt', 'clientId', 'user', 'scopes'],
    request([id], { client }) {
      if ((id === undefined) === (typeof client !== 'string'))
        throw new Error('Name an account, or --client');
      return id === undefined
        ? { method: 'GET', path: `/clients/${at(String(client))}/grants`, query: { limit: '200' } }
        : { method: 'GET', path: `/users/${at(id)}/grants` };
    },
  }),
  remote('connections end', 'end a connection immediately, or all of an account', {
    args: [
      ['<account>', 'email address or ID of an account, or the ID of a connection alone'],
      ['[connection]', 'ID of the connection, as listed'],
    ],
    options: [['--all', 'all connections of the account']],
    isChange: true,
    request([account = '', connection], { all }) {
      const id = connection ?? (account.startsWith('grant_') ? account : undefined);
      if ((id === undefined) !== (all === true)) throw new Error('Name one connection, or pass --all');
      return {
        method: 'DELETE',
        path: id === undefined ? `/users/${at(account)}/grants` : `/grants/${at(id)}`,
      };
    },
  }),
];

const KEY_COLUMNS = ['state', 'id', 'algorithm', 'signsFrom'];

const keyCommands: readonly RemoteCommand[] = [
  remote('keys list', 'list the keys, newest first', { columns: KEY_COLUMNS, request: 'GET /keys' }),
  remote('keys rotate', 'create a new signing key', {
    options: [
      ['--at-once', 'sign with it immediately, before verifiers have had time to fetch it'],
      ['--compromised', 'also revoke all other signing keys, with every access token they signed'],
    ],
    columns: KEY_COLUMNS,
    request: 'POST /keys/rotate',
    body: (_args, { compromised, atOnce }) => ({
      replacement: compromised ? 'compromised' : atOnce ? 'at-once' : 'in-time',
    }),
  }),
];

export const remoteCommands: readonly RemoteCommand[] = [
  ...userCommands,
  ...scimCommands,
  ...clientCommands,
  ...connectionCommands,
  ...approvalCommands,
  ...serverCommands,
  ...policyCommands,
  remote('access', 'list what a user or a group may call, and what refuses the rest', {
    define: addAccessOptions,
    text: accessText,
    request: 'GET /policy/access',
    query: (_args, flags) => textsOf(flags, 'user', 'group', 'client'),
  }),
  ...keyCommands,
  eventsCommand,
  ...deliveryCommands,
  remote('statistics', 'count sign-ins, tokens, calls and refusals over time', {
    define: addStatisticsOptions,
    text: statisticsText,
    request: 'GET /statistics',
    query: (_args, { over }) => statisticsQuery(over),
  }),
];
