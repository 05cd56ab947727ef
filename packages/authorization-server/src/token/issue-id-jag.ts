/** Issues ID-JAGs: identity assertions about users of an organization for another authorization server. */
import {
  acrOf,
  ID_JAG_TYPE,
  matchResource,
  OAuthError,
  type Parameters,
  readRequestedScopes,
  TOKEN_TYPES,
  type VerifiedProof,
} from '@portcullis/protocol';
import type { AssertionAudience } from '../assertions/options.ts';
import type { AuthenticatedClient } from '../clients/verify-client-credentials.ts';
import { createRateLimitCheck } from '../rate-limit/limiter.ts';
import { newIdentifier } from '../secrets.ts';
import { listActors } from './delegate.ts';
import type { GrantServices } from './grant-handler.ts';
import { createFindSubject, invalidSubject } from './id-jag-subject.ts';

/** Seconds. The client presents it at once. */
const LIFETIME = 300;

/** The response of RFC 8693 §2.2.1: the assertion is no token, so its `token_type` is `N_A`. */
interface IdJagResponse {
  readonly access_token: string;
  readonly issued_token_type: typeof TOKEN_TYPES.idJag;
  readonly token_type: 'N_A';
  readonly expires_in: number;
  readonly scope?: string;
  readonly resource?: string;
}

/**
 * @param proof the DPoP proof of the request, whose key the assertion is bound to; `null`: it is bound to its client alone
 * @see draft-ietf-oauth-identity-assertion-authz-grant §4.3 and §9.8.1.1
 */
export type IssueIdJag = (
  client: AuthenticatedClient,
  form: Parameters,
  proof: VerifiedProof | null,
) => Promise<IdJagResponse>;

export function createIssueIdJag(services: GrantServices): IssueIdJag {
  const { context, accessTokens } = services;
  const { clock, events, store, options } = context;
  const { assertionAudiences, issuer } = options;
  const findSubject = createFindSubject(services);
  const checkRateLimit = createRateLimitCheck(context, 'exchanges');

  return async (client, form, proof) => {
    if ([...form.all('actor_token'), ...form.all('actor_token_type')].length > 0) {
      throw new OAuthError('invalid_request', 'Omit actor_token.');
    }
    // Ignored, they would leave an assertion that allows more than was requested.
    if (form.all('authorization_details').length > 0) {
      throw new OAuthError('invalid_request', 'This server has no authorization_details: request scopes.');
    }
    const { entry, clientId } = chooseAudience(client, form);
    const wanted = readWanted(entry, form);
    const { accountId, authentication, actor } = await findSubject(client, form, proof);
    await checkRateLimit(`${client.id} ${accountId}`);
    const account = await store.findAccount(accountId);
    if (account === null || account.disabledAt !== null)
      throw invalidSubject('its account is disabled or gone');
    const now = clock();
    const email = (await store.findProfile(accountId))?.email ?? null;
    // Point of no return: the proof is used.
    await proof?.consume();
    const assertion = accessTokens.signAs(ID_JAG_TYPE, {
      iss: issuer,
      sub: accountId,
      aud: entry.audience,
      client_id: clientId,
      jti: newIdentifier('token'),
      iat: now,
      exp: now + LIFETIME,
      ...wanted,
      ...(email !== null && { email, email_verified: true }),
      ...(authentication !== null && {
        auth_time: authentication.time,
        acr: acrOf(authentication),
        amr: authentication.methods,
      }),
      ...(actor !== undefined && { act: actor }),
      ...(proof !== null && { cnf: { jkt: proof.thumbprint } }),
    });
    events({
      type: 'assertion.issued',
      clientId: client.id,
      accountId,
      audience: entry.audience,
      ...(actor !== undefined && { actors: listActors(actor) }),
    });
    return {
      access_token: assertion,
      issued_token_type: TOKEN_TYPES.idJag,
      token_type: 'N_A',
      expires_in: LIFETIME,
      ...wanted,
    };
  };

  /** The organization's policy: which client may go where. */
  function chooseAudience(client: AuthenticatedClient, form: Parameters) {
    const [audience = form.required('audience'), ...others] = form.all('audience');
    const entry = assertionAudiences.find((one) => one.audience === audience);
    if (entry === undefined || others.length > 0) {
      throw new OAuthError(
        'invalid_target',
        'The audience must be one authorization server that is configured here.',
      );
    }
    const clientId = Object.hasOwn(entry.clients, client.id) ? entry.clients[client.id] : undefined;
    if (clientId === undefined || client.authenticationMethod === 'none') {
      throw new OAuthError('unauthorized_client', 'This client gets no assertion for that audience.');
    }
    return { entry, clientId };
  }
}

/** What the assertion allows: at most what the organization does. */
function readWanted(
  { audience, scopes, resources }: AssertionAudience,
  form: Parameters,
): { readonly scope?: string; readonly resource?: string } {
  const requested = readRequestedScopes(form.one('scope'));
  if (scopes !== undefined && requested?.some((scope) => !scopes.includes(scope))) {
    throw new OAuthError('invalid_scope', 'The organization allows fewer scopes for that audience.');
  }
  const [named, ...others] = form.all('resource');
  const resource = named === undefined ? undefined : findAllowed(named, resources, audience);
  if (others.length > 0 || resource === null) {
    throw new OAuthError('invalid_target', 'The organization allows another resource for that audience.');
  }
  const granted = requested ?? scopes ?? [];
  return {
    ...(granted.length > 0 && { scope: granted.join(' ') }),
    ...(resource !== undefined && { resource }),
  };
}

/**
 * The resource as it is configured; `null`: it is not allowed. Each pair of audience and resource MUST be a known one, or an
 * assertion could be led to a resource of another server.
 * @see enterprise-managed authorization §7.6.1
 */
function findAllowed(named: string, resources: readonly string[] | undefined, audience: string) {
  if (resources !== undefined) return matchResource(resources, named);
  return URL.parse(named)?.origin === URL.parse(audience)?.origin ? named : null;
}
