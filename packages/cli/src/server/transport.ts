/** How the program is spoken to: https by given files, plain http on this computer or behind a declared proxy only. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import {
  addSecurityHeaders,
  type HttpResponse,
  pathOf,
  respondError,
  withSecurityHeaders,
} from '@portcullis/http';
import type { FetchDelegate, HttpHandler, ListeningServer, TlsCertificate } from '@portcullis/http/node';
import { OAuthError } from '@portcullis/protocol';
import { collectIssues, reasonOf, SettingsError } from '../errors.ts';
import type { Settings } from '../settings/schema.ts';
import { type NameOf, titleOf } from '../settings/schema.ts';
import type { Log } from './log.ts';

/** Probes of the platform come in the clear, and learn nothing. */
const PROBES = ['/healthz', '/readyz'];

/**
 * Refuses what came in the clear, and hardens every answer. Authorization servers MUST NOT be spoken to over plain http.
 * @see OAuth 2.1 draft 13 §1.5
 */
export function secure(handler: HttpHandler, issuer: string): HttpHandler {
  const isHttps = issuer.startsWith('https:');
  const hardenAll = (answer: HttpResponse | FetchDelegate): HttpResponse | FetchDelegate => {
    if (!('fetch' in answer)) return withSecurityHeaders(answer, isHttps);
    return { fetch: async (request) => addSecurityHeaders(await answer.fetch(request), isHttps) };
  };
  return (asked, connection) => {
    const isRefused = connection.security === 'cleartext' && !PROBES.includes(pathOf(asked));
    return (isRefused ? Promise.resolve(refusePlain()) : handler(asked, connection)).then(hardenAll);
  };
}

function refusePlain(): HttpResponse {
  return respondError(
    new OAuthError('invalid_request', 'Use https: this connection is not protected.', { status: 403 }),
  );
}

/**
 * The certificate of the settings, `null` when there is none.
 * @throws SettingsError naming the setting
 */
export async function readCertificate(
  { tlsCert, tlsKey }: Settings,
  folder: string,
  nameOf: NameOf = titleOf,
): Promise<TlsCertificate | null> {
  if (tlsCert === null || tlsKey === null) return null;
  const issues: string[] = [];
  const [cert, key] = await Promise.all([
    collectIssues(issues, () => readPem(nameOf('tlsCert'), tlsCert, folder)),
    collectIssues(issues, () => readPem(nameOf('tlsKey'), tlsKey, folder)),
  ]);
  if (cert === null || key === null) throw new SettingsError(issues);
  const certificate = { cert, key };
  try {
    process.getBuiltinModule('node:tls').createSecureContext(certificate);
    return certificate;
  } catch (cause) {
    throw new SettingsError(
      [`${nameOf('tlsCert')} and ${nameOf('tlsKey')} do not make a certificate: ${reasonOf(cause)}`],
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

/** Milliseconds between two looks at the files. */
const LOOK = 5_000;

/**
 * Serves a renewed certificate as soon as its files fit together, and tells each fault of them once. What they hold is looked at, not
 * when they changed: a change that came before the first look is none to any watcher. The answer ends that.
 * @param served what the door proves itself by at the beginning
 */
export function watchCertificate(
  settings: Settings,
  folder: string,
  served: TlsCertificate,
  door: ListeningServer,
  log: Log,
  look: number = LOOK,
): () => void {
  /** What was found at the last look: a certificate, or what is wrong with the files. */
  let found = textOf(served);
  let timer = setTimeout(check, look).unref();
  let isOver = false;

  async function check(): Promise<void> {
    await renew();
    if (!isOver) timer = setTimeout(check, look).unref();
  }

  async function renew(): Promise<void> {
    try {
      const certificate = await readCertificate(settings, folder);
      if (certificate === null || isKnown(textOf(certificate))) return;
      door.replaceCertificate(certificate);
      log({ type: 'certificate.renewed' });
    } catch (error) {
      const reason = reasonOf(error);
      if (!isKnown(reason)) log({ type: 'certificate.not-renewed', reason });
    }
  }

  function isKnown(now: string): boolean {
    const before = found;
    found = now;
    return isOver || before === now;
  }

  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

function textOf({ cert, key }: TlsCertificate): string {
  return cert + key;
}
