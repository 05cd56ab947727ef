/** The type of escaped HTML, and addresses in it. */
import { html } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';

/** Escaped HTML. An `html` template escapes every value that is not markup itself. */
export type Markup = HtmlEscapedString | Promise<HtmlEscapedString>;

/** Text with addresses that may be broken after a slash, so that a narrow screen breaks none of their words. */
export function breakable(text: string): Markup {
  const parts = text.split(/(?<=[^/]\/)(?=[^/])/);
  return html`${parts.map((part, index) => html`${index > 0 && html`<wbr>`}${part}`)}`;
}
