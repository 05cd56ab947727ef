/** Whether a registration of an earlier time still stands at its issuer: asked before a person is sent there, who would see an error page. */
import { askAuthorization, type RequestFacts } from '../authorization/request.ts';
import { ClientError } from '../errors.ts';
import { type Answer, type Ask, askFor, exchange, type Wire } from '../transport.ts';
import type { Registration } from './registration.ts';

/** `gone`: the issuer does not know the client. `unknown`: its answer says neither. */
export type RegistrationStanding = 'stands' | 'gone' | 'unknown';

/** Codes by which an authorization server says that it does not know a client, or not any more. */
const DEAD_CLIENT: ReadonlySet<string> = new Set(['invalid_client', 'unauthorized_client']);

/** Whether a refusal is about the client itself, so that another registration may help. */
export function isDeadClient(error: unknown): error is ClientError {
  return error instanceof ClientError && DEAD_CLIENT.has(error.oauthError ?? '');
}

/** Writes the request that reads a registration; `null`: its issuer lets nobody do that. @see RFC 7592 §2.1 */
export function askStanding({ management }: Registration): Ask | null {
  if (management === undefined) return null;
  return askFor(management.uri, { authorization: `Bearer ${management.token}` });
}

/** Understands the answer: for a client that does not exist the status is 401. @see RFC 7592 §2.1 */
export function understandStanding({ status }: Pick<Answer, 'status'>): RegistrationStanding {
  if (status === 401 || status === 404 || status === 410) return 'gone';
  return status === 200 ? 'stands' : 'unknown';
}

/** Milliseconds: whoever is slower is taken at its word of last time. */
const PATIENCE = 5_000;

/**
 * Finds out. Where a registration cannot be read, the sign-in page is asked for once by a request of its own that nobody
 * finishes: an authorization server that does not know the client must not redirect, and answers with an error at once.
 */
export async function findStanding(wire: Wire, request: RequestFacts): Promise<RegistrationStanding> {
  const swift = { ...wire, timeout: Math.min(wire.timeout, PATIENCE) };
  try {
    const read = askStanding(request.registration);
    const standing = read === null ? 'unknown' : understandStanding(await exchange(swift, read));
    if (standing !== 'unknown') return standing;
    const { url } = await askAuthorization(request);
    return understandPage(await exchange(swift, askFor(url, { accept: 'text/html' })));
  } catch (error) {
    // A page may be longer than any document; that it cannot be asked for says nothing.
    if (error instanceof ClientError) return 'unknown';
    throw error;
  }
}

/** Servers and what stands before them refuse programs by 403 and 429; those say nothing about the client. */
function understandPage({ status, headers }: Answer): RegistrationStanding {
  if (status === 400 || status === 401) return 'gone';
  const error = URL.parse(headers.get('location') ?? '', 'https://relative.invalid')?.searchParams.get(
    'error',
  );
  return DEAD_CLIENT.has(error ?? '') ? 'gone' : 'unknown';
}
