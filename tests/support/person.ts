/** Somebody with an account, without a browser: follows redirects, keeps cookies, fills the forms in and decides. */

export interface Account {
  readonly email: string;
  readonly password: string;
}

export type Decision = 'allow' | 'deny';

/** Whoever sits in front of the pages. Stays signed in from one call to the next. */
export interface Person {
  /**
   * Opens an authorization URL, signs in if asked to, and decides.
   * Answers where that ends: the client's redirect URI with the response.
   */
  authorize(url: string | URL, decision?: Decision): Promise<URL>;
}

type Fetch = (request: Request) => Promise<Response>;

/** Redirects and pages between an authorization URL and the client; more means going round in circles. */
const MOST_STEPS = 10;

/** A person whose browser sends through `send`; the redirect URI itself is not visited. */
export function createPerson(account: Account, send: Fetch = fetch): Person {
  const cookies = createCookies();
  return {
    async authorize(url, decision = 'allow') {
      const { origin } = new URL(url);
      const answers = { email: account.email, password: account.password, decision };
      let request = new Request(url);
      for (let step = 0; step < MOST_STEPS; step += 1) {
        const response = await visit(request);
        const location = response.headers.get('location');
        if (location === null) {
          request = answer(await response.text(), response.status, request.url, answers);
        } else {
          const next = new URL(location, request.url);
          if (next.origin !== origin) return next;
          request = new Request(next);
        }
      }
      throw new Error(`no way out of ${request.url} after ${MOST_STEPS} steps`);
    },
  };

  async function visit(request: Request): Promise<Response> {
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

/** The cookies of one host; all of them go everywhere. */
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
  /** What it sends as it stands: boxes that are not ticked send nothing. */
  readonly fields: readonly (readonly [string, string])[];
  readonly buttons: readonly { readonly name: string; readonly value: string }[];
}

/** Fills in the form that asks for a password or a decision, and presses its button. */
function answer(
  page: string,
  status: number,
  url: string,
  { email, password, decision }: Account & { readonly decision: Decision },
): Request {
  const forms = readForms(page);
  const signIn = forms.find(({ fields }) =>
    ['email', 'password'].every((wanted) => fields.some(([name]) => name === wanted)),
  );
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
    buttons: readTags(content, 'button').map(({ name = '', value = '' }) => ({ name, value })),
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

/** What a page says, for error messages. */
function textOf(page: string): string {
  const main = /<main>([\s\S]*)<\/main>/.exec(page)?.[1] ?? page;
  return unescapeHtml(main.replace(/<[^>]*>/g, ' '))
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 300);
}
