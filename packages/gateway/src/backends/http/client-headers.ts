/** The headers of the client's request that is being handled, for backends that are reached by whole messages. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingHttpHeaders } from 'node:http';

const handled = new AsyncLocalStorage<IncomingHttpHeaders>();

/** Handles a request: what reaches a backend meanwhile is sent for it. */
export function withClientHeaders<T>(headers: IncomingHttpHeaders, handle: () => T): T {
  return handled.run(headers, handle);
}

/** Those that a server's `forward` names; none outside of a request. @param names in lower case */
export function namedClientHeaders(names: readonly string[]): Readonly<Record<string, string>> {
  const headers = names.length === 0 ? undefined : handled.getStore();
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers?.[name];
      return typeof value === 'string' ? [[name, value]] : [];
    }),
  );
}
