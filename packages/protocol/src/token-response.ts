/** The successful answer of the token endpoint: built by the server, read by the client. */
import * as z from 'zod';
import { type Reading, readDocument } from './document.ts';

/** Names are those of the wire; `expires_in` in seconds. @see OAuth 2.1 draft 13 §3.2.3 */
export interface TokenResponse {
  readonly access_token: string;
  readonly token_type: string;
  readonly expires_in?: number;
  readonly refresh_token?: string;
  readonly scope?: string;
}

const seconds = z.union([
  z.number(),
  // Some servers write the number as a string.
  z
    .string()
    .regex(/^\d{1,10}$/)
    .transform(Number),
]);

const schema = z.object({
  access_token: z.string().min(1),
  token_type: z.string().min(1),
  expires_in: z.exactOptional(seconds),
  refresh_token: z.exactOptional(z.string().min(1)),
  scope: z.exactOptional(z.string()),
});

/** Reads a token response; unknown members are ignored. */
export function readTokenResponse(json: unknown): Reading<TokenResponse> {
  return readDocument<TokenResponse>(schema as z.ZodType<TokenResponse>, json);
}
