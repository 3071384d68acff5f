-- Deletes rows of documents that are deleted for 30 days, and their versions. Their files have
-- ended by themselves. Returns how many.
CREATE OR REPLACE FUNCTION documents.forget(at timestamptz, most integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$
    WITH gone AS (
        DELETE FROM documents.document
        WHERE ctid = ANY (
            ARRAY(SELECT d.ctid FROM documents.document d
                WHERE d.deleted_at <= at - interval '30 days' LIMIT most))
        RETURNING organization_id, id
    ), versions AS (
        DELETE FROM documents.version v USING gone g
        WHERE v.organization_id = g.organization_id AND v.document_id = g.id
    ) SELECT count(*) FROM gone
$$;
