/** Reads the response of a token exchange: apart from its form, because it needs the schema library. */
import type { ParseResult } from '../parsing/json-document.ts';
import { TOKEN_TYPES, type TokenExchangeResponse, tokenExchangeResponse } from './token-exchange.ts';
import { readTokenResponse } from './token-response.ts';

/** Parses a response; unknown members are ignored. @see RFC 8693 §2.2.1 */
export function readTokenExchangeResponse(json: unknown): ParseResult<TokenExchangeResponse> {
  const reading = readTokenResponse(json);
  if ('issues' in reading) return reading;
  // REQUIRED, and no other type was requested.
  if ((json as { readonly issued_token_type?: unknown }).issued_token_type !== TOKEN_TYPES.accessToken) {
    return { issues: [`issued_token_type: must be ${TOKEN_TYPES.accessToken}`] };
  }
  const { refresh_token: _unwanted, ...token } = reading.document;
  return { document: tokenExchangeResponse(token) };
}
