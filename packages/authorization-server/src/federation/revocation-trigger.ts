/** Events after which grants may have ended: what ended here may have to end at a third party. */
import type { AuthorizationEvent, EventSink } from '../audit/events.ts';

const ENDINGS: readonly AuthorizationEvent['type'][] = [
  'grant.revoked', 'account.disabled', 'account.removed', 'provider_token.ended', 'client.removed', 'authorization_code.replayed', 'provider_token.discarded',
  'refresh_token.reuse_detected', 'token.revoked',
]; // biome-ignore format: one list

export interface RevocationTrigger {
  /** The same sink, in which endings are noticed. */
  watch(sink: EventSink): EventSink;
  /** Says who hears of the endings from now on: one at a time. */
  subscribe(hear: () => void): void;
}

/** Makes the room; nobody hears yet. */
export function createRevocationTrigger(): RevocationTrigger {
  let hear = (): void => undefined;
  return {
    watch: (sink) => (event) => {
      sink(event);
      if (ENDINGS.includes(event.type)) hear();
    },
    subscribe(listener) {
      hear = listener;
    },
  };
}
