/** What pages are made of. */
import type { HtmlEscapedString } from 'hono/utils/html';

/** Escaped HTML. Whatever is put into an `html` template is escaped unless it is markup itself. */
export type Markup = HtmlEscapedString | Promise<HtmlEscapedString>;
