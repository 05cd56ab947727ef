/** Every parser of untrusted input: how it is called, which invariants hold for its result, and seeds to start from. */
import { readFormBody, readJsonBody } from '@portcullis/http';
import {
  canonicalResource,
  checkAuthorizationRequest,
  checkRedirectUri,
  errorDocument,
  formatChallenge,
  isInCidrBlock,
  issuerError,
  matchesRedirectUri,
  networkPrefixOf,
  OAuthError,
  parseChallenges,
  parseCidrBlock,
  readAuthorizationCodeRequest,
  readAuthorizationHeader,
  readAuthorizationResponse,
  readParameters,
  readRequestedAccess,
  readRequestedScopes,
  readTokenExchangeRequest,
  readWebUrl,
  validateRedirectUri,
} from '@portcullis/protocol';
import {
  openRegistrationPolicy,
  readAuthorizationServerMetadata,
  readClientMetadata,
  readProtectedResourceMetadata,
  readTokenResponse,
} from '@portcullis/protocol/documents';
import { readClientDocument } from '../../packages/authorization-server/src/clients/metadata-document/document-rules.ts';
import { validateDocumentUrl } from '../../packages/authorization-server/src/clients/metadata-document/document-url.ts';
import { FetchJsonError } from '../../packages/authorization-server/src/clients/metadata-document/fetch-json-error.ts';
import { freshnessLifetime } from '../../packages/authorization-server/src/clients/metadata-document/http-cache-freshness.ts';
import { readClientCredentials } from '../../packages/authorization-server/src/clients/read-client-credentials.ts';
import { createBodyScanner } from '../../packages/gateway/src/messages/body-scanner.ts';
import { MessageError } from '../../packages/gateway/src/messages/message-error.ts';
import type { ScannedBody } from '../../packages/gateway/src/messages/scanned-message.ts';
import { createForwardedReader } from '../../packages/http/src/node/forwarded.ts';
import { seeds } from './seeds.ts';

export interface Target {
  readonly name: string;
  readonly seeds: readonly string[];
  /** Reads an input. It throws `OAuthError`, or `Broken` when an invariant does not hold; anything else is a failure. */
  read(input: string): unknown;
}

/** An invariant that does not hold. */
export class Broken extends Error {}

export function must(isTrue: boolean, rule: string): void {
  if (!isTrue) throw new Broken(rule);
}

const POLICY = { privateUseSchemes: ['cursor', 'com.example.app'] };
const ANYWHERE = { hosts: null, refusedHosts: ['evil.example'], loopback: false };
const DOCUMENT = 'https://app.example/client.json';
const findOrigin = createForwardedReader(['127.0.0.1', '10.0.0.0/8', '2001:db8::/32']);

/** Characters as bytes, as they come from a socket. */
export function bytesOf(input: string): Uint8Array {
  return Uint8Array.from(input, (character) => character.charCodeAt(0) & 0xff);
}

function request(input: string, type: string): Request {
  const [body, announced] = [bytesOf(input), input.length % 2 === 0];
  const headers = { 'content-type': type, ...(announced && { 'content-length': String(body.length) }) };
  return new Request('https://as.example/token', {
    method: 'POST',
    headers,
    body: body as unknown as string,
  });
}

/** A text as JSON; what is none is not for these readers. */
function json(read: (value: unknown) => unknown): (input: string) => unknown {
  return (input) => {
    let value: unknown;
    try {
      value = JSON.parse(input);
    } catch {
      return null;
    }
    return read(value);
  };
}

/** A URL that passes must mean the same to the WHATWG parser. */
function checkRedirect(input: string): void {
  const [uri = '', other = ''] = input.split('\n');
  const { kind } = validateRedirectUri(uri, POLICY);
  const url = URL.parse(uri);
  if (kind === 'https' || kind === 'loopback') {
    must(
      url?.protocol === (kind === 'https' ? 'https:' : 'http:'),
      'it has the scheme that it seems to have',
    );
    const authority = /^https?:\/\/([^/?]*)/i.exec(uri)?.[1] ?? '';
    must(url?.username === '' && url.password === '', 'it names no user');
    must(authority.replace(/:\d*$/, '').toLowerCase() === url?.hostname, 'its host is the one that is read');
    must(url?.hash === '', 'it has no fragment');
  }
  if (kind === 'loopback')
    must(/^(localhost|127\.0\.0\.1|\[::1\])$/.test(url?.hostname ?? ''), 'it stays here');
  if (kind === 'private-use')
    must(POLICY.privateUseSchemes.includes(url?.protocol.slice(0, -1) ?? ''), 'its scheme is allowed');
  if (kind !== 'refused' && kind !== 'dangerous') {
    must(checkRedirectUri([uri], uri, POLICY).uri === uri, 'a registered redirect URI matches');
  }
  if (other !== uri && matchesRedirectUri(uri, other)) {
    const [left, right] = [URL.parse(uri), URL.parse(other)];
    must(left?.hostname === right?.hostname && left?.protocol === 'http:', 'only loopback differs');
    must(left?.pathname === right?.pathname && left?.search === right?.search, 'only the port differs');
  }
}

function checkChallenges(input: string): void {
  for (const { scheme, parameters } of parseChallenges(input.split('\n'))) {
    let text: string;
    try {
      text = formatChallenge(scheme, Object.fromEntries(parameters));
    } catch {
      // Not everything that is read may be written.
      continue;
    }
    const [again] = parseChallenges(text);
    must(again !== undefined && again.parameters.size === parameters.size, 'what is written is read again');
  }
}

function checkCanonical(input: string): void {
  const canonical = canonicalResource(input);
  if (canonical === null) return;
  must(canonicalResource(canonical) === canonical, 'the canonical form is its own');
  must(URL.parse(canonical)?.hash === '', 'it has no fragment');
}

function checkDocumentUrl(input: string): void {
  const checked = validateDocumentUrl(input, ANYWHERE);
  if ('issue' in checked) return;
  const { url } = checked;
  must(url.href === input && url.protocol === 'https:' && url.username === '', 'it is what it looks like');
  must(url.pathname !== '/' && !input.includes('#'), 'it has a path and no fragment');
}

function checkNetwork(input: string): void {
  const network = networkPrefixOf(input);
  if (network === null) return;
  const block = parseCidrBlock(network);
  if (block === null) throw new Broken('a network is a CIDR block');
  // An IPv6 address that stands for an IPv4 address has the network of that one.
  const standsForIpv4 = input.includes(':') && !network.includes(':');
  must(standsForIpv4 || isInCidrBlock(input.replace(/%.*$/, ''), block), 'an address is in its network');
}

function readHeaders(input: string): Headers | null {
  const headers = new Headers();
  for (const line of input.split('\n')) {
    const [name = '', value = ''] = line.split(': ', 2);
    try {
      headers.append(name, value);
    } catch {
      return null;
    }
  }
  return headers;
}

const RESPONSE = {
  state: 's',
  issuer: 'https://as.example',
  issuerRule: 'rfc9207',
  issuerAdvertised: true,
} as const;

export const targets: readonly Target[] = [
  { name: 'form', seeds: seeds.form, read: (input) => readParameters(input) },
  { name: 'form body', seeds: seeds.form, read: (input) => readFormBody(request(input, 'application/x-www-form-urlencoded')) },
  { name: 'JSON body', seeds: seeds.json, read: (input) => readJsonBody(request(input, 'application/json')) },
  { name: 'content type', seeds: seeds.types, read: readByType },
  { name: 'authorization header', seeds: seeds.authorization, read: (input) => readAuthorizationHeader(input) },
  { name: 'Basic', seeds: seeds.basic, read: readBasic },
  { name: 'redirect URI', seeds: seeds.redirects, read: checkRedirect },
  { name: 'client metadata', seeds: seeds.clients, read: json((value) => readClientMetadata(value, openRegistrationPolicy)) },
  { name: 'client document', seeds: seeds.clients, read: json(readDocument) },
  { name: 'client document URL', seeds: seeds.urls, read: checkDocumentUrl },
  { name: 'authorization server metadata', seeds: seeds.servers, read: json(readAuthorizationServerMetadata) },
  { name: 'protected resource metadata', seeds: seeds.resources, read: json(readProtectedResourceMetadata) },
  { name: 'token response', seeds: seeds.tokens, read: json(readTokenResponse) },
  { name: 'challenge', seeds: seeds.challenges, read: checkChallenges },
  { name: 'authorization request', seeds: seeds.form, read: (input) => checkAuthorizationRequest(readParameters(input)) },
  { name: 'authorization response', seeds: seeds.form, read: (input) => readAuthorizationResponse(new URLSearchParams(input), RESPONSE) },
  { name: 'token request: code', seeds: seeds.form, read: (input) => readAuthorizationCodeRequest(readParameters(input)) },
  { name: 'token request: access', seeds: seeds.form, read: (input) => readRequestedAccess(readParameters(input)) },
  { name: 'token request: exchange', seeds: seeds.form, read: (input) => readTokenExchangeRequest(readParameters(input)) },
  { name: 'client authentication', seeds: seeds.form, read: readAuthentication },
  { name: 'scopes', seeds: seeds.scopes, read: (input) => readRequestedScopes(input) },
  { name: 'resource', seeds: seeds.urls, read: checkCanonical },
  { name: 'issuer', seeds: seeds.urls, read: (input) => issuerError(input) },
  { name: 'web URL', seeds: seeds.urls, read: (input) => readWebUrl(input) },
  { name: 'address', seeds: seeds.addresses, read: checkNetwork },
  { name: 'forwarded', seeds: seeds.forwarded, read: readForwarded },
  { name: 'gateway body', seeds: seeds.messages, read: checkGatewayBody },
  { name: 'cache control', seeds: seeds.caches, read: readFreshness },
]; // biome-ignore format: a table

function readByType(input: string): unknown {
  try {
    new Headers({ 'content-type': input });
  } catch {
    return null;
  }
  return readFormBody(
    new Request('https://as.example/', { method: 'POST', headers: { 'content-type': input }, body: 'a=b' }),
  );
}

function readBasic(input: string): unknown {
  const header = `Basic ${Buffer.from(bytesOf(input)).toString('base64')}`;
  return [readAuthorizationHeader(header), readClientCredentials(header, readParameters(''))];
}

function readDocument(value: unknown): unknown {
  const policy = { redirects: POLICY, loopback: false };
  const named = typeof value === 'object' && value !== null ? { client_id: DOCUMENT, ...value } : value;
  try {
    return readClientDocument(DOCUMENT, named, policy);
  } catch (error) {
    // What is no document of this client is refused like one that could not be fetched.
    if (error instanceof FetchJsonError) return null;
    throw error;
  }
}

/** The first line is the header, the second the form. */
function readAuthentication(input: string): unknown {
  const lines = input.split('\n');
  const [header = '', form = input] = lines;
  return readClientCredentials(header === '' ? null : header, readParameters(form));
}

/** What the gateway reads while a body arrives is what a JSON parser reads from the whole, however the body is divided. */
function checkGatewayBody(input: string): void {
  const body = Buffer.from(input);
  const whole = scanPieces([body]);
  const middle = input.length % (body.length + 1);
  const divided = scanPieces([
    body.subarray(0, middle),
    body.subarray(middle, middle + 1),
    body.subarray(middle + 1),
  ]);
  must(JSON.stringify(whole) === JSON.stringify(divided), 'chunks make no difference');
  if (whole === null) return;
  const parsed: unknown = JSON.parse(body.toString());
  const messages: readonly Record<string, unknown>[] = whole.isBatch
    ? (parsed as [])
    : [parsed as Record<string, unknown>];
  must(messages.length === whole.messages.length, 'it holds as many messages');
  for (const [index, { method, tool, id, arguments: range }] of whole.messages.entries()) {
    const { method: own = '', params, ...message } = messages[index] ?? {};
    const { name, arguments: input } = Object(params) as Record<string, unknown>;
    must(method === own, 'it asks for this method');
    must(tool === null || tool === name, 'it calls this tool');
    must(id === null || JSON.stringify(JSON.parse(id)) === JSON.stringify(message['id']), 'it has this id');
    if (range !== null)
      must(
        JSON.stringify(JSON.parse(body.toString('utf8', range.start, range.end))) === JSON.stringify(input),
        'it has these arguments',
      );
  }
}

/** `null`: refused. */
function scanPieces(pieces: readonly Buffer[]): ScannedBody | null {
  const scanner = createBodyScanner();
  try {
    for (const piece of pieces) scanner.push(piece);
    return scanner.end();
  } catch (error) {
    if (error instanceof MessageError) return null;
    throw error;
  }
}

function readForwarded(input: string): unknown {
  const [forwarded = '', list = '', protocol = ''] = input.split('\n');
  const headers = { forwarded, 'x-forwarded-for': list, 'x-forwarded-proto': protocol };
  return findOrigin('10.1.2.3', headers);
}

function readFreshness(input: string): unknown {
  const headers = readHeaders(input);
  if (headers === null) return null;
  const seconds = freshnessLifetime(headers, { maxAge: 600, defaultAge: 60 }, 1_800_000_000);
  must(seconds >= 0 && seconds <= 600, 'it stays within its bounds');
  return seconds;
}

/** What became of an input. Whatever is no `OAuthError` is thrown on. */
export async function tryOut(target: Target, input: string): Promise<void> {
  try {
    await target.read(input);
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    const { error_description: description = '' } = errorDocument(error);
    must(
      /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/.test(description),
      'an error description has the characters that it may have',
    );
    must(error.status < 500, 'untrusted input causes no server error');
  }
}
