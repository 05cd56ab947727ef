/** Records HTTP exchanges and redacts the secrets in them. */
import type { Fetch } from '@portcullis/client';
import { parseJson } from '../json.ts';
import type { Exchange, Party, StepName } from './report.ts';

const SECRET_HEADERS: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'dpop',
  'cookie',
  'set-cookie',
  'mcp-session-id',
]);

/** Parameters and members with secret values; session identifiers are in the message endpoints of HTTP+SSE. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  'token',
  'access_token',
  'refresh_token',
  'id_token',
  'client_secret',
  'registration_access_token',
  'code',
  'code_verifier',
  'client_assertion',
  'assertion',
  'subject_token',
  'actor_token',
  'device_code',
  'sessionId',
  'session_id',
]);

const HIDDEN = '(hidden)';
/** Maximum bytes of a body in the report, and the timeout for copying them in milliseconds. */
const MAX_COPY = 65_536;
const COPY_TIMEOUT = 5_000;

/**
 * @param partyOf which server a URL belongs to
 * @param stepOf the step a request belongs to
 */
export function createRecorder(partyOf: (url: URL) => Party, stepOf: (url: URL) => StepName) {
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
          party: partyOf(url),
          step: stepOf(url),
          method: init?.method ?? request?.method ?? 'GET',
          url: showUrl(url),
          requestHeaders: showHeaders(new Headers(init?.headers ?? request?.headers), url),
          requestBody: typeof init?.body === 'string' ? showBody(init.body, '') : '',
        };
        const start = performance.now();
        const response = await fetch(input, init).catch((error: unknown) => {
          const milliseconds = Math.round(performance.now() - start);
          exchanges.push({ ...started, status: null, headers: {}, body: '', milliseconds });
          throw error;
        });
        const milliseconds = Math.round(performance.now() - start);
        const { status } = response;
        const headers = showHeaders(response.headers, url);
        exchanges.push({ ...started, status, headers, body: await copyOf(response), milliseconds });
        return response;
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

/** Copies the beginning of a body, as far as it arrives in time. Event streams are not copied. */
async function copyOf(response: Response): Promise<string> {
  const type = response.headers.get('content-type') ?? '';
  if (response.body === null || type.includes('event-stream')) return '';
  const copy = response.clone().body;
  const decoder = new TextDecoder();
  let text = '';
  const end = new AbortController();
  const late = setTimeout(() => end.abort(), COPY_TIMEOUT);
  const collect = new WritableStream<Uint8Array>({
    write(chunk) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length >= MAX_COPY) end.abort();
    },
  });
  // What was received is shown; the caller handles the failure.
  await copy?.pipeTo(collect, { signal: end.signal }).catch(() => undefined);
  clearTimeout(late);
  return showBody(text.slice(0, MAX_COPY), type);
}

/** Redacts form and JSON bodies; other bodies are shown by their size and type only. */
function showBody(text: string, type: string): string {
  const json = parseJson(text);
  if (typeof json === 'object' && json !== null) return JSON.stringify(hideMembers(json), null, 2);
  if (type === '' && text.includes('=')) {
    const form = new URLSearchParams(text);
    return [...form].map(([name, value]) => `${name}=${SECRET_NAMES.has(name) ? HIDDEN : value}`).join('\n');
  }
  return json === undefined && text !== '' ? `(${text.length} characters of ${type || 'text'})` : text;
}

function hideMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(hideMembers);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      SECRET_NAMES.has(name) && typeof member === 'string' ? HIDDEN : hideMembers(member),
    ]),
  );
}
