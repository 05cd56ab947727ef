/** Records HTTP exchanges and redacts the secrets in them. */
import type { Fetch } from '@portcullis/client';
import { readBodyText } from '@portcullis/http';
import { parseJson } from '../json.ts';
import type { Exchange, StepName } from './report.ts';

const SECRET_HEADERS = new Set(
  'authorization proxy-authorization dpop cookie set-cookie mcp-session-id'.split(' '),
);

/** Parameters and members with secret values; session identifiers are in the message endpoints of HTTP+SSE. */
const SECRET_NAMES = new Set(
  (
    'token access_token refresh_token id_token registration_access_token subject_token actor_token client_secret ' +
    'code code_verifier device_code assertion client_assertion sessionId session_id'
  ).split(' '),
);

const HIDDEN = '(hidden)';
/** Maximum bytes of a body in the report, and milliseconds for copying them. */
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
        const url = new URL(request?.url ?? String(input));
        const started = {
          step: SERVER_METADATA.test(url.pathname) ? ('authorization server' as const) : current(),
          method: init?.method ?? request?.method ?? 'GET',
          url: showUrl(url),
          requestHeaders: showHeaders(new Headers(init?.headers ?? request?.headers), url),
          requestBody: typeof init?.body === 'string' ? showBody(init.body, '') : '',
        };
        const start = performance.now();
        const add = (received: Pick<Exchange, 'status' | 'headers' | 'body'>, end = performance.now()) =>
          exchanges.push({ ...started, ...received, milliseconds: Math.round(end - start) });
        try {
          const response = await fetch(input, init);
          const end = performance.now();
          const headers = showHeaders(response.headers, url);
          add({ status: response.status, headers, body: await copyOf(response) }, end);
          return response;
        } catch (error) {
          add({ status: null, headers: {}, body: '' });
          throw error;
        }
      },
  };
}

function showUrl(url: URL): string {
  const shown = new URL(url);
  for (const name of secretParameters(shown)) shown.searchParams.set(name, HIDDEN);
  return shown.href;
}

function secretParameters({ searchParams }: URL): readonly string[] {
  return searchParams
    .keys()
    .filter((name) => SECRET_NAMES.has(name))
    .toArray();
}

/** @param base URL of the request */
function showHeaders(headers: Headers, base: URL): Record<string, string> {
  return Object.fromEntries([...headers].map(([name, value]) => [name, showHeader(name, value, base)]));
}

function showHeader(name: string, value: string, base: URL): string {
  if (SECRET_HEADERS.has(name)) return `${/^(?:Bearer|Basic|DPoP) /i.exec(value)?.[0] ?? ''}${HIDDEN}`;
  const target = name === 'location' ? URL.parse(value, base.href) : null;
  return target !== null && secretParameters(target).length > 0 ? showUrl(target) : value;
}

/** Copies a body; empty if it is too long, incomplete, or a stream of events. */
async function copyOf(response: Response): Promise<string> {
  const type = response.headers.get('content-type') ?? '';
  if (response.body === null || type.includes('event-stream')) return '';
  // The caller handles the failure.
  const text = await readBodyText(response.clone(), MAX_COPY, AbortSignal.timeout(COPY_TIMEOUT)).catch(
    () => '',
  );
  return showBody(text, type);
}

/** Redacts form and JSON bodies; other bodies are shown by their size and type only. */
function showBody(text: string, type: string): string {
  const json = parseJson(text);
  const size = `(${text.length} characters of ${type || 'text'})`;
  if (typeof json === 'object' && json !== null) return redact(json) ?? size;
  if (type === '' && text.includes('='))
    return [...new URLSearchParams(text)].map(([name, value]) => `${name}=${hide(name, value)}`).join('\n');
  return json === undefined && text !== '' ? size : text;
}

/** @returns `null` if it nests too deeply to be written */
function redact(json: object): string | null {
  try {
    return JSON.stringify(json, hide, 2);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function hide(name: string, value: unknown): unknown {
  return SECRET_NAMES.has(name) && typeof value === 'string' ? HIDDEN : value;
}
