/** The listener at the configured address, or the issue with that address. */
import { type HttpHandler, type ListeningServer, listen, type TlsCertificate } from '@portcullis/http/node';
import { reasonOf, SettingsError } from '../errors.ts';
import { flagOf, type Settings } from '../settings/schema.ts';
import type { Log } from './log.ts';
import type { Prepared } from './prepare.ts';

/** @throws SettingsError naming the setting */
export async function bind(
  { settings: { port, host, trustedProxies }, nameOf }: Prepared,
  certificate: TlsCertificate | null,
  log: Log,
  handler: HttpHandler,
): Promise<ListeningServer> {
  try {
    return await listen(handler, {
      port,
      host,
      trustedProxies,
      ...(certificate !== null && { certificate }),
      onError: (error) => log({ type: 'request.failed', reason: reasonOf(error) }),
    });
  } catch (cause) {
    throw new SettingsError([addressIssue({ port, host }, nameOf, cause)], { cause });
  }
}

function addressIssue(
  { port, host }: Pick<Settings, 'port' | 'host'>,
  nameOf: Prepared['nameOf'],
  cause: unknown,
): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'EADDRINUSE') {
    const advice = `choose another with ${flagOf('port')}, or 0 for any free one`;
    return `${nameOf('port')} is ${port}, which another program uses on ${host}: ${advice}`;
  }
  if (code === 'EACCES') return `${nameOf('port')} is ${port}, which this user may not listen on`;
  return `${nameOf('host')} is ${host}, which cannot be listened on: ${reasonOf(cause)}`;
}
