/** What the steps of an examination share. */
import type { Client, ClientEvent, Fetch } from '@portcullis/client';
import type { NodeClientOptions } from '@portcullis/client/node';
import type { Recorder } from './recorder.ts';
import type { ReportBuilder } from './report-builder.ts';

export interface ExaminationContext {
  readonly server: string;
  readonly client: Client;
  /** The client's options. */
  readonly options: NodeClientOptions;
  /** Events of the client so far. */
  readonly events: readonly ClientEvent[];
  /** For requests to the server. */
  readonly fetch: Fetch;
  /** For requests to authorization servers. */
  readonly oauthFetch: Fetch;
  /** Lets the token go to the message endpoint that an HTTP+SSE server names. */
  readonly acceptEndpoint: (endpoint: URL) => void;
  readonly recorder: Recorder;
  readonly report: ReportBuilder;
  /** This program's version. */
  readonly version: string;
}
