-- Returns a member of a workflow as lists show it: of what is published, unless drafts or all are
-- asked for (status). its_version: the published version, NULL where the row is as it, or where
-- nothing is published; own: the member of the row. In plpgsql, which keeps its plan.
CREATE OR REPLACE FUNCTION workflows.listed(
    org text, workflow text, its_version bigint, status text, member text, own jsonb
) RETURNS jsonb
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    shown jsonb;
BEGIN
    IF its_version IS NULL OR status IN ('draft', 'all') THEN
        RETURN own;
    END IF;
    SELECT CASE member
            WHEN 'source' THEN to_jsonb(v.source)
            WHEN 'files' THEN v.files
            WHEN 'triggers' THEN v.triggers
            WHEN 'scopes' THEN v.scopes
            WHEN 'settings' THEN v.settings
            ELSE coalesce(v.options -> member, own)
        END
    INTO shown
    FROM workflows.version v
    WHERE v.organization_id = org AND v.workflow_id = workflow AND v.number = its_version;
    RETURN NULLIF(shown, 'null');
END
$$;
