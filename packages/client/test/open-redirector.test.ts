/** The loopback receiver is not an open redirector. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { RedirectListener } from '../src/authorization/receiver.ts';
import { createLoopbackReceiver } from '../src/node.ts';

let reception: RedirectListener;

beforeEach(async () => {
  reception = await createLoopbackReceiver().listen([]);
});

afterEach(() => reception.close());

it('[C-REDIR-21] follows no URL in an authorization response, and its page loads nothing', async () => {
  const arrival = reception.waitForRedirect('expected', Promise.resolve());
  const query = new URLSearchParams({ code: 'c', state: 'expected', next: 'https://evil.example/' });
  const page = fetch(`${reception.redirectUri}?${query}`, { redirect: 'manual' });
  await (await arrival).respond({ ok: true, message: 'Back to <https://evil.example/>' });
  const response = await page;
  expect(response.status).toBe(200);
  expect(response.headers.has('location')).toBe(false);
  expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(await response.text()).not.toMatch(/<script|<meta[^>]*refresh|\b(?:src|href|action)=|<https/i);
});

it('[C-REDIR-21] rejects an unexpected authorization response without a redirect', async () => {
  void reception.waitForRedirect('expected', Promise.resolve()).catch(() => {});
  const query = new URLSearchParams({ code: 'c', state: 'other', redirect_uri: 'https://evil.example/' });
  const response = await fetch(`${reception.redirectUri}?${query}`, { redirect: 'manual' });
  expect(response.status).toBe(400);
  expect(response.headers.has('location')).toBe(false);
  expect(await response.text()).not.toContain('evil.example');
});
