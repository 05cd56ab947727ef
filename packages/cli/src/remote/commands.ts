/** The administration commands that act on a remote server, most of them as one request to its admin API. */

import { accessText, addAccessOptions } from '../admin/policy/access.ts';
import { addStatisticsOptions, statisticsQuery, statisticsText } from '../admin/statistics.ts';
import { addTokenOptions } from '../admin/token-options.ts';
import { approvalCommands } from './approvals.ts';
import { clientCommands } from './clients.ts';
import { at, type RemoteCommand, requestAbout, textsOf } from './command.ts';
import { deliveryCommands } from './deliveries.ts';
import { eventsCommand } from './events.ts';
import { groupsCommand } from './groups.ts';
import { policyCommands } from './policy.ts';
import { serverCommands } from './servers.ts';

const USER = [['<email>', 'email address or ID of the account']] as const;

const userCommands: readonly RemoteCommand[] = [
  {
    words: 'users list',
    summary: 'list the accounts',
    columns: ['createdAt', 'role', 'disabledAt', 'email', 'id'],
    request: () => ({ method: 'GET', path: '/users' }),
  },
  {
    words: 'users add',
    summary: 'create an account and a one-time sign-in link for its owner, or mail it',
    args: USER,
    options: [['--role <role>', 'operator or viewer']],
    isChange: true,
    request: ([email], { role = null }) => ({ method: 'POST', path: '/users', body: { email, role } }),
  },
  requestAbout('users show', 'show an account', USER, ['GET', (id) => `/users/${id}`]),
  {
    words: 'users role',
    summary: 'let an account see the installation, change it, or neither',
    args: [...USER, ['<role>', 'operator, viewer or none']],
    isChange: true,
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
      ['--now', 'if a group is lost, end all connections of the account at once: its apps ask again'],
    ],
    isChange: true,
    request: ([id], { name, groups, now }) => ({
      method: 'PATCH',
      path: `/users/${at(id)}`,
      body: {
        ...(name !== undefined && { name }),
        ...(now === true && { now }),
        ...(typeof groups === 'string' && {
          groups: groups.split(',').flatMap((group) => group.trim() || []),
        }),
      },
    }),
  },
  requestAbout('users disable', 'end all sessions and access of an account, and block sign-in', USER, [
    'POST',
    (id) => `/users/${id}/disable`,
  ]),
  requestAbout('users enable', 'let the owner of a disabled account sign in again', USER, [
    'POST',
    (id) => `/users/${id}/enable`,
  ]),
  requestAbout('users remove', 'remove an account and everything stored for its owner', USER, [
    'DELETE',
    (id) => `/users/${id}`,
  ]),
  requestAbout('users reset', 'create a one-time link for an owner who cannot sign in', USER, [
    'POST',
    (id) => `/users/${id}/reset-link`,
  ]),
  {
    words: 'identity-providers',
    summary: 'read the metadata and keys of each identity provider, and when users last signed in there',
    columns: ['id', 'metadata', 'keys', 'lastSuccessAt', 'lastFailureAt', 'error'],
    request: () => ({ method: 'GET', path: '/identity-providers/status' }),
  },
  groupsCommand,
];

const scimCommands: readonly RemoteCommand[] = [
  {
    words: 'scim tokens create',
    summary: 'create the token of a provisioning connection',
    args: [['<identity-provider>', 'ID of the identity provider in the configuration']],
    define: (command) => addTokenOptions(command, 180),
    isChange: true,
    request: ([identityProvider], { days, note }) => ({
      method: 'POST',
      path: '/scim-tokens',
      body: { identityProvider, note, seconds: Number(days) * 86_400 },
    }),
  },
  {
    words: 'scim tokens list',
    summary: 'list the tokens that have not expired',
    columns: ['id', 'identityProvider', 'expiresAt', 'note'],
    request: () => ({ method: 'GET', path: '/scim-tokens' }),
  },
  requestAbout(
    'scim tokens revoke',
    'revoke a token immediately',
    [['<id>', 'ID of the token, as listed']],
    ['DELETE', (id) => `/scim-tokens/${id}`],
  ),
];

const connectionCommands: readonly RemoteCommand[] = [
  {
    words: 'connections list',
    summary: 'list which app may act for a user, or what users allowed an app',
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
  },
  {
    words: 'connections end',
    summary: 'end a connection immediately, or all of an account',
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
  },
];

const keyCommands: readonly RemoteCommand[] = [
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
    isChange: true,
    request: (_args, { compromised, atOnce }) => ({
      method: 'POST',
      path: '/keys/rotate',
      body: { replacement: compromised ? 'compromised' : atOnce ? 'at-once' : 'in-time' },
    }),
  },
];

export const remoteCommands: readonly RemoteCommand[] = [
  ...userCommands,
  ...scimCommands,
  ...clientCommands,
  ...connectionCommands,
  ...approvalCommands,
  ...serverCommands,
  ...policyCommands,
  {
    words: 'access',
    summary: 'list what a user or a group may call, and what refuses the rest',
    define: addAccessOptions,
    text: accessText,
    request: (_args, flags) => ({
      method: 'GET',
      path: '/policy/access',
      query: textsOf(flags, 'user', 'group', 'client'),
    }),
  },
  ...keyCommands,
  eventsCommand,
  ...deliveryCommands,
  {
    words: 'statistics',
    summary: 'count sign-ins, tokens, calls and refusals over time',
    define: addStatisticsOptions,
    text: statisticsText,
    request: (_args, { over }) => ({ method: 'GET', path: '/statistics', query: statisticsQuery(over) }),
  },
];
