/** How the program is spoken to: https by given files, plain http on this computer or behind a declared proxy only. */
import { unwatchFile, watchFile } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Answer, harden, hardenResponse, pathOf, respondError } from '@portcullis/http';
import type { Certificate, Handover, Listening, PeerHandler } from '@portcullis/http/node';
import { OAuthError } from '@portcullis/protocol';
import { reasonOf, SettingsError } from './faults.ts';
import type { Log } from './log.ts';
import type { Settings } from './settings/settings.ts';
import { titleOf } from './settings/table.ts';

/** Probes of the platform come in the clear, and learn nothing. */
const PROBES = ['/healthz', '/readyz'];

/**
 * Refuses what came in the clear, and hardens every answer. Authorization servers MUST NOT be spoken to over plain http.
 * @see OAuth 2.1 draft 13 §1.5
 */
export function secure(handler: PeerHandler, issuer: string): PeerHandler {
  const isHttps = issuer.startsWith('https:');
  const hardenAll = (answer: Answer | Handover): Answer | Handover => {
    if (!('application' in answer)) return harden(answer, isHttps);
    return { application: async (request) => hardenResponse(await answer.application(request), isHttps) };
  };
  return (asked, peer) => {
    const isRefused = peer.connection === 'plain' && !PROBES.includes(pathOf(asked));
    return (isRefused ? Promise.resolve(refusePlain()) : handler(asked, peer)).then(hardenAll);
  };
}

function refusePlain(): Answer {
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
): Promise<Certificate | null> {
  if (tlsCert === null || tlsKey === null) return null;
  const certificate = {
    cert: await readPem('tlsCert', tlsCert, folder),
    key: await readPem('tlsKey', tlsKey, folder),
  };
  try {
    process.getBuiltinModule('node:tls').createSecureContext(certificate);
    return certificate;
  } catch (cause) {
    throw new SettingsError(
      [`${titleOf('tlsCert')} and ${titleOf('tlsKey')} do not make a certificate: ${reasonOf(cause)}`],
      { cause },
    );
  }
}

async function readPem(name: 'tlsCert' | 'tlsKey', file: string, folder: string): Promise<string> {
  return readFile(resolve(folder, file), 'utf8').catch((cause: unknown) => {
    throw new SettingsError([`${titleOf(name)} is ${file}, which cannot be read: ${reasonOf(cause)}`], {
      cause,
    });
  });
}

/** Milliseconds between two looks at the files. */
const LOOK = 5_000;

/** Serves a renewed certificate as soon as its files fit together. The answer ends that. */
export function watchCertificate(
  settings: Settings,
  folder: string,
  door: Listening,
  log: Log,
  look: number = LOOK,
): () => void {
  const files = [settings.tlsCert, settings.tlsKey].flatMap((file) =>
    file === null ? [] : [resolve(folder, file)],
  );
  const renew = async () => {
    try {
      const certificate = await readCertificate(settings, folder);
      if (certificate !== null) door.replaceCertificate(certificate);
      log({ type: 'certificate.renewed' });
    } catch (error) {
      log({ type: 'certificate.not-renewed', reason: reasonOf(error) });
    }
  };
  for (const file of files) watchFile(file, { interval: look, persistent: false }, () => void renew());
  return () => {
    for (const file of files) unwatchFile(file);
  };
}
