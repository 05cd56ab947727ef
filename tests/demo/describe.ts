/** Describes an HTTP exchange for a reader: sender, receiver, request, response, the fields that matter, secrets masked. */
import { STATUS_CODES } from 'node:http';
import type { Exchange, RecordedRequest } from './transcript.ts';

type Field = readonly [name: string, value: string];

/** Parameters and members whose values are secret. */
const SECRETS: ReadonlySet<string> = new Set([
  'access_token',
  'client_secret',
  'code',
  'code_verifier',
  'refresh_token',
  'token',
]);

/** Members of JSON documents that matter to the flow. */
const MEMBERS: readonly string[] = [
  'resource',
  'authorization_servers',
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'registration_endpoint',
  'scopes_supported',
  'client_id',
  'client_name',
  'client_secret',
  'redirect_uris',
  'grant_types',
  'token_endpoint_auth_method',
  'access_token',
  'token_type',
  'expires_in',
  'refresh_token',
  'scope',
  'error',
  'error_description',
];

const WIDTH = 27;
const LONGEST = 240;

export function describeRequest(question: RecordedRequest, number: number): string {
  const { from, method, url, sent, headers } = question;
  const way = `${from} → ${addressee(url)}`.padEnd(31);
  return [
    `${String(number).padStart(3)}  ${way} ${method} ${url.pathname}`,
    ...lines([...requestHeaders(question), ...queryOf(url), ...bodyFields(sent, headers)]),
  ].join('\n');
}

/** @param number of the request, unless it was the last one printed */
export function describeResponse(exchange: Exchange, number: number | null): string {
  const { status, got, answered } = exchange;
  return [
    `     ${number === null ? '' : `to ${number}: `}${status} ${STATUS_CODES[status] ?? ''}`,
    ...lines([...responseHeaders(exchange), ...bodyFields(got, answered)]),
    '',
  ].join('\n');
}

/** Enough of a secret to recognize it, and to distinguish it from others. */
function mask(secret: string): string {
  return secret.length < 20 ? '••••••' : `${secret.slice(0, 5)}…(${secret.length} characters)`;
}

function addressee(url: URL): string {
  if (url.pathname === '/callback') return 'client';
  if (url.pathname.startsWith('/login/oauth/')) return 'identity provider';
  const isServer = url.pathname === '/mcp' || url.pathname.includes('oauth-protected-resource');
  return isServer ? 'protected server' : 'authorization server';
}

function lines(fields: readonly Field[]): readonly string[] {
  return fields.map(([name, value]) => `         ${name.padEnd(WIDTH)} ${clip(value)}`);
}

function requestHeaders({ headers }: RecordedRequest): readonly Field[] {
  const authorization = headers.get('authorization');
  const version = headers.get('mcp-protocol-version');
  return [
    ...(version === null ? [] : [['MCP-Protocol-Version', version] as const]),
    ...(authorization === null ? [] : [['Authorization', maskCredentials(authorization)] as const]),
  ];
}

function maskCredentials(value: string): string {
  return value.replace(
    /(\S+) ([^\s,]+)/g,
    (_all, scheme: string, secret: string) => `${scheme} ${mask(secret)}`,
  );
}

function responseHeaders({ answered, url }: Exchange): readonly Field[] {
  const challenge = answered.get('www-authenticate');
  const location = answered.get('location');
  return [
    ...(challenge === null ? [] : [['WWW-Authenticate', challenge] as const]),
    ...(location === null ? [] : [['Location', maskLocation(new URL(location, url), url)] as const]),
  ];
}

function maskLocation(location: URL, from: URL): string {
  const query = queryOf(location).map(([name, value]) => `${name}=${value}`);
  const place = location.origin === from.origin ? location.pathname : location.origin + location.pathname;
  return query.length === 0 ? place : `${place}?${query.join('&')}`;
}

function queryOf(url: URL): readonly Field[] {
  return maskAll(url.searchParams);
}

function maskAll(parameters: URLSearchParams): readonly Field[] {
  return [...parameters].map(([name, value]) => [name, maskValue(name, value)]);
}

function maskValue(name: string, value: string): string {
  if (name === 'password') return '••••••';
  return SECRETS.has(name) ? mask(value) : value;
}

function bodyFields(body: string, headers: Headers): readonly Field[] {
  const type = headers.get('content-type') ?? '';
  if (type.startsWith('application/x-www-form-urlencoded')) return maskAll(new URLSearchParams(body));
  if (type.startsWith('application/json')) return jsonFields(JSON.parse(body));
  if (type.startsWith('text/event-stream')) return jsonFields(lastEvent(body));
  if (type.startsWith('text/html')) return [['page', titleOf(body)]];
  return [];
}

function lastEvent(body: string): unknown {
  return JSON.parse(/^data: (\{.*\})$/m.exec(body)?.[1] ?? '{}');
}

/** The title of a page. */
function titleOf(page: string): string {
  return (/<title>([^<]*)/.exec(page)?.[1] ?? '').replace(/&#39;/g, "'").trim();
}

interface Message {
  readonly method?: string;
  readonly params?: { readonly name?: string; readonly arguments?: unknown };
  readonly result?: { readonly content?: readonly { readonly text?: string }[] };
}

function jsonFields(document: unknown): readonly Field[] {
  if (typeof document !== 'object' || document === null) return [];
  if ('jsonrpc' in document) return messageFields(document as Message);
  return MEMBERS.filter((name) => Object.hasOwn(document, name)).map((name) => {
    const value: unknown = (document as Readonly<Record<string, unknown>>)[name];
    return [name, maskValue(name, Array.isArray(value) ? value.join(' ') : String(value))];
  });
}

function messageFields({ method, params, result }: Message): readonly Field[] {
  if (method !== undefined)
    return [['calls', `${params?.name ?? method} ${JSON.stringify(params?.arguments ?? {})}`]];
  return [['result', result?.content?.map(({ text }) => text).join(' ') ?? '']];
}

function clip(value: string): string {
  return value.length > LONGEST ? `${value.slice(0, LONGEST)}…` : value;
}
