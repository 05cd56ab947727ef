/** Transport security: https with certificate files; plain http only on this computer or behind a trusted proxy. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import {
  addSecurityHeaders,
  type HttpResponse,
  pathOf,
  respondError,
  withSecurityHeaders,
} from '@portcullis/http';
import type {
  FetchDelegate,
  HttpHandler,
  ListeningServer,
  NodeDelegate,
  TlsCertificate,
} from '@portcullis/http/node';
import { OAuthError } from '@portcullis/protocol';
import { collectIssues, reasonOf, SettingsError } from '../errors.ts';
import type { Settings } from '../settings/schema.ts';
import { type NameOf, titleOf } from '../settings/schema.ts';
import type { Log } from './log.ts';
import { repeat } from './repeat.ts';

/** Health checks: platforms send them in cleartext, and they reveal nothing. */
const PROBES = ['/healthz', '/readyz'];

/**
 * Rejects cleartext requests and adds security headers to every response. "Implementations MUST use TLS."
 * @see OAuth 2.1 draft 13 §1.5 @see RFC 6749 §3.1
 */
export function secure(handler: HttpHandler, issuer: string): HttpHandler {
  const isHttps = issuer.startsWith('https:');
  const hardenAll = (
    response: HttpResponse | FetchDelegate | NodeDelegate,
  ): HttpResponse | FetchDelegate | NodeDelegate => {
    // The gateway adds them itself.
    if ('node' in response) return response;
    if (!('fetch' in response)) return withSecurityHeaders(response, isHttps);
    return { fetch: async (request) => addSecurityHeaders(await response.fetch(request), isHttps) };
  };
  return (request, connection) => {
    const isRefused = connection.security === 'cleartext' && !PROBES.includes(pathOf(request));
    return (isRefused ? Promise.resolve(rejectCleartext()) : handler(request, connection)).then(hardenAll);
  };
}

function rejectCleartext(): HttpResponse {
  return respondError(
    new OAuthError('invalid_request', 'Use https: this connection is not encrypted.', { status: 403 }),
  );
}

/**
 * Reads the configured certificate; `null` if there is none.
 * @throws SettingsError naming the setting
 */
export async function readCertificate(
  { tlsCert, tlsKey }: Settings,
  folder: string,
  nameOf: NameOf = titleOf,
): Promise<TlsCertificate | null> {
  if (tlsCert === null || tlsKey === null) return null;
  const issues: string[] = [];
  // Sequential, for a deterministic order of issues.
  const cert = await collectIssues(issues, () => readPem(nameOf('tlsCert'), tlsCert, folder));
  const key = await collectIssues(issues, () => readPem(nameOf('tlsKey'), tlsKey, folder));
  if (cert === null || key === null) throw new SettingsError(issues);
  const certificate = { cert, key };
  try {
    process.getBuiltinModule('node:tls').createSecureContext(certificate);
    return certificate;
  } catch (cause) {
    throw new SettingsError(
      [`${nameOf('tlsCert')} and ${nameOf('tlsKey')} do not form a certificate: ${reasonOf(cause)}`],
      { cause },
    );
  }
}

async function readPem(title: string, file: string, folder: string): Promise<string> {
  return readFile(resolve(folder, file), 'utf8').catch((cause: unknown) => {
    throw new SettingsError([`${title} is ${file}, which cannot be read: ${reasonOf(cause)}`], {
      cause,
    });
  });
}

/** Milliseconds between checks of the files. */
const POLL_INTERVAL = 5_000;

/**
 * Serves a renewed certificate as soon as its files match, and logs each error once. It compares contents, not times: a change
 * before the first check is not visible to a watcher.
 * @param served the certificate in use
 * @returns a function that stops watching
 */
export function watchCertificate(
  settings: Settings,
  folder: string,
  served: TlsCertificate,
  listener: ListeningServer,
  log: Log,
  pollInterval: number = POLL_INTERVAL,
): () => Promise<void> {
  /** The last result: a certificate or an error. */
  let found = textOf(served);
  return repeat(pollInterval, renew);

  async function renew(): Promise<void> {
    try {
      const certificate = await readCertificate(settings, folder);
      if (certificate === null || isKnown(textOf(certificate))) return;
      listener.replaceCertificate(certificate);
      log({ type: 'certificate.renewed' });
    } catch (error) {
      const reason = reasonOf(error);
      if (!isKnown(reason)) log({ type: 'certificate.renewal_failed', reason });
    }
  }

  function isKnown(now: string): boolean {
    const before = found;
    found = now;
    return before === now;
  }
}

function textOf({ cert, key }: TlsCertificate): string {
  return cert + key;
}
