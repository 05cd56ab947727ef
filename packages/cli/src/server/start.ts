/** Starts the program: first the listener, then the store, then everything else; stops in reverse order. */
import { redirectUriOf } from '@portcullis/authorization-server';
import { type HttpHandler, type ListeningServer, listen, type TlsCertificate } from '@portcullis/http/node';
import { isLoopbackHost } from '@portcullis/protocol';
import { reasonOf, SettingsError } from '../errors.ts';
import type { ProcessContext } from '../process-context.ts';
import { flagOf, type NameOf, type Settings } from '../settings/schema.ts';
import { watchClock } from './clock-skew.ts';
import { type Composition, compose } from './compose.ts';
import { checkEgress } from './egress.ts';
import { createLineBatch } from './line-batch.ts';
import { createLog, type Log } from './log.ts';
import { createLogOutput, survive } from './log-output.ts';
import { findMasterKey, findPreviousKeys, keyFileOf } from './master-key.ts';
import { createDatabaseMetrics } from './metrics/database-metrics.ts';
import type { Parts } from './parts.ts';
import type { Prepared } from './prepare.ts';
import { type RunningServer, writeRunFile } from './run-file.ts';
import { checkSelf } from './self-check.ts';
import { type Callback, type FirstAccount, startupBanner } from './startup-banner.ts';
import { locationOf, openStorage } from './storage.ts';
import { startSweeping } from './sweep-expired.ts';
import { readCertificate, secure, watchCertificate } from './transport.ts';

export interface Running {
  /** Is not ready for `milliseconds` but serves: load balancers notice. At once where none asks for readiness. */
  drain(milliseconds: number): Promise<void>;
  /** @see Composition.replaceServers */
  readonly replaceServers: Composition['replaceServers'];
  readonly log: Log;
  /** Accepts no new connections, lets requests finish within `grace` milliseconds, and closes everything. */
  stop(grace: number): Promise<void>;
}

/**
 * Starts everything and prints the startup banner.
 * @throws SettingsError naming the setting; nothing is left open
 */
export async function start(prepared: Prepared, processContext: ProcessContext): Promise<Running> {
  const { settings, nameOf } = prepared;
  survive(processContext.streams.errors);
  const output = createLogOutput(processContext.streams.output, (dropped) =>
    log({ type: 'log.recovered', dropped }),
  );
  const lines = createLineBatch(output.write);
  const log = createLog(settings.log, lines.add);
  for (const warning of findWarnings(settings, nameOf)) processContext.complain(warning);
  await using opened = new AsyncDisposableStack();
  opened.defer(() => lines.end());

  // The listener comes before the store: the port may be part of the issuer, and a port in use must leave no trace.
  const composed = Promise.withResolvers<HttpHandler>();
  const certificate = await readCertificate(settings, processContext.folder, nameOf);
  let handler: HttpHandler = async (request, connection) => (await composed.promise)(request, connection);
  const listener = await bind(prepared, certificate, log, (request, connection) =>
    handler(request, connection),
  );
  opened.defer(async () => void (await listener.close(0)));

  if (certificate !== null) {
    opened.defer(watchCertificate(settings, processContext.folder, certificate, listener, log));
  }

  const databaseMetrics = createDatabaseMetrics();
  const opening = await openStorage(settings, processContext.folder, nameOf, databaseMetrics.pool);
  const storage = { ...opening, store: databaseMetrics.measure(opening.store) };
  opened.defer(() => storage.store.close());
  opened.defer(startSweeping(opening.store, log, databaseMetrics.sweeps));
  opened.defer(watchClock(opening.store, log, databaseMetrics.clockSkew));
  const key = await findMasterKey(settings, processContext, storage.store, nameOf);
  if (key.warning !== null) processContext.complain(key.warning);

  const issuer =
    settings.publicUrl ?? `${certificate === null ? 'http' : 'https'}://localhost:${listener.port}`;
  const previousMasterKeys = await findPreviousKeys(settings, processContext.folder, nameOf);
  const parts = {
    prepared,
    issuer,
    masterKey: key.bytes,
    previousMasterKeys,
    storage,
    log,
    droppedLines: output.dropped,
    databaseMetrics,
  };
  const composition = await compose(parts);
  opened.defer(() => composition.close());
  const firstAccount = await createFirstAccount(prepared, composition);
  handler = secure(composition.handle, issuer);
  composed.resolve(handler);

  const callbacks = callbacksOf(prepared, issuer);
  const text = startupBanner(
    {
      version: processContext.version,
      command: processContext.command,
      launch: processContext.launch,
      url: new URL(issuer).origin,
      address: `${settings.host}, port ${listener.port}`,
      servers: composition.servers,
      documents: composition.documents,
      callbacks,
      database: storage.place,
      key: key.place,
      firstAccount,
    },
    processContext.styled,
  );
  // Programs that read the JSON log need not parse the banner.
  if (settings.log === 'json') {
    for (const { name, redirectUri } of callbacks)
      log({ type: 'identity_provider.configured', name, redirectUri });
  }
  opened.defer(
    await writeRunFile(
      describeRunning(parts, listener.port, processContext.folder),
      processContext.environment,
    ),
  );
  lines.flush();
  output.write(text);

  // Runs in the background: it neither delays nor fails the start. Without a public URL there is no proxy to check.
  if (settings.publicUrl !== null) {
    void reportSelf(composition, issuer, processContext, log);
    if (!isLoopbackHost(new URL(issuer).hostname)) void reportEgress(settings, processContext, log);
  }

  const everything = opened.move();
  return {
    drain: composition.drain,
    replaceServers: composition.replaceServers,
    log,
    async stop(grace) {
      await listener.close(grace);
      await everything.disposeAsync();
    },
  };
}

/** What commands in other folders need to find this server. */
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

function callbacksOf({ identityProviders }: Prepared, issuer: string): readonly Callback[] {
  return identityProviders.map(({ id, name }) => ({ name, redirectUri: redirectUriOf(issuer, id) }));
}

async function reportSelf(
  { servers, documents }: Composition,
  issuer: string,
  { complain }: ProcessContext,
  log: Log,
): Promise<void> {
  const resource = servers.find(({ isOwn }) => isOwn)?.url ?? null;
  const issues = await checkSelf({ issuer, resource, documents });
  log({ type: issues.length === 0 ? 'self_check.passed' : 'self_check.failed', count: issues.length });
  for (const issue of issues) complain(`self-check: ${issue}`);
}

async function reportEgress(settings: Settings, { complain }: ProcessContext, log: Log): Promise<void> {
  const issue = await checkEgress(settings);
  log({ type: issue === null ? 'egress_check.passed' : 'egress_check.failed' });
  if (issue !== null) complain(`egress: ${issue}`);
}

/** Creates the first account from the settings, or a link with which a user creates it. */
async function createFirstAccount(
  {
    settings: { bootstrapEmail: email, bootstrapPassword: password, externalUi, ...settings },
    identityProviders,
    nameOf,
  }: Prepared,
  { authorizationServer }: Composition,
): Promise<FirstAccount> {
  if (externalUi?.loginUrl !== undefined) return { state: 'elsewhere', names: [externalUi.loginUrl] };
  if (!settings.localAccounts) {
    return { state: 'elsewhere', names: identityProviders.map(({ name }) => name) };
  }
  if (email === null || password === null) {
    const link = await authorizationServer.setupLink();
    return link === null ? { state: 'there' } : { state: 'awaited', link };
  }
  if ((await authorizationServer.bootstrap(email, password)) === 'created') return { state: 'made' };
  const unused = `${nameOf('bootstrapEmail')} and ${nameOf('bootstrapPassword')}`;
  return { state: 'there already', unused };
}

async function bind(
  { settings: { port, host, trustedProxies }, nameOf }: Prepared,
  certificate: TlsCertificate | null,
  log: Log,
  handler: HttpHandler,
): Promise<ListeningServer> {
  try {
    return await listen(handler, {
      port,
      host,
      trustedProxies,
      ...(certificate !== null && { certificate }),
      onError: (error) => log({ type: 'request.failed', reason: reasonOf(error) }),
    });
  } catch (cause) {
    throw new SettingsError([addressIssue({ port, host }, nameOf, cause)], { cause });
  }
}

function addressIssue(
  { port, host }: Pick<Settings, 'port' | 'host'>,
  nameOf: Prepared['nameOf'],
  cause: unknown,
): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'EADDRINUSE') {
    const advice = `choose another with ${flagOf('port')}, or 0 for any free one`;
    return `${nameOf('port')} is ${port}, which another program uses on ${host}: ${advice}`;
  }
  if (code === 'EACCES') return `${nameOf('port')} is ${port}, which this user may not listen on`;
  return `${nameOf('host')} is ${host}, which cannot be listened on: ${reasonOf(cause)}`;
}

const DAY = 86_400;

/** Returns warnings about settings that are valid but probably not intended. */
export function findWarnings(
  { lifetimes: { accessToken } }: Pick<Settings, 'lifetimes'>,
  nameOf: NameOf,
): readonly string[] {
  if (accessToken <= DAY) return [];
  const days = Math.round(accessToken / DAY);
  return [
    `${nameOf('lifetimes', ['accessToken'])} is ${accessToken} seconds, about ${days} ${days === 1 ? 'day' : 'days'}: for that long, guards that verify only signatures accept revoked tokens; 600 are 10 minutes`,
  ];
}
