/** What answers have to be: laws over what was written down. Each breach is named by its requirement. */
import { sanitizeText } from '@portcullis/client';
import {
  coversResource,
  isSecureUrl,
  parseChallenges,
  readAuthorizationServerMetadata,
  readProtectedResourceMetadata,
  readWebUrl,
} from '@portcullis/protocol';
import { isObject, type Json, parseJson } from '../json.ts';
import type { Exchange } from './report.ts';
import type { RuleName } from './rules.ts';

/** A rule that was broken, and how. */
export interface Breach {
  readonly rule: RuleName;
  readonly what: string;
}

const breach = (rule: RuleName, what: string): Breach => ({ rule, what });

/** The answer to a request without a token. */
export function checkChallenge({ status, headers }: Exchange): readonly Breach[] {
  if (status !== 401)
    return [breach('S-401-2', `A request without a token was answered with status ${status}.`)];
  const field = headers['www-authenticate'];
  if (field === undefined) return [breach('S-BEAR-66', 'The 401 has no WWW-Authenticate header.')];
  const [first] = parseChallenges(field);
  const bearer = parseChallenges(field).find(({ scheme }) =>
    ['bearer', 'dpop'].includes(scheme.toLowerCase()),
  );
  if (bearer === undefined || first === undefined)
    return [breach('S-WA-60', 'The WWW-Authenticate header has no Bearer challenge.')];
  const { parameters } = bearer;
  return [
    ...(first.parameters.size === 0 ? [breach('S-WA-60', 'The first challenge has no parameter.')] : []),
    ...(parameters.has('error')
      ? [
          breach(
            'S-BEAR-63',
            `The challenge says error="${parameters.get('error')}", though no token was sent.`,
          ),
        ]
      : []),
    ...(parameters.has('resource_metadata')
      ? []
      : [breach('S-401-1', 'The challenge does not say where the metadata is.')]),
    ...(parameters.has('scope') ? [] : [breach('S-SCOPE-20', 'The challenge names no scopes.')]),
  ];
}

/** The answer to a token that nobody issued. */
export function checkBadToken({ status, headers }: Exchange): readonly Breach[] {
  if (status !== 401)
    return [breach('S-VAL-3', `A token that nobody issued was answered with status ${status}.`)];
  const said = parseChallenges(headers['www-authenticate']).some(
    ({ parameters }) => parameters.get('error') === 'invalid_token',
  );
  return said ? [] : [breach('S-BEAR-64', 'The 401 for a bad token does not say invalid_token.')];
}

/** Answers from the places where protected resource metadata may be, in the order in which they were asked. */
export function checkResourceMetadata(
  answers: readonly Exchange[],
  server: string,
  announced: string | null,
): readonly Breach[] {
  const found = answers.find(({ status }) => status !== null && status < 300);
  const [first] = answers;
  if (found === undefined || first === undefined) {
    const gated = answers.find(({ status }) => status === 401 || status === 403);
    if (gated !== undefined) return [breach('S-PRM-5', `The metadata at ${gated.url} is behind the gate.`)];
    const odd = answers.find(({ status }) => status !== null && status !== 404);
    if (odd !== undefined)
      return [breach('S-PRM-62', `The metadata at ${odd.url} has status ${odd.status}.`)];
    if (announced === null) return [breach('S-PRM-20', 'There is no protected resource metadata anywhere.')];
    return [breach('S-PRM-20', `The challenge names metadata at ${announced}, where there is none.`)];
  }
  const json = parseJson(found.body);
  if (!isObject(json)) return [breach('S-PRM-62', `The answer of ${found.url} is not JSON.`)];
  return [...checkType('S-PRM-62', found), ...checkResourceDocument(json, server)];
}

function checkResourceDocument(json: Json, server: string): readonly Breach[] {
  const reading = readProtectedResourceMetadata(json);
  if ('issues' in reading) {
    return reading.issues.map((issue) =>
      breach(issue.includes('authorization_servers') ? 'S-PRM-2' : 'S-PRM-60', `The metadata: ${issue}.`),
    );
  }
  const { resource, scopes_supported: scopes } = reading.document;
  return [
    ...(coversResource(resource, server)
      ? []
      : [
          breach(
            'S-PRM-64',
            `The metadata speaks for ${resource}, not for ${server}.${meantBeside(resource, server)}`,
          ),
        ]),
    ...(scopes === undefined ? [breach('S-PRM-65', 'The metadata lists no scopes.')] : []),
  ];
}

/** Of another path at the same origin, what may have been meant. */
function meantBeside(resource: string, server: string): string {
  return URL.parse(resource)?.origin === new URL(server).origin
    ? ` Did you mean ${sanitizeText(resource)}?`
    : '';
}

/** Answers from the places where the metadata of an issuer may be. */
export function checkServerMetadata(answers: readonly Exchange[], issuer: string): readonly Breach[] {
  const found = answers.find(({ status }) => status !== null && status < 300);
  if (found === undefined) {
    // Whoever cannot be reached says nothing about its documents: that nobody is there is what is wrong.
    if (answers.every(({ status }) => status === null)) return [];
    const places = answers.map(({ url, status }) => `${url} (${status ?? 'no answer'})`).join(', ');
    const what = `The authorization server has no metadata: ${places}.`;
    return [breach('AS-META-20', what), breach('AS-META-2', what)];
  }
  const json = parseJson(found.body);
  if (!isObject(json)) return [breach('AS-META-3', `The answer of ${found.url} is not JSON.`)];
  const nulls = Object.keys(json).filter((name) => json[name] === null);
  if (nulls.length > 0)
    return [breach('AS-META-71', `The metadata has members that are null: ${nulls.join(', ')}.`)];
  const insecure = checkEndpoints(json);
  const reading = readAuthorizationServerMetadata(json);
  if ('issues' in reading) {
    const other = reading.issues.map((issue) => breach('AS-META-3', `The metadata: ${issue}.`));
    return insecure.length > 0 ? insecure : other;
  }
  return [
    ...checkType('AS-META-3', found),
    ...(found.url.includes('openid-configuration')
      ? [breach('AS-META-2', `The metadata stands at ${found.url} only, where older clients do not look.`)]
      : []),
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

function checkEndpoints(json: Json): readonly Breach[] {
  const insecure = ENDPOINTS.filter((name) => {
    const url = typeof json[name] === 'string' ? readWebUrl(json[name]) : null;
    return json[name] !== undefined && (url === null || !isSecureUrl(url));
  });
  if (insecure.length === 0) return [];
  return [breach('AS-HTTPS-1', `Not reached by https: ${insecure.join(', ')}.`)];
}

function checkServerDocument(json: Json, issuer: string): readonly Breach[] {
  const missing = ['authorization_endpoint', 'token_endpoint', 'response_types_supported'].filter(
    (name) => json[name] === undefined,
  );
  const methods = json['code_challenge_methods_supported'];
  const rows: readonly (readonly [boolean, RuleName, string])[] = [
    [
      json['issuer'] !== issuer,
      'AS-META-60',
      `The metadata of ${issuer} says that its issuer is ${json['issuer']}.`,
    ],
    [missing.length > 0, 'AS-META-61', `The metadata does not name ${missing.join(', ')}.`],
    [
      !Array.isArray(methods) || !methods.includes('S256'),
      'AS-META-62',
      'The metadata does not say that PKCE with S256 is supported, so clients must not proceed.',
    ],
    [json['grant_types_supported'] === undefined, 'AS-META-63', 'The metadata lists no grant types.'],
    [
      json['token_endpoint_auth_methods_supported'] === undefined,
      'AS-META-64',
      'The metadata lists no ways of client authentication.',
    ],
    [
      json['authorization_response_iss_parameter_supported'] !== true,
      'AS-ISS-31',
      'Authorization responses carry no issuer, so a mix-up of servers cannot be noticed.',
    ],
  ];
  return rows.flatMap(([broken, rule, what]) => (broken ? [breach(rule, what)] : []));
}

/** The answer of a registration endpoint. */
export function checkRegistration(exchange: Exchange): readonly Breach[] {
  const { status, body } = exchange;
  if (status !== 201) {
    const json = parseJson(body);
    const said = isObject(json) && typeof json['error'] === 'string' ? ` (${json['error']})` : '';
    return [breach('AS-DCR-60', `The registration was answered with status ${status}${said}.`)];
  }
  const json = parseJson(body);
  if (!isObject(json) || typeof json['client_id'] !== 'string')
    return [breach('AS-DCR-61', 'The registration was answered without a client_id.')];
  const bare = json['client_secret'] !== undefined && typeof json['client_secret_expires_at'] !== 'number';
  return bare ? [breach('AS-DCR-61', 'The registration gives a secret and not its end.')] : [];
}

/**
 * What the authorization endpoint says to somebody who is not signed in yet.
 * @param shown the error that a page of it tells; `null`: none
 */
export function checkAuthorizationAnswer(
  exchange: Exchange,
  issuer: string,
  shown: unknown = null,
): readonly Breach[] {
  const { status, headers, body } = exchange;
  if (status === null) return [breach('AS-AUTHZ-1', 'The authorization endpoint could not be reached.')];
  const parameters = URL.parse(headers['location'] ?? '', issuer)?.searchParams;
  if (status < 400) {
    const refusal = parameters?.has('error') ? errorIn(Object.fromEntries(parameters)) : '';
    const what = `The authorization endpoint refused the request: ${refusal}.`;
    return refusal === '' ? [] : [breach('AS-AUTHZ-1', what)];
  }
  const refusal = errorIn(shown ?? parseJson(body));
  const what = `The authorization endpoint answered with status ${status}${refusal === '' ? '' : `: ${refusal}`}.`;
  return [breach('AS-AUTHZ-1', what)];
}

/** Code and sentence of an error, and what helps against one that is known; of others nothing. */
function errorIn(answer: unknown): string {
  if (!isObject(answer) || typeof answer['error'] !== 'string') return '';
  const { error, error_description: description } = answer;
  const said = [error, ...(typeof description === 'string' ? [description] : [])]
    .map(sanitizeText)
    .join(', ');
  const advice =
    error === 'invalid_target'
      ? '. The authorization server does not know this server: add it to the resources there, by the URL in its metadata'
      : '';
  return `${said.replace(/\.$/, '')}${advice}`;
}

/** The answer of a token endpoint. */
export function checkTokenAnswer(exchange: Exchange): readonly Breach[] {
  const { status, headers, body } = exchange;
  const json = parseJson(body);
  const good =
    status === 200 &&
    isObject(json) &&
    typeof json['access_token'] === 'string' &&
    typeof json['token_type'] === 'string';
  return [
    ...(good ? [] : [breach('AS-TOK-64', `The token request was answered with status ${status}.`)]),
    ...(headers['cache-control']?.includes('no-store') === true
      ? []
      : [breach('AS-TOK-65', 'The answer of the token endpoint may be kept by caches.')]),
  ];
}

function checkType(rule: RuleName, { headers, url }: Exchange): readonly Breach[] {
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? 'none';
  return type === 'application/json' ? [] : [breach(rule, `The content type of ${url} is ${type}.`)];
}
