/** A user with an account, without a browser: follows redirects, keeps cookies, fills in forms and decides. */

export interface Account {
  readonly email: string;
  readonly password: string;
}

export type Decision = 'allow' | 'deny';

/** A user of the pages. Stays signed in from one call to the next. */
export interface User {
  /**
   * Opens an authorization URL, signs in if required, and decides.
   * Returns the final URL: the client's redirect URI with the response.
   */
  authorize(url: string | URL, decision?: Decision): Promise<URL>;
}

/** Where the browser goes from the short address of a loopback receiver; any other URL, which has a query, stays. */
export async function followShortAddress(url: string): Promise<URL> {
  if (new URL(url).search !== '') return new URL(url);
  const { headers } = await fetch(url, { redirect: 'manual' });
  return new URL(headers.get('location') ?? url);
}

type Fetch = (request: Request) => Promise<Response>;

/** The most redirects and pages between an authorization URL and the client; more is a loop. */
const MOST_STEPS = 10;

/** A user of an identity provider: its identifier, its address, and the user's login there. */
export interface ProviderLogin {
  readonly id: string;
  readonly origin: string;
  readonly login: string;
  readonly password: string;
  /** Their decision there. Default: `allow`. */
  readonly decision?: Decision;
}

/**
 * A user whose browser sends through `send`; the redirect URI itself is not visited.
 * @param elsewhere picks this identity provider whenever there is a choice, and completes its page too
 */
export function createUser(account: Account, send: Fetch = fetch, elsewhere?: ProviderLogin): User {
  const jars = new Map<string, Cookies>();
  return {
    async authorize(url, decision = 'allow') {
      const places = [new URL(url).origin, elsewhere?.origin];
      const answers = { email: account.email, password: account.password, decision };
      let request = new Request(url);
      for (let step = 0; step < MOST_STEPS; step += 1) {
        const response = await visit(request);
        const location = response.headers.get('location');
        if (location === null) {
          const page = await response.text();
          const back = returnLink(page);
          if (back !== null && !places.includes(back.origin)) return back;
          request = answer(page, response.status, request.url, answers, elsewhere);
        } else {
          const next = new URL(location, request.url);
          if (!places.includes(next.origin)) return next;
          request = new Request(next);
        }
      }
      throw new Error(`no way out of ${request.url} after ${MOST_STEPS} steps`);
    },
  };

  async function visit(request: Request): Promise<Response> {
    const { hostname } = new URL(request.url);
    const cookies = jars.get(hostname) ?? createCookies();
    jars.set(hostname, cookies);
    const withCookies = new Request(request, { redirect: 'manual', headers: request.headers });
    const header = cookies.header();
    if (header !== '') withCookies.headers.set('cookie', header);
    const response = await send(withCookies);
    cookies.keep(response);
    return response;
  }
}

interface Cookies {
  header(): string;
  keep(response: Response): void;
}

/** The cookies of one host, sent with every request. */
function createCookies(): Cookies {
  const jar = new Map<string, string>();
  return {
    header: () => [...jar].map(([name, value]) => `${name}=${value}`).join('; '),
    keep(response) {
      for (const cookie of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
        if (/;\s*max-age=0\b/i.test(cookie)) jar.delete(name);
        else jar.set(name, value);
      }
    },
  };
}

interface Form {
  readonly action: string;
  /** Its fields as submitted unchanged: unchecked boxes send nothing. */
  readonly fields: readonly (readonly [string, string])[];
  readonly buttons: readonly { readonly name: string; readonly value: string; readonly action: string }[];
}

/** Fills in and submits the form that asks for a login method, a password or a decision. */
function answer(
  page: string,
  status: number,
  url: string,
  { email, password, decision }: Account & { readonly decision: Decision },
  elsewhere: ProviderLogin | undefined,
): Request {
  const forms = readForms(page);
  const asking = (...wanted: readonly string[]) =>
    forms.find(({ fields }) => wanted.every((one) => fields.some(([name]) => name === one)));
  const there = asking('login', 'password');
  if (elsewhere !== undefined && there !== undefined) {
    const { login, password: itsPassword, decision: itsAnswer = 'allow' } = elsewhere;
    return submit(there, url, { login, password: itsPassword, answer: itsAnswer });
  }
  const choice = elsewhere && `/login/${elsewhere.id}`;
  const choosing = forms.find(({ buttons }) => buttons.some(({ action }) => action === choice));
  if (choosing !== undefined && choice !== undefined) return submit({ ...choosing, action: choice }, url, {});
  const signIn = asking('email', 'password');
  if (signIn !== undefined) {
    if (status !== 200) throw new Error(`sign-in refused with ${status}: ${textOf(page)}`);
    return submit(signIn, url, { email, password });
  }
  const consent = forms.find(({ buttons }) =>
    buttons.some(({ name, value }) => name === 'decision' && value === decision),
  );
  if (consent !== undefined) return submit(consent, url, { decision });
  throw new Error(`${status} without a question: ${textOf(page)}`);
}

/** The link by which a page about an error returns to an app that is not verified. */
function returnLink(page: string): URL | null {
  const [, href = ''] = /<a class="button" href="([^"]*)">/.exec(page) ?? [];
  return URL.parse(href.replaceAll('&amp;', '&'));
}

function submit(form: Form, url: string, answers: Readonly<Record<string, string>>): Request {
  const kept = form.fields.filter(([name]) => !Object.hasOwn(answers, name));
  const body = new URLSearchParams(
    [...kept, ...Object.entries(answers)].map(([name, value]): [string, string] => [name, value]),
  );
  const target = new URL(form.action, url);
  return new Request(target, { method: 'POST', body, headers: { origin: target.origin } });
}

function readForms(page: string): readonly Form[] {
  return [...page.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)].map(([, form = '', content = '']) => ({
    action: readAttributes(form)['action'] ?? '',
    fields: readTags(content, 'input')
      .filter(({ type, checked }) => type !== 'checkbox' || checked !== undefined)
      .map(({ name = '', value = '' }): [string, string] => [name, value]),
    buttons: readTags(content, 'button').map(({ name = '', value = '', formaction = '' }) => ({
      name,
      value,
      action: formaction,
    })),
  }));
}

function readTags(content: string, tag: string): readonly Readonly<Record<string, string>>[] {
  const found = content.matchAll(new RegExp(`<${tag}\\b([^>]*)>`, 'g'));
  return [...found].map(([, attributes = '']) => readAttributes(attributes));
}

function readAttributes(text: string): Readonly<Record<string, string>> {
  const found = text.matchAll(/([\w-]+)(?:="([^"]*)")?/g);
  return Object.fromEntries([...found].map(([, name = '', value = '']) => [name, unescapeHtml(value)]));
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' };

function unescapeHtml(text: string): string {
  return text.replace(/&(lt|gt|quot|#39|amp);/g, (entity, name: string) => ENTITIES[name] ?? entity);
}

/** The text of a page, for error messages. */
function textOf(page: string): string {
  const main = /<main>([\s\S]*)<\/main>/.exec(page)?.[1] ?? page;
  return unescapeHtml(main.replace(/<[^>]*>/g, ' '))
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 300);
}
