/** The `Authorization` header: which access token a request presents, if any. */

/** What a request presents. `none` also stands for schemes that carry no access token, such as Basic. */
export type AuthorizationHeader =
  | { readonly kind: 'none' }
  | { readonly kind: 'token'; readonly scheme: 'Bearer' | 'DPoP'; readonly token: string }
  | { readonly kind: 'malformed'; readonly reason: string };

const NONE: AuthorizationHeader = { kind: 'none' };

/** token68, as long as any access token that we would look at. @see RFC 9110 §11.2 */
const TOKEN_FORM = /^[A-Za-z0-9\-._~+/]+=*$/;
const LONGEST_TOKEN = 16_384;

/**
 * Reads the `Authorization` field or fields of a request. The scheme's case and the number of spaces do not matter.
 * @see OAuth 2.1 draft 13 §5.1.1
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
  const scheme = schemeOf(name);
  if (scheme === null) return NONE;
  const token = trim(field.slice(name.length));
  if (token === '') return malformed('The Authorization header holds no token.');
  if (token.length > LONGEST_TOKEN || !TOKEN_FORM.test(token)) {
    return malformed('The Authorization header does not hold one well-formed token.');
  }
  return { kind: 'token', scheme, token };
}

function schemeOf(name: string): 'Bearer' | 'DPoP' | null {
  if (name === 'Bearer') return 'Bearer';
  const lower = name.toLowerCase();
  return lower === 'bearer' ? 'Bearer' : lower === 'dpop' ? 'DPoP' : null;
}

/** Only what HTTP calls white space: a no-break space belongs to the token, and makes it malformed. */
function trim(text: string): string {
  return text.replace(/^[ \t]+/, '').replace(/(?<![ \t])[ \t]+$/, '');
}

function malformed(reason: string): AuthorizationHeader {
  return { kind: 'malformed', reason };
}
