/** Software statements: metadata of a client that a trusted issuer signed, whose values take precedence (RFC 7591). */
import { OAuthError } from '@portcullis/protocol';
import type { SoftwareStatements } from '../clients/apply-software-statement.ts';
import { createIssuerKeys } from './issuer-keys.ts';
import type { AssertionContext } from './options.ts';

/** Claims of the JWT itself, which are no metadata. */
const JWT_CLAIMS: ReadonlySet<string> = new Set(['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti']);
/** Accepted `typ` values: not an assertion or an access token of the same issuer. @see RFC 8725 §3.12 */
const TYPES: ReadonlySet<string | undefined> = new Set([undefined, 'jwt']);
/** Members that are secrets of one registration or decide who manages it; no statement sets them. */
const NEVER: ReadonlySet<string> = new Set(['client_id', 'client_secret', 'software_statement']);

/** @see RFC 7591 §2.3 and §3.1.1 */
export function createSoftwareStatements(
  context: Pick<AssertionContext, 'clock' | 'options'>,
): SoftwareStatements {
  const { clock, options } = context;
  const findKeys = createIssuerKeys(context);
  return {
    async verify(statement) {
      const { decodeJwt, errors } = await import('jose');
      const { typeOf } = await import('../clients/verify-jwt.ts');
      const { verifyIssuedJwt } = await import('./verify-issued-jwt.ts');
      try {
        const { iss, aud } = decodeJwt(statement);
        const issuer = options.registration?.softwareStatementIssuers.find((one) => one === iss);
        if (issuer === undefined) throw unapproved();
        const audience = aud === undefined ? {} : { audience: options.issuer };
        const verified = await verifyIssuedJwt(statement, { issuer }, findKeys, clock(), audience);
        const { payload, protectedHeader } = verified;
        if (!TYPES.has(typeOf(protectedHeader))) throw new errors.JWTInvalid('its typ is another');
        return statedMetadata(payload);
      } catch (error) {
        if (!(error instanceof errors.JOSEError)) throw error;
        throw new OAuthError(
          'invalid_software_statement',
          'software_statement: must be a current JWT that its issuer signed for this server',
          { reason: `software statement: ${error.message}` },
        );
      }
    },
    async read(statement) {
      const { decodeJwt } = await import('jose');
      return statedMetadata(decodeJwt(statement));
    },
  };
}

function statedMetadata(claims: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(
    Object.entries(claims).filter(([name]) => !JWT_CLAIMS.has(name) && !NEVER.has(name)),
  );
}

function unapproved(): OAuthError {
  return new OAuthError(
    'unapproved_software_statement',
    'software_statement: its issuer is not trusted here; register without one',
  );
}
