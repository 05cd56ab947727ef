/** `portcullis clients add`, `update` and `rotate-secret`; a secret is shown only once. */
import { InvalidArgumentError } from 'commander';
import { timeOf } from '../../terminal/times.ts';
import { unknownClient } from './list.ts';
import { explainRejection, readGivenMetadata } from './metadata-flags.ts';
import { warnOfScopes } from './scopes.ts';
import { showSecretOnce } from './secret-output.ts';
import type { Task } from './task.ts';

export async function addClient({ clients, settings, flags, processContext }: Task): Promise<string> {
  const document = await readGivenMetadata(flags, processContext);
  const warnings = await warnOfScopes(document, settings);
  return showSecretOnce(flags, processContext, async () => {
    const registered = await clients.add(document).catch((error: unknown) => {
      throw explainRejection(error, flags);
    });
    for (const warning of warnings) processContext.complain(warning);
    return { registered, about: `The client ${registered['client_id']} can be used now.` };
  });
}

export async function updateClient(task: Task): Promise<string> {
  const { clients, settings, flags, id, processContext } = task;
  const changes = await readGivenMetadata(flags, processContext);
  if (Object.keys(changes).length === 0) throw new Error('Name at least one change, such as --client-name');
  const known = await clients.find(id);
  if (known === null) throw unknownClient(task);
  const warnings = await warnOfScopes({ ...known.metadata, ...changes }, settings);
  return showSecretOnce(flags, processContext, async () => {
    const registered = await clients.update(id, changes).catch((error: unknown) => {
      throw explainRejection(error, flags);
    });
    if (registered === null) throw unknownClient(task);
    for (const warning of warnings) processContext.complain(warning);
    return { registered, about: `The client ${id} is updated.` };
  });
}

export async function rotateSecret(task: Task): Promise<string> {
  const { clients, flags, id, processContext } = task;
  return showSecretOnce(flags, processContext, async () => {
    const rotated = await clients.rotateSecret(id, flags.overlap ?? 0).catch((error: unknown) => {
      throw explainRejection(error, flags);
    });
    if (rotated === null) throw unknownClient(task);
    return describeRotation(id, rotated, flags.overlap, timeOf(rotated.previousUntil));
  });
}

/** @param until when the previous secret expires, in ISO 8601 */
export function describeRotation(
  id: string,
  { secret, previousUntil }: { readonly secret: unknown; readonly previousUntil: number },
  overlap: number | undefined,
  until: string,
) {
  const previous =
    overlap === 0
      ? 'the secret before is refused from now on'
      : `the secret before is accepted until ${until}`;
  return {
    registered: { client_id: id, client_secret: secret, previous_secret_expires_at: previousUntil },
    about: `The client ${id} has a new secret; ${previous}.`,
  };
}

/** Seconds of each unit. */
const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Maximum overlap in seconds. */
const MAX_OVERLAP = 90 * 86_400;

export function readDuration(value: string): number {
  const [, count = '', unit = 's'] = /^(\d{1,9})([smhd]?)$/.exec(value) ?? [];
  const seconds = Number(count) * (UNITS[unit === '' ? 's' : unit] ?? 1);
  if (count !== '' && seconds <= MAX_OVERLAP) return seconds;
  throw new InvalidArgumentError('It must be a time such as 30m, 12h or 7d, at most 90d.');
}
