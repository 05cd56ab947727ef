/** Admission to registration: who may register, and how many registrations may wait for their first use. */
import type { Asked } from '@portcullis/http';
import { OAuthError, readCredentials } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import type { AuthorizationStore, ClientInvitationRecord } from '../ports/index.ts';
import { hashSecret, matchesSecret } from '../secrets.ts';
import type { RegistrationRules } from './registration-options.ts';

/** A stranger who may register. */
interface Admission {
  /** The invitation that was presented and is not used yet; `null`: none was needed, or a token of the configuration came. */
  readonly invitation: ClientInvitationRecord | null;
  /** To be called when nothing was registered after all. */
  release(): void;
}

/** Lets a stranger register. Throws `OAuthError`. */
export type AdmitRegistration = (request: Asked) => Promise<Admission>;

/** Seconds between two counts: so much may a few processes together overshoot. */
const COUNTED_EVERY = 10;
/** Seconds. The first registrations to expire make room. */
const TRY_AGAIN = 600;

export function createAdmitRegistration(
  { store, clock }: Pick<Configuration, 'store' | 'clock'>,
  rules: RegistrationRules,
): AdmitRegistration {
  const { mostUnused } = rules;
  let count: UnusedCount = { stored: Promise.resolve(0), admitted: 0, at: Number.NEGATIVE_INFINITY };

  const current = (): UnusedCount => {
    const at = clock();
    if (Math.abs(at - count.at) >= COUNTED_EVERY) {
      count = { stored: store.countUnusedClients(), admitted: 0, at };
      // Whoever fails to count says so; the next one counts again.
      count.stored.catch(() => {
        count = { ...count, at: Number.NEGATIVE_INFINITY };
      });
    }
    return count;
  };

  return async (request) => {
    const invitation = await checkInitialAccess(request, rules, store, clock());
    const known = current();
    const unused = (await known.stored) + known.admitted;
    // Clients that are known already do not come this way.
    if (unused >= mostUnused) {
      throw new OAuthError(
        'temporarily_unavailable',
        'Too many clients have registered and wait for their first use. Try again later.',
        { reason: `registration: ${unused} clients are unused`, retryAfter: TRY_AGAIN },
      );
    }
    known.admitted += 1;
    return {
      invitation,
      release() {
        known.admitted -= 1;
      },
    };
  };
}

/** How many clients were unused, and how many were admitted since. */
interface UnusedCount {
  readonly stored: Promise<number>;
  admitted: number;
  readonly at: number;
}

/** @returns the invitation that was presented; `null` when none was needed, or a token of the configuration. @see RFC 7591 §3 */
async function checkInitialAccess(
  request: Asked,
  { invitedOnly, initialAccessHashes: hashes }: RegistrationRules,
  store: Pick<AuthorizationStore, 'findClientInvitation'>,
  now: number,
): Promise<ClientInvitationRecord | null> {
  if (!invitedOnly) return null;
  const token = readBearer(request);
  if (token === null) throw refuseInitialAccess('none');
  if (hashes.some((known) => matchesSecret(token, known))) return null;
  const invitation = await store.findClientInvitation(hashSecret(token), now);
  if (invitation === null) throw refuseInitialAccess('unknown');
  if (invitation.clientId !== null) throw refuseInitialAccess('used');
  return invitation;
}

export function refuseInitialAccess(reason: 'none' | 'unknown' | 'used'): OAuthError {
  return new OAuthError('invalid_token', 'Send an initial access token of this server as a bearer token.', {
    reason: `initial access token: ${reason}`,
  });
}

/** The bearer token of a request; `null` when there is none that can be read. */
export function readBearer(request: Asked): string | null {
  const credentials = readCredentials(request.headers.get('authorization'));
  return credentials.kind === 'token' && credentials.scheme === 'Bearer' ? credentials.token : null;
}
