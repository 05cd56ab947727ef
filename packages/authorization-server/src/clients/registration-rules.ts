/** The rules of registration: who may, what a registration can ever get, and how many may lie about unused. */
import type { Asked } from '@portcullis/http';
import { OAuthError, readCredentials } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import type { Peer } from '../routes.ts';
import { matchesSecret } from '../secrets.ts';
import { createInvitations, type Invitation } from './invitations.ts';
import type { RegistrationRules } from './registration-options.ts';

/** A stranger who may register. One of the two is to be called when the client was stored, or was not after all. */
interface Admission {
  /** Spends the invitation, if there was one. @returns `false` when somebody else has used it: the client must not stay */
  confirm(): Promise<boolean>;
  release(): void;
}

/** Lets a stranger register, or throws `OAuthError`: the place for whatever else limits registrations. */
export type AdmitRegistration = (request: Asked, peer: Peer) => Promise<Admission>;

/** Seconds between two counts: so much may a few processes together overshoot. */
const COUNTED_EVERY = 10;
/** Seconds. The first registrations to expire make room. */
const TRY_AGAIN = 600;

export function createAdmitRegistration(
  configuration: Pick<Configuration, 'store' | 'clock' | 'sealingKey' | 'previousSealingKeys'>,
  rules: RegistrationRules,
): AdmitRegistration {
  const { store, clock } = configuration;
  const { mostUnused } = rules;
  const invitations = createInvitations(configuration);
  let count: Count = { stored: Promise.resolve(0), admitted: 0, at: Number.NEGATIVE_INFINITY };

  const current = (): Count => {
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
    const invitation = checkInitialAccess(request, rules, (token) => invitations.read(token, clock()));
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
      confirm: async () =>
        invitation === null || (await store.spendAssertion(invitation.hash, invitation.expiresAt)),
      release() {
        known.admitted -= 1;
      },
    };
  };
}

/** How many clients were unused, and how many were admitted since. */
interface Count {
  readonly stored: Promise<number>;
  admitted: number;
  readonly at: number;
}

/** @returns the invitation that was presented; `null` when none was needed, or a token of the configuration. @see RFC 7591 §3 */
function checkInitialAccess(
  request: Asked,
  { invitedOnly, initialAccessHashes: hashes }: RegistrationRules,
  read: (token: string) => Invitation | null,
): Invitation | null {
  if (!invitedOnly) return null;
  const token = readBearer(request);
  if (token !== null && hashes.some((known) => matchesSecret(token, known))) return null;
  const invitation = token === null ? null : read(token);
  if (invitation === null) throw refuseInitialAccess(token === null ? 'none' : 'unknown');
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
