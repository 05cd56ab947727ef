/** Static assets of the pages, named by content hash so that browsers cache them forever. */
import { hash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { type HttpResponse, respond } from '@portcullis/http';
import type { Brand } from './brand.ts';
import { SCRIPT } from './script.ts';
import { STYLE } from './style.ts';

export type Assets = ReturnType<typeof createAssets>;

let minified: string | undefined;

export function createAssets(brand: Brand) {
  // The policy keeps an SVG that is opened directly from running or loading anything.
  const files = createAssetFiles('/assets/', "default-src 'none'; style-src 'unsafe-inline'; sandbox");
  // The same for every server of a process.
  minified ??= minifyStyle(STYLE);
  /** Path of the operator's logo; `null`: none. */
  const logo = brand.logo === null ? null : files.add(brand.logo.ending, brand.logo.type, brand.logo.bytes);
  return {
    /** Path of the stylesheet. */
    stylesheet: files.add('css', 'text/css; charset=utf-8', minified + brand.style),
    /** Path of the script. */
    script: files.add('js', 'text/javascript; charset=utf-8', SCRIPT),
    logo,
    /** Path of the operator's logo, or of ours, as an icon. */
    favicon: logo ?? files.add('svg', 'image/svg+xml', FAVICON),
    /** Serves everything below `/assets/`. @param encodings `Accept-Encoding` */
    respond: (path: string, encodings: string | null): HttpResponse =>
      files.respond(path, encodings) ?? respond(404, NOT_FOUND_HEADERS, 'File not found.\n'),
  };
}

const NOT_FOUND_HEADERS = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' };

/** The portcullis icon, in the accent colours of the stylesheet. */
const FAVICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20" fill="none" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"><style>path{stroke:#1c4fc4}@media(prefers-color-scheme:dark){path{stroke:#8fb2ff}}</style><path d="M2.75 17.25V9a7.25 7.25 0 0 1 14.5 0v8.25M7.5 15.5V2.4M12.5 15.5V2.4M2.75 8h14.5M2.75 12.5h14.5"/></svg>';

/** Without comments, and without the white space that means nothing. */
export function minifyStyle(style: string): string {
  return style
    .replaceAll(/\/\*.*?\*\//gs, '')
    .replaceAll(/\s*([{};>])\s*/g, '$1')
    .replaceAll(/([:,])\s+/g, '$1')
    .replaceAll(';}', '}');
}

/**
 * Files that are served below a path.
 * @param folder ends with a slash
 * @param policy the Content Security Policy of a file that is opened directly
 */
export function createAssetFiles(folder: string, policy: string) {
  const files = new Map<string, (acceptsGzip: boolean) => HttpResponse>();
  return {
    /** @returns its path, which contains the hash of its content */
    add(ending: string, type: string, body: string | Uint8Array<ArrayBuffer>): string {
      const path = `${folder}${hash('sha256', body, 'base64url').slice(0, 16)}.${ending}`;
      const isText = typeof body === 'string';
      const headers = {
        'content-type': type,
        'content-security-policy': policy,
        'cache-control': 'public, max-age=31536000, immutable',
        'cross-origin-resource-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
        ...(isText && { vary: 'accept-encoding' }),
      };
      // A text holds no secret that its compressed length could reveal.
      let compressed: Uint8Array<ArrayBuffer> | undefined;
      files.set(path, (acceptsGzip) => {
        if (!isText || !acceptsGzip) return respond(200, headers, body);
        compressed ??= gzipSync(body);
        return respond(200, { ...headers, 'content-encoding': 'gzip' }, compressed);
      });
      return path;
    },
    /** @param encodings `Accept-Encoding` @returns `null`: there is no such file */
    respond: (path: string, encodings: string | null): HttpResponse | null =>
      files.get(path)?.(/\bgzip\b(?!\s*;\s*q=0)/.test(encodings ?? '')) ?? null,
  };
}
