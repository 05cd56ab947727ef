/** The options of a client, made from the flags of a command: where it asks the person in front of it, it asks by its terminal. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import {
  ClientError,
  createPasteReceiver,
  type DevicePrompt,
  type RegistrationQuestion,
  type RegistrationReply,
  type RegistrationSettings,
} from '@portcullis/client';
import { createSystemBrowser, type NodeClientOptions } from '@portcullis/client/node';
import type { Scopes } from '@portcullis/protocol';
import { reasonOf, SettingsError } from '../errors.ts';
import type { ProcessContext } from '../process-context.ts';
import { cleanLine } from '../terminal/clean.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { carriersOf } from './carrier.ts';
import type { ClientFlags, ProgramFlags, SignInFlags } from './flags.ts';
import { activityOf, noticeOf } from './narration.ts';

/** The options of a client that never asks anybody. */
function commonOptions(
  serverUrl: string,
  flags: ClientFlags,
  { environment }: ProcessContext,
): NodeClientOptions {
  const trustedOrigins = flags.trustOrigin ?? [];
  const indicators = (flags.resourceFor ?? []).map(([issuer, named]) => [
    issuer,
    named === '' ? null : named,
  ]);
  return {
    serverUrl,
    account: flags.account,
    trustedOrigins,
    issuerAliases: Object.fromEntries(flags.issuerAlias ?? []),
    resourceIndicators: Object.fromEntries(indicators),
    ...carriersOf({ serverUrl, trustedOrigins, environment }),
    ...(flags.dpop !== undefined && { dpop: flags.dpop }),
    ...(flags.revision !== undefined && { revision: flags.revision }),
  };
}

/** The options of a client that never asks anybody, of the person or of the program that the flags name. */
export async function quietOptions(
  serverUrl: string,
  flags: ProgramFlags,
  processContext: ProcessContext,
): Promise<NodeClientOptions> {
  return {
    ...commonOptions(serverUrl, flags, processContext),
    ...(flags.application && { grant: { kind: 'application' } }),
    registration: await configuredClient(flags, processContext),
  };
}

async function configuredClient(
  flags: ProgramFlags,
  processContext: ProcessContext,
): Promise<Pick<RegistrationSettings, 'preregistered'>> {
  const { application, clientId } = flags;
  if (application && clientId === undefined)
    throw new SettingsError(['--application needs --client-id: which application is it?']);
  const secret = await readClientSecret(flags, processContext);
  if (clientId === undefined) return {};
  return { preregistered: [{ clientId, ...(secret !== null && { clientSecret: secret }) }] };
}

/** The options of a client that signs the person in as the flags say. */
export async function clientOptions(
  serverUrl: string,
  flags: SignInFlags,
  processContext: ProcessContext,
  terminal: Terminal,
): Promise<NodeClientOptions> {
  const configured = await configuredClient(flags, processContext);
  // A registration of an earlier time is the one that the server may have forgotten.
  let isNew = false;
  const hint = () =>
    isNew || flags.clientId !== undefined ? '' : oldRegistration(serverUrl, processContext.command);
  const { clientMetadataUrl } = flags;
  return {
    ...commonOptions(serverUrl, flags, processContext),
    ...grantOptions(flags, terminal),
    ...browserOptions(flags, terminal, processContext.environment, hint),
    registration: {
      clientName: 'Portcullis',
      ...(clientMetadataUrl !== undefined && { metadataDocumentUrl: clientMetadataUrl }),
      ...configured,
      ...(terminal.interactive && { ask: (question) => askForClient(question, terminal) }),
    },
    ...(flags.scope !== undefined && { scopes: { only: flags.scope } }),
    retryStepUp: flags.stepUp === true,
    confirmStepUp: (added) => confirmStepUp(added, flags, terminal),
    onEvent(event) {
      if (event.type === 'client.registered') isNew = true;
      const words = noticeOf(event);
      if (words !== null) terminal.tell(words);
      terminal.during(activityOf(event));
    },
  };
}

function grantOptions(flags: SignInFlags, terminal: Terminal): Pick<NodeClientOptions, 'grant'> {
  if (flags.application) return { grant: { kind: 'application' } };
  if (flags.device) return { grant: { kind: 'device', show: (prompt) => showCode(prompt, terminal) } };
  return {};
}

function oldRegistration(serverUrl: string, command: string): string {
  return `\nIf the page does not know this client: ${command} login ${serverUrl} --new-registration`;
}

function browserOptions(
  flags: SignInFlags,
  terminal: Terminal,
  environment: ProcessContext['environment'],
  hint: () => string,
): Pick<NodeClientOptions, 'browser' | 'receiver' | 'loopback'> {
  const loopback = flags.port === undefined ? {} : { loopback: { port: flags.port } };
  if (flags.browser) {
    return {
      ...loopback,
      browser: {
        async open(url) {
          terminal.tell(
            `Sign in in the browser. If none opens, open this address yourself:\n${url}${hint()}`,
          );
          if (!(await openBrowser(url, environment))) {
            terminal.tell(
              'No browser could be started here: open the address above in one. If that is on another computer, use --no-browser.',
            );
          }
          terminal.during('Waiting for the sign-in in the browser');
        },
      },
    };
  }
  return {
    browser: {
      open: async (url) =>
        terminal.tell(`Open this address in any browser:\n${url}${hint()}\n${whereItEnds(url)}`),
    },
    receiver: createPasteReceiver({
      read: () => terminal.ask('Paste the address at which the browser ended: '),
      tell: (message) => terminal.tell(message),
      ...(flags.port !== undefined && { redirectUri: `http://127.0.0.1:${flags.port}/callback` }),
    }),
  };
}

/** Nobody listens at the redirect URI, which looks as if something had gone wrong. */
function whereItEnds(url: string): string {
  const place = cleanLine(new URL(url).searchParams.get('redirect_uri') ?? '');
  return (
    `After the sign-in the browser goes to a page that cannot be reached, at ${place}: that is right.\n` +
    'Copy the whole address of that page from the address bar (it has code= and state= in it), and paste it here.'
  );
}

/**
 * Opens a URL in the system's browser.
 * @param environment its `PATH` decides which opener runs
 * @returns false when no browser could be started; the user can still open the printed URL
 */
export async function openBrowser(url: string, environment: ProcessContext['environment']): Promise<boolean> {
  try {
    await createSystemBrowser({ environment }).open(url);
    return true;
  } catch (error) {
    if (error instanceof ClientError && error.code === 'sign_in_needed') return false;
    throw error;
  }
}

function showCode(prompt: DevicePrompt, terminal: Terminal): void {
  const { userCode, verificationUri, verificationUriComplete, expiresIn } = prompt;
  terminal.tell(`Open ${verificationUri} on any device, and enter ${userCode} there.`);
  if (verificationUriComplete !== null) terminal.tell(`Or open ${verificationUriComplete}`);
  terminal.during(`Waiting for the sign-in, for ${Math.ceil(expiresIn / 60)} minutes at most`);
}

/** The person sees what would be added, before any page does. */
async function confirmStepUp(added: Scopes, flags: SignInFlags, terminal: Terminal): Promise<boolean> {
  // A program has nobody to ask. Scopes that it was given by name are all that it asks for, unless it may step up.
  if (flags.application) return flags.stepUp === true || flags.scope === undefined;
  const names = added.map(cleanLine).join(', ');
  terminal.during(null);
  if (flags.stepUp) {
    terminal.tell(`The server asks for more: ${names}.`);
    return true;
  }
  if (terminal.interactive)
    return terminal.confirm(`The server asks for more: ${names}. Ask the authorization server for it?`);
  terminal.tell(`The server asks for more: ${names}. Nobody is here to allow that.`);
  return false;
}

async function askForClient(
  question: RegistrationQuestion,
  terminal: Terminal,
): Promise<RegistrationReply | null> {
  terminal.tell(
    [
      `${cleanLine(question.issuer)} does not let clients register themselves. Register one there by hand:`,
      `  type           ${question.applicationType} application`,
      `  grants         ${question.grantTypes.join(', ')}`,
      `  redirect URIs  ${question.redirectUris.join(' and ')}`,
    ].join('\n'),
  );
  const clientId = (await terminal.ask('Its client ID (nothing to give up): ')).trim();
  if (clientId === '') return null;
  const clientSecret = (await terminal.askSecret('Its client secret, if it has one: ')).trim();
  return { clientId, ...(clientSecret !== '' && { clientSecret }) };
}

/** A secret comes from a file, from standard input, or from the environment: other users can read command lines. */
async function readClientSecret(
  { clientSecretFile, clientId }: ProgramFlags,
  { environment, folder, streams }: ProcessContext,
): Promise<string | null> {
  const named = environment['PORTCULLIS_CLIENT_SECRET'] ?? '';
  if (clientSecretFile === undefined) return named === '' ? null : named;
  if (clientId === undefined)
    throw new SettingsError(['--client-secret-file needs --client-id: whose secret is it?']);
  try {
    const read =
      clientSecretFile === '-' ? text(streams.input) : readFile(resolve(folder, clientSecretFile), 'utf8');
    return (await read).trim();
  } catch (cause) {
    throw new SettingsError([`--client-secret-file cannot be read: ${reasonOf(cause)}`], { cause });
  }
}
