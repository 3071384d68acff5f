-- wharf: phase=expand
-- Which writes of an organization have hooks of its own (docs/spec/08-workflows-and-lua.md section 3): read with each key, so that a write without hooks
-- asks nothing. owner: who said so, a workflow; what: "location:create".
CREATE TABLE wharf.hook (
    organization_id text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    what text COLLATE "C" NOT NULL,
    PRIMARY KEY (organization_id, owner, what)
);
SELECT wharf.protect_table('wharf.hook');
