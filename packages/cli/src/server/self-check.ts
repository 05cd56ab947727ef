/** The self-check: fetches the advertised URLs through the public URL, as a client would, and reports what a proxy breaks. */
import { explainConnectionError } from '@portcullis/http';
import { resourceMetadataUrls } from '@portcullis/protocol';
import { reasonOf } from '../errors.ts';
import { type Json, parseJson } from '../json.ts';

export interface AdvertisedUrls {
  /** The issuer, byte for byte. */
  readonly issuer: string;
  /** The protected servers in this process. */
  readonly resources: readonly string[];
  /** Those with operations that need no token. */
  readonly publicResources?: readonly string[];
  /** URLs of the metadata documents. */
  readonly documents: readonly string[];
}

/** Milliseconds per request. */
const TIMEOUT = 5_000;

/** Browser-based clients send another origin (CORS). */
const ORIGIN = 'https://self-check.invalid';

/** Returns one sentence per problem. Never rejects. */
export async function checkSelf(advertised: AdvertisedUrls): Promise<readonly string[]> {
  const { issuer, resources, publicResources = [], documents } = advertised;
  const namedAt = (url: string) =>
    url.includes('oauth-protected-resource')
      ? (resources.find((resource) => resourceMetadataUrls(resource).includes(url)) ?? null)
      : issuer;
  const fetched = await Promise.all(documents.map((url) => fetchDocument(url, namedAt(url))));
  const endpoints = new Map(fetched.flatMap(({ document }) => endpointsOf(document)));
  // Without metadata, clients fetch the keys from there.
  if (documents.length === 0) endpoints.set(`${new URL(issuer).origin}/jwks`, KEYS);
  const found = await Promise.all([
    ...[...endpoints].map(([url, endpoint]) => checkEndpoint(url, endpoint)),
    ...resources.flatMap((resource) =>
      publicResources.includes(resource)
        ? [checkPublic(resource, documents.length > 0)]
        : [checkChallenge(resource, documents.length > 0), checkCredentials(resource)],
    ),
  ]);
  return joinUnreachable(
    [...fetched.map(({ issue }) => issue), ...found].flatMap((issue) => (issue === null ? [] : [issue])),
  );
}

const UNREACHABLE = ' cannot be reached from here: ';

/** One sentence for all addresses that cannot be reached for the same reason. */
function joinUnreachable(issues: readonly string[]): readonly string[] {
  const byReason = Map.groupBy(issues, (issue) => issue.split(UNREACHABLE)[1] ?? issue);
  return [...byReason.values()].map(([first = '', ...others]) =>
    others.length === 0 ? first : first.replace(UNREACHABLE, ` and ${others.length} more${UNREACHABLE}`),
  );
}

interface Fetched {
  readonly issue: string | null;
  /** Empty if it could not be fetched. */
  readonly document: Readonly<Record<string, unknown>>;
}

/** @param names the issuer or resource that the document must name; `null` if any */
async function fetchDocument(url: string, names: string | null): Promise<Fetched> {
  const response = await send(url, { headers: { origin: ORIGIN } });
  const issue = checkResponse(url, response, { status: 200, isShared: true });
  const document = (typeof response === 'string' ? null : readObject(response.body)) ?? {};
  if (issue !== null) return { issue, document: {} };
  const named = document['issuer'] ?? document['resource'];
  if (names === null || named === names) return { issue: null, document };
  return {
    issue: `${url} names ${JSON.stringify(named)} instead of ${JSON.stringify(names)}: the proxy forwards to another server, or changes responses`,
    document: {},
  };
}

/** A request to an endpoint that changes nothing, and the expected error response. */
interface Endpoint {
  readonly request: RequestInit;
  readonly expected: Expected;
}

interface Expected {
  readonly status: number;
  /** Whether it is JSON that scripts of other origins may read (CORS). */
  readonly isShared: boolean;
  /** The challenge scheme expected if the credentials arrive. */
  readonly challenge?: 'Basic';
}

const KEYS: Endpoint = { request: {}, expected: { status: 200, isShared: true } };

/** Sends malformed credentials, which count as failed attempts of no client. */
const AUTHENTICATED: Endpoint = {
  request: {
    method: 'POST',
    headers: { authorization: 'Basic !', 'content-type': 'application/x-www-form-urlencoded' },
    body: 'self-check=1',
  },
  expected: { status: 401, isShared: true, challenge: 'Basic' },
};

/** Checks for the endpoints in a metadata document. */
const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  authorization_endpoint: { request: {}, expected: { status: 400, isShared: false } },
  token_endpoint: AUTHENTICATED,
  revocation_endpoint: AUTHENTICATED,
  introspection_endpoint: AUTHENTICATED,
  registration_endpoint: {
    request: { method: 'POST', headers: { 'content-type': 'application/json' }, body: '[]' },
    expected: { status: 400, isShared: true },
  },
  jwks_uri: KEYS,
};

function endpointsOf(document: Fetched['document']): readonly (readonly [string, Endpoint])[] {
  return Object.entries(ENDPOINTS).flatMap(([member, endpoint]) => {
    const url = document[member];
    return typeof url === 'string' ? [[url, endpoint] as const] : [];
  });
}

async function checkEndpoint(url: string, { request, expected }: Endpoint): Promise<string | null> {
  const headers = { ...(request.headers as Readonly<Record<string, string>>), origin: ORIGIN };
  return checkResponse(url, await send(url, { ...request, headers }), expected);
}

/** Checks a response. @returns the problem, if any */
function checkResponse(
  url: string,
  response: ReceivedResponse | string,
  { status, isShared, challenge }: Expected,
): string | null {
  if (typeof response === 'string') return response;
  if (response.status >= 300 && response.status < 400) {
    return `${url} responds with a redirect, which clients do not follow`;
  }
  if (response.status !== status)
    return `${url} responds with ${response.status} instead of ${status}: the proxy must forward this path with every method`;
  if (!isShared) return null;
  if (readObject(response.body) === null)
    return `${url} does not respond with JSON: another server responds there`;
  if (response.headers.get('access-control-allow-origin') !== '*')
    return `${url} responds without Access-Control-Allow-Origin: the proxy must not remove it`;
  return challenge === undefined || response.headers.get('www-authenticate')?.startsWith(challenge) === true
    ? null
    : `${url} does not receive the Authorization header, or its WWW-Authenticate header is lost: the proxy must forward both`;
}

async function checkChallenge(resource: string, isDescribed: boolean): Promise<string | null> {
  const response = await send(resource, { method: 'POST' });
  if (typeof response === 'string') return response;
  if (response.status !== 401) return explainStatus(resource, response, 401);
  return explainChallenge(resource, response, isDescribed);
}

/** A server with public operations reads a request without a token, and refuses one without a media type. */
async function checkPublic(resource: string, isDescribed: boolean): Promise<string | null> {
  const open = await send(resource, { method: 'POST' });
  if (typeof open === 'string') return open;
  if (open.status !== 415) return explainStatus(resource, open, 415);
  const rejected = await send(resource, INVALID_TOKEN);
  if (typeof rejected === 'string') return rejected;
  return rejected.status === 401
    ? explainChallenge(resource, rejected, isDescribed)
    : noCredentials(resource);
}

function explainChallenge(
  resource: string,
  { headers }: ReceivedResponse,
  isDescribed: boolean,
): string | null {
  const challenge = headers.get('www-authenticate') ?? '';
  if (!/^Bearer\b/i.test(challenge)) {
    return `${resource} responds without WWW-Authenticate: the proxy must not remove it, or clients cannot find where to sign in`;
  }
  return isDescribed && !challenge.includes('resource_metadata=')
    ? `${resource} responds with a challenge that has lost resource_metadata`
    : null;
}

function explainStatus(resource: string, { status }: ReceivedResponse, expected: number): string {
  const advice = status === 404 ? ': if the proxy removes a prefix, name it in strippedPrefix' : '';
  return `${resource} responds with ${status} instead of ${expected} to a request without a token${advice}`;
}

const INVALID_TOKEN = { method: 'POST', headers: { authorization: 'Bearer self-check' } };

/** Checks that the Authorization header arrives: an invalid token is reported differently from a missing one. */
async function checkCredentials(resource: string): Promise<string | null> {
  const response = await send(resource, INVALID_TOKEN);
  if (typeof response === 'string' || response.status !== 401) return null;
  const challenge = response.headers.get('www-authenticate') ?? '';
  return /^Bearer\b/i.test(challenge) && !challenge.includes('error="invalid_token"')
    ? noCredentials(resource)
    : null;
}

const noCredentials = (resource: string): string =>
  `${resource} does not receive the Authorization header: the proxy must forward it, or every request counts as one without a token`;

interface ReceivedResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** Returns the response, or the reason for the failure. */
async function send(url: string, init: RequestInit): Promise<ReceivedResponse | string> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT);
    const response = await fetch(url, { ...init, redirect: 'manual', signal });
    return { status: response.status, headers: response.headers, body: await response.text() };
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    return `${url}${UNREACHABLE}${explainConnectionError(error) ?? reasonOf(cause)}`;
  }
}

function readObject(text: string): Json | null {
  const value = parseJson(text);
  return typeof value === 'object' && value !== null ? (value as Json) : null;
}
