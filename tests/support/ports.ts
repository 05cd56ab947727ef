/** Free ports for servers that must listen on a given port, or on the same one again. */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Systems assign free ports from 32768 on: a port below stays free while its server is down. */
const [FIRST, LAST] = [20_000, 32_000] as const;
/** Each worker of a test run has ports of its own, so that none takes one that another has found free. */
const WORKERS = 8;
const SPAN = (LAST - FIRST) / WORKERS;
const first = FIRST + (Number(process.env['VITEST_POOL_ID'] ?? 0) % WORKERS) * SPAN;
let next = randomInt(SPAN);

/** A free port of this computer, outside the range that systems assign, and another at each call. */
export async function reservePort(): Promise<number> {
  for (;;) {
    const port = first + (next++ % SPAN);
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
