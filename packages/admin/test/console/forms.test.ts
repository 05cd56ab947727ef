/** Every page and form of the console: who may use it, and what it refuses without any change. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestBackend } from '../../../gateway/test/support/backend.ts';
import { consoleRoutes } from '../../src/console/routes.ts';
import { type Installation, startInstallation } from '../installation.ts';
import { consoleState, type Furniture, furnish, furnishedConfiguration, startBackends } from './furnished.ts';
import { NO_PAGES, samplesFor, WITHOUT_ID } from './samples.ts';
import { tokenIn, type Visitor, visitConsole, visitWith } from './visitor.ts';

let t: Installation;
let backend: TestBackend;
let furniture: Furniture;
let samples: ReturnType<typeof samplesFor>;

beforeAll(async () => {
  backend = await startBackends();
  t = await startInstallation(furnishedConfiguration(backend.url));
  furniture = await furnish(t, backend.url);
  samples = samplesFor(furniture, new URL(backend.url).origin);
});
afterAll(async () => {
  await t.stop();
  await backend.close();
});

const forms = consoleRoutes.filter(({ method }) => method === 'POST').map(({ path }) => path);
const pages = consoleRoutes
  .filter(({ method, path }) => method === 'GET' && !NO_PAGES.includes(path))
  .map(({ path }) => path);

function sampleOf(route: string) {
  const sample = samples[route];
  if (sample === undefined) throw new Error(`There is no sample of ${route}`);
  return sample;
}

/** @returns the status of a request that must not change anything */
async function withoutChange(request: () => Promise<{ readonly status: number }>): Promise<number> {
  const before = await consoleState(t);
  const { status } = await request();
  expect(await consoleState(t)).toEqual(before);
  return status;
}

const setRole = (role: 'operator' | 'viewer' | null) =>
  t.onStore(async (store) => {
    const owner = (await store.listAccounts('', 200)).find(({ email }) => email === 'ada@example.com');
    await store.setAccountRole(owner?.id ?? '', role);
  });

describe('every page of the console', () => {
  it.each(pages)('%s is shown to an operator, with a title', async (route) => {
    const shown = await (await visitConsole(t)).open(sampleOf(route).path);
    expect(shown.status).toBe(200);
    expect(shown.html.match(/<h1>/g)).toHaveLength(1);
  });

  it.each(pages)('%s is shown to a viewer only if it changes nothing', async (route) => {
    const { isForOperators } =
      consoleRoutes.find(({ path, method }) => path === route && method === 'GET') ?? {};
    const shown = await (await visitConsole(t, 'viewer')).open(sampleOf(route).path);
    expect(shown.status).toBe(isForOperators === true ? 403 : 200);
    expect(shown.html).not.toContain('name="token"');
  });

  it.each(pages)('%s is not shown without a session, role or second factor', async (route) => {
    const { path } = sampleOf(route);
    expect(await withoutChange(() => visitWith(t, '').open(path))).toBe(303);
    expect((await (await visitConsole(t, null)).open(path)).status).toBe(403);
    expect((await (await visitConsole(t, 'operator', ['pwd'])).open(path)).status).toBe(403);
  });

  it.each(pages.filter((route) => !WITHOUT_ID.includes(route)))(
    '%s is a 404 for an unknown identifier, without a change',
    async (route) => {
      const visitor = await visitConsole(t);
      const path = unknownOf(route);
      expect(await withoutChange(() => visitor.open(path))).toBe(404);
      expect((await visitor.open(sampleOf(route).path)).status).toBe(200);
    },
  );
});

/** The address of a route for something that does not exist. */
function unknownOf(route: string): string {
  const [path = ''] = route.replace(/\{\w+\}/, 'unknown-identifier').split('?');
  return `${path}?id=unknown&path=%2Funknown&tool=unknown&hash=unknown`;
}

describe('every form of the console', () => {
  it.each(forms)(
    '%s refuses a request without a session, of a viewer, and with one factor',
    async (route) => {
      const { path, fields } = sampleOf(route);
      const token = 'x';
      expect(await withoutChange(() => visitWith(t, '').post(path, { ...fields, token }))).toBe(303);
      const viewer = await visitConsole(t, 'viewer');
      expect(await withoutChange(() => viewer.post(path, { ...fields, token }))).toBe(403);
      const single = await visitConsole(t, 'operator', ['pwd']);
      expect(await withoutChange(() => single.post(path, { ...fields, token }))).toBe(403);
    },
  );

  it.each(forms)(
    '%s refuses a request without its CSRF token, with that of another session, and of another site',
    async (route) => {
      const { path, fields } = sampleOf(route);
      const [visitor, other] = [await visitConsole(t), await visitConsole(t)];
      const foreign = tokenIn((await other.open('/admin/users/invite')).html);
      const own = tokenIn((await visitor.open('/admin/users/invite')).html);
      expect(foreign).not.toBe(own);
      const post = (token: string, headers?: Readonly<Record<string, string>>) =>
        withoutChange(() => visitor.post(path, { ...fields, token }, headers));
      expect(await post('')).toBe(403);
      expect(await post(foreign)).toBe(403);
      expect(await post(own, { 'sec-fetch-site': 'cross-site' })).toBe(403);
      expect(await post(own, { origin: 'https://evil.example' })).toBe(403);
    },
  );

  it.each(forms)('%s refuses a field that it does not have', async (route) => {
    const { path, fields } = sampleOf(route);
    const visitor = await visitConsole(t);
    expect(await withoutChange(() => visitor.post(path, { ...fields, origin: 'administered' }))).toBe(400);
  });

  it.each(forms)('%s refuses an operator who has lost the role meanwhile', async (route) => {
    const { path, fields } = sampleOf(route);
    const visitor = await visitConsole(t);
    const token = tokenIn((await visitor.open('/admin/users/invite')).html);
    await setRole('viewer');
    expect(await withoutChange(() => visitor.post(path, { ...fields, token }))).toBe(403);
    await setRole(null);
    expect(await withoutChange(() => visitor.post(path, { ...fields, token }))).toBe(403);
  });

  it.each(forms.filter((route) => !WITHOUT_ID.includes(route)))(
    '%s is a 404 for an unknown identifier',
    async (route) => {
      const visitor = await visitConsole(t);
      const { fields } = sampleOf(route);
      expect(await withoutChange(() => visitor.post(unknownOf(route), fields))).toBe(404);
    },
  );
});

describe('a form that an operator sends', () => {
  /** Forms that try something out, and change nothing. */
  const TRIALS = ['/admin/setup', '/admin/setup/provider'];
  /** Forms that create what is shown once. */
  const SHOWS = [
    '/admin/users/invite',
    '/admin/apps/add',
    '/admin/app/rotate-secret',
    '/admin/settings/create-token',
    '/admin/settings/create-scim-token',
    '/admin/users/{userId}/reset',
    ...TRIALS,
  ];

  it.each(forms)('%s makes the change, and records who made it', async (route) => {
    const fresh = await furnish(t, backend.url);
    const { path, fields } = samplesFor(fresh, new URL(backend.url).origin)[route] ?? sampleOf(route);
    const visitor = await visitConsole(t);
    const before = await consoleState(t);
    const sent = await visitor.post(path, fields);
    expect([sent.status, sent.html.match(/<p class="notice bad".*/)?.[0]]).toEqual([
      SHOWS.includes(route) ? 200 : 303,
      undefined,
    ]);
    if (TRIALS.includes(route)) expect(await consoleState(t)).toEqual(before);
    else
      expect(await lastChange()).toMatchObject({
        clientId: 'portcullis-console',
        accountId: expect.stringMatching(/^user_/),
      });
    if (sent.status === 303) {
      const next = await visitor.open(sent.headers.get('location') ?? '');
      expect(next.status).toBe(200);
      expect(next.html).toContain('role="status"');
    }
  });

  const lastChange = () =>
    t.onStore(async (store) => {
      let found: unknown;
      await expect
        .poll(async () => {
          found = (await store.listLatestEvents(50)).findLast(({ type }) => type === 'admin.changed');
          return found;
        })
        .toBeDefined();
      return found;
    });
});

describe('the server of a form', () => {
  let visitor: Visitor;
  beforeAll(async () => {
    visitor = await visitConsole(t);
  });

  it('does not request an address inside the network for an identity provider', async () => {
    const fields = { issuer: 'https://169.254.169.254', name: 'Metadata', id: 'metadata', clientId: 'x' };
    const refused = await visitor.post('/admin/setup/provider', fields);
    expect(refused.status).toBe(400);
    expect(refused.html).toContain('cannot be read');
    const tried = await visitor.post('/admin/setup/provider', sampleOf('/admin/setup/provider').fields);
    expect(tried.html).toContain('&quot;clientSecret&quot;');
  });

  it('does not remove an account whose address was not typed', async () => {
    const fresh = await furnish(t, backend.url);
    const path = `/admin/users/${fresh.userId}/remove`;
    expect(await withoutChange(() => visitor.post(path, { confirm: 'ada@example.com' }))).toBe(400);
    expect((await visitor.post(path, { confirm: fresh.email })).status).toBe(303);
  });

  it('creates and changes no user with a group that a user cannot have', async () => {
    const fresh = await furnish(t, backend.url);
    const path = `/admin/users/${fresh.userId}/groups`;
    const groups = 'editors\na  b';
    const invitation = { ...sampleOf('/admin/users/invite').fields, groups };
    expect(await withoutChange(() => visitor.post('/admin/users/invite', invitation))).toBe(400);
    expect(await withoutChange(() => visitor.post(path, { groups }))).toBe(400);
    expect((await visitor.post(path, { groups: ' editors \n\na b' })).status).toBe(303);
  });

  it.each(['disable', 'reset', 'factors'])(
    'has no use of the form %s for the own account',
    async (change) => {
      const id = await t.onStore(
        async (store) =>
          (await store.listAccounts('', 200)).find(({ email }) => email === 'ada@example.com')?.id,
      );
      expect(await withoutChange(() => visitor.post(`/admin/users/${id}/${change}`, {}))).toBe(409);
      const fresh = await furnish(t, backend.url);
      expect((await visitor.post(`/admin/users/${fresh.userId}/${change}`, {})).status).toBeLessThan(400);
    },
  );
});
