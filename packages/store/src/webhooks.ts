/** Progress of the delivery of audit events to webhooks, which one process at a time advances. */
import type { WebhookProgress, WebhookStore } from '@portcullis/authorization-server/store';
import { SKEW_TOLERANCE } from '@portcullis/protocol';
import type { Database } from './database.ts';
import { defineRecordColumns } from './record-columns.ts';
import { defineQuery, sql } from './sql.ts';

/** Seconds of the longest lease. */
const LONGEST_LEASE = 300;

const columns = defineRecordColumns<WebhookProgress>(
  'name cursor attempts nextAttemptAt lastError deliveredAt',
);
const COLUMNS = columns.select();

const insert = defineQuery(`INSERT INTO webhooks (name, cursor, attempts, next_attempt_at, leased_until)
  VALUES (?, ?, 0, 0, 0) ON CONFLICT (name) DO NOTHING`);
/** A lease further ahead than the longest was acquired by a process with a wrong clock. */
const lease = defineQuery(`UPDATE webhooks SET holder = ?, leased_until = ?
  WHERE name = ? AND (holder IS NULL OR holder = ? OR leased_until <= ? OR leased_until > ?) RETURNING ${COLUMNS}`);
const save =
  defineQuery(`UPDATE webhooks SET cursor = ?, attempts = ?, next_attempt_at = ?, last_error = ?, delivered_at = ?
  WHERE name = ? AND holder = ? RETURNING 1 AS one`);
/** Without its holder, a delivery in progress cannot save a later cursor. */
const RESET = 'attempts = 0, next_attempt_at = 0, last_error = NULL, holder = NULL, leased_until = 0';
const rewind = defineQuery(`UPDATE webhooks SET cursor = CASE WHEN cursor < ? THEN cursor ELSE ? END, ${RESET}
  WHERE name = ? RETURNING 1 AS one`);
const setCursor = defineQuery(`UPDATE webhooks SET cursor = ?, ${RESET} WHERE name = ?`);
const all = defineQuery(`SELECT ${COLUMNS} FROM webhooks ORDER BY name`);

export function createWebhookStore(database: Database): WebhookStore {
  return {
    async leaseWebhook(name, holder, initial, now, until) {
      await database.write(insert(name, initial));
      const wrong = Math.max(until, now + LONGEST_LEASE) + SKEW_TOLERANCE;
      return columns.readFirst(await database.writeRows(lease(holder, until, name, holder, now, wrong)));
    },
    async saveWebhookProgress({ name, cursor, attempts, nextAttemptAt, lastError, deliveredAt }, holder) {
      const values = [cursor, attempts, nextAttemptAt, lastError, deliveredAt, name, holder];
      return database.changes(save(...values));
    },
    releaseWebhook: (name, holder) =>
      database.write(
        sql`UPDATE webhooks SET holder = NULL, leased_until = 0 WHERE name = ${name} AND holder = ${holder}`,
      ),
    listWebhooks: () => columns.findAll(database, all()),
    rewindWebhook: (name, cursor) => database.changes(rewind(cursor, cursor, name)),
    setWebhookCursor: (name, cursor) => database.write(setCursor(cursor, name)),
  };
}
