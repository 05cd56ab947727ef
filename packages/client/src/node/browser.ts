/** The system's browser, started without a shell and given nothing but one judged address. */
import { type SpawnOptions, spawn } from 'node:child_process';
import { isSecureUrl, readWebUrl } from '@portcullis/protocol';
import type { Browser } from '../authorization/receiver.ts';
import { ClientError } from '../errors.ts';

/** A program and its arguments, as the system gets them. */
export interface OpenerCommand {
  readonly program: string;
  readonly arguments: readonly string[];
}

/** Starts a program; it is let go once it runs. */
export type StartProcess = (program: string, args: readonly string[], options: SpawnOptions) => Promise<void>;

/** Openers by platform; each takes the address as one argument of its own. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, (url: string) => OpenerCommand>>> = {
  darwin: (url) => ({ program: 'open', arguments: [url] }),
  // No shell: the protocol handler gets the argument as it stands.
  win32: (url) => ({ program: 'rundll32', arguments: ['url.dll,FileProtocolHandler', url] }),
};

/**
 * What opens an address on a platform.
 * @throws ClientError `authorization_url_refused` for anything but https, or http to this computer.
 */
export function openerCommand(url: string, platform: NodeJS.Platform): OpenerCommand {
  const parsed = readWebUrl(url);
  if (parsed === null || !isSecureUrl(parsed)) {
    throw new ClientError(
      'authorization_url_refused',
      'Refused to open an address that is neither https nor on this computer.',
    );
  }
  const opener = OPENERS[platform] ?? ((address: string) => ({ program: 'xdg-open', arguments: [address] }));
  return opener(url);
}

/** The browser that the person has set for the system. */
export function createSystemBrowser(
  start: StartProcess = startDetached,
  platform: NodeJS.Platform = process.platform,
): Browser {
  return {
    async open(url) {
      const command = openerCommand(url, platform);
      try {
        await start(command.program, command.arguments, {
          shell: false,
          stdio: 'ignore',
          detached: true,
          windowsHide: true,
        });
      } catch (cause) {
        throw new ClientError(
          'sign_in_needed',
          'No browser could be started here. Give the client a `browser` that shows the address to the person, or a `receiver` for a pasted one.',
          { cause },
        );
      }
    },
  };
}

function startDetached(program: string, args: readonly string[], options: SpawnOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, options);
    child.once('error', reject);
    child.once('spawn', () => {
      child.unref();
      resolve();
    });
  });
}
