/** Back-channel logout: an identity provider reports that a user has logged out there, and ends what was signed in through it. */
import { readFormBody, respond } from '@portcullis/http';
import { OAuthError } from '@portcullis/protocol';
import { errors } from 'jose';
import { ISSUER_CLOCK_TOLERANCE } from '../assertions/assertion-error.ts';
import { createIssuerKeys, type FindIssuerKeys } from '../assertions/issuer-keys.ts';
import { verifyIssuedJwt } from '../assertions/verify-issued-jwt.ts';
import { typeOf } from '../clients/verify-jwt.ts';
import { endUserAccess } from '../federation/end-user-access.ts';
import type { FederationContext } from '../federation/provider/identity-provider.ts';
import type { Route } from '../http/router.ts';

/**
 * One endpoint for each provider that has `backChannelLogout`. A logout token ends only what is older than itself: a repeated one
 * never ends a later session, and needs no record of used tokens.
 * @see OpenID Connect Back-Channel Logout 1.0 §2.5 to §2.8
 */
export function createBackChannelLogout(context: FederationContext): readonly Route[] {
  const findKeys = createIssuerKeys(context);
  return [...context.options.identityProviders.values()].flatMap((identityProvider) => {
    const { id, clientId, provider, backChannelLogout } = identityProvider;
    if (backChannelLogout === null) return [];
    return {
      method: 'POST' as const,
      path: `/back-channel-logout/${id}`,
      async handle(request) {
        const token = (await readFormBody(request)).required('logout_token');
        const rules = { issuer: provider.issuer, audience: clientId, now: context.clock() };
        const { subject, sessionId, issuedAt } = await verifyLogoutToken(token, rules, findKeys);
        const linked =
          subject === null ? null : await context.store.findLinkedIdentity(provider.issuer, subject);
        const end = { accountId: linked?.accountId ?? null, sessionId, reportedAt: issuedAt };
        await endUserAccess(context, identityProvider, end, backChannelLogout);
        return respond(200, { 'cache-control': 'no-store' });
      },
    } satisfies Route;
  });
}

/** What a verified logout token says. It has a `sub`, a `sid`, or both. */
interface LogoutToken {
  readonly subject: string | null;
  /** The session at the provider; `null`: all sessions of the subject. */
  readonly sessionId: string | null;
  /** Epoch seconds. */
  readonly issuedAt: number;
}

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const MAX_LENGTH = 16_384;
/** Seconds from `iat` to `exp` at most: "preferably at most two minutes in the future". */
const MAX_LIFETIME = 3600;

/**
 * @param now epoch seconds
 * @throws OAuthError `invalid_request`, or `temporarily_unavailable` while the provider's keys are
 * @see OpenID Connect Back-Channel Logout 1.0 §2.6
 */
export async function verifyLogoutToken(
  token: string,
  { issuer, audience, now }: { readonly issuer: string; readonly audience: string; readonly now: number },
  findKeys: FindIssuerKeys,
): Promise<LogoutToken> {
  if (token.length > MAX_LENGTH) throw invalidLogoutToken('it is too long');
  try {
    const { payload, protectedHeader } = await verifyIssuedJwt(token, { issuer }, findKeys, now, {
      audience,
      requiredClaims: ['exp', 'iat', 'jti'],
      clockTolerance: ISSUER_CLOCK_TOLERANCE,
    });
    const { iat = 0, exp = 0, nonce, events, sub, sid } = payload;
    // Older providers name no type. An ID token is rejected in any case: it has no logout event. @see §2.4
    if (![undefined, 'jwt', 'logout+jwt'].includes(typeOf(protectedHeader)))
      throw invalidLogoutToken('its typ is another');
    if (nonce !== undefined) throw invalidLogoutToken('it has a nonce');
    if (!isLogoutEvent(events)) throw invalidLogoutToken('its events have no logout');
    if (iat > now + ISSUER_CLOCK_TOLERANCE) throw invalidLogoutToken('it was issued in the future');
    if (exp > iat + MAX_LIFETIME) throw invalidLogoutToken(`it lives longer than ${MAX_LIFETIME} seconds`);
    const [subject, sessionId] = [sub, sid].map(readIdentifier);
    if (subject === undefined || sessionId === undefined || (subject === null && sessionId === null))
      throw invalidLogoutToken('it names neither a user nor a session');
    // PostgreSQL does not compare a fraction with its integers. @see RFC 7519 §2, NumericDate
    return { subject, sessionId, issuedAt: Math.floor(iat) };
  } catch (error) {
    if (error instanceof errors.JOSEError) throw invalidLogoutToken(error.message);
    throw error;
  }
}

function isLogoutEvent(events: unknown): boolean {
  if (typeof events !== 'object' || events === null || !Object.hasOwn(events, EVENT)) return false;
  const event: unknown = (events as Readonly<Record<string, unknown>>)[EVENT];
  return typeof event === 'object' && event !== null && !Array.isArray(event);
}

/** `null`: it is missing; `undefined`: it cannot be one. PostgreSQL stores no U+0000. */
function readIdentifier(value: unknown): string | null | undefined {
  if (value === undefined) return null;
  return typeof value === 'string' && value !== '' && value.length <= 255 && !value.includes('\0')
    ? value
    : undefined;
}

function invalidLogoutToken(reason: string): OAuthError {
  return new OAuthError(
    'invalid_request',
    'The logout_token must be a current one of this provider, for this client.',
    { reason: `logout token: ${reason}` },
  );
}
