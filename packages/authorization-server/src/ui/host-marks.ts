/** Marks of the hosts that users add a server to: simple drawings by this project, in the colours by which they are known. */
import { html } from 'hono/html';
import type { Markup } from './markup.ts';

const mark = (content: Markup): Markup =>
  html`<svg class="host-mark" width="20" height="20" viewBox="0 0 20 20" fill="none" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${content}</svg>`;

/** The hosts that the pages explain, with their marks. */
export const hostMarks = {
  Claude: mark(html`<path stroke="#d97757" d="M10 2.5v15M2.5 10h15M4.7 4.7l10.6 10.6M15.3 4.7 4.7 15.3"/>`),
  'Claude Code': mark(html`<path stroke="#d97757" d="m4 6 4 4-4 4M10.5 14.5h5.5"/>`),
  Cursor: mark(
    html`<path stroke="currentColor" d="m10 2.2 6.8 3.9v7.8L10 17.8l-6.8-3.9V6.1zM3.4 6.2 10 10l6.6-3.8M10 10v7.6"/>`,
  ),
  'VS Code': mark(
    html`<path stroke="#2b8ad6" d="m13.6 2.6 3.6 1.7v11.4l-3.6 1.7L6.2 10zM6.2 10l-2.6 2.1M6.2 10 3.6 7.9M13.6 2.6v14.8"/>`,
  ),
  'MCP Inspector': mark(
    html`<circle cx="8.8" cy="8.8" r="5.6" stroke="currentColor"/><path stroke="currentColor" d="m13 13 4.2 4.2"/>`,
  ),
} as const;

export type HostName = keyof typeof hostMarks;
