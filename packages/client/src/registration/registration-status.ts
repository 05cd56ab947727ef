/** Whether an issuer still knows a client: read from its errors, and probed before a user would see an error page. */
import { type AuthorizationRequestInput, authorizationRequest } from '../authorization/request.ts';
import { ClientError } from '../errors.ts';
import type { Registration } from '../storage/credentials.ts';
import {
  getRequest,
  type OAuthRequest,
  type OAuthResponse,
  sendRequest,
  type Transport,
} from '../transport.ts';
import { updateRegistration } from './dynamic-registration.ts';

/** OAuth error codes of an authorization server that does not know the client, or no longer does. */
const UNKNOWN_CLIENT: ReadonlySet<string> = new Set(['invalid_client', 'unauthorized_client']);

/** Whether an error is about the client itself, so that a new registration may help. */
export function isUnknownClientError(error: unknown): error is ClientError {
  return error instanceof ClientError && UNKNOWN_CLIENT.has(error.oauthError ?? '');
}

/** Milliseconds: without a response in this time, the registration is assumed to be valid. */
const PROBE_TIMEOUT = 5_000;

/**
 * Probes a stored registration. Where it cannot be read, the authorization endpoint is requested once with an
 * authorization that is never completed: for an unknown client it must not redirect, and responds with an error.
 * @returns the registration as the issuer describes it now; `null`: the issuer does not know the client
 * @see RFC 7592 §2.1, RFC 6749 §4.1.2.1
 */
export async function probeRegistration(
  transport: Transport,
  input: AuthorizationRequestInput,
): Promise<Registration | null> {
  const quick = { ...transport, timeout: Math.min(transport.timeout, PROBE_TIMEOUT) };
  const { registration } = input;
  try {
    const request = readRegistrationRequest(registration);
    const read = request === null ? null : await sendRequest(quick, request);
    if (read?.status === 200) return updateRegistration(registration, read);
    // For a client that does not exist the status is 401.
    if (read !== null && [401, 404, 410].includes(read.status)) return null;
    // An endpoint that requires pushed requests refuses the probe of any client.
    if (input.discovery.metadata.require_pushed_authorization_requests === true) return registration;
    const { url } = await authorizationRequest(input);
    const page = await sendRequest(quick, getRequest(url, { accept: 'text/html' }));
    return isUnknownClientPage(page) ? null : registration;
  } catch (error) {
    // For example, the page may be larger than the size limit for documents.
    if (error instanceof ClientError) return registration;
    throw error;
  }
}

/** The request that reads a registration; `null`: the issuer has no client configuration endpoint. */
function readRegistrationRequest({ management }: Registration): OAuthRequest | null {
  if (management === undefined) return null;
  return getRequest(management.uri, { authorization: `Bearer ${management.token}` });
}

/** Bot protection responds to programs with 403 and 429, which says nothing about the client. */
function isUnknownClientPage({ status, headers }: OAuthResponse): boolean {
  if (status === 400 || status === 401) return true;
  const location = URL.parse(headers.get('location') ?? '', 'https://relative.invalid');
  return UNKNOWN_CLIENT.has(location?.searchParams.get('error') ?? '');
}
