/** A browser without scripts that is signed in to the console. */
import { type Installation, signIn } from '../installation.ts';

/** How operators sign in. */
export const TWO_FACTORS_USED: readonly string[] = ['pwd', 'otp', 'mfa'];

/** A page as it was received. */
interface VisitedPage {
  readonly status: number;
  readonly html: string;
  readonly headers: Headers;
}

export interface Visitor {
  readonly cookie: string;
  /** Follows no redirect. */
  open(path: string): Promise<VisitedPage>;
  /** Posts a form. Its CSRF token is that of the console's page, unless `token` is given. @param headers of a browser by default */
  post(
    path: string,
    fields: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<VisitedPage>;
}

/** Signs the owner in with a role. */
export async function visitConsole(
  installation: Installation,
  role: Parameters<typeof signIn>[2]['role'] = 'operator',
  methods: readonly string[] = TWO_FACTORS_USED,
): Promise<Visitor> {
  return visitWith(installation, await signIn(installation, methods, { role }));
}

/** A browser with these cookies. */
export function visitWith({ url }: Pick<Installation, 'url'>, cookie: string): Visitor {
  const request = async (path: string, init: RequestInit): Promise<VisitedPage> => {
    const response = await fetch(`${url}${path}`, { redirect: 'manual', ...init });
    return { status: response.status, html: await response.text(), headers: response.headers };
  };
  const open: Visitor['open'] = (path) => request(path, { headers: { cookie, accept: 'text/html' } });
  return {
    cookie,
    open,
    async post(path, fields, headers = { 'sec-fetch-site': 'same-origin' }) {
      const token = fields['token'] ?? tokenIn((await open('/admin/users/invite')).html);
      const body = new URLSearchParams({ ...fields, token });
      return request(path, { method: 'POST', headers: { cookie, ...headers }, body });
    },
  };
}

/** The CSRF token of the forms of a page; empty if it has none. */
export function tokenIn(html: string): string {
  return /name="token" value="([^"]+)"/.exec(html)?.[1] ?? '';
}
