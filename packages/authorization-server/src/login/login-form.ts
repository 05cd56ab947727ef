/** Reads the login forms: each belongs to a login target of this browser and carries a CSRF token. */
import { type HttpRequest, type HttpResponse, readFormBody } from '@portcullis/http';
import type { Parameters } from '@portcullis/protocol';
import type { PageContext } from '../authorization/page-context.ts';
import { isCrossSiteForm } from '../http/csrf.ts';
import { findLoginTarget, type LoginTarget } from './login-target.ts';

/** A posted form and its login target. */
interface LoginForm {
  readonly form: Parameters;
  readonly loginTarget: LoginTarget;
}

/** Reads a form and finds its login target; rejects forms from other sites. */
export async function readLoginTargetForm(
  context: PageContext,
  request: HttpRequest,
  path: string,
): Promise<LoginForm | { readonly rejection: Promise<HttpResponse> }> {
  const form = await readFormBody(request);
  const loginTarget = await findLoginTarget(context, request, form);
  if ('missing' in loginTarget) return { rejection: context.errors.showMissing(path, loginTarget) };
  const isForeign = isCrossSiteForm(request, context.options.issuer);
  return isForeign ? { rejection: rejectStaleForm(context, path, loginTarget) } : { form, loginTarget };
}

/** Like `readLoginTargetForm`, and also checks the CSRF token of the login page. */
export async function readLoginForm(
  context: PageContext,
  request: HttpRequest,
  path: string,
): Promise<LoginForm | { readonly rejection: Promise<HttpResponse> }> {
  const found = await readLoginTargetForm(context, request, path);
  if ('rejection' in found) return found;
  const { form, loginTarget } = found;
  const isOurs = context.csrfTokens.matches(form.one('token'), 'login', ...loginTarget.binding);
  return isOurs ? found : { rejection: rejectStaleForm(context, path, loginTarget) };
}

/** Rejects a form whose CSRF token does not match, with a link that starts the login again. */
export function rejectStaleForm(
  { errors, layout }: PageContext,
  path: string,
  loginTarget: LoginTarget,
): Promise<HttpResponse> {
  const action = { label: layout.text('sign-in.again'), href: loginTarget.restartPath };
  return errors.show(path, 'stale-form', { action });
}
