/** Messages about client events for the user of a command: notices, and what is in progress. */
import type { ClientEvent, SignInReason } from '@portcullis/client';
import { cleanLine } from '../terminal/clean.ts';
import type { Activity } from '../terminal/terminal.ts';

/** Why a sign-in starts; `null`: the user requested it. */
const SIGN_IN_REASONS: Readonly<Record<SignInReason, string | null>> = {
  no_tokens: 'there is no session yet',
  tokens_rejected: 'the server no longer accepts the token',
  session_ended: 'the session has ended',
  insufficient_scope: 'the call requires additional scopes',
  insufficient_user_authentication: 'this needs a more recent sign-in, or one with two factors',
  requested: null,
};

/** The notice for an event; `null` if there is none. */
export function noticeFor(event: ClientEvent): string | null {
  switch (event.type) {
    case 'sign_in.started': {
      const reason = SIGN_IN_REASONS[event.reason];
      // The URL to open can be a short one on this computer, which does not show where it leads.
      return `Signing in at ${cleanLine(event.location)}${reason === null ? '' : `, because ${reason}`}.`;
    }
    case 'client.registration_discarded':
      return `Registering the client again at ${cleanLine(event.issuer)}: ${cleanLine(event.reason)}`;
    case 'session.ended':
      return `The session at ${cleanLine(event.issuer)} has ended: ${cleanLine(event.reason)}`;
    case 'sign_in.waiting':
      return 'Another sign-in for this account is in progress. Waiting up to ten minutes for it to finish. To sign in here instead, cancel the other one (Ctrl+C in its terminal).';
    case 'session.revocation_failed':
      return `The previous session could not be revoked at ${cleanLine(event.issuer)}: ${cleanLine(event.reason)} You can revoke it on the connections page there.`;
    case 'tokens.refresh_deferred':
      return `The token could not be refreshed and the session is kept: ${cleanLine(event.reason)}`;
    default:
      return null;
  }
}

/** A command that the server runs starts at its first call, and may be downloaded then; a call may wait for its approval. */
export const WAITING: Activity = [
  'Waiting for the server',
  'Waiting for the server: it may still be starting, or the call may wait for an approval: see its log',
];

/** What is in progress after an event. */
export function activityAfter(event: ClientEvent): Activity | null {
  switch (event.type) {
    case 'discovery.completed':
      return `Contacting ${cleanLine(event.issuer)}`;
    case 'client.registered':
      return `Preparing the sign-in at ${cleanLine(event.issuer)}`;
    case 'sign_in.started':
      return `Signing in at ${cleanLine(event.location)}`;
    case 'sign_in.waiting':
      return 'Waiting for the other sign-in';
    case 'tokens.obtained':
    case 'tokens.refreshed':
      return WAITING;
    default:
      return null;
  }
}
