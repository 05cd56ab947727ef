/** Whether an issuer still knows a client: what its refusals say about that, and how it is asked. */
import { ClientError } from '../errors.ts';
import { getRequest, type OAuthRequest, type OAuthResponse } from '../transport.ts';
import type { Registration } from './registration.ts';

/** `gone`: the issuer does not know the client. `unknown`: its answer says neither. */
export type RegistrationStatus = 'stands' | 'gone' | 'unknown';

/** Codes by which an authorization server says that it does not know a client, or not any more. */
const DEAD_CLIENT: ReadonlySet<string> = new Set(['invalid_client', 'unauthorized_client']);

/** Whether a refusal is about the client itself, so that another registration may help. */
export function isUnknownClientError(error: unknown): error is ClientError {
  return error instanceof ClientError && isUnknownClientCode(error.oauthError ?? '');
}

/** The same of an OAuth error code. */
export function isUnknownClientCode(code: string): boolean {
  return DEAD_CLIENT.has(code);
}

/** Writes the request that reads a registration; `null`: its issuer lets nobody do that. @see RFC 7592 §2.1 */
export function readRegistrationRequest({ management }: Registration): OAuthRequest | null {
  if (management === undefined) return null;
  return getRequest(management.uri, { authorization: `Bearer ${management.token}` });
}

/** Understands the answer: for a client that does not exist the status is 401. @see RFC 7592 §2.1 */
export function processReadRegistrationResponse({
  status,
}: Pick<OAuthResponse, 'status'>): RegistrationStatus {
  if (status === 401 || status === 404 || status === 410) return 'gone';
  return status === 200 ? 'stands' : 'unknown';
}
