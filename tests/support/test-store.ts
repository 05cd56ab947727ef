/** A store as tests open it: on a busy machine its database has more time than requests have in operation. */
import { openStore } from '@portcullis/store';

/** Waits for connections, locks and results as long as a test may take. */
export const openTestStore = (location: string) => openStore(location, { busyTimeout: 100 });
