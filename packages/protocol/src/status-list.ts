/** Token Status Lists: how a token names its place in a list that its issuer publishes, and what that list is called. */
import { OAuthError } from './errors.ts';

/** The header type of a signed list. @see draft-ietf-oauth-status-list §5.1 */
export const STATUS_LIST_TYPE = 'statuslist+jwt';

/** How a signed list is asked for and answered. @see draft-ietf-oauth-status-list §8.1 */
export const STATUS_LIST_MEDIA_TYPE = 'application/statuslist+jwt';

/** The status of a token that is good; any other says that it is not. @see draft-ietf-oauth-status-list §7.1 */
export const STATUS_VALID = 0;

/** Where the status of a token stands. @see draft-ietf-oauth-status-list §6.2 */
export interface StatusReference {
  /** Which entry of the list, from 0. */
  readonly idx: number;
  /** The list, byte for byte what it calls itself. */
  readonly uri: string;
}

/**
 * Where the status of a token stands; `null` when it names no list.
 * @throws OAuthError `invalid_token` when what it names is none
 */
export function readStatusReference(claims: Readonly<Record<string, unknown>>): StatusReference | null {
  const { status } = claims;
  if (status === undefined) return null;
  const { status_list: reference } = objectOf(status);
  if (reference === undefined) return null;
  const { idx, uri } = objectOf(reference);
  if (typeof idx !== 'number' || !Number.isSafeInteger(idx) || idx < 0) throw invalid('idx is no index');
  if (typeof uri !== 'string' || uri === '') throw invalid('uri is missing');
  return { idx, uri };
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid('no object');
  return value as Readonly<Record<string, unknown>>;
}

function invalid(reason: string): OAuthError {
  return new OAuthError('invalid_token', 'The access token is not valid here.', {
    reason: `status: ${reason}`,
  });
}
