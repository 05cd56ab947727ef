/** The options of the audit log: which events are stored, and for how long. */
import * as z from 'zod';
import { callback, duration, option, optionMeta, seconds } from '../option-schema/fields.ts';
import type { EventSink } from './events.ts';

const RETENTION = 90 * 86_400;

export const auditOptions = {
  auditRetention: option(
    () =>
      z
        .union([z.literal(false), seconds(1, 100 * 365 * 86_400)])
        .register(optionMeta, { kind: 'a whole number of seconds, or false' }),
    {
      default: RETENTION,
      section: 'Operation',
      placeholder: 'seconds',
      description: 'seconds for which audit events are kept in the database; `false` keeps none',
      defaultText: duration(RETENTION),
    },
  ),
  auditLevel: option(() => z.enum(['summary', 'full']), {
    default: 'summary',
    section: 'Operation',
    placeholder: 'level',
    description:
      'which audit events are kept: `summary` leaves out ordinary refreshes except the first of each authorization, and requests through the gateway that neither call anything nor are refused; `full` keeps all',
    note: 'Every refresh is logged and counted all the same, and `portcullis connections list` shows the last use of each connection. Refreshes that are retried or rejected are always kept.',
  }),
  /** Receives every audit event, whether or not it is stored. */
  events: option(() => callback<EventSink>(), {}),
};
