/** The steps of an examination, in a client's order: each runs the client's own step and checks what was recorded of it. */
import { type DiscoveryResult, planScopes, sanitizeText } from '@portcullis/client';
import { ServerError } from '../client/mcp-client.ts';
import { HttpResponseError } from '../client/transport/responses.ts';
import { isObject, parseJson } from '../json.ts';
import { isSuccess } from './checks.ts';
import { askClaims, inferClaims } from './claims.ts';
import { explainDiscovery, explainRegistration } from './decisions.ts';
import type { ExaminationContext } from './examination.ts';
import { explainCallFailure, NO_TOOLS } from './gateway.ts';
import { probeMcp } from './mcp-probe.ts';
import { findObstacle, findProtectedOperation, sendOrStream } from './no-challenge.ts';
import type { Exchange } from './recorder.ts';
import { ExaminationStopped, type Problem } from './report-builder.ts';
import { type Attempt, attempt, failureOf, requestLimits, sendMcpRequest } from './requests.ts';

/** Nothing listens there, and no browser is redirected there. */
const UNUSED_REDIRECT_URI = 'http://127.0.0.1:47471/callback';

export async function examineRequest(context: ExaminationContext): Promise<void> {
  const { report, server } = context;
  report.startStep('request');
  const first = await sendOrStream(context, server);
  report.summarize('request', `a request without a token is answered with status ${first.status}`);
  const obstacle = first.status === 401 ? null : await findObstacle(context, first);
  if (obstacle !== null) {
    report.addProblem(obstacle);
    throw new ExaminationStopped();
  }
  const operation = first.status === 200 ? await findProtectedOperation(context) : null;
  if (operation !== null) {
    const summary = 'a request without a token is answered with status 401, except public operations';
    report.summarize('request', summary);
  }
  const challenged = operation ?? first;
  report.check('challenge', challenged);
  if (challenged.status !== 401) return;
  const isStream = challenged.method === 'GET';
  const rejected = await sendMcpRequest(context, {
    token: 'portcullis-doctor',
    ...(isStream && { message: null }),
  });
  report.check('invalidToken', rejected);
}

/** Runs a step of the client, and returns what was recorded of it. */
async function follow<T>({ recorder }: ExaminationContext, step: () => Promise<T>) {
  const since = recorder.exchanges.length;
  const result: Attempt<T> = await attempt(step);
  return { result, requested: recorder.exchanges.slice(since) };
}

export async function examineDiscovery(context: ExaminationContext): Promise<DiscoveryResult> {
  const { client, report, options } = context;
  report.startStep('resource metadata');
  const { result, requested } = await follow(context, () => client.discover());
  const isOld = 'value' in result && result.value.resourceMetadata === null;
  if ('value' in result) report.setClaims(inferClaims(result.value.profile));
  // The first request is for the challenge.
  const ofResource = requested.slice(1).filter(({ step }) => step === 'resource metadata');
  const document = ofResource.find(isSuccess);
  const refused = ofResource.find(({ status }) => status === 401 || status === 403);
  report.check('resourceMetadata', document ?? refused);
  const found = document === undefined ? 'not found' : `found at ${document.url}`;
  report.summarize(
    'resource metadata',
    isOld ? 'none, so the server is its own authorization server' : found,
  );

  const ofServers = requested.filter(({ step }) => step === 'authorization server');
  if (ofServers.length > 0) {
    report.startStep('authorization server');
    for (const exchange of ofServers) report.check('serverMetadata', exchange);
    reportMissingMetadata(context, ofServers);
  }
  if ('failure' in result) return report.fail(result.failure);
  const discovery = result.value;
  report.summarize('authorization server', discovery.issuer);
  const { scopes, reasons } = planScopes(discovery, options.scopes ?? {});
  report.addDecisions(...explainDiscovery(discovery, options.revision !== undefined), {
    about: 'scopes',
    choice: scopes.join(' ') || 'none',
    reason: reasons.join('; '),
  });
  return discovery;
}

/** Reports each authorization server without metadata at any location, also where the client uses another one. */
function reportMissingMetadata({ report }: ExaminationContext, exchanges: readonly Exchange[]): void {
  for (const [origin, tried] of Map.groupBy(exchanges, ({ url }) => new URL(url).origin)) {
    // One that is out of order, or cannot be reached, is reported as such.
    if (!tried.every(({ status }) => status !== null && status >= 300 && status < 500)) continue;
    const locations = tried.map(({ url, status }) => `${url} (${status})`).join(', ');
    report.addViolations({
      'AS-META-20': `The authorization server ${origin} has no metadata: ${locations}.`,
    });
  }
}

/** The oldest revision expects an authorization server there. */
const NO_METADATA: Problem = {
  owner: 'server',
  message: 'The server publishes no metadata, and there is no authorization server at its origin.',
  remedy: 'Serve protected resource metadata that names the authorization server.',
};

/** Goes as far as possible without a user. */
export async function examineAuthorization(
  context: ExaminationContext,
  discovery: DiscoveryResult,
): Promise<void> {
  const { client, events, report, oauthFetch, options } = context;
  report.startStep('registration');
  const { result, requested } = await follow(context, () =>
    client.begin({ redirectUri: UNUSED_REDIRECT_URI }),
  );
  const { registration_endpoint: endpoint } = discovery.metadata;
  const registration = requested.find(({ url, method }) => method === 'POST' && url === endpoint);
  report.check('registration', registration);
  const registered = events.findLast((event) => event.type === 'client.registered');
  if (registered !== undefined) {
    const { method, clientId } = registered;
    report.addDecisions(explainRegistration(method, clientId, discovery, options.registration ?? {}));
    report.summarize('registration', `${method}, as ${clientId}`);
  }
  if (discovery.endpoints === 'default-paths' && registration?.status === 404) {
    report.addProblem(NO_METADATA);
    throw new ExaminationStopped();
  }
  if ('failure' in result) return report.fail(result.failure);

  report.startStep('authorization');
  const page = await attempt(() => oauthFetch(result.value, requestLimits()));
  if ('failure' in page) return report.fail(page.failure);
  const text = await page.value.text().catch(() => '');
  const refusal = describeRefusal(page.value, text);
  if (refusal !== null) {
    report.addViolations({ 'AS-AUTHZ-1': refusal });
    throw new ExaminationStopped();
  }
  const summary = 'the authorization endpoint accepts the request; the next step requires a user';
  report.summarize('authorization', summary);
}

/** @returns `null` if the authorization endpoint accepts the request of a browser that is not signed in */
function describeRefusal({ status, headers }: Response, page: string): string | null {
  const link = status < 400 ? headers.get('location') : findLinkBack(page);
  const parameters = URL.parse(link ?? '', UNUSED_REDIRECT_URI)?.searchParams;
  const json = parseJson(page);
  const response = parameters?.has('error') ? Object.fromEntries(parameters) : isObject(json) ? json : {};
  const { error, error_description: description } = response;
  const details = [error, description].filter((part) => typeof part === 'string');
  if (status < 400 && details.length === 0) return null;
  const advice =
    error === 'invalid_target'
      ? ' The authorization server does not know this server: add it there as a resource, with the URL from its metadata.'
      : '';
  const why = details.length === 0 ? '' : `: ${details.map(sanitizeText).join(', ').replace(/\.$/, '')}`;
  const how = status < 400 ? 'refused the request' : `answered with status ${status}`;
  return `The authorization endpoint ${how}${why}.${advice}`;
}

/** Servers show a page instead of redirecting to a client that is not trusted: the error is in its link back to the client. */
function findLinkBack(page: string): string | null {
  const links = page.matchAll(/ href="([^"]*)"/g).map(([, link = '']) => link.replaceAll('&amp;', '&'));
  return links.find((link) => link.startsWith(UNUSED_REDIRECT_URI) && /[?&]error=/.test(link)) ?? null;
}

export async function examineTokens(context: ExaminationContext, discovery: DiscoveryResult): Promise<void> {
  const { client, report } = context;
  report.startStep('token');
  const { result, requested } = await follow(context, () => client.signIn());
  const response = requested.findLast(({ url }) => url === discovery.metadata.token_endpoint);
  report.check('tokenResponse', response);
  if ('failure' in result) {
    if (response !== undefined) return report.fail(result.failure);
    report.summarize('authorization', 'the authorization endpoint accepted the request but returned no code');
    return report.fail(result.failure, 'authorization');
  }
  const { scheme, scopes, refreshable } = result.value;
  report.summarize('authorization', 'the user allowed the request');
  const granted = `scopes ${scopes.join(' ') || 'by default'}`;
  report.summarize('token', `${scheme}, ${granted}, ${refreshable ? 'with' : 'without'} refresh token`);
}

/** @param isGateway whether a gateway responds in front of the server */
export async function examineCall(
  context: ExaminationContext,
  { issuer }: DiscoveryResult,
  isGateway: boolean,
): Promise<void> {
  const { client, report, options, recorder, server, version } = context;
  report.startStep('call');
  const since = recorder.exchanges.length;
  let transport = '';
  const target = {
    ...{ url: server, fetch: client.fetch, version },
    acceptEndpoint(endpoint: URL) {
      transport = ' over HTTP+SSE';
      context.acceptEndpoint(endpoint);
    },
  };
  try {
    const { revision, listed, request, close } = await probeMcp(target);
    const claims = options.revision === undefined ? await askClaims(target, [revision, ...listed]) : null;
    if (claims !== null) report.setClaims(claims);
    const result = await request('tools/list');
    await close();
    const tools = isObject(result) ? result['tools'] : undefined;
    if (isGateway && Array.isArray(tools) && tools.length === 0) report.addProblem(NO_TOOLS);
    report.summarize('call', `tools/list succeeded${transport}, with MCP revision ${revision}`);
  } catch (error) {
    if (recorder.exchanges.slice(since).some(({ status }) => status === 401)) {
      report.addViolations({ 'S-AUD-1': `The server rejects the token that ${issuer} issued for it.` });
      throw new ExaminationStopped();
    }
    if (!(error instanceof ServerError || error instanceof HttpResponseError))
      return report.fail(failureOf(error));
    report.summarize('call', 'the token was accepted, but tools/list failed');
    const last = recorder.exchanges.slice(since).findLast(({ url }) => url === new URL(server).href);
    const explanation = explainCallFailure(isGateway ? (last?.status ?? null) : null, error);
    report.addProblem({ message: `tools/list failed: ${error.message}`, ...explanation });
  }
}
