/** The receivers of audit events: webhooks and exports, as configured. */
import { idPrefixOf } from '@portcullis/admin/operations';
import { createSend, type SendEvent } from '@portcullis/admin/webhooks';
import type { Settings } from '../settings/schema.ts';

interface OpenReceiver {
  readonly send: SendEvent;
  close?(): Promise<void>;
}

/** A webhook, or another receiver of events. */
export interface ConfiguredReceiver {
  readonly name: string;
  readonly url: string;
  readonly types?: readonly string[] | undefined;
  readonly open: () => Promise<OpenReceiver>;
}

/** The receivers of the settings, which share the names. */
export function receiversOf(settings: Settings): readonly ConfiguredReceiver[] {
  const { webhooks, eventExports, outbound } = settings;
  return [
    ...webhooks.map((webhook) => ({
      ...pick(webhook),
      open: async () => ({ send: createSend(webhook, outbound, Date.now) }),
    })),
    ...eventExports.map((one) => ({
      ...pick(one),
      async open() {
        const { createExportSender } = await import('@portcullis/admin/event-exports');
        return createExportSender(one, outbound);
      },
    })),
  ];
}

/** Sends a test event. @returns its ID, and how the receiver has responded */
export async function sendTestEvent({ open }: Pick<ConfiguredReceiver, 'open'>) {
  const { send, close } = await open();
  const at = Date.now();
  const none = { clientId: null, accountId: null, grantId: null, resource: null, transactionId: null };
  const id = `${idPrefixOf(at)}-test`;
  try {
    const { kind, reason } = await send({ ...none, id, at, type: 'webhook.test', details: {}, expiresAt: 0 });
    return { id, kind, reason };
  } finally {
    await close?.();
  }
}

/** Without what is secret. */
function pick({ name, url, types }: Omit<ConfiguredReceiver, 'open'>): Omit<ConfiguredReceiver, 'open'> {
  return { name, url, ...(types !== undefined && { types }) };
}
