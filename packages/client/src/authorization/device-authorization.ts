/** Device authorization: the user enters a short code on another device while the client polls the token endpoint. */
import { DEVICE_CODE, grantForm, jsonMembers, readSecureUrl } from '@portcullis/protocol';
import { type DiscoveryResult, signInLocation } from '../discovery/discovery-result.ts';
import { ClientError, sanitizeText } from '../errors.ts';
import type { Tokens } from '../storage/credentials.ts';
import {
  type EndpointRequest,
  requestJson,
  type TokenEndpointContext,
} from '../token-endpoint/endpoint-request.ts';
import { requestTokens, type TokenRequest } from '../token-endpoint/token-request.ts';
import type { DeviceGrant, DevicePrompt } from './grant-settings.ts';
import { type GrantInput, grantTokenRequest } from './machine-grants.ts';

/** Response of the device authorization endpoint. @see RFC 8628 §3.2 */
interface DeviceAuthorization extends Omit<DevicePrompt, 'location'> {
  /** Secret: the tokens are requested with it. */
  readonly deviceCode: string;
  /** Seconds between two polls. */
  readonly interval: number;
}

/** Obtains tokens by device authorization. @see RFC 8628 §3 */
export async function requestDeviceTokens(
  grant: DeviceGrant,
  context: TokenEndpointContext,
  input: GrantInput,
): Promise<Tokens> {
  const request = deviceAuthorizationRequest(input);
  const authorization = readDeviceAuthorization(await requestJson(context, request));
  const { userCode, verificationUri, verificationUriComplete, expiresIn } = authorization;
  const location = signInLocation(input.discovery);
  await grant.show({ location, userCode, verificationUri, verificationUriComplete, expiresIn });
  return poll(context, deviceCodeTokenRequest(input, authorization), authorization);
}

function deviceAuthorizationRequest(input: GrantInput): EndpointRequest {
  const { discovery, registration, scopes } = input;
  const endpoint = requireDeviceEndpoint(discovery);
  const form = grantForm({}, { resource: discovery.resource, scopes });
  return { endpoint, issuer: discovery.issuer, registration, form, dpopKey: null };
}

/** @throws ClientError `sign_in_needed` when the authorization server does not offer device authorization. */
export function requireDeviceEndpoint({ metadata, issuer }: DiscoveryResult): string {
  if (metadata.device_authorization_endpoint !== undefined) return metadata.device_authorization_endpoint;
  throw new ClientError(
    'sign_in_needed',
    `${sanitizeText(issuer)} does not offer device authorization. Its operator can allow it (deviceAuthorization of Portcullis); otherwise use --no-browser, or a receiver for a pasted address.`,
  );
}

/** The request to repeat until the user has decided. @see RFC 8628 §3.4 */
function deviceCodeTokenRequest(input: GrantInput, { deviceCode }: DeviceAuthorization): TokenRequest {
  const { resource } = input.discovery;
  const form = grantForm({ grant_type: DEVICE_CODE, device_code: deviceCode }, { resource });
  return grantTokenRequest(input, form);
}

/** Polls at the server's pace until the user has decided or the code has expired. @see RFC 8628 §3.5 */
async function poll(
  context: TokenEndpointContext,
  request: TokenRequest,
  { expiresIn, interval }: DeviceAuthorization,
): Promise<Tokens> {
  const end = context.clock() + expiresIn * 1000;
  let pause = interval;
  while (context.clock() < end) {
    await context.sleep(pause * 1000);
    try {
      return await requestTokens(context, request);
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      if (error.oauthError === 'access_denied') throw denied();
      if (error.oauthError === 'expired_token') break;
      const slowDown = error.oauthError === 'slow_down' || error.temporary;
      if (!slowDown && error.oauthError !== 'authorization_pending') throw error;
      if (slowDown) pause += 5;
    }
  }
  throw new ClientError('cancelled', 'The code was not used in time.');
}

function denied(): ClientError {
  const oauthError = 'access_denied';
  return new ClientError('authorization_denied', 'Access was denied.', { oauthError });
}

function readDeviceAuthorization(json: unknown): DeviceAuthorization {
  const document = jsonMembers(json);
  const { device_code: deviceCode, user_code: userCode, expires_in: expiresIn, interval } = document;
  const verificationUri = readPageUrl(document['verification_uri']);
  if (typeof deviceCode !== 'string' || typeof userCode !== 'string' || verificationUri === null) {
    throw new ClientError('token_response_invalid', 'The device authorization response is invalid.');
  }
  return {
    deviceCode,
    userCode: sanitizeText(userCode),
    verificationUri,
    verificationUriComplete: readPageUrl(document['verification_uri_complete']),
    expiresIn: typeof expiresIn === 'number' && expiresIn > 0 ? Math.min(expiresIn, 3600) : 600,
    interval: typeof interval === 'number' && interval >= 0 ? Math.max(1, Math.min(interval, 60)) : 5,
  };
}

/** A URL that a user may be sent to. */
function readPageUrl(value: unknown): string | null {
  return typeof value === 'string' && readSecureUrl(value) !== null ? value : null;
}
