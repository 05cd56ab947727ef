/** A real mail server on loopback for tests, which parses what it accepts. */
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

/** How the server behaves; tests change it between mails. */
interface MailBehavior {
  /** The response to a recipient; `null`: accepted. */
  recipient: (address: string) => readonly [code: number, text: string] | null;
  /** The response to a whole mail. */
  data: () => readonly [code: number, text: string] | null;
}

interface ReceivedMail extends Email {
  /** Of `RCPT TO`. */
  readonly recipients: readonly string[];
  /** The message as it was sent. */
  readonly raw: string;
  readonly isEncrypted: boolean;
  /** The user who authenticated; `null`: none. */
  readonly user: string | null;
}

export interface MailServer {
  /** `smtp://127.0.0.1:…` */
  readonly url: string;
  readonly mails: ReceivedMail[];
  readonly behavior: MailBehavior;
  /** The first link of a kind in the newest mail that has one. @param path such as `/reset` */
  waitForLink(path: string): Promise<string>;
  close(): Promise<void>;
}

interface Given extends Pick<SMTPServerOptions, 'key' | 'cert' | 'secure'> {
  readonly host?: string;
  readonly port?: number;
  /** User and password that are required. */
  readonly login?: readonly [user: string, password: string];
}

export async function startMailServer({
  host = '127.0.0.1',
  port = 0,
  login,
  ...options
}: Given = {}): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  const behavior: MailBehavior = { recipient: () => null, data: () => null };
  const refusal = ([responseCode, text]: readonly [number, string]) =>
    Object.assign(new Error(text), { responseCode });
  const recipientsOf = new Map<string, string[]>();
  const server = new SMTPServer({
    // Without a certificate, there is no TLS.
    ...(options.cert === undefined && { disabledCommands: ['STARTTLS'] }),
    ...options,
    authOptional: login === undefined,
    onAuth({ username, password }, _session, callback) {
      const isRight = username === login?.[0] && password === login?.[1];
      callback(isRight ? null : new Error('wrong'), isRight ? { user: username } : undefined);
    },
    onRcptTo({ address }, { id }, callback) {
      const refused = behavior.recipient(address);
      if (refused === null) recipientsOf.set(id, [...(recipientsOf.get(id) ?? []), address]);
      callback(refused === null ? null : refusal(refused));
    },
    async onData(stream, { id, secure, user }, callback) {
      const raw = Buffer.concat(await Array.fromAsync(stream)).toString();
      const refused = behavior.data();
      if (refused !== null) return callback(refusal(refused));
      const email = await PostalMime.parse(raw);
      const recipients = recipientsOf.get(id) ?? [];
      recipientsOf.delete(id);
      mails.push({ ...email, recipients, raw, isEncrypted: secure, user: user ?? null });
      callback();
    },
  });
  // Clients that give up.
  server.on('error', () => {});
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(port, host, resolve);
  await promise;
  const { port: actual } = server.server.address() as AddressInfo;
  return {
    url: `smtp://${host}:${actual}`,
    mails,
    behavior,
    async waitForLink(path) {
      for (;;) {
        const found = mails.findLast(({ text = '' }) => text.includes(`${path}?token=`))?.text ?? '';
        const [link] = found.match(/https?:\/\/\S+\?token=\S+/) ?? [];
        if (link !== undefined) return link;
        await sleep(50);
      }
    },
    close: () => new Promise((done) => server.close(() => done())),
  };
}
