/** Activity over HTTP: who may read it, what its filters find, and that no text of an event becomes markup. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, startInstallation, stateOf } from '../../installation.ts';
import { type Visitor, visitConsole, visitWith } from '../visitor.ts';
import { eventOf } from './events.ts';

const EVIL = '<img src=x onerror=alert(1)>"\'</script>';
/** Later than every event of the installation itself. */
const LATER = Date.now() + 3_600_000 - Date.UTC(2026, 2, 1, 4);

let t: Installation;
let visitor: Visitor;
beforeAll(async () => {
  t = await startInstallation();
  visitor = await visitConsole(t, 'viewer');
  const details = Object.fromEntries(
    [
      'server',
      'tool',
      'reason',
      'rule',
      'endpoint',
      'error',
      'method',
      'outcome',
      'target',
      'operation',
      'identityProvider',
    ].map((name) => [name, EVIL]),
  );
  const expiresAt = Math.floor(Date.now() / 1000) + 9999;
  await t.onStore((store) =>
    store.appendEvents([
      eventOf('authorization.started', LATER, { expiresAt, clientId: EVIL, accountId: EVIL, details }),
      eventOf('request.rejected', LATER + 1, {
        expiresAt,
        clientId: EVIL,
        details: { ...details, reference: 'K7M5-PMRH' },
      }),
      eventOf('call.finished', LATER + 2, {
        expiresAt,
        clientId: EVIL,
        accountId: EVIL,
        details: { ...details, decision: 'denied', duration: 5, backendDuration: 0 },
      }),
      eventOf('admin.changed', LATER + 3, { expiresAt, transactionId: null, details }),
      ...Array.from({ length: 60 }, (_, index) =>
        eventOf('token.issued', LATER - 1000 + index, {
          expiresAt,
          transactionId: null,
          grantId: `grant_many_${index}`,
        }),
      ),
    ]),
  );
});
afterAll(() => t.stop());

const hrefsOf = (html: string) =>
  [...html.matchAll(/<li class="\w+"><a href="([^"]+)"/g)].map(([, href = '']) => href);

describe('Activity', () => {
  it.each([
    '/admin/activity',
    '/admin/activity?type=call.finished',
    '/admin/activity/sequence?transaction=flow_1',
    '/admin/activity?reference=k7m5pmrh',
  ])('a viewer may read %s, whose texts are no markup', async (path) => {
    const before = await stateOf(t);
    const { status, html, headers } = await visitor.open(path);
    expect(status).toBe(200);
    expect(html).toContain('&lt;img src=x');
    expect(html).not.toContain('<img src=x');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(await stateOf(t)).toEqual(before);
  });

  it('sends a browser without a session to sign in, and reads nothing for it', async () => {
    for (const path of [
      '/admin/activity',
      '/admin/activity/stream',
      '/admin/activity/sequence.svg?transaction=flow_1',
    ]) {
      const { status, html } = await visitWith(t, '').open(path);
      expect([status, html.includes('img src')]).toEqual([303, false]);
    }
  });

  it('pages through events by keys, each once, and keeps the filter', async () => {
    const first = await visitor.open('/admin/activity?type=token.issued');
    const [, next = ''] = /rel="next" href="([^"]+)"/.exec(first.html) ?? [];
    const second = await visitor.open(next.replaceAll('&amp;', '&'));
    expect(next).toContain('type=token.issued');
    const all = [...hrefsOf(first.html), ...hrefsOf(second.html)];
    expect(hrefsOf(first.html)).toHaveLength(50);
    expect(new Set(all).size).toBe(all.length);
    expect(all.length).toBeGreaterThanOrEqual(60);
  });

  it('shows an event with itself as JSON, and the command that finds it', async () => {
    const [path = ''] = hrefsOf((await visitor.open('/admin/activity?type=call.finished')).html);
    const { status, html } = await visitor.open(path);
    expect(status).toBe(200);
    expect(html).toContain('portcullis events --flow flow_1');
    expect(html).toContain('&quot;transactionId&quot;: &quot;flow_1&quot;');
    expect(html).not.toContain('<img src=x');
    expect((await visitor.open('/admin/activity/events/0000000000-none')).status).toBe(404);
    expect((await visitor.open('/admin/activity/events/%00')).status).toBe(404);
  });

  it.each([
    'type=no.such',
    'unknown=1',
    'since=soon',
    'before=%0a',
    'user=ghost@example.com',
    'reference=NONE-NONE',
  ])('explains a filter that finds nothing or cannot be used: %s', async (query) => {
    const { status, html } = await visitor.open(`/admin/activity?${query}`);
    expect([400, 404]).toContain(status);
    expect(html).toContain('<h1>');
  });

  it('draws an authorization, also as a file that runs nothing', async () => {
    const { html } = await visitor.open('/admin/activity/sequence?transaction=flow_1');
    expect(html).toContain('<svg');
    expect(html).toContain('RFC 6749 §4.1.1');
    const file = await visitor.open('/admin/activity/sequence.svg?transaction=flow_1');
    expect(file.headers.get('content-type')).toContain('image/svg+xml');
    expect(file.headers.get('content-security-policy')).toContain('sandbox');
    expect(file.headers.get('content-disposition')).toContain('attachment');
    expect(file.html).not.toContain('<img');
    for (const query of ['', '?transaction=unknown', '?grant=unknown'])
      expect([400, 404]).toContain((await visitor.open(`/admin/activity/sequence${query}`)).status);
  });

  it('streams new events as data, never as markup', async () => {
    const response = await fetch(`${t.url}/admin/activity/stream?type=token.issued`, {
      headers: { cookie: visitor.cookie },
    });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const expiresAt = Math.floor(Date.now() / 1000) + 999;
    const fresh = {
      ...eventOf('token.issued', Date.now() + 300 - Date.UTC(2026, 2, 1, 4), { expiresAt, clientId: EVIL }),
    };
    let text = '';
    await t.onStore((store) => store.appendEvents([fresh]));
    while (!text.includes('data:')) text += (await reader?.read())?.value ?? '';
    const [, data = ''] = /data: (.*)/.exec(text) ?? [];
    expect(JSON.parse(data)).toMatchObject({
      id: fresh.id,
      tone: 'plain',
      pieces: [{ name: EVIL }, expect.any(String), expect.anything()],
    });
    await reader?.cancel();
  });

  it('a HEAD request for the stream gets the headers of GET, and no stream', async () => {
    const { cookie } = visitor;
    const response = await fetch(`${t.url}/admin/activity/stream`, { method: 'HEAD', headers: { cookie } });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    expect(await response.text()).toBe('');
  });
});
