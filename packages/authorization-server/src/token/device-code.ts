/** The device code grant (RFC 8628): a device polls until its user has decided elsewhere. */
import { DEVICE_CODE, OAuthError } from '@portcullis/protocol';
import { hashSecret } from '../secrets.ts';
import { checkOwner, redeemCode } from './authorization-code.ts';
import { downscopeGrant } from './downscope.ts';
import type { GrantHandler, GrantServices } from './grant-handler.ts';

/** "the interval MUST be increased by 5 seconds for this and all subsequent requests" @see RFC 8628 §3.5 */
const SLOWER = 5;

/** @see RFC 8628 §3.4 and §3.5 */
export function createDeviceGrant(services: GrantServices): GrantHandler {
  const { store, clock } = services.context;
  return async (client, form, connection, proof) => {
    const now = clock();
    const found = await store.findDeviceAuthorization(hashSecret(form.required('device_code')));
    const device = checkOwner(found, client, invalid);
    const isInTime = await store.recordDevicePoll(device.hash, now, SLOWER);
    if (device.expiresAt <= now) {
      throw new OAuthError('expired_token', 'The device code has expired. Start a new device authorization.');
    }
    if (!isInTime) throw new OAuthError('slow_down', `Wait ${SLOWER} seconds longer between two requests.`);
    if (device.outcome === 'denied') {
      throw new OAuthError('access_denied', 'Access was denied.', { status: 400 });
    }
    if (device.codeHash === null) {
      throw new OAuthError('authorization_pending', 'The user has not decided yet. Ask again later.');
    }
    const code = await store.findCode(device.codeHash);
    if (code === null || code.consumedAt !== null) throw invalid('used before');
    const requested = { resources: form.all('resource'), scopes: null };
    const access = await downscopeGrant(services.context, client, code, requested);
    const from = connection.address ?? null;
    return redeemCode(services, client, code, access, { grantType: DEVICE_CODE, now, from, proof });
  };
}

function invalid(reason: string): OAuthError {
  return new OAuthError('invalid_grant', 'The device code is unknown or was used. Start again.', {
    reason: `device code: ${reason}`,
  });
}
