/** Client credentials of a request, read from the `Authorization` header and the form, before verification. */
import { type ClientAuthenticationMethod, OAuthError, type Parameters } from '@portcullis/protocol';

/** A client identifier with its secret or assertion; two candidates when Basic credentials can be decoded in two ways. */
export interface ClientCredentials {
  readonly method: ClientAuthenticationMethod;
  readonly candidates: readonly { readonly clientId: string; readonly proof: string | null }[];
}

/** Reads one method from a request; `null` when the request does not use it. */
type Reader = (authorization: string | null, form: Parameters) => ClientCredentials['candidates'] | null;

/** The only supported `client_assertion_type`. @see RFC 7523 §2.2 */
const CLIENT_ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** Signature algorithms of client assertions: asymmetric ones only. The metadata document lists them. */
export const clientAssertionAlgorithms: readonly string[] = [
  'ES256',
  'ES384',
  'EdDSA',
  'Ed25519',
  'PS256',
  'RS256',
];

/** Characters. */
export const MAX_ASSERTION_LENGTH = 16_384;
/** Seconds by which the clock of a client may differ. */
export const CLIENT_CLOCK_TOLERANCE = 30;

/** Readers of the supported methods. The metadata document lists the names of this table. */
export const clientAuthenticationMethods: Readonly<Record<ClientAuthenticationMethod, Reader>> = {
  none(authorization, form) {
    const clientId = form.one('client_id');
    const usesAnother = isBasic(authorization) || PROOFS.some((name) => form.one(name) !== undefined);
    return clientId === undefined || usesAnother ? null : [{ clientId, proof: null }];
  },
  client_secret_basic(authorization) {
    return isBasic(authorization) ? readBasic(authorization) : null;
  },
  client_secret_post(_authorization, form) {
    const secret = form.one('client_secret');
    return secret === undefined ? null : [{ clientId: form.one('client_id') ?? '', proof: secret }];
  },
  private_key_jwt(_authorization, form) {
    const [type, assertion] = [form.one('client_assertion_type'), form.one('client_assertion')];
    if (type === undefined && assertion === undefined) return null;
    if (type !== CLIENT_ASSERTION_TYPE || assertion === undefined) {
      throw new OAuthError('invalid_client', `Send client_assertion with the type ${CLIENT_ASSERTION_TYPE}.`);
    }
    return [{ clientId: form.one('client_id') ?? readUnverifiedClientId(assertion), proof: assertion }];
  },
};

/** Form parameters that carry a credential. */
const PROOFS = ['client_secret', 'client_assertion', 'client_assertion_type'];

/**
 * Reads the credentials of a request. The client MUST NOT use more than one method, and a repeated `client_id` must be the
 * same.
 * @throws OAuthError `invalid_client` without readable credentials, `invalid_request` with more than one method
 * @see OAuth 2.1 draft 13 §2.4
 */
export function readClientCredentials(authorization: string | null, form: Parameters): ClientCredentials {
  const { method, candidates: readings } = readOnly(authorization, form);
  const named = form.one('client_id');
  const agreeing = named === undefined ? readings : readings.filter(({ clientId }) => clientId === named);
  if (agreeing.length === 0) {
    throw new OAuthError(
      'invalid_request',
      'The client_id in the form differs from the one in the Authorization header.',
    );
  }
  return { method, candidates: agreeing };
}

const methods = Object.entries(clientAuthenticationMethods) as [ClientAuthenticationMethod, Reader][];

/** Reads the one method that the request uses. */
function readOnly(authorization: string | null, form: Parameters): ClientCredentials {
  let presented: ClientCredentials | null = null;
  for (const [method, read] of methods) {
    const readings = read(authorization, form);
    if (readings === null) continue;
    if (presented !== null) {
      throw new OAuthError('invalid_request', 'Use only one client authentication method.');
    }
    presented = { method, candidates: readings };
  }
  if (presented !== null) return presented;
  throw new OAuthError(
    'invalid_client',
    'Identify the client: send client_id, or authenticate as it registered.',
  );
}

function isBasic(authorization: string | null): authorization is string {
  return authorization !== null && /^basic(?:\s|$)/i.test(authorization);
}

/**
 * Identifier and secret are form-encoded before they are joined with a colon; clients that skip the encoding are common, so the
 * undecoded text is a second candidate.
 * @see RFC 6749 §2.3.1
 */
function readBasic(authorization: string): ClientCredentials['candidates'] {
  const [, encoded] = /^basic[ \t]+([A-Za-z0-9+/]+={0,2})[ \t]*$/i.exec(authorization) ?? [];
  const text = Buffer.from(encoded ?? '', 'base64').toString();
  const colon = text.indexOf(':');
  if (colon === -1) {
    throw new OAuthError(
      'invalid_client',
      'The Authorization header must hold base64 of client_id:client_secret.',
    );
  }
  const raw = { clientId: text.slice(0, colon), proof: text.slice(colon + 1) };
  const decoded = { clientId: formDecode(raw.clientId), proof: formDecode(raw.proof) };
  const isPlain = decoded.clientId === raw.clientId && decoded.proof === raw.proof;
  return isPlain ? [raw] : [decoded, raw];
}

/** `+` is a space, `%XX` a byte; text that is not form-encoded stays as it is. */
function formDecode(text: string): string {
  if (!/[+%]/.test(text)) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

/** The `sub` of an assertion, unverified; empty when it cannot be read. */
function readUnverifiedClientId(assertion: string): string {
  try {
    const payload: unknown = JSON.parse(Buffer.from(assertion.split('.')[1] ?? '', 'base64url').toString());
    const { sub } = (payload ?? {}) as { readonly sub?: unknown };
    return assertion.length <= MAX_ASSERTION_LENGTH && typeof sub === 'string' ? sub : '';
  } catch {
    return '';
  }
}
