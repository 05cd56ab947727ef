/** `/grants`: what a user allowed a client. */
import type { ListedConnection } from '@portcullis/authorization-server';
import * as z from 'zod';
import type { Administration } from '../../operations/administration.ts';
import { endGrant, listGrantAccounts, showGrant } from '../../operations/grants.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';
import { grantSchema, isoTime, isoTimeOrNull, timeSchema } from '../schemas.ts';

export function grantJson({ account, providerTokens, ...grant }: ListedConnection) {
  const { createdAt, expiresAt, lastUsedAt } = grant;
  const times = {
    createdAt: isoTime(createdAt),
    expiresAt: isoTime(expiresAt),
    lastUsedAt: isoTime(lastUsedAt),
  };
  const identityProvider = providerTokens && {
    id: providerTokens.identityProvider,
    subject: providerTokens.subject,
    name: providerTokens.name,
    scopes: providerTokens.scopes,
  };
  return { ...grant, ...times, user: account, identityProvider };
}

async function current(admin: Administration, { grantId }: { readonly grantId: string }) {
  return grantSchema.parse(grantJson(await showGrant(admin, grantId)));
}

const about = {
  path: '/grants/{grantId}',
  tag: 'Grants',
  params: { grantId: z.string().min(1).max(100) },
  response: grantSchema,
} as const;

const connectedAccounts = z
  .object({
    items: z.array(
      z
        .object({
          backend: z.string().describe('path of the server of the backend'),
          scopes: z.array(z.string()),
          createdAt: timeSchema(),
          checkedAt: timeSchema(),
          expiresAt: timeSchema().nullable().describe('of its access token; null: not known'),
        })
        .meta({ id: 'ConnectedAccount' }),
    ),
  })
  .meta({ id: 'ConnectedAccountList' });

export const grantEndpoints: readonly Endpoint[] = [
  defineEndpoint({
    ...about,
    method: 'GET',
    id: 'showGrant',
    summary: 'Show a connection of an app with a user',
    scope: 'admin:read',
    handle: ({ admin, params }) => current(admin, params),
  }),
  defineEndpoint({
    ...about,
    method: 'GET',
    path: '/grants/{grantId}/connected-accounts',
    id: 'listConnectedAccounts',
    summary: 'List the accounts that a user has connected at backends for a connection',
    scope: 'admin:read',
    response: connectedAccounts,
    async handle({ admin, params: { grantId } }) {
      const accounts = await listGrantAccounts(admin, grantId);
      const items = accounts.map(({ backend, scopes, createdAt, checkedAt, expiresAt }) => ({
        ...{ backend, scopes, createdAt: isoTime(createdAt), checkedAt: isoTime(checkedAt) },
        expiresAt: isoTimeOrNull(expiresAt),
      }));
      return { items };
    },
  }),
  defineEndpoint({
    ...about,
    method: 'DELETE',
    id: 'endGrant',
    summary: 'End a connection with all its tokens',
    scope: 'admin:write',
    current,
    handle: async ({ params: { grantId }, ...task }) => grantJson(await endGrant(task, grantId)),
  }),
];
