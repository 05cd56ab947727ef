/** Serves the console: sign-in, role and second factor at every request, CSRF protection of forms, and error pages. */
import {
  type ComponentPages,
  type ComponentSession,
  html,
  respondPage,
  respondRedirect,
} from '@portcullis/authorization-server/pages';
import {
  type HttpResponse,
  queryOf,
  readFormBody,
  respond,
  toResponse,
  withSecurityHeaders,
} from '@portcullis/http';
import { acrOf, inHttpSpan, satisfiesAcr, startEndpointSpan, TWO_FACTORS } from '@portcullis/protocol';
import type { Administration } from '../operations/administration.ts';
import { createFindRoute } from '../routes.ts';
import { CONSOLE_PATH, links, sectionOf } from './links.ts';
import type { ConsolePage, ConsoleRequest, ConsoleRoute } from './page.ts';
import { needsSecondFactor, noRole, PageError, toPageError } from './page-error.ts';
import { consoleRoutes } from './routes.ts';
import { createConsoleAssets } from './ui/assets.ts';
import { renderConsole } from './ui/layout.ts';

/** What changes made in the console have in the audit log in place of a client. */
const CONSOLE_CLIENT = 'portcullis-console';

/** Calls that are counted for the sidebar. */
const MAX_WAITING = 99;

type Visitor = Pick<ConsoleRequest, 'email' | 'role' | 'operator' | 'csrfToken'>;

/** The console, to be mounted at `/admin` of its origin. @param secondFactor whether users need to have signed in with two factors */
export function createConsole(
  admin: Administration,
  pages: ComponentPages,
  secondFactor: boolean,
): (request: Request) => Promise<Response> {
  const findRoute = createFindRoute(consoleRoutes);
  const isHttps = admin.issuer.startsWith('https:');
  const assets = createConsoleAssets(pages.look.theme);
  const frame = { look: pages.look, stylesheet: assets.stylesheet };

  const show = async (page: ConsolePage, visitor: Visitor | null, path: string): Promise<HttpResponse> => {
    const user = visitor && { email: visitor.email, isOperator: visitor.role === 'operator' };
    const waiting = user === null ? 0 : await admin.store.countPendingApprovals(admin.clock(), MAX_WAITING);
    const scripts = assets.scriptsOf(page.scripts ?? []);
    const markup = renderConsole({ ...frame, path, scripts, user, waiting }, page);
    return respondPage(markup, { status: page.status ?? 200, script: true, polls: true });
  };

  const showError = (error: unknown, visitor: Visitor | null): Promise<HttpResponse> => {
    const { status, title, message, next } = toPageError(error, admin);
    const way = next ?? (visitor === null ? null : sectionOf(links.overview));
    const body = html`<p>${message}</p>${way !== null && html`<p class="buttons"><a class="button" href="${way.href}">${way.label}</a></p>`}`;
    return show({ title, body, status }, visitor, links.overview);
  };

  /** @throws PageError unless the account has a role and, if it is needed, signed in with two factors */
  const authorize = async (session: ComponentSession): Promise<Visitor> => {
    const operator = { accountId: session.accountId, clientId: CONSOLE_CLIENT, grantId: null };
    const role = await admin.findRole(operator);
    if (role === null) throw noRole(session);
    if (secondFactor && !satisfiesAcr(acrOf({ methods: session.methods ?? [] }), [TWO_FACTORS]))
      throw await needsSecondFactor(admin, session);
    return { email: session.email, role, operator, csrfToken: pages.csrfToken(session) };
  };

  const handle = async (
    request: Request,
    path: string,
    found: ReturnType<typeof findRoute>,
    session: ComponentSession,
    visitor: Visitor,
  ): Promise<HttpResponse | Response> => {
    if (found.route === null) throw new PageError(found.status, ...ROUTE_REFUSALS[found.status]);
    const { route, params } = found;
    if (route.isForOperators && visitor.role !== 'operator')
      throw new PageError(
        403,
        'Only operators change something',
        'Your role is viewer: you see everything, and an operator can make the change or change your role.',
      );
    const form = route.method === 'POST' ? await readForm(request, session, route, pages) : {};
    const query = new URLSearchParams(queryOf(request));
    const result = await route.handle({
      ...visitor,
      ...{ admin, params, form, query, signal: request.signal },
      path: query.size === 0 ? path : `${path}?${query}`,
      reason: form['reason'] === undefined || form['reason'] === '' ? null : form['reason'].slice(0, 500),
      async isStillPermitted() {
        const current = await pages.findSession(request);
        return current !== null && (await authorize(current).catch(() => null)) !== null;
      },
    });
    return result instanceof Response ? result : show(result, visitor, path);
  };

  const respondTo = async (
    request: Request,
    path: string,
    found: ReturnType<typeof findRoute>,
  ): Promise<HttpResponse | Response> => {
    if (path.startsWith(`${CONSOLE_PATH}/assets/`))
      return assets.respond(path, request.headers.get('accept-encoding')) ?? respond(404, {});
    const session = await pages.findSession(request as Parameters<typeof pages.findSession>[0]);
    if (session === null) {
      const returns = isNavigation(request) && path !== CONSOLE_PATH;
      return pages.redirectToLogin(returns ? path + new URL(request.url).search : null);
    }
    const back = path === CONSOLE_PATH ? pages.takeReturnPath(request) : null;
    if (back !== null) return respondRedirect(back.path, [back.cookie]);
    let visitor: Visitor | null = null;
    try {
      visitor = await authorize(session);
      return await handle(request, path, found, session, visitor);
    } catch (error) {
      return showError(error, visitor);
    }
  };

  return async (request) => {
    const path = new URL(request.url).pathname;
    const found = findRoute(request.method === 'HEAD' ? 'GET' : request.method, path);
    const span = startEndpointSpan(request, found.route?.path ?? `${CONSOLE_PATH}/*`, false);
    const response = await inHttpSpan(span, 500, () => respondTo(request, path, found));
    if (response instanceof Response) return request.method === 'HEAD' ? headOf(response) : response;
    const whole = withSecurityHeaders(response, isHttps);
    return toResponse(request.method === 'HEAD' ? { ...whole, body: null } : whole);
  };
}

const ROUTE_REFUSALS: Readonly<Record<400 | 404 | 405, readonly [title: string, sentence: string]>> = {
  400: ['This address cannot be read', 'It is not percent-encoded UTF-8.'],
  404: ['There is no such page', 'The address may have changed, or what it showed is gone.'],
  405: ['This address is for a form', 'Open the page of the form, and send it from there.'],
};

/** Whether the browser opens a page: its scripts and images accept no HTML. */
function isNavigation({ method, headers }: Request): boolean {
  return method === 'GET' && /\btext\/html\b/i.test(headers.get('accept') ?? '');
}

/** A stream never ends by itself. @see RFC 9110 §9.3.2 */
async function headOf(response: Response): Promise<Response> {
  await response.body?.cancel();
  return new Response(null, response);
}

/** @throws PageError for a form of another site or session, or with an unknown field */
async function readForm(
  request: Request,
  session: ComponentSession,
  { fields }: ConsoleRoute,
  pages: ComponentPages,
): Promise<Readonly<Record<string, string>>> {
  const parameters = await readFormBody(request);
  if (!pages.isOwnForm(request, session, parameters.one('token')))
    throw new PageError(
      403,
      'This form cannot be used',
      'It was sent by another site, or from a page of a session that has ended. Nothing was changed: open the page again.',
    );
  const unknown = parameters.names().find((name) => name !== 'token' && !fields.includes(name));
  if (unknown !== undefined)
    throw new PageError(400, 'This form cannot be used', `The form has no field ${unknown}.`);
  return Object.fromEntries(fields.map((name) => [name, (parameters.one(name) ?? '').trim()]));
}
