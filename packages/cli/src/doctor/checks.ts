/** Checks recorded responses against the specification; each violation cites its requirement. */
import { sanitizeText } from '@portcullis/client';
import { coversResource, isSecureUrl, parseChallenges, readWebUrl } from '@portcullis/protocol';
import {
  readAuthorizationServerMetadata,
  readProtectedResourceMetadata,
} from '@portcullis/protocol/documents';
import { isObject, type Json, parseJson } from '../json.ts';
import { mediaTypeOf } from './read-exchanges.ts';
import type { Exchange } from './report.ts';
import type { RuleName } from './rules.ts';

/** A violated rule, and how it was violated. */
export interface Violation {
  readonly rule: RuleName;
  readonly message: string;
}

const violation = (rule: RuleName, message: string): Violation => ({ rule, message });

type Check = readonly [isViolated: boolean, rule: RuleName, message: string];

function violationsOf(checks: readonly Check[]): readonly Violation[] {
  return checks.flatMap(([isViolated, rule, message]) => (isViolated ? [{ rule, message }] : []));
}

/** Checks the response to a request without a token. */
export function checkChallenge({ status, headers }: Exchange): readonly Violation[] {
  if (status !== 401)
    return [violation('S-401-2', `A request without a token was answered with status ${status}.`)];
  const field = headers['www-authenticate'];
  if (field === undefined) return [violation('S-BEAR-66', 'The 401 has no WWW-Authenticate header.')];
  const challenges = parseChallenges(field);
  const bearer = challenges.find(({ scheme }) => ['bearer', 'dpop'].includes(scheme.toLowerCase()));
  if (bearer === undefined)
    return [violation('S-WA-60', 'The WWW-Authenticate header has no Bearer challenge.')];
  const { parameters } = bearer;
  const early = `The challenge says error="${parameters.get('error')}", though no token was sent.`;
  return violationsOf([
    [challenges[0]?.parameters.size === 0, 'S-WA-60', 'The first challenge has no parameter.'],
    [parameters.has('error'), 'S-BEAR-63', early],
    [!parameters.has('resource_metadata'), 'S-401-1', 'The challenge has no resource_metadata.'],
    [!parameters.has('scope'), 'S-SCOPE-20', 'The challenge names no scopes.'],
  ]);
}

/** Checks the response to an invalid token. */
export function checkInvalidToken({ status, headers }: Exchange): readonly Violation[] {
  if (status !== 401)
    return [violation('S-VAL-3', `A request with an invalid token was answered with status ${status}.`)];
  const isNamed = parseChallenges(headers['www-authenticate']).some(
    ({ parameters }) => parameters.get('error') === 'invalid_token',
  );
  return isNamed ? [] : [violation('S-BEAR-64', 'The 401 for an invalid token does not say invalid_token.')];
}

const isSuccess = ({ status }: Exchange): boolean => status !== null && status < 300;

/** Checks the responses from the locations of protected resource metadata, in the order of the requests. */
export function checkResourceMetadata(
  responses: readonly Exchange[],
  server: string,
  announced: string | null,
): readonly Violation[] {
  const found = responses.find(isSuccess);
  if (found === undefined) return [missingResourceMetadata(responses, announced)];
  const json = parseJson(found.body);
  if (!isObject(json)) return [violation('S-PRM-62', `The response of ${found.url} is not JSON.`)];
  return [...checkType('S-PRM-62', found), ...checkResourceDocument(json, server)];
}

function missingResourceMetadata(responses: readonly Exchange[], announced: string | null): Violation {
  const gated = responses.find(({ status }) => status === 401 || status === 403);
  if (gated !== undefined) return violation('S-PRM-5', `The metadata at ${gated.url} requires a token.`);
  const odd = responses.find(({ status }) => status !== null && status !== 404);
  if (odd !== undefined) return violation('S-PRM-62', `The metadata at ${odd.url} has status ${odd.status}.`);
  if (announced === null) return violation('S-PRM-20', 'There is no protected resource metadata.');
  return violation('S-PRM-20', `The challenge names ${announced}, but there is no metadata there.`);
}

function checkResourceDocument(json: Json, server: string): readonly Violation[] {
  const reading = readProtectedResourceMetadata(json);
  if ('issues' in reading) {
    return reading.issues.map((issue) =>
      violation(issue.includes('authorization_servers') ? 'S-PRM-2' : 'S-PRM-60', `The metadata: ${issue}.`),
    );
  }
  const { resource, scopes_supported: scopes } = reading.document;
  const isNear = URL.parse(resource)?.origin === new URL(server).origin;
  const suggestion = isNear ? ` Did you mean ${sanitizeText(resource)}?` : '';
  return violationsOf([
    [
      !coversResource(resource, server),
      'S-PRM-64',
      `The metadata is for ${resource}, not for ${server}.${suggestion}`,
    ],
    [scopes === undefined, 'S-PRM-65', 'The metadata lists no scopes.'],
  ]);
}

/** Checks the responses from the locations of authorization server metadata. */
export function checkServerMetadata(responses: readonly Exchange[], issuer: string): readonly Violation[] {
  const found = responses.find(isSuccess);
  if (found === undefined) {
    // An unreachable server is reported as such, not as a server without metadata.
    if (responses.every(({ status }) => status === null)) return [];
    const locations = responses.map(({ url, status }) => `${url} (${status ?? 'no response'})`).join(', ');
    const message = `The authorization server has no metadata: ${locations}.`;
    return [violation('AS-META-20', message), violation('AS-META-2', message)];
  }
  const json = parseJson(found.body);
  if (!isObject(json)) return [violation('AS-META-3', `The response of ${found.url} is not JSON.`)];
  const nulls = Object.keys(json).filter((name) => json[name] === null);
  if (nulls.length > 0)
    return [violation('AS-META-71', `The metadata has members that are null: ${nulls.join(', ')}.`)];
  const insecure = checkEndpoints(json);
  const reading = readAuthorizationServerMetadata(json);
  if ('issues' in reading)
    return insecure.length > 0
      ? insecure
      : reading.issues.map((issue) => violation('AS-META-3', `The metadata: ${issue}.`));
  const isOnlyOpenId = found.url.includes('openid-configuration');
  return [
    ...checkType('AS-META-3', found),
    ...violationsOf([
      [isOnlyOpenId, 'AS-META-2', `The metadata is only at ${found.url}, where older clients do not look.`],
    ]),
    ...insecure,
    ...checkServerDocument(json, issuer),
  ];
}

const ENDPOINTS = [
  'authorization_endpoint',
  'token_endpoint',
  'registration_endpoint',
  'revocation_endpoint',
  'introspection_endpoint',
  'device_authorization_endpoint',
] as const;

function checkEndpoints(json: Json): readonly Violation[] {
  const insecure = ENDPOINTS.filter((name) => {
    const url = typeof json[name] === 'string' ? readWebUrl(json[name]) : null;
    return json[name] !== undefined && (url === null || !isSecureUrl(url));
  });
  const message = `These endpoints do not use https: ${insecure.join(', ')}.`;
  return violationsOf([[insecure.length > 0, 'AS-HTTPS-1', message]]);
}

function checkServerDocument(json: Json, issuer: string): readonly Violation[] {
  const required = ['authorization_endpoint', 'token_endpoint', 'response_types_supported'];
  const isMissing = (name: string): boolean => json[name] === undefined;
  const missing = required.filter(isMissing);
  const methods = json['code_challenge_methods_supported'];
  return violationsOf([
    [
      json['issuer'] !== issuer,
      'AS-META-60',
      `The metadata of ${issuer} says that its issuer is ${json['issuer']}.`,
    ],
    [missing.length > 0, 'AS-META-61', `The metadata does not name ${missing.join(', ')}.`],
    [
      !Array.isArray(methods) || !methods.includes('S256'),
      'AS-META-62',
      'The metadata does not advertise PKCE with S256, so clients must not proceed.',
    ],
    [isMissing('grant_types_supported'), 'AS-META-63', 'The metadata lists no grant types.'],
    [
      isMissing('token_endpoint_auth_methods_supported'),
      'AS-META-64',
      'The metadata lists no client authentication methods.',
    ],
    [
      json['authorization_response_iss_parameter_supported'] !== true,
      'AS-ISS-31',
      'Authorization responses carry no iss parameter, so clients cannot detect a mix-up attack.',
    ],
  ]);
}

/** Checks the response of a registration endpoint. */
export function checkRegistration({ status, body }: Exchange): readonly Violation[] {
  const json = parseJson(body);
  if (status !== 201) {
    const code = isObject(json) && typeof json['error'] === 'string' ? ` (${json['error']})` : '';
    return [violation('AS-DCR-60', `The registration was answered with status ${status}${code}.`)];
  }
  if (!isObject(json) || typeof json['client_id'] !== 'string')
    return [violation('AS-DCR-61', 'The registration response has no client_id.')];
  const hasNoExpiry =
    json['client_secret'] !== undefined && typeof json['client_secret_expires_at'] !== 'number';
  const message = 'The registration response has a client_secret without client_secret_expires_at.';
  return violationsOf([[hasNoExpiry, 'AS-DCR-61', message]]);
}

/**
 * Checks the response of the authorization endpoint to a browser that is not signed in.
 * @param shown the error shown on its page, if any
 */
export function checkAuthorizationResponse(
  { status, headers, body }: Exchange,
  issuer: string,
  shown: unknown = null,
): readonly Violation[] {
  if (status === null) return [violation('AS-AUTHZ-1', 'The authorization endpoint could not be reached.')];
  if (status < 400) {
    const parameters = URL.parse(headers['location'] ?? '', issuer)?.searchParams;
    const error = describeError(Object.fromEntries(parameters ?? []));
    return violationsOf([
      [error !== '', 'AS-AUTHZ-1', `The authorization endpoint refused the request: ${error}.`],
    ]);
  }
  const error = describeError(shown ?? parseJson(body));
  const message = `The authorization endpoint answered with status ${status}${error === '' ? '' : `: ${error}`}.`;
  return [violation('AS-AUTHZ-1', message)];
}

/** An error's code and description, with advice for known codes; empty if the response is not an error. */
function describeError(response: unknown): string {
  if (!isObject(response) || typeof response['error'] !== 'string') return '';
  const { error, error_description: description } = response;
  const parts = typeof description === 'string' ? [error, description] : [error];
  const advice =
    error === 'invalid_target'
      ? '. The authorization server does not know this server: add it there as a resource, with the URL from its metadata'
      : '';
  return `${parts.map(sanitizeText).join(', ').replace(/\.$/, '')}${advice}`;
}

/** Checks the response of a token endpoint. */
export function checkTokenResponse({ status, headers, body }: Exchange): readonly Violation[] {
  const json = parseJson(body);
  const isValid =
    status === 200 &&
    isObject(json) &&
    typeof json['access_token'] === 'string' &&
    typeof json['token_type'] === 'string';
  const isCacheable = headers['cache-control']?.includes('no-store') !== true;
  return violationsOf([
    [!isValid, 'AS-TOK-64', `The token request was answered with status ${status}.`],
    [isCacheable, 'AS-TOK-65', 'The token response may be cached.'],
  ]);
}

function checkType(rule: RuleName, exchange: Exchange): readonly Violation[] {
  const type = mediaTypeOf(exchange) ?? 'none';
  return violationsOf([
    [type !== 'application/json', rule, `The content type of ${exchange.url} is ${type}.`],
  ]);
}
