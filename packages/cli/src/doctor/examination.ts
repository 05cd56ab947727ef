/** Shared state of the examination's steps: a client with recorded requests, and the report. */
import { type ClientEvent, type CredentialStore, readServerUrl } from '@portcullis/client';
import { createNodeClient, type NodeClientOptions } from '@portcullis/client/node';
import { createFetches } from '../client/fetches.ts';
import { createMessageEndpoint } from '../client/transport/message-endpoint.ts';
import { createRecorder } from './recorder.ts';
import { createReportBuilder } from './report-builder.ts';

export interface ExaminationOptions {
  /** Options of the client. Credentials are stored in memory only. */
  readonly client: NodeClientOptions;
  /** Continues past the point where a user has to sign in. */
  readonly signIn: boolean;
  readonly version: string;
}

/** What the steps share. */
export type ExaminationContext = ReturnType<typeof createExamination>;

/** @throws ClientError if the client options are invalid */
export function createExamination(
  { client: options, signIn: isSignedIn, version }: ExaminationOptions,
  store: CredentialStore,
) {
  const server = readServerUrl(options.serverUrl);
  const report = createReportBuilder(options.revision, isSignedIn);
  const recorder = createRecorder(report.current);
  const { trustedOrigins = [] } = options;
  const fetches = { ...createFetches({ serverUrl: server, trustedOrigins, environment: {} }), ...options };
  const fetch = recorder.record(fetches.fetch);
  const oauthFetch = recorder.record(fetches.oauthFetch);
  const { isCurrent: sendTokenTo, accept: acceptEndpoint } = createMessageEndpoint();
  const events: ClientEvent[] = [];
  const client = createNodeClient({
    sendTokenTo,
    ...fetches,
    ...{ store, fetch, oauthFetch },
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
