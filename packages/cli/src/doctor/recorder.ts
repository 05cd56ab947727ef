/** Records the HTTP exchanges that the steps check. */
import type { Fetch } from '@portcullis/client';
import { readBodyText } from '@portcullis/http';
import type { StepName } from './report.ts';

/** A request and its response, with secrets: no part of the report. */
export interface Exchange {
  readonly step: StepName;
  readonly method: string;
  readonly url: string;
  /** `null`: no response. */
  readonly status: number | null;
  readonly headers: Headers;
  readonly body: string;
}

/** Maximum bytes of a body that is checked, and milliseconds for copying it. */
const MAX_COPY = 262_144;
const COPY_TIMEOUT = 5000;

/** Locations of authorization server metadata. */
const SERVER_METADATA = /\/\.well-known\/(?:oauth-authorization-server|openid-configuration)/;

/** @param current the current step: discovery is two */
export function createRecorder(current: () => StepName) {
  const exchanges: Exchange[] = [];
  return {
    exchanges: exchanges as readonly Exchange[],
    /** Returns a `fetch` that records its exchanges. */
    record:
      (fetch: Fetch): Fetch =>
      async (input, init) => {
        const request = input instanceof Request ? input : null;
        const { href: url, pathname } = new URL(request?.url ?? String(input));
        const step = SERVER_METADATA.test(pathname) ? 'authorization server' : current();
        const started = { step, method: init?.method ?? request?.method ?? 'GET', url } as const;
        try {
          const response = await fetch(input, init);
          const { status, headers } = response;
          exchanges.push({ ...started, status, headers, body: await copyOf(response) });
          return response;
        } catch (error) {
          exchanges.push({ ...started, status: null, headers: new Headers(), body: '' });
          throw error;
        }
      },
  };
}

/** Copies a body; empty if it is too long, incomplete, or a stream of events. */
async function copyOf(response: Response): Promise<string> {
  const isStream = response.headers.get('content-type')?.includes('event-stream') === true;
  if (response.body === null || isStream) return '';
  // The caller handles the failure.
  return readBodyText(response.clone(), MAX_COPY, AbortSignal.timeout(COPY_TIMEOUT)).catch(() => '');
}
