/** Events of a session, retained for a client that resumes a stream, bounded in number and size. */
import { randomBytes } from 'node:crypto';
import type { Message } from '@portcullis/http';
import {
  MAX_EVENT_CHARACTERS,
  MAX_EVENT_CHARACTERS_OF_USER,
  MAX_EVENTS,
  RESUME_GRACE,
} from '../../limits.ts';

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
}

/** In the id of an event: its stream responds to requests. Known also when the event is no longer retained. */
const RESPONSE = 'r';

/** Whether an id has the form of an event whose stream responds to requests: by it, a client opens no other stream. */
export function namesResponse(id: string): boolean {
  return id.includes(`.${RESPONSE}`);
}

export type EventMemory = ReturnType<typeof createEventMemory>;

/** Counts the characters that are retained for all sessions of each user. */
export function createEventMemory() {
  const characters = new Map<string, number>();
  return {
    /** @returns whether the user may retain so many more */
    take(user: string, size: number): boolean {
      const total = (characters.get(user) ?? 0) + size;
      if (total > MAX_EVENT_CHARACTERS_OF_USER) return false;
      characters.set(user, total);
      return true;
    },
    release(user: string, size: number): void {
      const left = (characters.get(user) ?? 0) - size;
      if (left > 0) characters.set(user, left);
      else characters.delete(user);
    },
  };
}

export function createEventLog(user: string, memory: EventMemory) {
  const prefix = randomBytes(6).toString('base64url');
  let retained: RetainedEvent[] = [];
  let size = 0;
  let last = 0;
  let isClosed = false;

  function retain(isRetained: (event: RetainedEvent) => boolean): void {
    const before = size;
    retained = retained.filter(isRetained);
    size = retained.reduce((sum, event) => sum + event.size, 0);
    memory.release(user, before - size);
  }

  function dropOldest(): void {
    const dropped = retained.shift()?.size ?? 0;
    size -= dropped;
    memory.release(user, dropped);
  }

  return {
    /** Retains a message of a stream. The oldest are dropped first, so that what follows an event is complete. @returns its event id */
    add(stream: ClientStream, message: Message | null): string {
      last += 1;
      const id = `${prefix}.${stream.isStandalone ? '' : RESPONSE}${last}`;
      const event = { id, stream, message, size: JSON.stringify(message).length, at: performance.now() };
      const isFull = () => retained.length >= MAX_EVENTS || size + event.size > MAX_EVENT_CHARACTERS;
      while (retained.length > 0 && isFull()) dropOldest();
      let isTaken = !isClosed && memory.take(user, event.size);
      while (!isTaken && retained.length > 0) {
        dropOldest();
        isTaken = memory.take(user, event.size);
      }
      if (!isTaken) return id;
      retained.push(event);
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
