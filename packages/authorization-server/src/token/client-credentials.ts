/** The client credentials grant: a confidential client gets access tokens for itself, without a user. */
import {
  findResource,
  OAuthError,
  readClientCredentialsRequest,
  readScopes,
  type Scopes,
} from '@portcullis/protocol';
import type { AuthenticatedClient } from '../clients/verify-client-credentials.ts';
import { createRateLimitCheck } from '../rate-limit/limiter.ts';
import type { ResourceDefinition } from '../resource-options.ts';
import { downscope } from './downscope.ts';
import type { GrantHandler, GrantServices } from './grant-handler.ts';

/**
 * "MUST only be used by confidential clients". The subject of the tokens is the client; there is no refresh token.
 * @see RFC 6749 §4.4, OAuth 2.1 draft 13 §4.2
 */
export function createClientCredentialsGrant({ context, issueAccessToken }: GrantServices): GrantHandler {
  const {
    clock,
    events,
    options: { resources },
  } = context;
  const checkRateLimit = createRateLimitCheck(context, 'clientTokens');
  const served = [...resources.keys()];
  return async (client, form) => {
    if (client.authenticationMethod === 'none') {
      throw new OAuthError(
        'unauthorized_client',
        'The grant type client_credentials is for confidential clients only.',
      );
    }
    const charging = checkRateLimit(client.id);
    if (charging !== undefined) await charging;
    const request = readClientCredentialsRequest(form);
    const [named = served[0]] = request.resources.map((resource) => findResource(served, resource));
    const definition = resources.get(named ?? '');
    if (definition === undefined) throw new OAuthError('invalid_target', 'Name one protected resource.');
    const allowed = { resources: served, scopes: allowedScopes(client, definition) };
    const scopes = request.scopes ?? defaultScopes(client, definition);
    const access = downscope(allowed, { resources: request.resources, scopes }, resources);
    const holder = {
      subject: client.id,
      clientId: client.id,
      grantId: null,
      workspace: null,
      until: Number.MAX_SAFE_INTEGER,
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

/** The scopes that the client registered; all scopes of the resource if it registered none. */
function allowedScopes({ metadata }: AuthenticatedClient, definition: ResourceDefinition): Scopes {
  return metadata.scope === undefined ? Object.keys(definition.scopes) : readScopes(metadata.scope);
}

/** The scopes of a request that names none: all that the client registered, otherwise the default scopes of the resource. */
function defaultScopes({ metadata }: AuthenticatedClient, definition: ResourceDefinition): Scopes | null {
  return metadata.scope === undefined ? (definition.defaultScopes ?? null) : null;
}
