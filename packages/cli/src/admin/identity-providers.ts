/** `portcullis identity-providers`: whether users can sign in at each identity provider. */
import { describeProviderStatus, listProviderStatus } from '@portcullis/admin/operations';
import { completeEntry, createOptionReport } from '@portcullis/authorization-server/options';
import type { Command } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import type { Settings } from '../settings/schema.ts';
import { cleanLine } from '../terminal/clean.ts';
import { type Output, type StoreTask, storeCommands } from './store-commands.ts';

type Described = ReturnType<typeof describeProviderStatus>;

export function defineIdentityProviders(program: Command, processContext: ProcessContext): void {
  const define = storeCommands(program, processContext, (task: StoreTask<object>) => task);
  define(
    'identity-providers',
    'read the metadata and keys of each identity provider, and when users last signed in there',
    show,
  ).option('--json', 'as JSON');
}

async function show({ settings, store }: StoreTask<object>): Promise<Output> {
  const identityProviders = providersOf(settings);
  const all = await listProviderStatus({ identityProviders, store, outbound: settings.outbound });
  const described = all.map(describeProviderStatus);
  return { json: described, text: providersText(described) };
}

/** Those of the settings, completed by their presets. */
function providersOf({ identityProviders }: Settings) {
  return identityProviders.flatMap((entry) => {
    const options = completeEntry(entry, [], createOptionReport());
    if (options === null) return [];
    const { id, name, kind } = options;
    const endpoints = 'endpoints' in kind ? kind.endpoints : undefined;
    const protocol = endpoints === undefined ? ('openid' as const) : ('oauth' as const);
    const issuer = kind.issuer ?? new URL(endpoints?.authorization ?? '').origin;
    return [{ id, name, provider: { protocol, issuer } }];
  });
}

/** What is said of each, in lines. */
export function providersText(all: readonly Described[]): string {
  if (all.length === 0) return 'No identity provider is configured: users sign in here.\n';
  return all.map(providerText).join('\n');
}

function providerText(status: Described): string {
  const { name, issuer, metadata, keys, error } = status;
  const states = [
    metadata === 'unused' ? 'its endpoints are configured' : `metadata ${metadata}`,
    ...(keys === 'unused' ? [] : [`keys ${keys}`]),
  ];
  const failure =
    status.lastFailureAt === null ? '' : `; last failure ${status.lastFailureAt}: ${status.lastFailure}`;
  return [
    `${name} (${issuer})`,
    `  ${states.join(', ')}${error === null ? '' : `: ${error}`}`,
    `  last sign-in ${status.lastSuccessAt ?? 'none yet'}${failure}`,
  ]
    .map((line) => `${cleanLine(line)}\n`)
    .join('');
}
