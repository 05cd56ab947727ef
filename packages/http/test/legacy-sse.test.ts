import { expect, it, onTestFinished, vi } from 'vitest';
import { resolveEndpoint } from '../src/index.ts';

it('an endpoint event with a long host outside ASCII is not parsed', () => {
  const server = new URL('https://a.example/sse');
  const parse = vi.spyOn(URL, 'parse');
  onTestFinished(() => parse.mockRestore());
  for (const start of ['https://', '//', '\\/\t'])
    expect(resolveEndpoint(`${start}${'文'.repeat(256)}/messages`, server)).toBeNull();
  expect(parse).not.toHaveBeenCalled();
  expect(resolveEndpoint(`/messages?id=${'文'.repeat(256)}`, server)?.pathname).toBe('/messages');
});
