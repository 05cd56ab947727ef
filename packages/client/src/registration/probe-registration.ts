/** Whether a registration of an earlier time still stands at its issuer: asked before a person is sent there, who would see an error page. */
import { type AuthorizationRequestInput, authorizationRequest } from '../authorization/request.ts';
import { ClientError } from '../errors.ts';
import { getRequest, type OAuthResponse, sendRequest, type Transport } from '../transport.ts';
import {
  isUnknownClientCode,
  processReadRegistrationResponse,
  type RegistrationStatus,
  readRegistrationRequest,
} from './registration-status.ts';

/** Milliseconds: whoever is slower is taken at its word of last time. */
const PATIENCE = 5_000;

/**
 * Finds out. Where a registration cannot be read, the sign-in page is asked for once by a request of its own that nobody
 * finishes: an authorization server that does not know the client must not redirect, and answers with an error at once.
 */
export async function probeRegistration(
  transport: Transport,
  request: AuthorizationRequestInput,
): Promise<RegistrationStatus> {
  const swift = { ...transport, timeout: Math.min(transport.timeout, PATIENCE) };
  try {
    const read = readRegistrationRequest(request.registration);
    const standing =
      read === null ? 'unknown' : processReadRegistrationResponse(await sendRequest(swift, read));
    if (standing !== 'unknown') return standing;
    const { url } = await authorizationRequest(request);
    return understandPage(await sendRequest(swift, getRequest(url, { accept: 'text/html' })));
  } catch (error) {
    // A page may be longer than any document; that it cannot be asked for says nothing.
    if (error instanceof ClientError) return 'unknown';
    throw error;
  }
}

/** Servers and what stands before them refuse programs by 403 and 429; those say nothing about the client. */
function understandPage({ status, headers }: OAuthResponse): RegistrationStatus {
  if (status === 400 || status === 401) return 'gone';
  const location = URL.parse(headers.get('location') ?? '', 'https://relative.invalid');
  return isUnknownClientCode(location?.searchParams.get('error') ?? '') ? 'gone' : 'unknown';
}
