/** The grant `client_credentials`: an application acts for itself, and no person is impersonated. */
import {
  findResource,
  OAuthError,
  readClientCredentialsRequest,
  readScopes,
  type Scopes,
} from '@portcullis/protocol';
import type { AuthenticatedClient } from '../clients/verify-client-credentials.ts';
import type { ResourceDefinition } from '../options.ts';
import { createRateLimitCheck } from '../rate-limit/limiter.ts';
import { downscope } from './downscope.ts';
import type { GrantHandler, GrantServices } from './grant.ts';

/**
 * MUST only be used by confidential clients. The subject is the client; there is no refresh token.
 * @see OAuth 2.1 draft 13 §4.2, RFC 6749 §4.4.3
 */
export function createClientCredentialsGrant({ context, mint }: GrantServices): GrantHandler {
  const {
    clock,
    events,
    options: { resources },
  } = context;
  const known = [...resources.keys()];
  const checkRateLimit = createRateLimitCheck(context, 'clientTokens');
  return async (client, form) => {
    if (client.authenticationMethod === 'none') {
      throw new OAuthError(
        'unauthorized_client',
        'The grant client_credentials is for confidential clients.',
      );
    }
    const counting = checkRateLimit(client.id);
    if (counting !== undefined) await counting;
    const request = readClientCredentialsRequest(form);
    const [named = known[0]] = request.resources.map((resource) => findResource(known, resource));
    const definition = resources.get(named ?? '');
    if (definition === undefined) throw new OAuthError('invalid_target', 'Name one protected resource.');
    const allowed = { resources: known, scopes: allowedScopes(client, definition) };
    const scopes = request.scopes ?? defaultScopes(client, definition);
    const narrowed = downscope(allowed, { resources: request.resources, scopes }, resources);
    const holder = {
      subject: client.id,
      clientId: client.id,
      grantId: null,
      workspace: null,
      until: Number.MAX_SAFE_INTEGER,
    };
    const answer = await mint(holder, narrowed, clock());
    events({
      type: 'token.issued',
      grantType: 'client_credentials',
      clientId: client.id,
      resource: narrowed.resource,
      scopes: narrowed.scopes,
    });
    return answer;
  };
}

/** The scopes of a resource; those that the client registered, when it registered any. */
function allowedScopes({ metadata }: AuthenticatedClient, definition: ResourceDefinition): Scopes {
  return metadata.scope === undefined ? Object.keys(definition.scopes) : readScopes(metadata.scope);
}

/** What a client gets that names no scope: all that it registered, else what the resource gives by default. */
function defaultScopes({ metadata }: AuthenticatedClient, definition: ResourceDefinition): Scopes | null {
  return metadata.scope === undefined ? (definition.defaultScopes ?? null) : null;
}
