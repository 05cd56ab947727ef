/**
 * HTTP building blocks that all roles share: bounded body parsing, JSON and error responses, CORS, security headers.
 */

export { parseStrictJson, readFormBody, readJsonBody, readRawBody } from './bodies.ts';
export { explainConnectionError } from './connection-error.ts';
export { isPreflight, respondPreflight, withCorsHeaders } from './cors.ts';
export { type ConnectionInfo, type HttpRequest, pathOf, queryOf } from './http-request.ts';
export {
  type HttpResponse,
  respond,
  toResponse,
  withCookies,
  withHeaders,
} from './http-response.ts';
export { readEvents } from './mcp/event-stream.ts';
export {
  CLIENT_INFO_KEY,
  errorCodes,
  errorResponse,
  isMembers,
  isRequest,
  isResponse,
  isResponseTo,
  type JsonFields,
  type Message,
  type MessageId,
  parameter,
  parseMessage,
  type RequestMessage,
  readMessage,
  statelessVersion,
  VERSION_KEY,
  withMeta,
} from './mcp/json-rpc.ts';
export { connectLegacySse, resolveEndpoint } from './mcp/legacy-sse.ts';
export { parseExactly, toDouble } from './mcp/parse-exactly.ts';
export { createStandardHeaders, decodeHeaderValue, type StandardHeaders } from './mcp/standard-headers.ts';
export { createStreamableHttp } from './mcp/streamable-http.ts';
export {
  type HttpTransportOptions,
  IncompleteResponse,
  type McpTransport,
  mediaType,
  ResponseTooLong,
  readBodyMessages,
  readBodyText,
  type TransportFetch,
  type TransportReceiver,
  type TransportRequest,
} from './mcp/transport.ts';
export { bearerChallenge, respondCorsJson, respondError, respondJson, respondSeeOther } from './responses.ts';
export {
  addSecurityHeaders,
  HTTPS_SECURITY_HEADERS,
  SECURITY_HEADERS,
  withSecurityHeaders,
} from './security-headers.ts';
