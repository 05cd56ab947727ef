/** `/clients`: registered, added and configured clients. */
import * as z from 'zod';
import type { Administration } from '../../operations/administration.ts';
import { listClientConnections } from '../../operations/client-grants.ts';
import {
  addTrustedClient,
  changeClientState,
  changeClientVerification,
  configuredClients,
  type DescribedClient,
  describeClient,
  describeStored,
  rotateClientSecret,
  SECRET_OVERLAP,
  updateClientMetadata,
} from '../../operations/clients.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';
import { pageOf, pageQuery, readPage } from '../pages.ts';
import { grantSchema, isoTime, isoTimeOrNull, listedClientSchema, timeSchema } from '../schemas.ts';
import { grantJson } from './grants.ts';

const params = {
  clientId: z.string().min(1).max(2000).describe('the `client_id`; one with a slash cannot be named here'),
};

function clientJson({ id, origin, createdAt, metadata, ...times }: DescribedClient) {
  const { lastUsedAt, disabledAt, verifiedAt, expiresAt } = times;
  const { client_name: name } = metadata;
  return {
    id,
    origin,
    name: typeof name === 'string' ? name : null,
    createdAt: origin === 'configured' ? null : isoTime(createdAt),
    lastUsedAt: isoTimeOrNull(lastUsedAt),
    disabledAt: isoTimeOrNull(disabledAt),
    verifiedAt: isoTimeOrNull(verifiedAt),
    expiresAt: isoTimeOrNull(expiresAt),
    metadata,
  };
}

async function current(admin: Administration, { clientId }: { readonly clientId: string }) {
  return listedClientSchema.parse(clientJson(await describeClient(admin, clientId)));
}

const metadata = z.record(z.string(), z.unknown());

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
    body: { metadata: metadata.describe('client metadata (RFC 7591); `client_id` may be chosen') },
    response: z
      .object({ registration: metadata })
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
    method: 'PATCH',
    path: '/clients/{clientId}',
    id: 'updateClient',
    summary: 'Change the metadata of a client; members that are not given stay, and null removes one',
    body: { metadata: metadata.describe('changed client metadata (RFC 7591)') },
    response: z
      .object({ registration: metadata })
      .describe('what is registered now, with `client_secret` if it needs one and had none')
      .meta({ id: 'UpdatedClient' }),
    handle: async ({ params: { clientId }, body, ...task }) => ({
      registration: await updateClientMetadata(task, clientId, body.metadata),
    }),
  }),
  defineEndpoint({
    ...change,
    method: 'POST',
    path: '/clients/{clientId}/rotate-secret',
    id: 'rotateClientSecret',
    summary: 'Replace the secret of a client; the new one is shown only once',
    body: {
      overlap: z
        .int()
        .min(0)
        .max(90 * 86_400)
        .default(SECRET_OVERLAP)
        .describe('seconds for which the secret before is still accepted'),
    },
    response: z
      .object({ clientId: z.string(), clientSecret: z.string(), previousUntil: timeSchema() })
      .meta({ id: 'RotatedSecret' }),
    async handle({ params: { clientId }, body, ...task }) {
      const { secret, previousUntil } = await rotateClientSecret(task, clientId, body.overlap);
      return { clientId, clientSecret: secret, previousUntil: isoTime(previousUntil) };
    },
  }),
  defineEndpoint({
    ...about,
    method: 'GET',
    path: '/clients/{clientId}/grants',
    id: 'listClientGrants',
    summary: 'List what users allowed a client, the most recently used first',
    description: 'At most `limit` of them, and whether there are more. An unknown client has none.',
    scope: 'admin:read',
    query: { limit: pageQuery.limit },
    response: z.object({ items: z.array(grantSchema), isMore: z.boolean() }).meta({ id: 'ClientGrants' }),
    async handle({ admin, params: { clientId }, query: { limit } }) {
      const { connections, isMore } = await listClientConnections(admin, clientId, limit);
      return { items: connections.map(grantJson), isMore };
    },
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
    method: 'POST',
    path: '/clients/{clientId}/verify',
    id: 'verifyClient',
    summary: 'Mark a client that registered itself as verified: the consent page says so',
    description:
      'This ends when the client changes its metadata. Send `If-Match` with the ETag of what you looked at.',
    handle: async ({ params: { clientId }, ...task }) =>
      clientJson(await changeClientVerification(task, clientId, 'verify')),
  }),
  defineEndpoint({
    ...change,
    method: 'POST',
    path: '/clients/{clientId}/unverify',
    id: 'unverifyClient',
    summary: 'Take the verification of a client back',
    handle: async ({ params: { clientId }, ...task }) =>
      clientJson(await changeClientVerification(task, clientId, 'unverify')),
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
