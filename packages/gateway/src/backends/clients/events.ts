/** Events of a session, retained for a client that resumes a stream, bounded in number and size. */
import { randomBytes } from 'node:crypto';
import type { Message } from '@portcullis/http';
import { MAX_EVENT_CHARACTERS, MAX_EVENTS } from '../../limits.ts';

export type EventLog = ReturnType<typeof createEventLog>;

/** One event stream of a session, on one connection or, when it is resumed, on several. */
export interface ClientStream {
  /** Opened by GET, for messages that belong to no request of the client. */
  readonly isStandalone: boolean;
}

export interface StreamEvents {
  readonly stream: ClientStream;
  readonly messages: readonly Message[];
}

interface RetainedEvent {
  readonly id: string;
  readonly stream: ClientStream;
  /** `null`: the event only has an id, by which its stream is resumed. */
  readonly message: Message | null;
  readonly size: number;
}

export function createEventLog() {
  const prefix = randomBytes(6).toString('base64url');
  let retained: RetainedEvent[] = [];
  let size = 0;
  let last = 0;
  return {
    /** Retains a message of a stream. @returns its event id */
    add(stream: ClientStream, message: Message | null): string {
      last += 1;
      const event = { id: `${prefix}.${last}`, stream, message, size: JSON.stringify(message).length };
      retained.push(event);
      size += event.size;
      while (retained.length > MAX_EVENTS || (size > MAX_EVENT_CHARACTERS && retained.length > 1))
        size -= retained.shift()?.size ?? 0;
      return event.id;
    },
    /** Whether an event is one of a stream that responds to requests of the client. */
    isOfResponse: (id: string): boolean =>
      retained.find((event) => event.id === id)?.stream.isStandalone === false,
    /** The messages after an event, of its stream; `null` for an event that is unknown here. */
    after(id: string): StreamEvents | null {
      const index = retained.findIndex((event) => event.id === id);
      const found = retained[index];
      if (found === undefined) return null;
      const rest = retained.slice(index + 1).filter(({ stream }) => stream === found.stream);
      // They are sent and retained with new ids.
      retained = retained.filter((event) => !rest.includes(event));
      size -= rest.reduce((sum, event) => sum + event.size, 0);
      return {
        stream: found.stream,
        messages: rest.flatMap(({ message }) => (message === null ? [] : [message])),
      };
    },
  };
}
