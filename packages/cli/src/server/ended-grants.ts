/** The grants that any process has ended, for streams that are open in this one: looked up once a second while there are some. */
import type { AuthorizationStore } from '@portcullis/authorization-server/store';
import { repeat } from './repeat.ts';

type Listener = (grantIds: readonly string[]) => void;

/** Milliseconds. */
const INTERVAL = 1_000;
/** Seconds for which a grant is reported again: clocks of processes differ, and a check may have begun just before. */
const OVERLAP = 10;

/** Subscribes to ended grants. @returns a function that unsubscribes */
export type EndedGrants = (listener: Listener) => () => void;

export function createEndedGrants(store: Pick<AuthorizationStore, 'listRevokedGrants'>): EndedGrants {
  const listeners = new Set<Listener>();
  let stop: (() => Promise<void>) | null = null;

  /** An outage ends no stream, and the store reports it. */
  async function look(): Promise<void> {
    const grants = await store.listRevokedGrants(Math.floor(Date.now() / 1000) - OVERLAP);
    if (grants.length > 0) for (const listener of listeners) listener(grants);
  }

  return (listener) => {
    listeners.add(listener);
    stop ??= repeat(INTERVAL, look);
    return () => {
      listeners.delete(listener);
      if (listeners.size > 0) return;
      void stop?.();
      stop = null;
    };
  };
}
