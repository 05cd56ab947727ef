/** Shared parts of the tests' identity providers: a real server on loopback that counts requests and records the tokens it issued. */
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The identity provider's only client: Portcullis, with its static client ID. */
export interface RegisteredClient {
  readonly id: string;
  readonly secret: string;
}

export const portcullisClient: RegisteredClient = {
  id: 'portcullis',
  secret: 'between Portcullis and the identity provider only',
};

/** The common interface of all of them. */
export interface IdentityProvider {
  /** Also its issuer, if it has one. */
  readonly origin: string;
  readonly client: RegisteredClient;
  /** Every token that it ever issued: access, refresh and ID tokens. */
  readonly given: readonly string[];
  /** Registers a redirect URI, exactly as written. Before the first call there is none. */
  registerRedirectUri(uri: string): void;
  /** How many requests it received, by `METHOD /path`, including failed ones. */
  count(endpoint: string): number;
  /** How many refresh requests it received, successful or not. */
  renewals(): number;
  /** Everything that users typed into its sign-in page. */
  readonly typed: readonly string[];
  /** Raw text of all requests: targets, header fields and bodies. */
  received(): string;
  close(): Promise<void>;
}

export interface Listening {
  readonly origin: string;
  readonly given: readonly string[];
  count(endpoint: string): number;
  received(): string;
  close(): Promise<void>;
}

/** Listens on a free port of 127.0.0.1. `create` gets the origin, because documents name it. */
export async function listen(
  create: (origin: string) => RequestListener | Promise<RequestListener>,
): Promise<Listening> {
  const counts = new Map<string, number>();
  const given: string[] = [];
  const heard: string[] = [];
  let answer: RequestListener = (_request, response) => void response.writeHead(503).end();
  const server = createServer((request, response) => {
    const endpoint = `${request.method} ${(request.url ?? '').replace(/\?.*/, '')}`;
    counts.set(endpoint, (counts.get(endpoint) ?? 0) + 1);
    heard.push(`${request.method} ${request.url}`, ...request.rawHeaders);
    // Every reader of the body passes through here.
    const push = request.push.bind(request);
    request.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
      if (chunk !== null) heard.push(String(chunk));
      return push(chunk, encoding);
    };
    watchAnswer(response, (text) => given.push(...tokensIn(text)));
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  answer = await create(origin);
  return {
    origin,
    given,
    count: (endpoint) => counts.get(endpoint) ?? 0,
    received: () => heard.join('\n'),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function watchAnswer(response: ServerResponse, take: (text: string) => void): void {
  const chunks: Buffer[] = [];
  const keep = (chunk: unknown) => {
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk as string));
  };
  const write = response.write.bind(response) as (...all: unknown[]) => boolean;
  const end = response.end.bind(response) as (...all: unknown[]) => ServerResponse;
  response.write = (...all: unknown[]) => {
    keep(all[0]);
    return write(...all);
  };
  response.end = (...all: unknown[]) => {
    keep(all[0]);
    take(Buffer.concat(chunks).toString());
    return end(...all);
  };
}

/** Members or parameters of a token response, in JSON or form-encoded. */
function tokensIn(text: string): readonly string[] {
  const found = text.matchAll(/"(?:access|refresh|id)_token"\s*:\s*"([^"]+)"|\baccess_token=([\w.~-]+)/g);
  return [...found].map(([, member, parameter]) => member ?? parameter ?? '');
}

/**
 * The sign-in and consent page of an identity provider. It checks no password: typing a name signs in as that user.
 * @param action where the form is posted, with `login`, `password` and `answer` (`allow` or `deny`)
 */
export function signInPage(title: string, action: string): string {
  return `<!doctype html><html lang="en"><title>${title}</title><h1>${title}</h1>
<form method="post" action="${action.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}">
<label>Login <input name="login" value=""></label>
<label>Password <input name="password" type="password" value=""></label>
<button name="answer" value="allow">Sign in and allow</button>
<button name="answer" value="deny">Deny</button>
</form></html>`;
}
