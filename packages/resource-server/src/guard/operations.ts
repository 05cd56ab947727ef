/** Reads the operations of a JSON-RPC body, so that scopes can depend on them. */
import {
  jsonMembers,
  type McpOperation,
  OAuthError,
  type OperationParameters,
  readOperationTarget,
} from '@portcullis/protocol';

/**
 * Reads the operations of a parsed body, a message or a batch. Responses, and anything else without a method, are
 * skipped.
 * @throws OAuthError `invalid_request` if a method, or a parameter that names the tool, prompt or resource, is missing or no string
 */
export function readOperations(body: unknown): readonly McpOperation[] {
  const messages = Array.isArray(body) ? body : [body];
  return messages.flatMap((message) => {
    const members = jsonMembers(message);
    if (members['method'] === undefined) return [];
    const method = textOf(members, 'method');
    const params = jsonMembers(members['params']);
    const operation = { method, ...readOperationTarget(method, parametersOf(params)) };
    const uris = method === 'subscriptions/listen' ? readSubscriptions(params) : [];
    return uris.length === 0 ? [operation] : uris.map((resource) => ({ ...operation, resource }));
  });
}

/** A subscription to several resources is as many operations. @see MCP 2026-07-28, subscriptions */
function readSubscriptions(params: Members): readonly string[] {
  const { resourceSubscriptions: uris = [] } = jsonMembers(params['notifications']);
  if (!Array.isArray(uris) || uris.some((uri) => typeof uri !== 'string'))
    throw invalid('resourceSubscriptions', 'a list of URIs');
  return uris;
}

type Members = Readonly<Record<string, unknown>>;

function parametersOf(members: Members): OperationParameters {
  return {
    has: (name) => members[name] !== undefined,
    text: (name) => textOf(members, name),
    object(name) {
      const value = members[name];
      if (typeof value !== 'object' || value === null) throw invalid(name, 'an object');
      return parametersOf(jsonMembers(value));
    },
    unexpected: invalid,
  };
}

function textOf(members: Members, name: string): string {
  const value = members[name];
  if (typeof value !== 'string') throw invalid(name, 'a string');
  return value;
}

function invalid(name: string, expected: string): OAuthError {
  return new OAuthError('invalid_request', `The member ${name} of a message must be ${expected}.`);
}
