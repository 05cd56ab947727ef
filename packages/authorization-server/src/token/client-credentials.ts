/** The client credentials grant: a confidential client obtains access tokens for itself, without a user. */
import { findResource, OAuthError, readRequestedAccess, readScopes, type Scopes } from '@portcullis/protocol';
import type { AuthenticatedClient } from '../clients/verify-client-credentials.ts';
import { createRateLimitCheck } from '../rate-limit/limiter.ts';
import type { ResourceDefinition } from '../resources/options.ts';
import { checkGranted, downscope } from './downscope.ts';
import type { GrantHandler, GrantServices } from './grant-handler.ts';

/**
 * "MUST only be used by confidential clients". The subject of the tokens is the client; there is no refresh token.
 * @see RFC 6749 §4.4, OAuth 2.1 draft 13 §4.2
 */
export function createClientCredentialsGrant({ context, issueAccessToken }: GrantServices): GrantHandler {
  const { clock, events } = context;
  const { resources } = context.options;
  const checkRateLimit = createRateLimitCheck(context, 'clientTokens');
  const served = [...resources.keys()];
  return async (client, form, _connection, proof) => {
    if (client.authenticationMethod === 'none') {
      throw new OAuthError(
        'unauthorized_client',
        'The grant type client_credentials is for confidential clients only.',
      );
    }
    const charging = checkRateLimit(client.id);
    if (charging !== undefined) await charging;
    const request = readRequestedAccess(form);
    const [named = served[0]] = request.resources.map((resource) => findResource(served, resource));
    const definition = resources.get(named ?? '');
    if (definition === undefined) throw new OAuthError('invalid_target', 'Name one protected resource.');
    const allowed = { resources: served, scopes: checkScopes(client, definition) };
    const recipient = { clientId: client.id, accountId: null };
    const access = await downscope(context, recipient, allowed, request);
    await checkGranted(context, recipient, allowed, access);
    const holder = {
      subject: client.id,
      clientId: client.id,
      grantId: null,
      workspace: null,
      until: Number.MAX_SAFE_INTEGER,
      proof,
    };
    const response = await issueAccessToken(holder, access, clock());
    events({
      type: 'token.issued',
      grantType: 'client_credentials',
      clientId: client.id,
      resource: access.resource,
      scopes: access.scopes,
    });
    return response;
  };
}

/**
 * The scopes that the client registered, which may be none: no user consents here, so nothing else can grant any. A client that
 * registered scopes gets no token for a resource that has none of them.
 * @see RFC 6749 §3.3
 */
function checkScopes({ metadata }: AuthenticatedClient, { scopes }: ResourceDefinition): Scopes {
  const registered = readScopes(metadata.scope ?? '');
  const offered = Object.keys(scopes);
  const isForResource = offered.length === 0 || offered.some((scope) => registered.includes(scope));
  if (registered.length === 0 || isForResource) return registered;
  throw new OAuthError(
    'invalid_scope',
    'This client registered no scope of that resource: name another resource, or have one added to its scope.',
  );
}
