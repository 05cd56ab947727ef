/** Queries for the schema of a database: columns, foreign keys, and each index with its text. */

export const SQLITE_SCHEMA = `SELECT t.name AS place, c.name, c.type || coalesce(c.dflt_value, '') AS type, c."notnull" + 2 * c.pk AS required
    FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'
  UNION ALL SELECT t.name, f."from", f."table" || f.on_delete, 0 FROM sqlite_schema t, pragma_foreign_key_list(t.name) f
    WHERE t.type = 'table'
  UNION ALL SELECT tbl_name, name, coalesce(sql, ''), 0 FROM sqlite_schema WHERE type = 'index' ORDER BY 1, 2, 3`;

/** Without the tables of days of audit events: each database has its own. */
export const POSTGRES_SCHEMA = `SELECT * FROM (SELECT table_name::text AS place, column_name::text AS name,
    data_type::text || coalesce(collation_name, '') || coalesce(column_default, '') AS type, is_nullable::text AS required
    FROM information_schema.columns WHERE table_schema = 'public'
  UNION ALL SELECT conrelid::regclass::text, contype::text, pg_get_constraintdef(oid), '' FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace AND contype IN ('p', 'f', 'u', 'c')
  UNION ALL SELECT tablename::text, '', indexdef, '' FROM pg_indexes WHERE schemaname = 'public') s
  WHERE place !~ '^audit_events_[0-9]+$' ORDER BY 1, 2, 3`;
