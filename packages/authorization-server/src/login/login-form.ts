/** Forms of signing in: each is for an errand of this browser, and comes from a page that this server showed it. */
import { type HttpRequest, type HttpResponse, readFormBody } from '@portcullis/http';
import type { Parameters } from '@portcullis/protocol';
import { isForeignForm } from '../authorize/form-tokens.ts';
import type { Rooms } from '../authorize/rooms.ts';
import { findLoginTarget, type LoginTarget } from './login-target.ts';

/** A form, and what its sender signs in for. */
interface LoginForm {
  readonly form: Parameters;
  readonly loginTarget: LoginTarget;
}

/** Finds what a form is for, or refuses it: it has to come from this site. */
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

/** The same for a form with the token of a sign-in page. */
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

/** The page that the form came from is not of now: one begins again. */
export function refuseStaleForm(
  { edge, layout }: Rooms,
  path: string,
  loginTarget: LoginTarget,
): Promise<HttpResponse> {
  const action = { label: layout.text('sign-in.again'), href: loginTarget.restartPath };
  return edge.refuse(path, 'stale-form', { action });
}
