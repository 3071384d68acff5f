-- wharf: phase=expand
-- What runs with record.io asked for and got (docs/spec/08-workflows-and-lua.md section 8, wharf lua replay). A table of its own: rows of runs stay narrow. It goes
-- with its run.
ALTER TABLE workflows.run ADD COLUMN replayable boolean NOT NULL DEFAULT false;

CREATE TABLE workflows.recording (
    organization_id text COLLATE "C" NOT NULL,
    run_id text COLLATE "C" NOT NULL,
    data json NOT NULL,
    PRIMARY KEY (organization_id, run_id),
    FOREIGN KEY (organization_id, run_id) REFERENCES workflows.run (organization_id, id) ON DELETE CASCADE
);
SELECT wharf.protect_table('workflows.recording');

-- given: [{i run, n attempt, c is it complete, d its data}]. Of a run that somebody else has by now, or that is not kept, nothing is written.
CREATE FUNCTION workflows.keep_recordings(org text, given json) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    WITH g AS MATERIALIZED (SELECT * FROM json_to_recordset(given) AS e(i text, n bigint, c boolean, d json)), own AS (
        UPDATE workflows.run r SET replayable = g.c FROM g
        WHERE r.organization_id = org AND r.id = g.i AND r.attempt = g.n AND r.status <> 'running' RETURNING r.id
    )
    INSERT INTO workflows.recording (organization_id, run_id, data) SELECT org, g.i, g.d FROM g JOIN own ON own.id = g.i
    ON CONFLICT (organization_id, run_id) DO UPDATE SET data = EXCLUDED.data;
END
$$;
