/** `/users`: accounts, their one-time links, sessions and second factors. */
import type { ListedAccount } from '@portcullis/authorization-server';
import * as z from 'zod';
import type { Administration } from '../../operations/administration.ts';
import { endUserGrants, listUserGrants } from '../../operations/grants.ts';
import {
  changeUserState,
  createResetLink,
  endUserSessions,
  inviteUser,
  listUserSessions,
  resetSecondFactor,
  showUser,
  type UserDetails,
  updateUser,
} from '../../operations/users.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';
import { pageOf, pageQuery, readPage, slicePage } from '../pages.ts';
import {
  countSchema,
  grantSchema,
  isoTime,
  isoTimeOrNull,
  linkSchema,
  roleSchema,
  sessionSchema,
  userDetailsSchema,
  userSchema,
} from '../schemas.ts';
import { grantJson } from './grants.ts';

const params = { userId: z.string().min(1).max(300).describe('identifier or email address of an account') };

function userJson({ id, email, emailKey, role, createdAt, disabledAt }: ListedAccount) {
  const kind = emailKey.includes('@') ? ('local' as const) : ('federated' as const);
  return { id, email, kind, role, createdAt: isoTime(createdAt), disabledAt: isoTimeOrNull(disabledAt) };
}

function detailsJson({ name, verifiedEmail, groups, memberships, secondFactors, ...account }: UserDetails) {
  return { ...userJson(account), name, verifiedEmail, groups, memberships: [...memberships], secondFactors };
}

function linkJson({ link, expiresAt }: { readonly link: string; readonly expiresAt: number }) {
  return { link, expiresAt: isoTime(expiresAt) };
}

/** The representation whose `ETag` a change may name. */
async function current(admin: Administration, { userId }: { readonly userId: string }) {
  return userDetailsSchema.parse(detailsJson(await showUser(admin, userId)));
}

const about = { tag: 'Users', params } as const;
const change = { ...about, scope: 'admin:write', current } as const;

export const userEndpoints: readonly Endpoint[] = [
  defineEndpoint({
    method: 'GET',
    path: '/users',
    id: 'listUsers',
    tag: 'Users',
    summary: 'List accounts',
    description:
      'In the order of their email addresses; accounts of identity providers come last but for those before `f`.',
    scope: 'admin:read',
    query: pageQuery,
    response: pageOf(userSchema, 'UserPage'),
    async handle({ admin, query }) {
      const { items, next } = await readPage(query, admin.accounts.list, ({ emailKey }) => emailKey);
      return { items: items.map(userJson), next };
    },
  }),
  defineEndpoint({
    method: 'POST',
    path: '/users',
    id: 'inviteUser',
    tag: 'Users',
    summary: 'Create an account and a one-time link for its owner',
    description:
      'Where the setting `mail` is, the link is mailed to the owner, and is not part of the response.',
    scope: 'admin:write',
    status: 201,
    body: { email: z.string().max(300), role: roleSchema.nullable().default(null) },
    response: z
      .object({ user: userSchema, link: linkSchema.nullable().describe('null: it is mailed') })
      .meta({ id: 'InvitedUser' }),
    async handle({ body, ...task }) {
      const { account, link } = await inviteUser(task, body);
      return { user: userJson(account), link: link && linkJson(link) };
    },
  }),
  defineEndpoint({
    ...about,
    method: 'GET',
    path: '/users/{userId}',
    id: 'showUser',
    summary: 'Show an account',
    scope: 'admin:read',
    response: userDetailsSchema,
    handle: ({ admin, params: given }) => current(admin, given),
  }),
  defineEndpoint({
    ...change,
    method: 'PATCH',
    path: '/users/{userId}',
    id: 'updateUser',
    summary: 'Change the role of an account, or name and groups of a local one',
    body: {
      role: roleSchema.nullable().optional().describe('null: it administers nothing'),
      name: z.string().max(200).optional().describe('empty: none'),
      groups: z.array(z.string().max(200)).max(100).optional(),
      now: z
        .boolean()
        .default(false)
        .describe(
          'whether all connections of a user who loses a group end at once; otherwise at the next call',
        ),
    },
    response: userDetailsSchema,
    handle: async ({ params: { userId }, body, ...task }) =>
      detailsJson(await updateUser(task, userId, body)),
  }),
  defineEndpoint({
    ...change,
    method: 'POST',
    path: '/users/{userId}/disable',
    id: 'disableUser',
    summary: 'End all sessions and connections of an account immediately, and block sign-in',
    response: userSchema,
    handle: async ({ params: { userId }, ...task }) =>
      userJson(await changeUserState(task, userId, 'disable')),
  }),
  defineEndpoint({
    ...change,
    method: 'POST',
    path: '/users/{userId}/enable',
    id: 'enableUser',
    summary: 'Let the owner of a disabled account sign in again',
    response: userSchema,
    handle: async ({ params: { userId }, ...task }) =>
      userJson(await changeUserState(task, userId, 'enable')),
  }),
  defineEndpoint({
    ...change,
    method: 'DELETE',
    path: '/users/{userId}',
    id: 'removeUser',
    summary: 'Remove an account and everything stored for its owner',
    response: userSchema,
    handle: async ({ params: { userId }, ...task }) =>
      userJson(await changeUserState(task, userId, 'remove')),
  }),
  defineEndpoint({
    ...change,
    method: 'POST',
    path: '/users/{userId}/reset-link',
    id: 'createResetLink',
    summary: 'Create a one-time link for an owner who cannot sign in',
    status: 201,
    response: linkSchema,
    handle: async ({ params: { userId }, ...task }) => linkJson(await createResetLink(task, userId)),
  }),
  defineEndpoint({
    ...change,
    method: 'DELETE',
    path: '/users/{userId}/second-factors',
    id: 'resetSecondFactors',
    summary: 'Remove the authenticator app, recovery codes and passkeys of an account',
    response: userDetailsSchema,
    handle: async ({ params: { userId }, ...task }) => detailsJson(await resetSecondFactor(task, userId)),
  }),
  defineEndpoint({
    ...about,
    method: 'GET',
    path: '/users/{userId}/sessions',
    id: 'listUserSessions',
    summary: 'List the browsers in which a user is signed in, newest first',
    scope: 'admin:read',
    response: z.object({ items: z.array(sessionSchema) }).meta({ id: 'SessionList' }),
    async handle({ admin, params: { userId } }) {
      const sessions = await listUserSessions(admin, userId);
      const items = sessions.map(({ createdAt, expiresAt, address, browser, methods = [] }) => ({
        ...{ createdAt: isoTime(createdAt), expiresAt: isoTime(expiresAt), address, browser, methods },
      }));
      return { items };
    },
  }),
  defineEndpoint({
    ...about,
    method: 'DELETE',
    path: '/users/{userId}/sessions',
    id: 'endUserSessions',
    summary: 'Sign a user out of all browsers',
    scope: 'admin:write',
    response: countSchema,
    handle: async ({ params: { userId }, ...task }) => ({ ended: await endUserSessions(task, userId) }),
  }),
  defineEndpoint({
    ...about,
    method: 'GET',
    path: '/users/{userId}/grants',
    id: 'listUserGrants',
    summary: 'List what a user has allowed apps, most recently used first',
    scope: 'admin:read',
    query: pageQuery,
    response: pageOf(grantSchema, 'GrantPage'),
    async handle({ admin, params: { userId }, query }) {
      const { items, next } = await slicePage(query, await listUserGrants(admin, userId), ({ id }) => id);
      return { items: items.map(grantJson), next };
    },
  }),
  defineEndpoint({
    ...about,
    method: 'DELETE',
    path: '/users/{userId}/grants',
    id: 'endUserGrants',
    summary: 'End everything that a user has allowed apps',
    scope: 'admin:write',
    response: countSchema,
    handle: async ({ params: { userId }, ...task }) => ({ ended: await endUserGrants(task, userId) }),
  }),
];
