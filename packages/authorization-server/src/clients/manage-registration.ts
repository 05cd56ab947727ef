/** The client configuration endpoint (RFC 7592): a client reads, updates or deletes its own registration. */
import {
  type HttpRequest,
  type HttpResponse,
  pathOf,
  readJsonBody,
  respond,
  respondJson,
} from '@portcullis/http';
import { invalidMetadata, OAuthError } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import type { Route } from '../http/router.ts';
import { createRateLimitCheck } from '../rate-limit/limiter.ts';
import { matchesSecret } from '../secrets.ts';
import type { ClientRecord, ClientUpdate } from '../store/index.ts';
import type { ReadStatedMetadata } from './apply-software-statement.ts';
import { readBearerToken } from './authorize-registration.ts';
import { prepareUpdate } from './configured-clients.ts';
import { createRegistrationResponse, findDroppedRedirectUris } from './registration-metadata.ts';

const PATH = '/register/';

/** Response members that a client MUST NOT send in an update. @see RFC 7592 §2.2 */
const MEMBERS = [
  'registration_access_token',
  'registration_client_uri',
  'client_secret_expires_at',
  'client_id_issued_at',
];

/** A client authenticated by its registration access token. */
interface Owner {
  readonly client: ClientRecord;
  readonly managementToken: string;
}

/** @see RFC 7592 §2 */
export function createClientConfigurationEndpoint(
  context: ServerContext,
  read: ReadStatedMetadata,
): readonly Route[] {
  const { store, clock, events } = context;
  const checkRateLimit = createRateLimitCheck(context, 'registrationUpdates');
  const createResponse = createRegistrationResponse(context.options);

  return [
    route('GET', async (request) => {
      const { client, managementToken } = await authorize(request);
      return respondJson(createResponse(client, { secret: null, managementToken }));
    }),

    route('PUT', async (request) => {
      const { client, managementToken } = await authorize(request);
      const json = await readJsonBody(request, 'invalid_client_metadata');
      checkUnchangeable(json, client);
      const { metadata, document } = await read(json, client.metadata.software_statement ?? null);
      const { update, secret } = prepareUpdate(client, metadata);
      const droppedRedirectUris = findDroppedRedirectUris(document, metadata);
      if (changes(client, update)) await save(client, update, droppedRedirectUris);
      const changed = { ...client, metadata };
      return respondJson(createResponse(changed, { secret, managementToken, droppedRedirectUris }));
    }),

    route('DELETE', async (request) => {
      const { client } = await authorize(request);
      // Point of no return: the client, its grants, codes and transactions are gone.
      if (!(await store.removeClient(client.id, clock()))) throw invalidManagementToken('gone meanwhile');
      events({ type: 'client.removed', clientId: client.id });
      return respond(204, { 'cache-control': 'no-store', pragma: 'no-cache' });
    }),
  ];

  async function save(
    { id, verifiedAt }: ClientRecord,
    update: ClientUpdate,
    droppedRedirectUris: readonly string[],
  ): Promise<void> {
    await checkRateLimit(id);
    if (!(await store.updateClient(id, update))) throw invalidManagementToken('gone meanwhile');
    events({
      type: 'client.changed',
      clientId: id,
      ...(droppedRedirectUris.length > 0 && { droppedRedirectUris }),
      ...(verifiedAt !== null && { verificationEnded: true }),
    });
  }

  function route(method: Route['method'], handle: (request: HttpRequest) => Promise<HttpResponse>): Route {
    return { method, path: `${PATH}*`, crossOrigin: true, handle };
  }

  /** A wrong token, another client's token and a removed client are indistinguishable. @see RFC 7592 §2.1 */
  async function authorize(request: HttpRequest): Promise<Owner> {
    const id = pathOf(request).slice(PATH.length);
    const managementToken = readBearerToken(request);
    const client = await store.findClient(id);
    const hash = client?.managementHash ?? null;
    if (client === null || hash === null || managementToken === null) throw invalidManagementToken('unknown');
    if (client.disabledAt !== null) throw invalidManagementToken('disabled');
    if (!matchesSecret(managementToken, hash)) throw invalidManagementToken('wrong');
    return { client, managementToken };
  }
}

/** Whether an update changes a registration. Both were validated alike, so their members have the same order. */
function changes({ metadata }: ClientRecord, update: ClientUpdate): boolean {
  return 'secretHash' in update || JSON.stringify(update.metadata) !== JSON.stringify(metadata);
}

/** Rejects an update that changes the client identifier or chooses a secret. @see RFC 7592 §2.2 */
function checkUnchangeable(json: unknown, client: ClientRecord): void {
  const document = (typeof json === 'object' && json !== null ? json : {}) as Record<string, unknown>;
  if (document['client_id'] !== client.id) {
    throw invalidMetadata('client_id: must be the one that was registered');
  }
  for (const name of MEMBERS) {
    if (Object.hasOwn(document, name)) throw invalidMetadata(`${name}: must not be sent`);
  }
  const { client_secret: secret } = document;
  const isOurs =
    typeof secret === 'string' && client.secretHash !== null && matchesSecret(secret, client.secretHash);
  if (secret !== undefined && !isOurs) {
    throw invalidMetadata('client_secret: must be the one that was issued, or left out');
  }
}

function invalidManagementToken(reason: string): OAuthError {
  return new OAuthError(
    'invalid_token',
    'Send the registration access token of this client as a bearer token.',
    {
      reason: `registration access token: ${reason}`,
    },
  );
}
