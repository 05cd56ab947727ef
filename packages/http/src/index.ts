/** The edges that every role shares: bodies read with limits, JSON answers, errors as responses, CORS. */
export { LARGEST_BODY, readForm, readJson } from './bodies.ts';
export { isPreflight, respondPreflight, shareAcrossOrigins } from './cross-origin.ts';
export { parseJson } from './json.ts';
export { pathOf, queryOf } from './path.ts';
export {
  type EndpointOptions,
  harden,
  type JsonOptions,
  respondError,
  respondJson,
  respondSeeOther,
  respondToClient,
} from './responses.ts';
