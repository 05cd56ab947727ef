/** What a page and a form of the console are. */
import type { Markup } from '@portcullis/authorization-server/pages';
import type { AccountRole } from '@portcullis/authorization-server/store';
import type { AdminRequest } from '../operations/administration.ts';
import type { ConsoleLink } from './links.ts';

/** One page: one title, at most one primary action, one body. */
export interface ConsolePage {
  readonly title: string;
  /** One sentence under the title. */
  readonly lead?: Markup | string;
  /** What the page belongs to. Default: the list of its section. */
  readonly back?: ConsoleLink;
  /** The primary action. Viewers do not see one that is for operators. */
  readonly action?: ConsoleLink & { readonly isForOperators?: boolean; readonly isDangerous?: boolean };
  readonly body: Markup;
  /** Default: 200. */
  readonly status?: number;
  /** Scripts that only this page loads, by their names in `ui/assets.ts`. */
  readonly scripts?: readonly string[];
}

/** A request of a signed-in operator or viewer. */
export interface ConsoleRequest extends AdminRequest {
  readonly email: string;
  readonly role: AccountRole;
  /** The hidden field `token` of every form. */
  readonly csrfToken: string;
  /** With the query, below the origin: `/admin/users?q=ada`. */
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The named fields of a form; empty for a page. */
  readonly form: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Whether session, role and second factor permit to go on, for a response that lasts. */
  isStillPermitted(): Promise<boolean>;
}

/** A page, or a form that is posted to it. */
export interface ConsoleRoute {
  readonly method: 'GET' | 'POST';
  /** With parameters such as `{userId}`. */
  readonly path: string;
  /** Who may: viewers see pages, only operators post forms. Default for a form, and for a page that asks before it. */
  readonly isForOperators: boolean;
  /** Fields of a form besides `token`. Any other field is refused. */
  readonly fields: readonly string[];
  handle(request: ConsoleRequest): Promise<ConsolePage | Response>;
}

/** Declares a page that viewers see as well. */
export function definePage(path: string, handle: ConsoleRoute['handle']): ConsoleRoute {
  return { method: 'GET', path, isForOperators: false, fields: [], handle };
}
