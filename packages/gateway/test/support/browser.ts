/** A user's browser without a browser: follows redirects between servers, keeps cookies by origin, fills in forms. */

/** What a user sees. */
export interface Page {
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  readonly html: string;
}

type Fields = Readonly<Record<string, string>>;

export interface TestBrowser {
  /** Opens a URL and follows redirects; stops at a URL of an app (`app.example`). */
  open(url: string | URL): Promise<Page>;
  /** Submits the form of a page that posts to `action`, or its first. */
  submit(page: Page, fields: Fields, action?: string): Promise<Page>;
  /** Signs in and allows everything that is asked until no page asks any more. */
  allow(url: string | URL): Promise<Page>;
  /** The URLs of all pages and redirects so far. */
  readonly trail: string[];
  /** The path of a redirect that is not followed; `null`: all are. */
  buffered: string | null;
}

const APP = 'app.example';

/** Serves an origin that is not reached over the network. */
type Host = (request: Request) => Promise<Response>;

/** @param credentials the fields of the login form at an origin */
export function createTestBrowser(
  credentials: (origin: string) => Fields,
  hosts: Readonly<Record<string, Host>> = {},
): TestBrowser {
  const jars = new Map<string, Map<string, string>>();
  const trail: string[] = [];

  async function send(request: Request): Promise<Response> {
    const { origin } = new URL(request.url);
    const jar = jars.get(origin) ?? new Map<string, string>();
    jars.set(origin, jar);
    trail.push(request.url);
    if (jar.size > 0) request.headers.set('cookie', [...jar].map((pair) => pair.join('=')).join('; '));
    const response = await (hosts[origin]?.(request) ?? fetch(request, { redirect: 'manual' }));
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/max-age=0/i.test(line)) jar.delete(name);
      else jar.set(name, value);
    }
    return response;
  }

  async function follow(first: Request): Promise<Page> {
    let request = first;
    for (let step = 0; step < 20; step += 1) {
      const response = await send(request);
      const location =
        response.headers.get('location') ??
        /^0; url=(https?:.+)$/.exec(response.headers.get('refresh') ?? '')?.[1] ??
        null;
      if (location === null)
        return { url: new URL(request.url), ...pick(response), html: await response.text() };
      const url = new URL(location, request.url);
      if (url.hostname === APP || (browser.buffered !== null && url.pathname.startsWith(browser.buffered)))
        return { url, ...pick(response), html: '' };
      request = new Request(url, { headers: { accept: 'text/html' } });
    }
    throw new Error(`redirects in circles: ${request.url}`);
  }

  const browser: TestBrowser = {
    trail,
    buffered: null,
    open: (url) => follow(new Request(url, { headers: { accept: 'text/html' } })),
    submit(page, fields, action) {
      const forms = page.html.match(/<form[\s\S]*?<\/form>/g) ?? [];
      const form =
        forms.find((one) => action !== undefined && one.includes(` action="${action}"`)) ?? forms[0];
      if (form === undefined) throw new Error(`no form on ${page.url}: ${page.html}`);
      const body = new URLSearchParams();
      for (const [field] of form.matchAll(/<input[^>]*>/g)) {
        const name = attribute(field, 'name');
        const isOff = attribute(field, 'type') === 'checkbox' && !/ checked/.test(field);
        if (name !== undefined && !isOff) body.append(name, attribute(field, 'value') ?? '');
      }
      for (const [name, value] of Object.entries(fields)) body.set(name, value);
      const url = new URL(attribute(form, 'action') ?? '', page.url);
      return follow(new Request(url, { method: 'POST', body, headers: { origin: url.origin } }));
    },
    async allow(url) {
      let page = await browser.open(url);
      for (let step = 0; step < 10 && page.html.includes('<form'); step += 1) {
        const { pathname, origin } = page.url;
        if (pathname === '/login') page = await browser.submit(page, credentials(origin));
        else if (pathname === '/consent') page = await browser.submit(page, { decision: 'allow' });
        else if (pathname === '/connect') page = await browser.submit(page, {});
        // The page of another authorization server.
        else if (pathname === '/authorize') page = await browser.submit(page, credentials(origin));
        else return page;
      }
      return page;
    },
  };
  return browser;
}

function pick({ status, headers }: Response): Pick<Page, 'status' | 'headers'> {
  return { status, headers };
}

function attribute(tag: string, name: string): string | undefined {
  return new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1]?.replaceAll('&amp;', '&');
}
