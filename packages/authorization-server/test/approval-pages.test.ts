/** The page of an approval changes nothing unless its approver submits its own form, from this server. */
import { describe, expect, it } from 'vitest';
import { newApproval } from '../../store/testing/approvals.ts';
import { createApprovalAdministration } from '../src/index.ts';
import { newTypedSecret } from '../src/secrets.ts';
import { ISSUER } from './server-under-test.ts';
import { EMAIL, PASSWORD, type Scene, type Sight, setScene } from './visitor.ts';

interface Opened {
  readonly t: Scene;
  readonly id: string;
  /** With its form. */
  readonly page: Sight;
  describeUser(groups: readonly string[]): Promise<unknown>;
}

/** Opens the page of a call of the user, who is in the group of its approvers. */
async function openPage(): Promise<Opened> {
  const t = await setScene({ approvals: true });
  const describeUser = (groups: readonly string[]) => t.server.accounts.describe(EMAIL, { groups });
  await describeUser(['leads']);
  const account = await t.server.accounts.find(EMAIL);
  const createdAt = t.clock.now;
  const approval = newApproval({
    ...{ id: 'a'.repeat(43), subject: account?.id ?? '', approverGroups: ['leads'] },
    ...{ createdAt, expiresAt: createdAt + 3600 },
  });
  await t.store.requestApproval(approval, { bySubject: 9, byServer: 9 });
  const login = await t.visitor.open(`/approvals/${approval.id}`);
  const page = await t.visitor.submit(login, { email: EMAIL, password: PASSWORD }, '/login');
  return { t, id: approval.id, page, describeUser };
}

describe('an approval', () => {
  it('has an ID that no command takes for an option', () => {
    const beginnings = Array.from({ length: 1000 }, () => newTypedSecret().slice(0, 1));
    expect(beginnings).not.toContain('-');
    expect(new Set(beginnings).size).toBeGreaterThan(50);
  });

  it('is not requested for a token of another issuer, whose users only have names of ours', async () => {
    const t = await setScene({ approvals: true });
    const account = await t.server.accounts.find(EMAIL);
    const { id: _id, createdAt: _createdAt, expiresAt: _expiresAt, ...call } = newApproval();
    const request = (issuer: string) =>
      t.server.approvals.request({
        ...{ ...call, issuer, subject: account?.id ?? '' },
        needed: [{ by: 'user', lasts: 'call', rule: call.rule }],
      });
    const before = t.snapshot();
    expect(await request('https://other.example')).toMatchObject({ kind: 'impossible' });
    expect(t.snapshot()).toBe(before);
    expect(await request(ISSUER)).toMatchObject({ kind: 'pending' });
  });
});

describe('approvals as operators read them', () => {
  async function administer(given: Parameters<typeof newApproval>[0][]) {
    const { store, clock } = await setScene({ approvals: true });
    for (const [index, one] of given.entries()) {
      const times = { createdAt: clock.now + index, expiresAt: clock.now + 3600 };
      await store.requestApproval(newApproval({ ...times, ...one }), { bySubject: 2000, byServer: 2000 });
    }
    return createApprovalAdministration({ store, clock: () => clock.now, events: () => {} });
  }

  it('show arguments in about the length that they have, however deep they are', async () => {
    const deep = `${'['.repeat(60)}${Array(10_000).fill('1').join(',')}${']'.repeat(60)}`;
    const given = `{"deep":${deep},"near":{"a":[1,{"b":[]},12345678901234567890]},"text":"one\\ntwo"}`;
    const { list } = await administer([{ arguments: given }]);
    const shown = new Map((await list())[0]?.shownArguments);
    expect(shown.get('near')).toBe(
      '{\n  "a": [\n    1,\n    {\n      "b": []\n    },\n    12345678901234567890\n  ]\n}',
    );
    expect(shown.get('text')).toBe('"one\ntwo"');
    expect(shown.get('deep')?.replaceAll(/\s/g, '')).toBe(deep);
    expect(shown.get('deep')?.length).toBeLessThan(deep.length * 6);
  });

  it('are listed without reading the arguments of any', async () => {
    const { list } = await administer([{ arguments: 'no JSON' }]);
    const [one] = await list();
    expect(one?.arguments).toBe('no JSON');
    expect(() => one?.shownArguments).toThrow(SyntaxError);
  });

  it('are found by their whole ID behind a thousand older ones', async () => {
    const subject = 'user_of_many';
    const last = 'z'.repeat(43);
    const many = Array.from({ length: 1001 }, () => ({ subject }));
    const { list, find } = await administer([...many, { id: last }]);
    expect((await list()).map(({ id }) => id)).not.toContain(last);
    expect(await find(last)).toMatchObject({ id: last });
  });
});

describe('the form of an approval', () => {
  async function expectUnchanged({ t }: Opened, status: number, act: () => Promise<Sight>) {
    const before = t.snapshot();
    expect([(await act()).status, t.snapshot()]).toEqual([status, before]);
  }

  async function expectDecided({ t, id, page }: Opened) {
    await t.visitor.submit(page, { decision: 'once' });
    expect(await t.store.findApproval(id, t.clock.now)).toMatchObject({ outcome: 'approved' });
  }

  it.each<Record<string, string>>([
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
  ])('is refused from another site: %j', async (headers) => {
    const opened = await openPage();
    const { t, page } = opened;
    t.visitor.headers = headers;
    await expectUnchanged(opened, 403, () => t.visitor.submit(page, { decision: 'once' }));
    t.visitor.headers = {};
    await expectDecided(opened);
  });

  it('is refused from a user who sees the call and has left the group of its approvers', async () => {
    const opened = await openPage();
    const { t, page, describeUser } = opened;
    await describeUser([]);
    expect((await t.visitor.open(page.path)).html).toContain('Waiting for a decision');
    await expectUnchanged(opened, 404, () => t.visitor.submit(page, { decision: 'once' }));
    await describeUser(['leads']);
    await expectDecided(opened);
  });

  it('without a session, after another sign-in, by GET or with another decision changes nothing', async () => {
    const opened = await openPage();
    const { t, page } = opened;
    const [, token = ''] = /name="token" value="([^"]+)"/.exec(page.html) ?? [];
    const query = new URLSearchParams({ token, decision: 'once' });
    await expectUnchanged(opened, 200, () => t.visitor.open(`${page.path}?${query}`));
    for (const decision of ['repeatedly', 'approved', '', undefined])
      await expectUnchanged(opened, 200, () => t.visitor.submit(page, { decision }));
    const visitor = t.newVisitor();
    await expectUnchanged(opened, 200, () => visitor.submit(page, { decision: 'once' }));
    await visitor.submit(await visitor.open('/login'), { email: EMAIL, password: PASSWORD });
    await expectUnchanged(opened, 403, () => visitor.submit(page, { decision: 'once' }));
    await expectDecided(opened);
  });

  it('decides nothing about a change through the admin MCP server, which is left to the console', async () => {
    const opened = await openPage();
    const { t, id, page } = opened;
    t.execute("UPDATE approvals SET rule = 'admin.approvals'");
    const leads = async (act: () => Promise<Sight>) => {
      const { trail } = await act();
      return trail.map(({ headers }) => headers.get('location'));
    };
    const before = t.snapshot();
    for (const act of [
      () => t.visitor.open(page.path),
      () => t.visitor.submit(page, { decision: 'once' }),
      () => t.visitor.submit(page, { decision: 'deny' }),
    ])
      expect(await leads(act)).toEqual([`/admin/approvals/${id}`]);
    expect(t.snapshot()).toBe(before);
    t.execute(`UPDATE approvals SET rule = 'servers[0].tools["*"]'`);
    await expectDecided(opened);
  });
});
