/** Icons of the console, drawn here. */
import { html, type Markup } from '@portcullis/authorization-server/pages';
import type { Section } from '../links.ts';

const draw = (content: Markup): Markup =>
  html`<svg class="icon" width="18" height="18" viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${content}</svg>`;

/** The icon of each entry of the sidebar. */
export const sectionIcons: Readonly<Record<Section, Markup>> = {
  overview: draw(html`<path d="M3 16.5h14M5.5 13.5v-4M10 13.5V4M14.5 13.5V7"/>`),
  activity: draw(html`<path d="M2.5 10h3.2l2-5.5 4 11 2.2-5.5h3.6"/>`),
  users: draw(
    html`<circle cx="8" cy="7" r="3"/><path d="M2.5 16.5a5.5 5.5 0 0 1 11 0M13 4.3a3 3 0 0 1 0 5.4M15 12.3a5.5 5.5 0 0 1 2.6 4.2"/>`,
  ),
  apps: draw(
    html`<rect x="3" y="3" width="6" height="6" rx="1.5"/><rect x="11" y="3" width="6" height="6" rx="1.5"/><rect x="3" y="11" width="6" height="6" rx="1.5"/><rect x="11" y="11" width="6" height="6" rx="3"/>`,
  ),
  servers: draw(
    html`<rect x="3" y="3.5" width="14" height="5.5" rx="1.5"/><rect x="3" y="11" width="14" height="5.5" rx="1.5"/><path d="M6 6.2h.1M6 13.7h.1"/>`,
  ),
  approvals: draw(html`<circle cx="10" cy="10" r="7"/><path d="m6.9 10.2 2.2 2.2 4-4.4"/>`),
  policy: draw(html`<path d="M10 2.6 16 5v4.4c0 3.7-2.5 6.5-6 8-3.5-1.5-6-4.3-6-8V5z"/>`),
  settings: draw(
    html`<path d="M3 6h7M14 6h3M3 14h3M10 14h7"/><circle cx="12" cy="6" r="2"/><circle cx="8" cy="14" r="2"/>`,
  ),
};

/** Marks besides those of sections. */
export const icons = {
  search: draw(html`<circle cx="9" cy="9" r="5.5"/><path d="m13.2 13.2 3.8 3.8"/>`),
  warning: draw(html`<path d="M10 3 18 16.6H2zM10 8.4v3.6M10 14.3v.1"/>`),
  done: draw(html`<path d="m4 10.5 4 4 8-9"/>`),
  gate: draw(
    html`<path d="M2.75 17.25V9a7.25 7.25 0 0 1 14.5 0v8.25M7.5 15.5V2.4M12.5 15.5V2.4M2.75 8h14.5M2.75 12.5h14.5"/>`,
  ),
  leave: draw(
    html`<path d="M8 3H4.5A1.5 1.5 0 0 0 3 4.5v11A1.5 1.5 0 0 0 4.5 17H8M13 13.5 16.5 10 13 6.5M16.5 10H8"/>`,
  ),
} as const;
