/** The steps of a client's way, one after the other: each is taken, written down, and held against the rules. */
import {
  type Client,
  type ClientEvent,
  type DiscoveryResult,
  type Fetch,
  planScopes,
} from '@portcullis/client';
import type { NodeClientOptions } from '@portcullis/client/node';
import { parseChallenges, profileD, serverMetadataUrls } from '@portcullis/protocol';
import { Refusal } from '../client/answers.ts';
import { ServerError } from '../client/mcp-client.ts';
import { attempt, failureOf } from './attempt.ts';
import {
  checkAuthorizationAnswer,
  checkBadToken,
  checkChallenge,
  checkRegistration,
  checkResourceMetadata,
  checkServerMetadata,
  checkTokenAnswer,
} from './checks.ts';
import { askClaims, evidentClaims } from './claims.ts';
import { explainDiscovery, explainRegistration, explainScopes } from './decisions.ts';
import { probeMcp } from './mcp-probe.ts';
import { Ended, type Notebook } from './notebook.ts';
import { describeMetadata, isServerMetadata, issuersOf, refusalOnPage, refusalsIn } from './reading.ts';
import type { Recorder } from './recorder.ts';
import type { Exchange } from './report.ts';

/** What a step is taken with. */
export interface Way {
  readonly server: string;
  readonly client: Client;
  /** Of the client. */
  readonly options: NodeClientOptions;
  /** What the client has told. */
  readonly events: readonly ClientEvent[];
  /** To the server. */
  readonly fetch: Fetch;
  /** To authorization servers. */
  readonly oauthFetch: Fetch;
  readonly recorder: Recorder;
  readonly notebook: Notebook;
  /** Of this program. */
  readonly version: string;
}

/** Milliseconds for one request. */
const TIMEOUT = 15_000;
/** Nobody listens there, and nobody is sent there. */
const NOBODY = 'http://127.0.0.1:47471/callback';

/** Answers where the server says that its metadata is. */
export async function lookAtRequest(way: Way): Promise<string | null> {
  const { notebook } = way;
  notebook.begin('request');
  const exchange = await send(way, null);
  notebook.note('request', checkChallenge(exchange));
  if (exchange.status === 401) notebook.note('request', checkBadToken(await send(way, 'portcullis-doctor')));
  notebook.summarize('request', `a request without a token is answered with status ${exchange.status}`);
  const challenges = parseChallenges(exchange.headers['www-authenticate']);
  return challenges.map(({ parameters }) => parameters.get('resource_metadata')).find(Boolean) ?? null;
}

export async function lookAtDiscovery(way: Way, announced: string | null): Promise<DiscoveryResult> {
  const { client, notebook, options, recorder, server } = way;
  const { revision: pinned } = options;
  notebook.begin('resource metadata');
  const since = recorder.exchanges.length;
  const found = await attempt(() => client.discover());
  const asked = recorder.exchanges.slice(since);
  const about = asked.filter(
    ({ url }) => url.includes('/.well-known/oauth-protected-resource') || url === announced,
  );
  const isOld = !('failure' in found) && found.value.profile.discovery === 'server-origin';
  if (!('failure' in found)) notebook.claim(evidentClaims(found.value.profile));
  if (!isOld) notebook.note('resource metadata', checkResourceMetadata(about, server, announced));
  notebook.summarize('resource metadata', describeMetadata(about, isOld));

  const metadata = asked.filter(({ url }) => isServerMetadata(url));
  if (metadata.length > 0) {
    notebook.begin('authorization server');
    const found = issuersOf(about, server);
    for (const issuer of found) {
      const places = serverMetadataUrls(issuer, ['oauth', 'oidc']);
      const answers = metadata.filter(({ url }) => places.includes(url));
      if (answers.length > 0) notebook.note('authorization server', checkServerMetadata(answers, issuer));
    }
  }
  if ('failure' in found) {
    if (metadata.length > 0) notebook.meet(profileD.revision);
    return notebook.end(metadata.length > 0 ? 'authorization server' : 'resource metadata', found.failure);
  }
  const { profile, issuer } = found.value;
  notebook.meet(profile.revision);
  notebook.summarize('authorization server', issuer);
  notebook.decide(...explainDiscovery(found.value, pinned !== undefined, refusalsIn(asked)));
  notebook.decide(explainScopes(planScopes(found.value, options.scopes ?? {})));
  return found.value;
}

/** Up to where a person is needed. */
export async function lookAtAuthorization(way: Way, discovery: DiscoveryResult): Promise<void> {
  const { client, events, notebook, oauthFetch, options, recorder } = way;
  notebook.begin('registration');
  const since = recorder.exchanges.length;
  const begun = await attempt(() => client.begin({ redirectUri: NOBODY }));
  const asked = recorder.exchanges.slice(since);
  const registration = asked.find(
    ({ url, method }) => method === 'POST' && url === discovery.metadata.registration_endpoint,
  );
  if (registration !== undefined) notebook.note('registration', checkRegistration(registration));
  const registered = events.findLast((event) => event.type === 'client.registered');
  if (registered !== undefined) {
    notebook.decide(
      explainRegistration(registered.method, registered.clientId, discovery, options.registration ?? {}),
    );
    notebook.summarize('registration', `${registered.method}, as ${registered.clientId}`);
  }
  if ('failure' in begun) return notebook.end('registration', begun.failure);

  notebook.begin('authorization');
  const page = await attempt(() =>
    oauthFetch(begun.value, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT) }),
  );
  if ('failure' in page) return notebook.end('authorization', page.failure);
  const shown = await attempt(() => page.value.text());
  const answer = recorder.exchanges.at(-1);
  if (answer !== undefined) {
    const refusal = 'failure' in shown ? null : refusalOnPage(shown.value, NOBODY);
    notebook.note('authorization', checkAuthorizationAnswer(answer, discovery.issuer, refusal));
  }
  const isRefused = notebook.isFaulty('authorization');
  notebook.summarize(
    'authorization',
    isRefused
      ? 'the client stops here'
      : 'the authorization endpoint takes the request; from here on a person is needed',
  );
  if (isRefused) throw new Ended();
}

export async function lookAtTokens(
  { client, notebook, recorder }: Way,
  discovery: DiscoveryResult,
): Promise<void> {
  notebook.begin('token');
  const since = recorder.exchanges.length;
  const session = await attempt(() => client.signIn());
  const answer = recorder.exchanges
    .slice(since)
    .findLast(({ url }) => url === discovery.metadata.token_endpoint);
  if (answer !== undefined) notebook.note('token', checkTokenAnswer(answer));
  if ('failure' in session) {
    if (answer !== undefined) return notebook.end('token', session.failure);
    notebook.summarize(
      'authorization',
      'the authorization endpoint takes the request, and no code came back',
    );
    return notebook.end('authorization', session.failure);
  }
  const { scheme, scopes, refreshable } = session.value;
  notebook.summarize('authorization', 'the person has allowed it');
  notebook.summarize(
    'token',
    `${scheme}, scopes ${scopes.join(' ') || 'of the default'}, ${refreshable ? 'with' : 'without'} refresh token`,
  );
}

export async function lookAtCall(way: Way, discovery: DiscoveryResult): Promise<void> {
  const { client, notebook, options, recorder, server, version } = way;
  notebook.begin('call');
  const since = recorder.exchanges.length;
  try {
    const connection = await probeMcp({ url: server, fetch: client.fetch, version });
    const { revision: wire } = connection;
    const claims = options.revision === undefined ? await askClaims(server, client.fetch, version) : null;
    if (claims !== null) notebook.claim(claims);
    notebook.decide({ about: 'wire', choice: wire, reason: 'the newest that both sides speak' });
    await connection.request('tools/list');
    await connection.close();
    notebook.summarize('call', `tools/list was answered, by the wire of ${wire}`);
  } catch (error) {
    const refused = recorder.exchanges.slice(since).find(({ status }) => status === 401);
    if (refused !== undefined) {
      notebook.note('call', [
        { rule: 'S-AUD-1', what: `The server refuses the token that ${discovery.issuer} issued for it.` },
      ]);
      notebook.summarize('call', 'the client stops here');
      throw new Ended();
    }
    const isAnswer = error instanceof ServerError || error instanceof Refusal;
    if (!isAnswer) return notebook.end('call', failureOf(error));
    const what = `tools/list was not answered well: ${error.message}`;
    notebook.summarize('call', 'the token was admitted, and tools/list not answered well');
    notebook.stop({
      ...{ step: 'call', requirement: null, gravity: 'advice', owner: 'server', what, revisions: [] },
      temporary: false,
      remedy: 'Nothing is wrong with the authorization: look at the server.',
    });
  }
}

/** One request of the protocol, with or without a token. */
async function send(
  { fetch, notebook, recorder, server, version }: Way,
  token: string | null,
): Promise<Exchange> {
  const body = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'portcullis-doctor', version },
    },
  };
  const sent = await attempt(() =>
    fetch(server, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(token !== null && { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT),
    }),
  );
  if ('failure' in sent) return notebook.end('request', sent.failure);
  await sent.value.body?.cancel();
  const exchange = recorder.exchanges.at(-1);
  if (exchange === undefined) throw new TypeError('Every request is written down.');
  return exchange;
}
