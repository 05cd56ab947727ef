/** Runs the examination: follows a client's steps, records every exchange, and builds the report. */
import { type ClientEvent, type CredentialStore, createMemoryStore, readServerUrl } from '@portcullis/client';
import {
  createGuardedFetch,
  createNodeClient,
  type NodeClientOptions,
  toClientError,
} from '@portcullis/client/node';
import { createMessageEndpoint } from '../client/transport/message-endpoint.ts';
import type { ExaminationContext } from './examination-context.ts';
import { readGatewayHealth, reportGatewayHealth } from './gateway-health.ts';
import { isServerMetadata, partyIn } from './read-exchanges.ts';
import { createRecorder } from './recorder.ts';
import { removeRegisteredClients, trackRegistrations } from './registered-clients.ts';
import type { Report, StepName } from './report.ts';
import { createReportBuilder, ExaminationStopped } from './report-builder.ts';
import {
  examineAuthorization,
  examineCall,
  examineDiscovery,
  examineRequest,
  examineTokens,
} from './steps.ts';

export interface ExaminationOptions {
  /** Options of the client. Credentials are kept in memory only. */
  readonly client: NodeClientOptions;
  /** Continues past the point where a user has to sign in. */
  readonly signIn: boolean;
  readonly version: string;
  /** Called when a step starts. */
  readonly begin?: (step: StepName) => void;
}

/** Limits for authorization server documents: milliseconds and bytes. */
const LIMITS = { timeout: 15_000, maxBytes: 262_144 };

/** @throws ClientError if the client options are invalid */
export async function examine(options: ExaminationOptions): Promise<Report> {
  const registered = trackRegistrations(createMemoryStore());
  const context = prepare(options, registered.store);
  try {
    await runSteps(context, options.signIn);
  } catch (error) {
    if (!(error instanceof ExaminationStopped)) throw error;
  } finally {
    if (options.signIn) await context.client.signOut();
    context.report.addDecisions(...(await removeRegisteredClients(registered, context.oauthFetch)));
  }
  return {
    ...{ server: context.server, at: new Date().toISOString() },
    ...context.report.report(options.signIn),
    exchanges: context.recorder.exchanges,
  };
}

function prepare(
  { client: options, version, begin }: ExaminationOptions,
  store: CredentialStore,
): ExaminationContext {
  const server = readServerUrl(options.serverUrl);
  const report = createReportBuilder(options.revision, (step) => begin?.(step));
  const { isCurrent: sendTokenTo, accept: acceptEndpoint } = createMessageEndpoint();
  const partyOf = partyIn(server, sendTokenTo);
  const recorder = createRecorder(partyOf, ({ href }) =>
    report.current() === 'resource metadata' && isServerMetadata(href)
      ? 'authorization server'
      : report.current(),
  );
  const fetch = recorder.record(options.fetch ?? globalThis.fetch);
  const { trustedOrigins = [] } = options;
  const oauthFetch = recorder.record(
    options.oauthFetch ?? createGuardedFetch({ serverUrl: server, trustedOrigins, ...LIMITS }),
  );
  const events: ClientEvent[] = [];
  const client = createNodeClient({
    ...{ sendTokenTo, ...options },
    ...{ store, fetch, oauthFetch, mapFetchError: toClientError },
    onEvent(event) {
      events.push(event);
      options.onEvent?.(event);
    },
  });
  return { server, client, options, events, fetch, oauthFetch, acceptEndpoint, recorder, report, version };
}

async function runSteps(context: ExaminationContext, isSignedIn: boolean): Promise<void> {
  const announced = await examineRequest(context);
  const discovery = await examineDiscovery(context, announced);
  await examineAuthorization(context, discovery);
  const health = await readGatewayHealth(context);
  if (!isSignedIn) return reportGatewayHealth(context, health);
  await examineTokens(context, discovery);
  await examineCall(context, discovery, health !== 'none');
}
