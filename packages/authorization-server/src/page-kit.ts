/** Entry point `pages`: what pages of another component at the same origin are made of. */
export { html } from 'hono/html';
export { escapedText } from './approvals/show-text.ts';
export type { ComponentPages, ComponentSession } from './component-pages.ts';
export { newReference } from './http/error-pages.ts';
export { claudeCodeCommand, installLinksOf } from './ui/add-server.ts';
export { createAssetFiles, minifyStyle } from './ui/assets.ts';
export { monogram } from './ui/marks.ts';
export type { Markup } from './ui/markup.ts';
export { respondPage, respondRedirect } from './ui/respond-page.ts';
