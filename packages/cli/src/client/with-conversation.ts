/** A conversation lent to a command: begun, ended, and what goes wrong in it told with what to do about it. */
import type { Client } from '@portcullis/client';
import type { Surroundings } from '../surroundings.ts';
import { cleanLine } from '../terminal/clean.ts';
import { Refusal } from './answers.ts';
import { ServerError } from './asking.ts';
import { type Conversation, converse } from './conversation.ts';
import { adviceOn, CommandFailure, exitCodeOf, exitCodes } from './exit-codes.ts';

/** @throws ClientError, or CommandFailure with what to do. */
export async function withConversation<T>(
  { server: url, fetch, extensions, session }: Pick<Client, 'server' | 'fetch' | 'extensions' | 'session'>,
  account: string,
  { version, command }: Pick<Surroundings, 'version' | 'command'>,
  act: (ask: Conversation['ask']) => Promise<T>,
): Promise<T> {
  try {
    const conversation = await converse({ url, fetch, version, extensions });
    try {
      return await act(conversation.ask);
    } finally {
      await conversation.close();
    }
  } catch (error) {
    if (error instanceof Refusal) {
      const { scopes = [] } = (await session()) ?? {};
      throw new CommandFailure(exitCodeOf(error), adviceOn(error, { server: url, account, command, scopes }));
    }
    if (error instanceof ServerError)
      throw new CommandFailure(
        exitCodes.toolFailed,
        `The server refused the call: ${cleanLine(error.message)}`,
      );
    throw error;
  }
}
