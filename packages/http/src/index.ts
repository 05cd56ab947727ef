/** The edges that every role shares: bodies read with limits, JSON answers, errors as answers, CORS. */

export { MAX_BODY_BYTES, readFormBody, readJsonBody, readJsonBodyText } from './bodies.ts';
export { isPreflight, respondPreflight, withCorsHeaders } from './cors.ts';
export type { ConnectionInfo, HttpRequest } from './http-request.ts';
export {
  type HttpResponse,
  respond,
  toResponse,
  withCookies,
  withHeaders,
} from './http-response.ts';
export { pathOf, queryOf } from './path.ts';
export {
  type EndpointResponseOptions,
  type JsonOptions,
  respondCorsJson,
  respondError,
  respondJson,
  respondSeeOther,
} from './responses.ts';
export { addSecurityHeaders, withSecurityHeaders } from './security-headers.ts';
export { parseStrictJson } from './strict-json.ts';
