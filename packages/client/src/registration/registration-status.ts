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

/** `gone`: the issuer does not know the client. `unknown`: its response does not say. */
type RegistrationStatus = 'registered' | 'gone' | 'unknown';

/** What a probe found. */
interface ProbedRegistration {
  readonly status: RegistrationStatus;
  /** As the issuer describes it now. */
  readonly registration: Registration;
}

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
 * @see RFC 7592 §2.1, RFC 6749 §4.1.2.1
 */
export async function probeRegistration(
  transport: Transport,
  input: AuthorizationRequestInput,
): Promise<ProbedRegistration> {
  const quick = { ...transport, timeout: Math.min(transport.timeout, PROBE_TIMEOUT) };
  const { registration } = input;
  try {
    const request = readRegistrationRequest(registration);
    const read = request === null ? null : await sendRequest(quick, request);
    const status = read === null ? 'unknown' : readStatus(read);
    if (read !== null && status === 'registered')
      return { status, registration: updateRegistration(registration, read) };
    // An endpoint that requires pushed requests refuses the probe of any client.
    if (status !== 'unknown' || input.discovery.metadata.require_pushed_authorization_requests === true)
      return { status, registration };
    const { url } = await authorizationRequest(input);
    const page = await sendRequest(quick, getRequest(url, { accept: 'text/html' }));
    return { status: authorizationPageStatus(page), registration };
  } catch (error) {
    // For example, the page may be larger than the size limit for documents.
    if (error instanceof ClientError) return { status: 'unknown', registration };
    throw error;
  }
}

/** The request that reads a registration; `null`: the issuer has no client configuration endpoint. */
function readRegistrationRequest({ management }: Registration): OAuthRequest | null {
  if (management === undefined) return null;
  return getRequest(management.uri, { authorization: `Bearer ${management.token}` });
}

/** For a client that does not exist the status is 401. @see RFC 7592 §2.1 */
function readStatus({ status }: OAuthResponse): RegistrationStatus {
  if (status === 401 || status === 404 || status === 410) return 'gone';
  return status === 200 ? 'registered' : 'unknown';
}

/** Bot protection responds to programs with 403 and 429, which says nothing about the client. */
function authorizationPageStatus({ status, headers }: OAuthResponse): RegistrationStatus {
  if (status === 400 || status === 401) return 'gone';
  const location = URL.parse(headers.get('location') ?? '', 'https://relative.invalid');
  return UNKNOWN_CLIENT.has(location?.searchParams.get('error') ?? '') ? 'gone' : 'unknown';
}
