-- A recovery's row says where it continues: workers carry it out, not a workflow.
alter table recoveries
  add column phase text,
  add column after_id uuid;

delete from workflow_starts where type = 'recoverEndpoint';
