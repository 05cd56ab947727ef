/** Streams as attackers send and read them: enormous events, readers that stop, many that stay open. */
import { connect } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it } from 'vitest';
import { costHere, costOf } from '../../../tests/support/cost.ts';
import { EditedBody, type EditedBodyListener } from '../src/http/edited-body.ts';
import { NO_RESPONSES } from '../src/messages/check-responses.ts';
import { answerAll, startBackend, type TestBackend } from './support/backend.ts';
import { callOf, INITIALIZE } from './support/client.ts';
import { startGateway, type TestGateway } from './support/gateway.ts';
import { openIdleStreams } from './support/idle-streams.ts';

const open: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function behind(
  respond: Parameters<typeof startBackend>[0],
  { limits = {}, transport = 'http' as 'http' | 'sse' } = {},
): Promise<{ readonly backend: TestBackend; readonly gateway: TestGateway }> {
  const backend = await startBackend(respond);
  const gateway = await startGateway([
    { path: '/mcp', name: 'Files', backend: { url: backend.url, transport }, limits },
  ]);
  open.push(backend, gateway);
  return { backend, gateway };
}

const NO_PAUSES = {
  pause: () => undefined,
  resume: () => undefined,
  sealEventId: (id: string) => `<${id}>`,
  toolsChanged: () => undefined,
};

const STREAM = { 'content-type': 'text/event-stream' };

/** Bytes of buffers once all garbage is gone. */
function bufferedBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  // The second waits until the buffers that the first has found are free.
  for (let time = 0; time < 2; time += 1) if (typeof collect === 'function') collect();
  return process.memoryUsage().arrayBuffers;
}

/** Writes as fast as it is read. */
function writeMany(response: NodeJS.WritableStream, chunk: Buffer, count: number, end: () => void): void {
  let written = 0;
  const write = (): void => {
    while (written < count) {
      written += 1;
      if (!response.write(chunk)) return void response.once('drain', write);
    }
    end();
  };
  write();
}

describe('an event of enormous size', () => {
  const MIB = Buffer.alloc(1024 * 1024, 'x');

  it('passes as the response to a call without being held here', async () => {
    const { gateway } = await behind((_received, response) => {
      response.writeHead(200, STREAM);
      response.write('id: 7\ndata: {"jsonrpc":"2.0","id":1,"result":{"text":"');
      writeMany(response, MIB, 128, () => response.end('"}}\nretry: 1\n\n'));
    });
    const response = await gateway.send('alice', { message: { ...callOf('read'), id: 1 } });
    let [length, most, looks] = [0, 0, 0];
    const before = bufferedBytes();
    for await (const chunk of response.body ?? []) {
      length += chunk.length;
      if (length < (looks + 1) * 32 * MIB.length) continue;
      looks += 1;
      most = Math.max(most, bufferedBytes() - before);
    }
    expect([length > 128 * MIB.length, looks]).toEqual([true, 4]);
    // Of 128 MiB: chunks on their way, and the buffers of three connections.
    expect(most).toBeLessThan(64 * MIB.length);
  });

  it.each([
    ['as a stream, which breaks', STREAM, 'data: ', null],
    [
      'as a document',
      { 'content-type': 'application/json' },
      '{"jsonrpc":"2.0","id":1,"result":{"tools":["',
      502,
    ],
  ])('breaks off a list that has to be filtered: %s', async (_name, headers, beginning, status) => {
    const { backend, gateway } = await behind(
      (_received, response) => {
        response.writeHead(200, headers).write(beginning);
        writeMany(response, Buffer.alloc(1000, 'x'), 1_000_000, () => response.end());
      },
      { limits: { frame: 64 * 1024 } },
    );
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const response = await gateway.send('alice', { message });
    if (status === null) await expect(response.text()).rejects.toThrow();
    else
      expect([response.status, await response.text()]).toEqual([
        status,
        expect.stringContaining('longer than'),
      ]);
    await expect.poll(() => backend.aborted()).toBe(1);
    await expect.poll(() => gateway.calls).toMatchObject([{ outcome: 'too_long' }]);
    expect(gateway.gateway.health()).toEqual([{ server: '/mcp', status: 'up' }]);
  });

  /** Opens a stream on which a long message is followed by a short one. */
  async function follow(beginning: string, init: Parameters<TestGateway['send']>[1]) {
    const t = await behind(
      (_received, response) => {
        response.writeHead(200, STREAM).write(`event: message\ndata: ${beginning}`);
        writeMany(response, Buffer.alloc(1000, 'x'), 1000, () =>
          response.end(
            `"}}\n\ndata: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"last"}}\n\n`,
          ),
        );
      },
      { limits: { frame: 64 * 1024 } },
    );
    return { ...t, text: (await t.gateway.send('alice', init)).text() };
  }
  const STREAMS = [
    ['that is open for all', { method: 'GET' }],
    ['of a call', { message: callOf('read') }],
  ] as const;
  const LONG = '"params":{"data":"';

  it.each(STREAMS)(
    'passes as a notification on a stream %s, and what follows is read again',
    async (_name, init) => {
      const { text } = await follow(`{"jsonrpc":"2.0","method":"notifications/message",${LONG}`, init);
      expect((await text).length).toBeGreaterThan(1_000_000);
      expect(await text).toContain('"data":"last"');
    },
  );

  it.each(STREAMS)('breaks off a question on a stream %s, and the log says why', async (_name, init) => {
    const { gateway, text } = await follow(`{"method":"sampling/createMessage","id":1,${LONG}`, init);
    await expect(text).rejects.toThrow();
    await expect.poll(() => gateway.calls).toMatchObject([{ outcome: 'too_long' }]);
  });

  it('ends the session of a backend with HTTP+SSE with an error, and nothing else', async () => {
    const { gateway } = await behind(
      ({ method }, response) => {
        if (method !== 'GET') return void response.writeHead(202).end();
        response.writeHead(200, STREAM).write('event: endpoint\ndata: /messages\n\ndata: ');
        writeMany(response, Buffer.alloc(10_000, 'x'), 100_000, () => response.end());
      },
      { transport: 'sse', limits: { frame: 64 * 1024 } },
    );
    const response = await gateway.send('alice', { message: INITIALIZE });
    expect(response.status).toBe(503);
    expect(await response.text()).toContain('Files');
  });

  it.each([512, 4096, 65_536])('is searched once for its end, in chunks of %i bytes', (size) => {
    let [length, hasFailed] = [0, false];
    const body = new EditedBody({
      name: 'Files',
      isStream: true,
      limit: 4 * 1024 * 1024,
      edit: {
        apply: (message) => message,
        mayPassLong: () => true,
        mayBeCached: false,
      },
      expected: () => NO_RESPONSES,
      listener: {
        ...NO_PAUSES,
        report: (event) => {
          if (event.kind === 'bytes') length += event.bytes.length;
          if (event.kind === 'failed') hasFailed = true;
        },
      },
    });
    const chunk = Buffer.alloc(size, 'x');
    const cost = costHere(() => {
      for (let sent = 0; sent < 3_900_000; sent += size) body.write(chunk);
    });
    // It took 20 s in chunks of 512 bytes when each of them searched all before it.
    expect(cost).toBeLessThan(10_000);
    expect([length, hasFailed]).toEqual([0, false]);
  });
});

function reportTo({ resolve, reject }: PromiseWithResolvers<void>): EditedBodyListener {
  return {
    ...NO_PAUSES,
    report(event) {
      if (event.kind === 'ended') resolve();
      if (event.kind === 'failed') reject(event.error);
    },
  };
}

it('a backend waits while an event is edited, and until the last one of its chunk is', async () => {
  const log: string[] = [];
  const edits = Array.from({ length: 3 }, () => Promise.withResolvers<object>());
  const next = edits.values();
  const body = new EditedBody({
    ...{ name: 'Files', isStream: true, limit: 1000 },
    edit: { apply: () => next.next().value?.promise, mayPassLong: () => false, mayBeCached: false },
    expected: () => NO_RESPONSES,
    listener: {
      report: ({ kind }) => void log.push(kind),
      pause: () => void log.push('pause'),
      resume: () => void log.push('resume'),
      sealEventId: (id) => id,
      toolsChanged: () => undefined,
    },
  });
  body.write(Buffer.from(': a comment\n\n'));
  body.write(Buffer.from('data: {"taskId":1}\n\ndata: {"taskId":2}\n\n'));
  expect(log).toEqual(['bytes', 'pause']);
  edits[0]?.resolve({});
  await expect.poll(() => log).toEqual(['bytes', 'pause', 'bytes']);
  edits[1]?.resolve({});
  await expect.poll(() => log.slice(3)).toEqual(['bytes', 'resume']);
  body.write(Buffer.from('data: {"taskId":3}\n\n'));
  body.end();
  edits[2]?.resolve({});
  await expect.poll(() => log.slice(5)).toEqual(['pause', 'bytes', 'bytes', 'ended', 'resume']);
});

it('an event is edited wherever its bytes are divided', async () => {
  const text = 'id: 1\r\ndata: {"taskId":1}\r\n\r\n: comment\n\ndata: {"taskId":2}\r\rdata: {"taskId":3}\n\n';
  for (let size = 1; size <= text.length; size += 1) {
    const edited: unknown[] = [];
    const finished = Promise.withResolvers<void>();
    const body = new EditedBody({
      name: 'Files',
      isStream: true,
      limit: 100,
      edit: {
        apply: (message) => {
          edited.push(message);
          return message;
        },
        mayPassLong: () => false,
        mayBeCached: false,
      },
      expected: () => NO_RESPONSES,
      listener: reportTo(finished),
    });
    for (let at = 0; at < text.length; at += size) body.write(Buffer.from(text.slice(at, at + size)));
    body.end();
    await finished.promise;
    expect(edited).toEqual([{ taskId: 1 }, { taskId: 2 }, { taskId: 3 }]);
  }
});

/** The messages that are edited in a body of one chunk. */
async function messagesIn(text: string, isStream: boolean): Promise<readonly unknown[]> {
  const messages: unknown[] = [];
  const finished = Promise.withResolvers<void>();
  const body = new EditedBody({
    name: 'Files',
    isStream,
    limit: 1000,
    edit: {
      apply: (message) => {
        messages.push(message);
        return message;
      },
      mayPassLong: () => false,
      mayBeCached: false,
    },
    expected: () => NO_RESPONSES,
    listener: reportTo(finished),
  });
  body.write(Buffer.from(text));
  body.end();
  await finished.promise;
  return messages;
}

// Responses of issue trackers have many.
it('an event with a member called updated is not parsed, unlike one that reports an update', async () => {
  const updated = { method: 'notifications/resources/updated' };
  const text = `data: {"updated":"2026-01-01"}\n\ndata: ${JSON.stringify(updated)}\n\n`;
  expect(await messagesIn(text, true)).toEqual([updated]);
});

// Two events that pass as one hold no JSON: a backend could send tools that are not allowed.
it.each(['\n\n', '\r\n\r\n', '\r\r', '\n\r\n', '\r\n\n', '\n\r', '\r\r\n'])(
  'an event that ends with %j is edited, and the next',
  async (end) => {
    expect(await messagesIn(`data: {"taskId":1}${end}data: {"taskId":2}${end}`, true)).toEqual([
      { taskId: 1 },
      { taskId: 2 },
    ]);
  },
);

// `\r\n` was one line end or two, so that each line doubled the time.
it.each([
  ['passes', 24, `data: {"jsonrpc":"2.0","id":1,"result":{"a":"${'x'.repeat(5000)}"}}`, 'ended'],
  ['breaks off without data', 20, `x: ${'x'.repeat(5000)}`, 'failed'],
])('a long event after many comment lines %s in linear time', (_how, count, line, outcome) => {
  const events: string[] = [];
  let passed = '';
  const body = new EditedBody({
    ...{ name: 'Files', isStream: true, limit: 1000 },
    edit: { apply: (message) => message, mayPassLong: () => true, mayBeCached: false },
    expected: () => ({ ids: new Set(['1']), isBatch: false }),
    listener: {
      ...NO_PAUSES,
      report: (event) => {
        events.push(event.kind);
        if (event.kind === 'bytes') passed += event.bytes.toString();
      },
    },
  });
  const text = `${':\r\n'.repeat(count)}${line}`;
  const cost = costHere(() => {
    body.write(Buffer.from(text));
    body.write(Buffer.from('\r\n\r\n'));
    body.end();
  });
  expect(cost).toBeLessThan(500);
  expect(events.at(-1)).toBe(outcome);
  expect(passed).toBe(outcome === 'ended' ? `${text}\r\n\r\n` : '');
});

it('a document with a byte order mark is edited, as clients ignore it', async () => {
  expect(await messagesIn('\ufeff{"taskId":1}', false)).toEqual([{ taskId: 1 }]);
});

it.each([
  [
    'in whole events',
    1000,
    '\uFEFFid: 1\ndata: {}\nid: x\n\nid\r\nid:2\r\nidx: 3\n id: 4\n\rid: 5\rdata: {"id":6}\nid: \nretry: 1\nid:7é\n\ni',
  ],
  [
    'in long events',
    20,
    `\uFEFFid: 1\ndata: {"a":"${'x'.repeat(30)}"}\nid: x\n\nid:2\ndata: "id: 5"\r\nid:7é\n\ni`,
  ],
])(
  'ids of events are replaced wherever their bytes are divided, and nothing else is: %s',
  (_what, limit, text) => {
    const expected = text
      .replace('\uFEFFid: 1', 'id: <1>')
      .replace('id: x', 'id: <x>')
      .replace('id:2', 'id: <2>')
      .replace('\rid: 5', '\rid: <5>')
      .replace('id:7é', 'id: <7é>')
      .replace(/i$/, '');
    const bytes = Buffer.from(text);
    for (let size = 1; size <= bytes.length; size += 1) {
      let received = '';
      const body = new EditedBody({
        ...{ name: 'Files', isStream: true, limit },
        edit: { apply: (message) => message, mayPassLong: () => true, mayBeCached: false },
        expected: () => NO_RESPONSES,
        listener: {
          ...NO_PAUSES,
          report: (event) => {
            if (event.kind === 'bytes') received += event.bytes.toString('latin1');
          },
        },
      });
      for (let at = 0; at < bytes.length; at += size) body.write(bytes.subarray(at, at + size));
      body.end();
      expect(Buffer.from(received, 'latin1').toString()).toBe(expected);
    }
  },
);

it.each(['', '\uFEFF'])('the method of a long event is found after %j', (mark) => {
  const [methods, kinds]: [(string | null)[], string[]] = [[], []];
  const body = new EditedBody({
    ...{ name: 'Files', isStream: true, limit: 100 },
    edit: {
      apply: (message) => message,
      mayPassLong: (method) => methods.push(method) > 0,
      mayBeCached: false,
    },
    expected: () => NO_RESPONSES,
    listener: { ...NO_PAUSES, report: ({ kind }) => void kinds.push(kind) },
  });
  const message = `{"jsonrpc":"2.0","method":"notifications/message","params":"${'x'.repeat(200)}"}`;
  body.write(Buffer.from(`${mark}data: ${message}`));
  body.write(Buffer.from('\n\n'));
  body.end();
  expect([new Set(methods), kinds.at(-1)]).toEqual([new Set(['notifications/message']), 'ended']);
});

it.each([
  ['fails for an endless id', 9000, ['bytes', 'failed']],
  ['ends after a shorter id', 8000, ['bytes', 'bytes', 'ended']],
])('a stream that ends within an event %s', (_what, length, expected) => {
  const reported: string[] = [];
  const body = new EditedBody({
    ...{ name: 'Files', isStream: true, limit: 100_000 },
    edit: { apply: (message) => message, mayPassLong: () => true, mayBeCached: false },
    expected: () => NO_RESPONSES,
    listener: { ...NO_PAUSES, report: ({ kind }) => void reported.push(kind) },
  });
  body.write(Buffer.from(`data: {}\n\nid: ${'1'.repeat(length)}\n`));
  body.end();
  expect(reported).toEqual(expected);
});

it.each(['', 'data: {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}'])(
  'a flood of empty events passes in time, with %j among them',
  async (data) => {
    const flood = Buffer.alloc(64 * 1024, '\n');
    flood.write(data, 1000);
    const { gateway } = await behind((_received, response) => {
      response.writeHead(200, STREAM);
      writeMany(response, flood, 16, () => response.end());
    });
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const cost = await costOf(async () => {
      const response = await gateway.send('alice', { message });
      expect(await response.text()).toHaveLength(16 * 64 * 1024);
    });
    // Written one by one, with a listener for each, they took minutes.
    expect(cost).toBeLessThan(20_000);
  },
);

describe('a client that stops reading', () => {
  it('loses its response after the idle time, and the backend is told', async () => {
    const { backend, gateway } = await behind(
      (_received, response) => {
        response.writeHead(200, STREAM);
        writeMany(response, Buffer.from(`data: ${'x'.repeat(64 * 1024)}\n\n`), 4000, () => response.end());
      },
      { limits: { idle: 1 } },
    );
    const body = JSON.stringify(callOf('read'));
    const socket = connect(Number(new URL(gateway.origin).port), '127.0.0.1');
    socket.on('error', () => {});
    socket.write(
      `POST /mcp HTTP/1.1\r\nHost: ${new URL(gateway.origin).host}\r\nAuthorization: Bearer alice\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    socket.pause();
    await expect.poll(() => backend.aborted()).toBe(1);
    expect((await gateway.send('bob', { method: 'GET' })).status).toBe(200);
    socket.destroy();
  });
});

it.each([
  ['GET', 'is closed after it, so that it needs no parser', 'close'],
  ['POST', 'serves further requests', 'keep-alive'],
] as const)('the connection of an event stream that %s opens %s', async (method, _what, expected) => {
  const { gateway } = await behind((_received, response) => {
    const of = method === 'GET' ? '"method":"notifications/progress"' : '"id":1,"result":{}';
    response.writeHead(200, STREAM).end(`data: {"jsonrpc":"2.0",${of}}\n\n`);
  });
  const message = method === 'GET' ? undefined : { ...callOf('read'), id: 1 };
  const response = await gateway.send('alice', { method, message });
  expect([response.status, response.headers.get('connection')]).toEqual([200, expected]);
  expect(await response.text()).toContain('"jsonrpc":"2.0"');
});

it('many idle streams leave the gateway able to answer, and end with their clients', async () => {
  const streams = await openIdleStreams(500);
  try {
    expect(streams.bytesEach).toBeLessThan(400_000);
    expect((await streams.gateway.send('alice')).status).toBe(200);
    // The limit of each user holds, the idle time of responses does not apply to them.
    expect((await streams.gateway.send('user0', { method: 'GET' })).status).toBe(429);
    await new Promise((resolve) => setTimeout(resolve, 1200));
    expect(streams.backend.aborted()).toBe(0);
  } finally {
    await streams.close();
  }
  await expect.poll(() => streams.backend.aborted()).toBe(500);
});

it('a client that reads nothing before it has sent its whole body gets the 413 for it', async () => {
  const { backend, gateway } = await behind(answerAll, { limits: { body: 64 * 1024 } });
  const socket = connect({ port: Number(new URL(gateway.origin).port), host: '127.0.0.1' }).pause();
  const length = 16 * 1024 * 1024;
  const head = [
    'POST /mcp HTTP/1.1',
    'Host: 127.0.0.1',
    'Authorization: Bearer alice',
    `Content-Length: ${length}`,
  ];
  socket.write(`${[...head, 'Content-Type: application/json'].join('\r\n')}\r\n\r\n`);
  const error = await new Promise((resolve) => socket.write(Buffer.alloc(length, ' '), resolve));
  const chunks = await socket.toArray();
  expect([error, Buffer.concat(chunks).toString()]).toEqual([null, expect.stringMatching(/^HTTP\/1.1 413 /)]);
  expect(backend.received).toEqual([]);
});

it('a request body above the limit is a 413 that reaches no backend, also without a length', async () => {
  const { backend, gateway } = await behind(answerAll, { limits: { body: 64 * 1024 } });
  const message = callOf('read', { text: 'x'.repeat(64 * 1024) });
  expect((await gateway.send('alice', { message })).status).toBe(413);
  const chunked = await fetch(`${gateway.origin}/mcp`, {
    method: 'POST',
    headers: { authorization: 'Bearer alice', 'content-type': 'application/json' },
    body: new Blob([JSON.stringify(message)]).stream(),
    duplex: 'half',
  } as RequestInit);
  expect(chunked.status).toBe(413);
  expect(backend.received).toEqual([]);
  expect((await gateway.send('alice', { message: callOf('read', { text: 'x'.repeat(1000) }) })).status).toBe(
    200,
  );
});
