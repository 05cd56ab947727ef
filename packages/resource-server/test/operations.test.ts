import { describe, expect, it } from 'vitest';
import { readOperations } from '../src/guard/operations.ts';
import { createGuard, type GuardEvent, type GuardOptions } from '../src/index.ts';
import { createIssuer, NOW, RESOURCE } from './support/issuer.ts';

const none = { tool: null, prompt: null, resource: null };

describe('operations of a body', () => {
  it.each([
    [
      'a tool',
      { method: 'tools/call', params: { name: 't' } },
      [{ ...none, method: 'tools/call', tool: 't' }],
    ],
    [
      'a prompt',
      { method: 'prompts/get', params: { name: 'p' } },
      [{ ...none, method: 'prompts/get', prompt: 'p' }],
    ],
    [
      'a resource',
      { method: 'resources/read', params: { uri: 'u' } },
      [{ ...none, method: 'resources/read', resource: 'u' }],
    ],
    [
      'a subscription',
      { method: 'resources/subscribe', params: { uri: 'u' } },
      [{ ...none, method: 'resources/subscribe', resource: 'u' }],
    ],
    [
      'a completion for a prompt',
      { method: 'completion/complete', params: { ref: { type: 'ref/prompt', name: 'p' } } },
      [{ ...none, method: 'completion/complete', prompt: 'p' }],
    ],
    [
      'a completion for a resource',
      { method: 'completion/complete', params: { ref: { type: 'ref/resource', uri: 'u' } } },
      [{ ...none, method: 'completion/complete', resource: 'u' }],
    ],
    ['another method', { method: 'tools/list', params: { name: 't' } }, [{ ...none, method: 'tools/list' }]],
    [
      'a notification',
      { method: 'notifications/initialized' },
      [{ ...none, method: 'notifications/initialized' }],
    ],
    [
      'a subscription without a resource',
      { method: 'resources/subscribe', params: {} },
      [{ ...none, method: 'resources/subscribe' }],
    ],
    [
      'a subscription to several resources',
      { method: 'subscriptions/listen', params: { notifications: { resourceSubscriptions: ['u', 'v'] } } },
      ['u', 'v'].map((resource) => ({ ...none, method: 'subscriptions/listen', resource })),
    ],
    [
      'a subscription to lists',
      { method: 'subscriptions/listen', params: { notifications: { toolsListChanged: true } } },
      [{ ...none, method: 'subscriptions/listen' }],
    ],
    ['parameters that are null', { method: 'tools/list', params: null }, [{ ...none, method: 'tools/list' }]],
    [
      'a method named like a property of Object',
      { method: 'constructor' },
      [{ ...none, method: 'constructor' }],
    ],
    ['a response', { id: 1, result: {} }, []],
    ['an empty batch', [], []],
    ['malformed messages in a batch', [null, 1, 'x', []], []],
    ['no body', undefined, []],
    ['a string', 'tools/call', []],
  ])('reads the operations of a request body: %s', (_, body, expected) => {
    expect(readOperations(body)).toEqual(expected);
  });

  it.each<[string, object]>([
    ['a method that is no string', { method: ['tools/call'], params: { name: 't' } }],
    ['a method that is null', { method: null }],
    ['a tool name that is no string', { method: 'tools/call', params: { name: ['t'] } }],
    ['no tool name', { method: 'tools/call', params: {} }],
    ['a call without parameters', { method: 'tools/call', params: null }],
    ['parameters by position', { method: 'tools/call', params: ['t'] }],
    ['a prompt name that is a number', { method: 'prompts/get', params: { name: 1 } }],
    ['a URI that is null', { method: 'resources/read', params: { uri: null } }],
    ['a subscription to a URI that is no string', { method: 'resources/subscribe', params: { uri: ['u'] } }],
    ...[['u', 1], 'u', null].map((resourceSubscriptions): [string, object] => [
      `subscriptions to ${JSON.stringify(resourceSubscriptions)}`,
      { method: 'subscriptions/listen', params: { notifications: { resourceSubscriptions } } },
    ]),
    ['a completion without a reference', { method: 'completion/complete', params: { ref: 'p' } }],
    [
      'a completion for another kind of reference',
      { method: 'completion/complete', params: { ref: { type: 'ref/tool', name: 't', uri: 'u' } } },
    ],
  ])('refuses a message that a server might understand by converting it: %s', (_, message) => {
    for (const body of [message, [{ method: 'tools/list' }, message]])
      expect(() => readOperations(body)).toThrow(
        expect.objectContaining({ name: 'OAuthError', code: 'invalid_request' }),
      );
  });

  it('reads the operations of all messages of a batch, in order', () => {
    const batch = [{ method: 'a' }, { id: 1, result: {} }, { method: 'tools/call', params: { name: 't' } }];
    expect(readOperations(batch).map(({ method, tool }) => [method, tool])).toEqual([
      ['a', null],
      ['tools/call', 't'],
    ]);
  });
});

describe('a guard that depends on operations', () => {
  async function open(options: Partial<GuardOptions>) {
    const issuer = await createIssuer();
    const events: GuardEvent[] = [];
    const guard = createGuard({
      resource: RESOURCE,
      verifier: issuer.verifier(),
      clock: () => NOW,
      events: (event) => events.push(event),
      ...options,
    } as GuardOptions);
    const authorization = `Bearer ${await issuer.token({ scope: 'notes:read' })}`;
    const ask = async (method: string, body?: string) => {
      const read = body === undefined ? {} : { body: async () => body };
      // Twice: the second time the token is cached.
      await guard.authorize({ method, url: '/mcp', authorization, ...read });
      const decision = await guard.authorize({ method, url: '/mcp', authorization, ...read });
      return decision.authorized ? 200 : decision.response.status;
    };
    return { ask, events };
  }

  it('lets nothing listen to a resource whose scopes are missing', async () => {
    const { ask } = await open({
      scopesFor: ({ resource }) =>
        resource?.startsWith('file:///private/') ? ['notes:write'] : ['notes:read'],
    });
    const listenTo = (...resourceSubscriptions: string[]) => {
      const params = { notifications: { resourceSubscriptions } };
      return ask('POST', JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params }));
    };
    expect(await listenTo('file:///public/a', 'file:///private/a')).toBe(403);
    expect(await listenTo('file:///public/a', 'file:///public/b')).toBe(200);
  });

  const call = (name: string) =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } });

  it.each<[string, Partial<GuardOptions>]>([
    ['scopesFor', { scopesFor: ({ tool }) => (tool === 'read' ? ['notes:read'] : ['notes:write']) }],
    ['authenticationFor', { authenticationFor: ({ tool }) => (tool === 'read' ? null : { maxAge: 60 }) }],
  ])('lets no operation pass unchecked where it has %s', async (_name, options) => {
    const { ask, events } = await open(options);
    for (const method of ['POST', 'post', 'PUT', 'PATCH'])
      expect([method, await ask(method)]).toEqual([method, 500]);
    expect(events.at(-1)).toMatchObject({ type: 'request.failed', cause: expect.any(TypeError) });
    expect(await ask('POST', call('read'))).toBe(200);
    expect(await ask('POST', call('write'))).not.toBe(200);
    for (const method of ['GET', 'HEAD', 'DELETE'])
      expect([method, await ask(method)]).toEqual([method, 200]);
  });

  it('authorizes it where no operation matters', async () => {
    const { ask } = await open({ scopes: ['notes:read'] });
    expect(await ask('POST')).toBe(200);
  });
});
