/** Routes of the login pages: each belongs to a login target of this browser, and its forms carry a CSRF token. */
import { type HttpResponse, queryOf } from '@portcullis/http';
import { type Parameters, readParameters } from '@portcullis/protocol';
import type { PageContext, PageRouter, PageServices } from '../authorization/page-context.ts';
import type { PostedForm } from '../http/page-route.ts';
import type { Route } from '../http/router.ts';
import { findLoginTarget, type LoginTarget } from './login-target.ts';

/** A form of a browser that logs in. */
export interface LoginVisit extends PostedForm<PageServices> {
  readonly loginTarget: LoginTarget;
}

type HandleForm = (visit: LoginVisit) => Promise<HttpResponse>;

/** A page of a login. */
export function loginPageRoute(
  pages: PageRouter,
  path: string,
  handle: (context: PageContext, loginTarget: LoginTarget, parameters: Parameters) => Promise<HttpResponse>,
): Route {
  return pages.route('GET', path, async (context, request) => {
    const parameters = readParameters(queryOf(request));
    const loginTarget = await findLoginTarget(context, request, parameters);
    if ('missing' in loginTarget) return context.errors.showMissing('/login', loginTarget);
    return handle(context, loginTarget, parameters);
  });
}

/** A form with a login target. */
export function loginTargetFormRoute(pages: PageRouter, path: string, handle: HandleForm): Route {
  return pages.form(path, async (posted) => {
    const { context, request, form } = posted;
    const loginTarget = await findLoginTarget(context, request, form);
    return 'missing' in loginTarget
      ? context.errors.showMissing(path, loginTarget)
      : handle({ ...posted, loginTarget });
  });
}

/** Like `loginTargetFormRoute`, and also checks the CSRF token of the login page. */
export function loginFormRoute(pages: PageRouter, path: string, handle: HandleForm): Route {
  return loginTargetFormRoute(pages, path, async (visit) => {
    const { form, loginTarget } = visit;
    const isOurs = pages.csrfTokens.matches(form.one('token'), 'login', ...loginTarget.binding);
    return isOurs ? handle(visit) : rejectStaleForm(path, visit);
  });
}

/** Rejects a form whose CSRF token does not match, with a link that starts the login again. */
export function rejectStaleForm(
  path: string,
  { context: { errors, layout }, loginTarget }: LoginVisit,
): Promise<HttpResponse> {
  const action = { label: layout.text('sign-in.again'), href: loginTarget.restartPath };
  return errors.show(path, 'stale-form', { action });
}
