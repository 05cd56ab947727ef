/** The successful response of the token endpoint, parsed by the client. */
import * as z from 'zod';
import { type ParseResult, readDocument } from '../parsing/json-document.ts';

/** A token response, by the names in the RFC; `expires_in` in seconds. @see RFC 6749 §5.1 */
export interface TokenResponse {
  readonly access_token: string;
  readonly token_type: string;
  readonly expires_in?: number;
  readonly refresh_token?: string;
  readonly scope?: string;
  /** The resource that the token is for; only in the response to an assertion. @see draft-ietf-oauth-identity-assertion-authz-grant §4.4 */
  readonly resource?: string | readonly string[];
}

const seconds = z.union([
  // Some servers write -1 for no limit; 0 says as little.
  z.number().transform((lifetime) => Math.max(lifetime, 0)),
  // Some servers write the number as a string.
  z
    .string()
    .regex(/^\d{1,10}$/)
    .transform(Number),
]);

/** VSCHAR without space: other characters could not be sent in a header. @see RFC 6749 appendix A.12 */
const accessToken = z.string().regex(/^[\x21-\x7e]+$/, 'must be visible ASCII characters');

/** 1*VSCHAR; some servers send an empty text for none. @see RFC 6749 appendix A.17 */
const refreshToken = z.string().regex(/^[\x20-\x7e]*$/, 'must be printable ASCII characters');

const schema = z.object({
  access_token: accessToken,
  token_type: z.string().min(1),
  expires_in: z.exactOptional(seconds),
  refresh_token: z.exactOptional(refreshToken),
  scope: z.exactOptional(z.string()),
});

/** Parses a token response; unknown members are ignored. @see RFC 6749 §5.1 */
export function readTokenResponse(json: unknown): ParseResult<TokenResponse> {
  return readDocument<TokenResponse>(schema, json);
}
