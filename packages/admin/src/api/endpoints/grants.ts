/** `/grants`: what a user allowed a client. */
import type { ListedConnection } from '@portcullis/authorization-server';
import * as z from 'zod';
import { endGrant, listGrantAccounts, showGrant } from '../../operations/grants.ts';
import { timeSchema } from '../../operations/time-schema.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';
import { grantSchema, listOf } from '../schemas.ts';

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
