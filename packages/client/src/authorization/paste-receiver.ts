/** A receiver for machines without a browser: the user signs in on another device and pastes the redirect URL. */
import { ClientError } from '../errors.ts';
import type { Receiver } from './receiver.ts';

/** How the user is prompted. */
export interface PasteOptions {
  /** Prompts the user for the URL; called again after a URL that does not match. */
  readonly read: () => Promise<string>;
  /** Shows the user what is wrong with the pasted text, or the outcome. */
  readonly tell?: (message: string) => void;
  /** Where the browser is redirected: a page of the host, or a loopback address where nothing listens. */
  readonly redirectUri?: string;
}

/** Nothing listens there: only the URL in the address bar matters. */
const UNUSED_ADDRESS = 'http://127.0.0.1:47471/callback';

const MAX_ATTEMPTS = 3;

/** Creates a receiver that prompts for the redirect URL. */
export function createPasteReceiver({
  read,
  tell = () => undefined,
  redirectUri = UNUSED_ADDRESS,
}: PasteOptions): Receiver {
  return {
    async listen() {
      return {
        redirectUri,
        async waitForRedirect(state, browserOpened) {
          await browserOpened;
          for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
            const query = URL.parse((await read()).trim())?.searchParams;
            if (query?.get('state') === state) {
              return { query, respond: async ({ message }) => tell(message) };
            }
            tell('This is not the address that this sign-in was redirected to. Paste the complete address.');
          }
          throw new ClientError('cancelled', 'The address of this sign-in was not pasted.');
        },
        close: async () => undefined,
      };
    },
  };
}
