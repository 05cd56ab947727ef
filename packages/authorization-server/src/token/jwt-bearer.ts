/** The JWT bearer grant: an assertion of a trusted issuer names the user or workload that a client acts for. */
import { hash } from 'node:crypto';
import type { ConnectionInfo } from '@portcullis/http';
import {
  type Actor,
  impliedScopes,
  JWT_BEARER,
  matchResource,
  OAuthError,
  readRequestedAccess,
  readScopes,
  type Scopes,
  type VerifiedProof,
} from '@portcullis/protocol';
import { createFindAssertedUser } from '../assertions/asserted-user.ts';
import { ISSUER_CLOCK_TOLERANCE, invalidAssertion } from '../assertions/assertion-error.ts';
import { matchesClaims, type TrustedIssuer } from '../assertions/assertion-issuers.ts';
import { createIssuerKeys } from '../assertions/issuer-keys.ts';
import type { VerifiedAssertion, VerifyAssertion } from '../assertions/verify-assertion.ts';
import type { AuthenticatedClient } from '../clients/verify-client-credentials.ts';
import { createRateLimitCheck } from '../rate-limit/limiter.ts';
import { networkOf } from '../rate-limit/policies.ts';
import type { ResourceDefinition } from '../resources/options.ts';
import { newIdentifier } from '../secrets.ts';
import { readFederatedAuthentication } from '../users/federated-authentication.ts';
import { listActors, MAX_ACTORS } from './delegate.ts';
import {
  checkGranted,
  chooseResource,
  type DownscopedAccess,
  downscope,
  type GrantedAccess,
} from './downscope.ts';
import type { GrantHandler, GrantServices } from './grant-handler.ts';
import type { TokenContext } from './options.ts';

/**
 * Issues no refresh token: an assertion is short-lived, and the client obtains another one from the issuer.
 * @see RFC 7523 §2.1, draft-ietf-oauth-identity-assertion-authz-grant §4.4
 */
export function createJwtBearerGrant({ context, issueAccessToken }: GrantServices): GrantHandler {
  const { clock, events, options } = context;
  const { lifetimes, assertionIssuers } = options;
  const checkRateLimit = createRateLimitCheck(context, 'clientTokens');
  const findUser = createFindAssertedUser(context);
  const verify = createLazyVerifier(context);
  return async (client, form, connection, proof) => {
    const text = form.required('assertion');
    const request = readRequestedAccess(form);
    const assertion = await verify(text, [...assertionIssuers, ...workloadOf(client)]);
    const entry = chooseEntry(assertion, client);
    checkRestrictions(assertion, entry);
    checkKey(assertion.claims['cnf'], proof);
    // A workload does not authenticate otherwise: before this line, anyone could use up the limit of its client.
    await checkRateLimit(client.id);
    const actor = readActor(assertion);
    const user = assertion.use === 'id-jag' ? await findUser(assertion.claims, entry) : null;
    const granted = grantedAccess(options, assertion, entry, client, request.resources);
    const recipient = { clientId: client.id, accountId: user?.accountId ?? null };
    const access = await downscope(context, recipient, granted, request);
    await checkGranted(context, recipient, granted, access);
    // Point of no return: the proof is used, and then the assertion. A proof that was used before uses no assertion up.
    await proof?.consume();
    await consume(context, text, assertion, entry);
    const now = clock();
    const accountId = user === null ? null : await user.save();
    const grantId =
      accountId === null ? null : await saveGrant(context, client, accountId, entry, access, connection);
    const until = now + lifetimes.accessToken;
    const holder = {
      subject: accountId ?? client.id,
      clientId: client.id,
      grantId,
      workspace: null,
      until,
      proof: proof && { ...proof, consume: async () => {} },
      ...(actor !== null && { actor }),
      authentication: readFederatedAuthentication(assertion.claims, entry.twoFactorValues ?? [], now),
    };
    const response = await issueAccessToken(holder, access, now);
    const { resource, scopes } = access;
    events({
      type: 'token.issued',
      grantType: JWT_BEARER,
      clientId: client.id,
      resource,
      scopes,
      issuer: entry.issuer,
      subject: assertion.claims.sub,
      ...(actor !== null && { actors: listActors(actor) }),
      ...(accountId !== null && grantId !== null && { accountId, grantId, managedBy: entry.issuer }),
    });
    // "MUST include the granted resource (if any)" (draft-ietf-oauth-identity-assertion-authz-grant §4.4.1)
    return { ...response, resource };
  };
}

/** Of concurrent requests with an assertion, in any number of processes, one is served. @see RFC 7523 §3, item 7 */
async function consume(
  { store }: TokenContext,
  text: string,
  { claims, use }: VerifiedAssertion,
  entry: TrustedIssuer,
): Promise<void> {
  if (entry.singleUse === false) return;
  const { iss, jti, exp } = claims;
  const isIdentified = typeof jti === 'string' && jti !== '';
  if (!isIdentified && use === 'id-jag') throw invalidAssertion('it has no jti');
  // Without its signature, of which there are many for the same token: in another encoding, or as ECDSA allows.
  const signed = text.slice(0, text.lastIndexOf('.'));
  const unique = hash('sha256', JSON.stringify([JWT_BEARER, iss, isIdentified ? jti : signed]), 'base64url');
  if (!(await store.consumeClientAssertion(unique, exp + ISSUER_CLOCK_TOLERANCE)))
    throw invalidAssertion('used before');
}

async function saveGrant(
  { clock, store, options }: TokenContext,
  client: AuthenticatedClient,
  accountId: string,
  entry: TrustedIssuer,
  { resource, scopes }: DownscopedAccess,
  connection: ConnectionInfo,
): Promise<string> {
  const now = clock();
  const id = await store.saveManagedGrant({
    id: newIdentifier('grant'),
    clientId: client.id,
    accountId,
    scopes,
    resources: [resource],
    workspace: null,
    consentDigest: '',
    createdAt: now,
    expiresAt: now + options.lifetimes.accessToken,
    lastUsedAt: now,
    lastUsedFrom: networkOf(connection),
    managedBy: entry.issuer,
  });
  if (id === null) throw invalidAssertion('the account is disabled or gone');
  return id;
}

/**
 * At most what the assertion, its issuer and the client's registration allow. No user sees what an ID-JAG grants: without scopes it
 * grants the default ones, and always those of one resource.
 */
function grantedAccess(
  { resources }: TokenContext['options'],
  { claims, use }: VerifiedAssertion,
  entry: TrustedIssuer,
  { metadata }: AuthenticatedClient,
  requested: readonly string[],
): GrantedAccess {
  const issuerLimit = maximumScopes(entry, claims);
  const registered = metadata.scope === undefined ? null : readScopes(metadata.scope);
  const asserted = typeof claims['scope'] === 'string' ? readScopes(claims['scope']) : null;
  const scopesOf = (resource: string): Scopes => {
    const definition = resources.get(resource);
    const offered = Object.keys(definition?.scopes ?? {});
    // The client's maximum contains what its scopes include, as at the authorization endpoint.
    const clientLimit = registered && [...impliedScopes(registered, definition?.hierarchy ?? {})];
    const limits =
      use === 'id-jag'
        ? [issuerLimit, clientLimit, asserted ?? defaultScopesOf(definition, offered)]
        : [issuerLimit, registered];
    return offered.filter((scope) => limits.every((limit) => limit === null || limit.includes(scope)));
  };
  if (use === 'workload') {
    const served = [...resources.keys()];
    return { resources: served, scopes: [...new Set(served.flatMap(scopesOf))] };
  }
  const named = grantedResources(resources, claims['resource']);
  const [resource, another] =
    requested.length > 0
      ? [chooseResource(named, requested)]
      : named.length === 1
        ? named
        : named.filter((one) => scopesOf(one).length > 0);
  if (another !== undefined)
    throw new OAuthError('invalid_target', 'The assertion is for several resources: request one of them.');
  const scopes = resource === undefined ? [] : scopesOf(resource);
  if (resource === undefined || scopes.length === 0)
    throw new OAuthError(
      'invalid_scope',
      asserted === null
        ? 'The assertion has no scope, and this server grants none by default.'
        : 'This server grants none of the scopes of the assertion.',
    );
  return { resources: [resource], scopes };
}

/** What a request that names no scope gets; unless configured, nothing by which users delete or administer. */
function defaultScopesOf(definition: ResourceDefinition | undefined, offered: Scopes): Scopes {
  if (definition?.defaultScopes !== undefined) return definition.defaultScopes;
  const { access = {}, hierarchy = {} } = definition ?? {};
  const isGrave = (scope: string) => access[scope] === 'delete' || access[scope] === 'administer';
  return offered.filter((scope) => ![...impliedScopes([scope], hierarchy)].some(isGrave));
}

/** The resources that an assertion names, each of which MUST be of this server; all without one. @see RFC 8707 §2 */
function grantedResources(
  resources: TokenContext['options']['resources'],
  named: unknown,
): readonly string[] {
  const served = [...resources.keys()];
  if (named === undefined) return served;
  const names: readonly unknown[] = Array.isArray(named) ? named : [named];
  const found = names.map((name) => (typeof name === 'string' ? matchResource(served, name) : null));
  if (found.length === 0 || found.includes(null)) throw invalidAssertion('it is for another resource');
  return served.filter((resource) => found.includes(resource));
}

/** jose is loaded with the first assertion: most servers see none. */
function createLazyVerifier(context: TokenContext): VerifyAssertion {
  let verifier: Promise<VerifyAssertion> | null = null;
  return async (assertion, issuers) => {
    verifier ??= import('../assertions/verify-assertion.ts').then(({ createVerifyAssertion }) =>
      createVerifyAssertion(context, createIssuerKeys(context)),
    );
    return (await verifier)(assertion, issuers);
  };
}

/** The issuer that an administrator named for a client of the database. */
function workloadOf({ id, metadata }: AuthenticatedClient): readonly TrustedIssuer[] {
  const { workload_identity: workload, scope = '' } = metadata;
  if (workload === undefined) return [];
  const { issuer, match, single_use: singleUse = true } = workload;
  return [{ issuer, use: 'workload', client: id, match, scopes: readScopes(scope), singleUse }];
}

/** The entry of the issuer that allows this client. @see draft-ietf-oauth-identity-assertion-authz-grant §4.4.1 */
function chooseEntry(
  { claims, use, entries }: VerifiedAssertion,
  client: AuthenticatedClient,
): TrustedIssuer {
  if (use === 'id-jag') {
    // "The client_id claim MUST identify the same client as the client authentication in the request."
    if (claims['client_id'] !== client.id) throw invalidAssertion('it is for another client');
    const allowed = entries.filter(({ clients = [] }) => clients.includes(client.id));
    if (allowed.length === 0) throw unauthorized('its issuer is not trusted for this client');
    if (client.authenticationMethod === 'none') throw unauthorized('a public client');
    const matching = allowed.find(({ match = {} }) => matchesClaims(match, claims));
    if (matching === undefined) throw invalidAssertion('its claims do not match');
    return matching;
  }
  const matching = entries.filter(({ match = {} }) => matchesClaims(match, claims));
  const own = matching.find((entry) => entry.client === client.id);
  if (own === undefined) throw invalidAssertion('it is of another workload');
  return own;
}

/**
 * Rejects an ID-JAG with restrictions that this server does not know or cannot read: to ignore them would widen it. Subjects of an issuer with
 * several tenants are unique within a tenant only.
 * @see draft-ietf-oauth-identity-assertion-authz-grant §4.4.1 and §6.3
 */
function checkRestrictions({ claims, use }: VerifiedAssertion, { match }: TrustedIssuer): void {
  if (use !== 'id-jag') return;
  if (claims['authorization_details'] !== undefined) throw invalidAssertion('it has authorization_details');
  if (!['string', 'undefined'].includes(typeof claims['scope']))
    throw invalidAssertion('its scope is no text');
  for (const name of ['tenant', 'aud_tenant']) {
    if (claims[name] !== undefined && match?.[name] === undefined)
      throw invalidAssertion(`it has the claim ${name}, and the configuration names none`);
  }
}

/**
 * An assertion that is bound to a key is accepted with a DPoP proof of that key only.
 * @see draft-ietf-oauth-identity-assertion-authz-grant §9.8.1.2, RFC 7800 §3
 */
function checkKey(cnf: unknown, proof: VerifiedProof | null): void {
  if (cnf === undefined) return;
  const { jkt, ...others } = Object(cnf) as Readonly<Record<string, unknown>>;
  if (typeof jkt !== 'string' || Object.keys(others).length > 0)
    throw invalidAssertion('it is bound in a way that this server cannot check');
  if (proof?.thumbprint !== jkt)
    throw invalidAssertion(proof === null ? 'the DPoP proof of its key is missing' : 'its key is another');
}

/**
 * The actors for the user according to the identity provider; `null`: the user's client alone. Left out, delegation would look like the
 * user's own access. An actor without an issuer is one of the assertion's.
 * @see RFC 8693 §4.1, draft-ietf-oauth-identity-assertion-authz-grant §3.1
 */
function readActor({ claims, use }: VerifiedAssertion): Actor | null {
  if (use !== 'id-jag' || claims['act'] === undefined) return null;
  const read = (value: unknown, depth: number): Actor => {
    const { sub, iss = claims.iss, act } = Object(value) as Readonly<Record<string, unknown>>;
    if (!isName(sub) || !isName(iss) || depth > MAX_ACTORS)
      throw invalidAssertion('its act names no actor, or too many');
    return { iss, sub, ...(act !== undefined && { act: read(act, depth + 1) }) };
  };
  return read(claims['act'], 1);
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= 255;
}

function unauthorized(reason: string): OAuthError {
  return new OAuthError('unauthorized_client', 'This client may not redeem assertions of that issuer.', {
    reason: `assertion: ${reason}`,
  });
}

/** `null`: no limit. A workload without scopes has none. */
function maximumScopes(
  { use, scopes, scopesByClaim }: TrustedIssuer,
  claims: VerifiedAssertion['claims'],
): Scopes | null {
  if (use === 'workload') return scopes ?? [];
  if (scopes === undefined && scopesByClaim === undefined) return null;
  const further = (scopesByClaim ?? []).filter(({ match }) => matchesClaims(match, claims));
  return [...(scopes ?? []), ...further.flatMap((one) => one.scopes)];
}
