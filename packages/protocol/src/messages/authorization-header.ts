/** The `Authorization` header: reads access tokens, and writes client secrets. */

/** What the header contains. `none` also stands for schemes without an access token, such as Basic. */
type AuthorizationHeader =
  | { readonly kind: 'none' }
  | { readonly kind: 'token'; readonly scheme: 'Bearer' | 'DPoP'; readonly token: string }
  | { readonly kind: 'malformed'; readonly reason: string };

const NONE: AuthorizationHeader = { kind: 'none' };

/** The longest access token that is read, in the syntax token68. @see RFC 9110 §11.2 */
const TOKEN_FORM = /^[A-Za-z0-9\-._~+/]+=*$/;
const LONGEST_TOKEN = 16_384;

/**
 * Reads the `Authorization` header or headers of a request. Never throws. Case of the scheme and number of spaces do
 * not matter.
 * @see RFC 6750 §2.1, RFC 9449 §7.1
 */
export function readAuthorizationHeader(
  authorization: string | readonly string[] | null | undefined,
): AuthorizationHeader {
  if (authorization === null || authorization === undefined) return NONE;
  if (typeof authorization !== 'string') {
    if (authorization.length > 1) return malformed('Send one Authorization header.');
    return readAuthorizationHeader(authorization[0]);
  }
  const field = trim(authorization);
  const [name = ''] = field.split(/[ \t]/, 1);
  const scheme = readTokenScheme(name);
  if (scheme === null) return NONE;
  const token = trim(field.slice(name.length));
  if (token === '') return malformed('The Authorization header contains no token.');
  if (token.length > LONGEST_TOKEN || !TOKEN_FORM.test(token)) {
    return malformed('The Authorization header does not contain a single well-formed token.');
  }
  return { kind: 'token', scheme, token };
}

/** The scheme of a token by its name, in any case: that of the header, or the `token_type` of a response. */
export function readTokenScheme(name: string): 'Bearer' | 'DPoP' | null {
  if (name === 'Bearer') return 'Bearer';
  const lower = name.toLowerCase();
  return lower === 'bearer' ? 'Bearer' : lower === 'dpop' ? 'DPoP' : null;
}

/** Trims only what HTTP considers white space: a no-break space is part of the token, and makes it malformed. */
function trim(text: string): string {
  return text.replace(/^[ \t]+/, '').replace(/(?<![ \t])[ \t]+$/, '');
}

/** A client's identifier and secret for HTTP Basic, form-encoded before they are joined. @see RFC 6749 §2.3.1 */
export function basicCredentials(clientId: string, secret: string): string {
  return `Basic ${btoa(`${formEncode(clientId)}:${formEncode(secret)}`)}`;
}

function formEncode(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

function malformed(reason: string): AuthorizationHeader {
  return { kind: 'malformed', reason };
}
