/** `portcullis doctor`: follows a client's steps against any server and reports errors, the violated rules and the responsible party. */
import type { Command } from 'commander';
import { nameOfCommand } from '../client/client-name.ts';
import { clientOptions } from '../client/client-options.ts';
import { CommandFailure, type ExitCode, exitCodes } from '../client/exit-codes.ts';
import { addJsonOption, addSignInOptions, type SignInFlags } from '../client/flags.ts';
import type { ProcessContext } from '../process-context.ts';
import { cleanJson } from '../terminal/clean.ts';
import { createTerminal } from '../terminal/terminal.ts';
import { examine } from './examine.ts';
import { errorsIn, type Report } from './report.ts';
import { reportText } from './report-text.ts';

type Flags = SignInFlags & { readonly signIn?: true };

export function defineDoctor(program: Command, processContext: ProcessContext): void {
  const command = program
    .command('doctor')
    .summary('diagnose the authorization of a server')
    .description(
      'Runs discovery, registration, authorization and a call, and checks every response against the specification.\n' +
        'Without --sign-in it stops where a user has to act. If the server supports it, doctor registers a client and ' +
        'removes it afterwards (RFC 7592). It stores nothing and uses no existing session. Exit code 5: an error was found; 4: a server could not be reached; 3: the sign-in was not completed.',
    )
    .argument('<server-url>', 'address of the protected server')
    .option('--sign-in', 'sign in, check the tokens, make a call and sign out');
  addJsonOption(addSignInOptions(command)).action((serverUrl: string, flags: Flags) =>
    doctor(serverUrl, flags, processContext),
  );
}

async function doctor(serverUrl: string, flags: Flags, processContext: ProcessContext): Promise<void> {
  const terminal = createTerminal(processContext.streams, processContext.environment);
  try {
    const client = await clientOptions(serverUrl, flags, processContext, terminal);
    const clientName = nameOfCommand(flags, 'Portcullis doctor');
    terminal.during('Examining the server');
    const report = await examine({
      client: { ...client, registration: { ...client.registration, clientName } },
      signIn: flags.signIn === true,
      version: processContext.version,
    });
    terminal.during(null);
    terminal.print(flags.json ? `${cleanJson(report)}\n` : reportText(report, terminal.styles));
    const code = exitCodeOf(report);
    if (code !== exitCodes.done) throw new CommandFailure(code);
  } finally {
    terminal.close();
  }
}

/** Other codes than 5 say that every error is of that kind. */
function exitCodeOf(report: Report): ExitCode {
  const errors = errorsIn(report);
  if (errors.length === 0) return exitCodes.done;
  if (errors.every(({ temporary }) => temporary)) return exitCodes.temporary;
  const isSignIn = errors.every(({ step, owner }) => step === 'authorization' && owner === 'you');
  return isSignIn ? exitCodes.signIn : exitCodes.rules;
}
