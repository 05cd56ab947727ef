/** A network between a store and its database that a test can cut, silence and restore. */
import { connect, createServer, type Socket } from 'node:net';

export interface Network {
  /** The location of the database through this network. */
  readonly location: string;
  /** Closes all connections; new ones are closed at once. */
  cut(): void;
  /** Keeps connections open, but passes nothing on. */
  silence(): void;
  restore(): void;
  close(): Promise<void>;
}

export async function startNetwork(location: string): Promise<Network> {
  const target = new URL(location);
  const sockets = new Set<Socket>();
  let state: 'open' | 'cut' | 'silent' = 'open';
  const relay = (from: Socket, to: Socket) => {
    sockets.add(from);
    from.on('data', (chunk) => {
      if (state === 'open') to.write(chunk);
    });
    from.on('error', () => {});
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
  };
  const server = createServer((near) => {
    if (state === 'cut') {
      near.destroy();
      return;
    }
    const far = connect(Number(target.port), target.hostname);
    relay(near, far);
    relay(far, near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the network has no address');
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy();
  };

  return {
    location: Object.assign(new URL(location), { port: String(address.port) }).href,
    cut() {
      state = 'cut';
      destroyAll();
    },
    silence() {
      state = 'silent';
    },
    restore() {
      if (state === 'silent') destroyAll();
      state = 'open';
    },
    async close() {
      destroyAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
