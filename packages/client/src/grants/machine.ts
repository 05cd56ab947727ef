/** Grants without a browser: the application itself, a workload, an enterprise's person. One entry each in a table. */
import { clientCredentialsForm, formatScopes, type Scopes } from '@portcullis/protocol';
import { requireTokenEndpoint } from '../authorization/request.ts';
import type { Discovery } from '../discovery/discover.ts';
import { ClientError } from '../errors.ts';
import type { Registration } from '../registration/registration.ts';
import type { EllipticJwk } from '../tokens/jwk.ts';
import { requestToken, type TokenHands } from '../tokens/token-endpoint.ts';
import { readTokens, type Tokens } from '../tokens/tokens.ts';
import type { ApplicationGrant, EnterpriseGrant, WorkloadGrant } from './settings.ts';

/** What a grant works with. */
export interface GrantCase {
  readonly hands: TokenHands;
  readonly discovery: Discovery;
  readonly registration: Registration;
  readonly scopes: Scopes;
  readonly dpopKey: EllipticJwk | null;
}

export type MachineGrant = ApplicationGrant | WorkloadGrant | EnterpriseGrant;

/** The grant type and the identity-assertion profile by the names of the wire. */
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag';

/** Gets tokens by a grant that needs nobody at a browser. */
export async function obtainByMachine(grant: MachineGrant, situation: GrantCase): Promise<Tokens> {
  switch (grant.kind) {
    case 'application':
      return obtain(
        situation,
        clientCredentialsForm({ resource: situation.discovery.resource, scopes: situation.scopes }),
      );
    case 'workload':
      return obtain(situation, jwtBearerForm(situation, await grant.assertion(situation.discovery.issuer)));
    case 'enterprise':
      return obtain(situation, jwtBearerForm(situation, await exchangeAssertion(grant, situation)));
  }
}

async function obtain(
  { hands, discovery, registration, scopes, dpopKey }: GrantCase,
  form: URLSearchParams,
): Promise<Tokens> {
  const endpoint = requireTokenEndpoint(discovery);
  checkAudience(discovery, registration);
  const json = await requestToken(hands, { endpoint, issuer: discovery.issuer, registration, form, dpopKey });
  return readTokens(json, {
    now: hands.clock(),
    requestedScopes: scopes,
    resource: discovery.resource,
    tokenEndpoint: endpoint,
    clientId: registration.clientId,
    dpopKey,
    refreshToken: null,
    scopes: null,
  });
}

/** An assertion is made for the issuer that was asked, never for one that its document merely names. */
function checkAudience({ metadata, issuer }: Discovery, { authentication }: Registration): void {
  if (authentication !== 'private_key_jwt' || metadata.issuer === issuer) return;
  throw new ClientError(
    'issuer_mismatch',
    `The metadata of ${issuer} names another issuer, so no assertion is made for it.`,
  );
}

/** @see RFC 7523 §2.1 */
function jwtBearerForm(situation: GrantCase, assertion: string): URLSearchParams {
  const form = targetOf(situation, new URLSearchParams({ grant_type: JWT_BEARER, assertion }));
  if (situation.scopes.length > 0) form.set('scope', formatScopes(situation.scopes));
  return form;
}

/** Adds the resource that the token is for, where the profile names it. */
export function targetOf({ discovery }: GrantCase, form: URLSearchParams): URLSearchParams {
  if (discovery.resource !== null) form.set('resource', discovery.resource);
  return form;
}

/**
 * Exchanges the person's identity assertion for one that the server's own authorization server accepts.
 * @see RFC 8693 §2, draft-ietf-oauth-identity-assertion-authz-grant
 */
async function exchangeAssertion(
  grant: EnterpriseGrant,
  { hands, discovery, scopes }: GrantCase,
): Promise<string> {
  const { tokenEndpoint, clientId, clientSecret } = grant.identityProvider;
  const form = new URLSearchParams({
    grant_type: TOKEN_EXCHANGE,
    requested_token_type: ID_JAG,
    audience: discovery.issuer,
    resource: discovery.resource ?? discovery.server,
    subject_token: await grant.subjectToken(),
    subject_token_type: `urn:ietf:params:oauth:token-type:${grant.subjectTokenType ?? 'id_token'}`,
  });
  if (scopes.length > 0) form.set('scope', formatScopes(scopes));
  const json = await requestToken(hands, {
    endpoint: tokenEndpoint,
    issuer: new URL(tokenEndpoint).origin,
    registration: {
      way: 'preregistered',
      clientId,
      clientSecret: clientSecret ?? null,
      authentication: clientSecret === undefined ? 'none' : 'client_secret_basic',
      redirectUris: [],
      secretExpiresAt: null,
    },
    form,
    dpopKey: null,
  });
  return readAssertion(json);
}

function readAssertion(json: unknown): string {
  const document =
    typeof json === 'object' && json !== null ? (json as Readonly<Record<string, unknown>>) : {};
  const assertion = document['access_token'];
  if (typeof assertion === 'string' && assertion !== '' && document['issued_token_type'] === ID_JAG)
    return assertion;
  throw new ClientError(
    'token_response_invalid',
    'The identity provider answered without an identity assertion grant.',
  );
}
