/** Changes of the console that can be taken back: what the notice offers, and to whom. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestBackend } from '../../../gateway/test/support/backend.ts';
import { type Installation, startInstallation } from '../installation.ts';
import { eventOf } from './activity/events.ts';
import { consoleState, type Furniture, furnish, startBackends } from './furnished.ts';
import { type Visitor, visitConsole } from './visitor.ts';

let t: Installation;
let backend: TestBackend;
let thing: Furniture;
let visitor: Visitor;
beforeAll(async () => {
  backend = await startBackends();
  t = await startInstallation();
});
beforeEach(async () => {
  thing = await furnish(t, backend.url);
  visitor = await visitConsole(t);
});
afterAll(async () => {
  await t.stop();
  await backend.close();
});

const plainText = (text: string) =>
  text.replaceAll('&quot;', '"').replaceAll('&#10;', '\n').replaceAll('&amp;', '&');

/** The form of a notice; `null`: it offers none. */
function undoIn(html: string) {
  const notice = /<div class="notice">.*?<\/div>/s.exec(html)?.[0] ?? '';
  const path = /action="([^"]+)"/.exec(notice)?.[1];
  if (path === undefined) return null;
  const fields = [...notice.matchAll(/name="([^"]+)" value="([^"]*)"/g)];
  return {
    path: plainText(path),
    fields: Object.fromEntries(fields.map(([, name = '', value = '']) => [name, plainText(value)])),
  };
}

/** Makes a change, and opens the page that says so. @returns its address */
async function change(path: string, fields: Readonly<Record<string, string>> = {}): Promise<string> {
  const { status, headers } = await visitor.post(path, fields);
  expect(status).toBe(303);
  return headers.get('location') ?? '';
}

describe('a change that can be taken back', () => {
  it.each([
    ['disabling a user', () => `/admin/users/${thing.userId}/disable`, {}],
    ['changing a role', () => `/admin/users/${thing.userId}/role`, { role: 'viewer' }],
    ['changing groups', () => `/admin/users/${thing.userId}/groups`, { groups: 'a\nb' }],
    ['disabling an app', () => `/admin/app/disable?id=${thing.clientId}`, {}],
    ['verifying an app', () => `/admin/app/verify?id=${thing.clientId}`, {}],
  ])('%s is undone by the form of its notice, as the inverse change', async (_what, path, fields) => {
    const of = ({ accounts, clients, profiles }: Record<string, unknown>) => ({
      accounts,
      // When it was enabled again is recorded: access tokens from before stay revoked.
      clients: (clients as readonly object[]).map((client) => ({ ...client, enabledAt: null })),
      profiles,
    });
    const before = of((await consoleState(t)) as Record<string, unknown>);
    const undo = undoIn((await visitor.open(await change(path(), fields))).html);
    expect(of((await consoleState(t)) as Record<string, unknown>)).not.toEqual(before);
    expect((await visitor.post(undo?.path ?? '', undo?.fields ?? {})).status).toBe(303);
    expect(of((await consoleState(t)) as Record<string, unknown>)).toEqual(before);
    const latest = () =>
      t.onStore(async (store) =>
        (await store.listLatestEvents(50)).findLast(({ type }) => type === 'admin.changed'),
      );
    await expect.poll(latest).toMatchObject({ details: { reason: 'Undo' } });
  });

  it.each([
    ['role', { role: 'viewer' }, { role: 'operator' }],
    ['groups', { groups: 'a\nb' }, { groups: 'a' }],
  ])('overwrites no later change of %s', async (what, first, later) => {
    const path = `/admin/users/${thing.userId}/${what}`;
    const undo = undoIn((await visitor.open(await change(path, first))).html);
    const next = undoIn((await visitor.open(await change(path, later))).html);
    const before = await consoleState(t);
    const refused = await visitor.post(undo?.path ?? '', undo?.fields ?? {});
    expect([refused.status, refused.html]).toEqual([409, expect.stringContaining('nothing was undone')]);
    expect(await consoleState(t)).toEqual(before);
    expect((await visitor.post(next?.path ?? '', next?.fields ?? {})).status).toBe(303);
    expect((await visitor.post(undo?.path ?? '', undo?.fields ?? {})).status).toBe(303);
  });

  it.each([
    ['user', () => `/admin/users/${thing.userId}/disable`, () => `/admin/users/${thing.userId}/enable`],
    ['app', () => `/admin/app/disable?id=${thing.clientId}`, () => `/admin/app/enable?id=${thing.clientId}`],
  ])(
    'enables no %s that another operator has disabled meanwhile, or before',
    async (_what, disable, enable) => {
      const undo = undoIn((await visitor.open(await change(disable()))).html);
      await change(enable());
      const later = Math.floor(Date.now() / 1000) + 5;
      await t.onStore(async (store) => {
        await store.disableAccount(thing.userId, later);
        await store.disableClient(thing.clientId, later);
      });
      const before = await consoleState(t);
      const refused = await visitor.post(undo?.path ?? '', undo?.fields ?? {});
      expect([refused.status, refused.html]).toEqual([409, expect.stringContaining('nothing was undone')]);
      expect(await consoleState(t)).toEqual(before);
      expect(undoIn((await visitor.open(await change(disable()))).html)).toBeNull();
      await change(enable());
      const next = undoIn((await visitor.open(await change(disable()))).html);
      expect((await visitor.post(next?.path ?? '', next?.fields ?? {})).status).toBe(303);
    },
  );

  it.each([
    ['user', () => `/admin/users/${thing.userId}/disable`],
    ['app', () => `/admin/app/disable?id=${thing.clientId}`],
  ])('enables no %s that another operator has disabled as well', async (_what, disable) => {
    const undo = undoIn((await visitor.open(await change(disable()))).html);
    const other = await visitConsole(t);
    expect((await other.post(disable(), { reason: 'incident' })).status).toBe(303);
    const before = await consoleState(t);
    const refused = await visitor.post(undo?.path ?? '', undo?.fields ?? {});
    expect([refused.status, refused.html]).toEqual([409, expect.stringContaining('nothing was undone')]);
    expect(await consoleState(t)).toEqual(before);
  });

  it('is offered neither to a viewer, nor in another session, nor with another address, nor later', async () => {
    const address = await change(`/admin/users/${thing.userId}/role`, { role: 'operator' });
    const offeredTo = async (who: Visitor, to = address) => undoIn((await who.open(to)).html) !== null;
    expect(await offeredTo(visitor)).toBe(true);
    expect(await offeredTo(await visitConsole(t))).toBe(false);
    expect(await offeredTo(visitor, address.replace('done=role', 'done=groups'))).toBe(false);
    const [, offer = '', signature = ''] = /undo=([^.]+)\.(.+)$/.exec(address) ?? [];
    const forged = JSON.parse(Buffer.from(offer, 'base64url').toString()) as unknown[];
    forged[3] = { role: 'operator' };
    const other = Buffer.from(JSON.stringify(forged)).toString('base64url');
    for (const undo of [`${other}.${signature}`, other, '', '.', 'x.y'])
      expect(await offeredTo(visitor, address.replace(/undo=.*/, `undo=${undo}`))).toBe(false);
    const viewer = { ...visitor };
    await t.onStore(async (store) => {
      const owner = (await store.listAccounts('', 200)).find(({ email }) => email === 'ada@example.com');
      await store.setAccountRole(owner?.id ?? '', 'viewer');
    });
    expect(await offeredTo(viewer)).toBe(false);
  });
});

describe('the verification of an app in the console', () => {
  it('is refused if its metadata has changed since the page was shown, and made with what is there', async () => {
    const page = (await visitor.open(`/admin/app?id=${thing.clientId}`)).html;
    const verify = plainText(/href="(\/admin\/app\/verify[^"]+)"/.exec(page)?.[1] ?? '');
    await t.onStore(async (store) => {
      const client = await store.findClient(thing.clientId);
      if (client === null) throw new Error('no client');
      await store.updateClient(client.id, { metadata: { ...client.metadata, client_name: 'Bank' } });
    });
    const before = await consoleState(t);
    const refused = await visitor.post(verify, {});
    expect([refused.status, refused.html]).toEqual([409, expect.stringContaining('changed its metadata')]);
    expect(await consoleState(t)).toEqual(before);
    const again = (await visitor.open(`/admin/app?id=${thing.clientId}`)).html;
    const address = await change(plainText(/href="(\/admin\/app\/verify[^"]+)"/.exec(again)?.[1] ?? ''));
    expect((await visitor.open(address)).html).toContain('Verified by an operator');
  });

  it('the overview says for a day which verified app has changed, until it is verified again', async () => {
    const expiresAt = Math.floor(Date.now() / 1000) + 999;
    const after = Date.now() - 60_000 - Date.UTC(2026, 2, 1, 4);
    const details = { verificationEnded: true };
    await t.onStore((store) =>
      store.appendEvents([
        eventOf('client.changed', after, { clientId: thing.clientId, expiresAt, details }),
      ]),
    );
    const sentence = 'Claude changed its metadata, which ended its verification.';
    expect((await visitor.open('/admin')).html).toContain(sentence);
    await change(`/admin/app/verify?id=${thing.clientId}`);
    expect((await visitor.open('/admin')).html).not.toContain(sentence);
  });

  it('an app of a metadata document is listed, shown and verified', async () => {
    const url = `https://app.example/${thing.tokenId}`;
    await t.onStore(async (store) => {
      const client = await store.findClient(thing.clientId);
      if (client === null) throw new Error('no client');
      const now = Math.floor(Date.now() / 1000);
      const times = { fetchedAt: now, freshUntil: now + 300, lastUsedAt: null, expiresAt: now + 3600 };
      await store.saveClientMetadataDocument({
        ...{ url, metadata: { ...client.metadata, client_name: 'Documented' }, digest: 'digest' },
        ...{ etag: null, lastModified: null, verifiedAt: null, ...times },
      });
    });
    expect((await visitor.open('/admin/apps?q=documented')).html).toContain('Metadata document');
    const path = `/admin/app?id=${encodeURIComponent(url)}`;
    expect((await visitor.open(path)).html).toContain('Published at app.example');
    expect((await visitor.post(path.replace('app?', 'app/disable?'), {})).status).toBe(409);
    await change(path.replace('app?', 'app/verify?'));
    const verifiedAt = () =>
      t.onStore(async (store) => (await store.findClientMetadataDocument(url))?.verifiedAt ?? null);
    expect(await verifiedAt()).toEqual(expect.any(Number));
    await change(path.replace('app?', 'app/unverify?'));
    expect(await verifiedAt()).toBeNull();
  });

  it('is what the overview links to while an app has registered and is unverified', async () => {
    const registered = await fetch(`${t.url}/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: ['https://x.example/cb'], client_name: 'Fresh <b>' }),
    });
    const { client_id: id } = (await registered.json()) as { readonly client_id: string };
    const overview = async () => (await visitor.open('/admin')).html;
    await expect.poll(overview).toContain('Fresh &lt;b&gt; registered in the last day');
    expect(await overview()).toContain(`href="/admin/app?id=${id}"`);
    await change(`/admin/app/verify?id=${id}`);
    expect(await overview()).not.toContain('registered in the last day');
  });
});
