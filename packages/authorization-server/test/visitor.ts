/** A user agent without a browser: keeps cookies, follows this server's redirects, fills in forms. */
import type { AuthorizationServer, AuthorizationServerOptions } from '../src/index.ts';
import { hashSecret } from '../src/secrets.ts';
import { createPasswords } from '../src/users/passwords.ts';
import { ACCOUNT, ISSUER, type ServerUnderTest, startServer } from './server-under-test.ts';

export const EMAIL = 'ada@example.org';
export const PASSWORD = 'a gate of oak and iron';
/** Verifier and challenge of RFC 7636, appendix B. */
export const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
export const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

const phc = createPasswords().hash(PASSWORD, ACCOUNT);

/** A response of the server, and what a user sees of it. */
export interface Sight {
  readonly status: number;
  readonly headers: Headers;
  readonly html: string;
  /** The path and query that the browser ended at. */
  readonly path: string;
  /** The redirect URI of the client or an identity provider: a redirect that leaves this server. */
  readonly left: URL | null;
  /** The redirects of this server that led here. */
  readonly trail: readonly Response[];
}

/** A list means several fields of one name. */
export type Fields = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface Visitor {
  /** Name → value. Tests may delete, copy or plant them. */
  readonly cookies: Map<string, string>;
  /** Headers that the browser adds to every request. */
  headers: Record<string, string>;
  /** Opens a page of this server and follows its redirects. */
  open(path: string, init?: RequestInit): Promise<Sight>;
  /** Submits the form of a page; `undefined` omits a field. */
  submit(sight: Sight, fields: Fields, path?: string): Promise<Sight>;
  /** Opens an authorization request and signs in if required. */
  signIn(path: string): Promise<Sight>;
}

export function createVisitor(server: AuthorizationServer, address?: string): Visitor {
  const cookies = new Map<string, string>();
  const visit = async (path: string, init: RequestInit) => {
    const headers = new Headers({ ...visitor.headers, ...(init.headers as Record<string, string>) });
    if (cookies.size > 0) headers.set('cookie', [...cookies].map((pair) => pair.join('=')).join('; '));
    const request = new Request(new URL(path, ISSUER), { ...init, headers });
    const response = await server.handle(request, address === undefined ? {} : { address });
    for (const line of response.headers.getSetCookie()) keep(cookies, line);
    return { path, response, location: response.headers.get('location') ?? refreshOf(response) };
  };
  const visitor: Visitor = {
    cookies,
    headers: {},
    async open(path, init = {}) {
      const trail: Response[] = [];
      let sight = await visit(path, init);
      while (sight.location?.startsWith('/')) {
        trail.push(sight.response);
        sight = await visit(sight.location, {});
      }
      const { response, location } = sight;
      const { status, headers } = response;
      const left = location === null ? null : new URL(location);
      return { status, headers, html: await response.text(), path: sight.path, left, trail };
    },
    submit(sight, fields, path = actionOf(sight)) {
      const shown = fieldsOf(sight, path).filter(([name]) => !Object.hasOwn(fields, name));
      const pairs = [...shown, ...pairsOf(fields)];
      return visitor.open(path, { method: 'POST', body: new URLSearchParams(pairs) });
    },
    async signIn(path) {
      const sight = await visitor.open(path);
      return sight.path.startsWith('/login')
        ? visitor.submit(sight, { email: EMAIL, password: PASSWORD }, '/login')
        : sight;
    },
  };
  return visitor;
}

/** The URL to which a page of ours redirects by itself, away from this server. */
function refreshOf({ headers }: Response): string | null {
  return /^0; url=(https?:.+)$/.exec(headers.get('refresh') ?? '')?.[1] ?? null;
}

function keep(cookies: Map<string, string>, line: string): void {
  const [name = '', value = ''] = (line.split(';')[0] ?? '').split('=');
  if (/max-age=0/i.test(line)) cookies.delete(name);
  else cookies.set(name, value);
}

function actionOf({ html }: Sight): string {
  const action = /<form[^>]* action="([^"]+)"/.exec(html)?.[1];
  if (action === undefined) throw new Error(`There is no form in: ${html}`);
  return action;
}

/** The fields of the first form that posts there, or else of the page's first form. */
function fieldsOf({ html }: Sight, path: string): readonly [string, string][] {
  const forms = html.match(/<form.*?<\/form>/gs) ?? [];
  const form = forms.find((markup) => markup.includes(` action="${path}"`)) ?? forms[0] ?? '';
  const hidden = /<input type="hidden" name="([^"]+)" value="([^"]*)">/g;
  const ticked = /<input type="checkbox"[^>]* name="([^"]+)" value="([^"]*)" checked>/g;
  return [...form.matchAll(hidden), ...form.matchAll(ticked)].map(([, name = '', value = '']) => [
    name,
    value,
  ]);
}

function pairsOf(fields: Fields): readonly [string, string][] {
  return Object.entries(fields).flatMap(([name, value = []]) =>
    [value].flat().map((one): [string, string] => [name, one]),
  );
}

/** The text of a page, without pictures. */
export function textOf({ html }: Sight): string {
  return html
    .replace(/^.*<main>/s, '')
    .replace(/<svg.*?<\/svg>/gs, '')
    .replace(/<[^>]*>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
    .replace(/\s+/g, ' ')
    .trim();
}

/** The reference that a page shows. */
export function referenceOf(sight: Sight): string | undefined {
  return /Reference <code>([^<]+)<\/code>/.exec(sight.html)?.[1];
}

export interface Scene extends ServerUnderTest {
  readonly visitor: Visitor;
  /** Another browser at another address. */
  newVisitor(address?: string): Visitor;
  /** Registers a client dynamically, and returns its identifier. */
  registerClient(metadata: object): Promise<string>;
}

/** A server whose account Ada can sign in, and her browser. */
export async function setScene(options: Partial<AuthorizationServerOptions> = {}): Promise<Scene> {
  const t = await startServer(options);
  await t.store.replacePasswordHash(ACCOUNT, '$argon2id$not-used-here', await phc);
  return {
    ...t,
    visitor: createVisitor(t.server, '192.0.2.1'),
    newVisitor: (address = '198.51.100.7') => createVisitor(t.server, address),
    async registerClient(metadata) {
      const { status, body } = await t.register({ token_endpoint_auth_method: 'none', ...metadata });
      if (status !== 201) throw new Error(`The registration was refused: ${JSON.stringify(body)}`);
      return String(body['client_id']);
    },
  };
}

/**
 * Runs something while a password of Ada is being checked: after her account was read, and before the check ends.
 * @returns ends this
 */
export async function duringPasswordCheck(
  { store }: ServerUnderTest,
  run: () => Promise<unknown>,
): Promise<() => void> {
  const { findAccountByEmail } = store;
  const read = await findAccountByEmail(EMAIL);
  let ran: Promise<unknown> | undefined;
  store.findAccountByEmail = async () => {
    ran ??= run();
    await ran;
    return read;
  };
  return () => {
    store.findAccountByEmail = findAccountByEmail;
  };
}

/** An authorization request of the configured client `web`, valid unless overridden. */
export function requestOf(parameters: Fields = {}): string {
  const all: Fields = {
    response_type: 'code',
    client_id: 'web',
    redirect_uri: 'https://app.example/callback',
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    state: 'xyz',
    ...parameters,
  };
  const pairs = [...pairsOf(all)];
  return `/authorize?${new URLSearchParams(pairs)}`;
}

/** Opens a request, signs in and decides on the consent page; returns the final page. */
export async function decide(visitor: Visitor, path: string, decision = 'allow'): Promise<Sight> {
  return visitor.submit(await visitor.signIn(path), { decision });
}

/** The name of a permission in the form for a personal access token. */
export function permissionField(resource: string, scope: string): string {
  return `scope-${hashSecret(resource).slice(0, 8)}-${scope}`;
}

/** What an English consent page offers, and what it says the user cannot allow. */
export function permissionsOf(sight: Sight): Record<'offered' | 'withheld', string> {
  const [offered = '', withheld = ''] = textOf(sight).split('You cannot allow');
  return { offered, withheld };
}
