/** What a Portcullis gateway says of the server behind it to anyone: whether it is ready, and whether that server is up. */
import { readBoundedText } from '../client/transport/responses.ts';
import { isObject, parseJson } from '../json.ts';
import { attempt } from './attempt.ts';
import type { ExaminationContext } from './examination-context.ts';
import { MAX_DOCUMENT, REQUEST_TIMEOUT } from './mcp-request.ts';

/** `none`: there is no gateway, or it does not say. */
export type GatewayHealth = 'none' | 'up' | 'down' | 'unready';

/** Requests `/readyz` of the server's origin: paths and two words for each, no addresses and no reasons. */
export async function readGatewayHealth({
  fetch,
  server,
}: Pick<ExaminationContext, 'fetch' | 'server'>): Promise<GatewayHealth> {
  const { origin, pathname } = new URL(server);
  const found = await attempt(async () => {
    const response = await fetch(`${origin}/readyz`, {
      redirect: 'manual',
      signal: AbortSignal.timeout(REQUEST_TIMEOUT),
    });
    return { status: response.status, json: parseJson(await readBoundedText(response, MAX_DOCUMENT)) };
  });
  if ('failure' in found || !isObject(found.value.json)) return 'none';
  const { status, json } = found.value;
  if (status === 503)
    return ['unavailable', 'draining'].includes(String(json['status'])) ? 'unready' : 'none';
  const { backends } = json;
  const state = isObject(backends) && Object.hasOwn(backends, pathname) ? backends[pathname] : null;
  return state === 'up' || state === 'down' ? state : 'none';
}

/** Adds what can be said without a user. */
export function reportGatewayHealth(
  { report }: Pick<ExaminationContext, 'report'>,
  health: GatewayHealth,
): void {
  const about = {
    step: 'call',
    requirement: null,
    severity: 'error',
    temporary: true,
    revisions: [],
  } as const;
  if (health === 'up') {
    report.describeSkipped(
      'call',
      'the gateway reaches the server behind it; the rest requires a user: --sign-in',
    );
  } else if (health === 'down') {
    report.addFinding({
      ...about,
      owner: 'backend',
      message: 'The gateway cannot reach the server behind it.',
      remedy: 'Its operator has to start it, and can see why with `portcullis servers test`.',
    });
    report.summarize('call', 'the server behind the gateway does not respond');
  } else if (health === 'unready') {
    report.addFinding({
      ...about,
      owner: 'gateway',
      message: 'The gateway is not ready: it cannot use its database, or is about to stop.',
      remedy: 'Its operator finds the reason in its log, at `readiness.failed`.',
    });
    report.summarize('call', 'the gateway is not ready');
  }
}
