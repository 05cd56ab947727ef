/** The type of escaped HTML. */
import type { HtmlEscapedString } from 'hono/utils/html';

/** Escaped HTML. An `html` template escapes every value that is not markup itself. */
export type Markup = HtmlEscapedString | Promise<HtmlEscapedString>;
