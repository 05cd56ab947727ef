/** What the person in front of a command is told of what its client does. */
import type { ClientEvent, SignInReason } from '@portcullis/client';
import { cleanLine } from '../terminal/clean.ts';

/** Why somebody is asked who did not ask for it. */
const OCCASIONS: Readonly<Record<SignInReason, string | null>> = {
  no_tokens: 'there is no session yet',
  tokens_rejected: 'the server does not take the token of the session any more',
  session_ended: 'the session has ended',
  insufficient_scope: 'the call needs more than the session may',
  requested: null,
};

/** What a person should know of an event; `null`: nothing. */
export function noticeOf(event: ClientEvent): string | null {
  switch (event.type) {
    case 'sign_in.started': {
      const occasion = OCCASIONS[event.reason];
      return occasion === null ? null : `Signing in at ${cleanLine(event.issuer)}, because ${occasion}.`;
    }
    case 'client.registration_discarded':
      return `The client has to be registered anew at ${cleanLine(event.issuer)}: ${cleanLine(event.reason)}`;
    case 'session.ended':
      return `The session at ${cleanLine(event.issuer)} has ended: ${cleanLine(event.reason)}`;
    case 'sign_in.waiting':
      return 'Another sign-in for this account is under way. This command waits for it, ten minutes at most, and goes on with what it brings. To sign in here instead, end the other one (Ctrl+C where it runs).';
    case 'session.revocation_failed':
      return `The session before could not be ended at ${cleanLine(event.issuer)}: ${cleanLine(event.reason)} It can be ended on the page of connections there.`;
    case 'tokens.refresh_deferred':
      return `The token could not be renewed for now, and the session stays: ${cleanLine(event.reason)}`;
    default:
      return null;
  }
}

/** What is going on after an event. */
export function activityOf(event: ClientEvent): string | null {
  switch (event.type) {
    case 'discovery.completed':
      return `Asking ${cleanLine(event.issuer)}`;
    case 'client.registered':
      return `Preparing the sign-in at ${cleanLine(event.issuer)}`;
    case 'sign_in.started':
      return `Signing in at ${cleanLine(event.issuer)}`;
    case 'sign_in.waiting':
      return 'Waiting for the other sign-in';
    case 'tokens.obtained':
    case 'tokens.refreshed':
      return 'Waiting for the server';
    default:
      return null;
  }
}
