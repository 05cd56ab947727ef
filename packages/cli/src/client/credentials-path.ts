/** Path of the credential file: from the flag, the environment, or the system's settings folder. */
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** @param folder base of relative paths */
export function credentialsPath(
  flag: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): string {
  const named = flag ?? environment['PORTCULLIS_CREDENTIALS'] ?? '';
  if (named !== '') return resolve(folder, named);
  return join(settingsFolder(environment), 'portcullis', 'credentials.db');
}

/** The folder of this user for settings: `$XDG_CONFIG_HOME` or `~/.config`, or the platform's equivalent. */
export function settingsFolder(environment: Readonly<Record<string, string | undefined>>): string {
  const { platform } = process;
  const home = homedir();
  if (platform === 'win32') return environment['LOCALAPPDATA'] ?? join(home, 'AppData', 'Local');
  if (platform === 'darwin') return join(home, 'Library', 'Application Support');
  const configured = environment['XDG_CONFIG_HOME'] ?? '';
  // The XDG Base Directory Specification requires relative paths to be ignored.
  return configured.startsWith('/') ? configured : join(home, '.config');
}
