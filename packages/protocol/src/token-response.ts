/** The successful answer of the token endpoint: built by the server, read by the client. */
import { type Reading, readDocument } from './document.ts';
import { must, object, type Shape, text } from './shape.ts';

/** Names are those of the wire; `expires_in` in seconds. @see OAuth 2.1 draft 13 §3.2.3 */
export interface TokenResponse {
  readonly access_token: string;
  readonly token_type: string;
  readonly expires_in?: number;
  readonly refresh_token?: string;
  readonly scope?: string;
}

/** Some servers write the number as a string. */
const seconds: Shape<number> = (value, faults) => {
  if (typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY) return value;
  if (typeof value === 'string' && /^\d{1,10}$/.test(value)) return Number(value);
  faults.push({ path: [], reason: 'must be a number of seconds' });
  return 0;
};

const shape = object<TokenResponse>({
  required: {
    // VSCHAR without space: a token that holds anything else could not stand in a header field. RFC 6749 appendix A.12
    access_token: text(must((token) => /^[\x21-\x7e]+$/.test(token), 'be visible ASCII characters')),
    token_type: text(must((type) => type !== '', 'not be empty')),
  },
  optional: {
    expires_in: seconds,
    // 1*VSCHAR. RFC 6749 appendix A.17
    refresh_token: text(must((token) => /^[\x20-\x7e]+$/.test(token), 'be printable ASCII characters')),
    scope: text(),
  },
});

/** Reads a token response; unknown members are ignored. */
export function readTokenResponse(json: unknown): Reading<TokenResponse> {
  return readDocument(shape, json);
}
