/** A person with another device: a short code is shown, and the token endpoint is asked until the person has answered elsewhere. */
import { formatScopes, isSecureUrl, readWebUrl } from '@portcullis/protocol';
import { ClientError, displayText } from '../errors.ts';
import { requestToken, type TokenRequest } from '../tokens/token-endpoint.ts';
import { readTokens, type Tokens } from '../tokens/tokens.ts';
import { type GrantCase, targetOf } from './machine.ts';
import type { DeviceGrant } from './settings.ts';

const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';

/** What the device authorization endpoint answered. @see RFC 8628 §3.2 */
interface DeviceAuthorization {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly verificationUri: string;
  readonly verificationUriComplete: string | null;
  /** Seconds. */
  readonly expiresIn: number;
  readonly interval: number;
}

/** Gets tokens by device authorization. @see RFC 8628 §3 */
export async function obtainByDevice(grant: DeviceGrant, situation: GrantCase): Promise<Tokens> {
  const endpoint = situation.discovery.metadata.device_authorization_endpoint;
  if (endpoint === undefined) {
    throw new ClientError(
      'sign_in_needed',
      `${displayText(situation.discovery.issuer)} offers no sign-in by device code.`,
    );
  }
  const { hands, discovery, registration, scopes, dpopKey } = situation;
  const form = targetOf(situation, new URLSearchParams());
  if (scopes.length > 0) form.set('scope', formatScopes(scopes));
  const request = { endpoint, issuer: discovery.issuer, registration, form, dpopKey: null };
  const authorization = readAuthorization(await requestToken(hands, request));
  await grant.show({
    userCode: displayText(authorization.userCode),
    verificationUri: authorization.verificationUri,
    verificationUriComplete: authorization.verificationUriComplete,
    expiresIn: authorization.expiresIn,
  });
  const { target, request: asked } = tokenRequest(situation, authorization);
  const json = await poll(situation, asked, authorization);
  return readTokens(json, { ...target, now: hands.clock(), dpopKey, refreshToken: null, scopes: null });
}

function tokenRequest(situation: GrantCase, { deviceCode }: DeviceAuthorization) {
  const { discovery, registration, scopes, dpopKey } = situation;
  const endpoint = discovery.metadata.token_endpoint ?? '';
  const form = targetOf(situation, new URLSearchParams({ grant_type: DEVICE_CODE, device_code: deviceCode }));
  const request: TokenRequest = { endpoint, issuer: discovery.issuer, registration, form, dpopKey };
  const target = {
    requestedScopes: scopes,
    resource: discovery.resource,
    tokenEndpoint: endpoint,
    clientId: registration.clientId,
  };
  return { request, target };
}

/** Asks again at the server's pace until the person has answered, or the code has expired. @see RFC 8628 §3.5 */
async function poll(
  { hands }: GrantCase,
  request: TokenRequest,
  { expiresIn, interval }: DeviceAuthorization,
): Promise<unknown> {
  const end = hands.clock() + expiresIn * 1000;
  let pause = interval;
  while (hands.clock() < end) {
    await hands.sleep(pause * 1000);
    try {
      return await requestToken(hands, request);
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      if (error.oauthError === 'access_denied') {
        throw new ClientError('authorization_denied', 'The person did not allow it.', {
          oauthError: 'access_denied',
        });
      }
      if (error.oauthError === 'expired_token') break;
      if (
        error.oauthError !== 'authorization_pending' &&
        error.oauthError !== 'slow_down' &&
        !error.temporary
      )
        throw error;
      if (error.oauthError === 'slow_down' || error.temporary) pause += 5;
    }
  }
  throw new ClientError('cancelled', 'The code was not used in time.');
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
    userCode,
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
