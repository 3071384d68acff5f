-- wharf: phase=expand
-- Addresses outside of an organization that have asked for its mail, and are written to: the module that has them replaces this empty view by one of its own
-- table, with the same columns. Mail of workflows and hooks goes to them and to users, to nobody else (docs/spec/08-workflows-and-lua.md section 5).
CREATE VIEW wharf.subscriber AS
    SELECT ''::text COLLATE "C" AS organization_id, ''::text AS email
    WHERE false;
