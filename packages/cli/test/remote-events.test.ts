/** `portcullis --server <url> events --follow`: streams that end, and what happened meanwhile. */

import type { Client } from '@portcullis/client';
import { expect, it } from 'vitest';
import { CommandFailure, exitCodes } from '../src/client/exit-codes.ts';
import { type AdminApi, createAdminApi } from '../src/remote/admin-api.ts';
import type { RemoteTask } from '../src/remote/command.ts';
import { showEvents } from '../src/remote/events.ts';
import { createContext } from './support/in-process.ts';

function event(id: string, type = 'login.succeeded', details: object = {}) {
  const none = { clientId: null, userId: null, grantId: null, resource: null, transactionId: null };
  return { ...none, id, at: '2026-03-01T04:05:06.789Z', type, details };
}

const streamOf = (...events: readonly object[]) =>
  new Response(
    [': connected', ...events.map((one) => `data: ${JSON.stringify(one)}`), ':'].join('\n\n').concat('\n\n'),
  );

/** Follows streams, of which the last is refused. @returns what was printed */
async function follow(api: Partial<AdminApi>, flags: RemoteTask['flags'] = {}): Promise<readonly string[]> {
  const { processContext } = createContext({ environment: {}, folder: '.' });
  const lines: string[] = [];
  const terminal = {
    outputIsTerminal: false,
    print: (text: string) => void lines.push(text),
    during: () => {},
  };
  const task = {
    api,
    args: [],
    flags: { last: 50, json: true, follow: true, ...flags },
    terminal,
    processContext,
  };
  const act = showEvents(task as unknown as RemoteTask);
  await expect(act).rejects.toThrow('no role');
  return lines.map((line) => JSON.parse(line).type);
}

it('prints what was before, what arrives, and what happened while a stream was being opened again, each once', async () => {
  const streams = [streamOf(event('2', 'b')), streamOf(event('4', 'd'))];
  const pages = [[event('1', 'a')], [event('3', 'c'), event('2', 'b')], [event('4', 'd')]];
  const lines = await follow({
    async open() {
      const next = streams.shift();
      if (next === undefined) throw new CommandFailure(exitCodes.usage, 'no role');
      return next;
    },
    async *pages() {
      yield { items: pages.shift() ?? [], next: null };
    },
  });
  expect(lines).toEqual(['a', 'b', 'c', 'd']);
});

it('prints only the events of the transaction that is followed', async () => {
  const streams = [streamOf({ ...event('2', 'b'), transactionId: 'flow_1' }, event('3', 'c'))];
  const lines = await follow(
    {
      async open() {
        const next = streams.shift();
        if (next === undefined) throw new CommandFailure(exitCodes.usage, 'no role');
        return next;
      },
      list: async () => [{ ...event('1', 'a'), transactionId: 'flow_1' }],
    },
    { flow: 'flow_1' },
  );
  expect(lines).toEqual(['a', 'b']);
});

it('ends a list whose pages have no end', async () => {
  const sent: (string | null)[] = [];
  const fetch = async (url: string) => {
    sent.push(new URL(url).searchParams.get('cursor'));
    const isLast = sent.length === 2 && url.includes('/groups');
    return Response.json({ items: [sent.length], next: isLast ? null : 'again' });
  };
  const api = createAdminApi({ fetch } as unknown as Client, 'https://auth.example.com', undefined);
  expect(await api.send({ method: 'GET', path: '/groups' })).toEqual([1, 2]);
  expect(sent).toEqual([null, 'again']);
  await expect(api.send({ method: 'GET', path: '/users' })).rejects.toThrow('more than 10000 pages');
});

it('T112 refuses a response that does not end', async () => {
  const chunk = new Uint8Array(1024 * 1024).fill(0x20);
  let sent = 0;
  const endless = new ReadableStream({
    pull(controller) {
      sent += 1;
      controller.enqueue(chunk);
    },
  });
  const fetch = async () => new Response(endless);
  const api = createAdminApi({ fetch } as unknown as Client, 'https://auth.example.com', undefined);
  await expect(api.send({ method: 'GET', path: '/users' })).rejects.toMatchObject({
    code: 'response_too_large',
  });
  expect(sent).toBeLessThan(70);
});
