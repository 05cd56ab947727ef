/** The subscription of the gateway at a stateless backend: opened again while that may help. */
import type { Message } from '@portcullis/http';
import { expect, it, onTestFinished, vi } from 'vitest';
import { followSubscriptions } from '../src/backends/http/stateless-subscription.ts';

const CHANGE = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };

/** Follows a backend that responds with these, and then with a change. */
function follow(...responses: readonly Response[]) {
  vi.useFakeTimers();
  const controller = new AbortController();
  onTestFinished(() => {
    controller.abort();
    vi.useRealTimers();
  });
  const received: Message[] = [];
  const next = responses.values();
  const post = vi.fn(async () => next.next().value ?? streamOf(CHANGE));
  const followed = followSubscriptions({
    requests: { post },
    capabilities: { tools: { listChanged: true } },
    uris: [],
    frame: 10_000,
    receive(message) {
      received.push(message);
      controller.abort();
    },
    signal: controller.signal,
  });
  return { followed, post, received };
}

const streamOf = (message: object) =>
  new Response(`data: ${JSON.stringify(message)}\n\n`, { headers: { 'content-type': 'text/event-stream' } });

it.each([429, 500, 502, 503])('is opened again after a proxy responded %i', async (status) => {
  const { followed, post, received } = follow(new Response('', { status }));
  await vi.advanceTimersByTimeAsync(60_000);
  await followed;
  expect([post.mock.calls.length, received]).toMatchObject([2, [CHANGE]]);
});

it.each([
  ['400', new Response('', { status: 400 })],
  ['404, as without this method', new Response('', { status: 404 })],
  ['405', new Response('', { status: 405 })],
  ['JSON', Response.json({})],
])('ends where the backend responds with %s', async (_what, response) => {
  const { followed, post } = follow(response);
  await followed;
  expect(post).toHaveBeenCalledTimes(1);
});
