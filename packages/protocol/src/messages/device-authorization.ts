/** Device authorization (RFC 8628): its grant type, and the response that starts it. */

/** The grant type. @see RFC 8628 §3.4 */
export const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';

/** The device authorization response. @see RFC 8628 §3.2 */
export interface DeviceAuthorizationResponse {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
  /** Seconds. */
  readonly expires_in: number;
  /** Seconds between two polls. */
  readonly interval: number;
}
