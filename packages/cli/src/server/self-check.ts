/** The self-check: fetches what is advertised through the public URL, as a client would, and says what a proxy has broken. */
import { reasonOf } from '../errors.ts';

export interface Advertised {
  /** The issuer, byte for byte. */
  readonly issuer: string;
  /** The protected server in this process; `null` when there is none. */
  readonly resource: string | null;
  /** URLs of the metadata documents. */
  readonly documents: readonly string[];
}

/** Milliseconds for each question. */
const PATIENCE = 5_000;

/** Scripts in browsers ask from another origin. */
const ORIGIN = 'https://self-check.invalid';

/** What is broken: a sentence each, none when all is well. Never rejects. */
export async function checkSelf({ issuer, resource, documents }: Advertised): Promise<readonly string[]> {
  const fetched = await Promise.all(
    documents.map((url) => fetchDocument(url, url.includes('oauth-protected-resource') ? resource : issuer)),
  );
  const endpoints = new Map(fetched.flatMap(({ document }) => endpointsOf(document)));
  // Clients of a server without metadata find them there.
  if (documents.length === 0) endpoints.set(`${new URL(issuer).origin}/jwks`, KEYS);
  const found = await Promise.all([
    ...[...endpoints].map(([url, endpoint]) => checkEndpoint(url, endpoint)),
    ...(resource === null
      ? []
      : [checkChallenge(resource, documents.length > 0), checkCredentials(resource)]),
  ]);
  return [...fetched.map(({ issue }) => issue), ...found].flatMap((issue) => (issue === null ? [] : [issue]));
}

interface Fetched {
  readonly issue: string | null;
  /** Empty when it could not be had. */
  readonly document: Readonly<Record<string, unknown>>;
}

/** @param names what the document says it is of; `null` when it says nothing of the kind */
async function fetchDocument(url: string, names: string | null): Promise<Fetched> {
  const answer = await ask(url, { headers: { origin: ORIGIN } });
  const issue = judge(url, answer, { status: 200, isShared: true });
  const document = (typeof answer === 'string' ? null : readObject(answer.body)) ?? {};
  if (issue !== null) return { issue, document: {} };
  const named = document['issuer'] ?? document['resource'];
  if (names === null || named === names) return { issue: null, document };
  return {
    issue: `${url} names ${JSON.stringify(named)} instead of ${JSON.stringify(names)}: the proxy leads to another server, or changes what it passes on`,
    document: {},
  };
}

/** How an endpoint is asked for something that changes nothing, and how it says no. */
interface Endpoint {
  readonly asked: RequestInit;
  readonly expected: Expected;
}

interface Expected {
  readonly status: number;
  /** Whether scripts of other origins may read it; only what they may read is JSON. */
  readonly isShared: boolean;
  /** What its challenge begins with, when it got to see the credentials. */
  readonly challenge?: 'Basic';
}

const KEYS: Endpoint = { asked: {}, expected: { status: 200, isShared: true } };

/** Credentials that cannot be read, so that no client is suspected. */
const PROVED: Endpoint = {
  asked: {
    method: 'POST',
    headers: { authorization: 'Basic !', 'content-type': 'application/x-www-form-urlencoded' },
    body: 'self-check=1',
  },
  expected: { status: 401, isShared: true, challenge: 'Basic' },
};

/** Members of a metadata document, and what stands behind them. */
const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  authorization_endpoint: { asked: {}, expected: { status: 400, isShared: false } },
  token_endpoint: PROVED,
  revocation_endpoint: PROVED,
  introspection_endpoint: PROVED,
  registration_endpoint: {
    asked: { method: 'POST', headers: { 'content-type': 'application/json' }, body: '[]' },
    expected: { status: 400, isShared: true },
  },
  jwks_uri: KEYS,
  status_list_aggregation_endpoint: KEYS,
};

function endpointsOf(document: Fetched['document']): readonly (readonly [string, Endpoint])[] {
  return Object.entries(ENDPOINTS).flatMap(([member, endpoint]) => {
    const url = document[member];
    return typeof url === 'string' ? [[url, endpoint] as const] : [];
  });
}

async function checkEndpoint(url: string, { asked, expected }: Endpoint): Promise<string | null> {
  const headers = { ...(asked.headers as Readonly<Record<string, string>>), origin: ORIGIN };
  return judge(url, await ask(url, { ...asked, headers }), expected);
}

/** What is wrong with an answer. */
function judge(
  url: string,
  answer: Answer | string,
  { status, isShared, challenge }: Expected,
): string | null {
  if (typeof answer === 'string') return answer;
  if (answer.status >= 300 && answer.status < 400) {
    return `${url} is answered with a redirect, which clients do not follow`;
  }
  if (answer.status !== status)
    return `${url} is answered with ${answer.status} instead of ${status}: the proxy must pass on this path, and every method`;
  if (!isShared) return null;
  if (readObject(answer.body) === null)
    return `${url} is not answered with JSON: something else answers there`;
  if (answer.headers.get('access-control-allow-origin') !== '*')
    return `${url} arrives without Access-Control-Allow-Origin: the proxy must leave it in`;
  return challenge === undefined || answer.headers.get('www-authenticate')?.startsWith(challenge) === true
    ? null
    : `${url} does not get to see the header Authorization, or loses WWW-Authenticate on the way back: the proxy must leave both in`;
}

async function checkChallenge(resource: string, isDescribed: boolean): Promise<string | null> {
  const answer = await ask(resource, { method: 'POST' });
  if (typeof answer === 'string') return answer;
  if (answer.status !== 401)
    return `${resource} is answered with ${answer.status} instead of 401 to who brings no token`;
  const challenge = answer.headers.get('www-authenticate') ?? '';
  if (!/^Bearer\b/i.test(challenge)) {
    return `${resource} arrives without WWW-Authenticate: the proxy must leave it in, or no client finds the way to sign in`;
  }
  return isDescribed && !challenge.includes('resource_metadata=')
    ? `${resource} arrives with a challenge that has lost resource_metadata`
    : null;
}

/** A token that is none is told from no token at all, unless it did not arrive. */
async function checkCredentials(resource: string): Promise<string | null> {
  const answer = await ask(resource, { method: 'POST', headers: { authorization: 'Bearer self-check' } });
  if (typeof answer === 'string' || answer.status !== 401) return null;
  const challenge = answer.headers.get('www-authenticate') ?? '';
  return /^Bearer\b/i.test(challenge) && !challenge.includes('error="invalid_token"')
    ? `${resource} does not get to see the header Authorization: the proxy must pass it on, or every token is taken for none`
    : null;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** The answer, or why there is none. */
async function ask(url: string, init: RequestInit): Promise<Answer | string> {
  try {
    const signal = AbortSignal.timeout(PATIENCE);
    const response = await fetch(url, { ...init, redirect: 'manual', signal });
    return { status: response.status, headers: response.headers, body: await response.text() };
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    return `${url} cannot be reached from here: ${reasonOf(cause)}`;
  }
}

function readObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : null;
  } catch {
    return null;
  }
}
