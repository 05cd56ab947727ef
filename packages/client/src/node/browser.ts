/** The system's browser, started without a shell and with one validated URL as its only argument. */
import { type SpawnOptions, spawn } from 'node:child_process';
import { readSecureUrl } from '@portcullis/protocol';
import type { Browser } from '../authorization/receiver.ts';
import { ClientError } from '../errors.ts';

/** A program and its arguments. */
export interface OpenerCommand {
  readonly program: string;
  readonly arguments: readonly string[];
}

/** Starts a detached process. */
type StartProcess = (program: string, args: readonly string[], options: SpawnOptions) => Promise<void>;

/** Openers by platform; each receives the URL as a separate argument after these. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, OpenerCommand>>> = {
  darwin: { program: 'open', arguments: [] },
  // No shell: the protocol handler gets the argument unchanged. Windows would look for a name in the working directory first.
  win32: {
    program: `${process.env['SystemRoot'] ?? 'C:\\Windows'}\\System32\\rundll32.exe`,
    arguments: ['url.dll,FileProtocolHandler'],
  },
};

/**
 * The command that opens a URL on a platform.
 * @throws ClientError `authorization_url_refused` for anything but https, or http on a loopback address.
 */
export function openerCommand(url: string, platform: NodeJS.Platform): OpenerCommand {
  if (readSecureUrl(url) === null) {
    throw new ClientError(
      'authorization_url_refused',
      'Refused to open a URL that is neither https nor on a loopback address.',
    );
  }
  const opener = OPENERS[platform] ?? { program: 'xdg-open', arguments: [] };
  return { program: opener.program, arguments: [...opener.arguments, url] };
}

/** Options of the system's browser. */
export interface SystemBrowserOptions {
  /** Environment of the opener; its `PATH` decides which one runs, except on Windows. By default that of the process. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly start?: StartProcess;
  readonly platform?: NodeJS.Platform;
}

/** The default browser of the system. */
export function createSystemBrowser({
  environment,
  start = startDetached,
  platform = process.platform,
}: SystemBrowserOptions = {}): Browser {
  return {
    // Other users of this computer can read the arguments of a process, and the URL contains the state.
    async open(url, _redirectUri, _shortUrl, onceUrl = url) {
      const command = openerCommand(onceUrl, platform);
      try {
        await start(command.program, command.arguments, {
          shell: false,
          ...(environment !== undefined && { env: { ...environment } }),
          stdio: 'ignore',
          detached: true,
          windowsHide: true,
        });
      } catch (cause) {
        throw new ClientError(
          'sign_in_needed',
          'No browser could be started. Configure a `browser` that shows the URL to the user, or a `receiver` for a pasted one.',
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
