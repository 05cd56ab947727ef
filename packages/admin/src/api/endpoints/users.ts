/** `/users`: accounts, their one-time links, sessions and second factors. */
import type { ListedAccount } from '@portcullis/authorization-server';
import * as z from 'zod';
import { endUserGrants, listUserGrants } from '../../operations/grants.ts';
import { optionalTimeSchema, timeSchema } from '../../operations/time-schema.ts';
import {
  changeUserState,
  createResetLink,
  endUserSessions,
  inviteUser,
  listUserSessions,
  newUser,
  resetSecondFactor,
  roleSchema,
  showUser,
  updateUser,
  userChanges,
} from '../../operations/users.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';
import { listOf, pageOf, pageQuery, readPage, slicePage } from '../pages.ts';
import { grantJson, grantSchema } from './grants.ts';

const user = {
  id: z.string(),
  email: z.string().describe('address, or for a user of an identity provider the name with the provider'),
  kind: z.enum(['local', 'federated']).describe('where the user signs in: here, or at an identity provider'),
  role: roleSchema
    .nullable()
    .describe('what the account administers; null: nothing, unless a group of it does'),
  createdAt: timeSchema(),
  disabledAt: optionalTimeSchema(),
};

const userSchema = z.object(user).meta({ id: 'User' });

const userDetailsSchema = z
  .object({
    ...user,
    name: z.string().nullable(),
    verifiedEmail: z.string().nullable(),
    groups: z.array(z.string()),
    memberships: z
      .array(z.object({ name: z.string(), origin: z.enum(['operator', 'sign-in', 'scim']) }))
      .describe('the groups with their origin: one may come from several'),
    secondFactors: z.object({ totp: z.boolean(), passkeys: z.int() }),
  })
  .meta({ id: 'UserDetails' });

const linkSchema = z
  .object({
    link: z.string().describe('one-time link: who opens it first chooses how the account signs in'),
    expiresAt: timeSchema(),
  })
  .meta({ id: 'AccountLink' });

const sessionSchema = z
  .object({
    createdAt: timeSchema(),
    expiresAt: timeSchema(),
    address: z.string().nullable(),
    browser: z.string().nullable(),
    methods: z.array(z.string()).describe('how the user signed in, by names of RFC 8176'),
  })
  .meta({ id: 'Session' });

const countSchema = z.object({ ended: z.int() }).meta({ id: 'Ended' });

const params = { userId: z.string().min(1).max(300).describe('identifier or email address of an account') };

function userJson<T extends ListedAccount>(account: T) {
  const kind = account.emailKey.includes('@') ? ('local' as const) : ('federated' as const);
  return { ...account, kind };
}

const current = defineEndpoint('Users', 'GET /users/{userId}', {
  params,
  id: 'showUser',
  summary: 'Show an account',
  response: userDetailsSchema,
  handle: async ({ admin, params: { userId } }) => userJson(await showUser(admin, userId)),
});

const change = { params, current } as const;

function stateEndpoint(name: 'disable' | 'enable' | 'remove', summary: string): Endpoint {
  const path = '/users/{userId}';
  return defineEndpoint('Users', name === 'remove' ? `DELETE ${path}` : `POST ${path}/${name}`, {
    ...change,
    ...{ id: `${name}User`, summary },
    response: userSchema,
    handle: async ({ params: { userId }, ...task }) => userJson(await changeUserState(task, userId, name)),
  });
}

export const userEndpoints: readonly Endpoint[] = [
  defineEndpoint('Users', 'GET /users', {
    id: 'listUsers',
    summary: 'List accounts',
    description:
      'In the order of their email addresses; accounts of identity providers come last but for those before `f`.',
    query: pageQuery,
    response: pageOf(userSchema, 'UserPage'),
    handle: ({ admin, query }) => readPage(query, admin.accounts.list, ({ emailKey }) => emailKey, userJson),
  }),
  defineEndpoint('Users', 'POST /users', {
    id: 'inviteUser',
    summary: 'Create an account and a one-time link for its owner',
    description:
      'Where the setting `mail` is, the link is mailed to the owner, and is not part of the response.',
    status: 201,
    body: newUser,
    response: z
      .object({ user: userSchema, link: linkSchema.nullable().describe('null: it is mailed') })
      .meta({ id: 'InvitedUser' }),
    async handle({ body, ...task }) {
      const { account, link } = await inviteUser(task, body);
      return { user: userJson(account), link };
    },
  }),
  current,
  defineEndpoint('Users', 'PATCH /users/{userId}', {
    ...change,
    id: 'updateUser',
    summary: 'Change the role of an account, or name and groups of a local one',
    body: userChanges,
    response: userDetailsSchema,
    handle: async ({ params: { userId }, body, ...task }) => userJson(await updateUser(task, userId, body)),
  }),
  stateEndpoint('disable', 'End all sessions and connections of an account immediately, and block sign-in'),
  stateEndpoint('enable', 'Let the owner of a disabled account sign in again'),
  stateEndpoint('remove', 'Remove an account and everything stored for its owner'),
  defineEndpoint('Users', 'POST /users/{userId}/reset-link', {
    ...change,
    id: 'createResetLink',
    summary: 'Create a one-time link for an owner who cannot sign in',
    status: 201,
    response: linkSchema,
    handle: ({ params: { userId }, ...task }) => createResetLink(task, userId),
  }),
  defineEndpoint('Users', 'DELETE /users/{userId}/second-factors', {
    ...change,
    id: 'resetSecondFactors',
    summary: 'Remove the authenticator app, recovery codes and passkeys of an account',
    response: userDetailsSchema,
    handle: async ({ params: { userId }, ...task }) => userJson(await resetSecondFactor(task, userId)),
  }),
  defineEndpoint('Users', 'GET /users/{userId}/sessions', {
    params,
    id: 'listUserSessions',
    summary: 'List the browsers in which a user is signed in, newest first',
    response: listOf(sessionSchema, 'SessionList'),
    async handle({ admin, params: { userId } }) {
      const sessions = await listUserSessions(admin, userId);
      return { items: sessions.map(({ methods = [], ...session }) => ({ ...session, methods })) };
    },
  }),
  defineEndpoint('Users', 'DELETE /users/{userId}/sessions', {
    params,
    id: 'endUserSessions',
    summary: 'Sign a user out of all browsers',
    response: countSchema,
    handle: async ({ params: { userId }, ...task }) => ({ ended: await endUserSessions(task, userId) }),
  }),
  defineEndpoint('Users', 'GET /users/{userId}/grants', {
    params,
    id: 'listUserGrants',
    summary: 'List what a user has allowed apps, most recently used first',
    query: pageQuery,
    response: pageOf(grantSchema, 'GrantPage'),
    handle: async ({ admin, params: { userId }, query }) =>
      slicePage(query, await listUserGrants(admin, userId), grantJson),
  }),
  defineEndpoint('Users', 'DELETE /users/{userId}/grants', {
    params,
    id: 'endUserGrants',
    summary: 'End everything that a user has allowed apps',
    response: countSchema,
    handle: async ({ params: { userId }, ...task }) => ({ ended: await endUserGrants(task, userId) }),
  }),
];
