/** `/grants`: what a user allowed a client. */
import type { ListedConnection } from '@portcullis/authorization-server';
import * as z from 'zod';
import { endGrant, listGrantAccounts, showGrant } from '../../operations/grants.ts';
import { timeSchema } from '../../operations/time-schema.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';
import { listOf } from '../pages.ts';

export const grantSchema = z
  .object({
    id: z.string(),
    user: z.object({ id: z.string(), email: z.string() }),
    clientId: z.string(),
    scopes: z.array(z.string()),
    resources: z.array(z.string()),
    workspace: z.string().nullable(),
    createdAt: timeSchema(),
    expiresAt: timeSchema(),
    lastUsedAt: timeSchema(),
    identityProvider: z
      .object({
        id: z.string(),
        subject: z.string(),
        name: z.string().nullable(),
        scopes: z.array(z.string()),
      })
      .nullable()
      .describe('the provider tokens that it depends on'),
  })
  .meta({ id: 'Grant' });

export function grantJson({ account, providerTokens, ...grant }: ListedConnection) {
  const identityProvider = providerTokens && { ...providerTokens, id: providerTokens.identityProvider };
  return { ...grant, user: account, identityProvider };
}

const params = { grantId: z.string().min(1).max(100) };

const connectedAccountSchema = z
  .object({
    backend: z.string().describe('path of the server of the backend'),
    scopes: z.array(z.string()),
    createdAt: timeSchema(),
    checkedAt: timeSchema(),
    expiresAt: timeSchema().nullable().describe('of its access token; null: not known'),
  })
  .meta({ id: 'ConnectedAccount' });

const current = defineEndpoint('Grants', 'GET /grants/{grantId}', {
  params,
  id: 'showGrant',
  summary: 'Show a connection of an app with a user',
  response: grantSchema,
  handle: async ({ admin, params: { grantId } }) => grantJson(await showGrant(admin, grantId)),
});

export const grantEndpoints: readonly Endpoint[] = [
  current,
  defineEndpoint('Grants', 'GET /grants/{grantId}/connected-accounts', {
    params,
    id: 'listConnectedAccounts',
    summary: 'List the accounts that a user has connected at backends for a connection',
    response: listOf(connectedAccountSchema, 'ConnectedAccountList'),
    handle: async ({ admin, params: { grantId } }) => ({ items: await listGrantAccounts(admin, grantId) }),
  }),
  defineEndpoint('Grants', 'DELETE /grants/{grantId}', {
    params,
    current,
    id: 'endGrant',
    summary: 'End a connection with all its tokens',
    response: grantSchema,
    handle: async ({ params: { grantId }, ...task }) => grantJson(await endGrant(task, grantId)),
  }),
];
