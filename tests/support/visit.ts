/** A user of any server's pages, without a browser: follows redirects, keeps cookies, and submits the first form of each page. */

/** How a user answers the forms. */
export interface VisitOptions {
  /** Values of inputs and buttons, by their names. Inputs that are not named keep their value, or get `x`. */
  readonly answers?: Readonly<Record<string, string>>;
  /** Kept from one visit to the next: name → value. */
  readonly cookies?: Map<string, string>;
}

/** The most redirects and pages of one visit; more is a loop. */
const MOST_STEPS = 20;

/**
 * Opens a URL and answers until a page has no form or redirects to another origin.
 * @returns the text of that page, or the URL at the other origin
 */
export async function visit(start: string, options: VisitOptions = {}): Promise<string> {
  const { answers = {}, cookies = new Map() } = options;
  const home = new URL(start).origin;
  let request = new Request(start);
  for (let step = 0; step < MOST_STEPS; step += 1) {
    const response = await send(request, cookies);
    const location = response.headers.get('location');
    if (location === null) {
      const text = await response.text();
      const next = answer(text, request.url, answers);
      if (next === undefined) return text;
      request = next;
    } else {
      const url = new URL(location, request.url);
      if (url.origin !== home) return url.href;
      request = new Request(url);
    }
  }
  throw new Error(`no way out of ${request.url} after ${MOST_STEPS} steps`);
}

async function send(request: Request, cookies: Map<string, string>): Promise<Response> {
  request.headers.set('accept', 'text/html');
  request.headers.set('cookie', [...cookies].map(([name, value]) => `${name}=${value}`).join('; '));
  const response = await fetch(request, { redirect: 'manual' });
  for (const cookie of response.headers.getSetCookie()) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
    cookies.set(name, value);
  }
  return response;
}

/** The first form of a page, submitted. */
function answer(page: string, url: string, answers: Readonly<Record<string, string>>): Request | undefined {
  const [, form, content = ''] = /<form([^>]*)>([\s\S]*?)<\/form>/.exec(page) ?? [];
  if (form === undefined) return undefined;
  const body = new URLSearchParams();
  for (const [field, tag] of content.matchAll(/<(input|button)[^>]*>/g)) {
    const name = readAttribute(field, 'name');
    const value = name === undefined ? undefined : (answers[name] ?? readAttribute(field, 'value') ?? 'x');
    if (name !== undefined && value !== undefined && (tag === 'input' || Object.hasOwn(answers, name)))
      body.set(name, value);
  }
  const action = new URL(readAttribute(form, 'action') ?? '', url);
  return new Request(action, { method: 'POST', body, headers: { origin: action.origin } });
}

function readAttribute(tag: string, name: string): string | undefined {
  return new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1]?.replaceAll('&amp;', '&');
}
