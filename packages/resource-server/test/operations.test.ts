import { describe, expect, it } from 'vitest';
import { readOperations } from '../src/index.ts';

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
    [
      'a completion without a reference',
      { method: 'completion/complete', params: { ref: 'p' } },
      [{ ...none, method: 'completion/complete' }],
    ],
    ['another method', { method: 'tools/list', params: { name: 't' } }, [{ ...none, method: 'tools/list' }]],
    [
      'a notification',
      { method: 'notifications/initialized' },
      [{ ...none, method: 'notifications/initialized' }],
    ],
    [
      'a tool name that is not a string',
      { method: 'tools/call', params: { name: 1 } },
      [{ ...none, method: 'tools/call' }],
    ],
    ['parameters that are null', { method: 'tools/call', params: null }, [{ ...none, method: 'tools/call' }]],
    [
      'a method named like a property of Object',
      { method: 'constructor' },
      [{ ...none, method: 'constructor' }],
    ],
    ['a response', { id: 1, result: {} }, []],
    ['an empty batch', [], []],
    ['malformed messages in a batch', [null, 1, 'x', [], { method: 2 }], []],
    ['no body', undefined, []],
    ['a string', 'tools/call', []],
  ])('reads the operations of a request body: %s', (_, body, expected) => {
    expect(readOperations(body)).toEqual(expected);
  });

  it('reads the operations of all messages of a batch, in order', () => {
    const batch = [{ method: 'a' }, { id: 1, result: {} }, { method: 'tools/call', params: { name: 't' } }];
    expect(readOperations(batch).map(({ method, tool }) => [method, tool])).toEqual([
      ['a', null],
      ['tools/call', 't'],
    ]);
  });
});
