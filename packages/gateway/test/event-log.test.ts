/** Events that sessions retain for clients that resume a stream: for how long, and how much of each user. */
import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createEventLog } from '../src/backends/clients/events.ts';
import type { Reply } from '../src/backends/clients/reply.ts';
import { createSessionTable } from '../src/backends/clients/session-table.ts';
import { createGauge } from '../src/gauge.ts';
import {
  MAX_EVENT_CHARACTERS,
  MAX_EVENT_CHARACTERS_OF_USER,
  RESUME_GRACE,
  SESSION_SWEEP,
} from '../src/limits.ts';
import type { GatewayRequest } from '../src/servers/request.ts';
import { createSealer } from '../src/sessions/sealer.ts';

const messageOf = (text: string) =>
  ({ jsonrpc: '2.0', method: 'notifications/message', params: { text } }) as const;
const response = () => ({ isStandalone: false });

describe('the events of a session', () => {
  afterEach(() => void vi.useRealTimers());

  it('are dropped by a sweep when their stream is over and could be resumed for a time', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'performance'] });
    const table = createSessionTable(createSealer(randomBytes(32)), () => new Promise(() => {}));
    const owner = { issuer: 'https://as.example', subject: 'alice' };
    const request = { owner, principal: { grantId: 'g' } } as unknown as GatewayRequest;
    const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {} };
    const { events, responding } = table.open(request, 'session', initialize);
    const [over, open, standalone] = [response(), response(), { isStandalone: true }];
    responding.set(open, { first: {} as Reply, current: {} as Reply });
    const ids = [over, open, standalone].map((stream) => events.add(stream, messageOf('')));
    vi.advanceTimersByTime(SESSION_SWEEP - RESUME_GRACE + 1);
    ids.push(events.add(response(), messageOf('recent')));
    const known = () => ids.map((id) => events.after(id) !== null);
    expect(known()).toEqual([true, true, true, true]);
    vi.advanceTimersByTime(RESUME_GRACE);
    expect(known()).toEqual([false, true, true, true]);
    responding.delete(open);
    vi.advanceTimersByTime(SESSION_SWEEP);
    expect(known()).toEqual([false, false, true, false]);
    await table.close();
  });

  it('are limited for all sessions of a user, and what follows an event is complete', () => {
    const memory = createGauge(() => MAX_EVENT_CHARACTERS_OF_USER);
    const long = messageOf('a'.repeat(MAX_EVENT_CHARACTERS - 1000));
    const count = MAX_EVENT_CHARACTERS_OF_USER / MAX_EVENT_CHARACTERS;
    const logs = Array.from({ length: count }, () => createEventLog('alice', memory));
    for (const log of logs) log.add(response(), long);
    const another = createEventLog('alice', memory);
    const stream = response();
    const first = another.add(stream, messageOf('first'));
    expect(another.after(first)?.messages).toEqual([]);
    const second = another.add(stream, long);
    expect([another.after(first), another.after(second)]).toEqual([null, null]);
    const ofBob = createEventLog('bob', memory);
    expect(ofBob.after(ofBob.add(stream, long))).toEqual({ stream, messages: [] });
    logs[0]?.close();
    logs[0]?.add(stream, long);
    expect(another.after(another.add(stream, long))).toEqual({ stream, messages: [] });
  });
});
