/** Request objects by value: authorization parameters that a client signed (JAR, RFC 9101). */
import type { ConnectionInfo } from '@portcullis/http';
import { OAuthError, type Parameters, readParameters } from '@portcullis/protocol';
import type { ResolvedClient } from '../clients/client.ts';
import type { VerifyClientJwt } from '../clients/verify-client-jwt.ts';
import type { ServerContext } from '../context.ts';
import { siteOf } from '../rate-limit/policies.ts';

/** Seconds until a request object may expire at most. */
const MAX_LIFETIME = 3600;
/** Characters. */
const MAX_LENGTH = 16_384;

/** Accepted `typ` values. @see RFC 9101 §10.8 */
const TYPES: ReadonlySet<string> = new Set(['oauth-authz-req+jwt', 'jwt']);

/** Claims of the JWT itself. */
const REGISTERED = new Set(['iss', 'aud', 'exp', 'iat', 'nbf', 'jti']);

/**
 * The parameters of a request: those of its request object alone, if it has one, and otherwise its own.
 * @throws OAuthError `invalid_request_object`
 */
export type ReadRequestObject = (
  client: ResolvedClient,
  parameters: Parameters,
  connection: ConnectionInfo,
) => Promise<Parameters>;

/** @see RFC 9101 §5.1, §6 and §10 */
export function createReadRequestObject(
  { clock, options: { issuer } }: Pick<ServerContext, 'clock' | 'options'>,
  verify: VerifyClientJwt,
): ReadRequestObject {
  return async (client, parameters, connection) => {
    const object = parameters.one('request');
    return object === undefined ? parameters : toParameters(await readClaims(client, object, connection));
  };

  async function readClaims(
    client: ResolvedClient,
    object: string,
    connection: ConnectionInfo,
  ): Promise<Readonly<Record<string, unknown>>> {
    if (object.length > MAX_LENGTH) throw invalid('too long');
    const { request_object_signing_alg: algorithm } = client.metadata;
    const rules = {
      algorithm,
      types: TYPES,
      issuer: client.id,
      audience: issuer,
      requiredClaims: ['exp', 'client_id'],
    };
    const verified = await verify(client, object, siteOf(connection), rules);
    if ('issue' in verified) throw invalid(verified.issue);
    const issue = issueOf(client, verified.payload);
    if (issue !== null) throw invalid(issue);
    return verified.payload;
  }

  function issueOf({ id }: ResolvedClient, claims: Readonly<Record<string, unknown>>): string | null {
    const { aud, exp, sub, client_id: clientId } = claims;
    if (typeof aud !== 'string') return 'its audience is not one string';
    if (clientId !== id) return 'its client_id is another';
    // Otherwise it could be used as a client assertion. RFC 9101 §10.8
    if (sub !== undefined) return 'it has a subject';
    if (Number(exp) > clock() + MAX_LIFETIME) return `it lives longer than ${MAX_LIFETIME} seconds`;
    return 'request' in claims || 'request_uri' in claims ? 'it contains another request' : null;
  }
}

/** Texts and numbers as they are, lists as repeated parameters. Outside parameters are not merged. @see RFC 9101 §6.3 */
function toParameters(claims: Readonly<Record<string, unknown>>): Parameters {
  const pairs = Object.entries(claims)
    .filter(([name]) => !REGISTERED.has(name))
    .flatMap(([name, value]) =>
      (Array.isArray(value) ? value : [value])
        .filter((one) => typeof one === 'string' || typeof one === 'number')
        .map((one): [string, string] => [name, String(one)]),
    );
  return readParameters(new URLSearchParams(pairs));
}

function invalid(reason: string): OAuthError {
  return new OAuthError(
    'invalid_request_object',
    'The request object must be signed with a key of the client, for this issuer alone, with iss, client_id and exp.',
    { reason: `request object: ${reason}` },
  );
}
