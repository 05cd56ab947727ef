/** What a page says of a change that was made, and the form that takes it back where that is possible. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { html, type Markup } from '@portcullis/authorization-server/pages';
import { OperationError } from '../operations/errors.ts';
import type { ConsoleRequest } from './page.ts';
import { icons } from './ui/icons.ts';

/** The address of a page that says what was done, by a name of its own texts. */
export function doneAt(href: string, name: string): string {
  return `${href}${href.includes('?') ? '&' : '?'}${new URLSearchParams({ done: name })}`;
}

/** The form that takes a change back: its address, and its fields besides the reason. */
interface Inverse {
  readonly path: string;
  readonly fields?: Readonly<Record<string, string>>;
}

/** Epoch seconds for which the notice of a change offers to take it back. */
const UNDO_OFFERED = 600;

/**
 * The same with what takes the change back. The address carries it, bound to the session: a link that another site chose cannot offer
 * a form.
 */
export function undoableAt(
  { admin, csrfToken }: ConsoleRequest,
  href: string,
  name: string,
  { path, fields = {} }: Inverse,
): string {
  const offer = Buffer.from(JSON.stringify([admin.clock() + UNDO_OFFERED, name, path, fields])).toString(
    'base64url',
  );
  return `${doneAt(href, name)}&${new URLSearchParams({ undo: `${offer}.${sign(csrfToken, offer)}` })}`;
}

function sign(csrfToken: string, offer: string): string {
  return createHmac('sha256', csrfToken).update(offer).digest('base64url');
}

function isSigned(csrfToken: string, offer: string, signature: string): boolean {
  const [given, own] = [Buffer.from(signature), Buffer.from(sign(csrfToken, offer))];
  return given.length === own.length && timingSafeEqual(given, own);
}

/** A form that takes a change back overwrites no later one: it has what it would replace, as JSON. */
export function checkExpected(
  { form: { expected = '' } }: Pick<ConsoleRequest, 'form'>,
  now: string | number | null,
): void {
  if (expected !== '' && expected !== JSON.stringify(now))
    throw new OperationError('conflict', 'Another operator has changed it meanwhile: nothing was undone.');
}

/** `null`: nothing can be taken back, or any more. */
function inverseIn(
  { admin, csrfToken, query, role }: ConsoleRequest,
  done: string,
): Required<Inverse> | null {
  const [offer = '', signature = ''] = (query.get('undo') ?? '').split('.', 2);
  if (role !== 'operator' || !isSigned(csrfToken, offer, signature)) return null;
  const [until, name, path, fields] = JSON.parse(Buffer.from(offer, 'base64url').toString()) as [
    number,
    string,
    string,
    Readonly<Record<string, string>>,
  ];
  return name === done && admin.clock() < until ? { path, fields } : null;
}

/** What was done, by the name in the address, with a form that takes it back where that is possible. */
export function doneNotice(request: ConsoleRequest, sentences: Readonly<Record<string, string>>): Markup {
  const name = request.query.get('done') ?? '';
  if (!Object.hasOwn(sentences, name)) return html``;
  const inverse = inverseIn(request, name);
  const fields = Object.entries({ ...inverse?.fields, reason: 'Undo' });
  const undo =
    inverse &&
    html`<form method="post" action="${inverse.path}"><input type="hidden" name="token" value="${request.csrfToken}">${fields.map(([field, value]) => html`<input type="hidden" name="${field}" value="${value}">`)}<button class="button">Undo</button></form>`;
  return html`<div class="notice">${icons.done}<p role="status">${sentences[name]}</p>${undo}</div>`;
}
