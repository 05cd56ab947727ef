/** Requests to the admin API of a remote server. */
import type { Client } from '@portcullis/client';
import { CommandFailure, exitCodes } from '../client/exit-codes.ts';
import { readBoundedText } from '../client/transport/responses.ts';
import { SettingsError } from '../errors.ts';
import { isObject, type Json, parseJson } from '../json.ts';
import { cleanLine } from '../terminal/clean.ts';

/** Maximum pages of a list, in case a server repeats its cursors. */
const MAX_PAGES = 10_000;

const API_PATH = '/admin/api/v1';

/** A request to the admin API. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the path of the API. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: Readonly<Record<string, unknown>>;
}

export type AdminApi = ReturnType<typeof createAdminApi>;

/** @param server origin of the server, as typed @throws SettingsError */
export function apiOf(server: string): string {
  const url = URL.parse(server);
  if (url === null || !/^https?:$/.test(url.protocol) || url.pathname !== '/')
    throw new SettingsError([`--server must be the URL of a server such as https://auth.example.com`]);
  return `${url.origin}${API_PATH}`;
}

/** @param reason of changes, for the audit log */
export function createAdminApi({ fetch }: Client, api: string, reason: unknown) {
  const given = typeof reason === 'string' ? { reason } : {};

  function urlOf(path: string, query: ApiRequest['query'] & {}): string {
    const url = new URL(`${api}${path}`);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, value);
    return url.href;
  }

  async function sendOne({ method, path, query = {}, body = {} }: ApiRequest): Promise<unknown> {
    const takesBody = method === 'POST' || method === 'PATCH';
    const content = {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, ...given }),
    };
    const href = urlOf(path, method === 'DELETE' ? { ...query, ...given } : query);
    return read(await fetch(href, { method, ...(takesBody && content) }));
  }

  /** Follows the pages of a list, unless the query has a limit. @throws CommandFailure with what the problem says */
  async function send(request: ApiRequest): Promise<unknown> {
    const { query = {} } = request;
    const first = await sendOne(request);
    if (!isPage(first) || query['limit'] !== undefined) return isList(first) ? first.items : first;
    const items = [...first.items];
    if (first.next === null) return items;
    for await (const page of pages({ ...request, query: { ...query, cursor: first.next } }))
      for (const item of page.items) items.push(item);
    return items;
  }

  /** The pages of a list. @throws CommandFailure */
  async function* pages(request: ApiRequest): AsyncGenerator<Page> {
    let { query = {} } = request;
    for (let count = 0; count < MAX_PAGES; count += 1) {
      const page = await sendOne({ ...request, query });
      if (!isPage(page))
        throw new CommandFailure(exitCodes.rules, 'The server responded with something else than a page.');
      yield page;
      if (page.next === null) return;
      query = { ...query, cursor: page.next };
    }
    throw new CommandFailure(exitCodes.rules, `The server has more than ${MAX_PAGES} pages of this list.`);
  }

  return {
    send,
    /** The objects of a whole list. @throws CommandFailure */
    async list(path: string, query: Readonly<Record<string, string>> = {}): Promise<readonly Json[]> {
      const found = await send({ method: 'GET', path, query });
      return Array.isArray(found) ? found.filter(isObject) : [];
    },
    pages,
    /** A response that lasts. @throws CommandFailure */
    async open(path: string, query: Readonly<Record<string, string>>): Promise<Response> {
      const response = await fetch(urlOf(path, query));
      if (!response.ok) await read(response);
      return response;
    },
  };
}

interface List {
  readonly items: readonly unknown[];
}

interface Page extends List {
  readonly next: string | null;
}

/** A list alone, or a page of one; what has other members as well is no list. */
function isList(value: unknown): value is List {
  return (
    isObject(value) &&
    Array.isArray(value['items']) &&
    Object.keys(value).every((name) => PAGE.includes(name))
  );
}

const PAGE: readonly string[] = ['items', 'next', 'isMore'];

function isPage(value: unknown): value is Page {
  return isList(value) && 'next' in value;
}

/** @throws CommandFailure with what the problem says */
async function read(response: Response): Promise<unknown> {
  const found = parseJson(await readBoundedText(response));
  if (response.ok) return found;
  const { detail, error_description: description, issues } = isObject(found) ? found : {};
  const sentence = String(detail ?? description ?? `The server responded with ${response.status}.`);
  const lines = Array.isArray(issues)
    ? issues.filter(isObject).map(({ at, message }) => `${at}: ${message}`)
    : [];
  if (/\binsufficient_scope\b/.test(response.headers.get('www-authenticate') ?? ''))
    lines.push('Run it again with --step-up, or in a terminal, to sign in with more scopes.');
  const code = response.status >= 500 ? exitCodes.temporary : exitCodes.usage;
  throw new CommandFailure(code, cleanLine([sentence, ...lines].join(' ')));
}
