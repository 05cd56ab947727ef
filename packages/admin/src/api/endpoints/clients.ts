/** `/clients`: registered, added and configured clients. */
import * as z from 'zod';
import type { Administration } from '../../operations/administration.ts';
import {
  addTrustedClient,
  changeClientState,
  configuredClients,
  type DescribedClient,
  describeClient,
  describeStored,
} from '../../operations/clients.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';
import { pageOf, pageQuery, readPage } from '../pages.ts';
import { isoTime, isoTimeOrNull, listedClientSchema } from '../schemas.ts';

const params = {
  clientId: z.string().min(1).max(2000).describe('the `client_id`; one with a slash cannot be named here'),
};

function clientJson({ id, origin, createdAt, lastUsedAt, disabledAt, expiresAt, metadata }: DescribedClient) {
  const { client_name: name } = metadata;
  return {
    id,
    origin,
    name: typeof name === 'string' ? name : null,
    createdAt: origin === 'configured' ? null : isoTime(createdAt),
    lastUsedAt: isoTimeOrNull(lastUsedAt),
    disabledAt: isoTimeOrNull(disabledAt),
    expiresAt: isoTimeOrNull(expiresAt),
    metadata,
  };
}

async function current(admin: Administration, { clientId }: { readonly clientId: string }) {
  return listedClientSchema.parse(clientJson(await describeClient(admin, clientId)));
}

const about = { tag: 'Clients', params, response: listedClientSchema } as const;
const change = { ...about, scope: 'admin:write', current } as const;

export const clientEndpoints: readonly Endpoint[] = [
  defineEndpoint({
    method: 'GET',
    path: '/clients',
    id: 'listClients',
    tag: 'Clients',
    summary: 'List clients',
    description:
      'Those of the store by identifier; the first page also has those of the configuration, before them.',
    scope: 'admin:read',
    query: pageQuery,
    response: pageOf(listedClientSchema, 'ClientPage'),
    async handle({ admin, query }) {
      const { items, next } = await readPage(query, admin.clients.list, ({ id }) => id);
      const own = query.cursor === undefined ? configuredClients(admin) : [];
      return { items: [...own, ...items.map(describeStored)].map(clientJson), next };
    },
  }),
  defineEndpoint({
    method: 'POST',
    path: '/clients',
    id: 'addClient',
    tag: 'Clients',
    summary: 'Add a trusted client; its secret is shown only once',
    scope: 'admin:write',
    status: 201,
    body: {
      metadata: z
        .record(z.string(), z.unknown())
        .describe('client metadata (RFC 7591); `client_id` may be chosen'),
    },
    response: z
      .object({ registration: z.record(z.string(), z.unknown()) })
      .describe('what was registered (RFC 7591 §3.2.1), with `client_secret` if it has one')
      .meta({ id: 'AddedClient' }),
    handle: async ({ body, ...task }) => ({ registration: await addTrustedClient(task, body.metadata) }),
  }),
  defineEndpoint({
    ...about,
    method: 'GET',
    path: '/clients/{clientId}',
    id: 'showClient',
    summary: 'Show a client',
    scope: 'admin:read',
    handle: ({ admin, params: given }) => current(admin, given),
  }),
  defineEndpoint({
    ...change,
    method: 'POST',
    path: '/clients/{clientId}/disable',
    id: 'disableClient',
    summary: 'Revoke all tokens and grants of a client immediately, and reject it',
    handle: async ({ params: { clientId }, ...task }) =>
      clientJson(await changeClientState(task, clientId, 'disable')),
  }),
  defineEndpoint({
    ...change,
    method: 'POST',
    path: '/clients/{clientId}/enable',
    id: 'enableClient',
    summary: 'Accept a disabled client again',
    handle: async ({ params: { clientId }, ...task }) =>
      clientJson(await changeClientState(task, clientId, 'enable')),
  }),
  defineEndpoint({
    ...change,
    method: 'DELETE',
    path: '/clients/{clientId}',
    id: 'removeClient',
    summary: 'Remove a client and revoke all its tokens and grants',
    handle: async ({ params: { clientId }, ...task }) =>
      clientJson(await changeClientState(task, clientId, 'remove')),
  }),
];
