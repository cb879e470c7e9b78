-- Part of roles.sql: gives the schema `public` of the current database, and everything in it, to the role :new_owner.
alter schema public owner to :"new_owner";
revoke create on schema public from public;
select format('alter %s %s owner to %I', kind, name, :'new_owner')
  from (
    select case relkind when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence' else 'table' end as kind,
           c.oid::regclass::text as name, relowner as owner
      from pg_class c
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'S')
       -- The sequence of a column follows its table. What belongs to an extension stays.
       and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid
                          and (d.deptype = 'e' or relkind = 'S' and d.deptype in ('a', 'i')))
    union all
    select 'type', t.oid::regtype::text, typowner
      from pg_type t
     where typnamespace = 'public'::regnamespace and typtype in ('e', 'd')
    union all
    select 'routine', p.oid::regprocedure::text, proowner
      from pg_proc p
     where pronamespace = 'public'::regnamespace
       and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
  ) as things
 where owner <> :'new_owner'::regrole \gexec
