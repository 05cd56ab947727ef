/** The device authorization endpoint: starts an authorization that a user decides in a browser elsewhere (RFC 8628). */
import { type ConnectionInfo, type HttpRequest, readFormBody, respondCorsJson } from '@portcullis/http';
import {
  DEVICE_CODE,
  type DeviceAuthorizationResponse,
  OAuthError,
  readRequestedAccess,
  temporarilyUnavailable,
} from '@portcullis/protocol';
import type { AuthorizationContext } from '../authorization/page-context.ts';
import { DEVICE_CODE_LIFETIME } from '../authorization/resolve-client.ts';
import { resolveScopes } from '../authorization/resolve-scopes.ts';
import type { AuthenticateClient } from '../clients/authenticate-client.ts';
import type { Route } from '../http/router.ts';
import { createRateLimitCheck } from '../rate-limit/limiter.ts';
import { siteOf } from '../rate-limit/policies.ts';
import { hashSecret, newSecret } from '../secrets.ts';
import { newUserCode, showUserCode } from './user-code.ts';

/** Seconds between two polls. */
const INTERVAL = 5;

/** @see RFC 8628 §3.1 and §3.2 */
export function createDeviceEndpoint(context: AuthorizationContext, authenticate: AuthenticateClient): Route {
  const { options, store, clock, events } = context;
  const { issuer } = options;
  const checkRateLimit = createRateLimitCheck(context, 'authorizations');
  return {
    method: 'POST',
    path: '/device_authorization',
    crossOrigin: true,
    async handle(request: HttpRequest, connection: ConnectionInfo) {
      const form = await readFormBody(request);
      const client = await authenticate(request, form, connection);
      if (!client.metadata.grant_types.includes(DEVICE_CODE)) {
        throw new OAuthError(
          'unauthorized_client',
          `This client has not registered the grant type ${DEVICE_CODE}.`,
        );
      }
      await checkRateLimit(siteOf(connection));
      // As in an authorization request, so that the client learns of an error before its user.
      const { resource, scopes } = resolveScopes(options, client, readRequestedAccess(form));
      const [deviceCode, userCode, createdAt] = [newSecret(), newUserCode(), clock()];
      const isSaved = await store.saveDeviceAuthorization({
        hash: hashSecret(deviceCode),
        userCodeHash: hashSecret(userCode),
        clientId: client.id,
        resource: resource.resource,
        scopes,
        requestedFrom: connection.address ?? null,
        // Its verifier is thrown away: the code is redeemed by the device code alone.
        codeChallenge: hashSecret(newSecret()),
        createdAt,
        expiresAt: createdAt + DEVICE_CODE_LIFETIME,
        pollInterval: INTERVAL,
      });
      // Once in a million times, the user code is in use.
      if (!isSaved) throw temporarilyUnavailable('the user code is in use');
      events({ type: 'device_authorization.started', clientId: client.id });
      const page = `${new URL(issuer).origin}/device`;
      const response: DeviceAuthorizationResponse = {
        device_code: deviceCode,
        user_code: showUserCode(userCode),
        verification_uri: page,
        verification_uri_complete: `${page}?user_code=${showUserCode(userCode)}`,
        expires_in: DEVICE_CODE_LIFETIME,
        interval: INTERVAL,
      };
      return respondCorsJson(response, { isHttps: issuer.startsWith('https:') });
    },
  };
}
