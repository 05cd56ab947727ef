/** Client services: finding, authentication, use and registration of clients. */
import type { Route } from '../http/router.ts';
import { createReadStatedMetadata, type SoftwareStatements } from './apply-software-statement.ts';
import { createAuthenticateClient } from './authenticate-client.ts';
import type { ResolvedClient } from './client.ts';
import { createValidateClientAssertion } from './client-assertion.ts';
import { type ClientKeys, createClientKeys } from './client-keys.ts';
import { createFindClient } from './find-client.ts';
import { createClientConfigurationEndpoint } from './manage-registration.ts';
import { createFetchJson } from './metadata-document/fetch-json.ts';
import { createResolveDocumentClient } from './metadata-document/resolve-document-client.ts';
import type { ClientsContext } from './options.ts';
import { createRegistrationEndpoint } from './register.ts';
import { createReadRegistrationMetadata } from './registration-metadata.ts';
import { createVerifyClientCredentials } from './verify-client-credentials.ts';
import type { VerifyClientJwt } from './verify-client-jwt.ts';

export function createClients(context: ClientsContext, statements: SoftwareStatements) {
  const { clock } = context;
  const { metadataDocuments, outbound } = context.options;
  // A budget for each: fetches of metadata documents must not keep known clients from authenticating by their keys.
  const fetchOnBudget = (name: string) =>
    createFetchJson(name, { ...outbound, clock, limits: context.limits });
  const findDocumentClient =
    metadataDocuments === null
      ? null
      : createResolveDocumentClient(context, metadataDocuments, fetchOnBudget('metadata documents'));
  const findClient = createFindClient(context, findDocumentClient);
  const clientKeys = createClientKeys(fetchOnBudget('keys'), clock, outbound.timeout);
  /** Verifies what a client has signed. */
  const verifyJwt = createJwtVerification(clock, clientKeys);
  const checkAssertion = createValidateClientAssertion(context, verifyJwt);
  return {
    findClient,
    verifyJwt,
    authenticateClient: createAuthenticateClient(
      context,
      createVerifyClientCredentials(findClient, checkAssertion, clock),
    ),
    recordClientUse: createRecordClientUse(context),
    routes: createRegistrationRoutes(context, statements),
  };
}

/** Registration and its management; none where clients cannot register. */
function createRegistrationRoutes(context: ClientsContext, statements: SoftwareStatements): readonly Route[] {
  const { registration } = context.options;
  if (registration === null) return [];
  const read = createReadStatedMetadata(
    createReadRegistrationMetadata(context.options),
    statements,
    registration.softwareStatementIssuers.length > 0,
  );
  return [
    createRegistrationEndpoint(context, registration, read),
    ...(registration.management ? createClientConfigurationEndpoint(context, read) : []),
  ];
}

/** Most servers never see a JWT of a client, so what verifies one is loaded with the first. */
function createJwtVerification(clock: () => number, clientKeys: ClientKeys): VerifyClientJwt {
  const load = async () => {
    const { createVerifyClientJwt } = await import('./verify-client-jwt.ts');
    return createVerifyClientJwt(clock, clientKeys);
  };
  let verifier: Promise<VerifyClientJwt> | null = null;
  return async (...given) => {
    verifier ??= load();
    return (await verifier)(...given);
  };
}

/** Seconds between two records of use: a refresh costs no second write. */
const RECORD_EVERY = 86_400;

/** Records that a client obtained a token, which extends its lifetime; usually `null`: recorded recently. Never rejects: the token is issued. */
export type RecordClientUse = (client: ResolvedClient) => Promise<void> | null;

function createRecordClientUse({ store, clock, events, options }: ClientsContext): RecordClientUse {
  const record = (id: string, origin: ResolvedClient['origin'], now: number): Promise<void> => {
    const expiresAt = now + options.lifetimes.usedClient;
    return origin === 'metadata-document'
      ? store.recordClientMetadataDocumentUse(id, now, expiresAt)
      : store.recordClientUse(id, now, origin === 'administered' ? null : expiresAt);
  };
  return ({ id, origin, lastUsedAt }) => {
    const now = clock();
    if (origin === 'configured' || (lastUsedAt !== null && now < lastUsedAt + RECORD_EVERY)) return null;
    return record(id, origin, now).catch((error: unknown) => {
      const reason = `use not recorded: ${error}`;
      events({ type: 'request.failed', endpoint: '/token', clientId: id, reason });
    });
  };
}
