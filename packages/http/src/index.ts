/** The edges that every role shares: bodies read with limits, JSON answers, errors as answers, CORS. */

export { LARGEST_BODY, readForm, readJson, readJsonText } from './bodies.ts';
export { isPreflight, respondPreflight, shareAcrossOrigins } from './cross-origin.ts';
export { harden, hardenResponse } from './harden.ts';
export type { HttpRequest } from './http-request.ts';
export {
  type HttpResponse,
  respond,
  toResponse,
  withCookies,
  withHeaders,
} from './http-response.ts';
export { parseJson } from './json.ts';
export { pathOf, queryOf } from './path.ts';
export {
  type EndpointOptions,
  type JsonOptions,
  respondError,
  respondJson,
  respondSeeOther,
  respondToClient,
} from './responses.ts';
