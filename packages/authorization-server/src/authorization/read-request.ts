/** Reads the parameters of an authorization request; a posted request is repeated as a GET, so that its cookies arrive. */
import { type HttpRequest, type HttpResponse, readFormBody } from '@portcullis/http';
import { AUTHORIZATION_PARAMETERS, OAuthError, type Parameters } from '@portcullis/protocol';
import { MAX_URL_LENGTH, redirectFormToGet } from '../http/form-to-get.ts';
import type { User } from '../users/sessions.ts';
import type { ClientRequest } from './error-response.ts';
import type { PageContext } from './page-context.ts';

/** An authorization request of a known client, before its parameters are checked. */
export interface AuthorizationAttempt extends ClientRequest {
  readonly parameters: Parameters;
  /** Marks a pushed request as used; `null`: it was not pushed. */
  readonly consume: (() => Promise<void>) | null;
  /** Who is signed in in this browser. */
  readonly user: User | null;
}

/** What an error response depends on, even one about these parameters: a parameter that was sent repeatedly counts as missing. */
export function readErrorResponse(parameters: Parameters): Pick<ClientRequest, 'state' | 'isSilent'> {
  const single = (name: string) => {
    const values = parameters.all(name);
    return values.length === 1 ? values[0] : undefined;
  };
  return { state: single('state'), isSilent: single('prompt') === 'none' };
}

/** The authorization server MUST support GET and MAY support POST. @see RFC 6749 §3.1 */
export async function repeatAsGet({ options }: PageContext, request: HttpRequest): Promise<HttpResponse> {
  const form = await readFormBody(request);
  const response = redirectFormToGet('/authorize', AUTHORIZATION_PARAMETERS, form, options.issuer);
  if (response !== null) return response;
  const description = `The request is too long: as a query, its URL may have at most ${MAX_URL_LENGTH} octets.`;
  throw new OAuthError('invalid_request', description, { status: 413 });
}
