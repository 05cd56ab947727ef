/** Events of a session, kept for a client that resumes a stream, bounded in number and size. */
import { randomBytes } from 'node:crypto';
import type { Message } from '@portcullis/http';

export interface EventLog {
  /** Keeps a message of a stream. @returns its event id */
  add(stream: number, message: Message): string;
  /** The messages after an event, of its stream; `null` for an event that is unknown here. */
  after(id: string): { readonly stream: number; readonly messages: readonly Message[] } | null;
}

interface KeptEvent {
  readonly id: string;
  readonly stream: number;
  readonly message: Message;
  readonly size: number;
}

const MAX_EVENTS = 500;
const MAX_CHARACTERS = 2 * 1024 * 1024;

export function createEventLog(): EventLog {
  const prefix = randomBytes(6).toString('base64url');
  let kept: KeptEvent[] = [];
  let size = 0;
  let last = 0;
  return {
    add(stream, message) {
      last += 1;
      const event = { id: `${prefix}.${last}`, stream, message, size: JSON.stringify(message).length };
      kept.push(event);
      size += event.size;
      while (kept.length > MAX_EVENTS || (size > MAX_CHARACTERS && kept.length > 1))
        size -= kept.shift()?.size ?? 0;
      return event.id;
    },
    after(id) {
      const index = kept.findIndex((event) => event.id === id);
      const found = kept[index];
      if (found === undefined) return null;
      const rest = kept.slice(index + 1).filter(({ stream }) => stream === found.stream);
      // They are sent, and kept, under new ids.
      kept = kept.filter((event) => !rest.includes(event));
      size -= rest.reduce((sum, event) => sum + event.size, 0);
      return { stream: found.stream, messages: rest.map(({ message }) => message) };
    },
  };
}
