/** An installation with the admin API, and callers of each kind. */
import { hash, randomBytes } from 'node:crypto';
import type { AccountRole } from '@portcullis/authorization-server/store';
import { type FullStore, openStore } from '@portcullis/store';
import { owner } from '../../../tests/support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../../../tests/support/portcullis-here.ts';
import { createUser } from '../../../tests/support/user.ts';

/** Of every client. */
export const SECRET = 'a secret that only the tests of this API know';

function machine(id: string, scope: string) {
  return {
    client_id: id,
    client_secret: SECRET,
    client_name: id,
    scope,
    redirect_uris: [],
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'client_secret_basic',
  };
}

const BOTH = 'admin:read admin:write';

export interface Installation extends PortcullisHere {
  readonly api: string;
  /** Runs a task on the store of the running server, through a connection that stays open. */
  onStore<T>(task: (store: FullStore) => Promise<T>): Promise<T>;
  /** An access token of a client that acts for itself. */
  machineToken(id: string, scope?: string, resource?: string): Promise<string>;
}

/** Clients: `ops` is an operator, `ops2` another, `watcher` a viewer, `outsider` has no role. */
export async function startInstallation(
  configuration: Parameters<typeof startPortcullisHere>[0] = {},
): Promise<Installation> {
  const portcullis = await startPortcullisHere({
    admin: {
      operators: { clients: ['ops', 'ops2'], groups: ['platform'] },
      viewers: { clients: ['watcher'] },
    },
    personalAccessTokens: true,
    clients: ['ops', 'ops2', 'watcher', 'outsider'].map((id) => machine(id, `${BOTH} notes:read`)),
    ...configuration,
  });
  const api = `${portcullis.url}/admin/api/v1`;
  let store: Promise<FullStore> | undefined;
  return {
    ...portcullis,
    api,
    async onStore(task) {
      store ??= openStore(portcullis.database);
      return task(await store);
    },
    async stop() {
      await store?.then(
        (open) => open.close(),
        () => undefined,
      );
      await portcullis.stop();
    },
    async machineToken(id, scope, resource = api) {
      const form = { grant_type: 'client_credentials', resource };
      const basic = Buffer.from(`${id}:${encodeURIComponent(SECRET)}`).toString('base64');
      const body = new URLSearchParams({ ...form, ...(scope !== undefined && { scope }) });
      const headers = { authorization: `Basic ${basic}` };
      const response = await fetch(`${portcullis.url}/token`, { method: 'POST', headers, body });
      const { access_token: token } = (await response.json()) as { readonly access_token?: string };
      if (token === undefined) throw new Error(`no token: ${response.status}`);
      return token;
    },
  };
}

/** Sends a request to the API. @param body as JSON */
export async function call(
  { api }: Pick<Installation, 'api'>,
  token: string | null,
  line: string,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<{
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Headers;
}> {
  const [method = '', path = ''] = line.split(' ');
  const response = await fetch(`${api}${path}`, {
    method,
    headers: {
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    body: text === '' ? {} : JSON.parse(text),
    headers: response.headers,
  };
}

/** Signs a user in with these methods. @returns the cookie */
export async function signIn(
  installation: Installation,
  methods: readonly string[],
  { role, groups = [] }: { readonly role: AccountRole | null; readonly groups?: readonly string[] },
): Promise<string> {
  const cookie = randomBytes(32).toString('base64url');
  await installation.onStore(async (store) => {
    const account = await store.findAccountByEmail(owner.email);
    if (account === null) throw new Error('no owner');
    await store.setAccountRole(account.id, role);
    await store.saveProfile(account.id, { email: null, name: null, groups });
    const now = Math.floor(Date.now() / 1000);
    await store.saveSession(
      {
        hash: hash('sha256', cookie, 'base64url'),
        accountId: account.id,
        createdAt: now,
        expiresAt: now + 600,
        address: null,
        browser: null,
        methods,
      },
      account.passwordHash,
    );
  });
  return `portcullis-${installation.port}-session=${cookie}`;
}

/** The access token of a user who signed in with these methods. */
export async function userToken(
  installation: Installation,
  methods: Parameters<typeof signIn>[1],
  holder: Parameters<typeof signIn>[2],
  resource: string = installation.api,
): Promise<string> {
  return authorize(installation, await signIn(installation, methods, holder), resource);
}

const REDIRECT = 'http://127.0.0.1:9/callback';

async function authorize({ url }: Installation, cookie: string, resource: string): Promise<string> {
  const registration = await fetch(`${url}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      redirect_uris: [REDIRECT],
      token_endpoint_auth_method: 'none',
      client_name: 'Console',
    }),
  });
  const { client_id: clientId } = (await registration.json()) as { readonly client_id: string };
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: REDIRECT,
    resource,
    scope: BOTH,
    code_challenge: hash('sha256', verifier, 'base64url'),
    code_challenge_method: 'S256',
  });
  const user = createUser(owner, async (request) => {
    const headers = new Headers(request.headers);
    const own = headers.get('cookie');
    headers.set('cookie', own === null ? cookie : `${own}; ${cookie}`);
    const form = new URLSearchParams(await request.text());
    // Switched off until the user switches it on.
    if (form.has('decision')) form.append('scope', 'admin:write');
    const body = request.method === 'POST' ? { body: form } : {};
    return fetch(request.url, { method: request.method, headers, redirect: 'manual', ...body });
  });
  const redirected = await user.authorize(`${url}/authorize?${query}`);
  const code = redirected.searchParams.get('code');
  if (code === null) throw new Error(`no code: ${redirected.search}`);
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    client_id: clientId,
    redirect_uri: REDIRECT,
    code_verifier: verifier,
    resource,
  });
  const response = await fetch(`${url}/token`, { method: 'POST', body });
  const { access_token: token } = (await response.json()) as { readonly access_token?: string };
  if (token === undefined) throw new Error(`no token: ${response.status}`);
  return token;
}

/** A personal access token of the owner, who is an operator, as its page creates them. */
export async function personalAccessToken(installation: Installation): Promise<string> {
  const id = randomBytes(19).toString('base64url').slice(0, 25);
  const token = `portcullis_pat_${id}${randomBytes(32).toString('base64url')}`;
  const grantId = `grant_${id}`;
  await installation.onStore(async (store) => {
    const account = await store.findAccountByEmail(owner.email);
    if (account === null) throw new Error('no owner');
    await store.setAccountRole(account.id, 'operator');
    const now = Math.floor(Date.now() / 1000);
    const grant = {
      ...{ id: grantId, clientId: 'personal-access-token', accountId: account.id, workspace: null },
      ...{ scopes: ['admin:read'], resources: [installation.api], consentDigest: '' },
      ...{ createdAt: now, expiresAt: now + 600, lastUsedAt: now, lastUsedFrom: null },
    };
    const record = { grantId, hash: hash('sha256', token, 'base64url'), name: 'script' };
    await store.savePersonalAccessToken(record, grant);
  });
  return token;
}

/** Everything that refusals must leave as it was. */
export function stateOf(installation: Installation): Promise<unknown> {
  return installation.onStore(async (store) => ({
    accounts: await store.listAccounts('', 100),
    clients: (await store.listClients('', 100)).map(({ lastUsedAt: _used, ...client }) => client),
    keys: await store.listSigningKeys(),
    sessions: await Promise.all(
      (await store.listAccounts('', 100)).map(({ id }) => store.listSessions(id, 0)),
    ),
  }));
}

export { owner };
