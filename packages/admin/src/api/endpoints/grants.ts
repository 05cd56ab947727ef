/** `/grants`: what a user allowed a client. */
import type { ListedConnection } from '@portcullis/authorization-server';
import * as z from 'zod';
import type { Administration } from '../../operations/administration.ts';
import { endGrant, showGrant } from '../../operations/grants.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';
import { grantSchema, isoTime } from '../schemas.ts';

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
    method: 'DELETE',
    id: 'endGrant',
    summary: 'End a connection with all its tokens',
    scope: 'admin:write',
    current,
    handle: async ({ params: { grantId }, ...task }) => grantJson(await endGrant(task, grantId)),
  }),
];
