/** Files that the pages load, under names that change with their content, so that browsers keep them for ever. */
import { hash } from 'node:crypto';
import { SCRIPT } from './script.ts';
import { STYLE } from './style.ts';

interface Asset {
  readonly path: string;
  readonly type: string;
  readonly text: string;
}

function define(text: string, extension: string, type: string): Asset {
  return { path: `/assets/${hash('sha256', text, 'base64url').slice(0, 16)}.${extension}`, type, text };
}

const assets: readonly [stylesheet: Asset, script: Asset] = [
  define(STYLE, 'css', 'text/css; charset=utf-8'),
  define(SCRIPT, 'js', 'text/javascript; charset=utf-8'),
];

/** Where the stylesheet stands. */
export const STYLESHEET_PATH: string = assets[0].path;
/** Where the script stands. */
export const SCRIPT_PATH: string = assets[1].path;

/** Answers for everything below `/assets/`. */
export function respondAsset(path: string): Response {
  const asset = assets.find((one) => one.path === path);
  if (asset === undefined) {
    return new Response('There is no such file.\n', {
      status: 404,
      headers: { 'cache-control': 'no-store' },
    });
  }
  return new Response(asset.text, {
    headers: {
      'content-type': asset.type,
      'cache-control': 'public, max-age=31536000, immutable',
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    },
  });
}
