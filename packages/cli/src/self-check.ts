/** The self-check: fetches what is advertised through the public URL, as a client would, and says what a proxy has broken. */
import { reasonOf } from './faults.ts';

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
  const keys = `${new URL(issuer).origin}/jwks`;
  const found = await Promise.all([
    ...documents.map((url) =>
      checkDocument(url, url.includes('oauth-protected-resource') ? resource : issuer),
    ),
    checkDocument(keys, null),
    resource === null ? null : checkChallenge(resource, documents.length > 0),
  ]);
  return found.flatMap((fault) => (fault === null ? [] : [fault]));
}

/** @param names what the document says it is of; `null` when it says nothing of the kind */
async function checkDocument(url: string, names: string | null): Promise<string | null> {
  const answer = await ask(url, { headers: { origin: ORIGIN } });
  if (typeof answer === 'string') return answer;
  if (answer.status >= 300 && answer.status < 400) {
    return `${url} is answered with a redirect, which clients do not follow`;
  }
  if (answer.status !== 200)
    return `${url} is answered with ${answer.status}: the proxy must pass this path on`;
  const document = readObject(answer.body);
  if (document === null) return `${url} is not answered with JSON: something else answers there`;
  const named = document['issuer'] ?? document['resource'];
  if (names !== null && named !== names) {
    return `${url} names ${JSON.stringify(named)} instead of ${JSON.stringify(names)}: the proxy leads to another server, or changes what it passes on`;
  }
  const isShared = answer.headers.get('access-control-allow-origin') === '*';
  return isShared ? null : `${url} arrives without Access-Control-Allow-Origin: the proxy must leave it in`;
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
