/** The steps of an examination, in a client's order; each checks the recorded responses against the rules. */
import { type DiscoveryResult, planScopes } from '@portcullis/client';
import { parseChallenges, profileD, serverMetadataUrls } from '@portcullis/protocol';
import { ServerError } from '../client/mcp-client.ts';
import { HttpResponseError } from '../client/transport/responses.ts';
import { isObject } from '../json.ts';
import { explainCallFailure, noTools } from './call-failure.ts';
import {
  checkAuthorizationResponse,
  checkChallenge,
  checkInvalidToken,
  checkRegistration,
  checkResourceMetadata,
  checkServerMetadata,
  checkTokenResponse,
} from './checks.ts';
import { inferClaims, probeClaims } from './claims.ts';
import { explainDiscovery, explainRegistration } from './decisions.ts';
import type { ExaminationContext } from './examination.ts';
import { probeMcp } from './mcp-probe.ts';
import { findObstacle, findProtectedOperation, sendOrStream } from './no-challenge.ts';
import {
  describeMetadata,
  isServerMetadata,
  issuersOf,
  refusalOnPage,
  refusalsIn,
} from './read-exchanges.ts';
import type { Exchange } from './report.ts';
import { ExaminationStopped } from './report-builder.ts';
import { attempt, failureOf, requestLimits, sendMcpRequest } from './requests.ts';

/** Nothing listens there, and no browser is redirected there. */
const UNUSED_REDIRECT_URI = 'http://127.0.0.1:47471/callback';

/** @returns the metadata URL in the challenge */
export async function examineRequest(context: ExaminationContext): Promise<string | null> {
  const { report, server } = context;
  report.startStep('request');
  const exchange = await sendOrStream(context, server);
  report.summarize('request', `a request without a token is answered with status ${exchange.status}`);
  const obstacle = exchange.status === 401 ? null : await findObstacle(context, exchange);
  if (obstacle !== null) {
    report.addFinding(obstacle);
    throw new ExaminationStopped();
  }
  const challenged = (exchange.status === 200 ? await findProtectedOperation(context) : null) ?? exchange;
  if (challenged !== exchange)
    report.summarize(
      'request',
      'a request without a token is answered with status 401, except public operations',
    );
  report.addViolations('request', checkChallenge(challenged));
  if (challenged.status === 401) {
    const method = challenged.method === 'GET' ? 'GET' : 'POST';
    const rejected = await sendMcpRequest(context, { method, token: 'portcullis-doctor' });
    report.addViolations('request', checkInvalidToken(rejected));
  }
  const challenges = parseChallenges(challenged.headers['www-authenticate']);
  return challenges.map(({ parameters }) => parameters.get('resource_metadata')).find(Boolean) ?? null;
}

export async function examineDiscovery(
  context: ExaminationContext,
  announced: string | null,
): Promise<DiscoveryResult> {
  const { client, report, options, recorder, server } = context;
  report.startStep('resource metadata');
  const since = recorder.exchanges.length;
  const found = await attempt(() => client.discover());
  const requested = recorder.exchanges.slice(since);
  const about = requested.filter(
    ({ url }) => url.includes('/.well-known/oauth-protected-resource') || url === announced,
  );
  const isOld = !('failure' in found) && found.value.profile.discovery === 'server-origin';
  if (!('failure' in found)) report.setClaims(inferClaims(found.value.profile));
  if (!isOld) report.addViolations('resource metadata', checkResourceMetadata(about, server, announced));
  report.summarize('resource metadata', describeMetadata(about, isOld));

  const metadata = requested.filter(({ url }) => isServerMetadata(url));
  if (metadata.length > 0) {
    report.startStep('authorization server');
    for (const issuer of issuersOf(about, server)) {
      const locations = serverMetadataUrls(issuer, ['oauth', 'oidc']);
      const responses = metadata.filter(({ url }) => locations.includes(url));
      if (responses.length > 0)
        report.addViolations('authorization server', checkServerMetadata(responses, issuer));
    }
  }
  if ('failure' in found) {
    if (metadata.length > 0) report.setRevision(profileD.revision);
    return report.fail(metadata.length > 0 ? 'authorization server' : 'resource metadata', found.failure);
  }
  const { profile, issuer } = found.value;
  report.setRevision(profile.revision);
  report.summarize('authorization server', issuer);
  const { scopes, reasons } = planScopes(found.value, options.scopes ?? {});
  report.addDecisions(
    ...explainDiscovery(found.value, options.revision !== undefined, refusalsIn(requested)),
    { about: 'scopes', choice: scopes.join(' ') || 'none', reason: reasons.join('; ') },
  );
  return found.value;
}

/** Goes as far as possible without a user. */
export async function examineAuthorization(
  context: ExaminationContext,
  discovery: DiscoveryResult,
): Promise<void> {
  const { client, events, report, oauthFetch, options, recorder } = context;
  report.startStep('registration');
  const since = recorder.exchanges.length;
  const started = await attempt(() => client.begin({ redirectUri: UNUSED_REDIRECT_URI }));
  const requested = recorder.exchanges.slice(since);
  const registration = requested.find(
    ({ url, method }) => method === 'POST' && url === discovery.metadata.registration_endpoint,
  );
  if (registration !== undefined) report.addViolations('registration', checkRegistration(registration));
  const registered = events.findLast((event) => event.type === 'client.registered');
  if (registered !== undefined) {
    report.addDecisions(
      explainRegistration(registered.method, registered.clientId, discovery, options.registration ?? {}),
    );
    report.summarize('registration', `${registered.method}, as ${registered.clientId}`);
  }
  if ('failure' in started) return report.fail('registration', started.failure);

  report.startStep('authorization');
  const page = await attempt(() => oauthFetch(started.value, requestLimits()));
  if ('failure' in page) return report.fail('authorization', page.failure);
  const shown = await attempt(() => page.value.text());
  const response = recorder.exchanges.at(-1);
  if (response !== undefined) {
    const refusal = 'failure' in shown ? null : refusalOnPage(shown.value, UNUSED_REDIRECT_URI);
    report.addViolations('authorization', checkAuthorizationResponse(response, discovery.issuer, refusal));
  }
  const isRefused = report.hasError('authorization');
  report.summarize(
    'authorization',
    isRefused
      ? 'the client stops here'
      : 'the authorization endpoint accepts the request; the next step requires a user',
  );
  if (isRefused) throw new ExaminationStopped();
}

export async function examineTokens(
  { client, report, recorder }: ExaminationContext,
  discovery: DiscoveryResult,
): Promise<void> {
  report.startStep('token');
  const since = recorder.exchanges.length;
  const session = await attempt(() => client.signIn());
  const response = recorder.exchanges
    .slice(since)
    .findLast(({ url }) => url === discovery.metadata.token_endpoint);
  if (response !== undefined) report.addViolations('token', checkTokenResponse(response));
  if ('failure' in session) {
    if (response !== undefined) return report.fail('token', session.failure);
    report.summarize('authorization', 'the authorization endpoint accepted the request but returned no code');
    return report.fail('authorization', session.failure);
  }
  const { scheme, scopes, refreshable } = session.value;
  report.summarize('authorization', 'the user allowed the request');
  report.summarize(
    'token',
    `${scheme}, scopes ${scopes.join(' ') || 'by default'}, ${refreshable ? 'with' : 'without'} refresh token`,
  );
}

/** @param isGateway whether a gateway responds in front of the server */
export async function examineCall(
  context: ExaminationContext,
  discovery: DiscoveryResult,
  isGateway: boolean,
): Promise<void> {
  const { client, report, options, recorder, server, version, acceptEndpoint } = context;
  const target = { url: server, fetch: client.fetch, version, acceptEndpoint };
  report.startStep('call');
  const since = recorder.exchanges.length;
  try {
    const connection = await probeMcp(target);
    const { revision } = connection;
    const claims = options.revision === undefined ? await probeClaims(target) : null;
    if (claims !== null) report.setClaims(claims);
    report.addDecisions({
      about: 'MCP revision',
      choice: revision,
      reason: 'the newest that both sides support',
    });
    const listed = await connection.request('tools/list');
    await connection.close();
    if (isGateway && isEmptyList(listed)) report.addFinding(noTools);
    const transport = isLegacy(recorder.exchanges.slice(since), server) ? ' over HTTP+SSE' : '';
    report.summarize('call', `tools/list succeeded${transport}, with MCP revision ${revision}`);
  } catch (error) {
    const refused = recorder.exchanges.slice(since).find(({ status }) => status === 401);
    if (refused !== undefined) {
      const message = `The server rejects the token that ${discovery.issuer} issued for it.`;
      report.addViolations('call', [{ rule: 'S-AUD-1', message }]);
      report.summarize('call', 'the client stops here');
      throw new ExaminationStopped();
    }
    const isResponse = error instanceof ServerError || error instanceof HttpResponseError;
    if (!isResponse) return report.fail('call', failureOf(error));
    const message = `tools/list failed: ${error.message}`;
    report.summarize('call', 'the token was accepted, but tools/list failed');
    const status = recorder.exchanges.slice(since).findLast(({ party }) => party === 'server')?.status;
    report.addFinding({ message, ...explainCallFailure(status ?? null, error) });
  }
}

function isEmptyList(result: unknown): boolean {
  return isObject(result) && Array.isArray(result['tools']) && result['tools'].length === 0;
}

/** Whether messages were sent to a URL other than the server's: only HTTP+SSE has one. */
function isLegacy(exchanges: readonly Exchange[], server: string): boolean {
  return exchanges.some(
    ({ party, method, url }) => party === 'server' && method === 'POST' && url !== new URL(server).href,
  );
}
