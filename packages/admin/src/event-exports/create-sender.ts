/** Sends events to one export: by HTTP or syslog, in its format. */
import type { OutboundSettings } from '@portcullis/authorization-server';
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import { eventBody } from '../webhooks/event-body.ts';
import { createPost } from '../webhooks/send.ts';
import { toOcsf } from './ocsf.ts';
import { type EventExport, readSyslogUrl } from './options.ts';
import { findOtlpRejection, toOtlpLog } from './otlp-log.ts';
import { createSyslogSender, type EventSender } from './syslog.ts';

const FORMATS: Readonly<Record<EventExport['format'], (event: AuditEventRecord) => object>> = {
  json: eventBody,
  ocsf: toOcsf,
  otlp: toOtlpLog,
};

/** Creates the sender of an export. */
export function createExportSender(
  { url, format, headers = {} }: EventExport,
  outbound: OutboundSettings,
): EventSender {
  const write = FORMATS[format];
  const syslog = readSyslogUrl(url);
  if (syslog !== null) return createSyslogSender(syslog, write);
  const post = createPost(url, outbound, format === 'otlp' ? { findRejection: findOtlpRejection } : {});
  return {
    send: (event) => post({ ...headers, 'content-type': 'application/json' }, JSON.stringify(write(event))),
    close: async () => {},
  };
}
