/** The token endpoint: authenticates the client and dispatches to the handler of the requested grant type. */
import { readFormBody, respondCorsJson } from '@portcullis/http';
import {
  DEVICE_CODE,
  type GrantType,
  JWT_BEARER,
  OAuthError,
  type Parameters,
  TOKEN_EXCHANGE,
  type VerifiedProof,
} from '@portcullis/protocol';
import type { AuthenticateClient } from '../clients/authenticate-client.ts';
import type { RecordClientUse } from '../clients/clients.ts';
import type { AuthenticatedClient } from '../clients/verify-client-credentials.ts';
import { type DpopProofs, hasProof } from '../dpop/dpop-proofs.ts';
import { servedGrantTypes } from '../grant-types.ts';
import type { Route } from '../http/router.ts';
import { createAuthorizationCodeGrant } from './authorization-code.ts';
import { createClientCredentialsGrant } from './client-credentials.ts';
import { createDeviceGrant } from './device-code.ts';
import type { GrantHandler, GrantServices } from './grant-handler.ts';
import { createJwtBearerGrant } from './jwt-bearer.ts';
import { createRefreshGrant } from './refresh-token.ts';
import type { ReadAhead } from './refresh-token-family.ts';
import { createTokenExchangeGrant } from './token-exchange.ts';

/** All grant types. To add one, add its handler here. */
const grants: Readonly<Record<GrantType, (services: GrantServices) => GrantHandler>> = {
  authorization_code: createAuthorizationCodeGrant,
  refresh_token: createRefreshGrant,
  client_credentials: createClientCredentialsGrant,
  [TOKEN_EXCHANGE]: createTokenExchangeGrant,
  [JWT_BEARER]: createJwtBearerGrant,
  [DEVICE_CODE]: createDeviceGrant,
};

/** @see RFC 6749 §3.2, OAuth 2.1 draft 13 §3.2 */
export function createTokenEndpoint(
  services: GrantServices,
  authenticate: AuthenticateClient,
  proofs: DpopProofs,
  recordClientUse: RecordClientUse,
): Route {
  const handlers = createHandlers(services);
  const served = servedGrantTypes(services.context.options);
  const isHttps = services.context.options.issuer.startsWith('https:');
  return {
    method: 'POST',
    path: '/token',
    crossOrigin: true,
    async handle(request, connection) {
      const form = await readFormBody(request);
      const ahead = readGrantAhead(form, services);
      const client = await authenticate(request, form, connection);
      const type = form.required('grant_type');
      const handler = handlers.get(type);
      const isRegistered = client.metadata.grant_types.includes(type);
      if (handler === undefined || !(served.includes(type) || isRegistered)) {
        const supported = served.join(', ');
        throw new OAuthError('unsupported_grant_type', `The grant_type must be one of ${supported}.`);
      }
      if (!isRegistered) {
        throw new OAuthError('unauthorized_client', `This client has not registered the grant type ${type}.`);
      }
      const proof = hasProof(request) ? await proofs.verify(request, '/token') : null;
      checkBoundTokens(client, proof);
      const response = await handler(client, form, connection, proof, ahead);
      const recording = recordClientUse(client);
      if (recording !== null) await recording;
      const headers = proof === null ? undefined : await proofs.nonceHeaders();
      return respondCorsJson(response, { isHttps, ...(headers && { headers }) });
    },
  };
}

/** The grant of a refresh token is read together with the client: on PostgreSQL in one round trip. */
function readGrantAhead(form: Parameters, { refreshTokens }: GrantServices): ReadAhead | undefined {
  const [token, ...others] = form.all('refresh_token');
  const isRefresh = form.all('grant_type')[0] === 'refresh_token';
  return isRefresh && token !== undefined && others.length === 0 ? refreshTokens.readAhead(token) : undefined;
}

/** A client that registered for bound tokens gets no others. @see RFC 9449 §5.2 */
function checkBoundTokens({ metadata }: AuthenticatedClient, proof: VerifiedProof | null): void {
  if (metadata.dpop_bound_access_tokens !== true || proof !== null) return;
  const description = 'This client registered dpop_bound_access_tokens: send a DPoP proof.';
  throw new OAuthError('invalid_dpop_proof', description, { reason: 'the proof is missing' });
}

/** The JWT bearer grant also serves the workloads that administrators add while the server runs. */
function createHandlers(services: GrantServices): ReadonlyMap<string, GrantHandler> {
  const served = [...servedGrantTypes(services.context.options), JWT_BEARER];
  const entries = Object.entries(grants).filter(([type]) => served.includes(type));
  return new Map(entries.map(([type, create]) => [type, create(services)]));
}
