/** Starts the program: first the listener, then the store, then everything else; stops in reverse order. */
import { type HttpHandler, type ListeningServer, listen, type TlsCertificate } from '@portcullis/http/node';
import { codeOf, reasonOf, SettingsError } from '../errors.ts';
import type { ProcessContext } from '../process-context.ts';
import { flagOf, issuerAt, type NameOf, type Settings } from '../settings/schema.ts';
import { requireCommands, tryUrls } from './backend-check.ts';
import { watchClock } from './clock-skew.ts';
import { type Composition, compose } from './compose.ts';
import { loadDecisionPoint } from './decision-point.ts';
import { startDelivery } from './delivery.ts';
import { createEndedGrants } from './ended-grants.ts';
import { describeStart, reportAddresses } from './introduction.ts';
import { createLineBatch, inPieces } from './line-batch.ts';
import { createLog, type Log } from './log.ts';
import { createLogOutput, survive } from './log-output.ts';
import { findMasterKey, findPreviousKeys } from './master-key.ts';
import { createComponentMetrics } from './metrics/component-metrics.ts';
import type { Parts } from './parts.ts';
import type { Prepared } from './prepare.ts';
import type { Membership } from './processes/membership.ts';
import { writeRunFile } from './run-file.ts';
import type { FirstAccount } from './startup-banner.ts';
import { openStorage } from './storage.ts';
import { startSweeping } from './sweep-expired.ts';
import { loadTelemetry } from './telemetry/load-telemetry.ts';
import { readCertificate, secure, watchCertificate } from './transport.ts';

export type Running = Awaited<ReturnType<typeof start>>;

/**
 * Starts everything and prints the startup banner, or passes it to the process that started this one.
 * @throws SettingsError naming the setting; nothing is left open
 */
export async function start(
  prepared: Prepared,
  processContext: ProcessContext,
  membership: Membership | null = null,
) {
  const { settings, nameOf } = prepared;
  /** In a multi-process server, the first process does the shared checks and reports. */
  const isFirst = membership?.slot.isFirst ?? true;
  const complain = isFirst ? processContext.complain : () => {};
  survive(processContext.streams.errors);
  const output = createLogOutput(processContext.streams.output, (dropped) =>
    log({ type: 'log.recovered', dropped }),
  );
  const lines = createLineBatch(membership === null ? output.write : inPieces(output.write));
  const log = createLog(settings.log, lines.add);
  for (const warning of prepared.warnings) complain(warning);
  await using opened = new AsyncDisposableStack();
  opened.defer(() => lines.end());

  // The listener comes before the store: the port may be part of the issuer, and a port in use must leave no trace.
  const composed = Promise.withResolvers<HttpHandler>();
  const certificate = await readCertificate(settings, processContext.folder, nameOf);
  let handler: HttpHandler = async (request, connection) => (await composed.promise)(request, connection);
  const listenNow = async (port: number) => {
    const listening = await bind(
      { ...prepared, settings: { ...settings, port } },
      certificate,
      log,
      (request, connection) => handler(request, connection),
    );
    opened.defer(async () => void (await listening.close(0)));
    if (certificate !== null) {
      opened.defer(watchCertificate(settings, processContext.folder, certificate, listening, log));
    }
    return listening;
  };
  const wanted = membership?.slot.port ?? settings.port;
  const early = isFirst ? await listenNow(wanted) : null;
  const port = early?.port ?? wanted;

  const metrics = createComponentMetrics();
  const telemetry = await loadTelemetry(settings, { log, metrics }, nameOf);
  opened.defer(async () => telemetry?.stop());
  const { database } = metrics;
  const opening = await openStorage(settings, processContext.folder, nameOf, database.pool);
  const storage = { ...opening, store: database.measure(opening.store) };
  opened.defer(() => storage.store.close());
  opened.defer(startSweeping(opening.store, log, database.sweeps));
  opened.defer(watchClock(opening.store, log, database.clockSkew));
  const key = await findMasterKey(settings, processContext, storage.store, nameOf);

  const issuer = issuerAt(port, settings);
  const previousKeys = await findPreviousKeys(settings, processContext.folder, nameOf);
  const parts = {
    prepared,
    issuer,
    masterKey: key.bytes,
    previousMasterKeys: previousKeys.map(({ bytes }) => bytes),
    storage,
    endedGrants: createEndedGrants(storage.store),
    log,
    droppedLines: output.dropped,
    metrics,
    decisionPoint: await loadDecisionPoint(settings),
    membership,
  };
  const composition = await compose(parts);
  opened.defer(() => composition.close());
  telemetry?.sendMetrics(composition.metrics);
  await startDeliveries(parts, composition, opened);
  const required = isFirst && processContext.requiresBackends === true ? prepared.serversAt(issuer) : [];
  await requireCommands(required, complain);
  const firstAccount = isFirst ? await createFirstAccount(prepared, composition) : null;
  handler = secure(composition.handle, issuer);
  composed.resolve(handler);
  await tryUrls(required, complain);
  // Each further process accepts connections only when it can serve them.
  const listener = early ?? (await listenNow(port));
  const started =
    firstAccount === null
      ? null
      : describeStart(
          { parts, composition, firstAccount, port: listener.port, key: key.location },
          processContext,
        );
  lines.flush();
  if (membership !== null) membership.reportReady(started);
  else if (started !== null) await announce(started, processContext, output.write, opened);
  if (isFirst) reportAddresses(parts, composition, processContext);

  return {
    ...createStop(listener, composition, opened.move()),
    replaceServers: composition.replaceServers,
    log,
  };
}

function createStop(
  listener: Awaited<ReturnType<typeof bind>>,
  composition: Awaited<ReturnType<typeof compose>>,
  everything: AsyncDisposableStack,
) {
  return {
    /**
     * Stays unready for `milliseconds` while serving: load balancers notice. Immediate if none probes readiness. Each response closes
     * its connection from now on.
     */
    drain(milliseconds: number): Promise<void> {
      listener.closeAfterResponses();
      return composition.drain(milliseconds);
    },
    /** Accepts no new connections, lets requests finish within `grace` milliseconds, and closes everything. @see ListeningServer.close */
    async stop(grace: number, idle?: 'kept'): Promise<void> {
      await listener.close(grace, idle);
      await everything.disposeAsync();
    },
  };
}

/** Writes the run file, which commands in other folders find, and prints the startup banner. */
async function announce(
  { running, banner }: ReturnType<typeof describeStart>,
  { environment }: ProcessContext,
  print: (text: string) => void,
  opened: AsyncDisposableStack,
): Promise<void> {
  opened.defer(await writeRunFile(running, environment));
  print(banner);
}

/** Starts what sends events and messages in the background. */
async function startDeliveries(
  parts: Parts,
  composition: Composition,
  opened: AsyncDisposableStack,
): Promise<void> {
  const { settings } = parts.prepared;
  if (settings.webhooks.length + settings.eventExports.length > 0) {
    const { startWebhooks } = await import('./webhooks.ts');
    opened.defer(await startWebhooks(parts, composition));
  }
  const { transmitter } = composition;
  if (transmitter !== null) opened.defer(startDelivery(() => transmitter.push));
  if (settings.mail !== null) {
    const { startMail } = await import('./mail.ts');
    opened.defer(startMail(settings.mail, parts, composition));
  }
}

/** Creates the first account from the settings, or a one-time link that creates it. */
async function createFirstAccount(
  { settings, identityProviders, nameOf }: Prepared,
  { authorizationServer }: Composition,
): Promise<FirstAccount> {
  const { bootstrapEmail: email, bootstrapPassword: password, localAccounts } = settings;
  if (!localAccounts) return { state: 'elsewhere', names: identityProviders.map(({ name }) => name) };
  if (email === null || password === null) {
    const link = await authorizationServer.setupLink();
    return link === null ? { state: 'there' } : { state: 'awaited', link };
  }
  if ((await authorizationServer.bootstrap(email, password)) === 'created') return { state: 'made' };
  const unused = `${nameOf('bootstrapEmail')} and ${nameOf('bootstrapPassword')}`;
  return { state: 'there already', unused };
}

/** Listens at the configured address. @throws SettingsError naming the setting */
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
  nameOf: NameOf,
  cause: unknown,
): string {
  const code = codeOf(cause);
  if (code === 'EADDRINUSE') {
    const advice = `choose another with ${flagOf('port')}, or 0 for any free one`;
    return `${nameOf('port')} is ${port}, which another program uses on ${host}: ${advice}`;
  }
  if (code === 'EACCES') return `${nameOf('port')} is ${port}, which this user may not listen on`;
  return `${nameOf('host')} is ${host}, which cannot be listened on: ${reasonOf(cause)}`;
}
