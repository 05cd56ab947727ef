/** What security events end: one table of the types that this receiver requests and acts on. */
import type { JsonFields } from '@portcullis/http';
import type { EndedAccess } from '../federation/end-user-access.ts';

const CAEP = 'https://schemas.openid.net/secevent/caep/event-type/';
const RISC = 'https://schemas.openid.net/secevent/risc/event-type/';

type Effect = EndedAccess | ((details: JsonFields) => EndedAccess | null);

/** @see CAEP 1.0 §3, RISC 1.0 §2 */
const EFFECTS: Readonly<Record<string, Effect>> = {
  [`${CAEP}session-revoked`]: 'everything',
  // A new credential says nothing about sessions that began with another one.
  [`${CAEP}credential-change`]: ({ change_type: change }) => (change === 'create' ? null : 'sessions'),
  [`${CAEP}assurance-level-change`]: ({ change_direction: direction }) =>
    direction === 'increase' ? null : 'sessions',
  [`${CAEP}device-compliance-change`]: ({ current_status: status }) =>
    status === 'compliant' ? null : 'everything',
  [`${RISC}account-disabled`]: 'everything',
  [`${RISC}account-purged`]: 'everything',
  [`${RISC}sessions-revoked`]: 'everything',
  [`${RISC}credential-compromise`]: 'everything',
  [`${RISC}account-credential-change-required`]: 'sessions',
};

/** The types to request of a transmitter. */
export const requestedEvents: readonly string[] = Object.keys(EFFECTS);

/** What an event ends; `null`: nothing. */
export function effectOf(type: string, details: JsonFields): EndedAccess | null {
  const effect = Object.hasOwn(EFFECTS, type) ? EFFECTS[type] : undefined;
  return typeof effect === 'function' ? effect(details) : (effect ?? null);
}

/** About the stream itself. @see Shared Signals Framework 1.0 §8.1.4, §8.1.5 */
export const VERIFICATION = 'https://schemas.openid.net/secevent/ssf/event-type/verification';
export const STREAM_UPDATED = 'https://schemas.openid.net/secevent/ssf/event-type/stream-updated';
