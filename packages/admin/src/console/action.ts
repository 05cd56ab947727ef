/** Actions that change something: a page that says what will happen and asks once, and the form that does it. */
import { html, type Markup, respondRedirect } from '@portcullis/authorization-server/pages';
import { toResponse } from '@portcullis/http';
import { OperationError } from '../operations/errors.ts';
import { sectionOf } from './links.ts';
import type { ConsolePage, ConsoleRequest, ConsoleRoute } from './page.ts';
import { errorNotice, field, postForm } from './ui/parts.ts';

/** What the page of an action says. */
export interface ActionPage extends Pick<ConsolePage, 'title' | 'back'> {
  /** What will happen, one sentence each, with counts. */
  readonly effects?: readonly (string | false)[];
  /** The button, named by what it does. */
  readonly button: string;
  readonly isDangerous?: boolean;
  /** Further fields, before the reason. */
  readonly fields?: Markup;
}

/** An action. Its form always takes a reason for the audit log. */
export interface Action {
  readonly path: string;
  /** Names of the further fields. */
  readonly fields?: readonly string[];
  describe(request: ConsoleRequest): Promise<ActionPage>;
  /** @returns the page that shows what was done, or where to go @throws OperationError: nothing has changed */
  perform(request: ConsoleRequest): Promise<ConsolePage | string>;
}

/** The routes of an action. */
export function defineAction({ path, fields = [], describe, perform }: Action): readonly ConsoleRoute[] {
  const show = async (request: ConsoleRequest, error: OperationError | null) =>
    actionPage(request, await describe(request), error);
  return defineForm(path, [...fields, 'reason'], show, perform);
}

/**
 * Declares a page with a form, which is posted to its path: for operators only.
 * @param fields the only ones that the form takes, besides its CSRF token
 * @param show the page; with an error it shows the form again
 */
export function defineForm(
  path: string,
  fields: readonly string[],
  show: (request: ConsoleRequest, error: OperationError | null) => Promise<ConsolePage>,
  perform: Action['perform'],
): readonly ConsoleRoute[] {
  const submit: ConsoleRoute['handle'] = async (request) => {
    try {
      const result = await perform(request);
      return typeof result === 'string' ? toResponse(respondRedirect(result)) : result;
    } catch (error) {
      if (!(error instanceof OperationError)) throw error;
      return show(request, error);
    }
  };
  return [
    { method: 'GET', path, isForOperators: true, fields: [], handle: (request) => show(request, null) },
    { method: 'POST', path, isForOperators: true, fields, handle: submit },
  ];
}

function actionPage(request: ConsoleRequest, page: ActionPage, error: OperationError | null): ConsolePage {
  const { title, back = sectionOf(request.path), effects = [], button, isDangerous = false, fields } = page;
  const reason = field({
    name: 'reason',
    label: 'Reason',
    hint: 'Optional. It stays in the audit log, with your account.',
    maxLength: 500,
    value: request.form['reason'] ?? '',
  });
  const content = html`${fields}
${reason}
<p class="buttons"><button class="button ${isDangerous ? 'danger' : 'main'}">${button}</button><a class="button" href="${back.href}">Cancel</a></p>`;
  return {
    ...{ title, back, status: error?.status ?? 200 },
    body: html`${errorNotice(error)}
${effects.length > 0 && html`<ul class="effects">${effects.map((effect) => effect !== false && html`<li>${effect}</li>`)}</ul>`}
${postForm(request, request.path, content)}`,
  };
}
