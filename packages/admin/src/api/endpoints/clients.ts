/** `/clients`: registered, added and configured clients. */
import * as z from 'zod';
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
import { listClientConnections } from '../../operations/grants.ts';
import { optionalTimeSchema, timeSchema } from '../../operations/time-schema.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';
import { pageOf, pageQuery, readPage } from '../pages.ts';
import { grantJson, grantSchema } from './grants.ts';

const clientSchema = z
  .object({
    id: z.string().describe('the `client_id`'),
    origin: z
      .enum(['registered', 'administered', 'configured', 'metadata-document'])
      .describe(
        'registered itself, was added by an operator, is in the configuration, or has a client metadata document',
      ),
    name: z.string().nullable().describe('as the client calls itself, unverified'),
    createdAt: optionalTimeSchema(),
    lastUsedAt: optionalTimeSchema(),
    disabledAt: optionalTimeSchema(),
    verifiedAt: optionalTimeSchema().describe(
      'when an operator verified a client that registered itself; ISO 8601',
    ),
    expiresAt: optionalTimeSchema(),
    metadata: z.record(z.string(), z.unknown()).describe('client metadata (RFC 7591)'),
  })
  .meta({ id: 'Client' });

const params = {
  clientId: z.string().min(1).max(2000).describe('the `client_id`; one with a slash cannot be named here'),
};

function clientJson(client: DescribedClient) {
  const { client_name: name } = client.metadata;
  return {
    ...client,
    name: typeof name === 'string' ? name : null,
    createdAt: client.origin === 'configured' ? null : client.createdAt,
  };
}

const metadata = z.record(z.string(), z.unknown());

const about = { params, response: clientSchema } as const;

const current = defineEndpoint('Clients', 'GET /clients/{clientId}', {
  ...about,
  id: 'showClient',
  summary: 'Show a client',
  handle: async ({ admin, params: { clientId } }) => clientJson(await describeClient(admin, clientId)),
});

const change = { ...about, current } as const;

function stateEndpoint(name: 'disable' | 'enable' | 'remove', summary: string): Endpoint {
  const path = '/clients/{clientId}';
  return defineEndpoint('Clients', name === 'remove' ? `DELETE ${path}` : `POST ${path}/${name}`, {
    ...change,
    ...{ id: `${name}Client`, summary },
    handle: async ({ params: { clientId }, ...task }) =>
      clientJson(await changeClientState(task, clientId, name)),
  });
}

function verificationEndpoint(name: 'verify' | 'unverify', summary: string, description?: string): Endpoint {
  return defineEndpoint('Clients', `POST /clients/{clientId}/${name}`, {
    ...change,
    ...{ id: `${name}Client`, summary, ...(description !== undefined && { description }) },
    handle: async ({ params: { clientId }, ...task }) =>
      clientJson(await changeClientVerification(task, clientId, name)),
  });
}

export const clientEndpoints: readonly Endpoint[] = [
  defineEndpoint('Clients', 'GET /clients', {
    id: 'listClients',
    summary: 'List clients',
    description:
      'Those of the store by identifier; the first page also has those of the configuration, before them.',
    query: pageQuery,
    response: pageOf(clientSchema, 'ClientPage'),
    async handle({ admin, query }) {
      const { items, next } = await readPage(query, admin.clients.list, ({ id }) => id, describeStored);
      const own = query.cursor === undefined ? configuredClients(admin) : [];
      return { items: [...own, ...items].map(clientJson), next };
    },
  }),
  defineEndpoint('Clients', 'POST /clients', {
    id: 'addClient',
    summary: 'Add a trusted client; its secret is shown only once',
    status: 201,
    body: { metadata: metadata.describe('client metadata (RFC 7591); `client_id` may be chosen') },
    response: z
      .object({ registration: metadata })
      .describe('what was registered (RFC 7591 §3.2.1), with `client_secret` if it has one')
      .meta({ id: 'AddedClient' }),
    handle: async ({ body, ...task }) => ({ registration: await addTrustedClient(task, body.metadata) }),
  }),
  current,
  defineEndpoint('Clients', 'PATCH /clients/{clientId}', {
    ...change,
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
  defineEndpoint('Clients', 'POST /clients/{clientId}/rotate-secret', {
    ...change,
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
      return { clientId, clientSecret: secret, previousUntil };
    },
  }),
  defineEndpoint('Clients', 'GET /clients/{clientId}/grants', {
    params,
    id: 'listClientGrants',
    summary: 'List what users allowed a client, the most recently used first',
    description: 'At most `limit` of them, and whether there are more. An unknown client has none.',
    query: { limit: pageQuery.limit },
    response: z.object({ items: z.array(grantSchema), isMore: z.boolean() }).meta({ id: 'ClientGrants' }),
    async handle({ admin, params: { clientId }, query: { limit } }) {
      const { connections, isMore } = await listClientConnections(admin, clientId, limit);
      return { items: connections.map(grantJson), isMore };
    },
  }),
  stateEndpoint('disable', 'Revoke all tokens and grants of a client immediately, and reject it'),
  stateEndpoint('enable', 'Accept a disabled client again'),
  verificationEndpoint(
    'verify',
    'Mark a client that registered itself as verified: the consent page says so',
    'This ends when the client changes its metadata. Send `If-Match` with the ETag of what you looked at.',
  ),
  verificationEndpoint('unverify', 'Take the verification of a client back'),
  stateEndpoint('remove', 'Remove a client and revoke all its tokens and grants'),
];
