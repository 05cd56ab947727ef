/** Where the credentials of a person are, who has not said otherwise. */
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** @param environment the process's; relative paths start from `folder` */
export function credentialsPlace(
  flag: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
  platform: NodeJS.Platform = process.platform,
): string {
  const named = flag ?? environment['PORTCULLIS_CREDENTIALS'] ?? '';
  if (named !== '') return resolve(folder, named);
  return join(settingsFolder(environment, platform), 'portcullis', 'credentials.db');
}

function settingsFolder(
  environment: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform,
): string {
  const home = homedir();
  if (platform === 'win32') return environment['LOCALAPPDATA'] ?? join(home, 'AppData', 'Local');
  if (platform === 'darwin') return join(home, 'Library', 'Application Support');
  const configured = environment['XDG_CONFIG_HOME'] ?? '';
  // A relative path there is to be ignored, says the specification of that variable.
  return configured.startsWith('/') ? configured : join(home, '.config');
}
