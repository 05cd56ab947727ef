/** Files that the pages load, under names that change with their content, so that browsers keep them for ever. */
import { hash } from 'node:crypto';
import { STYLE } from './style.ts';

/** Where the stylesheet stands. */
export const STYLESHEET_PATH: string = `/assets/${hash('sha256', STYLE, 'base64url').slice(0, 16)}.css`;

/** Answers for everything below `/assets/`. */
export function respondAsset(path: string): Response {
  if (path !== STYLESHEET_PATH) {
    return new Response('There is no such file.\n', {
      status: 404,
      headers: { 'cache-control': 'no-store' },
    });
  }
  return new Response(STYLE, {
    headers: {
      'content-type': 'text/css; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    },
  });
}
