/** Reads the login forms: each belongs to a login target of this browser and carries a CSRF token. */
import { type HttpRequest, type HttpResponse, readFormBody } from '@portcullis/http';
import type { Parameters } from '@portcullis/protocol';
import { isForeignForm } from '../authorize/form-tokens.ts';
import type { Rooms } from '../authorize/rooms.ts';
import { findLoginTarget, type LoginTarget } from './login-target.ts';

/** A posted form and its login target. */
interface LoginForm {
  readonly form: Parameters;
  readonly loginTarget: LoginTarget;
}

/** Reads a form and finds its login target; rejects forms from other sites. */
export async function readLoginTargetForm(
  rooms: Rooms,
  request: HttpRequest,
  path: string,
): Promise<LoginForm | { readonly refusal: Promise<HttpResponse> }> {
  const form = await readFormBody(request);
  const loginTarget = await findLoginTarget(rooms, request, form);
  if ('missing' in loginTarget) return { refusal: rooms.edge.refuse(path, loginTarget.missing) };
  const isForeign = isForeignForm(request, rooms.configuration.issuer);
  return isForeign ? { refusal: refuseStaleForm(rooms, path, loginTarget) } : { form, loginTarget };
}

/** Like `readLoginTargetForm`, and also checks the CSRF token of the login page. */
export async function readLoginForm(
  rooms: Rooms,
  request: HttpRequest,
  path: string,
): Promise<LoginForm | { readonly refusal: Promise<HttpResponse> }> {
  const found = await readLoginTargetForm(rooms, request, path);
  if ('refusal' in found) return found;
  const { form, loginTarget } = found;
  const isOurs = rooms.formTokens.matches(form.one('token'), 'login', ...loginTarget.binding);
  return isOurs ? found : { refusal: refuseStaleForm(rooms, path, loginTarget) };
}

/** Rejects a form whose CSRF token does not match, with a link that starts the login again. */
export function refuseStaleForm(
  { edge, layout }: Rooms,
  path: string,
  loginTarget: LoginTarget,
): Promise<HttpResponse> {
  const action = { label: layout.text('sign-in.again'), href: loginTarget.restartPath };
  return edge.refuse(path, 'stale-form', { action });
}
