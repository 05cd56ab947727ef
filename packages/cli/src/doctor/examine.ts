/** The examination: goes the way of a client step by step, writes everything down, and judges it. */
import { type ClientEvent, type CredentialStore, createMemoryStore, readServerUrl } from '@portcullis/client';
import {
  createGuardedFetch,
  createNodeClient,
  type NodeClientOptions,
  toClientError,
} from '@portcullis/client/node';
import { noteRegistrations, removeRegistered } from './leaving.ts';
import { createNotebook, Ended } from './notebook.ts';
import { isServerMetadata, partyIn } from './reading.ts';
import { createRecorder } from './recorder.ts';
import type { Report, StepName } from './report.ts';
import {
  lookAtAuthorization,
  lookAtCall,
  lookAtDiscovery,
  lookAtRequest,
  lookAtTokens,
  type Way,
} from './steps.ts';

export interface ExaminationOptions {
  /** Of the client that goes the way. Its store is memory: nothing is kept. */
  readonly client: NodeClientOptions;
  /** Goes on where a person is needed. */
  readonly signIn: boolean;
  readonly version: string;
  /** Hears what is looked at now. */
  readonly begin?: (step: StepName) => void;
}

/** Of documents of authorization servers: milliseconds, and bytes. */
const LIMITS = { timeout: 15_000, maxBytes: 262_144 };

/** @throws ClientError for options that make no client. */
export async function examine(options: ExaminationOptions): Promise<Report> {
  const registered = noteRegistrations(createMemoryStore());
  const way = prepare(options, registered.store);
  try {
    await go(way, options.signIn);
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
  } finally {
    if (options.signIn) await way.client.signOut();
    way.notebook.decide(...(await removeRegistered(registered, way.oauthFetch)));
  }
  return {
    ...{ server: way.server, at: new Date().toISOString() },
    ...way.notebook.report(options.signIn),
    exchanges: way.recorder.exchanges,
  };
}

function prepare({ client: options, version, begin }: ExaminationOptions, store: CredentialStore): Way {
  const server = readServerUrl(options.serverUrl);
  const notebook = createNotebook(options.revision, (step) => begin?.(step));
  const recorder = createRecorder(partyIn(server), ({ href }) =>
    notebook.current() === 'resource metadata' && isServerMetadata(href)
      ? 'authorization server'
      : notebook.current(),
  );
  const fetch = recorder.record(options.fetch ?? globalThis.fetch);
  const { trustedOrigins = [] } = options;
  const oauthFetch = recorder.record(
    options.oauthFetch ?? createGuardedFetch({ serverUrl: server, trustedOrigins, ...LIMITS }),
  );
  const events: ClientEvent[] = [];
  const client = createNodeClient({
    ...options,
    ...{ store, fetch, oauthFetch, mapFetchError: toClientError },
    onEvent(event) {
      events.push(event);
      options.onEvent?.(event);
    },
  });
  return { server, client, options, events, fetch, oauthFetch, recorder, notebook, version };
}

async function go(way: Way, isSignedIn: boolean): Promise<void> {
  const announced = await lookAtRequest(way);
  const discovery = await lookAtDiscovery(way, announced);
  await lookAtAuthorization(way, discovery);
  if (!isSignedIn) return;
  await lookAtTokens(way, discovery);
  await lookAtCall(way, discovery);
}
