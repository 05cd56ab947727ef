/** The setting `eventExports`: receivers of audit events that expect a protocol or a format of their own. */
import {
  checkedText,
  lazy,
  list,
  type OutputOf,
  optional,
  record,
  secret,
} from '@portcullis/authorization-server/options';
import { isLoopbackHost, isSecureUrl, readWebUrl } from '@portcullis/protocol';
import * as z from 'zod';
import { eventTypes, receiverName, reportRepeatedNames } from '../webhooks/options.ts';

const SYSLOG = /^syslog\+(tls|tcp):\/\/([^/?#@]+?)(?::(\d{1,5}))?\/?$/;

/** @see RFC 5425 §4.1, RFC 6587 */
const PORTS = { tls: 6514, tcp: 601 };

export interface SyslogAddress {
  readonly isTls: boolean;
  readonly host: string;
  readonly port: number;
}

/** The address of a syslog receiver; `null`: the URL is of another kind. */
export function readSyslogUrl(url: string): SyslogAddress | null {
  const [, scheme, written = '', port] = SYSLOG.exec(url) ?? [];
  if (scheme !== 'tls' && scheme !== 'tcp') return null;
  const host = written.replace(/^\[|\]$/g, '');
  return { isTls: scheme === 'tls', host, port: port === undefined ? PORTS[scheme] : Number(port) };
}

const KIND = 'an `https`, `syslog+tls` or `syslog+tcp` URL';

const url = lazy(() =>
  checkedText(KIND, (value) => {
    const syslog = readSyslogUrl(value);
    if (syslog !== null)
      return syslog.isTls || isLoopbackHost(syslog.host)
        ? null
        : 'must be a syslog+tls URL; syslog+tcp only on loopback';
    const web = readWebUrl(value);
    return web !== null && isSecureUrl(web)
      ? null
      : 'must be an https URL, or syslog+tls://host:6514; http and syslog+tcp only on loopback';
  }),
);

/** The schema of the setting `eventExports`. */
export const eventExportsSchema = lazy(() =>
  list(
    z.strictObject({
      name: receiverName(),
      url: url().describe('receives each event: `https`, or `syslog+tls` (RFC 5424 and 5425)'),
      format: z
        .enum(['json', 'ocsf', 'otlp'])
        .default('json')
        .describe('how an event is written: as a webhook has it, by OCSF, or as a log record of OTLP'),
      headers: optional(
        record(secret(), 'an object of header values'),
        'headers of each https request, such as `authorization`',
      ),
      types: eventTypes(),
    }),
  ).superRefine((all, { addIssue }) => {
    reportRepeatedNames(all, 'is the name of another export', addIssue);
    for (const [index, { url: address, format, headers }] of all.entries()) {
      const isSyslog = readSyslogUrl(address) !== null;
      const add = (name: string, message: string) =>
        addIssue({ code: 'custom', path: [index, name], message });
      if (isSyslog && headers !== undefined) add('headers', 'must not be set for syslog, which has none');
      if (isSyslog && format === 'otlp') add('format', 'must be json or ocsf for syslog');
    }
  }),
);

/** Where events are sent, and how they are written. */
export type EventExport = Readonly<OutputOf<typeof eventExportsSchema>[number]>;
