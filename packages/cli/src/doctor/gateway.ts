/** Attributes failures behind a gateway: to the gateway, to the server behind it, or to the user's account there. */
import { ServerError } from '../client/mcp-client.ts';
import { isObject } from '../json.ts';
import type { ExaminationContext } from './examination.ts';
import type { Problem } from './report-builder.ts';
import { fetchDocument } from './requests.ts';

/** `none`: no gateway, or no health report. */
export type GatewayHealth = 'none' | 'up' | 'down' | 'unready';

/** Requests `/readyz` at the server's origin: paths and two words for each, no addresses and no reasons. */
export async function readGatewayHealth({
  fetch,
  server,
}: Pick<ExaminationContext, 'fetch' | 'server'>): Promise<GatewayHealth> {
  const { origin, pathname } = new URL(server);
  const { status = '', backends } = (await fetchDocument(fetch, `${origin}/readyz`, [200, 503])) ?? {};
  if (status === 'unavailable' || status === 'draining') return 'unready';
  const state = isObject(backends) && Object.hasOwn(backends, pathname) ? backends[pathname] : null;
  return state === 'up' || state === 'down' ? state : 'none';
}

/** Reports what can be known without a user. */
export function reportGatewayHealth({ report }: ExaminationContext, health: GatewayHealth): void {
  if (health === 'none') return;
  if (health !== 'up') {
    report.startStep('call');
    report.addProblem(health === 'down' ? DOWN : UNREADY);
  }
  const summary = `the gateway ${health === 'up' ? 'reaches' : 'does not reach'} the server behind it`;
  report.summarize('call', `${summary}; the rest requires a user: --sign-in`, 'skipped');
}

const DOWN: Problem = {
  owner: 'backend',
  temporary: true,
  message: 'The gateway cannot reach the server behind it.',
  remedy: 'Its operator has to start it, and can see why with `portcullis servers test`.',
};

const UNREADY: Problem = {
  owner: 'gateway',
  temporary: true,
  message: 'The gateway is not ready: it cannot use its database, or is about to stop.',
  remedy: 'Its operator finds the reason in its log, at `readiness.failed`.',
};

/** The gateway hides tools that the user cannot call. */
export const NO_TOOLS: Problem = {
  severity: 'warning',
  owner: 'gateway',
  message: 'The list of tools is empty.',
  remedy:
    'The server behind the gateway has none, or rules or missing approvals hide them: its operator checks `tools` in the configuration and `portcullis servers review`.',
};

type CallFailure = Omit<Problem, 'message'>;

const warning = { severity: 'warning', owner: 'gateway' } as const;

/** By the status of the response. */
const CALL_FAILURES: Readonly<Record<number, CallFailure>> = {
  403: { ...warning, remedy: 'A rule of the gateway does not allow this: ask its operator.' },
  429: { ...warning, temporary: true, remedy: 'A limit of the gateway is reached: try again later.' },
  502: {
    owner: 'gateway',
    remedy:
      'The server behind the gateway refuses what the gateway sends: its operator has to check the credential and the URL, with `portcullis servers test`.',
  },
  503: { ...DOWN },
};

const NOT_CONNECTED: CallFailure = {
  owner: 'you',
  remedy:
    'The server behind the gateway needs an account of yours: open the link in the message and connect it.',
};

/** URL elicitation required. @see MCP 2025-11-25, URL mode elicitation */
const URL_ELICITATION_REQUIRED = -32_042;

/**
 * Explains the failure of a call with an accepted token.
 * @param status of the gateway's last response; `null`: there is no gateway, or no response
 */
export function explainCallFailure(status: number | null, error: Error): CallFailure {
  const { code = 0, data } = error instanceof ServerError ? error.rpc : {};
  // Revision 2026-07-28 has no code for it: the gateway adds the URL.
  if (code === URL_ELICITATION_REQUIRED || (isObject(data) && typeof data['url'] === 'string'))
    return NOT_CONNECTED;
  const server = {
    ...warning,
    owner: 'server',
    remedy: 'The authorization works: check the server.',
  } as const;
  return CALL_FAILURES[status ?? 0] ?? server;
}
