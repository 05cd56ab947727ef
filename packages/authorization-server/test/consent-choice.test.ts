/** Choices on the consent page, scopes already granted, and remembered consent. */
import { temporarilyUnavailable } from '@portcullis/protocol';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type AuthorizationServerOptions, createAuthorizationServer } from '../src/index.ts';
import { hashSecret } from '../src/secrets.ts';
import {
  ACCOUNT,
  CLIENTS,
  claimsOf,
  FILES,
  ISSUER,
  MASTER_KEY,
  NOTES,
  RESOURCES,
  redemption,
  refreshing,
} from './server-under-test.ts';
import {
  createVisitor,
  decide,
  type Fields,
  requestOf,
  type Scene,
  type Sight,
  setScene,
  textOf,
  VERIFIER,
} from './visitor.ts';

/** Headers of a browser whose user started the navigation. */
const OWN_NAVIGATION = {
  'sec-fetch-site': 'none',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
};

const BOARD: AuthorizationServerOptions['resources'][number] = {
  resource: 'https://mcp.example/board',
  name: 'Board',
  scopes: {
    see: 'See the board',
    draw: 'Draw on the board',
    share: 'Show the board to others',
    wipe: 'Wipe the board',
  },
  requiredScopes: ['see'],
  hierarchy: { wipe: ['draw'] },
};

/** Redeems the code of a redirect to the client. */
async function tokens(t: Scene, { left }: Sight, client_id = 'web'): Promise<Record<string, unknown>> {
  const form = redemption(left?.searchParams.get('code') ?? '', VERIFIER, client_id);
  const secret = client_id === 'web' ? { client_secret: 'web-secret' } : {};
  const { status, body } = await t.post('/token', { ...form, ...secret });
  expect(status).toBe(200);
  return body;
}

/** Allows the request and redeems the code. */
async function connect(t: Scene, parameters: Fields, fields: Fields = {}): Promise<Record<string, unknown>> {
  const sight = await t.visitor.signIn(requestOf(parameters));
  const answered =
    sight.left === null ? await t.visitor.submit(sight, { decision: 'allow', ...fields }) : sight;
  return tokens(t, answered, String(parameters['client_id'] ?? 'web'));
}

async function grantsOf(t: Scene) {
  return t.store.listGrants(ACCOUNT, t.clock.now, null, 100);
}

async function expectUnchanged(t: Scene, status: number, act: () => Promise<Sight>): Promise<Sight> {
  const before = t.snapshot();
  const sight = await act();
  expect([sight.status, sight.left]).toEqual([status, null]);
  expect(t.snapshot()).toBe(before);
  return sight;
}

const board = (scope: string): Fields => ({ resource: BOARD.resource, scope });
const withBoard = { resources: [...RESOURCES, BOARD] };

describe('scopes that the client did not request', () => {
  const offering = { ...withBoard, offerOtherScopes: true };
  const switchOf = (scope: string, isOn: boolean) =>
    `role="switch" name="scope" value="${scope}"${isOn ? ' checked' : ''}>`;

  it('are offered switched off, and granted only if the user switches them on', async () => {
    const t = await setScene(offering);
    const consent = await t.visitor.signIn(requestOf(board('see draw')));
    expect(textOf(consent)).toContain('The app did not ask for these');
    for (const scope of ['share', 'wipe']) expect(consent.html).toContain(switchOf(scope, false));
    expect(consent.html).toContain(switchOf('draw', true));
    const unchanged = await t.visitor.submit(consent, { decision: 'allow' });
    expect((await tokens(t, unchanged))['scope']).toBe('see draw');

    const again = await t.visitor.open(requestOf(board('see draw')));
    const more = await t.visitor.submit(again, { decision: 'allow', scope: ['see', 'draw', 'share'] });
    const body = await tokens(t, more);
    expect(body['scope']).toBe('see draw share');
    expect((await grantsOf(t)).map(({ scopes }) => scopes.join(' ')).sort()).toEqual([
      'see draw',
      'see draw share',
    ]);
  });

  it('are not offered by default', async () => {
    const t = await setScene(withBoard);
    const consent = await t.visitor.signIn(requestOf(board('see draw')));
    expect(consent.html).not.toMatch(/share|wipe|did not ask/);
    await expectUnchanged(t, 400, () =>
      t.visitor.submit(consent, { decision: 'allow', scope: ['see', 'draw', 'share'] }),
    );
  });

  it('are offered again at the next sign-in, and never beyond the maximum scope of the client', async () => {
    const clients = CLIENTS.map((client) => ({ ...client, scope: 'see share notes:read' }));
    const t = await setScene({ ...offering, clients });
    await connect(t, board('see'), { scope: ['see', 'share'] });
    const consent = await t.visitor.open(requestOf(board('see')));
    expect(consent.html).toContain(switchOf('share', false));
    expect(consent.html).not.toMatch(/draw|wipe/);
    await expectUnchanged(t, 400, () =>
      t.visitor.submit(consent, { decision: 'allow', scope: ['see', 'wipe'] }),
    );
    // The only scope that was requested stays fixed.
    expect(consent.html).toContain('<input type="hidden" name="scope" value="see">');
  });

  it.each([
    ['includes', 'see wipe', 'see draw'],
    ['does not include', 'see share', 'see'],
  ])(
    'of a client are granted and refreshed where its maximum scope %s them',
    async (_what, scope, granted) => {
      const clients = CLIENTS.map((client) => ({ ...client, scope }));
      const t = await setScene({ ...withBoard, clients });
      const body = await connect(t, board('see draw'));
      const secret = { client_secret: 'web-secret' };
      const refreshed = await t.post('/token', { ...refreshing(body['refresh_token'], 'web'), ...secret });
      expect([body['scope'], refreshed.body['scope']]).toEqual([granted, granted]);
    },
  );

  it('are set apart from new scopes of a step-up', async () => {
    const t = await setScene(offering);
    await connect(t, board('see'));
    const consent = await t.visitor.open(requestOf(board('see draw')));
    expect(textOf(consent)).toMatch(
      /Draw on the board new .*did not ask for these.* Show the board to others (?!new)/,
    );
    const { left } = await t.visitor.submit(consent, { decision: 'allow', scope: ['draw', 'share'] });
    expect((await tokens(t, { left } as Sight))['scope']).toBe('see draw share');
  });
});

describe('granting fewer scopes', () => {
  it('[AS-MIN-40] grants the scopes left switched on, and tells the client', async () => {
    const t = await setScene(withBoard);
    const { scope } = await connect(t, board('see draw share'), { scope: ['see', 'share'] });
    expect(scope).toBe('see share');
    expect((await grantsOf(t))[0]?.scopes).toEqual(['see', 'share']);
  });

  it('grants all requested scopes when the user changes nothing', async () => {
    const t = await setScene(withBoard);
    expect((await connect(t, board('see draw share')))['scope']).toBe('see draw share');
  });

  it('offers no switch for a required scope or for the only requested scope', async () => {
    const t = await setScene(withBoard);
    const consent = await t.visitor.signIn(requestOf(board('see draw')));
    expect(consent.html).toContain('<input type="hidden" name="scope" value="see">');
    expect(consent.html).toMatch(/<input type="checkbox" role="switch" name="scope" value="draw" checked>/);
    await expectUnchanged(t, 400, () => t.visitor.submit(consent, { decision: 'allow', scope: 'draw' }));
    const single = await t.visitor.open(requestOf(board('draw')));
    expect(single.html).not.toContain('role="switch"');
    expect((await t.visitor.submit(consent, { decision: 'allow', scope: 'see' })).left).not.toBeNull();
  });

  it('asks again when every scope is switched off, and says so', async () => {
    const t = await setScene(withBoard);
    const consent = await t.visitor.signIn(requestOf(board('draw share')));
    const again = await expectUnchanged(t, 400, () =>
      t.visitor.submit(consent, { decision: 'allow', scope: undefined }),
    );
    expect(textOf(again)).toContain('Turn on at least one, or choose Cancel.');
    // Switched-off scopes stay off: pressing Allow again grants nothing either.
    expect(again.html).toContain('role="switch" name="scope" value="draw">');
    expect(again.html).not.toContain(' checked');
    const back = await t.visitor.submit(again, { decision: 'allow', scope: 'draw' });
    expect((await tokens(t, back))['scope']).toBe('draw');
  });

  it('sets destructive scopes apart, switched off, whether the operator marked them or their names say so', async () => {
    for (const access of [{ wipe: 'delete' }, { draw: 'write' }] as const) {
      const t = await setScene({ resources: [...RESOURCES, { ...BOARD, access }] });
      const consent = await t.visitor.signIn(requestOf(board('draw share wipe')));
      expect(textOf(consent)).toMatch(
        /Draw on the board Show the board to others Allow only if you need it Wipe/,
      );
      expect(consent.html).toContain('role="switch" name="scope" value="draw" checked>');
      expect(consent.html).toContain('role="switch" name="scope" value="wipe">');
      const back = await t.visitor.submit(consent, { decision: 'allow' });
      expect((await tokens(t, back))['scope']).toBe('draw share');
    }
  });

  it('grants a destructive scope that the user switched on', async () => {
    const t = await setScene({ resources: [...RESOURCES, { ...BOARD, access: { wipe: 'delete' } }] });
    const consent = await t.visitor.signIn(requestOf(board('draw wipe')));
    const back = await t.visitor.submit(consent, { decision: 'allow', scope: ['draw', 'wipe'] });
    expect((await tokens(t, back))['scope']).toBe('draw wipe');
  });

  it('names the scopes that another scope implies, and grants them', async () => {
    const t = await setScene(withBoard);
    const consent = await t.visitor.signIn(requestOf(board('draw share wipe')));
    expect(textOf(consent)).toContain('Wipe the board Includes: Draw on the board');
    const back = await t.visitor.submit(consent, { decision: 'allow', scope: 'wipe' });
    expect((await tokens(t, back))['scope']).toBe('draw wipe');
  });

  it('T068: grants no scope that was not requested, whether or not the resource has it', async () => {
    const t = await setScene(withBoard);
    const consent = await t.visitor.signIn(requestOf(board('see draw')));
    for (const scope of [['see', 'share'], ['see', 'notes:read'], ['see draw']]) {
      await expectUnchanged(t, 400, () => t.visitor.submit(consent, { decision: 'allow', scope }));
    }
    expect((await t.visitor.submit(consent, { decision: 'allow' })).left).not.toBeNull();
  });
});

describe('requesting more scopes', () => {
  it('shows new scopes, keeps granted ones, and grants both', async () => {
    const t = await setScene(withBoard);
    await connect(t, board('see draw'));
    const consent = await t.visitor.open(requestOf(board('see share')));
    expect(textOf(consent)).toMatch(
      /wants more access to Board .*be able to Show the board to others new It keeps the access you allowed before: See the board · Draw on the board\./,
    );
    const { scope } = await tokens(t, await t.visitor.submit(consent, { decision: 'allow' }));
    expect(scope).toBe('see draw share');
  });

  it('lets the user leave out some of the new scopes', async () => {
    const t = await setScene(withBoard);
    await connect(t, board('see'));
    expect((await connect(t, board('share draw'), { scope: 'draw' }))['scope']).toBe('see draw');
  });

  it('keeps the granted scopes when the user declines more', async () => {
    const t = await setScene(withBoard);
    const { refresh_token } = await connect(t, board('see'));
    const { left } = await decide(t.visitor, requestOf(board('see draw')), 'deny');
    expect(left?.searchParams.get('error')).toBe('access_denied');
    const refreshed = await t.post('/token', {
      ...refreshing(refresh_token, 'web'),
      client_secret: 'web-secret',
    });
    expect([refreshed.status, refreshed.body['scope']]).toEqual([200, 'see']);
  });

  it('T058: leaves the grant of another installation of the client alone', async () => {
    const t = await setScene(withBoard);
    const first = await connect(t, board('see'));
    await connect(t, board('draw'));
    expect((await grantsOf(t)).map(({ scopes }) => scopes.join(' ')).toSorted()).toEqual(['see', 'see draw']);
    const form = { ...refreshing(first['refresh_token'], 'web'), client_secret: 'web-secret' };
    expect((await t.post('/token', form)).body['scope']).toBe('see');
  });

  it('treats an implied scope as granted', async () => {
    const t = await setScene(withBoard);
    await connect(t, board('wipe'));
    const consent = await t.visitor.open(requestOf(board('draw see')));
    expect(textOf(consent)).toContain('See the board new');
    expect(textOf(consent)).toContain(
      'It keeps the access you allowed before: Wipe the board · Draw on the board.',
    );
    const { scope } = await tokens(t, await t.visitor.submit(consent, { decision: 'allow' }));
    expect(scope).toBe('wipe draw see');
  });

  it('issues no more than requested when no scope is new', async () => {
    const t = await setScene(withBoard);
    await connect(t, board('see draw'));
    const consent = await t.visitor.open(requestOf(board('see')));
    expect(textOf(consent)).toContain('You have allowed this before.');
    expect((await tokens(t, await t.visitor.submit(consent, { decision: 'allow' })))['scope']).toBe('see');
  });

  it('reads one grant where the newest has all that is requested, and all of them otherwise', async () => {
    const t = await setScene(withBoard);
    for (const scope of ['draw', 'see']) await connect(t, board(scope));
    const listing = vi.spyOn(t.store, 'listConsents');
    const known = await t.visitor.open(requestOf(board('see')));
    expect(textOf(known)).toContain('You have allowed this before.');
    expect((await tokens(t, await t.visitor.submit(known, { decision: 'allow' })))['scope']).toBe('see');
    expect(listing).toHaveBeenCalledTimes(0);
    const added = await t.visitor.open(requestOf(board('see share')));
    expect(textOf(added)).toContain('It keeps the access you allowed before');
    const { scope } = await tokens(t, await t.visitor.submit(added, { decision: 'allow' }));
    expect(String(scope).split(' ').sort()).toEqual(['draw', 'see', 'share']);
    expect(listing).toHaveBeenCalledTimes(2);
  });

  it('ignores grants of other clients, resources and users, and revoked ones', async () => {
    const t = await setScene(withBoard);
    await connect(t, { resource: NOTES, scope: 'notes:read' });
    await connect(t, board('see'));
    await t.store.revokeAccountGrants(ACCOUNT, null, t.clock.now);
    const client_id = await t.registerClient({ redirect_uris: ['https://b.example/cb'] });
    await connect(t, { ...board('draw'), client_id, redirect_uri: 'https://b.example/cb' });
    const consent = await t.visitor.open(requestOf(board('see share')));
    expect(textOf(consent)).toMatch(/wants to use Board/);
    expect(textOf(consent)).not.toMatch(/keeps|new|before/);
  });

  it('rejects a decision on a consent page that is out of date', async () => {
    const t = await setScene(withBoard);
    await connect(t, board('see'));
    const consent = await t.visitor.open(requestOf(board('draw')));
    await t.store.revokeAccountGrants(ACCOUNT, null, t.clock.now);
    await expectUnchanged(t, 403, () => t.visitor.submit(consent, { decision: 'allow' }));
    const again = await t.visitor.open(consent.path);
    expect((await tokens(t, await t.visitor.submit(again, { decision: 'allow' })))['scope']).toBe('draw');
  });

  it('rejects a decision on a consent page that showed fewer claims about the user', async () => {
    const t = await setScene(withBoard);
    const consent = await t.visitor.signIn(requestOf(board('see')));
    const changed = await createAuthorizationServer({
      issuer: ISSUER,
      store: t.store,
      masterKey: MASTER_KEY,
      resources: [{ ...BOARD, claims: ['email'] }],
      clients: CLIENTS,
      clock: () => t.clock.now,
    });
    onTestFinished(() => changed.close());
    const visitor = createVisitor(changed);
    for (const [name, value] of t.visitor.cookies) visitor.cookies.set(name, value);
    await expectUnchanged(t, 403, () => visitor.submit(consent, { decision: 'allow' }));
    const again = await visitor.open(consent.path);
    expect(textOf(again)).toContain('email');
    expect((await visitor.submit(again, { decision: 'allow' })).left?.searchParams.has('code')).toBe(true);
  });

  it('rejects a decision on a consent page of a client that has changed its registration', async () => {
    const t = await setScene();
    const redirect_uri = 'https://b.example/cb';
    const registration = { redirect_uris: [redirect_uri], client_name: 'Notes' };
    const client_id = await t.registerClient(registration);
    const consent = await t.visitor.signIn(requestOf({ client_id, redirect_uri }));
    const client = await t.store.findClient(client_id);
    if (client === null) throw new Error('the client is gone');
    const metadata = { ...client.metadata, client_name: 'Bank' };
    await t.store.updateClient(client_id, { metadata, secretHash: null });
    await expectUnchanged(t, 403, () => t.visitor.submit(consent, { decision: 'allow' }));
    const again = await t.visitor.open(consent.path);
    expect(textOf(again)).toContain('Bank');
    expect((await t.visitor.submit(again, { decision: 'allow' })).left?.searchParams.has('code')).toBe(true);
  });
});

describe('remembered consent', () => {
  /** Ada has allowed `web` to read, in a browser that sends fetch metadata. */
  async function remember(options: Partial<AuthorizationServerOptions> = {}): Promise<Scene> {
    const t = await setScene(options);
    t.visitor.headers = { ...OWN_NAVIGATION };
    await connect(t, { scope: 'notes:read notes:write' });
    return t;
  }

  const asksAgain = (sight: Sight) => sight.left === null && sight.path.startsWith('/consent');

  it('skips consent for the same request of the same client, and logs it', async () => {
    const t = await remember();
    const sight = await t.visitor.open(requestOf({ scope: 'notes:read' }));
    expect((await tokens(t, sight))['scope']).toBe('notes:read');
    expect(t.events).toContainEqual(expect.objectContaining({ type: 'consent.remembered', clientId: 'web' }));
    const silent = await t.visitor.open(requestOf({ scope: 'notes:read', prompt: 'none' }));
    expect(silent.left?.searchParams.has('code')).toBe(true);
  });

  it.each(['findSession', 'findNewestConsent'] as const)(
    'redirects temporarily_unavailable to a client with prompt=none while the store is unavailable (%s)',
    async (method) => {
      const t = await remember();
      const silent = () => t.visitor.open(requestOf({ scope: 'notes:read', prompt: 'none' }));
      expect((await silent()).left?.searchParams.has('code')).toBe(true);
      const before = t.snapshot();
      vi.spyOn(t.store, method).mockRejectedValue(temporarilyUnavailable('the disk is gone'));
      const { status, left } = await silent();
      expect([status, left?.searchParams.get('error')]).toEqual([303, 'temporarily_unavailable']);
      expect(t.snapshot()).toBe(before);
    },
  );

  it('uses an older consent that covers more than the newest', async () => {
    const t = await remember();
    t.clock.now += 10;
    await tokens(t, await t.visitor.open(requestOf({ scope: 'notes:read' })));
    t.clock.now += 10;
    const sight = await t.visitor.open(requestOf({ scope: 'notes:read notes:write' }));
    expect((await tokens(t, sight))['scope']).toBe('notes:read notes:write');
  });

  it.each([
    ['another site links to it', { 'sec-fetch-site': 'cross-site' }],
    ['another host of the same site links to it', { 'sec-fetch-site': 'same-site' }],
    ['the browser sends no Sec-Fetch-Site', { 'sec-fetch-site': undefined }],
    ['it is requested in a frame', { 'sec-fetch-dest': 'iframe' }],
    ['it is prefetched', { 'sec-purpose': 'prefetch' }],
    ['it is prerendered', { 'sec-purpose': 'prefetch;prerender' }],
    ['another browser prefetches it', { purpose: 'prefetch' }],
    ['a script requests it', { 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }],
    [
      'the browser sends no fetch metadata',
      { 'sec-fetch-site': undefined, 'sec-fetch-mode': undefined, 'sec-fetch-dest': undefined },
    ],
  ])('T072: asks for consent again when %s', async (_why, changes) => {
    const t = await remember();
    const headers = Object.entries({ ...OWN_NAVIGATION, ...changes });
    t.visitor.headers = Object.fromEntries(
      headers.filter((pair): pair is [string, string] => pair[1] !== undefined),
    );
    expect(asksAgain(await t.visitor.open(requestOf({ scope: 'notes:read' })))).toBe(true);
    const silent = await t.visitor.open(requestOf({ scope: 'notes:read', prompt: 'none' }));
    expect(silent.left?.searchParams.get('error')).toBe('consent_required');
  });

  it('skips consent after a link of our own pages', async () => {
    const t = await remember();
    t.visitor.headers = { ...OWN_NAVIGATION, 'sec-fetch-site': 'same-origin' };
    expect((await t.visitor.open(requestOf({ scope: 'notes:read' }))).left?.searchParams.has('code')).toBe(
      true,
    );
  });

  it('T067: issues no code for a HEAD request', async () => {
    const t = await remember();
    const headers = {
      ...OWN_NAVIGATION,
      cookie: [...t.visitor.cookies].map((pair) => pair.join('=')).join('; '),
    };
    const url = `${ISSUER}${requestOf({ scope: 'notes:read' })}`;
    const before = t.snapshot();
    const head = await t.server.handle(new Request(url, { method: 'HEAD', headers }));
    expect([head.status, head.headers.get('allow')]).toEqual([405, 'GET, POST, OPTIONS']);
    expect(t.snapshot()).toBe(before);
    const get = await t.server.handle(new Request(url, { headers }));
    expect(get.headers.get('location')).toContain('?code=');
  });

  it.each([
    ['more scopes are requested', { scope: 'notes:read files:read', resource: undefined }, true],
    ['another resource is requested', { resource: FILES }, false],
    ['the client sends prompt=consent', { prompt: 'consent' }, false],
  ])('T071: asks for consent again when %s', async (_why, parameters, isSame) => {
    const t = await remember();
    const sight = await t.visitor.open(
      requestOf({ scope: isSame ? 'notes:read' : undefined, ...parameters }),
    );
    // A scope that the resource does not have is dropped, so the first request adds none.
    expect(asksAgain(sight)).toBe(!isSame);
  });

  it('T071: asks for consent when client metadata or the redirect URI changed', async () => {
    const t = await setScene();
    t.visitor.headers = { ...OWN_NAVIGATION };
    const metadata = {
      client_name: 'Mail',
      redirect_uris: ['https://mail.example/cb', 'https://mail.example/other'],
      grant_types: ['authorization_code'] as const,
      response_types: ['code'] as const,
      token_endpoint_auth_method: 'none',
      application_type: 'web',
    } as const;
    const { clientId: client_id } = { clientId: 'client_mail' };
    const record = {
      id: client_id,
      origin: 'administered',
      secretHash: null,
      previousSecret: null,
      managementHash: null,
      disabledAt: null,
      enabledAt: null,
      verifiedAt: null,
    } as const;
    const times = { createdAt: t.clock.now, lastUsedAt: null, expiresAt: null };
    await t.store.saveClient({ ...record, ...times, metadata });
    const asked = { client_id, redirect_uri: 'https://mail.example/cb' };
    await connect(t, asked);
    expect(asksAgain(await t.visitor.open(requestOf(asked)))).toBe(false);
    const elsewhere = { ...asked, redirect_uri: 'https://mail.example/other' };
    expect(asksAgain(await t.visitor.open(requestOf(elsewhere)))).toBe(true);
    await t.store.updateClient(client_id, {
      metadata: { ...metadata, client_name: 'Bank' },
      secretHash: null,
    });
    expect(asksAgain(await t.visitor.open(requestOf(asked)))).toBe(true);
  });

  it.each([
    {
      description: 'asks for consent once a granted scope includes another one',
      hierarchy: { share: ['draw'], wipe: ['draw'] },
      isAsked: true,
    },
    {
      description: 'skips consent while scopes include the same ones',
      hierarchy: { wipe: ['draw'] },
      isAsked: false,
    },
  ])('$description', async ({ hierarchy, isAsked }) => {
    const t = await setScene(withBoard);
    const { refresh_token } = await connect(t, board('share'));
    const changed = await createAuthorizationServer({
      issuer: ISSUER,
      store: t.store,
      masterKey: MASTER_KEY,
      resources: [{ ...BOARD, hierarchy }],
      clients: CLIENTS,
      clock: () => t.clock.now,
    });
    onTestFinished(() => changed.close());
    const visitor = createVisitor(changed);
    for (const [name, value] of t.visitor.cookies) visitor.cookies.set(name, value);
    visitor.headers = OWN_NAVIGATION;
    expect(asksAgain(await visitor.open(requestOf(board('share'))))).toBe(isAsked);
    expect(asksAgain(await visitor.open(requestOf(board('draw'))))).toBe(true);
    // The grant is of the scope, which includes what its resource says now.
    const form = { ...refreshing(refresh_token, 'web'), client_secret: 'web-secret', scope: 'draw' };
    const body = new URLSearchParams(form);
    const refreshed = await changed.handle(new Request(`${ISSUER}/token`, { method: 'POST', body }));
    expect(refreshed.status).toBe(isAsked ? 200 : 400);
  });

  it('[AS-AUTHZ-81] T054: never remembers consent for loopback redirects and self-registered clients', async () => {
    const t = await setScene();
    t.visitor.headers = { ...OWN_NAVIGATION };
    const client_id = await t.registerClient({ redirect_uris: ['https://b.example/cb'] });
    for (const asked of [
      { client_id: 'desktop', redirect_uri: 'http://127.0.0.1:4000/callback' },
      { client_id, redirect_uri: 'https://b.example/cb' },
    ]) {
      await connect(t, asked);
      expect(asksAgain(await t.visitor.open(requestOf(asked)))).toBe(true);
    }
  });

  it('remembered consent ends with the grant and with the session', async () => {
    const t = await remember();
    const kept = new Map(t.visitor.cookies);
    t.visitor.cookies.clear();
    expect((await t.visitor.open(requestOf())).path).toMatch(/^\/login/);
    for (const [name, value] of kept) t.visitor.cookies.set(name, value);
    expect((await t.visitor.open(requestOf())).left).not.toBeNull();
    await t.store.revokeAccountGrants(ACCOUNT, null, t.clock.now);
    expect(asksAgain(await t.visitor.open(requestOf()))).toBe(true);
  });

  it('T071: remembered consent is not a cookie that could be tampered with', async () => {
    const t = await setScene();
    t.visitor.headers = { ...OWN_NAVIGATION };
    await t.visitor.signIn(requestOf());
    for (const name of ['__Host-portcullis-consent', 'portcullis-consent', 'consent']) {
      t.visitor.cookies.set(name, hashSecret('web notes:read'));
    }
    expect(asksAgain(await t.visitor.open(requestOf()))).toBe(true);
  });
});

describe('workspaces', () => {
  const teams = [
    { id: 'w1', name: 'Team One' },
    { id: 'w2', name: '"><script>\u202e' },
  ];
  const workspaces: NonNullable<AuthorizationServerOptions['workspaces']> = async (accountId, resource) =>
    accountId === ACCOUNT && resource === NOTES ? teams : [];

  it('the user picks the workspace, which stays with the grant through refreshes and more scopes', async () => {
    const t = await setScene({ workspaces });
    const first = await connect(t, { scope: 'notes:read' }, { workspace: 'w1' });
    expect(claimsOf(first['access_token'])['workspace']).toBe('w1');
    const refreshed = await t.post('/token', {
      ...refreshing(first['refresh_token'], 'web'),
      client_secret: 'web-secret',
    });
    expect(claimsOf(refreshed.body['access_token'])['workspace']).toBe('w1');

    const consent = await t.visitor.open(requestOf({ scope: 'notes:write' }));
    expect(textOf(consent)).toContain('In the workspace Team One · choose another');
    const more = await tokens(t, await t.visitor.submit(consent, { decision: 'allow' }));
    expect([more['scope'], claimsOf(more['access_token'])['workspace']]).toEqual([
      'notes:read notes:write',
      'w1',
    ]);
    const inspected = await t.post(
      '/introspect',
      { token: String(more['access_token']) },
      {
        authorization: `Basic ${btoa('notes-server:notes-server-secret')}`,
      },
    );
    expect(inspected.body).toMatchObject({ active: true, workspace: 'w1' });
  });

  it('keeps grants in different workspaces apart', async () => {
    const t = await setScene({ workspaces });
    await connect(t, { scope: 'notes:write' }, { workspace: 'w1' });
    const consent = await t.visitor.open(requestOf({ scope: 'notes:read notes:write' }));
    const other = await t.visitor.open(
      /href="([^"]+afresh=yes)"/.exec(consent.html)?.[1]?.replaceAll('&amp;', '&') ?? '',
    );
    expect(textOf(other)).not.toMatch(/keeps|before/);
    const back = await t.visitor.submit(other, { decision: 'allow', workspace: 'w2', scope: 'notes:read' });
    const { scope, access_token } = await tokens(t, back);
    expect([scope, claimsOf(access_token)['workspace']]).toEqual(['notes:read', 'w2']);
  });

  it('preselects the workspace used last, not the one granted last', async () => {
    const t = await setScene({ workspaces });
    t.visitor.headers = { ...OWN_NAVIGATION };
    const first = await connect(t, { scope: 'notes:read' }, { workspace: 'w1' });
    t.clock.now += 10;
    const consent = await t.visitor.open(requestOf({ scope: 'notes:read', prompt: 'consent' }));
    const afresh = /href="([^"]+afresh=yes)"/.exec(consent.html)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const fields = { decision: 'allow', workspace: 'w2', scope: 'notes:read' };
    await tokens(t, await t.visitor.submit(await t.visitor.open(afresh), fields));
    t.clock.now += 10;
    const refresh = { ...refreshing(first['refresh_token'], 'web'), client_secret: 'web-secret' };
    expect((await t.post('/token', refresh)).status).toBe(200);
    const { access_token } = await tokens(t, await t.visitor.open(requestOf({ scope: 'notes:read' })));
    expect(claimsOf(access_token)['workspace']).toBe('w1');
  });

  it('requires a workspace, and accepts only one of the user’s own', async () => {
    const t = await setScene({ workspaces });
    const consent = await t.visitor.signIn(requestOf());
    expect(consent.html).not.toMatch(/<script|\u202e/);
    for (const workspace of [undefined, '', 'w3', 'W1', ['w1', 'w2']]) {
      await expectUnchanged(t, 400, () => t.visitor.submit(consent, { decision: 'allow', workspace }));
    }
    expect((await t.visitor.submit(consent, { decision: 'allow', workspace: 'w2' })).left).not.toBeNull();
  });

  it('keeps switches and workspace when the form comes back with an error', async () => {
    const t = await setScene({ ...withBoard, workspaces: async () => teams });
    const consent = await t.visitor.signIn(requestOf(board('see draw share')));
    const option = (id: string, isChosen: boolean) => `<option value="${id}"${isChosen ? ' selected' : ''}>`;
    const scope = ['see', 'share'];
    const unplaced = await expectUnchanged(t, 400, () =>
      t.visitor.submit(consent, { decision: 'allow', scope, workspace: '' }),
    );
    expect(textOf(unplaced)).toContain('Choose the workspace the app can use.');
    expect(unplaced.html).toContain('name="scope" value="draw">');
    expect(unplaced.html).toContain('name="scope" value="share" checked>');
    expect(unplaced.html).toContain(option('w2', false));

    const two = await t.visitor.open(requestOf(board('draw share')));
    const empty = await expectUnchanged(t, 400, () =>
      t.visitor.submit(two, { decision: 'allow', scope: undefined, workspace: 'w2' }),
    );
    expect(empty.html).toContain(option('w2', true));
    expect(empty.html).toContain(option('w1', false));
    const back = await t.visitor.submit(unplaced, { decision: 'allow', workspace: 'w2' });
    expect((await tokens(t, back))['scope']).toBe('see share');
  });

  it('asks for no workspace if there is none or only one', async () => {
    const t = await setScene({
      workspaces: async (_account, resource) => (resource === NOTES ? teams.slice(0, 1) : []),
    });
    const only = await t.visitor.signIn(requestOf());
    expect(textOf(only)).toContain('In the workspace Team One');
    expect(only.html).not.toContain('<select');
    const one = await tokens(t, await t.visitor.submit(only, { decision: 'allow' }));
    expect(claimsOf(one['access_token'])['workspace']).toBe('w1');
    const none = await t.visitor.open(requestOf({ resource: FILES }));
    await expectUnchanged(t, 400, () => t.visitor.submit(none, { decision: 'allow', workspace: 'w1' }));
    const free = await tokens(t, await t.visitor.submit(none, { decision: 'allow' }));
    expect(claimsOf(free['access_token'])).not.toHaveProperty('workspace');
  });

  it('keeps no scopes of a workspace that the user has left', async () => {
    let mine = teams;
    const t = await setScene({ workspaces: async () => mine });
    t.visitor.headers = { ...OWN_NAVIGATION };
    await connect(t, { scope: 'notes:read' }, { workspace: 'w1' });
    expect((await t.visitor.open(requestOf({ scope: 'notes:read' }))).left).not.toBeNull();
    mine = teams.slice(1);
    const consent = await t.visitor.open(requestOf({ scope: 'notes:read' }));
    expect(consent.path).toMatch(/^\/consent/);
    expect(textOf(consent)).not.toMatch(/before|Team One/);
  });

  it('answers 503 while workspaces cannot be listed, and still lets the user decline', async () => {
    let fails = true;
    const t = await setScene({
      workspaces: async () => (fails ? Promise.reject(new Error('the directory is down')) : teams),
    });
    fails = false;
    const consent = await t.visitor.signIn(requestOf());
    fails = true;
    const busy = await expectUnchanged(t, 503, () =>
      t.visitor.submit(consent, { decision: 'allow', workspace: 'w1' }),
    );
    expect(busy.headers.get('retry-after')).toBe('5');
    expect(busy.html).not.toContain('directory');
    const { left } = await t.visitor.submit(consent, { decision: 'deny' });
    expect(left?.searchParams.get('error')).toBe('access_denied');
  });
});
