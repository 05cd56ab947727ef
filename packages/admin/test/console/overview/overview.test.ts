/** The overview over HTTP: figures of what happened, links to its events, and views that exist. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, startInstallation } from '../../installation.ts';
import { eventOf } from '../activity/events.ts';
import { type Visitor, visitConsole } from '../visitor.ts';

const EVIL = '"><img src=x>';

let t: Installation;
let visitor: Visitor;
beforeAll(async () => {
  t = await startInstallation();
  const after = Date.now() - 60_000 - Date.UTC(2026, 2, 1, 4);
  const expiresAt = Math.floor(Date.now() / 1000) + 999;
  const details = {
    server: EVIL,
    tool: EVIL,
    decision: EVIL,
    error: EVIL,
    operation: EVIL,
    duration: 3,
    backendDuration: 1,
  };
  await t.onStore((store) =>
    store.appendEvents([
      eventOf('client.registered', after, { expiresAt }),
      eventOf('call.finished', after + 1, { expiresAt, details }),
      eventOf('request.rejected', after + 2, { expiresAt, details }),
      eventOf('admin.changed', after + 3, { expiresAt, details }),
      eventOf('call.finished', after + 4, {
        expiresAt,
        details: { ...details, server: '/files', decision: 'allowed' },
      }),
    ]),
  );
  visitor = await visitConsole(t, 'viewer');
});
afterAll(() => t.stop());

describe('the overview', () => {
  it.each(['hour', 'day', 'week', 'month'])(
    'shows the %s, with links to its events, and no text as markup',
    async (view) => {
      const { status, html } = await visitor.open(`/admin?view=${view}`);
      expect(status).toBe(200);
      expect(html).toMatch(/Calls<\/span><span class="value">2<\/span>/);
      expect(html).not.toContain('registered in the last day');
      expect(html).not.toContain('<img src=x');
      const [, href = ''] = /<th scope="row"><a href="([^"]+)"/.exec(html) ?? [];
      expect((await visitor.open(href.replaceAll('&amp;', '&'))).status).toBe(200);
    },
  );

  it('marks starts, deployments and reloads of the server in each plot, each with its letter and event', async () => {
    const started = (version: string, after: number) =>
      eventOf('server.started', Date.now() - Date.UTC(2026, 2, 1, 4) - after, {
        ...{ expiresAt: Math.floor(Date.now() / 1000) + 999, details: { version } },
      });
    await t.onStore((store) =>
      store.appendEvents([started('0.1.0', 7_200_000), started('0.2.0', 3_600_000)]),
    );
    // The start of this server is an event, too.
    expect((await visitor.open('/admin/activity?type=server.started')).html).toMatch(
      /Portcullis <code>\d+\.\d+\.\d+<\/code> started/,
    );
    // A busy computer gives up the search for marks early.
    let html = '';
    const marked = async () => {
      ({ html } = await visitor.open('/admin?view=day'));
      return html;
    };
    await expect.poll(marked).toMatch(/<b>A<\/b> <a href="[^"]+">start of 0\.1\.0 at/);
    expect(html).toMatch(/<b>B<\/b> <a href="[^"]+">deployment of 0\.2\.0 at/);
    expect(html.match(/<text x="[\d.]+%" y="11">B<\/text>/g)?.length).toBe(html.match(/data-plot/g)?.length);
  });

  it('says which views there are', async () => {
    const { status, html } = await visitor.open('/admin?view=__proto__');
    expect([status, html.includes('hour, day, week and month')]).toEqual([400, true]);
    expect((await visitor.open('/admin')).status).toBe(200);
  });

  it('is small enough for a first visit', async () => {
    const { html } = await visitor.open('/admin?view=month');
    const assets = [...html.matchAll(/(?:href|src)="(\/admin\/assets\/[^"]+)"/g)].map(
      ([, path = '']) => path,
    );
    const sizes = await Promise.all(
      assets.map(async (path) => {
        const response = await fetch(`${t.url}${path}`, { headers: { 'accept-encoding': 'identity' } });
        return (await response.arrayBuffer()).byteLength;
      }),
    );
    expect(assets.length).toBeGreaterThan(2);
    expect(html.length + sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(120_000);
  });
});
