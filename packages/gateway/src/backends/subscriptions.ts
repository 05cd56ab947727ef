/** Which sessions of a backend have subscribed to which resources, so that one's end does not end another's. */
import { type Message, parameter } from '@portcullis/http';
import type { View } from './pending.ts';

export interface Subscriptions {
  /** Records what a request has changed that the backend accepted. */
  learn(view: View, message: Message): void;
  /** Whether a request would end a subscription that another session still has. Then it ends here only. */
  isHeldByOthers(view: View, message: Message): boolean;
  /** Whether a session has subscribed to a resource, or to one above it. */
  concerns(view: View, uri: unknown): boolean;
  /** Ends those of a session. @returns the resources that no session is subscribed to any more */
  release(view: View): readonly string[];
  size(): number;
}

export function createSubscriptions(): Subscriptions {
  const subscribers = new Map<string, Set<View>>();

  return {
    learn(view, message) {
      const uri = parameter(message, 'uri');
      if (typeof uri !== 'string') return;
      if (message.method === 'resources/subscribe')
        subscribers.set(uri, (subscribers.get(uri) ?? new Set<View>()).add(view));
      if (message.method === 'resources/unsubscribe') leave(view, uri);
    },
    isHeldByOthers(view, message) {
      const uri = parameter(message, 'uri');
      const known = typeof uri === 'string' ? subscribers.get(uri) : undefined;
      if (message.method !== 'resources/unsubscribe' || known === undefined) return false;
      if (known.size === (known.has(view) ? 1 : 0)) return false;
      known.delete(view);
      return true;
    },
    concerns: (view, uri) =>
      typeof uri === 'string' &&
      [...subscribers].some(([subscribed, known]) => known.has(view) && uri.startsWith(subscribed)),
    release: (view) =>
      [...subscribers].flatMap(([uri, known]) => (known.has(view) && leave(view, uri) ? [uri] : [])),
    size: () => subscribers.size,
  };

  /** Whether the view was the last one. */
  function leave(view: View, uri: string): boolean {
    const known = subscribers.get(uri);
    known?.delete(view);
    return known?.size === 0 && subscribers.delete(uri);
  }
}
