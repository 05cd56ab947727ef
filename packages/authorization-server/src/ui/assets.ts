/** Static assets of the pages, named by content hash so that browsers cache them forever. */
import { hash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { type HttpResponse, respond } from '@portcullis/http';
import type { Brand } from './brand.ts';
import { SCRIPT } from './script.ts';
import { STYLE } from './style.ts';

/** An asset of this server or of the operator. */
interface File {
  readonly type: string;
  readonly body: string | Uint8Array<ArrayBuffer>;
  /** The text compressed; it holds no secret that its length could reveal. */
  readonly gzip?: () => Uint8Array<ArrayBuffer>;
}

export interface Assets {
  /** Path of the stylesheet. */
  readonly stylesheet: string;
  /** Path of the script. */
  readonly script: string;
  /** Path of the operator's logo; `null`: none. */
  readonly logo: string | null;
  /** Path of the operator's logo, or of ours, as an icon. */
  readonly favicon: string;
  /** Serves everything below `/assets/`. @param encodings `Accept-Encoding` */
  respond(path: string, encodings: string | null): HttpResponse;
}

/** Without comments, and without the white space that means nothing. */
function minify(style: string): string {
  return style
    .replaceAll(/\/\*.*?\*\//gs, '')
    .replaceAll(/\s*([{};>])\s*/g, '$1')
    .replaceAll(/([:,])\s+/g, '$1')
    .replaceAll(';}', '}');
}

let minified: string | undefined;

/** The same for every server of a process. */
function minifiedStyle(): string {
  minified ??= minify(STYLE);
  return minified;
}

/** Compresses at the first call. */
function compressOnce(text: string): () => Uint8Array<ArrayBuffer> {
  let compressed: Uint8Array<ArrayBuffer> | undefined;
  return () => {
    compressed ??= gzipSync(text);
    return compressed;
  };
}

export function createAssets(brand: Brand): Assets {
  const files = new Map<string, File>();
  const keep = (file: File, ending: string): string => {
    const path = `/assets/${hash('sha256', file.body, 'base64url').slice(0, 16)}.${ending}`;
    files.set(path, typeof file.body === 'string' ? { ...file, gzip: compressOnce(file.body) } : file);
    return path;
  };
  const logo =
    brand.logo === null ? null : keep({ type: brand.logo.type, body: brand.logo.bytes }, brand.logo.ending);
  return {
    stylesheet: keep({ type: 'text/css; charset=utf-8', body: minifiedStyle() + brand.style }, 'css'),
    script: keep({ type: 'text/javascript; charset=utf-8', body: SCRIPT }, 'js'),
    logo,
    favicon: logo ?? keep({ type: 'image/svg+xml', body: FAVICON }, 'svg'),
    respond: (path, encodings) =>
      respondFile(files.get(path), /\bgzip\b(?!\s*;\s*q=0)/.test(encodings ?? '')),
  };
}

/** The portcullis icon, in the accent colours of the stylesheet. */
const FAVICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20" fill="none" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"><style>path{stroke:#1c4fc4}@media(prefers-color-scheme:dark){path{stroke:#8fb2ff}}</style><path d="M2.75 17.25V9a7.25 7.25 0 0 1 14.5 0v8.25M7.5 15.5V2.4M12.5 15.5V2.4M2.75 8h14.5M2.75 12.5h14.5"/></svg>';

/** The policy keeps an SVG that is opened directly from running or loading anything. */
function respondFile(file: File | undefined, acceptsGzip: boolean): HttpResponse {
  if (file === undefined) {
    const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' };
    return respond(404, headers, 'File not found.\n');
  }
  const headers = {
    'content-type': file.type,
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    'cache-control': 'public, max-age=31536000, immutable',
    'cross-origin-resource-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    ...(file.gzip !== undefined && { vary: 'accept-encoding' }),
  };
  return acceptsGzip && file.gzip !== undefined
    ? respond(200, { ...headers, 'content-encoding': 'gzip' }, file.gzip())
    : respond(200, headers, file.body);
}
