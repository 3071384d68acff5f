-- wharf: phase=expand
-- Up to when the schedules of operators' hooks were turned into jobs (docs/lua-hooks.md): the lock of a row makes each due time one, in the whole cluster.
CREATE TABLE wharf.hook_plan (
    hook text COLLATE "C" PRIMARY KEY,
    until_at timestamptz(3) NOT NULL
);
