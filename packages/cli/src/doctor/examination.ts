/** Shared state of the examination's steps: a client with recorded requests, and the report. */
import { type ClientEvent, type CredentialStore, readServerUrl } from '@portcullis/client';
import {
  createGuardedFetch,
  createNodeClient,
  type NodeClientOptions,
  toClientError,
} from '@portcullis/client/node';
import { createMessageEndpoint } from '../client/transport/message-endpoint.ts';
import { isServerMetadata, partyIn } from './read-exchanges.ts';
import { createRecorder } from './recorder.ts';
import type { StepName } from './report.ts';
import { createReportBuilder } from './report-builder.ts';

export interface ExaminationOptions {
  /** Options of the client. Credentials are stored in memory only. */
  readonly client: NodeClientOptions;
  /** Continues past the point where a user has to sign in. */
  readonly signIn: boolean;
  readonly version: string;
  /** Called when a step starts. */
  readonly begin?: (step: StepName) => void;
}

export type ExaminationContext = ReturnType<typeof createExamination>;

/** Limits for authorization server documents: milliseconds and bytes. */
const LIMITS = { timeout: 15_000, maxBytes: 262_144 };

/** @throws ClientError if the client options are invalid */
export function createExamination(
  { client: options, version, begin }: ExaminationOptions,
  store: CredentialStore,
) {
  const server = readServerUrl(options.serverUrl);
  const report = createReportBuilder(options.revision, (step) => begin?.(step));
  const { isCurrent: sendTokenTo, accept: acceptEndpoint } = createMessageEndpoint();
  const recorder = createRecorder(partyIn(server, sendTokenTo), ({ href }) =>
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
    sendTokenTo,
    ...options,
    store,
    fetch,
    oauthFetch,
    mapFetchError: toClientError,
    onEvent(event) {
      events.push(event);
      options.onEvent?.(event);
    },
  });
  return {
    ...{ server, client, options, recorder, report, version },
    /** Of the client so far. */
    events: events as readonly ClientEvent[],
    /** For requests to the server. */
    fetch,
    /** For requests to authorization servers. */
    oauthFetch,
    /** Allows the token to be sent to the message endpoint of an HTTP+SSE server. */
    acceptEndpoint,
  };
}
