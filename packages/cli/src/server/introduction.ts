/** Output of a started server: the banner, the run file, and problems with its addresses. */
import { redirectUriOf } from '@portcullis/authorization-server';
import { isLoopbackHost } from '@portcullis/protocol';
import type { ProcessContext } from '../process-context.ts';
import type { Settings } from '../settings/schema.ts';
import type { Composition } from './compose.ts';
import { checkEgress } from './egress.ts';
import type { Log } from './log.ts';
import { keyFileOf } from './master-key.ts';
import type { Parts } from './parts.ts';
import type { Started } from './processes/messages.ts';
import { processCount } from './processes/process-count.ts';
import type { RunningServer } from './run-file.ts';
import { checkSelf } from './self-check.ts';
import { type Callback, type FirstAccount, startupBanner } from './startup-banner.ts';
import { locationOf } from './storage.ts';

interface StartFacts {
  readonly parts: Parts;
  readonly composition: Composition;
  readonly firstAccount: FirstAccount;
  readonly port: number;
  /** The source of the master key. */
  readonly key: string;
}

export function describeStart(
  { parts, composition, firstAccount, port, key }: StartFacts,
  processContext: ProcessContext,
): Started {
  const { prepared, issuer, storage, log } = parts;
  const { settings, identityProviders } = prepared;
  const { origin } = new URL(issuer);
  const callbacks = identityProviders.map(
    ({ id, name, backChannelLogout }): Callback => ({
      name,
      redirectUri: redirectUriOf(issuer, id),
      logoutUrl: backChannelLogout === null ? null : `${origin}/back-channel-logout/${id}`,
    }),
  );
  const processes = processCount(settings);
  const facts = {
    url: origin,
    address: `${settings.host}, port ${port}${processes > 1 ? `, ${processes} processes` : ''}`,
    servers: composition.servers,
    documents: composition.documents,
    callbacks,
    console: settings.admin === null ? null : `${origin}/admin`,
    database: storage.location,
    key,
    firstAccount,
  };
  // Programs that read the JSON log need not parse the banner.
  if (settings.log === 'json') {
    for (const { name, redirectUri } of callbacks)
      log({ type: 'identity_provider.configured', name, redirectUri });
  }
  const running = describeRunning(parts, port, processContext.folder);
  return { banner: startupBanner(facts, processContext), running };
}

/** Runs in the background: it neither delays nor fails the start. Without a public URL there is no proxy to check. */
export function reportAddresses(
  { prepared: { settings }, issuer, log }: Parts,
  composition: Composition,
  processContext: ProcessContext,
): void {
  if (settings.publicUrl === null) return;
  void reportSelf(composition, issuer, processContext, log);
  if (!isLoopbackHost(new URL(issuer).hostname)) void reportEgress(settings, processContext, log);
}

/** The run file entry with which commands in other folders find this server. */
function describeRunning(
  { prepared: { settings, configFile: config }, issuer }: Pick<Parts, 'prepared' | 'issuer'>,
  port: number,
  folder: string,
): RunningServer {
  return {
    pid: process.pid,
    host: settings.host,
    port,
    url: issuer,
    database: locationOf(settings, folder),
    folder,
    config,
    keyFile: keyFileOf(settings, folder),
  };
}

async function reportSelf(
  { servers, documents }: Composition,
  issuer: string,
  { complain }: ProcessContext,
  log: Log,
): Promise<void> {
  const own = servers.filter(({ isOwn }) => isOwn);
  const resources = own.map(({ url }) => url);
  const publicResources = own.flatMap(({ url, hasPublicOperations }) => (hasPublicOperations ? [url] : []));
  // Among the lines of a healthy start, the rejected requests would look like errors.
  log({ type: 'self_check.started', expected: 'rejected requests, of this server itself' });
  const issues = await checkSelf({ issuer, resources, publicResources, documents });
  log({ type: issues.length === 0 ? 'self_check.passed' : 'self_check.failed', count: issues.length });
  for (const issue of issues) complain(`self-check: ${issue}`);
}

async function reportEgress(settings: Settings, { complain }: ProcessContext, log: Log): Promise<void> {
  const issue = await checkEgress(settings);
  log({ type: issue === null ? 'egress_check.passed' : 'egress_check.failed' });
  if (issue !== null) complain(`egress: ${issue}`);
}
