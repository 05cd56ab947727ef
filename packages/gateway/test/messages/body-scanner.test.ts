import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createBodyScanner, scanBody } from '../../src/messages/body-scanner.ts';
import { shapeOf } from '../../src/messages/json-projection.ts';
import { JsonScanner } from '../../src/messages/json-scanner.ts';
import { MessageError } from '../../src/messages/message-error.ts';
import type { ScannedBody } from '../../src/messages/scanned-message.ts';

const scan = (text: string) => scanBody(Buffer.from(text));

function scanInChunks(body: Uint8Array, cuts: readonly number[]): ScannedBody {
  const scanner = createBodyScanner();
  const at = [0, ...cuts.map((cut) => cut % (body.length + 1)), body.length].toSorted((a, b) => a - b);
  for (const [index, start] of at.entries()) scanner.push(body.subarray(start, at[index + 1] ?? body.length));
  return scanner.end();
}

function errorOf(run: () => unknown): MessageError {
  try {
    run();
  } catch (error) {
    if (error instanceof MessageError) return error;
    throw error;
  }
  throw new Error('expected a MessageError');
}

const call = (name: string, more = '') =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":{"a":[1,{"name":"x"}]}${more}}}`;

const listen = (filter: string) =>
  `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":${filter}}}`;

const named = [
  { method: 'tools/call', params: { name: 'delete_file' }, expect: { tool: 'delete_file' } },
  { method: 'prompts/get', params: { name: 'greet' }, expect: { prompt: 'greet' } },
  { method: 'resources/read', params: { uri: 'file:///a' }, expect: { resource: 'file:///a' } },
  { method: 'resources/subscribe', params: { uri: 'file:///a' }, expect: { resource: 'file:///a' } },
  { method: 'resources/unsubscribe', params: { uri: 'file:///a' }, expect: { resource: 'file:///a' } },
  {
    method: 'completion/complete',
    params: { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'a', value: 'b' } },
    expect: { prompt: 'greet' },
  },
  {
    method: 'completion/complete',
    params: { ref: { type: 'ref/resource', uri: 'file:///{a}' } },
    expect: { resource: 'file:///{a}' },
  },
  {
    method: 'subscriptions/listen',
    params: {
      notifications: {
        toolsListChanged: true,
        resourcesListChanged: false,
        resourceSubscriptions: ['file:///a', 'file:///b'],
      },
    },
    expect: { subscriptions: ['file:///a', 'file:///b'] },
  },
  { method: 'tools/list', params: { name: 'ignored' }, expect: { tool: null } },
  { method: 'x/custom', params: { uri: 5, Name: 'a' }, expect: { tool: null, resource: null } },
] as const;

describe('scanBody', () => {
  it.each(named)('finds what $method applies to', ({ method, params, expect: expected }) => {
    for (const message of [
      { jsonrpc: '2.0', id: 1, method, params },
      { params, method, id: 1, jsonrpc: '2.0' },
    ]) {
      expect(scan(JSON.stringify(message)).messages).toEqual([
        expect.objectContaining({ method, ...expected }),
      ]);
    }
  });

  it('finds handles, the arguments and the version of a stateless message with their bytes', () => {
    const arguments_ = { ä: ['"}', { taskId: 'no' }] };
    const text = JSON.stringify({
      method: 'tools/call',
      params: {
        requestState: 'ß',
        _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' },
        arguments: arguments_,
        name: 'a',
        taskId: 't"1',
      },
      jsonrpc: '2.0',
      id: 'x',
    });
    const body = Buffer.from(text);
    const [message] = scanBody(body).messages;
    const at = (range?: { start: number; end: number } | null) =>
      JSON.parse(body.subarray(range?.start, range?.end).toString());
    expect(message).toMatchObject({ id: '"x"', protocolVersion: '2026-07-28', tool: 'a' });
    expect(at(message?.arguments)).toEqual(arguments_);
    expect(at(message?.task?.range)).toBe('t"1');
    expect(message?.requestState?.value).toBe('ß');
    expect(at(message?.requestState?.range)).toBe('ß');
  });

  it('tells requests, notifications and responses apart', () => {
    const kinds = ['{"jsonrpc":"2.0","method":"a"}', '{"jsonrpc":"2.0","id":0,"result":{}}', call('a')];
    expect(kinds.map((text) => scan(text).messages[0]?.kind)).toEqual([
      'notification',
      'response',
      'request',
    ]);
  });

  it('lists all messages of a batch', () => {
    const body = scan(`[${call('a')}, {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"b"}}]`);
    expect(body.messages.map(({ tool }) => tool)).toEqual(['a', 'b']);
    expect(body.isBatch).toBe(true);
  });

  it('accepts names and values with escapes that encoders write', () => {
    const text =
      '{"jsonrpc":"2.0","id":1,"method":"tools\\/call","params":{"name":"\\u00e9","_meta":{"io.modelcontextprotocol\\/protocolVersion":"2026-07-28"},"\\u00e9":1}}';
    expect(scan(text).messages[0]).toMatchObject({ tool: 'é', protocolVersion: '2026-07-28' });
  });

  const ambiguous = [
    [
      'a second method',
      '{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{"name":"a"}}',
    ],
    ['a second name', call('a', ',"name":"b"')],
    ['a second name written with an escape', call('a', ',"n\\u0061me":"b"')],
    [
      'a name written only with an escape',
      '{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"n\\u0061me":"b"}}',
    ],
    ['an empty method', '{"jsonrpc":"2.0","id":1,"method":""}'],
    ['a method in other case', '{"jsonrpc":"2.0","id":1,"method":"tools/list","Method":"tools/call"}'],
    ['a name in other case', call('a', ',"NAME":"b"')],
    ['arguments also in other case', call('a', ',"Arguments":{"b":1}')],
    [
      'arguments in other case before them',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"ARGUMENTS":{"b":1},"arguments":{},"name":"a"}}',
    ],
    [
      'arguments only in other case',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","Arguments":{}}}',
    ],
    ['arguments that fold to the member', call('a', ',"argumentſ":{"b":1}')],
    ['arguments that fold to the member by an escape', call('a', ',"argument\\u017f":{"b":1}')],
    ['a task in other case', call('a', ',"Task":{}')],
    ['a _meta in other case', call('a', ',"_META":{}')],
    ['a request state in other case', call('a', ',"requeststate":"b"')],
    [
      'a related task in other case',
      call('a', ',"_meta":{"io.modelcontextprotocol/Related-Task":{"taskId":"b"}}'),
    ],
    [
      'the ID of a related task in other case',
      call('a', ',"_meta":{"io.modelcontextprotocol/related-task":{"TaskId":"b"}}'),
    ],
    [
      'a result with a related task in other case',
      '{"jsonrpc":"2.0","id":1,"result":{"_Meta":{"io.modelcontextprotocol/related-task":{"taskId":"b"}}}}',
    ],
    [
      'a name that folds to the member',
      '{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taſKId":"b"}}',
    ],
    [
      'second parameters',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"},"params":{"name":"b"}}',
    ],
    ['a second handle', '{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"a","taskId":"b"}}'],
    [
      'a second version',
      call(
        'a',
        ',"_meta":{"io.modelcontextprotocol/protocolVersion":"a","io.modelcontextprotocol/protocolVersion":"b"}',
      ),
    ],
    ['a second _meta', call('a', ',"_meta":{},"_meta":{}')],
    ['a method beside a result', '{"jsonrpc":"2.0","id":1,"method":"tools/list","result":{}}'],
    ['data behind it', `${call('a')} ${call('b')}`],
    ['a second line', `${call('a')}\n{}`],
    ['a byte order mark', `\ufeff${call('a')}`],
    ['a comment', `/* */${call('a')}`],
    ['a trailing comma', '{"jsonrpc":"2.0","id":1,"method":"ping",}'],
    ['single quotes', "{'jsonrpc':'2.0','id':1,'method':'ping'}"],
    ['NaN', call('a', ',"b":NaN')],
    ['a number with a leading zero', call('a', ',"b":01')],
    ['a control character in a string', call('a', ',"b":"\u0001"')],
    ['an unfinished body', call('a').slice(0, -1)],
    ['an empty body', ''],
    ['a string', '"tools/call"'],
    ['an empty batch', '[]'],
    ['a batch in a batch', `[[${call('a')}]]`],
    ['equal ids in a batch', `[${call('a')},${call('b')}]`],
    ['ids of one value in a batch', `[${call('a')},${call('b').replace('"id":1', '"id":1.0')}]`],
    ['another version of JSON-RPC', '{"jsonrpc":"1.0","id":1,"method":"ping"}'],
    ['no version of JSON-RPC', '{"id":1,"method":"ping"}'],
    ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"ping"}'],
    ['an id of null', '{"jsonrpc":"2.0","id":null,"method":"ping"}'],
    ['parameters by position', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["a"]}'],
    ['a _meta that is null', call('a', ',"_meta":null')],
    ['a _meta that is a list', call('a', ',"_meta":[]')],
    ['a _meta that is a string', call('a', ',"_meta":"x"')],
    ['a filter of subscriptions that is null', listen('null')],
    ['a list of subscriptions that is a string', listen('{"toolsListChanged":"yes"}')],
    ['a list of subscriptions that is a number', listen('{"promptsListChanged":1}')],
    ['a name that is no string', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["a"]}}'],
    ['no name', '{"jsonrpc":"2.0","id":1,"method":"tools/call"}'],
    ['a method that is no string', '{"jsonrpc":"2.0","id":1,"method":["tools/list"]}'],
    [
      'a reference of an unknown type',
      '{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"x"}}}',
    ],
    ['nesting without end', call('a', `,"b":${'['.repeat(300)}${']'.repeat(300)}`)],
  ] as const;

  it.each(ambiguous)('refuses a body with %s, in whatever chunks it arrives', (_what, text) => {
    const body = Buffer.from(text);
    const whole = errorOf(() => scanBody(body));
    expect(whole.status).toBe(400);
    const bytes = Array.from(body.keys());
    expect(errorOf(() => scanInChunks(body, bytes)).message).toBe(whole.message);
  });

  it('refuses bytes that are not UTF-8', () => {
    const body = Buffer.from(call('ä€😀'));
    expect(scanBody(body).messages[0]?.tool).toBe('ä€😀');
    for (const index of body.keys()) {
      if ((body[index] ?? 0) < 0x80) continue;
      const broken = Buffer.from(body);
      broken[index] = 0x41;
      expect(errorOf(() => scanBody(broken)).code).toBe(-32_700);
      expect(errorOf(() => scanInChunks(broken, Array.from(body.keys()))).code).toBe(-32_700);
    }
  });

  it('does not keep what nothing asks for', () => {
    const scanner = createBodyScanner();
    scanner.push(
      Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"text":"'),
    );
    for (let count = 0; count < 64; count += 1) scanner.push(Buffer.alloc(65_536, 'x'));
    scanner.push(Buffer.from('"},"name":"a"}}'));
    expect(scanner.end()).toMatchObject({ messages: [{ tool: 'a' }] });
  });

  it('remembers a member in other case once, however often it is written', () => {
    const scanner = new JsonScanner(shapeOf({ id: {} }), { depth: 2, text: 100, elements: 1 });
    scanner.push(Buffer.from(`{${'"ID":0,'.repeat(1000)}"id":0}`));
    expect([...(scanner.end()?.variants ?? [])]).toEqual(['id']);
    expect(errorOf(() => scan(`{${'"ID":0,'.repeat(1000)}"jsonrpc":"2.0","id":1}`)).message).toContain(
      'other case',
    );
  });

  it('refuses a name that is longer than it keeps', () => {
    const scanner = createBodyScanner();
    scanner.push(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"'));
    const push = () => scanner.push(Buffer.alloc(65_536, 'x'));
    expect(errorOf(() => Array.from({ length: 10 }).forEach(push)).code).toBe(-32_700);
  });

  const value = fc.jsonValue();
  const members = fc.dictionary(
    fc.oneof(fc.constantFrom('name', 'uri', 'a', '__proto__'), fc.string()),
    value,
  );

  it('reads the same message as JSON.parse, in any chunks', () => {
    const message = fc.record({
      params: members.map((given) => ({ ...given, name: `x${JSON.stringify(given)}` })),
      id: fc.oneof(fc.integer(), fc.string({ unit: 'grapheme' })),
      extra: value,
      method: fc.constant('tools/call'),
      jsonrpc: fc.constant('2.0'),
    });
    const space = fc.constantFrom(0, 1, '\t');
    fc.assert(
      fc.property(message, space, fc.array(fc.nat(), { maxLength: 20 }), (given, indent, cuts) => {
        const read = JSON.parse(JSON.stringify(given));
        const isCaseVariant = Object.keys(given.params).some(
          (name) => name !== 'name' && name.toLowerCase() === 'name',
        );
        fc.pre(!isCaseVariant && !('_meta' in given.params) && !('taskId' in given.params));
        const body = Buffer.from(JSON.stringify(given, null, indent));
        const [scanned] = scanInChunks(body, cuts).messages;
        expect(scanned).toMatchObject({ tool: read.params.name, method: 'tools/call' });
        expect(JSON.parse(scanned?.id ?? '')).toBe(read.id);
        expect(scanBody(body)).toEqual(scanInChunks(body, cuts));
      }),
    );
  });

  it('accepts exactly the documents that JSON.parse accepts', () => {
    const text = fc.oneof(
      value.map((one) => JSON.stringify(one)),
      fc
        .json()
        .chain((json) =>
          fc
            .tuple(fc.nat(json.length), fc.nat(1), fc.constantFrom(...'{}[]",:\\eE+-.0tfn \n\u0000x'))
            .map(([at, length, character]) => json.slice(0, at) + character + json.slice(at + length)),
        ),
    );
    fc.assert(
      fc.property(text, fc.array(fc.nat(), { maxLength: 8 }), (json, cuts) => {
        const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"x","value":${json}}`);
        const isJson = isAccepted(() => JSON.parse(body.toString()));
        expect(isAccepted(() => scanInChunks(body, cuts))).toBe(isJson);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('a body that has not arrived whole', () => {
  /** What is known after each byte, without repetitions. */
  function peeks(text: string): readonly (string | null)[] {
    const scanner = createBodyScanner();
    return Array.from(Buffer.from(text), (byte) => {
      scanner.push(Buffer.of(byte));
      const [message] = scanner.peek()?.messages ?? [];
      return message === undefined ? null : `${message.method} ${message.tool}`;
    }).filter((one, index, all) => one !== all[index - 1]);
  }

  it.each([
    [
      'the arguments of a call',
      '{"method":"tools/call","params":{"name":"a","arguments":{"x":["y"]}}',
      'tools/call a',
    ],
    [
      'a member that nothing asks for',
      '{"id":1,"method":"tools/call","params":{"name":"a","x":"y"',
      'tools/call a',
    ],
    ['a result', '{"jsonrpc":"2.0","id":1,"result":{"content":[{"taskId":"x"}]', ' null'],
    ['an error', '{"jsonrpc":"2.0","id":1,"error":{"data":["x"]}', ' null'],
    [
      'a notification',
      '{"method":"notifications/x","params":{"data":{"method":"tools/call"}}',
      'notifications/x null',
    ],
  ])('is known inside %s', (_where, text, known) => {
    expect(peeks(text)).toEqual([null, known, null]);
  });

  it.each([
    ['arguments before the name', '{"method":"tools/call","params":{"arguments":{"x":["y"]},"name":"a"'],
    [
      'parameters before the method',
      '{"id":1,"params":{"name":"a","arguments":{"x":["y"]}},"method":"tools/call"',
    ],
    ['no name', '{"method":"tools/call","x":["y"],"params":{"arguments":[[]]'],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":["y"]'],
    ['a name in two cases', '{"method":"tools/call","params":{"Name":"b","name":"a","arguments":{"x":["y"]'],
    ['an id of null', '{"id":null,"method":"tools/call","params":{"name":"a","arguments":{"x":["y"]'],
    ['parameters by position', '{"method":"tools/call","params":[["a",{"x":"y"'],
    ['names that decide', '{"method":"tools/call","params":{"name":"a","_meta":{"progressToken'],
    ['handles', '{"method":"tasks/get","params":{"taskId":"a'],
  ])('is not known with %s', (_what, text) => {
    expect(peeks(text)).toEqual([null]);
  });

  it('is the same object exactly as long as nothing that decides has arrived', () => {
    const scanner = createBodyScanner();
    const after = (text: string) => {
      scanner.push(Buffer.from(text));
      return scanner.peek();
    };
    const first = after('{"method":"tools/call","params":{"name":"a","arguments":{"b":"');
    expect(first?.messages[0]?.arguments?.end).toBe(-1);
    expect(after('x","c":[')).toBe(first);
    const second = after(']},"x":[');
    expect(second).not.toBe(first);
    expect(second?.messages[0]?.arguments?.end).toBeGreaterThan(0);
    expect(after('],"y":{"taskId":"x"},"z":"')).toBe(second);
    expect(after('","requestState":"s","z":[')?.messages[0]?.requestState?.value).toBe('s');
    expect(() => after('],"arguments":{}')).toThrow('repeats the member arguments');
  });

  it('holds in what is known all that the whole one holds, wherever it is divided', () => {
    const value = fc.jsonValue();
    const params = fc
      .tuple(
        fc.dictionary(fc.constantFrom('arguments', 'taskId', 'requestState', 'x', '_meta', 'uri'), value),
        fc.constantFrom(0, 1, 2),
      )
      .map(([given, at]) => Object.fromEntries(Object.entries(given).toSpliced(at, 0, ['name', 'a'])));
    const message = fc
      .tuple(params, fc.shuffledSubarray(['jsonrpc', 'id', 'method', 'params'], { minLength: 4 }))
      .map(([given, order]) => {
        const whole = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: given };
        return JSON.stringify(Object.fromEntries(order.map((name) => [name, whole[name as 'id']])));
      });
    fc.assert(
      fc.property(message, fc.nat(), (text, cut) => {
        const body = Buffer.from(text);
        const scanner = createBodyScanner();
        scanner.push(body.subarray(0, cut % body.length));
        const [early] = scanner.peek()?.messages ?? [];
        if (early === undefined || !isAccepted(() => scanBody(body))) return;
        const [late] = scanBody(body).messages;
        for (const [name, known] of Object.entries(early ?? {})) {
          const isOpen = known === null || name === 'kind' || Object(known).end === -1 || known === false;
          if (!isOpen) expect(known).toEqual(late?.[name as keyof typeof late]);
        }
        expect([early?.method, early?.tool]).toEqual([late?.method, late?.tool]);
      }),
      { numRuns: 1000 },
    );
  });
});

function isAccepted(run: () => unknown): boolean {
  try {
    run();
    return true;
  } catch {
    return false;
  }
}
