/** Checks of recorded exchanges that the client accepts, or does not make: pure functions from an exchange to violated rules. */
import { sanitizeText } from '@portcullis/client';
import { parseChallenges } from '@portcullis/protocol';
import { isObject, type Json, parseJson } from '../json.ts';
import type { Exchange } from './recorder.ts';
import type { RuleName } from './rules.ts';

/** How rules are violated, each in one sentence; `false`: it is not. */
export type Violations = Readonly<Partial<Record<RuleName, string | false>>>;

const REQUIRED = ['authorization_endpoint', 'token_endpoint', 'response_types_supported'];

/** By what the exchange is. */
export const checks = {
  /** The response to a request without a token. */
  challenge({ status, headers }: Exchange): Violations {
    const field = headers.get('www-authenticate');
    if (status !== 401) return { 'S-401-2': `A request without a token was answered with status ${status}.` };
    if (field === null) return { 'S-BEAR-66': 'The 401 has no WWW-Authenticate header.' };
    const challenges = parseChallenges(field);
    const bearer = challenges.find(({ scheme }) => /^(?:bearer|dpop)$/i.test(scheme))?.parameters;
    if (bearer === undefined) return { 'S-WA-60': 'The WWW-Authenticate header has no Bearer challenge.' };
    const error = bearer.get('error');
    return {
      'S-WA-60': challenges[0]?.parameters.size === 0 && 'The first challenge has no parameter.',
      'S-BEAR-63': error !== undefined && `The challenge says error="${error}", though no token was sent.`,
      'S-401-1': !bearer.has('resource_metadata') && 'The challenge has no resource_metadata.',
      'S-SCOPE-20': !bearer.has('scope') && 'The challenge names no scopes.',
    };
  },
  /** The response to a request with an invalid token. */
  invalidToken({ status, headers }: Exchange): Violations {
    if (status !== 401)
      return { 'S-VAL-3': `A request with an invalid token was answered with status ${status}.` };
    const challenges = parseChallenges(headers.get('www-authenticate'));
    const isNamed = challenges.some(({ parameters }) => parameters.get('error') === 'invalid_token');
    return { 'S-BEAR-64': !isNamed && 'The 401 for an invalid token does not say invalid_token.' };
  },
  /** The response from the location of the protected resource metadata that the client used, or was refused. */
  resourceMetadata(exchange: Exchange): Violations {
    const { status, url } = exchange;
    const isRefused = status === 401 || status === 403;
    const document = documentIn(exchange);
    if (document === null) return { 'S-PRM-5': isRefused && `The metadata at ${url} requires a token.` };
    const { scopes_supported: scopes } = document;
    return {
      'S-PRM-62': hasOtherType(exchange),
      'S-PRM-65': scopes === undefined && 'The metadata lists no scopes.',
    };
  },
  /** The response from a location of authorization server metadata. */
  serverMetadata(exchange: Exchange): Violations {
    const document = documentIn(exchange);
    if (document === null) return {};
    const { url } = exchange;
    const methods = document['code_challenge_methods_supported'];
    const lacks = (name: string) => document[name] === undefined;
    const missing = REQUIRED.filter(lacks).join(', ');
    const nulls = Object.keys(document).filter((name) => document[name] === null);
    return {
      'AS-META-2':
        url.includes('openid-configuration') &&
        `The metadata is only at ${url}, where older clients do not look.`,
      'AS-META-3': hasOtherType(exchange),
      'AS-META-62':
        !(Array.isArray(methods) && methods.includes('S256')) &&
        'The metadata does not advertise PKCE with S256, so clients must not proceed.',
      'AS-META-61': missing !== '' && `The metadata does not name ${missing}.`,
      'AS-META-71': nulls.length > 0 && `The metadata has members that are null: ${nulls.join(', ')}.`,
      'AS-META-64':
        lacks('token_endpoint_auth_methods_supported') &&
        'The metadata lists no client authentication methods.',
      'AS-ISS-31':
        document['authorization_response_iss_parameter_supported'] !== true &&
        'Authorization responses carry no iss parameter, so clients cannot detect a mix-up attack.',
    };
  },
  /** The response of a registration endpoint. */
  registration({ status }: Exchange): Violations {
    const isOther = status !== 201 && isSuccess({ status });
    return { 'AS-DCR-60': isOther && `The registration was answered with status ${status}.` };
  },
  /** The response of a token endpoint. */
  tokenResponse(exchange: Exchange): Violations {
    const isCacheable = exchange.headers.get('cache-control')?.includes('no-store') !== true;
    return { 'AS-TOK-65': isSuccess(exchange) && isCacheable && 'The token response may be cached.' };
  },
} satisfies Readonly<Record<string, (exchange: Exchange) => Violations>>;

export function isSuccess({ status }: Pick<Exchange, 'status'>): boolean {
  return status !== null && status < 300;
}

/** The media type of a response, in lower case. */
export function mediaTypeOf({ headers }: Exchange): string {
  return headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase() ?? 'no content type';
}

function hasOtherType(exchange: Exchange): string | false {
  const type = mediaTypeOf(exchange);
  return type !== 'application/json' && `The response of ${exchange.url} is ${sanitizeText(type)}, not JSON.`;
}

/** The body of a successful response; `null` if it is not a JSON object. */
function documentIn(exchange: Exchange): Json | null {
  const json = isSuccess(exchange) ? parseJson(exchange.body) : null;
  return isObject(json) ? json : null;
}
