/** Token status lists: the reference from a token to its entry in a published list. */
import { tokenRejected } from '../errors.ts';

/** The header type of a signed list. @see draft-ietf-oauth-status-list §5.1 */
export const STATUS_LIST_TYPE = 'statuslist+jwt';

/** The media type of a signed list. @see draft-ietf-oauth-status-list §8.1 */
export const STATUS_LIST_MEDIA_TYPE = 'application/statuslist+jwt';

/** The status of a valid token; any other means invalid. @see draft-ietf-oauth-status-list §7.1 */
export const STATUS_VALID = 0;

/** The reference from a token to its status. @see draft-ietf-oauth-status-list §6.2 */
export interface StatusReference {
  /** The index of the entry, from 0. */
  readonly idx: number;
  /** The URI of the list, byte for byte as in its `sub`. */
  readonly uri: string;
}

/**
 * Reads the status reference of a token; `null` if it has none.
 * @throws OAuthError `invalid_token` if it is malformed
 * @see draft-ietf-oauth-status-list §6.2
 */
export function readStatusReference(claims: Readonly<Record<string, unknown>>): StatusReference | null {
  const { status } = claims;
  if (status === undefined) return null;
  const { status_list: reference } = objectOf(status);
  if (reference === undefined) return null;
  const { idx, uri } = objectOf(reference);
  if (typeof idx !== 'number' || !Number.isSafeInteger(idx) || idx < 0)
    throw tokenRejected('status: idx is not an index');
  if (typeof uri !== 'string' || uri === '') throw tokenRejected('status: uri is missing');
  return { idx, uri };
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw tokenRejected('status: not an object');
  return value as Readonly<Record<string, unknown>>;
}
