/** Stylesheet and scripts of the console, named by content hash so that browsers cache them forever. */
import { hash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { type HttpResponse, respond } from '@portcullis/http';
import { PALETTE_SCRIPT } from '../find/palette-script.ts';
import { CONSOLE_PATH } from '../links.ts';
import { ACTIVITY_SCRIPT } from './activity-script.ts';
import { OVERVIEW_SCRIPT } from './overview-script.ts';
import { CONSOLE_SCRIPT } from './script.ts';
import { CONSOLE_STYLE } from './style.ts';

/** Scripts by the name with which a page asks for them; `console` is on every page. */
const SCRIPTS: Readonly<Record<string, string>> = {
  console: CONSOLE_SCRIPT + PALETTE_SCRIPT,
  activity: ACTIVITY_SCRIPT,
  overview: OVERVIEW_SCRIPT,
};

interface Asset {
  readonly type: string;
  readonly text: string;
  readonly gzip: Uint8Array<ArrayBuffer>;
}

export interface ConsoleAssets {
  /** Path of the stylesheet. */
  readonly stylesheet: string;
  /** Paths of scripts, that of every page first. */
  scriptsOf(names: readonly string[]): readonly string[];
  /** Serves everything below `/admin/assets/`. `null`: there is no such file. */
  respond(path: string, encodings: string | null): HttpResponse | null;
}

/** @param theme custom properties that the stylesheet uses */
export function createConsoleAssets(theme: string): ConsoleAssets {
  const files = new Map<string, Asset>();
  const keep = (text: string, ending: 'css' | 'js', type: string): string => {
    const path = `${CONSOLE_PATH}/assets/${hash('sha256', text, 'base64url').slice(0, 16)}.${ending}`;
    files.set(path, { type: `${type}; charset=utf-8`, text, gzip: gzipSync(text) });
    return path;
  };
  const stylesheet = keep(minifyStyle(theme + CONSOLE_STYLE), 'css', 'text/css');
  const paths = new Map(
    Object.entries(SCRIPTS).map(([name, text]) => [name, keep(text, 'js', 'text/javascript')]),
  );
  return {
    stylesheet,
    scriptsOf: (names) => ['console', ...names].flatMap((name) => paths.get(name) ?? []),
    respond(path, encodings) {
      const file = files.get(path);
      return file === undefined ? null : respondAsset(file, /\bgzip\b(?!\s*;\s*q=0)/.test(encodings ?? ''));
    },
  };
}

function respondAsset({ type, text, gzip }: Asset, acceptsGzip: boolean): HttpResponse {
  const headers = {
    'content-type': type,
    'content-security-policy': "default-src 'none'; sandbox",
    'cache-control': 'public, max-age=31536000, immutable',
    'cross-origin-resource-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    vary: 'accept-encoding',
  };
  return acceptsGzip
    ? respond(200, { ...headers, 'content-encoding': 'gzip' }, gzip)
    : respond(200, headers, text);
}

/** Without the white space that means nothing. */
function minifyStyle(style: string): string {
  return style
    .replaceAll(/\s*([{};>])\s*/g, '$1')
    .replaceAll(/([:,])\s+/g, '$1')
    .replaceAll(';}', '}');
}
