/** Addresses here that browsers are sent to with what they posted: short enough for whatever stands before this server. */

/** Octets that all recipients SHOULD support at least. @see RFC 9110 §4.1 */
export const MAX_URL_LENGTH = 8_000;

/** Whether a path and query of this server make an address that some recipient would not take. */
export function exceedsUrlLimit(location: string, issuer: string): boolean {
  return new URL(location, issuer).href.length > MAX_URL_LENGTH;
}
