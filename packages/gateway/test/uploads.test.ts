/** Request bodies that are long: they reach the backend while they arrive, and never completely before all of them is checked. */
import { createHash, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { createSealer } from '../src/index.ts';
import type { GatewayServerOptions } from '../src/options.ts';
import { sealState } from '../src/sessions/message-handles.ts';
import { startGateway, type TestGateway } from './support/gateway.ts';
import { startUpload, startUploadBackend, type Upload, type UploadBackend } from './support/uploads.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

const masterKey = randomBytes(32);

interface Pair {
  readonly backend: UploadBackend;
  readonly gateway: TestGateway;
}

async function behind(
  more: Partial<GatewayServerOptions> = {},
  read?: Parameters<typeof startUploadBackend>[0],
): Promise<Pair> {
  const backend = await startUploadBackend(read);
  const gateway = await startGateway(
    [{ path: '/mcp', name: 'Files', backend: { url: backend.url }, ...more }],
    { masterKey },
  );
  open.push(backend, gateway);
  return { backend, gateway };
}

const MIB = 1024 * 1024;
const LONG = 'x'.repeat(300_000);
/** What official clients write: the id last. */
const BEGINNING = `{"method":"tools/call","params":{"name":"read_file","arguments":{"text":"${LONG}`;
const REST = '"}},"jsonrpc":"2.0","id":1}';

/** Sends the beginning, and waits until the backend has got some of it. */
async function begin(
  { gateway, backend }: Pair,
  beginning: string = BEGINNING,
  options: Parameters<typeof startUpload>[2] & { readonly user?: string } = {},
): Promise<Upload> {
  const count = backend.arriving.length;
  const upload = startUpload(gateway, options.user ?? 'alice', options);
  await upload.write(beginning);
  await expect.poll(() => backend.arriving[count]?.length() ?? 0).toBeGreaterThan(100_000);
  return upload;
}

const bodyOf = ({ arriving }: UploadBackend): string =>
  Buffer.concat(arriving.at(-1)?.chunks ?? []).toString();

/** The state of the last request at the backend, once it has ended. */
async function stateAt({ arriving }: UploadBackend): Promise<string | undefined> {
  await expect.poll(() => arriving.at(-1)?.state()).not.toBe('open');
  return arriving.at(-1)?.state();
}

/** A handle of a user, as the gateway seals it. */
function sealedFor(
  { gateway }: TestGateway,
  subject: string,
  kind: 'request' | 'question',
  text: string,
): string {
  const { resource, pinnedBackend: backend } = gateway.servers[0] ?? { resource: '', pinnedBackend: '' };
  const owner = { issuer: 'https://as.example', subject, clientId: 'inspector', resource, backend };
  const sealer = createSealer(masterKey);
  return kind === 'request'
    ? sealState(sealer, kind, owner, ['tools/call', 'read_file'], text)
    : sealer.seal(kind, owner, text);
}

describe('a long body', () => {
  it.each([
    ['in chunks', undefined],
    ['with its length', BEGINNING.length + REST.length],
  ])('reaches the backend before its client has sent all of it: %s', async (_how, length) => {
    const pair = await behind();
    const upload = await begin(pair, BEGINNING, { ...(length !== undefined && { length }) });
    expect(pair.backend.arriving[0]?.state()).toBe('open');
    upload.end(REST);
    expect((await upload.response)?.status).toBe(200);
    expect(bodyOf(pair.backend)).toBe(BEGINNING + REST);
    expect(pair.backend.arriving).toHaveLength(1);
    expect(pair.backend.arriving[0]?.headers['content-length']).toBe(length && String(length));
    await expect.poll(() => pair.gateway.calls.length).toBe(1);
    expect(pair.gateway.calls).toMatchObject([
      {
        decision: 'allowed',
        outcome: 'answered',
        target: 'read_file',
        requestBytes: BEGINNING.length + REST.length,
        arguments: createHash('sha256').update(`{"text":"${LONG}"}`).digest('base64url'),
      },
    ]);
  });

  it.each([
    ['a notification', `{"jsonrpc":"2.0","method":"notifications/x","params":{"data":["${LONG}`, '"]}}'],
    [
      'several long members',
      `{"jsonrpc":"2.0","id":"ä","method":"tools/call","params":{"_meta":{"a":"${LONG}"},"name":"a","arguments":{"b":"${LONG}`,
      `"},"c":["${LONG}"],"d":{"taskId":"${LONG}"}}}`,
    ],
  ])('passes while it arrives as %s', async (_what, beginning, rest) => {
    const pair = await behind();
    const upload = await begin(pair, beginning);
    upload.end(rest);
    expect((await upload.response)?.status).toBe(200);
    expect(bodyOf(pair.backend)).toBe(beginning + rest);
  });

  it('passes while it arrives as a response to a question of the backend', async () => {
    const pair = await behind();
    const id = sealedFor(pair.gateway, 'alice', 'question', '5');
    const beginning = `{"jsonrpc":"2.0","id":"${id}","result":{"content":{"data":"${LONG}`;
    const upload = await begin(pair, beginning);
    upload.end('"}}}');
    expect((await upload.response)?.status).toBe(200);
    expect(bodyOf(pair.backend)).toBe(`${beginning.replace(`"${id}"`, '5')}"}}}`);
  });

  it('passes with a request state at its end, which may be longer than it was sealed only in chunks', async () => {
    const pair = await behind();
    const headers = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'read_file',
    };
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const params = { name: 'read_file', arguments: {}, _meta };
    // The transport of the backend is known then.
    await pair.gateway.send('alice', {
      headers,
      message: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
    });
    const state = '"'.repeat(500);
    const sealed = sealedFor(pair.gateway, 'alice', 'request', state);
    const restOf = (meta: string) => `"},"requestState":"${sealed}"${meta}},"jsonrpc":"2.0","id":1}`;
    const rest = restOf(`,"_meta":${JSON.stringify(_meta)}`);
    const stateless = await begin(pair, BEGINNING, { headers, length: BEGINNING.length + rest.length });
    stateless.end(rest);
    expect((await stateless.response)?.status).toBe(200);
    expect(JSON.parse(bodyOf(pair.backend)).params.requestState).toBe(state);
    const incomplete = restOf('');
    const length = BEGINNING.length + incomplete.length;
    const unnamed = await begin(pair, BEGINNING, { headers, length });
    unnamed.end(incomplete);
    expect((await unnamed.response)?.text).toContain('_meta lacks');
    expect(await stateAt(pair.backend)).toBe('aborted');
    const session = await begin(pair, BEGINNING, { length });
    session.end(incomplete);
    expect((await session.response)?.text).toContain('before the arguments');
    expect(await stateAt(pair.backend)).toBe('aborted');
  });

  it('is held until it is whole where the arguments precede the name', async () => {
    const { gateway, backend } = await behind();
    const upload = startUpload(gateway, 'alice');
    const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"text":"${LONG}"},`;
    await upload.write(text);
    upload.end('"name":"a"}}');
    expect((await upload.response)?.status).toBe(200);
    expect(bodyOf(backend)).toBe(`${text}"name":"a"}}`);
    expect(gateway.calls[0]?.arguments).toBeInstanceOf(Uint8Array);
  });

  it('arrives as it was sent, whatever it contains and however it is divided', async () => {
    const pair = await behind({ limits: { callsPerMinute: false } });
    const params = fc
      .tuple(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue(), fc.nat(3))
      .map(([more, value, at]) => {
        const { _meta, taskId: _task, requestState: _state, ...others } = more;
        const entries = Object.entries(others).filter(([name]) => !/^(?:name|arguments)$/i.test(name));
        const call = Object.entries({ name: 'a', arguments: { value, text: `${LONG}é€😀` } });
        return Object.fromEntries(entries.toSpliced(at, 0, ...call));
      });
    const message = fc
      .tuple(params, fc.shuffledSubarray(['jsonrpc', 'id', 'method', 'params'], { minLength: 4 }))
      .map(([given, order]) => {
        const whole = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: given };
        return Object.fromEntries(order.map((name) => [name, whole[name as 'id']]));
      });
    const space = fc.constantFrom(undefined, 1, '\t');
    const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(message, space, cuts, fc.boolean(), async (given, indent, cut, hasLength) => {
        const body = Buffer.from(JSON.stringify(given, null, indent));
        const at = [0, ...cut.map((part) => Math.floor(part * body.length)), body.length].toSorted(
          (a, b) => a - b,
        );
        const upload = startUpload(pair.gateway, 'alice', hasLength ? { length: body.length } : {});
        for (const [index, start] of at.slice(0, -1).entries()) {
          await upload.write(body.subarray(start, at[index + 1]));
          await new Promise((resolve) => setImmediate(resolve));
        }
        upload.end();
        expect((await upload.response)?.status).toBe(200);
        expect(Buffer.concat(pair.backend.arriving.at(-1)?.chunks ?? []).equals(body)).toBe(true);
      }),
      { numRuns: 40 },
    );
  });

  it('waits for a backend that reads slowly, and takes little memory meanwhile', async () => {
    const size = 64 * MIB;
    const pair = await behind({ limits: { body: 128 * MIB } }, () => undefined);
    const before = process.memoryUsage().arrayBuffers;
    const upload = startUpload(pair.gateway, 'alice');
    const head = BEGINNING.slice(0, 200);
    const chunk = Buffer.alloc(64 * 1024, 'x');
    let written = 0;
    const sending = (async () => {
      await upload.write(head);
      for (; written < size; written += chunk.length) await upload.write(chunk);
      upload.end(REST);
    })();
    await expect.poll(() => pair.backend.arriving.length).toBe(1);
    let last = -1;
    while (last !== written) {
      last = written;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    // What the connections and the buffers on the way take.
    expect(written).toBeLessThan(40 * MIB);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * MIB);
    const [arriving] = pair.backend.arriving;
    arriving?.incoming.resume();
    await sending;
    await expect.poll(() => arriving?.length()).toBe(head.length + size + REST.length);
  });
});

describe('a long body whose end is refused', () => {
  const VERSION = '"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}';

  it.each([
    ['a member of the message twice', `"}},"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 400],
    ['the parameters twice', `"}},"jsonrpc":"2.0","id":1,"params":{"name":"a"}}`, 400],
    ['another tool', `"},"name":"delete_file"},"jsonrpc":"2.0","id":1}`, 400],
    ['a name in other case', `"},"Name":"delete_file"},"jsonrpc":"2.0","id":1}`, 400],
    ['other arguments', `"},"arguments":{}},"jsonrpc":"2.0","id":1}`, 400],
    ['a result', `"}},"jsonrpc":"2.0","id":1,"result":{}}`, 400],
    ['no version of JSON-RPC', `"}},"id":1}`, 400],
    ['an id of null', `"}},"jsonrpc":"2.0","id":null}`, 400],
    ['a second message', `${REST},${REST}`, 400],
    ['a second line', `${REST}\n{}`, 400],
    ['too few brackets', '"}},"jsonrpc":"2.0","id":1', 400],
    ['bytes that are not UTF-8', Buffer.concat([Buffer.of(0xff), Buffer.from(REST)]), 400],
    ['half a character', Buffer.concat([Buffer.of(0xe2, 0x82), Buffer.from(REST)]), 400],
    ['a control character', `\u0001${REST}`, 400],
    ['another version than its header', `"},${VERSION}},"jsonrpc":"2.0","id":1}`, 400],
    ['a request state that was not issued', `"},"requestState":"s"},"jsonrpc":"2.0","id":1}`, 200],
  ])('is never complete at the backend: %s', async (_what, rest, status) => {
    const pair = await behind();
    const headers = { 'mcp-protocol-version': '2025-06-18' };
    const upload = await begin(pair, BEGINNING, { headers });
    upload.end(rest);
    const response = await upload.response;
    expect([response?.status, response?.text.includes('"error"')]).toEqual([status, true]);
    expect(await stateAt(pair.backend)).toBe('aborted');
    await expect
      .poll(() => pair.gateway.calls)
      .toMatchObject([{ outcome: 'refused', decision: 'invalid', status }]);
    const twin = await begin(pair, BEGINNING, { headers });
    twin.end(`"},${VERSION.replace('11-25', '06-18')}},"jsonrpc":"2.0","id":1}`);
    expect((await twin.response)?.status).toBe(200);
    expect(await stateAt(pair.backend)).toBe('whole');
    expect(pair.backend.arriving).toHaveLength(2);
  });

  it('is never complete at the backend: a request state of another user, which its own user can use', async () => {
    const pair = await behind();
    const state = '{"step":"1"}';
    const rest = `"},"requestState":"${sealedFor(pair.gateway, 'bob', 'request', state)}"},"jsonrpc":"2.0","id":1}`;
    for (const length of [undefined, BEGINNING.length + rest.length]) {
      const options = length === undefined ? {} : { length };
      const stolen = await begin(pair, BEGINNING, options);
      stolen.end(rest);
      expect((await stolen.response)?.text).toContain('requestState is not known here');
      expect(await stateAt(pair.backend)).toBe('aborted');
      const own = await begin(pair, BEGINNING, { ...options, user: 'bob' });
      own.end(rest);
      expect((await own.response)?.status).toBe(200);
      expect(await stateAt(pair.backend)).toBe('whole');
      expect(bodyOf(pair.backend)).not.toContain('\\u');
      expect(JSON.parse(bodyOf(pair.backend)).params.requestState).toBe(state);
    }
  });

  it('does not reach the backend: a response to the question of another user, whose id is last', async () => {
    const { gateway, backend } = await behind();
    const id = sealedFor(gateway, 'bob', 'question', '"q"');
    for (const [user, status, count] of [
      ['alice', 400, 0],
      ['bob', 200, 1],
    ] as const) {
      const upload = startUpload(gateway, user);
      await upload.write(`{"jsonrpc":"2.0","result":{"content":{"data":"${LONG}`);
      upload.end(`"}},"id":"${id}"}`);
      expect((await upload.response)?.status).toBe(status);
      expect(backend.arriving).toHaveLength(count);
    }
    expect(JSON.parse(bodyOf(backend)).id).toBe('q');
  });

  it('is never complete at the backend: a resource that is forbidden, and named last', async () => {
    const pair = await behind({ scopes: { read: 'Read' }, resources: { 'x://private': false, '*': [] } });
    const beginning = `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"x":"${LONG}`;
    for (const [uri, status, state] of [
      ['x://private', 403, 'aborted'],
      ['x://other', 200, 'whole'],
    ] as const) {
      const upload = await begin(pair, beginning);
      upload.end(`","uri":"${uri}"}}`);
      expect((await upload.response)?.status).toBe(status);
      expect(await stateAt(pair.backend)).toBe(state);
    }
    await expect.poll(() => pair.gateway.calls.length).toBe(2);
    expect(pair.gateway.calls.map(({ decision }) => decision)).toEqual(['denied', 'allowed']);
  });

  it('is a 413 that is never complete at the backend, once it exceeds the limit', async () => {
    const pair = await behind({ limits: { body: 400_000 } });
    const upload = await begin(pair);
    await upload.write(LONG);
    expect((await upload.response)?.status).toBe(413);
    expect(await stateAt(pair.backend)).toBe('aborted');
    await expect
      .poll(() => pair.gateway.calls)
      .toMatchObject([{ outcome: 'refused', decision: 'limited', status: 413 }]);
    expect(pair.gateway.calls[0]?.requestBytes).toBeGreaterThan(400_000);
    const twin = await begin(pair);
    twin.end(REST);
    expect((await twin.response)?.status).toBe(200);
  });

  it('is a 413 that is never complete at the backend when white space in it has no end', async () => {
    const pair = await behind({ limits: { body: 64 * MIB } });
    const upload = await begin(pair);
    void upload.write(`"}},${' '.repeat(4 * MIB)}`);
    expect((await upload.response)?.status).toBe(413);
    expect(await stateAt(pair.backend)).toBe('aborted');
    const twin = await begin(pair, BEGINNING + ' '.repeat(4 * MIB));
    twin.end(`"}}, ${' '.repeat(100_000)}${REST.slice(4)}`);
    expect((await twin.response)?.status).toBe(200);
  });

  it('is never complete at the backend when its client disappears', async () => {
    const pair = await behind();
    const upload = await begin(pair);
    upload.abort();
    expect(await stateAt(pair.backend)).toBe('aborted');
    await expect.poll(() => pair.gateway.calls).toMatchObject([{ outcome: 'cancelled' }]);
    expect(pair.gateway.gateway.health()).toEqual([{ server: '/mcp', status: 'up' }]);
  });
});

describe('a long body that is refused before its end', () => {
  it.each([
    ['that a rule forbids', 'alice', 'delete_file', 403],
    ['without its scope', 'alice_inspector_read', 'write_file', 403],
  ])('reaches no backend: a call %s', async (_what, user, tool, status) => {
    const { gateway, backend } = await behind({
      scopes: { read: 'Read', write: 'Write' },
      tools: { 'read_*': ['read'], 'delete_*': false, '*': ['write'] },
    });
    const upload = startUpload(gateway, user);
    await upload.write(`{"id":1,${BEGINNING.replace('read_file', tool).slice(1)}`);
    expect((await upload.response)?.status).toBe(status);
    expect(backend.arriving).toEqual([]);
  });

  it('reaches no backend: above the limit by its length', async () => {
    const { gateway, backend } = await behind({ limits: { body: 100_000 } });
    const upload = startUpload(gateway, 'alice', { length: 200_000 });
    expect((await upload.response)?.status).toBe(413);
    expect(backend.arriving).toEqual([]);
  });
});

describe('a long body that has been sent in part', () => {
  /** A backend that accepts one key, and a source of credentials that has it after the first rejection. */
  async function rejecting(): Promise<readonly [number | undefined, UploadBackend]> {
    const backend = await startUploadBackend((incoming) => {
      const { socket } = incoming;
      incoming.resume();
      if (incoming.headers['x-key'] !== 'second')
        socket.write('HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n');
    });
    let key = 'first';
    const isRejected = Promise.withResolvers<void>();
    const credentials = {
      for: () => ({ headers: { 'x-key': key }, key: 'key', sign: null }),
      async rejected() {
        key = 'second';
        isRejected.resolve();
        return 'retry' as const;
      },
    };
    const gateway = await startGateway(
      [{ path: '/mcp', name: 'Files', backend: { url: backend.url }, limits: { body: 64 * MIB } }],
      { credentials },
    );
    open.push(backend, gateway);
    const upload = startUpload(gateway, 'alice');
    const sending = upload.write(BEGINNING);
    await isRejected.promise;
    void sending.then(() => upload.end(REST));
    return [(await upload.response)?.status, backend];
  }

  it('is sent again from its beginning with a renewed credential', async () => {
    const [status, backend] = await rejecting();
    expect(status).toBe(200);
    expect(backend.arriving).toHaveLength(2);
    expect(bodyOf(backend)).toBe(BEGINNING + REST);
    await expect.poll(() => backend.arriving[0]?.state()).toBe('aborted');
  });

  it('is sent to another address while the first cannot be reached', async () => {
    const dead = await startUploadBackend();
    await dead.close();
    const backend = await startUploadBackend();
    const gateway = await startGateway([{ path: '/mcp', backend: { url: [dead.url, backend.url] } }]);
    open.push(backend, gateway);
    const upload = await begin({ gateway, backend });
    upload.end(REST);
    expect((await upload.response)?.status).toBe(200);
    expect(bodyOf(backend)).toBe(BEGINNING + REST);
  });
});

describe('the time that a long body takes', () => {
  it('is no silence of the backend, as long as some of it arrives', async () => {
    const pair = await behind({ limits: { firstByte: 2 } });
    const upload = await begin(pair);
    const startedAt = performance.now();
    while (performance.now() - startedAt < 4500) {
      await upload.write('y');
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    upload.end(REST);
    expect((await upload.response)?.status).toBe(200);
  });

  it('ends with a 408 after the idle time in which nothing arrives', async () => {
    const pair = await behind({ limits: { idle: 2 } });
    const upload = await begin(pair);
    expect((await upload.response)?.status).toBe(408);
    expect(await stateAt(pair.backend)).toBe('aborted');
  });

  it('ends with a 408 although a byte arrives now and then', async () => {
    const pair = await behind({ limits: { idle: 2 } });
    const upload = await begin(pair);
    let status: number | undefined;
    void upload.response.then((response) => {
      status = response?.status ?? 0;
    });
    await expect
      .poll(
        () => {
          if (status === undefined) void upload.write('y');
          return status;
        },
        { interval: 100 },
      )
      .toBe(408);
    expect(await stateAt(pair.backend)).toBe('aborted');
  });

  it('ends with a 503 when the backend does not read any of it', async () => {
    const pair = await behind({ limits: { firstByte: 1, body: 64 * MIB } }, () => undefined);
    const upload = startUpload(pair.gateway, 'alice');
    void upload.write(BEGINNING + LONG.repeat(100));
    expect((await upload.response)?.status).toBe(503);
  });
});

it('a user whose long bodies wait takes no more than a part of the requests at once: further ones are held', async () => {
  const pair = await behind({ limits: { concurrency: 32 } });
  const uploads = [await begin(pair), await begin(pair)];
  const third = startUpload(pair.gateway, 'alice');
  await third.write(BEGINNING);
  const other = await begin(pair, BEGINNING, { user: 'bob' });
  expect(pair.backend.arriving).toHaveLength(3);
  for (const upload of [...uploads, third, other]) upload.end(REST);
  for (const upload of [...uploads, third, other]) expect((await upload.response)?.status).toBe(200);
});

describe('the memory for long bodies that are held', () => {
  const UNDECIDED = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"text":"${LONG}`;
  const length = 40 * MIB;

  it('is limited for each user: a further one is a 429 that reaches no backend, until it is free again', async () => {
    const { gateway, backend } = await behind({ limits: { body: 64 * MIB } });
    const first = startUpload(gateway, 'alice', { length });
    await first.write(UNDECIDED);
    // Which arrives first is not known.
    const more = Array.from({ length: 2 }, () => startUpload(gateway, 'alice', { length }));
    for (const upload of more) void upload.write(UNDECIDED);
    const refused = await Promise.race([first, ...more].map(({ response }) => response));
    expect([refused?.status, refused?.text.includes('Too many long bodies for Files')]).toEqual([429, true]);
    const other = startUpload(gateway, 'bob');
    await other.write(UNDECIDED);
    other.end('"},"name":"a"}}');
    expect((await other.response)?.status).toBe(200);
    for (const upload of [first, ...more]) upload.abort();
    const again = async () => {
      const upload = startUpload(gateway, 'alice');
      await upload.write(UNDECIDED);
      upload.end('"},"name":"a"}}');
      return (await upload.response)?.status;
    };
    await expect.poll(again).toBe(200);
    expect(new Set(backend.arriving.map(({ state }) => state()))).toEqual(new Set(['whole']));
  });

  it('is not taken by those that pass', async () => {
    const pair = await behind({ limits: { body: 64 * MIB } });
    for (let count = 0; count < 3; count += 1) await begin(pair, BEGINNING, { length });
    const buffered = startUpload(pair.gateway, 'alice');
    await buffered.write(UNDECIDED);
    buffered.end('"},"name":"a"}}');
    expect((await buffered.response)?.status).toBe(200);
  });
});
