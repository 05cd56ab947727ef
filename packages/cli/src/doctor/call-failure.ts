/** Attributes the failure of a call with an accepted token: to the gateway, or to the server behind it. */
import { ServerError } from '../client/mcp-client.ts';
import { isObject } from '../json.ts';
import type { Problem } from './report-builder.ts';

type CallFailure = Omit<Problem, 'message'>;

const BY_STATUS: Readonly<Record<number, CallFailure>> = {
  403: {
    severity: 'warning',
    owner: 'gateway',
    remedy: 'The token was accepted. A rule of the gateway does not allow this: ask its operator.',
  },
  429: {
    severity: 'warning',
    owner: 'gateway',
    temporary: true,
    remedy: 'The token was accepted. A limit of the gateway is reached: try again later.',
  },
  502: {
    owner: 'gateway',
    remedy:
      'The token was accepted. What the gateway sends to the server behind it is not: its operator has to check the credential and the URL, with `portcullis servers test`.',
  },
  503: {
    owner: 'backend',
    temporary: true,
    remedy:
      'The token was accepted. The server behind the gateway does not answer: its operator has to start it, and can see why with `portcullis servers test`.',
  },
};

const SERVER: CallFailure = {
  severity: 'warning',
  owner: 'server',
  remedy: 'The authorization works: check the server.',
};

const CONNECTION: CallFailure = {
  owner: 'you',
  remedy:
    'The token was accepted. The server behind the gateway needs an account of yours: open the link in the message and connect it.',
};

/** The gateway hides tools that the user cannot call. */
export const noTools: Problem = {
  severity: 'warning',
  owner: 'gateway',
  message: 'The list of tools is empty.',
  remedy:
    'The server behind the gateway has none, or rules or missing approvals hide them: its operator checks `tools` in the configuration and `portcullis servers review`.',
};

/** @param status of the last response; `null` without a response */
export function explainCallFailure(status: number | null, error: unknown): CallFailure {
  if (needsConnection(error)) return CONNECTION;
  return BY_STATUS[status ?? 0] ?? SERVER;
}

/** URL elicitation required. @see MCP 2025-11-25, URL mode elicitation */
const URL_ELICITATION_REQUIRED = -32_042;

/** Revision 2026-07-28 has no code for it: the gateway adds the URL. */
function needsConnection(error: unknown): boolean {
  if (!(error instanceof ServerError)) return false;
  const { code, data } = error.rpc;
  return code === URL_ELICITATION_REQUIRED || (isObject(data) && typeof data['url'] === 'string');
}
