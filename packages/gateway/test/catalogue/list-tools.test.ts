import { expect, it, onTestFinished, vi } from 'vitest';
import { BackendError, type BackendSession, type Call } from '../../src/backends/backend.ts';
import { createListTools } from '../../src/catalogue/list-tools.ts';
import type { OwnedRequest } from '../../src/servers/request.ts';

it.each([0, false, {}, null, ''])('reads no page after one whose next cursor is %j', async (nextCursor) => {
  const request = vi.fn(async () => ({ jsonrpc: '2.0', id: 1, result: { tools: [], nextCursor } }));
  const session = { request } as unknown as BackendSession;
  const list = createListTools(async () => [async () => ({ session, isOwn: false })]);
  await list({ server: { name: 'Files' } } as unknown as OwnedRequest, 'newest');
  expect(request).toHaveBeenCalledTimes(1);
});

it('stops reading a list of tools that the backend does not send, and says so', async () => {
  const limit = new AbortController();
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(limit.signal);
  onTestFinished(() => timeout.mockRestore());
  const sent: string[] = [];
  const session = {
    request({ method }: { readonly method: string }, { signal }: Call) {
      sent.push(method);
      return new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('cancelled')));
      });
    },
  } as unknown as BackendSession;
  const list = createListTools(async () => [async () => ({ session, isOwn: false })]);
  const listed = list({ server: { name: 'Files' } } as unknown as OwnedRequest, 'newest');
  await vi.waitFor(() => expect(sent).toEqual(['tools/list']));
  limit.abort();
  await expect(listed).rejects.toMatchObject({
    failure: 'timeout',
    message: 'Files did not list its tools within 30 seconds.',
  });
});

it('reads a list in another session when the backend no longer has that of a client', async () => {
  const lost = new BackendError('session_unknown', 'Files answered with HTTP status 404.', 5, 404);
  const tools = [{ name: 'add', inputSchema: { type: 'object' } }];
  const request = vi
    .fn<() => Promise<unknown>>()
    .mockRejectedValueOnce(lost)
    .mockResolvedValueOnce({ jsonrpc: '2.0', id: 1, result: { tools } });
  const session = { request } as unknown as BackendSession;
  const list = createListTools(async () => [async () => ({ session, isOwn: false })]);
  const sender = { server: { name: 'Files' } } as unknown as OwnedRequest;
  expect(await list(sender, 'newest')).toMatchObject([[{ name: 'add' }]]);
  expect(request).toHaveBeenCalledTimes(2);
});
