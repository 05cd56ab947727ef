/** Requests for every route of a server, prepared before an outage and sent during it. */
import type { AuthorizationServerOptions } from '../src/index.ts';
import type { AuthorizationStore } from '../src/store/index.ts';
import { challengeOf, enrol, type Passkey } from './authenticator.ts';
import { codeOf, recoveryCodesOn, secretOn } from './code-app.ts';
import { signInAtProvider } from './federation-scene.ts';
import { CALLBACK, FILES, ISSUER, redemption } from './server-under-test.ts';
import {
  createVisitor,
  EMAIL,
  PASSWORD,
  requestOf,
  type Scene,
  type Sight,
  setScene,
  VERIFIER,
  type Visitor,
} from './visitor.ts';

/** What a response needs of the store: nothing, reading, or writing. */
type Takes = 'nothing' | 'reading' | 'writing';

/** A request prepared before the outage. */
export interface Prepared {
  readonly route: string;
  readonly takes: Takes;
  /** The expected status without an outage. */
  readonly well: number;
  readonly request: Request;
}

/** Browsers whose requests can be captured and sent later. */
export interface RequestCapture {
  readonly scene: Scene;
  readonly prepared: Prepared[];
  /** A browser with its own network address. */
  newVisitor(): Visitor;
  /** Captures what a visitor sends instead of sending it. */
  hold(route: string, takes: Takes, well: number, act: () => Promise<unknown>): Promise<void>;
  /** Adds a request that no browser sends. */
  keep(route: string, takes: Takes, well: number, path: string, init?: RequestInit): void;
}

export async function setDesk(
  store: AuthorizationStore,
  options: Partial<AuthorizationServerOptions>,
): Promise<RequestCapture> {
  const scene = await setScene({ store, ...options });
  const prepared: Prepared[] = [];
  let held: Request[] | null = null;
  const server: Scene['server'] = {
    ...scene.server,
    async handle(request, connection) {
      if (held === null) return scene.server.handle(request, connection);
      held.push(request.clone());
      return new Response('held');
    },
  };
  let visitors = 0;
  return {
    scene,
    prepared,
    newVisitor() {
      visitors += 1;
      return createVisitor(server, `203.0.113.${visitors}`);
    },
    async hold(route, takes, well, act) {
      held = [];
      await act();
      const [request, ...more] = held;
      held = null;
      if (request === undefined || more.length > 0) throw new Error(`${route} is not one request`);
      prepared.push({ route, takes, well, request });
    },
    keep: (route, takes, well, path, init) =>
      prepared.push({ route, takes, well, request: new Request(new URL(path, ISSUER), init) }),
  };
}

const post = (form: Readonly<Record<string, string>>): RequestInit => ({
  method: 'POST',
  body: new URLSearchParams(form),
});

/** Requests of clients and protected servers. */
async function preparePrograms({ scene, keep, newVisitor }: RequestCapture): Promise<void> {
  const web = { client_id: 'web', client_secret: 'web-secret' };
  const codeFor = async () => {
    const visitor = newVisitor();
    const { left } = await visitor.submit(await visitor.signIn(requestOf()), { decision: 'allow' });
    return { ...redemption(left?.searchParams.get('code') ?? '', VERIFIER), ...web, redirect_uri: CALLBACK };
  };
  const tokens = async () => (await scene.post('/token', await codeFor())).body;
  const { access_token: access, refresh_token: refresh } = await tokens();
  const { refresh_token: doomed } = await tokens();
  keep('POST /token', 'writing', 200, '/token', post(await codeFor()));
  const refreshing = { grant_type: 'refresh_token', refresh_token: String(refresh), ...web };
  keep('POST /token', 'writing', 200, '/token', post(refreshing));
  const basic = { authorization: `Basic ${btoa('notes-server:notes-server-secret')}` };
  const machine = { ...post({ grant_type: 'client_credentials' }), headers: basic };
  keep('POST /token', 'nothing', 200, '/token', machine);
  const asked = { ...post({ token: String(access) }), headers: basic };
  keep('POST /introspect', 'reading', 200, '/introspect', asked);
  const pushed = Object.fromEntries(new URL(requestOf(), ISSUER).searchParams);
  keep('POST /par', 'nothing', 201, '/par', post({ ...pushed, ...web }));
  keep('POST /revoke', 'writing', 200, '/revoke', post({ token: String(doomed), ...web }));

  const json = { 'content-type': 'application/json' };
  const metadata = { redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none' };
  const registering = { method: 'POST', headers: json, body: JSON.stringify(metadata) };
  keep('POST /register', 'writing', 201, '/register', registering);
  const manage = async (method: string, takes: Takes, well: number) => {
    const { body } = await scene.register(metadata);
    const path = new URL(String(body['registration_client_uri'])).pathname;
    const headers = { ...json, authorization: `Bearer ${String(body['registration_access_token'])}` };
    const changed = { client_id: body['client_id'], client_name: 'Changed', ...metadata };
    const sent = method === 'PUT' ? { body: JSON.stringify(changed) } : {};
    keep(`${method} /register/*`, takes, well, path, { method, headers, ...sent });
  };
  await manage('GET', 'reading', 200);
  await manage('PUT', 'writing', 200);
  await manage('DELETE', 'writing', 204);

  keep('GET /jwks', 'nothing', 200, '/jwks');
  for (const path of ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']) {
    keep(`GET ${path}`, 'nothing', 200, path);
  }
}

/** Requests of a user on the way to a client, and to sign in. */
async function prepareFlows(desk: RequestCapture): Promise<Passkey> {
  const { scene, hold, keep, newVisitor } = desk;
  keep('GET /authorize', 'writing', 303, requestOf());
  keep('POST /authorize', 'nothing', 303, '/authorize', post({ client_id: 'web' }));
  keep('GET /language', 'nothing', 200, '/language?to=de');
  // Only the page's own requests: its text does not change.
  const wanted = requestOf({ resource: FILES });
  const known = newVisitor();
  const consent = await known.signIn(wanted);
  const asset = /\/assets\/[\w-]+\.css/.exec(consent.html)?.[0] ?? '';
  keep('GET /assets/*', 'nothing', 200, asset);
  await hold('GET /authorize', 'writing', 303, () => known.open(wanted));
  await hold('GET /consent', 'reading', 200, () => known.open(consent.path));
  await hold('POST /consent', 'writing', 303, () => known.submit(consent, { decision: 'allow' }));
  const refusing = await known.open(wanted);
  await hold('POST /consent', 'writing', 303, () => known.submit(refusing, { decision: 'deny' }));

  const visitor = newVisitor();
  const login = await visitor.open(requestOf());
  await hold('GET /login', 'reading', 200, () => visitor.open(login.path));
  await hold('POST /login', 'writing', 303, () => signIn(visitor, login));
  const forgetful = newVisitor();
  const { path } = await forgetful.open(requestOf());
  await hold('GET /login/forgotten', 'reading', 200, () =>
    forgetful.open(path.replace('/login', '/login/forgotten')),
  );
  const leaving = newVisitor();
  const left = await leaving.open(requestOf());
  await hold('POST /login/cancel', 'reading', 200, () => leaving.submit(left, {}, '/login/cancel'));
  const unknown = Buffer.from('client_unknown').toString('base64url');
  keep('GET /logos/*', 'reading', 404, `/logos/${unknown}`);
  const other = newVisitor();
  const choice = await other.open(requestOf());
  // The consent page comes first: this user signs in at the identity provider.
  await hold('POST /login/hub', 'writing', 303, () => other.submit(choice, {}, '/login/hub'));
  const tourist = newVisitor();
  const visit = await tourist.open('/login');
  await hold('POST /login/hub', 'writing', 200, () => tourist.submit(visit, {}, '/login/hub'));

  const holder = newVisitor();
  const passkey = await enrol(scene);
  const page = await holder.open('/login');
  const credential = passkey.answer(challengeOf(page));
  await hold('POST /login/passkey', 'writing', 303, () =>
    holder.submit(page, { credential }, '/login/passkey'),
  );
  return passkey;
}

/** A user who returns from an identity provider, for a client and for the account pages. */
async function prepareCallbacks({ hold, newVisitor }: RequestCapture): Promise<void> {
  for (const page of [requestOf(), '/login']) {
    const visitor = newVisitor();
    const chosen = await visitor.submit(await visitor.open(page), {}, '/login/hub');
    const { left } = chosen.left === null ? await visitor.submit(chosen, { decision: 'allow' }) : chosen;
    const back = await signInAtProvider(visitor, left);
    await hold('GET /callback/hub', 'writing', 303, () => visitor.open(`${back.pathname}${back.search}`));
  }
}

function signIn(visitor: Visitor, login: Sight, email: string = EMAIL): Promise<Sight> {
  return visitor.submit(login, { email, password: PASSWORD }, '/login');
}

/** The account pages. A request that ends a session or changes the login method has its own browser. */
async function prepareHome(desk: RequestCapture, { answer }: Passkey): Promise<void> {
  const { scene, hold, newVisitor } = desk;
  const atHome = async () => {
    const visitor = newVisitor();
    await signIn(visitor, await visitor.open('/login'));
    return visitor;
  };
  // Beside a passkey, the password confirms changes only in a session with two factors.
  const ada = newVisitor();
  const login = await ada.open('/login');
  await ada.submit(login, { credential: answer(challengeOf(login)) }, '/login/passkey');
  for (const path of [
    '/account',
    '/account/password',
    '/account/passkeys/add',
    '/account/remove',
    '/account/codes',
    '/connections',
    '/logout',
  ]) {
    await hold(`GET ${path}`, 'reading', 200, () => ada.open(path));
  }
  await hold('GET /connections/end', 'reading', 200, () => ada.open('/connections/end'));
  const all = await ada.open('/connections/end');
  await hold('POST /connections/end', 'writing', 303, () => ada.submit(all, {}));
  const account = await ada.open('/account');
  const sessions = { session: 'others' };
  const passkey = { passkey: 'unknown' };
  const confirmed = { password: PASSWORD };
  const adding = await ada.submit(await ada.open('/account/passkeys/add'), confirmed);
  await hold('POST /account/passkeys/add', 'reading', 400, () => ada.submit(adding, { credential: '{}' }));
  await hold('POST /account/passkeys/remove', 'reading', 303, () =>
    ada.submit(account, passkey, '/account/passkeys/remove'),
  );
  await hold('POST /account/codes/off', 'writing', 303, () =>
    ada.submit(account, confirmed, '/account/codes/off'),
  );
  const codes = await ada.submit(await ada.open('/account/codes'), confirmed);
  const code = codeOf(secretOn(codes), scene.clock.now);
  await hold('POST /account/codes', 'writing', 200, () => ada.submit(codes, { code }));

  await hold('GET /setup', 'reading', 200, () => ada.open('/setup'));
  await hold('POST /setup', 'reading', 403, () => newVisitor().open('/setup', post({ token: 'spent' })));
  const password = await ada.open('/account/password');
  const next = { current: PASSWORD, password: 'another gate of oak', password_again: 'another gate of oak' };
  await hold('POST /account/password', 'writing', 303, () => ada.submit(password, next));
  const leaving = await atHome();
  const last = await leaving.open('/account');
  await hold('POST /logout', 'writing', 200, () => leaving.submit(last, {}, '/logout'));
  await hold('POST /account/sessions', 'writing', 303, () =>
    ada.submit(account, sessions, '/account/sessions'),
  );
}

/** Account links; and Bob, who has enabled TOTP. */
async function prepareLinks({ scene, hold, newVisitor }: RequestCapture): Promise<void> {
  const { accounts } = scene.server;
  const chosen = { password: PASSWORD, password_again: PASSWORD };
  const linkFor = async (email: string, purpose: 'invitation' | 'reset') => {
    const invited = await accounts.add(email);
    const made = purpose === 'reset' ? await accounts.reset(email) : invited;
    if ('refused' in made) throw new Error(made.refused);
    const { pathname, search } = new URL(made.link);
    return pathname + search;
  };
  for (const purpose of ['invitation', 'reset'] as const) {
    const visitor = newVisitor();
    const link = await linkFor(`${purpose}@example.org`, purpose);
    const page = await visitor.open(link);
    await hold(`GET /${purpose}`, 'reading', 200, () => visitor.open(link));
    await hold(`POST /${purpose}`, 'writing', 303, () => visitor.submit(page, chosen));
  }

  const bob = newVisitor();
  await bob.submit(await bob.open(await linkFor('bob@example.org', 'invitation')), chosen);
  const page = await bob.submit(await bob.open('/account/codes'), { password: PASSWORD });
  const secret = secretOn(page);
  const shown = await bob.submit(page, { code: codeOf(secret, scene.clock.now) });
  const [recovery = ''] = recoveryCodesOn(shown);
  scene.clock.now += 60;
  const renewing = await bob.open('/account/codes/recovery');
  await hold('GET /account/codes/recovery', 'reading', 200, () => bob.open('/account/codes/recovery'));
  await hold('POST /account/codes/recovery', 'writing', 200, () => bob.submit(renewing, { code: recovery }));
  const eve = newVisitor();
  await eve.submit(await eve.open(await linkFor('eve@example.org', 'invitation')), chosen);
  const removal = await eve.open('/account/remove');
  await hold('POST /account/remove', 'writing', 200, () => eve.submit(removal, { password: PASSWORD }));

  const elsewhere = newVisitor();
  const half = await signIn(elsewhere, await elsewhere.open('/login'), 'bob@example.org');
  const code = codeOf(secret, scene.clock.now);
  await hold('POST /login/code', 'writing', 303, () => elsewhere.submit(half, { code }));
}

/** Requests for a server that shows its own pages. Those that change Ada's login methods come last. */
export async function prepareOwnPages(desk: RequestCapture): Promise<void> {
  await prepareLinks(desk);
  const passkey = await prepareFlows(desk);
  await prepareCallbacks(desk);
  await preparePrograms(desk);
  await prepareHome(desk, passkey);
}
