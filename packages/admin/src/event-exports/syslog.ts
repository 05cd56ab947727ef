/** Sends events by syslog over TLS or TCP, each in a frame that begins with its length. @see RFC 5424, RFC 5425, RFC 6587 §3.4.1 */
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { hostname } from 'node:os';
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import { DELIVERED, failedBy, type SendEvent } from '../webhooks/send.ts';
import type { SyslogAddress } from './options.ts';
import { type Severity, severityOf } from './severity.ts';

/** The facility "log audit". @see RFC 5424 §6.2.1 */
const FACILITY = 13;
const SEVERITIES: Readonly<Record<Severity, number>> = { information: 6, warning: 4, critical: 2 };

const TIMEOUT = 15_000;

/** Sends events until it is closed. */
export interface EventSender {
  readonly send: SendEvent;
  close(): Promise<void>;
}

/**
 * @param write the text of an event
 * @param timeout milliseconds for a connection, and for a receiver that does not read
 */
export function createSyslogSender(
  address: SyslogAddress,
  write: (event: AuditEventRecord) => object,
  timeout = TIMEOUT,
): EventSender {
  let connection: Promise<Socket> | null = null;

  /** One connection for all events, opened again when it has ended. */
  function open(): Promise<Socket> {
    if (connection !== null) return connection;
    const opening = connect(address, timeout);
    connection = opening;
    const forget = () => {
      if (connection === opening) connection = null;
    };
    opening.then((socket) => socket.once('close', forget), forget);
    return opening;
  }

  return {
    async send(event) {
      try {
        const socket = await open();
        await writeFrame(socket, frameOf(event, JSON.stringify(write(event))));
        return DELIVERED;
      } catch (error) {
        return failedBy(error, 'no connection');
      }
    },
    async close() {
      const socket = await connection?.catch(() => null);
      socket?.end();
    },
  };
}

async function connect({ isTls, host, port }: SyslogAddress, timeout: number): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  let isOpen = false;
  const socket = isTls
    ? (await import('node:tls')).connect({ host, port, ...(isIP(host) === 0 && { servername: host }) })
    : connectTcp({ host, port });
  socket.once(isTls ? 'secureConnect' : 'connect', () => {
    isOpen = true;
    resolve(socket);
  });
  socket.on('error', reject);
  socket.once('close', () => reject(new Error('The connection was closed.')));
  socket.setTimeout(timeout, () => {
    // A receiver may accept the connection, and never begin the handshake of TLS.
    if (!isOpen || socket.writableLength > 0)
      socket.destroy(new Error('The receiver did not respond in time.'));
  });
  // A receiver sends nothing; what it sends anyway must not fill the memory.
  socket.resume();
  socket.unref();
  return promise;
}

/** Resolves when the operating system has the frame: syslog has no response. */
function writeFrame(socket: Socket, frame: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.write(`${Buffer.byteLength(frame)} ${frame}`, (error) => {
      if (error == null) resolve();
      else reject(error);
    });
  });
}

/** Printable ASCII without spaces. @see RFC 5424 §6.2 */
function fieldOf(text: string, length: number): string {
  return text.replace(/[^\x21-\x7e]/g, '').slice(0, length) || '-';
}

/** @param json without line breaks; other characters than ASCII are escaped, so that no byte order mark is needed */
function frameOf(event: AuditEventRecord, json: string): string {
  const priority = FACILITY * 8 + SEVERITIES[severityOf(event)];
  const time = new Date(event.at).toISOString();
  const message = json.replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  const fields = [time, fieldOf(hostname(), 255), 'portcullis', process.pid, fieldOf(event.type, 32), '-'];
  return `<${priority}>1 ${fields.join(' ')} ${message}`;
}
