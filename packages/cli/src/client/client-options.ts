/** Builds client options from the flags of a command, with prompts to the user in the terminal. */
import {
  ClientError,
  createPasteReceiver,
  type DevicePrompt,
  type ManualRegistration,
  type RegistrationReply,
  type RegistrationSettings,
} from '@portcullis/client';
import { createSystemBrowser, type NodeClientOptions } from '@portcullis/client/node';
import type { Scopes } from '@portcullis/protocol';
import { SettingsError } from '../errors.ts';
import type { ProcessContext } from '../process-context.ts';
import { cleanLine } from '../terminal/clean.ts';
import { drawQrCode } from '../terminal/qr-code.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { nameOfCommand } from './client-name.ts';
import { createFetches } from './fetches.ts';
import { readFlagFile } from './flag-file.ts';
import type { ClientFlags, ProgramFlags, SignInFlags } from './flags.ts';
import { activityAfter, noticeFor } from './progress-messages.ts';
import { signInCommand } from './sign-in-command.ts';

/** Options that all commands share. */
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
    ...createFetches({ serverUrl, trustedOrigins, environment }),
    ...(flags.dpop !== undefined && { dpop: flags.dpop }),
    ...(flags.wholeOrigin && { sendTokenTo: 'origin' }),
    ...(flags.revision !== undefined && { revision: flags.revision }),
  };
}

/** Builds the options of a client without user interaction, for the user or for the application named by the flags. */
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
  if (application && clientId === undefined) throw new SettingsError(['--application requires --client-id']);
  const secret = await readClientSecret(flags, processContext);
  if (clientId === undefined) return {};
  return { preregistered: [{ clientId, ...(secret !== null && { clientSecret: secret }) }] };
}

/** Builds the options of a client that signs the user in according to the flags. */
export async function clientOptions(
  serverUrl: string,
  flags: SignInFlags,
  processContext: ProcessContext,
  terminal: Terminal,
): Promise<NodeClientOptions> {
  const configured = await configuredClient(flags, processContext);
  // Only an existing registration can have been deleted by the server.
  let isNew = false;
  const hint = () =>
    isNew || flags.clientId !== undefined
      ? ''
      : newRegistrationHint(serverUrl, flags.account, processContext.command);
  const { clientMetadataUrl } = flags;
  return {
    ...commonOptions(serverUrl, flags, processContext),
    ...grantOptions(flags, terminal),
    ...browserOptions(flags, terminal, processContext.environment, hint),
    registration: {
      clientName: () => nameOfCommand(flags, 'Portcullis'),
      ...(clientMetadataUrl !== undefined && { metadataDocumentUrl: clientMetadataUrl }),
      ...configured,
      ...(terminal.interactive && { ask: (prompt) => askForClient(prompt, terminal) }),
    },
    ...(flags.scope !== undefined && { scopes: { only: flags.scope } }),
    retryStepUp: flags.stepUp === true,
    confirmStepUp: (added) => confirmStepUp(added, flags, terminal),
    onEvent(event) {
      if (event.type === 'client.registered') isNew = true;
      // An application has no sign-in that a user could expect or wonder about.
      const notice = flags.application && event.type === 'sign_in.started' ? null : noticeFor(event);
      if (notice !== null) terminal.tell(notice);
      terminal.during(activityAfter(event));
    },
  };
}

function grantOptions(flags: SignInFlags, terminal: Terminal): Pick<NodeClientOptions, 'grant'> {
  if (flags.application) return { grant: { kind: 'application' } };
  if (flags.device) return { grant: { kind: 'device', show: (prompt) => showCode(prompt, terminal) } };
  return {};
}

function newRegistrationHint(serverUrl: string, account: string, command: string): string {
  return `\nIf the page reports an unknown client: ${signInCommand(serverUrl, account, command)} --new-registration`;
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
        async open(url, _redirectUri, shortUrl = url, onceUrl = url) {
          terminal.tell(
            `Sign in in your browser. If it does not open, visit this URL:\n${shortUrl}${hint()}`,
          );
          if (!(await openBrowser(onceUrl, environment))) {
            terminal.tell(
              'No browser could be started. Open the URL above in one, or use --no-browser to sign in on another computer.',
            );
          }
          terminal.during('Waiting for the sign-in in the browser');
        },
      },
    };
  }
  return {
    browser: {
      async open(url, redirectUri = '') {
        const picture = await drawQrCode(url, terminal.pictureColumns);
        const scan = picture === null ? '' : `Or scan this code with a phone:\n${picture}\n`;
        terminal.tell(
          `Open this URL in any browser:\n${url}${hint()}\n${scan}${pasteInstructions(redirectUri)}`,
        );
      },
    },
    receiver: createPasteReceiver({
      read: () => terminal.ask('Paste the URL that the browser was redirected to: '),
      tell: (message) => terminal.tell(message),
      ...(flags.port !== undefined && { redirectUri: `http://127.0.0.1:${flags.port}/callback` }),
    }),
  };
}

/** With --no-browser nothing listens at the redirect URI, and the browser reports an error. */
function pasteInstructions(redirectUri: string): string {
  return (
    `After the sign-in, the browser shows an error because ${cleanLine(redirectUri)} cannot be reached. This is expected.\n` +
    'Copy the whole URL from the address bar (it contains code= and state=) and paste it here.'
  );
}

/**
 * Opens a URL in the system's browser.
 * @param environment its `PATH` decides which opener runs
 * @returns false when no browser could be started; the user can still open the printed URL
 */
export async function openBrowser(url: string, environment: ProcessContext['environment']): Promise<boolean> {
  // The browser needs no settings of this command, such as a client secret. On Windows their names have any case.
  const inherited = Object.entries(environment).filter(
    ([name]) => !name.toUpperCase().startsWith('PORTCULLIS_'),
  );
  try {
    await createSystemBrowser({ environment: Object.fromEntries(inherited) }).open(url);
    return true;
  } catch (error) {
    if (error instanceof ClientError && error.code === 'sign_in_needed') return false;
    throw error;
  }
}

async function showCode(prompt: DevicePrompt, terminal: Terminal): Promise<void> {
  const { location, userCode, verificationUri, verificationUriComplete, expiresIn } = prompt;
  const direct = verificationUriComplete ?? verificationUri;
  terminal.tell(`Open ${verificationUri} on any device and enter ${userCode}`);
  if (verificationUriComplete !== null) terminal.tell(`Or open ${verificationUriComplete}`);
  // A server could show the page of another with a code that it requested there for itself. Pages of some providers are elsewhere.
  const isElsewhere = [verificationUri, direct].some(
    (url) => new URL(url).origin !== new URL(location).origin,
  );
  const picture = isElsewhere ? null : await drawQrCode(direct, terminal.pictureColumns);
  if (isElsewhere)
    terminal.tell(
      `This page is not at ${cleanLine(location)}. Continue only if you expect that: the code could give someone else access to your account there.`,
    );
  if (picture !== null) terminal.tell(picture);
  terminal.during(`Waiting for the sign-in (up to ${Math.ceil(expiresIn / 60)} minutes)`);
}

/** Shows the user the additional scopes before the browser opens. */
async function confirmStepUp(added: Scopes, flags: SignInFlags, terminal: Terminal): Promise<boolean> {
  // An application has no user to ask. It requests no more than the scopes of --scope, unless --step-up allows that.
  if (flags.application) return flags.stepUp === true || flags.scope === undefined;
  const names = added.map(cleanLine).join(', ');
  terminal.during(null);
  if (flags.stepUp) {
    terminal.tell(`The server requires additional scopes: ${names}.`);
    return true;
  }
  if (terminal.interactive)
    return terminal.confirm(`The server requires additional scopes: ${names}. Request them?`);
  terminal.tell(
    `The server requires additional scopes: ${names}. They were not requested, because this is not an interactive terminal.`,
  );
  return false;
}

async function askForClient(
  prompt: ManualRegistration,
  terminal: Terminal,
): Promise<RegistrationReply | null> {
  terminal.tell(
    [
      `${cleanLine(prompt.issuer)} does not support dynamic client registration. Register a client manually:`,
      `  type           ${prompt.applicationType} application`,
      `  grant types    ${prompt.grantTypes.join(', ')}`,
      `  redirect URIs  ${prompt.redirectUris.join(' and ')}`,
    ].join('\n'),
  );
  const clientId = (await terminal.ask('Client ID (empty to cancel): ')).trim();
  if (clientId === '') return null;
  const clientSecret = (await terminal.askSecret('Client secret (empty if it has none): ')).trim();
  return { clientId, ...(clientSecret !== '' && { clientSecret }) };
}

/** Reads the client secret from a file, standard input, or the environment; other users can read command lines. */
async function readClientSecret(
  { clientSecretFile, clientId }: ProgramFlags,
  processContext: ProcessContext,
): Promise<string | null> {
  const named = processContext.environment['PORTCULLIS_CLIENT_SECRET'] ?? '';
  if (clientSecretFile === undefined) return named === '' ? null : named;
  if (clientId === undefined) throw new SettingsError(['--client-secret-file requires --client-id']);
  return (await readFlagFile('--client-secret-file', clientSecretFile, processContext)).trim();
}
