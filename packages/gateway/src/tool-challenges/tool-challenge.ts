/** The challenge of a call in its result, for clients that begin a sign-in there and not at a 401 or 403. */
import type { IncomingMessage } from 'node:http';
import { failedCall } from '../messages/message-error.ts';
import type { PolicyError } from '../policy/check-messages.ts';
import type { GatewayServer } from '../servers/server.ts';

/** Whether a client reads the challenge of what it sent from the result: a single call of a tool, by a client of the setting. */
export function readsToolChallenge(
  { toolChallenges }: Pick<GatewayServer, 'toolChallenges'>,
  { headers }: Pick<IncomingMessage, 'headers'>,
  { call }: PolicyError,
): boolean {
  if (toolChallenges.length === 0 || call === null) return false;
  const agent = headers['user-agent']?.toLowerCase() ?? '';
  return toolChallenges.some((name) => agent.startsWith(`${name.toLowerCase()}/`));
}

/**
 * @param challenge the value of `WWW-Authenticate`
 * @see "Triggering authentication UI" in the documentation of OpenAI's Apps SDK
 */
export function toolChallengeResult(
  { call, description }: PolicyError,
  challenge: string,
): Readonly<Record<string, unknown>> {
  return {
    ...failedCall(call, description),
    _meta: { 'mcp/www_authenticate': [challenge] },
  };
}
