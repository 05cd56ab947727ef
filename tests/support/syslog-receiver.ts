/** A syslog receiver in this process: reads frames that begin with their length. @see RFC 6587 §3.4.1, RFC 5424 §6 */
import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

interface ReceivedFrame {
  readonly priority: number;
  readonly time: string;
  readonly host: string;
  readonly app: string;
  /** The type of the event. */
  readonly id: string;
  readonly message: Readonly<Record<string, unknown>>;
}

export interface SyslogReceiver {
  readonly port: number;
  readonly frames: readonly ReceivedFrame[];
  /** Connections that were opened so far. */
  connections(): number;
  /** Ends the connections, and accepts others. */
  disconnect(): void;
  close(): Promise<void>;
}

/** @param certificate for TLS; TCP without one */
export async function startSyslogReceiver(
  certificate?: { readonly cert: string; readonly key: string },
  port = 0,
): Promise<SyslogReceiver> {
  const frames: ReceivedFrame[] = [];
  const open = new Set<Socket>();
  let connections = 0;
  const listener = (socket: Socket) => {
    connections += 1;
    open.add(socket);
    socket.on('error', () => {}).on('close', () => open.delete(socket));
    let buffered = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      buffered = Buffer.concat([buffered, chunk]);
      for (;;) {
        const [, length = ''] = /^(\d+) /.exec(buffered.toString('latin1', 0, 8)) ?? [];
        const end = length.length + 1 + Number(length);
        if (length === '' || buffered.length < end) return;
        frames.push(readFrame(buffered.toString('utf8', length.length + 1, end)));
        buffered = buffered.subarray(end);
      }
    });
  };
  const server = certificate === undefined ? createServer(listener) : createTlsServer(certificate, listener);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = server.address();
  const disconnect = () => {
    for (const socket of open) socket.destroy();
  };
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    frames,
    connections: () => connections,
    disconnect,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        disconnect();
      }),
  };
}

const FRAME = /^<(\d{1,3})>1 (\S+) (\S+) (\S+) (\d+) (\S+) - ([\x20-\x7e]*)$/;

function readFrame(text: string): ReceivedFrame {
  const [, priority, time = '', host = '', app = '', , id = '', message = ''] = FRAME.exec(text) ?? [];
  if (priority === undefined) throw new Error(`not a syslog message of RFC 5424: ${text}`);
  return { priority: Number(priority), time, host, app, id, message: JSON.parse(message) };
}
