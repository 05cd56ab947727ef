/** Events of a session, retained for a client that resumes a stream, bounded in number and size. */
import { randomBytes } from 'node:crypto';
import type { Message } from '@portcullis/http';
import type { createGauge } from '../../gauge.ts';
import { MAX_EVENT_CHARACTERS, MAX_EVENTS, RESUME_GRACE } from '../../limits.ts';

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
  /** `performance.now()` */
  readonly at: number;
  /** Releases its characters. */
  readonly release: () => void;
}

/** In the id of an event: its stream responds to requests. Known also when the event is no longer retained. */
const RESPONSE = 'r';

/** Whether an id has the form of an event whose stream responds to requests: by it, a client opens no other stream. */
export function namesResponse(id: string): boolean {
  return id.includes(`.${RESPONSE}`);
}

/** Counts the characters that are retained for all sessions of each user. */
export type EventMemory = Pick<ReturnType<typeof createGauge>, 'take'>;

export function createEventLog(user: string, memory: EventMemory) {
  const prefix = randomBytes(6).toString('base64url');
  let retained: RetainedEvent[] = [];
  let size = 0;
  let last = 0;
  let isClosed = false;

  function drop(event: RetainedEvent): void {
    size -= event.size;
    event.release();
  }

  function retain(isRetained: (event: RetainedEvent) => boolean): void {
    const dropped = retained.filter((event) => !isRetained(event));
    retained = retained.filter(isRetained);
    dropped.forEach(drop);
  }

  function dropOldest(): void {
    retained.splice(0, 1).forEach(drop);
  }

  return {
    /** Retains a message of a stream. The oldest are dropped first, so that what follows an event is complete. @returns its event id */
    add(stream: ClientStream, message: Message | null): string {
      last += 1;
      const id = `${prefix}.${stream.isStandalone ? '' : RESPONSE}${last}`;
      const event = { id, stream, message, size: JSON.stringify(message).length, at: performance.now() };
      const isFull = () => retained.length >= MAX_EVENTS || size + event.size > MAX_EVENT_CHARACTERS;
      while (retained.length > 0 && isFull()) dropOldest();
      let release = isClosed ? null : memory.take(user, event.size);
      while (release === null && retained.length > 0) {
        dropOldest();
        release = memory.take(user, event.size);
      }
      if (release === null) return id;
      retained.push({ ...event, release });
      size += event.size;
      return id;
    },
    /** The messages after an event, of its stream; `null` for an event that is unknown here. */
    after(id: string): StreamEvents | null {
      const index = retained.findIndex((event) => event.id === id);
      const found = retained[index];
      if (found === undefined) return null;
      const rest = retained.slice(index + 1).filter(({ stream }) => stream === found.stream);
      // They are sent and retained with new ids.
      retain((event) => !rest.includes(event));
      return {
        stream: found.stream,
        messages: rest.flatMap(({ message }) => (message === null ? [] : [message])),
      };
    },
    /** Drops what clients have had the time to resume. */
    sweep(isOver: (stream: ClientStream) => boolean): void {
      const before = performance.now() - RESUME_GRACE;
      retain(({ stream, at }) => at > before || !isOver(stream));
    },
    close(): void {
      isClosed = true;
      retain(() => false);
    },
  };
}
