/** The examination: goes the way of a client step by step, writes everything down, and judges it. */
import {
  ClientError,
  type ClientEvent,
  createMemoryStore,
  type Discovery,
  planScopes,
} from '@portcullis/client';
import {
  createGuardedFetch,
  createNodeClient,
  explainOutbound,
  type NodeClientOptions,
} from '@portcullis/client/node';
import { parseChallenges, profileD, serverMetadataUrls } from '@portcullis/protocol';
import { converse, ServerError } from '../client/conversation.ts';
import { Refusal } from '../client/http-wire.ts';
import { readServerUrl } from '../client/server-url.ts';
import {
  type Breach,
  checkAuthorizationAnswer,
  checkBadToken,
  checkChallenge,
  checkRegistration,
  checkResourceMetadata,
  checkServerMetadata,
  checkTokenAnswer,
} from './checks.ts';
import { askClaims, evidentClaims, pinnedClaims, unknownClaims } from './claims.ts';
import { explainClaims, explainDiscovery, explainRegistration, explainScopes } from './decisions.ts';
import { isFirst, judge, type StepBreach } from './judgement.ts';
import { describeMetadata, isServerMetadata, issuersOf, partyIn, refusalsIn } from './reading.ts';
import { createRecorder } from './recorder.ts';
import type { Decision, Exchange, Finding, Report, Step, StepName } from './report.ts';
import { findingOf } from './stops.ts';

export interface ExaminationOptions {
  /** Of the client that goes the way. Its store is memory: nothing is kept. */
  readonly client: NodeClientOptions;
  /** Goes on where a person is needed. */
  readonly signIn: boolean;
  readonly version: string;
  /** Hears what is looked at now. */
  readonly begin?: (step: StepName) => void;
}

const STEPS: readonly StepName[] = [
  'request',
  'resource metadata',
  'authorization server',
  'registration',
  'authorization',
  'token',
  'call',
];

/** Milliseconds for one request to the server. */
const TIMEOUT = 15_000;
/** Nobody listens there, and nobody is sent there. */
const NOBODY = 'http://127.0.0.1:47471/callback';

/** The examination has ended: there is no way on. */
class Ended extends Error {}

/** @throws ClientError for options that make no client. */
export async function examine(options: ExaminationOptions): Promise<Report> {
  const { version } = options;
  const server = readServerUrl(options.client.serverUrl);
  let looking: StepName = 'request';
  const recorder = createRecorder(partyIn(server), ({ href }) =>
    looking === 'resource metadata' && isServerMetadata(href) ? 'authorization server' : looking,
  );
  const fetch = recorder.record(options.client.fetch ?? globalThis.fetch);
  const { trustedOrigins = [] } = options.client;
  const oauthFetch = recorder.record(
    options.client.oauthFetch ??
      createGuardedFetch({ serverUrl: server, trustedOrigins, timeout: TIMEOUT, bytes: 262_144 }),
  );
  const events: ClientEvent[] = [];
  const client = createNodeClient({
    ...options.client,
    ...{ store: createMemoryStore(), fetch, oauthFetch, explainFailure: explainOutbound },
    onEvent(event) {
      events.push(event);
      options.client.onEvent?.(event);
    },
  });
  const breaches: StepBreach[] = [];
  /** What stopped the client, where no rule says it. */
  const stops: Finding[] = [];
  const decisions: Decision[] = [];
  const summaries = new Map<StepName, string>();
  const { revision: pinned } = options.client;
  let claims = pinned === undefined ? unknownClaims : pinnedClaims(pinned);
  let revision: string | null = pinned ?? null;

  try {
    const announced = await lookAtRequest();
    const discovery = await lookAtDiscovery(announced);
    await lookAtAuthorization(discovery);
    if (options.signIn) {
      await lookAtTokens(discovery);
      await lookAtCall(discovery);
    }
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
  } finally {
    if (options.signIn) await client.signOut();
  }
  return {
    server,
    at: new Date().toISOString(),
    revision,
    steps: STEPS.map(stepOf),
    ...{ claims, decisions: [explainClaims(claims), ...decisions], findings: findings() },
    exchanges: recorder.exchanges,
  };

  function findings(): readonly Finding[] {
    return [...judge(breaches, claims), ...stops].filter(isFirst);
  }

  /** Answers where the server says that its metadata is. */
  async function lookAtRequest(): Promise<string | null> {
    begin('request');
    const exchange = await send('request', null);
    note('request', checkChallenge(exchange));
    if (exchange.status === 401) note('request', checkBadToken(await send('request', 'portcullis-doctor')));
    summaries.set('request', `a request without a token is answered with status ${exchange.status}`);
    const challenges = parseChallenges(exchange.headers['www-authenticate']);
    return challenges.map(({ parameters }) => parameters.get('resource_metadata')).find(Boolean) ?? null;
  }

  async function lookAtDiscovery(announced: string | null): Promise<Discovery> {
    begin('resource metadata');
    const since = recorder.exchanges.length;
    const found = await attempt(() => client.discover());
    const asked = recorder.exchanges.slice(since);
    const about = asked.filter(
      ({ url }) => url.includes('/.well-known/oauth-protected-resource') || url === announced,
    );
    const isOld = !('failure' in found) && found.value.profile.discovery === 'server-origin';
    if (pinned === undefined && !('failure' in found)) claims = evidentClaims(found.value.profile);
    if (!isOld) note('resource metadata', checkResourceMetadata(about, server, announced));
    summaries.set('resource metadata', describeMetadata(about, isOld));

    const metadata = asked.filter(({ url }) => isServerMetadata(url));
    if (metadata.length > 0) {
      begin('authorization server');
      const found = issuersOf(about, server);
      for (const issuer of found) {
        const places = serverMetadataUrls(issuer, ['oauth', 'oidc']);
        const answers = metadata.filter(({ url }) => places.includes(url));
        if (answers.length > 0) note('authorization server', checkServerMetadata(answers, issuer));
      }
    }
    if ('failure' in found) {
      revision ??= metadata.length > 0 ? profileD.revision : null;
      return end(metadata.length > 0 ? 'authorization server' : 'resource metadata', found.failure);
    }
    const { profile, issuer } = found.value;
    revision = profile.revision;
    summaries.set('authorization server', issuer);
    decisions.push(...explainDiscovery(found.value, pinned !== undefined, refusalsIn(asked)));
    decisions.push(explainScopes(planScopes(found.value, options.client.scopes ?? {})));
    return found.value;
  }

  /** Up to where a person is needed. */
  async function lookAtAuthorization(discovery: Discovery): Promise<void> {
    begin('registration');
    const since = recorder.exchanges.length;
    const begun = await attempt(() => client.begin({ redirectUri: NOBODY }));
    const asked = recorder.exchanges.slice(since);
    const registration = asked.find(
      ({ url, method }) => method === 'POST' && url === discovery.metadata.registration_endpoint,
    );
    if (registration !== undefined) note('registration', checkRegistration(registration));
    const registered = events.findLast((event) => event.type === 'registered');
    if (registered !== undefined) {
      decisions.push(
        explainRegistration(
          registered.way,
          registered.clientId,
          discovery,
          options.client.registration ?? {},
        ),
      );
      summaries.set('registration', `${registered.way}, as ${registered.clientId}`);
    }
    if ('failure' in begun) return end('registration', begun.failure);

    begin('authorization');
    const page = await attempt(() =>
      oauthFetch(begun.value, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT) }),
    );
    if ('failure' in page) return end('authorization', page.failure);
    await page.value.body?.cancel();
    const answer = recorder.exchanges.at(-1);
    if (answer !== undefined) note('authorization', checkAuthorizationAnswer(answer, discovery.issuer));
    summaries.set(
      'authorization',
      'the authorization endpoint takes the request; from here on a person is needed',
    );
    if (findings().some(({ step, gravity }) => step === 'authorization' && gravity === 'fault'))
      throw new Ended();
  }

  async function lookAtTokens(discovery: Discovery): Promise<void> {
    begin('token');
    const since = recorder.exchanges.length;
    const session = await attempt(() => client.signIn());
    const answer = recorder.exchanges
      .slice(since)
      .findLast(({ url }) => url === discovery.metadata.token_endpoint);
    if (answer !== undefined) note('token', checkTokenAnswer(answer));
    if ('failure' in session) return end(answer === undefined ? 'authorization' : 'token', session.failure);
    const { scheme, scopes, refreshable } = session.value;
    summaries.set('authorization', 'the person has allowed it');
    summaries.set(
      'token',
      `${scheme}, scopes ${scopes.join(' ') || 'of the default'}, ${refreshable ? 'with' : 'without'} refresh token`,
    );
  }

  async function lookAtCall(discovery: Discovery): Promise<void> {
    begin('call');
    const since = recorder.exchanges.length;
    try {
      const conversation = await converse({ url: server, fetch: client.fetch, version });
      const { revision: wire } = conversation;
      if (pinned === undefined) claims = (await askClaims(server, client.fetch, version)) ?? claims;
      decisions.push({ about: 'wire', choice: wire, reason: 'the newest that both sides speak' });
      await conversation.ask('tools/list');
      await conversation.close();
      summaries.set('call', `tools/list was answered, by the wire of ${wire}`);
    } catch (error) {
      const refused = recorder.exchanges.slice(since).find(({ status }) => status === 401);
      if (refused !== undefined) {
        note('call', [
          { rule: 'S-AUD-1', what: `The server refuses the token that ${discovery.issuer} issued for it.` },
        ]);
        throw new Ended();
      }
      const isAnswer = error instanceof ServerError || error instanceof Refusal;
      if (!isAnswer) return end('call', failureOf(error));
      const what = `tools/list was not answered well: ${error.message}`;
      stops.push({
        ...{ step: 'call', requirement: null, gravity: 'advice', owner: 'server', what, revisions: [] },
        remedy: 'Nothing is wrong with the authorization: look at the server.',
      });
    }
  }

  function begin(step: StepName): void {
    looking = step;
    summaries.set(step, '');
    options.begin?.(step);
  }

  /** One request of the protocol, with or without a token. */
  async function send(step: StepName, token: string | null): Promise<Exchange> {
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
    if ('failure' in sent) return end(step, sent.failure);
    await sent.value.body?.cancel();
    const exchange = recorder.exchanges.at(-1);
    if (exchange === undefined) throw new TypeError('Every request is written down.');
    return exchange;
  }

  function note(step: StepName, broken: readonly Breach[]): void {
    breaches.push(...broken.map((one) => ({ step, ...one })));
  }

  /** What the client says counts where no rule has said it already. */
  function end(step: StepName, failure: ClientError): never {
    const finding = findingOf(step, failure);
    const isKnown = findings().some(
      ({ gravity, requirement, step: where }) =>
        gravity === 'fault' &&
        (where === step || (requirement !== null && requirement === finding.requirement)),
    );
    if (!isKnown) stops.push(finding);
    if (summaries.get(step) === '') summaries.set(step, 'the client stops here');
    throw new Ended();
  }

  function stepOf(name: StepName): Step {
    const summary = summaries.get(name);
    if (summary === undefined) {
      const person = !options.signIn && (name === 'token' || name === 'call');
      return { name, state: 'skipped', summary: person ? 'a person is needed: --sign-in' : 'not reached' };
    }
    const faulty = findings().some(({ step, gravity }) => step === name && gravity === 'fault');
    return { name, state: faulty ? 'faulty' : 'well', summary };
  }
}

async function attempt<T>(
  work: () => Promise<T>,
): Promise<{ readonly value: T } | { readonly failure: ClientError }> {
  try {
    return { value: await work() };
  } catch (error) {
    return { failure: failureOf(error) };
  }
}

/** What is thrown by `fetch` itself means that nobody was reached. */
function failureOf(error: unknown): ClientError {
  if (error instanceof ClientError) return error;
  const explained = explainOutbound(error);
  if (explained !== null) return explained;
  const isNetwork =
    error instanceof TypeError || (error instanceof DOMException && error.name === 'TimeoutError');
  if (!isNetwork) throw error;
  return new ClientError('unreachable', 'The server could not be reached.', { cause: error });
}
