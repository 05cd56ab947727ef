/** Forms of signing in: each is for an errand of this browser, and comes from a page that this server showed it. */
import { type HttpRequest, type HttpResponse, readForm } from '@portcullis/http';
import type { Parameters } from '@portcullis/protocol';
import type { Errand } from './errand.ts';
import { findErrand } from './errands.ts';
import { isForeignForm } from './form-tokens.ts';
import type { Rooms } from './rooms.ts';

/** A form, and what its sender signs in for. */
interface SignInForm {
  readonly form: Parameters;
  readonly errand: Errand;
}

/** Finds what a form is for, or refuses it: it has to come from this site. */
export async function readErrandForm(
  rooms: Rooms,
  request: HttpRequest,
  path: string,
): Promise<SignInForm | { readonly refusal: Promise<HttpResponse> }> {
  const form = await readForm(request);
  const errand = await findErrand(rooms, request, form);
  if ('missing' in errand) return { refusal: rooms.edge.refuse(path, errand.missing) };
  const isForeign = isForeignForm(request, rooms.configuration.issuer);
  return isForeign ? { refusal: refuseStale(rooms, path, errand) } : { form, errand };
}

/** The same for a form with the token of a sign-in page. */
export async function readSignInForm(
  rooms: Rooms,
  request: HttpRequest,
  path: string,
): Promise<SignInForm | { readonly refusal: Promise<HttpResponse> }> {
  const found = await readErrandForm(rooms, request, path);
  if ('refusal' in found) return found;
  const { form, errand } = found;
  const isOurs = rooms.formTokens.matches(form.one('token'), 'login', ...errand.bound);
  return isOurs ? found : { refusal: refuseStale(rooms, path, errand) };
}

/** The page that the form came from is not of now: one begins again. */
export function refuseStale({ edge, frame }: Rooms, path: string, errand: Errand): Promise<HttpResponse> {
  const action = { label: frame.text('sign-in.again'), href: errand.path };
  return edge.refuse(path, 'stale-form', { action });
}
