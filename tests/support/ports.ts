/** Ports for what has to listen where it was told, or where it listened before. */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Systems give whoever asks for any port one from 32768 on: what is below belongs to nobody while its server is away. */
const [FIRST, LAST] = [20_000, 32_000] as const;

/** A port of this computer on which nobody listens, and which nobody is given who asks for any. */
export async function reservePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST);
    if (await isFree(port)) return port;
  }
}

/** On all addresses, so that neither 127.0.0.1 nor `localhost` is taken. */
function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, () => probe.close(() => resolve(true)));
  });
}
