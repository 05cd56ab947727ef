/** A person with another device: a short code is shown, and the token endpoint is asked until the person has answered elsewhere. */
import { formatScopes, isSecureUrl, readWebUrl } from '@portcullis/protocol';
import type { DiscoveryResult } from '../discovery/discovery-result.ts';
import { ClientError, sanitizeText } from '../errors.ts';
import type { ClientContext } from '../token-endpoint/client-context.ts';
import {
  authenticatedRequest,
  type EndpointRequest,
  grantedBy,
  requestJson,
  type TokenEndpointContext,
} from '../token-endpoint/endpoint-request.ts';
import { requestTokens, type TokenRequest } from '../token-endpoint/token-request.ts';
import type { Tokens } from '../token-endpoint/token-response.ts';
import type { OAuthRequest, OAuthResponse } from '../transport.ts';
import type { DeviceGrant, DevicePrompt } from './grant-settings.ts';
import {
  type GrantContext,
  type GrantRequestInput,
  grantTokenRequest,
  withResource,
} from './machine-grants.ts';

const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';

/** What the device authorization endpoint answered. @see RFC 8628 §3.2 */
export interface DeviceAuthorization extends DevicePrompt {
  /** Secret: it is what the tokens are fetched with. */
  readonly deviceCode: string;
  /** Seconds between two tries. */
  readonly interval: number;
}

/** Gets tokens by device authorization. @see RFC 8628 §3 */
export async function requestDeviceTokens(grant: DeviceGrant, situation: GrantContext): Promise<Tokens> {
  const { hands } = situation;
  const authorization = readAuthorization(await requestJson(hands, deviceAuthorizationRequest(situation)));
  const { userCode, verificationUri, verificationUriComplete, expiresIn } = authorization;
  await grant.show({ userCode, verificationUri, verificationUriComplete, expiresIn });
  return poll(hands, deviceCodeTokenRequest(situation, authorization), authorization);
}

/**
 * The request for a code to be shown.
 * @throws ClientError `sign_in_needed` where no such sign-in is offered.
 */
export function deviceAuthorizationRequest(facts: GrantRequestInput): EndpointRequest {
  const { discovery, registration, scopes } = facts;
  const endpoint = requireDeviceEndpoint(discovery);
  const form = withResource(facts, new URLSearchParams());
  if (scopes.length > 0) form.set('scope', formatScopes(scopes));
  return { endpoint, issuer: discovery.issuer, registration, form, dpopKey: null };
}

/** @throws ClientError `sign_in_needed` where no such sign-in is offered. */
export function requireDeviceEndpoint({ metadata, issuer }: DiscoveryResult): string {
  if (metadata.device_authorization_endpoint !== undefined) return metadata.device_authorization_endpoint;
  throw new ClientError(
    'sign_in_needed',
    `${sanitizeText(issuer)} does not offer sign-in by code; use --no-browser, or a receiver that takes a pasted address.`,
  );
}

/** The request that is repeated until the person has answered. @see RFC 8628 §3.4 */
export function deviceCodeTokenRequest(
  facts: GrantRequestInput,
  { deviceCode }: DeviceAuthorization,
): TokenRequest {
  const form = new URLSearchParams({ grant_type: DEVICE_CODE, device_code: deviceCode });
  return grantTokenRequest(facts, withResource(facts, form));
}

/** Asks again at the server's pace until the person has answered, or the code has expired. @see RFC 8628 §3.5 */
async function poll(
  hands: TokenEndpointContext,
  request: TokenRequest,
  { expiresIn, interval }: DeviceAuthorization,
): Promise<Tokens> {
  const end = hands.clock() + expiresIn * 1000;
  let pause = interval;
  while (hands.clock() < end) {
    await hands.sleep(pause * 1000);
    try {
      return await requestTokens(hands, request);
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      if (error.oauthError === 'access_denied') throw denied();
      if (error.oauthError === 'expired_token') break;
      const slower = error.oauthError === 'slow_down' || error.temporary;
      if (!slower && error.oauthError !== 'authorization_pending') throw error;
      if (slower) pause += 5;
    }
  }
  throw new ClientError('cancelled', 'The code was not used in time.');
}

function denied(): ClientError {
  const oauthError = 'access_denied';
  return new ClientError('authorization_denied', 'The person did not allow it.', { oauthError });
}

/** Writes the request for a code as it is to be sent. */
export function askDeviceAuthorization(
  prover: ClientContext,
  request: EndpointRequest,
): Promise<OAuthRequest> {
  return authenticatedRequest(prover, request);
}

/**
 * Understands the answer: what the person is shown, and what the tokens are fetched with.
 * @throws ClientError `token_refused`, `token_response_invalid`, or an outage.
 */
export function processDeviceAuthorizationResponse(
  prover: ClientContext,
  request: EndpointRequest,
  answer: OAuthResponse,
): DeviceAuthorization {
  return readAuthorization(grantedBy(prover, request, answer));
}

function readAuthorization(json: unknown): DeviceAuthorization {
  const document =
    typeof json === 'object' && json !== null ? (json as Readonly<Record<string, unknown>>) : {};
  const { device_code: deviceCode, user_code: userCode, expires_in: expiresIn } = document;
  const verificationUri = readPage(document['verification_uri']);
  if (typeof deviceCode !== 'string' || typeof userCode !== 'string' || verificationUri === null) {
    throw new ClientError(
      'token_response_invalid',
      'The device authorization was answered with something else.',
    );
  }
  const interval = document['interval'];
  return {
    deviceCode,
    userCode: sanitizeText(userCode),
    verificationUri,
    verificationUriComplete: readPage(document['verification_uri_complete']),
    expiresIn: typeof expiresIn === 'number' && expiresIn > 0 ? Math.min(expiresIn, 3600) : 600,
    interval: typeof interval === 'number' && interval >= 0 ? Math.min(interval, 60) : 5,
  };
}

/** An address that a person may be sent to. */
function readPage(value: unknown): string | null {
  const url = typeof value === 'string' ? readWebUrl(value) : null;
  return url !== null && isSecureUrl(url) ? String(value) : null;
}
