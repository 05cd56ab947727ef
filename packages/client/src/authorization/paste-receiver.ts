/** An ear for machines without a browser: the person signs in anywhere, and pastes the address at which the browser ended. */
import { ClientError } from '../errors.ts';
import type { Receiver } from './receiver.ts';

/** How the person is asked. */
export interface PasteOptions {
  /** Asks the person for the address; called again when it was not the right one. */
  readonly read: () => Promise<string>;
  /** Tells the person what is wrong with what was pasted, or how it ended. */
  readonly tell?: (message: string) => void;
  /** Where the browser is sent: a page of the host's, or an address of the person's computer where nobody answers. */
  readonly redirectUri?: string;
}

/** Nobody listens there: what counts is what stands in the address bar. */
const NOBODY = 'http://127.0.0.1:47471/callback';

const MOST_TRIES = 3;

/** Makes a receiver that asks for the address. */
export function createPasteReceiver({
  read,
  tell = () => undefined,
  redirectUri = NOBODY,
}: PasteOptions): Receiver {
  return {
    async listen() {
      return {
        redirectUri,
        async waitForRedirect(state, opened) {
          await opened;
          for (let attempt = 0; attempt < MOST_TRIES; attempt += 1) {
            const query = URL.parse((await read()).trim())?.searchParams;
            if (query?.get('state') === state) {
              return { query, respond: async ({ message }) => tell(message) };
            }
            tell('That is not the address at which this sign-in ended. Paste all of it.');
          }
          throw new ClientError('cancelled', 'The right address was not pasted.');
        },
        close: async () => undefined,
      };
    },
  };
}
