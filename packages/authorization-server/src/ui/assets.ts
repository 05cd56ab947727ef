/** Files that the pages load, under names that change with their content, so that browsers keep them for ever. */

import { hash } from 'node:crypto';
import { type HttpResponse, respond } from '@portcullis/http';
import type { Brand } from './brand.ts';
import { SCRIPT } from './script.ts';
import { STYLE } from './style.ts';

/** A file of ours, or one that the operator gave us. */
interface File {
  readonly type: string;
  readonly body: string | Uint8Array<ArrayBuffer>;
}

export interface Assets {
  /** Where the stylesheet stands. */
  readonly stylesheet: string;
  /** Where the script stands. */
  readonly script: string;
  /** Where the operator's logo stands; `null` when there is none. */
  readonly logo: string | null;
  /** Answers for everything below `/assets/`. */
  respond(path: string): HttpResponse;
}

export function createAssets(brand: Brand): Assets {
  const files = new Map<string, File>();
  const keep = (file: File, ending: string): string => {
    const path = `/assets/${hash('sha256', file.body, 'base64url').slice(0, 16)}.${ending}`;
    files.set(path, file);
    return path;
  };
  return {
    stylesheet: keep({ type: 'text/css; charset=utf-8', body: STYLE + brand.style }, 'css'),
    script: keep({ type: 'text/javascript; charset=utf-8', body: SCRIPT }, 'js'),
    logo:
      brand.logo === null ? null : keep({ type: brand.logo.type, body: brand.logo.bytes }, brand.logo.ending),
    respond: (path) => respondFile(files.get(path)),
  };
}

/** Opened by itself, a drawing runs nothing and loads nothing. */
function respondFile(file: File | undefined): HttpResponse {
  if (file === undefined) {
    const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' };
    return respond(404, headers, 'There is no such file.\n');
  }
  const headers = {
    'content-type': file.type,
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    'cache-control': 'public, max-age=31536000, immutable',
    'cross-origin-resource-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
  };
  return respond(200, headers, file.body);
}
