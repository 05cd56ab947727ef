/** Free ports for servers that must listen on a given port, or on the same one again. */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Systems assign free ports from 32768 on: a port below stays free while its server is down. */
const [FIRST, LAST] = [20_000, 32_000] as const;

/** A free port of this computer, outside the range that systems assign. */
export async function reservePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST);
    if (await isFree(port)) return port;
  }
}

/** On all addresses, so that both 127.0.0.1 and `localhost` are free. */
function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, () => probe.close(() => resolve(true)));
  });
}
