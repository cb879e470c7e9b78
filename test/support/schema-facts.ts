import type { Handle } from '../../src/database/database.js';

/** What the statements of a release rely on, as Postgres's catalogs say it. Keys are names, such as `transfers.id`. */
export interface SchemaFacts {
  columns: Record<string, { type: string; nullable: boolean; filled: boolean }>;
  /** Primary and foreign keys, checks, exclusions, and unique indexes, by their definition, with their table. */
  rules: Record<string, string>;
  /** The values of each enum. */
  enums: Record<string, string[]>;
}

export async function readSchemaFacts(db: Pick<Handle, 'query'>): Promise<SchemaFacts> {
  const [row] = await db.query<{ facts: SchemaFacts }>(FACTS, []);
  if (!row) throw new Error('the catalogs have no row');
  return row.facts;
}

/**
 * Why the release before cannot run on the schema `after`, whose own schema is `before`: one sentence for each reason.
 * It reads and writes the columns that it knows, and its `on conflict` names the unique columns that it knows.
 */
export function whatBreaks(before: SchemaFacts, after: SchemaFacts): string[] {
  const tablesBefore = new Set(Object.keys(before.columns).map(tableOf));
  const known = Object.entries(before.columns).flatMap(([name, was]) => {
    const is = after.columns[name];
    if (!is) return [`the column ${name} is gone`];
    return [
      ...(is.type === was.type ? [] : [`the column ${name} was ${was.type} and is ${is.type}`]),
      ...(was.nullable && !is.nullable ? [`the column ${name} no longer takes null`] : []),
      ...(was.filled && !is.filled && !is.nullable ? [`the column ${name} lost its default`] : []),
    ];
  });
  const added = Object.entries(after.columns)
    .filter(([name, { nullable, filled }]) => !(name in before.columns) && !nullable && !filled)
    .filter(([name]) => tablesBefore.has(tableOf(name)))
    .map(([name]) => `the new column ${name} takes no null and has no default`);
  const rules = [
    ...Object.entries(before.rules)
      .filter(([rule]) => !(rule in after.rules))
      .map(([rule, table]) => `${table} lost the rule ${rule}`),
    ...Object.entries(after.rules)
      .filter(([rule, table]) => !(rule in before.rules) && tablesBefore.has(table))
      .map(
        ([rule, table]) => `${table} has a new rule, which the rows that are there or still come may break: ${rule}`,
      ),
  ];
  const enums = Object.entries(before.enums).flatMap(([name, values]) =>
    values.filter((value) => !after.enums[name]?.includes(value)).map((value) => `the enum ${name} lost ${value}`),
  );
  return [...known, ...added, ...rules, ...enums];
}

const tableOf = (column: string): string => column.split('.')[0] ?? '';

/** Not-null constraints are facts of columns. The index of a primary key is a unique index too. */
const FACTS = `
with tables as (
  select c.oid, c.relname::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
   where n.nspname = 'public' and c.relkind in ('r', 'p') and c.relname <> '_prisma_migrations'
), columns as (
  select t.name || '.' || a.attname as name,
         json_build_object('type', format_type(a.atttypid, a.atttypmod), 'nullable', not a.attnotnull,
           'filled', a.atthasdef or a.attidentity <> '') as fact
    from tables t join pg_attribute a on a.attrelid = t.oid where a.attnum > 0 and not a.attisdropped
), rules as (
  select t.name as table, t.name || ': ' || pg_get_constraintdef(c.oid) as rule
    from tables t join pg_constraint c on c.conrelid = t.oid where c.contype in ('p', 'f', 'c', 'x')
  union
  select t.name, regexp_replace(pg_get_indexdef(i.indexrelid), ' INDEX \\S+ ON ', ' INDEX ON ')
    from tables t join pg_index i on i.indrelid = t.oid where i.indisunique and not i.indisprimary
), enums as (
  select t.typname::text as name, json_agg(e.enumlabel::text order by e.enumsortorder) as labels
    from pg_type t join pg_enum e on e.enumtypid = t.oid group by t.typname
)
select json_build_object(
  'columns', (select coalesce(json_object_agg(name, fact), '{}') from columns),
  'rules', (select coalesce(json_object_agg(rule, "table"), '{}') from rules),
  'enums', (select coalesce(json_object_agg(name, labels), '{}') from enums)) as facts`;
