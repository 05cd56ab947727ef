/** The successful answer of the token endpoint: built by the server, read by the client. */
import * as z from 'zod';
import { type ParseResult, readDocument } from './json-document.ts';

/** Names are those of the wire; `expires_in` in seconds. @see OAuth 2.1 draft 13 §3.2.3 */
export interface TokenResponse {
  readonly access_token: string;
  readonly token_type: string;
  readonly expires_in?: number;
  readonly refresh_token?: string;
  readonly scope?: string;
}

const seconds = z.union([
  z.number().nonnegative(),
  // Some servers write the number as a string.
  z
    .string()
    .regex(/^\d{1,10}$/)
    .transform(Number),
]);

/** VSCHAR without space: a token that holds anything else could not stand in a header field. @see RFC 6749 appendix A.12 */
const accessToken = z.string().regex(/^[\x21-\x7e]+$/, 'must be visible ASCII characters');

/** 1*VSCHAR. @see RFC 6749 appendix A.17 */
const refreshToken = z.string().regex(/^[\x20-\x7e]+$/, 'must be printable ASCII characters');

const schema = z.object({
  access_token: accessToken,
  token_type: z.string().min(1),
  expires_in: z.exactOptional(seconds),
  refresh_token: z.exactOptional(refreshToken),
  scope: z.exactOptional(z.string()),
});

/** Reads a token response; unknown members are ignored. */
export function readTokenResponse(json: unknown): ParseResult<TokenResponse> {
  return readDocument<TokenResponse>(schema as z.ZodType<TokenResponse>, json);
}
