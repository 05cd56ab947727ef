/** Public health of a Portcullis gateway: its readiness, and whether the server behind it is up. */
import { isObject } from '../json.ts';
import type { ExaminationContext } from './examination.ts';
import { fetchDocument } from './requests.ts';

/** `none`: no gateway, or no health report. */
export type GatewayHealth = 'none' | 'up' | 'down' | 'unready';

/** Requests `/readyz` at the server's origin: paths and two words for each, no addresses and no reasons. */
export async function readGatewayHealth({
  fetch,
  server,
}: Pick<ExaminationContext, 'fetch' | 'server'>): Promise<GatewayHealth> {
  const { origin, pathname } = new URL(server);
  const { status, json } = (await fetchDocument(fetch, `${origin}/readyz`)) ?? {};
  if (!isObject(json)) return 'none';
  if (status === 503)
    return ['unavailable', 'draining'].includes(String(json['status'])) ? 'unready' : 'none';
  const { backends } = json;
  const state = isObject(backends) && Object.hasOwn(backends, pathname) ? backends[pathname] : null;
  return state === 'up' || state === 'down' ? state : 'none';
}

const FINDINGS = {
  down: {
    owner: 'backend',
    message: 'The gateway cannot reach the server behind it.',
    remedy: 'Its operator has to start it, and can see why with `portcullis servers test`.',
    summary: 'the server behind the gateway does not respond',
  },
  unready: {
    owner: 'gateway',
    message: 'The gateway is not ready: it cannot use its database, or is about to stop.',
    remedy: 'Its operator finds the reason in its log, at `readiness.failed`.',
    summary: 'the gateway is not ready',
  },
} as const;

/** Adds findings that require no user. */
export function reportGatewayHealth({ report }: ExaminationContext, health: GatewayHealth): void {
  if (health === 'up')
    report.describeSkipped(
      'call',
      'the gateway reaches the server behind it; the rest requires a user: --sign-in',
    );
  if (health === 'none' || health === 'up') return;
  const { summary, ...finding } = FINDINGS[health];
  report.addFinding({ step: 'call', temporary: true, ...finding });
  report.summarize('call', summary);
}
